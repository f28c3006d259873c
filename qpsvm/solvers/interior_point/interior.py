"""The primal-dual interior-point method, with Mehrotra's predictor and corrector.

The central path of ``min 1/2 |w|^2 + 1/2 x'diag(d)x + q'x`` over ``w = F'x + offset``, ``A x = b``,
``lower <= x <= upper`` consists of the points, one for each mu > 0, with

    F w + q + A'y + d x = z - v,   A x = b,   s z = t v = mu,   s = x - lower,   t = upper - x

where s, t, z, v > 0. Newton's method follows the path to mu = 0, the optimum. No iterate needs to
satisfy the equations, so that any point inside the box is a start. A step solves

    F dw + A'dy + d dx - dz + dv = -(h + d x - z + v),    dw = F'dx,    A dx = b - A x
    s dz + z dx = a - s z,       t dv - v dx = c - t v

for targets a and c of the products ``s z`` and ``t v``, with the gradient h of the residuals::

    predictor   s z -> 0                                  t v -> 0
    corrector   s z -> mu' - dx dz                        t v -> mu' + dx dv

with ``(dx, dz, dv)`` of the predictor, whose products are its error of second order. The predictor,
taken as far as it goes, leaves mean complementarity ``mu_aff``; the corrector aims at
``mu' = sigma mu`` with the centring parameter ``sigma = (mu_aff / mu)^3``. Further correctors bring
products to within a factor of ``centrality_range`` of mu' where a longer step would have them
outside.

Without dz and dv that is the system of ``newton`` with ``Theta = z / s + v / t + d + rho``, where
the proximal term rho of a ``Regularization`` changes directions, but no solution.

Sources: Mehrotra, "On the implementation of a primal-dual interior point method", *SIAM J. Optim.*
2 (1992); Gondzio, "Multiple centrality corrections in a primal-dual method for linear programming",
*Comput. Optim. Appl.* 6 (1996), section 3; Nocedal and Wright, *Numerical Optimization* (2006),
section 16.6; the division into variables, residuals and linear system is that of Gertz and Wright,
"Object-oriented software for quadratic programming", *ACM Trans. Math. Softw.* 29 (2003).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from qpsvm.numerics.arrays import Index, Vector
from qpsvm.numerics.interrupts import keep_best
from qpsvm.numerics.precision import TINY
from qpsvm.qp.solution import Status
from qpsvm.solvers.common import SMALLEST_DIVISOR
from qpsvm.solvers.interior_point.iterates import (
    NO_BOUND_DISTANCE,
    Accuracy,
    Residuals,
    Variables,
    starting_point,
)
from qpsvm.solvers.interior_point.newton import NewtonSystem
from qpsvm.solvers.interior_point.program import FactorProgram
from qpsvm.solvers.interior_point.settings import InteriorPointSettings, chunks

Report = Callable[[int, Accuracy], Status | None]
"""Told the number of iterations and the accuracy of the iterate; a status ends the search."""

Targets = tuple[Vector, Vector]
"""Targets of a direction for the complementarity products ``s z`` and ``t v``, to first order."""


# --- one step -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SearchDirection:
    """A search direction in all variables and multipliers, with the ratio test's quotients.

    Attributes
    ----------
    dx, dz, dv : arrays of shape (n,)
        ``ds = dx`` and ``dt = -dx``.
    Dr : array of shape (n,)
        ``dx = Dr - D (F dw + A'dy)``.
    blocking : array of shape (n,)
        1 over the step at which a variable meets a bound of s, t, z or v; negative if it never
        does.
    dw, dy : arrays of shape (r,) and (p,)
    """

    dx: Vector
    dz: Vector
    dv: Vector
    Dr: Vector
    blocking: Vector
    dw: Vector
    dy: Vector

    @cached_property
    def step_length(self) -> float:
        """Largest step, at most 1, that all variables allow."""
        worst = float(np.max(self.blocking))
        return 1.0 / worst if worst > 1.0 else 1.0


@dataclass(frozen=True)
class Regularization:
    """Protection of the Newton system from rounding, adapted from iteration to iteration.

    Attributes
    ----------
    proximal : float
        rho, added to Theta: it bounds the condition number.
    keeps_heavy : bool
        Whether the variables with the largest D are not eliminated.
    """

    proximal: float = 0.0
    keeps_heavy: bool = False

    def stronger(self, program: FactorProgram) -> Regularization:
        """Stop eliminating variables with the largest D; if that is done already, raise rho."""
        # a curvature that underflows must not keep rho at zero
        least = max(1e-10 * program.least_curvature, TINY)
        grows = self.keeps_heavy or program.F.rank > program.size
        return Regularization(max(self.proximal * (100.0 if grows else 1.0), least), True)

    def weaker(self, program: FactorProgram) -> Regularization:
        """Lower the proximal term rho, down to its floor: it keeps dependent rows apart."""
        floor = (1e-10 if self.keeps_heavy else 1e-14) * program.least_curvature
        return replace(self, proximal=max(self.proximal / 100.0, floor))


class LinearSystem:
    """The linear system at one point: factored once, solved for every direction.

    Attributes
    ----------
    inverse : tuple of arrays
        ``1/s``, ``1/t``, ``1/z`` and ``1/v``; 1/0 is infinite.
    D : array of shape (n,)
        ``1 / Theta``.
    newton : NewtonSystem

    Raises
    ------
    numpy.linalg.LinAlgError
        Rounding has made the system indefinite.
    """

    def __init__(
        self,
        program: FactorProgram,
        variables: Variables,
        residuals: Residuals,
        regularization: Regularization,
    ) -> None:
        p, it = program, variables
        self.program, self.variables, self.residuals = p, it, residuals
        with np.errstate(divide="ignore"):
            self.inverse = tuple(1.0 / values for values in (it.s, it.t, it.z, it.v))
        self.D = np.empty(p.size)
        for i in chunks(p.size):
            theta = it.z[i] * self.inverse[0][i] + it.v[i] * self.inverse[1][i] + p.d[i]
            np.divide(1.0, theta + regularization.proximal, out=self.D[i])
        self.newton = NewtonSystem.of(p.F, p.A, self.D, keeps_heavy=regularization.keeps_heavy)

    def solve(self, targets: Targets) -> SearchDirection:
        """Solve for the direction that changes the complementarity products to the targets."""
        p, it, (of_s, of_t, of_z, of_v) = self.program, self.variables, self.inverse
        dx, dz, dv, Dr, blocking = (np.empty(p.size) for _ in range(5))
        for i in chunks(p.size):
            r = np.multiply(targets[0][i], of_s[i], out=dz[i])
            r = r - np.multiply(targets[1][i], of_t[i], out=dv[i])
            r -= self.residuals.gradient[i]
            r -= p.d[i] * it.x[i]
            np.multiply(self.D[i], r, out=Dr[i])
        dw, dy = self.newton.direction(Dr, self.residuals.rows, dx)
        with np.errstate(invalid="ignore"):
            for i in chunks(p.size):
                own_dx, own_dz, own_dv, z, v = dx[i], dz[i], dv[i], it.z[i], it.v[i]
                to_lower, to_upper = own_dx * of_s[i], own_dx * of_t[i]
                own_dz -= z * to_lower
                own_dz -= z
                own_dv += v * to_upper
                own_dv -= v
                # no bound: 0 times infinity, which fmin ignores
                of_bounds = np.fmin(to_lower, -to_upper)
                of_signs = np.fmin(own_dz * of_z[i], own_dv * of_v[i])
                np.negative(np.fmin(of_bounds, of_signs), out=blocking[i])
        return SearchDirection(dx, dz, dv, Dr, blocking, dw, dy)

    def error(self, direction: SearchDirection) -> float:
        """Relative rounding error ``|dw - F'dx|`` of a direction."""
        sizes = self.program.column_sizes
        true, solved = self.program.F.transposed(direction.dx) / sizes, direction.dw / sizes
        size = float(np.linalg.norm(true) + np.linalg.norm(solved))
        return float(np.linalg.norm(true - solved)) / max(size, SMALLEST_DIVISOR)

    def gradient_changes(self, direction: SearchDirection, i: slice | Index) -> Vector:
        """Compute the change of the gradient g by a full step, for some of the variables.

        ``F dw + A'dy = (Dr - dx) / D``, and ``F residuals.weights = residuals.gradient - g``.
        """
        moved = (direction.Dr[i] - direction.dx[i]) / self.D[i]
        return np.asarray(moved + self.residuals.gradient[i] - self.variables.g[i])


def affine_step(
    program: FactorProgram,
    variables: Variables,
    residuals: Residuals,
    regularization: Regularization,
) -> tuple[LinearSystem, SearchDirection, Regularization]:
    """Factor the system and solve for the affine direction, towards ``s z = t v = 0``.

    Where the direction shows that rounding dominates, the system is factored again with a stronger
    regularization, which is kept in the iterations that follow and lowered when they are accurate.

    Raises
    ------
    numpy.linalg.LinAlgError
        Rounding has made the system indefinite, whatever the regularization.
    """
    zeros = np.zeros(program.size)
    while True:
        is_last = regularization.proximal >= 1e-6 * program.unit  # it grows no further
        try:
            system = LinearSystem(program, variables, residuals, regularization)
            affine = system.solve((zeros, zeros))
            is_accurate = system.error(affine) <= 1e-4
        except np.linalg.LinAlgError:
            if is_last:
                raise
            is_accurate = False
        if is_accurate:
            return system, affine, regularization.weaker(program)
        if is_last:
            return system, affine, regularization
        regularization = regularization.stronger(program)


def centering(system: LinearSystem, affine: SearchDirection, mu: float) -> float:
    """``sigma = (mu_aff / mu)^3``, at most 1: small where the affine direction goes far."""
    if not mu:
        return 0.0
    it, length, total = system.variables, affine.step_length, 0.0
    for i in chunks(system.program.size):  # s'z + t'v after the step, what is negative left out
        dx = length * affine.dx[i]
        z, v = it.z[i] + length * affine.dz[i], it.v[i] + length * affine.dv[i]
        total += float(np.maximum(it.s[i] + dx, 0.0) @ np.maximum(z, 0.0))
        total += float(np.maximum(it.t[i] - dx, 0.0) @ np.maximum(v, 0.0))
    return min(1.0, total / max(system.program.n_bounds, 1) / mu) ** 3


def combined_direction(
    system: LinearSystem, affine: SearchDirection, target: float
) -> SearchDirection:
    """The direction to products of about ``target``, corrected as long as steps grow.

    Parameters
    ----------
    system : LinearSystem
    affine : SearchDirection
    target : float
        ``sigma mu``.
    """
    own, targets = system.program.settings, corrector_targets(system.program, affine, target)
    direction = system.solve(targets)
    for _ in range(own.max_correctors):
        length = direction.step_length
        if length > own.long_step:
            break
        wanted = min(1.0, 1.08 * length + 0.08)  # those of Gertz and Wright (2003)
        targets = _centred(system, targets, direction, wanted, target)
        corrected = system.solve(targets)
        if corrected.step_length <= length:
            break
        direction = corrected
    return direction


def corrector_targets(program: FactorProgram, affine: SearchDirection, mu: float) -> Targets:
    """``mu - dx dz`` and ``mu + dx dv`` of the affine direction."""
    return _of_bounds(program, mu - affine.dx * affine.dz, mu + affine.dx * affine.dv)


def _centred(
    system: LinearSystem, targets: Targets, direction: SearchDirection, length: float, mu: float
) -> Targets:
    """Add Gondzio's corrections for complementarity products far from their target."""
    it, factor = system.variables, system.program.settings.centrality_range
    low, high = mu / factor, factor * mu
    lower, upper = (np.empty_like(target) for target in targets)
    for i in chunks(len(lower)):
        dx = length * direction.dx[i]
        of_lower = (it.s[i] + dx) * (it.z[i] + length * direction.dz[i])
        of_upper = (it.t[i] - dx) * (it.v[i] + length * direction.dv[i])
        for out, target, product in ((lower, targets[0], of_lower), (upper, targets[1], of_upper)):
            change = np.clip(product, low, high) - product  # at most by the higher limit
            np.add(target[i], np.maximum(change, -high), out=out[i])
    return _of_bounds(system.program, lower, upper)


def _of_bounds(program: FactorProgram, lower: Vector, upper: Vector) -> Targets:
    """Set the targets of infinite bounds to zero."""
    if program.n_bounds < 2 * program.size:
        has_lower, has_upper = program.bounds
        return lower * has_lower, upper * has_upper
    return lower, upper


def step_along(system: LinearSystem, direction: SearchDirection) -> Variables:
    """Step along a search direction, as far as slacks s, t and multipliers z, v stay positive.

    Parameters
    ----------
    system : LinearSystem
        At the point that the step leaves.
    direction : SearchDirection
    """
    it = system.variables
    length = min(1.0, system.program.settings.boundary_share * direction.step_length)
    x, s, t, z, v, g = (np.empty(len(it.x)) for _ in range(6))
    for i in chunks(len(x)):
        dx = length * direction.dx[i]
        np.add(it.g[i], length * system.gradient_changes(direction, i), out=g[i])
        np.add(it.x[i], dx, out=x[i])
        np.add(it.s[i], dx, out=s[i])
        np.subtract(it.t[i], dx, out=t[i])
        np.add(it.z[i], length * direction.dz[i], out=z[i])
        np.add(it.v[i], length * direction.dv[i], out=v[i])
    w = it.w + length * (direction.dw + system.residuals.weights)
    return Variables(x, s, t, z, v, it.y + length * direction.dy, w, g)


# --- the loop -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SearchResult:
    """Result of a search: its best point, status and reason.

    Attributes
    ----------
    x, y, w : arrays of shape (n,), (p,) and (r,)
    gap : float
        ``Accuracy.worst`` of that point.
    status : Status
    reason : str
        Why it stopped.
    iterations : int
    """

    x: Vector
    y: Vector
    w: Vector
    gap: float
    status: Status
    reason: str
    iterations: int


@dataclass(frozen=True, eq=False)
class BestPoint:
    """The most accurate point that an interior-point search has come to.

    Attributes
    ----------
    variables : Variables
    residuals : Residuals
    iteration : int
    gap : float
        ``Accuracy.worst`` of the point; infinite if it was not measured.
    """

    variables: Variables
    residuals: Residuals
    iteration: int = 0
    gap: float = np.inf

    def or_better(
        self, accuracy: Accuracy, variables: Variables, residuals: Residuals, iteration: int
    ) -> BestPoint:
        """Return the more accurate of this point and a new iterate."""
        if not accuracy.worst < self.gap:
            return self
        return BestPoint(variables, residuals, iteration, accuracy.worst)

    def solution(self, program: FactorProgram) -> Vector:
        """Compute x in the box, with ``b - A x`` spread over variables with room."""
        p, it = program, self.variables
        room = np.minimum(it.s, it.t)
        weighted = p.A * np.where(room < NO_BOUND_DISTANCE, room, 1.0) ** 2
        shares = np.linalg.lstsq(weighted @ p.A.T, self.residuals.rows, rcond=None)[0]
        return np.asarray(np.clip(it.x + shares @ weighted, p.lower, p.upper))


def interior_point(
    program: FactorProgram,
    eps: float,
    limit: int,
    report: Report,
    start: Variables | None = None,
) -> SearchResult:
    """Run the interior-point method until the relative gap is within eps or stops falling.

    It begins at a point inside the box, by default the one of ``starting_point``.
    """
    iteration, gaps = 0, list[float]()
    variables = starting_point(program) if start is None else start
    residuals = Residuals.of(program, variables)
    regularization = Regularization(1e-14 * program.least_curvature)
    best = BestPoint(variables, residuals)

    def result(status: Status, reason: str) -> SearchResult:
        y, w = best.variables.y, best.variables.w
        return SearchResult(best.solution(program), y, w, best.gap, status, reason, iteration)

    try:
        while True:
            accuracy = Accuracy.of(program, variables, residuals)
            best = best.or_better(accuracy, variables, residuals, iteration)
            gaps.append(min([*gaps[-1:], accuracy.gap]))
            end = stopping_rule(program.settings, eps, limit, iteration, accuracy, best, gaps)
            asked = None if end else report(iteration, accuracy)
            if asked is not None:
                end = asked, f"stopped: {asked.value}"
            if end:
                return result(*end)
            try:
                system, affine, regularization = affine_step(
                    program, variables, residuals, regularization
                )
                mu = variables.mean_complementarity(program)
                target = centering(system, affine, mu) * mu
                variables = step_along(system, combined_direction(system, affine, target))
            except np.linalg.LinAlgError as error:
                return result(Status.INACCURATE, str(error))
            residuals = Residuals.of(program, variables)
            iteration += 1
    except KeyboardInterrupt as error:
        keep_best(error, lambda: result(Status.INTERRUPTED, "interrupted"))
        raise


# --- when it ends ---------------------------------------------------------------------------------

REACHED = "certified gap reached"
"""Reason for ending a search whose gap is small enough."""

SLOW = "progress is too slow: gives way to another backend"
"""Reason for ending a slow search in favour of another backend."""


def stopping_rule(
    settings: InteriorPointSettings,
    eps: float,
    limit: int,
    iteration: int,
    accuracy: Accuracy,
    best: BestPoint,
    gaps: Sequence[float],
) -> tuple[Status, str] | None:
    """Return status and reason of a search that ends, or None to continue.

    Parameters
    ----------
    settings : InteriorPointSettings
    eps : float
        Relative gap that is asked for.
    limit, iteration : int
        Number of steps, at most, and taken.
    accuracy : Accuracy
        Of the iterate.
    best : BestPoint
    gaps : sequence of float
        The smallest relative gap so far at every iteration.
    """
    if best.gap <= eps:
        return Status.OPTIMAL, REACHED
    if not np.isfinite(accuracy.primal):
        return Status.INACCURATE, "diverges: there may be no optimum"
    if iteration >= limit:
        return Status.ITERATION_LIMIT, "iteration limit"
    patience = settings.patience if best.gap < 1.0 else settings.long_patience
    if iteration - best.iteration > patience:
        return Status.INACCURATE, "no progress: rounding"
    return (Status.ITERATION_LIMIT, SLOW) if is_slow(gaps, settings) else None


def is_slow(gaps: Sequence[float], settings: InteriorPointSettings) -> bool:
    """Return whether the last iterations lowered the gap by too little, far from the optimum.

    A gap that does not fall at all is stopped by rounding, which other means cure.

    Parameters
    ----------
    gaps : sequence of float
        The smallest relative gap so far at every iteration.
    settings : InteriorPointSettings
    """
    n = settings.slow_iterations
    if n == 0 or len(gaps) <= n or gaps[-1] <= settings.slow_above_gap:
        return False
    before, middle = gaps[-1 - n], gaps[-1 - n // 2]
    return settings.slow_factor * before < gaps[-1] < middle and before < 1.0
