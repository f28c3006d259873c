"""Settings of the active-set method for kernel duals."""

from __future__ import annotations

from dataclasses import dataclass

from qpsvm.solvers.box.settings import WorkingSetSettings


@dataclass(frozen=True)
class ActiveSetSettings(WorkingSetSettings):
    """Settings of the active-set method, backend ``"active-set"``; with those of working sets.

    Every field can be passed in ``options`` of ``qpsvm.solve``. None changes what the method may
    call optimal: gap and residuals of the whole program decide that.

    Attributes
    ----------
    memory_limit : int or None
        Bytes for kernel columns and matrices; None: a quarter of the machine's memory.
    column_memory_share : float
        Share of that memory for kernel columns; the rest is for matrices of working sets.
    gradient_checks : int
        Times that the gradient is recomputed with compensated sums, and working sets continue
        from there where it is too large.
    tightening : float
        Working sets end at this share of the gap asked for, and at this share of that after every
        recomputed gradient.
    whole_size : int
        Variables of a program that is solved as one block.
    smallest_block : int
        Variables of a block of a larger program, at least.
    block_share : float
        Variables of a block per free variable.
    inner_share : float
        A block that others have to follow is solved to this share of the violation of all.
    steps_per_variable, whole_steps : int
        Steps of pairs per variable of a block, and of a whole program, at most. Where more would be
        needed, bounds are far apart and Newton steps on the free variables are faster.
    max_blocks : int
        Blocks, at most.
    handover : float
        Violation, relative to the entries of q, from which on Newton steps on the free variables
        finish a program of several blocks.
    """

    memory_limit: int | None = None
    column_memory_share: float = 0.6
    gradient_checks: int = 3
    tightening: float = 0.1
    whole_size: int = 1500
    smallest_block: int = 768
    block_share: float = 1.5
    inner_share: float = 0.05
    steps_per_variable: int = 30
    whole_steps: int = 5
    max_blocks: int = 1000
    handover: float = 0.02


DEFAULTS = ActiveSetSettings()


@dataclass(frozen=True)
class ColumnSettings:
    """Settings of cached kernel columns, which users cannot set.

    Attributes
    ----------
    at_a_time : int
        Columns evaluated at a time: enough for a product of matrices, and no large array.
    smallest_set : int
        Variables of the smallest working set that still gets somewhere; memory for it is required.
    """

    at_a_time: int = 256
    smallest_set: int = 256


COLUMNS = ColumnSettings()
"""Settings of kernel columns that every solve uses."""
