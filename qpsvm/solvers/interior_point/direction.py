"""Search directions of the interior-point method, and targets of complementarity products.

    predictor   s z -> 0                                  t v -> 0
    corrector   s z -> mu' - dx dz                        t v -> mu' + dx dv

with ``(dx, dz, dv)`` of the predictor, whose products are its error of second order (Mehrotra,
*SIAM J. Optim.* 2 (1992)). Further correctors bring products to within a factor of
``centrality_range`` of mu' where a longer step would have them outside (Gondzio, *Comput. Optim.
Appl.* 6 (1996), section 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from qpsvm.numerics.arrays import Vector
from qpsvm.solvers.interior_point.variables import Variables
from qpsvm.solvers.interior_point.workspace import Workspace


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

    def complementarity(self, work: Workspace, variables: Variables, length: float) -> float:
        """``s'z + t'v`` after a step; negative distances and multipliers count as zero."""
        total = 0.0
        for i in work.chunks:
            dx = length * self.dx[i]
            z, v = variables.z[i] + length * self.dz[i], variables.v[i] + length * self.dv[i]
            total += float(np.maximum(variables.s[i] + dx, 0.0) @ np.maximum(z, 0.0))
            total += float(np.maximum(variables.t[i] - dx, 0.0) @ np.maximum(v, 0.0))
        return total


@dataclass(frozen=True, eq=False)
class Targets:
    """Targets of a direction for the complementarity products ``s z`` and ``t v``, to first order.

    Attributes
    ----------
    lower, upper : arrays of shape (n,)
    """

    lower: Vector
    upper: Vector

    @classmethod
    def of_predictor(cls, work: Workspace) -> Targets:
        """Zero: the affine direction aims at the optimum itself."""
        return cls(work.zeros, work.zeros)

    @classmethod
    def of_corrector(cls, work: Workspace, affine: SearchDirection, mu: float) -> Targets:
        """``mu - dx dz`` and ``mu + dx dv`` of the affine direction."""
        lower, upper = np.empty_like(affine.dx), np.empty_like(affine.dx)
        for i in work.chunks:
            np.subtract(mu, affine.dx[i] * affine.dz[i], out=lower[i])
            np.add(mu, affine.dx[i] * affine.dv[i], out=upper[i])
        return cls(lower, upper)._of_bounds(work)

    def centred(
        self,
        work: Workspace,
        variables: Variables,
        direction: SearchDirection,
        length: float,
        mu: float,
    ) -> Targets:
        """Add Gondzio's corrections for complementarity products far from their target."""
        it, factor = variables, work.settings.centrality_range
        low, high = mu / factor, factor * mu
        lower, upper = np.empty_like(self.lower), np.empty_like(self.upper)
        for i in work.chunks:
            dx = length * direction.dx[i]
            of_lower = (it.s[i] + dx) * (it.z[i] + length * direction.dz[i])
            of_upper = (it.t[i] - dx) * (it.v[i] + length * direction.dv[i])
            np.add(self.lower[i], _correction(of_lower, low, high), out=lower[i])
            np.add(self.upper[i], _correction(of_upper, low, high), out=upper[i])
        return Targets(lower, upper)._of_bounds(work)

    def _of_bounds(self, work: Workspace) -> Targets:
        """Set the targets of infinite bounds to zero, in place."""
        if work.has_bounds is not None:
            has_lower, has_upper = work.has_bounds
            np.multiply(self.lower, has_lower, out=self.lower)
            np.multiply(self.upper, has_upper, out=self.upper)
        return self


def _correction(product: Vector, low: float, high: float) -> Vector:
    """Corrections that bring complementarity products between two limits, at most by the higher."""
    return np.maximum(np.clip(product, low, high) - product, -high)
