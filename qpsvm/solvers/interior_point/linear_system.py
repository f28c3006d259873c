"""The linear system of an interior-point iteration: factored once, solved for every direction.

    F dw + A'dy + d dx - dz + dv = -(h + d x - z + v),    dw = F'dx,    A dx = b - A x
    s dz + z dx = a - s z,       t dv - v dx = c - t v

for targets a and c of the products ``s z`` and ``t v``, with the gradient h of the residuals.
Without dz and dv that is the system of ``newton`` with ``Theta = z / s + v / t + d + rho``, where
the proximal term rho of a ``Regularization`` changes directions, but no solution.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from qpsvm.numerics.arrays import Index, Vector
from qpsvm.numerics.precision import TINY
from qpsvm.solvers.interior_point.direction import SearchDirection, Targets
from qpsvm.solvers.interior_point.newton import NewtonSystem
from qpsvm.solvers.interior_point.variables import Residuals, Variables
from qpsvm.solvers.interior_point.workspace import Workspace


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

    @classmethod
    def initial(cls, work: Workspace) -> Regularization:
        """Initial regularization of a program."""
        return cls(work.settings.proximal_floor * work.least_curvature)

    def is_largest(self, work: Workspace) -> bool:
        """Return whether the proximal term is so large that it grows no further."""
        return self.proximal >= work.settings.proximal_limit * work.hessian_scale

    def stronger(self, work: Workspace) -> Regularization:
        """Stop eliminating variables with the largest D; if that is done already, raise rho."""
        own, F = work.settings, work.program.F
        # a curvature that underflows must not keep rho at zero
        floor = max(own.proximal_floor_heavy * work.least_curvature, TINY)
        if self.keeps_heavy or F.rank > work.program.size:
            raised = max(self.proximal * own.proximal_growth, floor)
            return Regularization(raised, keeps_heavy=True)
        return Regularization(max(self.proximal, floor), keeps_heavy=True)

    def weaker(self, work: Workspace) -> Regularization:
        """Lower the proximal term rho, down to its floor."""
        own = work.settings
        floor = own.proximal_floor_heavy if self.keeps_heavy else own.proximal_floor
        lower = self.proximal / own.proximal_growth
        return replace(self, proximal=max(lower, floor * work.least_curvature))


@dataclass(frozen=True, eq=False)
class Reciprocals:
    """``1/s``, ``1/t``, ``1/z`` and ``1/v``, which every direction at a point needs."""

    s: Vector
    t: Vector
    z: Vector
    v: Vector

    @classmethod
    def of(cls, work: Workspace, variables: Variables) -> Reciprocals:
        """Compute the reciprocals; 1/0 is infinite."""
        result = cls(*(np.empty(work.program.size) for _ in range(4)))
        with np.errstate(divide="ignore"):
            for i in work.chunks:
                np.divide(1.0, variables.s[i], out=result.s[i])
                np.divide(1.0, variables.t[i], out=result.t[i])
                np.divide(1.0, variables.z[i], out=result.z[i])
                np.divide(1.0, variables.v[i], out=result.v[i])
        return result


@dataclass(frozen=True, eq=False)
class LinearSystem:
    """The linear system at one point: factored once, solved for every direction.

    Attributes
    ----------
    work : Workspace
    variables : Variables
    residuals : Residuals
    reciprocals : Reciprocals
    D : array of shape (n,)
        ``1 / Theta``.
    newton : NewtonSystem
    """

    work: Workspace
    variables: Variables
    residuals: Residuals
    reciprocals: Reciprocals
    D: Vector
    newton: NewtonSystem

    @classmethod
    def factored(
        cls,
        work: Workspace,
        variables: Variables,
        residuals: Residuals,
        reciprocals: Reciprocals,
        regularization: Regularization,
    ) -> LinearSystem:
        """Factor the system.

        Raises
        ------
        numpy.linalg.LinAlgError
            Rounding has made the system indefinite.
        """
        p, it, inverse, D = work.program, variables, reciprocals, np.empty(work.program.size)
        for i in work.chunks:
            theta = it.z[i] * inverse.s[i] + it.v[i] * inverse.t[i] + p.d[i]
            theta += regularization.proximal
            np.divide(1.0, theta, out=D[i])
        newton = NewtonSystem.of(p.F, p.A, D, work.settings, keeps_heavy=regularization.keeps_heavy)
        return cls(work, variables, residuals, reciprocals, D, newton)

    def solve(self, targets: Targets) -> SearchDirection:
        """Solve for the direction that changes the complementarity products to the targets."""
        p, it, inverse = self.work.program, self.variables, self.reciprocals
        dx, dz, dv, Dr, blocking = (np.empty(p.size) for _ in range(5))
        for i in self.work.chunks:
            r = np.multiply(targets.lower[i], inverse.s[i], out=dz[i])
            r = r - np.multiply(targets.upper[i], inverse.t[i], out=dv[i])
            r -= self.residuals.gradient[i]
            r -= p.d[i] * it.x[i]
            np.multiply(self.D[i], r, out=Dr[i])
        dw, dy = self.newton.direction(Dr, self.residuals.rows, dx)
        with np.errstate(invalid="ignore"):
            for i in self.work.chunks:
                own_dx, own_dz, own_dv, z, v = dx[i], dz[i], dv[i], it.z[i], it.v[i]
                to_lower, to_upper = own_dx * inverse.s[i], own_dx * inverse.t[i]
                own_dz -= z * to_lower
                own_dz -= z
                own_dv += v * to_upper
                own_dv -= v
                # no bound: 0 times infinity, which fmin ignores
                of_bounds = np.fmin(to_lower, -to_upper)
                of_signs = np.fmin(own_dz * inverse.z[i], own_dv * inverse.v[i])
                np.negative(np.fmin(of_bounds, of_signs), out=blocking[i])
        return SearchDirection(dx, dz, dv, Dr, blocking, dw, dy)

    def error(self, direction: SearchDirection) -> float:
        """Relative rounding error ``|dw - F'dx|`` of a direction."""
        work = self.work
        true = work.program.F.transposed(direction.dx) / work.columns
        solved = direction.dw / work.columns
        size = float(np.linalg.norm(true) + np.linalg.norm(solved))
        return float(np.linalg.norm(true - solved)) / max(size, 1e-300)

    def gradient_changes(self, direction: SearchDirection, i: slice | Index) -> Vector:
        """Compute the change of the gradient g by a full step, for some of the variables.

        ``F dw + A'dy = (Dr - dx) / D``, and ``F residuals.weights = residuals.gradient - g``.
        """
        moved = (direction.Dr[i] - direction.dx[i]) / self.D[i]
        return np.asarray(moved + self.residuals.gradient[i] - self.variables.g[i])


def affine_step(
    work: Workspace,
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
    own, reciprocals = work.settings, Reciprocals.of(work, variables)
    targets = Targets.of_predictor(work)
    while True:
        is_last = regularization.is_largest(work)
        try:
            system = LinearSystem.factored(work, variables, residuals, reciprocals, regularization)
            affine = system.solve(targets)
            error = system.error(affine)
        except np.linalg.LinAlgError:
            if is_last:
                raise
            error = np.inf
        if error <= own.largest_direction_error or is_last:
            break
        regularization = regularization.stronger(work)
    if error <= own.largest_direction_error:
        regularization = regularization.weaker(work)
    return system, affine, regularization
