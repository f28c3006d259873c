"""Settings of the calls of the compiled core, none of which changes a result."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CoreSettings:
    """Work of one call of the compiled core, after which Python can notice an interrupt.

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
"""Settings of the compiled core that every call uses."""
