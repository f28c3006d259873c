"""Box programs that share one stored matrix, each warm-started from another's solution.

    minimise 1/2 x'Px + q'x   subject to   1'x = 0,   lower <= x <= upper,     P_ij = K[v_i, v_j]

The matrix K is stored; variable i belongs to its row ``v_i``, and several may belong to the same
one, as the two sides of a tube do. Programs differ in q and in their bounds: another price, another
tube. Each is solved by blocks of pairs and Newton steps, as any kernel dual.

Boxes of ascending scale, ``t lower <= x <= t upper``, are the duals of one machine for ascending
prices. Between two neighbouring scales most bounded variables stay bounded: the last solution times
the ratio of the scales is the start of the next, and the optimum itself for all small scales at
which the same variables are bounded. Where no variable is at its bound, the solution is that of
every larger scale as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from qpsvm.display import short_repr
from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.sample_gram import SampleGram
from qpsvm.solvers.box.blocks import descended
from qpsvm.solvers.box.curvature import KernelColumns
from qpsvm.solvers.box.program import BoxProgram
from qpsvm.solvers.box.working_sets import largest_within, settle
from qpsvm.solvers.common import Point, WorkBudget


class RelatedPrograms:
    """Box programs that share one stored matrix K, without copies.

    Parameters
    ----------
    K : array of shape (n, n)
        Positive semidefinite.
    rows : array of int of shape (N,), optional
        Row of K that each variable belongs to; every row has one variable without it.
    """

    def __init__(self, K: Dense, rows: Index | None = None) -> None:
        own = np.arange(len(K)) if rows is None else rows
        self.K, self.rows = K, own
        gram = SampleGram.of_matrix(K, positive_semidefinite=True)
        self.P = KernelColumns(KernelQuadratic(gram, index=rows), 0, K.nbytes)
        self.diagonal = np.diagonal(K)[own].copy()
        self.unit = float(np.max(self.diagonal, initial=0.0)) or 1.0
        self.ones = np.ones((1, len(own)))
        self.largest = largest_within(4 * 8 * max(len(own), 1) ** 2)

    def solve(
        self,
        q: Vector,
        lower: Vector,
        upper: Vector,
        start: Vector,
        *,
        eps: float,
        product: Vector | None = None,
        rows: tuple[Dense, Vector] | None = None,
    ) -> Point:
        """Solve one program from a starting point; the result carries no proof.

        Parameters
        ----------
        q, lower, upper : arrays of shape (N,)
        start : array of shape (N,)
            Within the bounds; moved until its sum is zero.
        eps : float
            Relative duality gap, and residuals relative to q, at which to stop.
        product : array of shape (N,), optional
            ``P start``, where it is known.
        rows : pair of arrays of shape (p, N) and (p,), optional
            A and b of equality rows ``Ax = b``; by default ``1'x = 0``.
        """
        A, b = (self.ones, np.zeros(1)) if rows is None else rows
        box = BoxProgram(self.P, q, A, b, lower, upper, self.diagonal, self.unit)
        known = start if product is None else Point(start, product, np.zeros(len(b)))
        budget = WorkBudget(largest=self.largest)
        point = descended(box, known, budget, eps=eps)
        return settle(box, known if point is None else point, budget, eps=eps)


@short_repr
@dataclass(frozen=True, eq=False)
class ScaledBoxes:
    """Programs of one matrix and one linear term, with boxes of ascending scale.

    Attributes
    ----------
    programs : RelatedPrograms
    q, lower, upper : arrays of shape (N,)
        The bounds are those of scale 1, ``lower <= 0 <= upper``.
    guessed_from : int
        Size of a program from which on a part of its variables says where all start.
    """

    programs: RelatedPrograms
    q: Vector
    lower: Vector
    upper: Vector
    guessed_from: int = 2000

    def solutions(self, scales: Iterable[float], eps: float) -> Iterator[Vector]:
        """Yield x of shape (N,) for ascending positive scales; they carry no proof.

        Parameters
        ----------
        scales : iterable of float
        eps : float
            Relative duality gap at which to stop.
        """
        x, product, last = np.zeros(len(self.q)), None, 0.0
        for scale in scales:
            if not last:
                x = self._first_start(scale, eps)
            if not last or self._is_bounded(x, last):
                ratio = scale / last if last else 1.0
                point = self.programs.solve(
                    self.q,
                    scale * self.lower,
                    scale * self.upper,
                    ratio * x,
                    eps=eps,
                    product=None if product is None else ratio * product,
                )
                x, product, last = point.x, point.Px, scale
            yield x

    def _first_start(self, scale: float, eps: float) -> Vector:
        """Starting point at the bounds, from the solution for a random part of the variables.

        With small boxes nearly all variables are at a bound.
        """
        n, share, programs = len(self.q), 8, self.programs
        if n < max(self.guessed_from, share):
            return np.zeros(n)
        part = np.sort(np.random.default_rng(0).permutation(n)[: n // share])
        bounds = share * scale * self.lower[part], share * scale * self.upper[part]
        rows = programs.rows[part]
        of_part = RelatedPrograms(programs.K[np.ix_(rows, rows)])
        x = np.zeros(n)
        x[part] = of_part.solve(self.q[part], *bounds, x[part], eps=max(eps, 1e-4)).x
        return scale * at_bounds(programs.P.product(x) + self.q, self.lower, self.upper)

    def _is_bounded(self, x: Vector, scale: float) -> bool:
        """Return whether any variable is at a bound other than zero, which grows with the scale."""
        return bool(((x != 0.0) & ((x <= scale * self.lower) | (x >= scale * self.upper))).any())


def at_bounds(gradient: Vector, lower: Vector, upper: Vector) -> Vector:
    """Minimise ``gradient'x`` subject to ``1'x = 0`` in the box: one variable is between bounds."""
    order = np.argsort(gradient, kind="stable")
    widths = (upper - lower)[order]
    room = -float(np.sum(lower)) - (np.cumsum(widths) - widths)
    x = np.empty(len(lower))
    x[order] = lower[order] + np.clip(room, 0.0, widths)
    return x
