"""Solves of linear problems on samples in chunks, in a few passes over them."""

from qpsvm.passes.settings import PassSettings
from qpsvm.passes.solving import solve_chunked

__all__ = ["PassSettings", "solve_chunked"]
