"""Everything that takes part in a benchmark, one module each."""
