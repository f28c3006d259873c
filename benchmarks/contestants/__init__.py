"""Everything that takes part in a benchmark, one module each."""

from benchmarks.contestants import base, registry

__all__ = ["base", "registry"]
