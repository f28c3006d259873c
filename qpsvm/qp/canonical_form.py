"""The canonical form of a program: P, q, G, h, A, b."""

from __future__ import annotations

from typing import Literal, NamedTuple

from qpsvm.display import short_repr
from qpsvm.numerics.arrays import (
    Matrix,
    Vector,
    is_sparse,
    require_memory,
)

Storage = Literal["natural", "dense", "sparse", "cvxopt"]


@short_repr
class CanonicalForm(NamedTuple):
    """The textbook matrices of ``1/2 x'Px + q'x`` subject to ``Gx <= h``, ``Ax = b``.

    Attributes
    ----------
    P, q : array or sparse matrix of shape (n, n), array of shape (n,)
        The objective.
    G, h : array or sparse matrix of shape (m, n), array of shape (m,)
        Inequalities: the program's own, then its finite lower and upper bounds.
    A, b : array or sparse matrix of shape (p, n), array of shape (p,)
        Equalities.
    """

    P: Matrix
    q: Vector
    G: Matrix
    h: Vector
    A: Matrix
    b: Vector


def _to_dense(matrix: Matrix, name: str, memory_limit: int | None) -> Matrix:
    if is_sparse(matrix):
        rows, columns = matrix.shape
        require_memory(rows, columns, name, "ask for storage='natural' or 'sparse'.", memory_limit)
        return matrix.toarray()
    return matrix
