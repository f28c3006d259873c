"""Settings of the method for kernel duals on a device."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DeviceSettings:
    """Settings of the active-set method on a GPU for duals of kernel machines.

    Every field can be passed in ``options``.

    None changes what may be called optimal: gap and residuals of the whole program decide that.

    Attributes
    ----------
    memory_limit : int or None
        Bytes of device memory; None: four fifths of what is free.
    cached_from : int
        Features from which on columns are kept: with fewer, evaluating a kernel value again takes
        as long as reading it.
    block_size : int
        Variables of a block that is solved by steps of pairs on the processor.
    steps_per_variable : int
        Steps of pairs per variable of a block, at most; where more would be needed Newton steps are
        faster.
    inner_share : float
        A block is solved to this share of the violation of all.
    handover : float
        Violation, relative to the entries of q, from which on Newton steps follow.
    largest_set : int
        Variables of a working set of Newton steps, at most; memory may allow fewer.
    """

    memory_limit: int | None = None
    cached_from: int = 32
    block_size: int = 2048
    steps_per_variable: int = 5
    inner_share: float = 0.1
    handover: float = 0.005
    largest_set: int = 16384
