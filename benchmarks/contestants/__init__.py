"""Everything that takes part in a benchmark; ``registry`` finds it by its name."""
