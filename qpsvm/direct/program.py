r"""A small machine in arrays: its dual points, and a certificate from them alone.

With ``v = p - s (f + b)`` and the decision values f of the weights that a dual point a implies, the
duality gap is the sum of ``loss(v) + d/2 a^2 - a v`` over the conditions
(``machines.complementarity``). Each term is taken at the worse end of the error of its v, that of
kernel values included. What is certified depends on a and the samples, and on nothing that a solver
said.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from qpsvm.direct.matrices import SUMMED, Features, KernelMatrix
from qpsvm.direct.settings import DIRECT
from qpsvm.display import short_repr
from qpsvm.machines.intercept import Interval
from qpsvm.machines.settings import MACHINES
from qpsvm.native import MachineBounds, MachineRun, SmallMachine, Status
from qpsvm.numerics.arrays import Dense, Vector
from qpsvm.numerics.balls import UNDERFLOW
from qpsvm.numerics.precision import EPS, TINY
from qpsvm.solvers.box.related import RelatedPrograms


class Certified(NamedTuple):
    """A machine with a proven bound on how far its objective is above the optimum.

    Parameters
    ----------
    alpha, expansion : arrays of shape (N,) and (n,)
    coef : array of shape (d,) or None
        Weights of the features, where the machine predicts with them.
    values : array of shape (n,)
        Decision values without intercept.
    error : float
        Bound on the errors of these.
    interval : Interval
        The best intercepts.
    width : float
        The best width of a margin or tube; 0 where there is none.
    relative_gap : float
        Bound on the objective minus the optimum, errors of kernel values and rounding included,
        relative to a lower bound on the objective's size.
    violation : float
        Largest distance of a variable from its KKT case.
    below : float
        By how much a multiplier of a variable without an upper end is below zero, at most, in units
        of violations.
    points : int
        How many dual points were tried.
    """

    alpha: Vector
    expansion: Vector
    coef: Vector | None
    values: Vector
    error: float
    interval: Interval
    width: float
    relative_gap: float
    violation: float
    below: float
    points: int

    def passes(self, eps: float) -> bool:
        """Return whether the gap is proven to ``eps`` and complementary slackness nearly holds."""
        if not (self.relative_gap <= DIRECT.gap_share * eps and self.below <= DIRECT.sign * eps):
            return False
        return self.violation <= DIRECT.natural_share * math.sqrt(eps)


@short_repr
@dataclass(frozen=True, eq=False)
class DirectProgram:
    """The quadratic program of a small machine in arrays: kernel matrix, labels, losses, bounds.

    Attributes
    ----------
    machine : SmallMachine
        Its dual; without K where Newton's method on the weights minimises it.
    matrix : KernelMatrix or Features
        What its decision values are evaluated with.
    unit : float
        Of violations.
    """

    machine: SmallMachine
    matrix: KernelMatrix | Features
    unit: float = 1.0

    def solved(self, eps: float) -> Certified | None:
        """Solve the dual; return the first machine whose proven gap is within ``eps``, or None."""
        own, matrix = self.machine, self.matrix
        if isinstance(matrix, Features) and own.K is None:
            return self._by_newton(matrix.X, eps)
        scale = float(np.max(np.abs(own.required))) or self.unit
        tolerance = DIRECT.tolerance * eps * max(scale, TINY)
        if own.price:
            tolerance *= DIRECT.boundary
        run, numbers = None, DIRECT.numbers._replace(rough=DIRECT.numbers.rough * scale)
        for count in range(1, DIRECT.certificates + 1):
            run = own.run(tolerance, numbers, run)
            if run.status in (Status.UNBOUNDED, Status.NOT_FINITE):
                return None
            if run.status is Status.LIMIT:
                found = self._by_larger_steps(run, eps)
                return found if found is not None and found.passes(eps) else None
            found = self.certified(run.alpha)
            if found is None or found.passes(eps):
                return found and found._replace(points=count)
            run.gradient[:] = self._gradient(found)  # without the rounding of many steps
            tolerance *= min(DIRECT.tighter, DIRECT.aim * eps / found.relative_gap)
        return None

    def _by_newton(self, X: Dense, eps: float) -> Certified | None:
        """Minimise over the weights; again from there where the certificate is too wide."""
        weights = None
        for count in range(1, DIRECT.certificates + 1):
            limits = DIRECT.newton_steps, DIRECT.halvings
            status, weights, alpha = self.machine.newton(X, *limits, weights)
            found = self.certified(alpha) if status is Status.DONE else None
            if found is None or found.passes(eps):
                return found and found._replace(points=count)
        return None

    def _by_larger_steps(self, run: MachineRun, eps: float) -> Certified | None:
        """Continue by Newton steps with LAPACK where many variables lie between their bounds.

        None for a machine with a quadratic loss or without an equality row.
        """
        own = self.machine
        if not own.is_free or own.curved is not None or own.K is None:
            return None
        q, is_positive = -own.signs * own.required, own.signs > 0.0
        lower = np.where(is_positive, own.lower, -own.upper)
        upper = np.where(is_positive, own.upper, -own.lower)
        programs = RelatedPrograms(own.K, own.rows)
        product, share = run.gradient - q, DIRECT.larger_steps * eps
        A, b = np.ones((1, len(q))), np.array([own.price])
        if own.side:
            A, b = np.vstack([A, own.signs]), np.array([own.price, own.total])
        point = programs.solve(q, lower, upper, run.v, eps=share, product=product, rows=(A, b))
        alpha = np.minimum(np.maximum(own.signs * point.x, own.lower), own.upper)
        return self.certified(alpha + 0.0)  # no negative zeros

    def _gradient(self, found: Certified) -> Vector:
        """The gradient of the dual in ``v = s a``, from decision values, shape (N,)."""
        own = self.machine
        f = found.values + own.constant * np.sum(found.expansion)
        f = f if own.rows is None else f[own.rows]
        curved = 0.0 if own.curved is None else own.curved * found.alpha
        return np.asarray(f + own.signs * (curved - own.required))

    def certified(self, alpha: Vector) -> Certified | None:
        """Bound the excess of the machine that dual variables imply.

        None where it overflows, or where the sums that the machine keeps are missed by more than
        their rounding: the intercept at the optimum, which nobody knows, would be their price.

        Parameters
        ----------
        alpha : array of shape (N,)
            In the box. Sums that it misses are made up for by variables between their bounds.
        """
        found = self._bounds(alpha)
        if found is not None and self._misses_sums(alpha, found):
            alpha = self._with_sums(alpha, found)
            found = self._bounds(alpha)
        if found is None or self._misses_sums(alpha, found):
            return None
        return self._certificate(alpha, found)

    def _bounds(self, alpha: Vector) -> MachineBounds | None:
        own, flat = self.machine, 0.0
        if own.is_free and own.curved is None:  # as for ``machines.intercept``
            ends = float(np.sum(np.maximum(np.abs(own.lower), own.upper)))
            flat = len(alpha) * EPS * (ends + abs(own.price) + own.total)
        X = self.matrix.X if isinstance(self.matrix, Features) else None
        return own.bounds(alpha, self.matrix.errors, X=X, flat=flat, unit=self.unit)

    def _misses_sums(self, alpha: Vector, found: MachineBounds) -> bool:
        own = self.machine
        allowed = DIRECT.sum_roundings * EPS * float(np.sum(np.abs(alpha)))
        if own.is_free and not abs(found.balance - own.price) <= allowed:
            return True
        return bool(own.side) and not abs(found.total - own.total) <= allowed

    def _with_sums(self, alpha: Vector, found: MachineBounds) -> Vector:
        """Spread what sums are missed by over the variables between their bounds."""
        own = self.machine
        balance = found.balance - own.price
        total = found.total - own.total if own.side else 0.0
        moved = alpha.copy()
        is_free = (alpha > own.lower) & (alpha < own.upper)
        groups = [(is_free, balance)]
        if own.side:  # the sums of either sign
            above, below = 0.5 * (total + balance), 0.5 * (balance - total)
            groups = [(is_free & (own.signs > 0.0), above), (is_free & (own.signs < 0.0), below)]
        for some, missed in groups:
            moved[some] -= own.signs[some] * (missed / max(int(np.count_nonzero(some)), 1))
        return np.minimum(np.maximum(moved, own.lower), own.upper)

    def _certificate(self, alpha: Vector, found: MachineBounds) -> Certified:
        own = self.machine
        beta, interval = found.expansion, Interval(found.first, found.last)
        b, c = interval.midpoint, own.constant
        prices = own.price * b + own.side * own.total * found.width
        objective = 0.5 * float(beta @ found.values) + found.losses + 0.5 * c * b * b + prices
        upper = found.gap + MACHINES.price_roundings * EPS * abs(objective)
        if own.is_free:
            upper += self._missed_sums(found, b)
        elif c:
            upper += 0.5 * (b - found.balance) ** 2
        apart = self.matrix.weights_apart * found.reach
        if own.rows is not None:  # beta is a rounded difference
            terms = np.bincount(own.rows, np.abs(alpha), len(beta))
            apart += 2.0 * EPS * float(np.sqrt(np.abs(self.matrix.diagonal)) @ terms)
        upper += 0.5 * apart * apart
        lost = found.passed_on
        lost += float(np.abs(beta) @ (found.errors + len(beta) * EPS * np.abs(found.values)))
        if prices:  # losses and prices cancel
            lost += len(alpha) * EPS * (found.losses + abs(own.price * b) + own.total * found.width)
        relative = (SUMMED * upper + UNDERFLOW) / max(abs(objective) - SUMMED * lost, TINY)
        error = float(np.max(found.errors, initial=0.0))
        coef = found.coef if isinstance(self.matrix, Features) else None
        rest = found.values, error, interval, found.width, relative, found.violation
        return Certified(alpha, beta, coef, *rest, self._below(alpha, found.values + b), 0)

    def states_enough_digits(self, found: Certified, eps: float) -> bool:
        """Return whether slack and multipliers are known to the digits that the verifier asks for.

        Multipliers of variables between their bounds are residuals of the gradient. With quadratic
        losses, or where kernel values are far above 1 and nothing is required, they may be more
        than complementary slackness allows, while their share in the gap is small.
        """
        own, alpha = self.machine, found.alpha
        if found.error > DIRECT.stated * eps * self.unit:
            return False
        if own.curved is not None:
            f = found.values + found.interval.midpoint
            f = f if own.rows is None else f[own.rows]
            residual = (own.curved * alpha - own.required + own.signs * f) * alpha
            is_free = (alpha > own.lower) & (alpha < own.upper)
            size = 0.5 * float(found.expansion @ found.values)
            return float(np.sum(np.abs(residual[is_free]))) <= DIRECT.gap_share * eps * size
        if own.required.any():
            return True
        gradient = own.signs * (found.values + found.interval.midpoint) + own.side * found.width
        above, below = np.maximum(gradient, 0.0), np.maximum(-gradient, 0.0)
        natural = np.maximum(
            np.minimum(above, alpha - own.lower), np.minimum(below, own.upper - alpha)
        )
        size = min(1.0, float(np.max(np.abs(alpha), initial=0.0)))
        return float(np.max(natural, initial=0.0)) <= DIRECT.natural_share * math.sqrt(eps) * size

    def _missed_sums(self, found: MachineBounds, b: float) -> float:
        """Cost of dual equality rows that hold only up to rounding (``accuracy.missed_sums``)."""
        own = self.machine
        missed = abs(found.balance - own.price) + EPS * abs(own.price)
        of_width = abs(found.total - own.total) + EPS * own.total
        return 2.0 * (missed * abs(b) + of_width * found.width)

    def _below(self, alpha: Vector, values: Vector) -> float:
        own = self.machine
        if own.curved is None:
            return 0.0
        f = values if own.rows is None else values[own.rows]
        excess = own.required - own.signs * f - own.curved * alpha
        return float(np.max(excess[np.isinf(own.upper)], initial=0.0)) / self.unit
