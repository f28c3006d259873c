"""Solves of linear problems on samples in chunks, in a few passes over them."""

from qpsvm.passes.algorithm import solve_in_passes
from qpsvm.passes.settings import PassSettings

__all__ = ["PassSettings", "solve_in_passes"]
