"""Steps along a search direction, on which a few variables may jump to the central path.

Duals of support vector machines have many variables and few that matter: a handful of them, near
a bound on the wrong side, would stop every step at a third of its length. These variables *jump*
instead, to their point of the central path at the gradient that the step predicts. The equations
are then violated, by little, and the steps that follow repair that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qpsvm.numerics.arrays import Index, Vector
from qpsvm.solvers.interior_point.central import between
from qpsvm.solvers.interior_point.direction import SearchDirection
from qpsvm.solvers.interior_point.linear_system import LinearSystem
from qpsvm.solvers.interior_point.variables import FAR, Variables

_NONE = np.zeros(0, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class Step:
    """A step along a search direction, on which some variables jump to the central path.

    Attributes
    ----------
    system : LinearSystem
        At the point that the step leaves.
    direction : SearchDirection
    length : float
    jumping : array of int
        Variables that jump to the central path.
    mu : float
        The complementarity products of these afterwards.
    """

    system: LinearSystem
    direction: SearchDirection
    length: float
    jumping: Index
    mu: float

    @classmethod
    def choose(
        cls,
        system: LinearSystem,
        direction: SearchDirection,
        mu: float,
        target: float,
        ignored: Sequence[int],
    ) -> Step:
        """The step that leaves the smallest residual.

        Parameters
        ----------
        system : LinearSystem
        direction : SearchDirection
        mu, target : float
            Mean complementarity now, and that which the direction aims at.
        ignored : sequence of int
            Numbers of variables that may jump, ascending; a step is as long as the others allow.
        """
        steps: list[Step] = []
        for count in ignored:
            length = min(1.0, system.work.settings.boundary_share * direction.step_length(count))
            if not steps or length > steps[-1].length:
                jumping = np.flatnonzero(direction.blocking * length >= 1.0) if count else _NONE
                reached = (1.0 - length) * mu + length * target
                steps.append(cls(system, direction, length, jumping, reached))
        return min(steps, key=cls.residual) if len(steps) > 1 else steps[0]

    def taken(self) -> Variables:
        """The point after the step."""
        system, it, direction, length = (
            self.system,
            self.system.variables,
            self.direction,
            self.length,
        )
        x, s, t, z, v, g = (np.empty(len(it.x)) for _ in range(6))
        for i in system.work.chunks:
            dx = length * direction.dx[i]
            np.add(it.g[i], length * system.gradient_changes(direction, i), out=g[i])
            np.add(it.x[i], dx, out=x[i])
            np.add(it.s[i], dx, out=s[i])
            np.subtract(it.t[i], dx, out=t[i])
            np.add(it.z[i], length * direction.dz[i], out=z[i])
            np.add(it.v[i], length * direction.dv[i], out=v[i])
        k = self.jumping
        x[k], s[k], t[k] = self._jumps()
        z[k], v[k] = self.mu / s[k], self.mu / t[k]
        w = it.w + length * (direction.dw + system.residuals.weights)
        return Variables(x, s, t, z, v, it.y + length * direction.dy, w, g)

    def _jumps(self) -> tuple[Vector, Vector, Vector]:
        """``x, s, t`` of the variables that jump, at the gradients after the step."""
        k, system = self.jumping, self.system
        lower, upper = system.work.program.lower[k], system.work.program.upper[k]
        g = system.variables.g[k] + self.length * system.gradient_changes(self.direction, k)
        s, t = between(g, upper - lower, self.mu)
        return lower + s, s, t

    def residual(self) -> float:
        """What the step leaves of all equations, in units of the objective."""
        system, k, length = self.system, self.jumping, self.length
        work, it, p = system.work, system.variables, system.work.program
        residual = 0.0
        for i in work.chunks:
            residual += self._products(i)
        weights = (1.0 - length) * system.residuals.weights
        rows = (1.0 - length) * system.residuals.rows
        if len(k):
            moved = self._jumps()[0] - it.x[k] - length * self.direction.dx[k]
            weights = weights + p.F.combination(k, moved)
            rows = rows - p.A[:, k] @ moved
            residual += 2.0 * self.mu * len(k) - self._products(k)
        residual += work.room * work.gradient_change(weights)
        return residual + float(np.abs(it.y + length * self.direction.dy) @ np.abs(rows))

    def _products(self, i: slice | Index) -> float:
        """``s'z + t'v`` after the step, plus the residual of stationarity times the room of x."""
        system, direction, length = self.system, self.direction, self.length
        it = system.variables
        dx = length * direction.dx[i]
        s, t = it.s[i] + dx, it.t[i] - dx
        r = it.z[i] - it.v[i] - it.g[i] - system.work.program.d[i] * it.x[i]
        total = s @ (it.z[i] + length * direction.dz[i])
        total += t @ (it.v[i] + length * direction.dv[i])
        room = np.minimum(s, t)
        if system.work.has_bounds is not None:
            room = np.where(room < FAR / 2, room, np.maximum(np.abs(it.x[i]), 1.0))
        return float(total + (1.0 - length) * (np.abs(r) @ room))
