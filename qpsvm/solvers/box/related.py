"""Box programs that share one stored matrix, each warm-started from another's solution.

    minimise 1/2 x'Px + q'x   subject to   1'x = 0,   lower <= x <= upper,     P_ij = K[v_i, v_j]

The matrix K is stored; variable i belongs to its row ``v_i``, and several may belong to the same
one, as the two sides of a tube do. Programs differ in q and in their bounds: another C, another
tube. Each is solved by blocks of pairs and Newton steps, as any kernel dual.
"""

from __future__ import annotations

import numpy as np

from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.sample_gram import SampleGram
from qpsvm.solvers.box.blocks import block_decomposition
from qpsvm.solvers.box.curvature import KernelColumns
from qpsvm.solvers.box.program import BoxProgram
from qpsvm.solvers.box.working_sets import largest_within, working_set_method
from qpsvm.solvers.budget import Point, WorkBudget


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
        point = block_decomposition(box, known, budget, eps=eps)
        return working_set_method(box, known if point is None else point, budget, eps=eps)
