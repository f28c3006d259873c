"""The step along a search direction."""

from __future__ import annotations

import numpy as np

from qpsvm.solvers.interior_point.direction import SearchDirection
from qpsvm.solvers.interior_point.linear_system import LinearSystem
from qpsvm.solvers.interior_point.variables import Variables


def step_along(system: LinearSystem, direction: SearchDirection) -> Variables:
    """The point after a step that stops short of the nearest bound of s, t, z or v.

    Parameters
    ----------
    system : LinearSystem
        At the point that the step leaves.
    direction : SearchDirection
    """
    it, settings = system.variables, system.work.settings
    length = min(1.0, settings.boundary_share * direction.step_length)
    x, s, t, z, v, g = (np.empty(len(it.x)) for _ in range(6))
    for i in system.work.chunks:
        dx = length * direction.dx[i]
        np.add(it.g[i], length * system.gradient_changes(direction, i), out=g[i])
        np.add(it.x[i], dx, out=x[i])
        np.add(it.s[i], dx, out=s[i])
        np.subtract(it.t[i], dx, out=t[i])
        np.add(it.z[i], length * direction.dz[i], out=z[i])
        np.add(it.v[i], length * direction.dv[i], out=v[i])
    w = it.w + length * (direction.dw + system.residuals.weights)
    return Variables(x, s, t, z, v, it.y + length * direction.dy, w, g)
