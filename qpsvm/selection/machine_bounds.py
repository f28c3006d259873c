"""The duality gap of a machine of a stored kernel matrix, and bounds on exact decision values.

For coefficients beta in their boxes that add up to zero, ``w = sum_j beta_j phi(x_j)`` and any b,
the gap is a sum of terms that are not negative (Fenchel and Young)::

    P - D = sum_i loss_i(f_i) + beta_i f_i - reward_i(beta_i),      f_i = w'phi(x_i) + b
          = sum_i (U_i - beta_i) max(a_i - f_i, 0) + beta_i max(f_i - a_i, 0)

(for the upper side of a staircase; the lower one likewise). The primal objective may be that of
another machine, ``(1 + d)(w, b)``: the gap is then ``1/2 d^2 |w|^2`` plus these terms at
``(1 + d) f``. Of two classes, d is such that samples on the margin have no loss, whatever C.

The dual objective is strongly concave in w, so ``|w - w*| <= sqrt(2 (P - D))``, hence ::

    |w'phi(x) - w*'phi(x)|  <=  sqrt(2 (P - D)) sqrt(k(x, x))

and the optimal intercepts lie between those of the training targets moved by as much
(``machines.intercept.enclosing_shifts``), as in ``certificates.optimum``.

The kernel is the function on the samples, not the matrix that was stored: decision values are known
up to the errors of all kernel values (``certificates.rigorous.kernels``) and of their sums (lemma 7
of ``docs/rounding.md``), and every term is taken at the worse end. Where coefficients add up to
``s``, ``P - D`` grows by ``|s b*|``. For a bound B on ``|b*|`` the radius encloses the optima with
``|b| <= B``; if their intercepts are all within ``(-B, B)``, these are all optima.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from qpsvm.certificates.optimum import NORM_ROUNDING as ROUNDED_UP
from qpsvm.certificates.predictions import DecisionBounds
from qpsvm.display import short_repr
from qpsvm.kernels.errors import EntryErrors
from qpsvm.machines.intercept import Interval, best_shifts, enclosing_shifts
from qpsvm.numerics import compensated
from qpsvm.numerics.arrays import Dense, Vector
from qpsvm.numerics.balls import UNDERFLOW, gamma, in_chunks, n_steps
from qpsvm.numerics.precision import EPS, TINY
from qpsvm.selection.settings import LEAVE_ONE_OUT, SEARCH
from qpsvm.selection.staircase import Staircase


@short_repr
@dataclass(frozen=True, eq=False)
class HeldOut:
    """Decision values of held-out samples, and bounds on those of every exact optimum.

    Attributes
    ----------
    gap : float
        Certified gap of the machine, relative to its primal objective.
    own_gap : float
        The same for the stored kernel matrix, as if it had no errors.
    bounds : DecisionBounds
        Of m samples.
    """

    gap: float
    own_gap: float
    bounds: DecisionBounds


@short_repr
@dataclass(frozen=True, eq=False)
class Products:
    """``w'phi(x)`` for several samples x (rows) and machines (columns).

    Attributes
    ----------
    values : array of shape (m, c)
    rounding, entries : arrays of shape (m, c)
        Bounds on the rounding of these sums, and on what the errors of kernel values change.
    norms : array of shape (m,)
        Upper bounds of ``|phi(x)|``.
    """

    values: Dense
    rounding: Dense
    entries: Dense
    norms: Vector

    @classmethod
    def of(
        cls,
        K: Dense,
        errors: EntryErrors,
        norms: Vector,
        beta: Dense,
        *,
        more_digits: bool = False,
    ) -> Products:
        """``K beta`` for K of shape (m, n) with its errors, and norms of its m samples."""
        size = np.abs(beta)
        with np.errstate(all="ignore"):
            columns = np.where(size > 0.0, errors.columns[:, None] * size, 0.0)
            own, of_columns = np.split(np.abs(K) @ np.hstack([size, columns]), 2, axis=1)
            rows, left = errors.rows[:, None], errors.left[:, None]
            entries = rows * own + (1.0 + rows) * of_columns + left * (errors.right @ size)
            entries += UNDERFLOW * np.sum(size, axis=0)
            growth = 1.0 + 4.0 * gamma(len(beta))  # these sums were rounded themselves
            entries, rounding = growth * entries, growth * gamma(n_steps(len(beta))) * own
        entries = np.where(np.isnan(entries), np.inf, entries)
        if more_digits:
            rounding *= LEAVE_ONE_OUT.compensated
            return cls(compensated.product(K, beta), rounding, entries, norms)
        return cls(in_chunks(K, beta), rounding, entries, norms)


def feasible(beta: Dense, upper: Dense, lowest: Dense) -> Dense:
    """Move coefficients into their boxes, and to sums of zero up to rounding; shape (n, c) each."""
    beta = np.clip(beta, lowest, upper)
    columns = np.arange(beta.shape[1])
    for _ in range(2):  # the second time for the rounding of the first
        sums = np.sum(beta, axis=0)
        room = np.where(sums > 0.0, beta - lowest, upper - beta)
        widest = np.argmax(room, axis=0)
        moved = beta[widest, columns] - sums
        beta[widest, columns] = np.clip(moved, lowest[widest, columns], upper[widest, columns])
    return np.asarray(beta)


def held_out(
    stair: Staircase, beta: Vector, trained: Products, others: Products, column: int
) -> HeldOut:
    """Bound a machine's duality gap, and the optimum's decision values for held-out samples.

    Parameters
    ----------
    stair : Staircase
        Of the n training samples.
    beta : array of shape (n,)
        From ``feasible``.
    trained, others : Products
        Of training samples and of held-out ones.
    column : int
        The machine's, in both.
    """
    w, out = trained.values[:, column], others.values[:, column]
    of_w, of_out = (each.rounding + each.entries for each in (trained, others))
    sides = _Sides.of(stair, w, of_w[:, column], trained.norms)
    b = sides.best_intercept
    own, errors = (
        each[:, column] + EPS * (np.abs(w) + abs(b)) for each in (trained.rounding, of_w)
    )
    missed = abs(math.fsum(beta.tolist()))
    with np.errstate(all="ignore"):  # nothing is known of kernel values that are rounding
        gap, objective = _gap(stair, beta, w, b, errors)
        own_gap = _gap(stair, beta, w, b, own)[0] + missed * abs(b)
        gap, shift = _with_intercepts(sides, gap, missed, abs(b))
        radius = float(np.sqrt(2.0 * gap)) * ROUNDED_UP
        away = radius * others.norms + of_out[:, column]
        away += 4.0 * EPS * (np.abs(out) + np.abs(shift.lower) + np.abs(shift.upper) + away)
        low, high = out + shift.lower - away, out + shift.upper + away
        low, high = np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)
    size = max(objective, TINY)
    return HeldOut(gap / size, own_gap / size, DecisionBounds(out + b, low, high))


def _with_intercepts(sides: _Sides, gap: float, missed: float, b: float) -> tuple[float, Interval]:
    """Add the cost of a violated ``sum(beta) = 0`` to a gap, and bound the optimal intercept."""
    bound = 1.0 + 2.0 * b
    for _ in range(SEARCH.intercepts):
        whole = gap + missed * (b + bound)
        shift = sides.optimal_intercepts(float(np.sqrt(2.0 * whole)) * ROUNDED_UP)
        reached = max(abs(shift.lower), abs(shift.upper))
        if missed == 0.0 or reached < bound:
            return whole, shift
        bound = 2.0 * reached
        if not np.isfinite(bound):
            break
    return np.inf, Interval(-np.inf, np.inf)


def _gap(
    stair: Staircase, beta: Vector, w: Vector, b: float, errors: Vector
) -> tuple[float, float]:
    """Bound on the gap, infinite for coefficients outside of their boxes, and the objective."""
    f, square = w + b, max(float(beta @ w), 0.0)
    gap = _terms(stair, beta, f, errors)
    objective = float(stair.rewards(beta[None])[0]) - 0.5 * square + gap
    if not ((beta <= stair.upper) & (beta >= stair.lowest)).all():
        return np.inf, objective
    d = _stretch(stair, beta, f, errors)
    if 0.0 < d < SEARCH.largest_stretch:
        stretched = _terms(stair, beta, (1.0 + d) * f, (1.0 + d) * errors)
        norm = square + float(np.abs(beta) @ errors)
        gap = min(gap, stretched + 0.5 * d**2 * norm)
    gap += 8.0 * EPS * objective
    return (gap if np.isfinite(gap) else np.inf), objective


def _stretch(stair: Staircase, beta: Vector, f: Vector, errors: Vector) -> float:
    """Stretch d for which weights times ``1 + d`` have no hinge loss on the margin; else 0."""
    has_a, has_c = stair.upper > 0.0, stair.lowest < 0.0
    if not ((stair.a[has_a] == 1.0).all() and (stair.c[has_c] == -1.0).all()):
        return 0.0
    on_margin = ((beta > 0.0) & (beta < stair.upper)) | ((beta < 0.0) & (beta > stair.lowest))
    margins = np.sign(beta[on_margin]) * f[on_margin] - 2.0 * errors[on_margin]
    least = float(np.min(margins, initial=1.0))
    return 1.0 / least - 1.0 if least > 0.0 else 0.0


def _terms(stair: Staircase, beta: Vector, f: Vector, errors: Vector) -> float:
    """The sum of ``loss_i(f_i) + beta_i f_i - reward_i(beta_i)``, each at the worse end of f."""
    excess = f - stair.kinks(beta)
    rounding = errors + 2.0 * EPS * (np.abs(f) + stair.sizes)
    return float(np.sum(stair.gaps(excess[None], beta[None], rounding[None])))


@dataclass(frozen=True, eq=False)
class _Sides:
    """The losses of the training samples as functions of the intercept (``machines.intercept``)."""

    targets: Vector
    lower: Vector
    upper: Vector
    errors: Vector
    norms: Vector

    @classmethod
    def of(cls, stair: Staircase, w: Vector, errors: Vector, norms: Vector) -> _Sides:
        above, below = np.flatnonzero(stair.upper > 0.0), np.flatnonzero(stair.lowest < 0.0)
        both = np.concatenate([above, below])
        return cls(
            np.concatenate([stair.a[above], stair.c[below]]) - w[both],
            np.concatenate([np.zeros(len(above)), stair.lowest[below]]),
            np.concatenate([stair.upper[above], np.zeros(len(below))]),
            errors[both],
            norms[both],
        )

    @property
    def best_intercept(self) -> float:
        """Midpoint of the optimal intercepts for the weights."""
        none = np.zeros(len(self.lower))
        return best_shifts(self.targets, self.lower, self.upper, none).midpoint

    def optimal_intercepts(self, radius: float) -> Interval:
        """Enclose all optimal intercepts, for weights within a radius."""
        away = radius * self.norms + self.errors + 4.0 * EPS * np.abs(self.targets)
        none = np.zeros(len(self.lower))
        return enclosing_shifts(self.targets, away, self.lower, self.upper, none, error=4.0 * EPS)
