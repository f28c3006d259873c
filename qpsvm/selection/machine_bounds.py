"""Duality gaps of machines of a stored kernel matrix, and bounds on exact decision values.

For coefficients beta in their boxes that add up to zero, ``w = sum_j beta_j phi(x_j)`` and any b,
the gap is a sum of terms that are not negative (Fenchel and Young)::

    P - D = sum_i loss_i(f_i) + beta_i f_i - reward_i(beta_i),      f_i = w'phi(x_i) + b
          = sum_i (U_i - beta_i) max(a_i - f_i, 0) + beta_i max(f_i - a_i, 0)

(for the upper side of a subdifferential; the lower one likewise). The primal objective may be that
of another machine, ``(1 + d)(w, b)``: the gap is then ``1/2 d^2 |w|^2`` plus these terms at
``(1 + d) f``. Of two classes, d is such that samples on the margin have no loss, whatever C.

The dual objective is strongly concave in w, so ``|w - w*| <= sqrt(2 (P - D))``, hence ::

    |w'phi(x) - w*'phi(x)|  <=  sqrt(2 (P - D)) sqrt(k(x, x))

and the optimal intercepts lie between those of the training targets moved by as much
(``machines.intercept.enclosing_intercepts``), as in ``certificates.optimum``.

Every term is taken at the worse end of the errors of its sum (``selection.kernel_matrix``). Where
coefficients add up to s in place of zero, some of the sign of s, moved towards zero, make up for
it: the gap of that point is larger by the sum of ``|a_i - f_i|`` times how far they move, and by
half of the square of how far the weights do. ``C_i`` that were rounded are taken a little lower in
the dual (``feasible``) and a little higher in the losses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from qpsvm.certificates.predictions import DecisionBounds
from qpsvm.display import short_repr
from qpsvm.machines.intercept import Interval, enclosing_intercepts, optimal_intercepts
from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.numerics.balls import SUM_ROUNDING, UNDERFLOW, gamma
from qpsvm.numerics.precision import EPS, TINY
from qpsvm.selection.kernel_matrix import Sums
from qpsvm.selection.subdifferential import Subdifferential


@short_repr
@dataclass(frozen=True, eq=False)
class HeldOut:
    """Decision values of m machines for held-out samples, and bounds on those of every optimum.

    Attributes
    ----------
    gap : array of shape (m,)
        Certified gaps of the machines, relative to their primal objectives.
    values, lower, upper : arrays of shape (m, r)
    """

    gap: Vector
    values: Dense
    lower: Dense
    upper: Dense

    def bounds(self, k: int) -> DecisionBounds:
        """The bounds of machine k."""
        return DecisionBounds(self.values[k], self.lower[k], self.upper[k])

    def improve(self, rows: Index, other: HeldOut) -> None:
        """Take the bounds of other machines for some rows, where their gaps are smaller."""
        better = other.gap < self.gap[rows]
        for name in ("gap", "values", "lower", "upper"):
            getattr(self, name)[rows[better]] = getattr(other, name)[better]


def feasible(
    beta: Dense, loss: Subdifferential, *, is_free: bool = True, upper_bound_error: float = 0.0
) -> Dense:
    """Move coefficients into their boxes, and to sums of zero up to rounding; shape (m, n).

    Parameters
    ----------
    beta : array of shape (m, n)
    loss : Subdifferential
    is_free : bool
        Whether coefficients have to add up to zero: with a free intercept.
    upper_bound_error : float
        Relative error of the ``C_i``, by which the boxes are smaller.
    """
    inner, rows = loss.scaled(1.0 - 2.0 * upper_bound_error), np.arange(len(beta))
    upper, lowest = (np.broadcast_to(end, beta.shape) for end in (inner.upper, inner.lowest))
    beta = np.clip(beta, lowest, upper)
    for _ in range(2 if is_free else 0):  # the second time for the rounding of the first
        sums = np.sum(beta, axis=1)
        room = np.where(sums[:, None] > 0.0, beta - lowest, upper - beta)
        widest = rows, np.argmax(room, axis=1)
        beta[widest] = np.clip(beta[widest] - sums, lowest[widest], upper[widest])
    return np.asarray(beta)


def held_out(
    loss: Subdifferential,
    beta: Dense,
    trained: Sums,
    others: Sums,
    *,
    is_free: bool = True,
    upper_bound_error: float = 0.0,
) -> HeldOut:
    """Bound duality gaps of machines, and the optima's decision values for held-out samples.

    Parameters
    ----------
    loss : Subdifferential
        Of the training samples, one machine a row.
    beta : array of shape (m, n)
        From ``feasible``.
    trained, others : Sums
        Of training samples and of held-out ones.
    is_free : bool
        Whether the intercept is free; else it is part of the kernel, or there is none.
    upper_bound_error : float
        Relative error of the ``C_i``.
    """
    outer, w, m = loss.scaled(1.0 + 2.0 * upper_bound_error), trained.values, len(beta)
    of_w, of_out = (each.rounding + each.entries for each in (trained, others))
    missed, b, shifts = np.zeros(m), np.zeros(m), np.zeros((2, m, 1))
    with np.errstate(all="ignore"):  # nothing is known of kernel values that are rounding
        sides = []
        if is_free:
            missed = np.array([abs(math.fsum(row)) for row in beta.tolist()])
            sides = [_Sides.of(outer, k, w[k], of_w[k], trained.norms) for k in range(m)]
            b = np.array([each.best_intercept for each in sides])
        sizes = EPS * (np.abs(w) + np.abs(b)[:, None])
        moved = missed * float(np.max(trained.norms, initial=0.0))
        gap, objective = _gaps(outer, beta, w, b, of_w + sizes, missed)
        gap += moved**2  # half of it without rounding
        reach = np.sqrt(2.0 * gap) * SUM_ROUNDING
        for k, side in enumerate(sides):
            error = 4.0 * EPS + 4.0 * upper_bound_error
            shifts[:, k, 0] = side.optimal_intercepts(float(reach[k]), error)
        out, away = others.values, reach[:, None] * others.norms + of_out
        away += 4.0 * EPS * (np.abs(out) + np.sum(np.abs(shifts), axis=0) + away)
        low, high = out + shifts[0] - away, out + shifts[1] + away
    low, high = np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)
    return HeldOut(gap / np.maximum(objective, TINY), out + b[:, None], low, high)


def _gaps(
    loss: Subdifferential, beta: Dense, w: Dense, b: Vector, errors: Dense, missed: Vector
) -> tuple[Vector, Vector]:
    """Bound the duality gaps of several machines, and compute their objectives.

    ``missed`` is ``|sum(beta)|`` where that has to be zero, else zero, shape (m,).
    """
    f = w + b[:, None]
    rounding = errors + 2.0 * EPS * (np.abs(f) + loss.sizes)
    price = missed * loss.steepest(f, beta, rounding)
    gap, products = np.sum(loss.gaps(f, beta, rounding), axis=1) + price, beta * w
    square = np.maximum(np.sum(products, axis=1), 0.0)
    objective = loss.dual_linear_part(beta) - 0.5 * square + gap
    d = _stretches(loss, beta, f, errors)
    rows = np.flatnonzero(d > 0.0)
    if len(rows):
        some, by = loss.of(rows), 1.0 + d[rows, None]
        stretched = np.sum(some.gaps(by * f[rows], beta[rows], by * rounding[rows]), axis=1)
        norm = square + np.sum(np.abs(beta) * errors + gamma(w.shape[1]) * np.abs(products), axis=1)
        stretched += 0.5 * d[rows] ** 2 * norm[rows] + price[rows]
        stretched += missed[rows] * d[rows] * np.abs(b[rows])
        gap[rows] = np.fmin(gap[rows], stretched)
    gap = SUM_ROUNDING * gap + 8.0 * EPS * objective + UNDERFLOW
    inside = ((beta <= loss.upper) & (beta >= loss.lowest)).all(axis=1)
    return np.where(inside & np.isfinite(gap), gap, np.inf), objective


def _stretches(loss: Subdifferential, beta: Dense, f: Dense, errors: Dense) -> Vector:
    """Stretches d for which weights times ``1 + d`` have no hinge loss on the margin; else 0."""
    has_a, has_c = (np.any(side, axis=0) for side in (loss.upper > 0.0, loss.lowest < 0.0))
    if not ((loss.a[has_a] == 1.0).all() and (loss.c[has_c] == -1.0).all()):
        return np.zeros(len(beta))
    on_margin = (beta != 0.0) & (beta < loss.upper) & (beta > loss.lowest)
    margins = np.where(on_margin, np.sign(beta) * f - 2.0 * errors, 1.0)
    least = np.minimum(np.min(margins, axis=1), 1.0)
    return np.where(least > 0.0, 1.0 / least - 1.0, 0.0)


class _Sides(NamedTuple):
    """The losses of the training samples as functions of the intercept (``machines.intercept``)."""

    targets: Vector
    lower: Vector
    upper: Vector
    errors: Vector
    norms: Vector

    @classmethod
    def of(cls, loss: Subdifferential, k: int, w: Vector, errors: Vector, norms: Vector) -> _Sides:
        upper, lowest = loss.upper[k], loss.lowest[k]
        above, below = np.flatnonzero(upper > 0.0), np.flatnonzero(lowest < 0.0)
        both = np.concatenate([above, below])
        return cls(
            np.concatenate([loss.a[above], loss.c[below]]) - w[both],
            np.concatenate([np.zeros(len(above)), lowest[below]]),
            np.concatenate([upper[above], np.zeros(len(below))]),
            errors[both],
            norms[both],
        )

    @property
    def best_intercept(self) -> float:
        """Midpoint of the optimal intercepts for the weights."""
        none = np.zeros(len(self.lower))
        return optimal_intercepts(self.targets, self.lower, self.upper, none).midpoint

    def optimal_intercepts(self, radius: float, error: float) -> Interval:
        """Enclose all optimal intercepts, for weights within a radius."""
        away = radius * self.norms + self.errors + 4.0 * EPS * np.abs(self.targets)
        none = np.zeros(len(self.lower))
        return enclosing_intercepts(self.targets, away, self.lower, self.upper, none, error=error)
