"""Parts that several solvers share: slack rows, negligible objectives, points and work budgets."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from qpsvm.numerics.arrays import Dense, Matrix, Vector, as_dense
from qpsvm.numerics.interrupts import NEVER, Deadline

# --- rows -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SlackRows:
    """``Ax = b`` and ``Gx <= h`` as ``M (x, s) = right`` with a slack ``s >= 0`` per inequality.

    Attributes
    ----------
    matrix : array of shape (p + m, n + m)
        M, its rows divided by ``scales``.
    right : array of shape (p + m,)
    scales : array of shape (p + m,)
        The largest entry of every row of A and G; 1 where that is zero.
    n_slack : int
        m, the number of inequalities, which come last.
    """

    matrix: Dense
    right: Vector
    scales: Vector
    n_slack: int

    @classmethod
    def of(cls, A: Matrix, b: Vector, G: Matrix, h: Vector) -> SlackRows:
        """Add the slack variables and scale the rows to a largest entry of 1."""
        p, m = len(b), len(h)
        rows = np.vstack([as_dense(A), as_dense(G)]) if m else as_dense(A)
        scales = np.max(np.abs(rows), axis=1, initial=0.0)
        scales[scales == 0.0] = 1.0
        if (scales != 1.0).any():
            rows = rows / scales[:, None]
        if m:
            rows = np.hstack([rows, np.vstack([np.zeros((p, m)), np.eye(m)])])
        return cls(rows, np.concatenate([b, h]) / scales, scales, m)

    @property
    def n_equalities(self) -> int:
        """Number of equalities p."""
        return len(self.right) - self.n_slack

    def extended(self, v: Vector, slack: Vector | float = 0.0) -> Vector:
        """Append the entries of the slack variables to a vector of x."""
        return np.append(v, np.broadcast_to(slack, self.n_slack)) if self.n_slack else v

    def slack(self, x: Vector) -> Vector:
        """Compute the slacks ``h - Gx`` of the inequalities, rows scaled to largest entry one."""
        own = slice(self.n_equalities, None)
        return np.asarray(self.right[own] - self.matrix[own, : len(x)] @ x)

    def multipliers(self, y: Vector) -> tuple[Vector, Vector]:
        """The multipliers of ``Ax = b`` and of ``Gx <= h``, from those of the scaled rows."""
        of_rows, p = y / self.scales, self.n_equalities
        return of_rows[:p], np.maximum(of_rows[p:], 0.0)


# --- gaps -----------------------------------------------------------------------------------------

SMALLEST_DIVISOR = 1e-300
"""Least value of an objective or distance that others are divided by: far above underflow."""

ROUNDED_AWAY = 1e-12
"""Share of ``x'diag(P)x`` up to which an objective is what rounding left of larger numbers."""


def negligible_objective(q: Vector, unit: float, x: Vector) -> float:
    """Objective below which values count as zero when a gap is divided by them.

    Weights that are this much smaller than the terms they are the sum of; or, with costs q, that
    change no gradient by so small a share of the largest cost.

    Parameters
    ----------
    q, x : arrays of shape (n,)
    unit : float
        The mean of the diagonal of P.
    """
    if q.any():
        share = 1e-8 * float(np.max(np.abs(q)))  # of a gradient: no prediction shows it
        rounding = ROUNDED_AWAY * unit * float(x @ x)
        return max(rounding, 0.5 * share * share / unit, SMALLEST_DIVISOR)
    # optimal weights may vanish: they are as small as the root of this share of their terms
    total = float(np.sum(np.abs(x)))
    return max(1e-9 * unit * total * total, SMALLEST_DIVISOR)


# --- points and work ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Point:
    """A point of a box program: ``x``, ``P x`` and the multipliers of the rows.

    ``drift`` is what rounding may have added to an entry of ``P x`` since that was evaluated.
    """

    x: Vector
    Px: Vector
    y: Vector
    drift: float = 0.0


LARGEST_SET = 9000
"""Variables of a working set, at most: one without some of the free variables is never the last."""


@dataclass(eq=False)
class WorkBudget:
    """Limits of work and memory, and the running count of work, which one search shares.

    Attributes
    ----------
    limit : float
        Of ``work``. By count and not by the clock: the same question gets the same answer.
    largest : int
        Unknowns of a dense matrix, at most: those for which there is memory.
    watch : callable or None
        Called with this object between steps; once it returns False, the search ends.
    deadline : Deadline
        When the time is over; the search ends at its next step.
    work : float
        The sum of (number of unknowns)^3 over all dense factorisations, and what takes as long.
    factorisations : int
    residual : float
        The last one known.
    gap : callable or None
        Computes the relative duality gap of the last point of the whole program, for who watches.
    is_over : bool
        Whether the search was ended.
    best : Point or None
        The last one of the working sets: what there is when the search is interrupted.
    """

    limit: float = math.inf
    largest: int = LARGEST_SET
    watch: Callable[[WorkBudget], bool] | None = None
    deadline: Deadline = NEVER
    work: float = 0.0
    factorisations: int = 0
    residual: float = math.inf
    gap: Callable[[], float] | None = None
    is_over: bool = False
    best: Point | None = None

    def add_factorisation(self, work: float) -> None:
        """Count one factorisation."""
        self.factorisations += 1
        self.work += work

    def may_go_on(self, residual: float) -> bool:
        """Return whether work and time are left and no stop was requested."""
        self.residual = residual
        self.is_over = (
            self.is_over
            or self.work > self.limit
            or self.deadline.has_passed()
            or (self.watch is not None and self.watch(self) is False)
        )
        return not self.is_over
