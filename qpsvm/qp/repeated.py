"""Block-diagonal Hessians that repeat one block."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import Dense, Index, Sparse, Vector, freeze, require_memory
from qpsvm.qp.convexity import Convexity
from qpsvm.qp.quadratic import Quadratic


class RepeatedQuadratic(Quadratic):
    """``I_k (x) P``: the same quadratic form of each of k parts of the variables.

    Parameters
    ----------
    part : Quadratic
        P, of shape (n, n); applied k times and stored once.
    times : int
        k.
    """

    def __init__(self, part: Quadratic, times: int) -> None:
        self.part = part
        self.times = times

    @property
    def size(self) -> int:
        return self.times * self.part.size

    def parts(self) -> tuple[object, ...]:
        return (*self.part.parts(), self.times)

    def matvec(self, x: Vector) -> Vector:
        return np.ravel(self.part.products(x.reshape(self.times, -1).T).T)

    def term_sizes(self, x: Vector) -> Vector:
        parts = x.reshape(self.times, -1)
        return np.concatenate([self.part.term_sizes(piece) for piece in parts])

    def block(self, rows: Index, columns: Index) -> Dense:
        (left, i), (right, j) = (np.divmod(index, self.part.size) for index in (rows, columns))
        return np.asarray(self.part.block(i, j) * (left[:, None] == right))

    def diagonal(self) -> Vector:
        return np.tile(self.part.diagonal(), self.times)

    def to_dense(self, memory_limit: int | None = None) -> Dense:
        require_memory(*self.shape, "The Hessian", "use to_sparse().", memory_limit)
        dense = np.kron(np.eye(self.times), self.part.to_dense(memory_limit))
        return np.asarray(freeze(dense))

    def to_sparse(self, memory_limit: int | None = None) -> Sparse:
        part = self.part.to_sparse(memory_limit)
        return freeze(sp.block_diag([part] * self.times, format="csc"))

    @property
    def prefers_sparse(self) -> bool:
        return self.times > 1

    @property
    def is_psd_by_construction(self) -> bool:
        return self.part.is_psd_by_construction

    def convexity(self) -> Convexity:
        own = self.part.convexity()
        return Convexity(own.is_convex, np.tile(own.shift, self.times))

    def is_positive_semidefinite(self) -> bool:
        return self.part.is_positive_semidefinite()

    def smallest_eigenvalue(self) -> float:
        return self.part.smallest_eigenvalue()

    def null_violation(self, x: Vector) -> float:
        return max(self.part.null_violation(piece) for piece in x.reshape(self.times, -1))
