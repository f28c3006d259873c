"""``qpsvm bench``: run suites of programs, report and compare the results."""

from qpsvm.cli.bench.app import app

__all__ = ["app"]
