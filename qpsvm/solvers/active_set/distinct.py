"""Reduction of a kernel program with repeated samples to one of distinct samples.

A program of k equal samples has k equal columns of K, and whatever the optimum says about their
variables, only the sum of these matters. With one variable for all of them there are fewer columns
to evaluate, the matrices of free variables are smaller and less singular, and a point is unique
where it was not. It is the same program: bounds are added up, multipliers are the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.duplicates import Merged
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.solvers.box.curvature import HessianCurvature
from qpsvm.solvers.box.program import BoxProgram
from qpsvm.solvers.work_budget import Point


@dataclass(frozen=True, eq=False)
class Distinct:
    """A program of distinct samples, with the maps to it and back.

    Attributes
    ----------
    given : BoxProgram
        Of P and slack variables behind.
    box : BoxProgram
    P : KernelQuadratic
        Of the samples that are left.
    merged : Merged
        The variables of the given P.
    """

    given: BoxProgram
    box: BoxProgram
    P: KernelQuadratic
    merged: Merged

    @classmethod
    def of(cls, box: BoxProgram, P: KernelQuadratic) -> Distinct | None:
        """Merge repeated samples; None if samples cannot be compared or hardly any repeat."""
        n, R, X = P.size, P.selection, P.gram.X
        if np.ndim(X) != 2 or X.dtype.kind != "f":
            return None
        others = [R.signs, box.q[:n], *box.A[:, :n]]
        merged = Merged.of(X, R.index, others, (box.lower[:n], box.upper[:n]), P.diag)
        if merged is None:
            return None
        of_sums = P.restricted(merged.kept, merged.diag)
        kept = np.concatenate([merged.kept, np.arange(n, box.size)])
        curvature = HessianCurvature(of_sums, box.size - n)
        sums = (merged.lower, box.lower[n:]), (merged.upper, box.upper[n:])
        bounds = np.concatenate(sums[0]), np.concatenate(sums[1])
        curved = merged.diag - P.diag[merged.kept]
        return cls(box, box.of_variables(kept, curvature, bounds, curved), of_sums, merged)

    def sums(self, x: Vector) -> Vector:
        """Map a point of the original program to the reduced one."""
        n = len(self.merged.group)
        return self.box.clip_scaled(np.concatenate([self.merged.sums(x[:n]), x[n:]]))

    def undone(self, point: Point) -> Point:
        """Map a point back to the original program and correct its gradient."""
        m, group = len(self.merged.kept), self.merged.group
        x = np.concatenate([self.merged.undone(point.x[:m]), point.x[m:]])
        Px = point.Px + self.box.P.product(self.sums(x) - point.x)
        return Point(x, np.concatenate([Px[:m][group], Px[m:]]), point.y, point.drift)
