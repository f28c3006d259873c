"""Reduction of a kernel program with repeated samples to one of distinct samples.

A program of k equal samples has k equal columns of K, and whatever the optimum says about their
variables, only the sum of these matters. With one variable for all of them there are fewer columns
to evaluate, the matrices of free variables are smaller and less singular, and a point is unique
where it was not. It is the same program: bounds are added up, multipliers are the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from qpsvm.numerics.arrays import Index, Vector
from qpsvm.numerics.compensated import sums_of_groups
from qpsvm.numerics.duplicates import Merged
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.solvers.box.curvature import HessianCurvature
from qpsvm.solvers.box.program import BoxProgram, Point


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
        own = R.samples(merged.kept)
        used = np.unique(own)
        index = None if len(used) == len(own) else np.searchsorted(used, own)
        of_sums = KernelQuadratic(
            P.gram.of_samples(used), R.signs[merged.kept], index, merged.diag, constant=P.constant
        )
        kept = np.concatenate([merged.kept, np.arange(n, box.size)])
        diagonal = box.diagonal[kept]
        diagonal[: len(own)] += merged.diag - P.diag[merged.kept]
        smaller = replace(
            box,
            P=HessianCurvature(of_sums, box.size - n),
            q=box.q[kept],
            A=box.A[:, kept],
            lower=np.concatenate([merged.lower, box.lower[n:]]),
            upper=np.concatenate([merged.upper, box.upper[n:]]),
            diagonal=diagonal,
            unit=float(np.max(diagonal)) or 1.0,
        )
        return cls(box, smaller, of_sums, merged)

    def sums(self, x: Vector) -> Vector:
        """Map a point of the original program to the reduced one."""
        n, group = len(self.merged.group), self.merged.group
        X = sums_of_groups(group, x[:n], len(self.merged.kept))
        return self.box.clip_scaled(np.concatenate([X, x[n:]]))

    def undone(self, point: Point) -> Point:
        """Map a point back to the original program and recompute its gradient.

        Shares round, and one of them takes what that leaves of the sum. Those of a sum at its bound
        are at theirs.
        """
        m, group = len(self.merged.kept), self.merged.group
        x = np.concatenate([self.merged.undone(point.x[:m]), point.x[m:]])
        x = self.given.clip_scaled(x)
        takes = self._with_most_room(x)
        x[takes] += (point.x - self.sums(x))[:m]
        x = self.given.clip(x)
        Px = point.Px + self.box.P.product(self.sums(x) - point.x)
        return Point(x, np.concatenate([Px[:m][group], Px[m:]]), point.y, point.drift)

    def _with_most_room(self, x: Vector) -> Index:
        """For every group, the variable farthest from its bounds."""
        n, group = len(self.merged.group), self.merged.group
        room = np.minimum(x - self.given.lower, self.given.upper - x)[:n]
        order = np.lexsort((room, group))
        last = np.append(np.flatnonzero(np.diff(group[order])), n - 1)
        return np.asarray(order[last])
