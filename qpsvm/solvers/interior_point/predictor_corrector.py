"""Mehrotra's combined direction, and Gondzio's correctors beyond it.

The affine direction, taken as far as it goes, leaves mean complementarity ``mu_aff``; the combined
direction aims at ``sigma mu`` with the centring parameter ``sigma = (mu_aff / mu)^3``.

Source: Mehrotra, "On the implementation of a primal-dual interior point method", *SIAM J. Optim.*
2 (1992); Gondzio, "Multiple centrality corrections in a primal-dual method for linear programming",
*Comput. Optim. Appl.* 6 (1996), section 3, with the step factors of Gertz and Wright,
"Object-oriented software for quadratic programming", *ACM Trans. Math. Softw.* 29 (2003).

``step_along`` goes along a search direction as far as variables stay positive.
"""

from __future__ import annotations

import numpy as np

from qpsvm.solvers.interior_point.direction import SearchDirection, Targets
from qpsvm.solvers.interior_point.linear_system import LinearSystem
from qpsvm.solvers.interior_point.variables import Variables


def step_along(system: LinearSystem, direction: SearchDirection) -> Variables:
    """Step along a search direction, as far as slacks s, t and multipliers z, v stay positive.

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


def centering(system: LinearSystem, affine: SearchDirection, mu: float) -> float:
    """``sigma = (mu_aff / mu)^3``, at most 1: small where the affine direction goes far."""
    if not mu:
        return 0.0
    work, length = system.work, affine.step_length
    after = affine.complementarity(work, system.variables, length) / work.n_bounds
    return min(1.0, after / mu) ** 3


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
    work, own = system.work, system.work.settings
    targets = Targets.of_corrector(work, affine, target)
    direction = system.solve(targets)
    length = direction.step_length
    for _ in range(own.max_correctors):
        if length > own.long_step:
            break
        wanted = min(1.0, own.corrector_factor * length + own.corrector_increment)
        targets = targets.centred(work, system.variables, direction, wanted, target)
        corrected = system.solve(targets)
        longer = corrected.step_length
        if longer <= length:
            break
        direction, length = corrected, longer
    return direction
