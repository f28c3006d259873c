"""Settings of the active-set method: options of a solve, and numbers that every solve uses."""

from __future__ import annotations

from dataclasses import dataclass

from qpsvm.numerics.precision import EPS


@dataclass(frozen=True)
class ActiveSetSettings:
    """Settings of the active-set method, backend ``"active-set"``.

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
    steps_per_variable: int = 100
    whole_steps: int = 5
    max_blocks: int = 1000
    handover: float = 0.02


DEFAULTS = ActiveSetSettings()


@dataclass(frozen=True)
class BoxSettings:
    """Numbers of the Newton steps over a box, which are no options; an ablation measured each.

    Attributes
    ----------
    full_steps : int
        Newton steps of full length per proximal point, before those with a line search.
    shrinking : tuple of (int, float)
        Newton steps that an easy proximal point takes at most, and the factor of the proximal
        weight after one.
    accepted_slope : float
        Share to which the slope must fall within a full step for it to need no search.
    changes_per_update : int
        Variables per changed one, at least, for a factor to be updated: an update takes a third of
        the time of a new factor.
    all_rows_share : int
        A product with a stored matrix reads all rows if at least one in so many is needed, and
        copies these otherwise.
    small : int
        Rows of a dense matrix that is factored, or whose eigenvalues are computed, without further
        ado: less than a second.
    """

    full_steps: int = 10
    shrinking: tuple[int, float] = (15, 0.1)
    accepted_slope: float = 0.1
    changes_per_update: int = 10
    all_rows_share: int = 3
    small: int = 1000


BOX = BoxSettings()
"""Numbers that every solve uses."""

MAX_ROWS = 32
"""Rows up to which a program counts as one with few: what is done with them is dense."""

GRADIENT_ROUNDING = 32.0 * EPS
"""Bound on the rounding of an entry of the gradient, relative to the norm of its terms."""

SUM_ROUNDING = 1e-13
"""Change of the objective, and violation of a row, that is only rounding, relative to the terms."""

SMALLEST_WEIGHT = 1e-6
"""Smallest eigenvalue of a matrix of rows, in units of one over the largest curvature: rows that
nothing moves get a long step, and the line search finds where something begins to move."""
