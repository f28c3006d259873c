"""A small machine in arrays: its dual points, and a certificate from them alone.

With ``v = p - s (f + b)`` and the decision values f of the weights that a dual point a implies, the
duality gap is the sum of ``loss(v) + d/2 a^2 - a v`` over the conditions
(``machines.complementarity``). Each term is taken at the worse end of the error of its v, that of
kernel values included. What is certified depends on a and the samples, and on nothing that a solver
said.

``matrices`` bounds the rounding of decision values, ``settings`` has the sizes up to which that is
done.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from qpsvm.direct.matrices import Features, KernelMatrix
from qpsvm.direct.settings import DIRECT
from qpsvm.display import short_repr
from qpsvm.machines.intercept import Interval
from qpsvm.machines.settings import MACHINES
from qpsvm.native import (
    CallStatus,
    MachineBounds,
    MachineRun,
    SmallMachine,
)
from qpsvm.numerics.arrays import Dense, Index, Mask, Vector
from qpsvm.numerics.balls import SUM_ROUNDING, UNDERFLOW
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
        Bound on the errors of these, and on their distance from the values that alpha implies.
    interval : Interval
        The best intercepts.
    width : float
        The best width of a margin or tube; 0 where there is none.
    relative_gap : float
        Bound on the objective minus the optimum, errors of kernel values and rounding included,
        relative to a lower bound on the objective's size.
    plain_gap : float
        The gap in the same unit, as if decision values had no errors.
    scale : float
        The objective's size for a sum of dual variables of 1: a scale of conditions.
    violation : float
        Largest distance of a variable from its KKT case.
    below : float
        By how much a multiplier of a variable without an upper end is below zero, at most, in units
        of violations.
    points : int
        How many dual points were tried.
    by_newton : bool
        Whether Newton's method on the weights found the machine.
    is_enough : bool
        Whether the gap is proven to ``eps``, and slack and multipliers have the digits that the
        verifier asks for (``states_enough_digits``).
    """

    alpha: Vector
    expansion: Vector
    coef: Vector | None
    values: Vector
    error: float
    interval: Interval
    width: float
    relative_gap: float
    plain_gap: float
    scale: float
    violation: float
    below: float
    points: int
    by_newton: bool = False
    is_enough: bool = False

    def passes(self, eps: float) -> bool:
        """Return whether the gap is proven to ``eps`` and complementary slackness nearly holds."""
        if not self.relative_gap <= DIRECT.gap_share * eps:
            return False
        return self.violation <= DIRECT.natural_share * math.sqrt(eps)


