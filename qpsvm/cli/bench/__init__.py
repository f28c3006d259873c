"""``qpsvm bench``: suites of programs, measured, reported and compared."""

from qpsvm.cli.bench.app import app

__all__ = ["app"]
