"""The command line: ``qpsvm fit | predict | score | solve | verify | audit | ...``."""

from qpsvm.cli.app import app, main

__all__ = ["app", "main"]
