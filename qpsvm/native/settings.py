"""Settings of the calls of the compiled core, none of which changes a result."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CoreSettings:
    """Settings of how much work one call of the compiled code does before it returns to Python.

    Attributes
    ----------
    entries_per_call : int
        Entries of samples that a call of coordinate descent reads, about: 10 to 50 ms.
    kernel_values_per_call : int
        Kernel values that a call of steps of pairs reads, about: 10 to 50 ms.
    """

    entries_per_call: int = 20_000_000
    kernel_values_per_call: int = 30_000_000


CORE = CoreSettings()
"""Settings of the compiled C library: how much work one call of it does."""
