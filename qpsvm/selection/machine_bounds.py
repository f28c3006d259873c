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

Kernel sums are rounded; that is estimated as in ``BoxProgram.rounding``, and every term is taken at
the worse end. The figures hold up to this estimate, as those of a certificate that is not rigorous.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.certificates.predictions import DecisionBounds
from qpsvm.display import short_repr
from qpsvm.machines.intercept import Interval, best_shifts, enclosing_shifts
from qpsvm.numerics import compensated
from qpsvm.numerics.arrays import Dense, Vector
from qpsvm.numerics.precision import EPS, TINY
from qpsvm.selection.settings import LEAVE_ONE_OUT, SEARCH
from qpsvm.selection.staircase import Staircase
from qpsvm.solvers.box.settings import BOX


@short_repr
@dataclass(frozen=True, eq=False)
class HeldOut:
    """Decision values of held-out samples, and bounds on those of every exact optimum.

    Attributes
    ----------
    gap : float
        Certified gap of the machine, relative to its primal objective.
    bounds : DecisionBounds
        Of m samples.
    """

    gap: float
    bounds: DecisionBounds


@short_repr
@dataclass(frozen=True, eq=False)
class Products:
    """``w'phi(x)`` for several samples x (rows) and machines (columns).

    Attributes
    ----------
    values : array of shape (m, c)
    norms : array of shape (m,)
        ``|phi(x)|``.
    precision : float
        Rounding of these sums, relative to that of ordinary ones.
    """

    values: Dense
    norms: Vector
    precision: float = 1.0

    @classmethod
    def of(cls, K: Dense, norms: Vector, beta: Dense, *, more_digits: bool = False) -> Products:
        """``K beta`` for K of shape (m, n), and norms of its m samples."""
        if more_digits:
            return cls(compensated.product(K, beta), norms, LEAVE_ONE_OUT.compensated)
        return cls(K @ beta, norms)


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
    size = BOX.gradient_rounding * float(np.linalg.norm(trained.norms * beta))
    w, out = trained.values[:, column], others.values[:, column]
    sides = _Sides.of(stair, w, size * trained.precision * trained.norms, trained.norms)
    b = sides.best_intercept
    errors = size * trained.precision * trained.norms + EPS * (np.abs(w) + abs(b))
    gap, objective = _gap(stair, beta, w, b, errors)
    radius = float(np.sqrt(2.0 * gap))
    shift = sides.optimal_intercepts(radius)
    away = (radius + size * others.precision) * others.norms + 4.0 * EPS * (np.abs(out) + abs(b))
    bounds = DecisionBounds(out + b, out + shift.lower - away, out + shift.upper + away)
    return HeldOut(gap / max(objective, TINY), bounds)


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
        gap = min(gap, stretched + 0.5 * d**2 * square)
    missed = abs(float(np.sum(beta))) + len(beta) * EPS * float(np.sum(np.abs(beta)))
    gap += missed * (1.0 + 2.0 * abs(b)) + 8.0 * EPS * objective  # of b*, which is near b
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
