"""The command line: ``qpsvm demo | solve | verify | audit | backends | bench``."""

from qpsvm.cli.app import app, main

__all__ = ["app", "main"]