def no_floor(_objective: float) -> float:
    """Return 0: the optimum of the machine is surely above zero."""
    return 0.0


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
    floor : callable
        The smallest scale of relative gaps (``Certificate.floor``), given an objective; at most
        that objective, or 0, where it is larger.
    """

    machine: SmallMachine
    matrix: KernelMatrix | Features
    unit: float = 1.0
    floor: Callable[[float], float] = no_floor

    @classmethod
    def of(
        cls,
        matrix: KernelMatrix | Features,
        conditions: tuple[Vector, Vector, Vector, Vector],
        curved: Vector | None,
        rows: Index | None = None,
        unit: float = 1.0,
        floor: Callable[[float], float] = no_floor,
        **kind: Any,
    ) -> DirectProgram:
        """The program of conditions (signs, required, lower, upper) on the samples of a matrix.

        ``kind`` are the parameters of ``SmallMachine`` that say which machine it is.
        """
        signs, required, lower, upper = map(np.ascontiguousarray, conditions)
        d = None if curved is None else np.ascontiguousarray(curved)
        K = None if matrix.are_few(len(signs), d is not None) else matrix.K
        own = SmallMachine(K, signs, required, lower, upper, d, rows, **kind)
        return cls(own, matrix, unit, floor)

    def solved(self, eps: float) -> Certified | None:
        """Solve a small machine; return it with a proven duality gap of at most ``eps``.

        The last machine in place of one whose gap is made of rounding; None where there is none.
        """
        own, matrix = self.machine, self.matrix
        if isinstance(matrix, Features) and own.K is None:
            return self._by_newton(matrix.X, eps)
        scale = float(np.max(np.abs(own.required))) or self.unit
        tolerance = DIRECT.tolerance * eps * max(scale, TINY)
        if own.cost:
            tolerance *= DIRECT.boundary
        if own.side:
            tolerance *= DIRECT.tighter
        best, run, steps = None, None, own
        rough, work = DIRECT.numbers.rough * scale, matrix.work(len(own.signs))
        numbers = DIRECT.numbers._replace(rough=rough, work=work)
        for count in range(1, DIRECT.certificates + 1):
            run = steps.run(tolerance, numbers, run)
            if run.status in (CallStatus.UNBOUNDED, CallStatus.NOT_FINITE):
                return None
            is_over = run.status is CallStatus.LIMIT
            found = None if is_over else self.certified(run.alpha)
            if is_over or found is None:
                break
            if found.passes(eps):
                is_enough = self.states_enough_digits(found, eps)
                best = found._replace(points=count, is_enough=is_enough)
                if is_enough:
                    break
            elif steps is own and self.is_widened_at_kinks(found, eps):
                more = DIRECT.stated * eps * found.scale
                steps = replace(own, required=own.required + more)
                run.gradient[:] = self._gradient(found) - own.signs * more
                tolerance = min(tolerance, DIRECT.tighter * more)
                continue
            elif self.has_converged(found, eps):
                return best or found
            run.gradient[:] = self._gradient(found)  # without the rounding of many steps
            tolerance *= min(DIRECT.tighter, DIRECT.aim * eps / found.relative_gap)
        if best is not None or run is None:
            return best
        return self._where_pairs_end(run, eps)

    def _where_pairs_end(self, run: MachineRun, eps: float) -> Certified | None:
        """Solve a machine that SMO steps did not solve in time, by one of two Newton methods."""
        own, matrix = self.machine, self.matrix
        if isinstance(matrix, Features) and matrix.are_few(len(own.signs), True):
            return self._by_newton(matrix.X, eps)
        if run.status is not CallStatus.LIMIT:
            return None
        found = self._by_larger_steps(run.v, run.gradient + own.signs * own.required, eps)
        if found is None:
            return None
        if not found.passes(eps) and self.is_widened_at_kinks(found, eps):
            product = self._gradient(found) + own.signs * own.required
            more = DIRECT.stated * eps * found.scale
            found = self._by_larger_steps(own.signs * found.alpha, product, eps, more) or found
        if not (found.passes(eps) or self.has_converged(found, eps)):
            return None
        is_enough = found.passes(eps) and self.states_enough_digits(found, eps)
        return found._replace(is_enough=is_enough)

    def _by_newton(self, X: Dense, eps: float) -> Certified | None:
        """Minimise the primal by Newton's method, repeated where digits are missing.

        These weights predict, and not those that alpha implies: with features of very different
        sizes a sum over the rounded alpha has fewer digits.
        """
        own, start, best, found = self.machine, None, None, None
        delta, gap, floor = 0.0, DIRECT.newton_gap * eps, self.floor(0.0)
        if own.curved is None:
            delta = DIRECT.newton_start * float(np.mean(self.matrix.diagonal))
            ramp = DIRECT.newton_ramp * float(np.max(np.abs(own.required)))
            delta = max(delta, ramp / float(np.max(own.upper - own.lower)), TINY)
        for count in range(1, DIRECT.certificates + 1):
            run = own.newton(X, DIRECT.newton, delta, gap, floor, start)
            if run.status is CallStatus.DONE:
                found = self.certified(run.alpha, run.weights)
                if found is None:
                    break
                found = found._replace(points=count, by_newton=True)
                if found.passes(eps) and (best is None or found.error < best.error):
                    best = found._replace(is_enough=self.states_enough_digits(found, eps))
                if best is not None and best.is_enough:
                    break
            elif run.status is not CallStatus.STALLED or not np.isfinite(run.weights).all():
                break
            start, delta, gap = (run.weights, run.alpha), run.delta, DIRECT.tighter * gap
        return best or found

    def _by_larger_steps(
        self, v: Vector, product: Vector, eps: float, more: float = 0.0
    ) -> Certified | None:
        """Continue by Newton steps with LAPACK where many variables lie between their bounds.

        None for a machine with a quadratic loss or without an equality row. ``product`` is ``Kv``;
        the steps ask for ``more`` than is required.
        """
        own, K, share = self.machine, self.machine.K, DIRECT.larger_steps * eps
        if not own.is_free or own.curved is not None or K is None:
            return None
        if more:
            share = min(share, DIRECT.tighter * more)
        q, is_positive = -own.signs * (own.required + more), own.signs > 0.0
        lower = np.where(is_positive, own.lower, -own.upper)
        upper = np.where(is_positive, own.upper, -own.lower)
        programs = RelatedPrograms(K, own.rows)
        A, b = np.ones((1, len(q))), np.array([own.cost])
        if own.side:
            A, b = np.vstack([A, own.signs]), np.array([own.cost, own.total])
        point = programs.solve(q, lower, upper, v, eps=share, product=product, rows=(A, b))
        alpha = np.minimum(np.maximum(own.signs * point.x, own.lower), own.upper)
        return self.certified(alpha + 0.0)  # no negative zeros

    def is_widened_at_kinks(self, found: Certified, eps: float) -> bool:
        """Return whether errors at the kinks of losses are what widens the gap.

        There an error e of a decision value costs ``(C_i - alpha_i) e``, far more than ``alpha_i
        e`` where C is large. Conditions that ask for a little more keep off the kinks.
        """
        own, more = self.machine, DIRECT.stated * eps * found.scale
        has_zero = own.curved is None and not own.side and bool((own.lower >= 0.0).all())
        is_optimal = found.violation <= DIRECT.tighter * DIRECT.stated * eps
        return has_zero and bool(own.required.any()) and found.error <= more and is_optimal

    def _gradient(self, found: Certified) -> Vector:
        """The gradient of the dual in ``v = s a``, from decision values, shape (N,)."""
        own = self.machine
        f = found.values + own.constant * np.sum(found.expansion)
        f = f if own.rows is None else f[own.rows]
        curved = 0.0 if own.curved is None else own.curved * found.alpha
        return np.asarray(f + own.signs * (curved - own.required))

    def certified(self, alpha: Vector, weights: Vector | None = None) -> Certified | None:
        """Bound the excess of the machine that dual variables imply, or of given weights.

        None where it overflows, or where the sums that the machine keeps are missed by more than
        their rounding: the intercept at the optimum, which is unknown, is their multiplier.

        Parameters
        ----------
        alpha : array of shape (N,)
            In the box. Sums that it misses are made up for by variables between their bounds.
        weights : array of shape (d,), (d + 1,) or (d + 2,), optional
            Of the features, and the intercept and the width where there are.
        """
        if weights is not None and self.machine.is_free:  # with the best intercept and width
            weights = weights[: -2 if self.machine.side else -1].copy()
        found = self._bounds(alpha, weights)
        if found is not None and self._misses_sums(found):
            alpha = self._with_sums(alpha, found)
            found = self._bounds(alpha, weights)
        return None if found is None else self.of_bounds(alpha, found, weights)

    def _bounds(self, alpha: Vector, weights: Vector | None) -> MachineBounds | None:
        X = self.matrix.X if isinstance(self.matrix, Features) else None
        errors, unit = self.matrix.errors, self.unit
        return self.machine.bounds(alpha, errors, X=X, weights=weights, unit=unit)

    def _misses_sums(self, found: MachineBounds) -> bool:
        own = self.machine
        allowed = DIRECT.sum_roundings * EPS * found.weight
        if own.is_free and not abs(found.balance - own.cost) <= allowed:
            return True
        return bool(own.side) and not abs(found.total - own.total) <= allowed

    def _with_sums(self, alpha: Vector, found: MachineBounds) -> Vector:
        """Spread what sums are missed by over the variables between their bounds."""
        own, moved = self.machine, alpha.copy()
        is_free = (alpha > own.lower) & (alpha < own.upper)
        for members, missed in self._groups(found):
            some = is_free if members is None else members & is_free
            moved[some] -= own.signs[some] * (missed / max(int(np.count_nonzero(some)), 1))
        return np.minimum(np.maximum(moved, own.lower), own.upper)

    def of_bounds(
        self, alpha: Vector, found: MachineBounds, weights: Vector | None = None
    ) -> Certified | None:
        """Bound the excess of a machine by the sums of its conditions; None where it misses sums.

        Parameters
        ----------
        alpha, weights : arrays of shape (N,) and (d,), (d + 1,) or (d + 2,)
            As for ``certified``.
        found : MachineBounds
            Of alpha and the weights.
        """
        if self._misses_sums(found):
            return None
        own, coef = self.machine, None
        size_apart = values_apart = 0.0
        if isinstance(self.matrix, Features):
            coef = found.coef
            if weights is not None:
                coef = weights[: len(coef)]
                step = coef - found.coef
                size_apart = float(np.linalg.norm(step))
                values_apart = float(np.max(np.abs(self.matrix.X @ step)))
        interval = Interval(found.first, found.last)
        b, c = interval.midpoint, own.constant
        linear = own.cost * b + own.side * own.total * found.width
        objective = 0.5 * found.product + found.losses + 0.5 * c * b * b + linear
        upper = found.gap + MACHINES.product_roundings * EPS * abs(objective)
        price = moved = 0.0
        if own.is_free:
            price, moved = self._onto_sums(alpha, found, b)
            upper += price
        elif c:
            missed = b - found.balance  # the intercept that alpha implies
            upper += 0.5 * missed * missed  # infinite where ** raises OverflowError
            values_apart += abs(missed)
        delta = self.matrix.weights_distance * found.reach + size_apart + moved
        if own.rows is not None:  # beta is a rounded difference
            terms = np.bincount(own.rows, np.abs(alpha), len(found.expansion))
            delta += 2.0 * EPS * float(np.sqrt(np.abs(self.matrix.diagonal)) @ terms)
        upper += 0.5 * delta * delta
        rounding = found.loss_error + found.product_error
        if coef is not None and size_apart:  # 1/2 |w|^2 beside 1/2 beta'f
            rounding += 0.5 * delta * float(np.linalg.norm(coef))
        if linear:  # losses and linear terms cancel
            rounding += (
                len(alpha) * EPS * (found.losses + abs(own.cost * b) + own.total * found.width)
            )
        size = max(abs(objective) - SUM_ROUNDING * rounding, TINY)
        size = max(size, self.floor(size))
        relative = (SUM_ROUNDING * upper + UNDERFLOW) / size
        # multipliers of the program are those of alpha
        rest = found.values, found.error + values_apart, interval, found.width, relative
        below = self._below(alpha, found.values, b)
        measures = found.plain_gap / size, size / max(found.weight, TINY), found.violation
        return Certified(alpha, found.expansion, coef, *rest, *measures, below, 0)

    def has_converged(self, found: Certified, eps: float) -> bool:
        """Return whether rounding alone widens the gap: further steps would not narrow it."""
        return found.plain_gap <= DIRECT.aim * eps

    def states_enough_digits(self, found: Certified, eps: float) -> bool:
        """Return whether slack and multipliers are known to the digits that the verifier asks for.

        Multipliers of variables between their bounds are residuals of the gradient. With quadratic
        losses, or where kernel values are far above 1 and nothing is required, they may be more
        than complementary slackness allows, while their share in the gap is small.
        """
        own, alpha = self.machine, found.alpha
        # a gradient is measured in units of the largest coefficient, at most 1
        unit = self.unit if own.required.any() else min(self.unit, 1.0)
        is_exact = found.error <= DIRECT.stated * eps * unit
        if not (is_exact and found.below <= DIRECT.sign * eps):
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

    def _onto_sums(self, alpha: Vector, found: MachineBounds, b: float) -> tuple[float, float]:
        """Bound what dual equality constraints that hold only up to rounding add to the gap.

        An exactly feasible point differs in a variable with room (``accuracy.onto_sums``).
        """
        own, price, moved = self.machine, 0.0, 0.0
        room = np.minimum(alpha - own.lower, own.upper - alpha)

        def slopes(at: int | slice) -> Vector:
            f = found.values[at if own.rows is None else own.rows[at]] + b
            v = own.required[at] - own.signs[at] * f - own.side * found.width
            return np.abs(v if own.curved is None else v - own.curved[at] * alpha[at])

        for members, missed in self._groups(found):
            if missed == 0.0:
                continue
            size = abs(missed) + EPS * (abs(own.cost) + own.total)
            k = int(np.argmax(room if members is None else np.where(members, room, -1.0)))
            # without room in the stored boxes those of the exact upper bounds have some
            slope = slopes(k) if room[k] >= size else np.max(slopes(slice(None)))
            price += 2.0 * size * float(slope)
            moved += size
        return price, moved * self.matrix.largest_norm

    def _groups(self, found: MachineBounds) -> list[tuple[Mask | None, float]]:
        """Variables of each dual equality constraint (None: all), and the violation of each."""
        own, balance = self.machine, found.balance - self.machine.cost
        if not own.side:
            return [(None, balance)]
        total, is_positive = found.total - own.total, own.signs > 0.0
        return [(is_positive, 0.5 * (total + balance)), (~is_positive, 0.5 * (balance - total))]

    def _below(self, alpha: Vector, values: Vector, b: float) -> float:
        own = self.machine
        if own.curved is None:
            return 0.0
        f = (values if own.rows is None else values[own.rows]) + b
        excess = own.required - own.signs * f - own.curved * alpha
        return float(np.max(excess[np.isinf(own.upper)], initial=0.0)) / self.unit
