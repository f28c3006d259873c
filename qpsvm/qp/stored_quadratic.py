"""Hessians that are stored as matrices, dense or sparse."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from qpsvm.exceptions import InvalidProgramError
from qpsvm.numerics.arguments import MatrixLike
from qpsvm.numerics.arrays import (
    Dense,
    Index,
    Matrix,
    Sparse,
    Vector,
    as_matrix,
    freeze,
    is_sparse,
    largest_magnitude,
    require_memory,
    row_blocks,
)
from qpsvm.numerics.compensated import precise_product
from qpsvm.numerics.precision import EPS
from qpsvm.qp.quadratic import SYMMETRY_RTOL, Quadratic


class _StoredQuadratic(Quadratic):
    """Base class of Hessians that are stored as a matrix."""

    matrix: Matrix

    @property
    def size(self) -> int:
        return int(self.matrix.shape[0])

    def parts(self) -> tuple[object, ...]:
        return (self.matrix,)


class DenseQuadratic(_StoredQuadratic):
    """A stored symmetric matrix.

    Parameters
    ----------
    matrix : array_like of shape (n, n)
        Copied; symmetrised when its asymmetry is rounding noise.

    Raises
    ------
    InvalidProgramError
        Not square, not finite, or not symmetric.

    Examples
    --------
    >>> DenseQuadratic([[2.0, 1.0], [1.0, 2.0]]).matvec(np.array([1.0, -1.0]))
    array([ 1., -1.])
    """

    def __init__(self, matrix: npt.ArrayLike) -> None:
        array = as_matrix(matrix, "P", np.shape(matrix)[-1] if np.ndim(matrix) else 0)
        _require_square_symmetric(array)
        if not np.array_equal(array, array.T):
            array = freeze(0.5 * (array + array.T))
        self.matrix: Dense = array

    @classmethod
    def own(cls, matrix: Dense) -> DenseQuadratic:
        """Wrap a finite symmetric float64 array without checking or copying."""
        instance = cls.__new__(cls)
        instance.matrix = freeze(matrix)
        return instance

    def matvec(self, x: Vector) -> Vector:
        return self.matrix @ x

    def product_with_error(self, x: Vector) -> tuple[Vector, Vector]:
        hi, lo, error = precise_product(self.matrix, x)
        value = hi + lo
        return value, error + 0.5 * EPS * np.abs(value)

    def block(self, rows: Index, columns: Index) -> Dense:
        return self.matrix[np.ix_(rows, columns)]

    def diagonal(self) -> Vector:
        return np.diagonal(self.matrix).copy()

    def to_dense(self, memory_limit: int | None = None) -> Dense:
        return self.matrix


class SparseQuadratic(_StoredQuadratic):
    """A stored symmetric sparse matrix (CSC, both triangles).

    Parameters
    ----------
    matrix : sparse array of shape (n, n)
        Copied.

    Raises
    ------
    InvalidProgramError
        Not square, not finite, or not symmetric.

    Examples
    --------
    >>> SparseQuadratic(sp.csc_array([[2.0, 0.0], [0.0, 3.0]])).diagonal()
    array([2., 3.])
    """

    def __init__(self, matrix: Sparse) -> None:
        array = as_matrix(matrix, "P", matrix.shape[1])
        _require_square_symmetric(array)
        if largest_magnitude(array - array.T) > 0:
            array = freeze(sp.csc_array(0.5 * (array + array.T)))
        self.matrix: Sparse = array

    def matvec(self, x: Vector) -> Vector:
        return np.asarray(self.matrix @ x)

    def block(self, rows: Index, columns: Index) -> Dense:
        return np.asarray(self.matrix[rows][:, columns].toarray())

    def diagonal(self) -> Vector:
        return np.asarray(self.matrix.diagonal())

    def to_dense(self, memory_limit: int | None = None) -> Dense:
        require_memory(
            *self.shape,
            "The sparse Hessian",
            "use a backend with sparse linear algebra, such as 'osqp' or 'cvxpy:CLARABEL'.",
            memory_limit,
        )
        return np.asarray(freeze(self.matrix.toarray()))

    def to_sparse(self, memory_limit: int | None = None) -> Sparse:
        return self.matrix

    @property
    def is_psd_by_construction(self) -> bool:
        off_diagonal = self.matrix.nnz - np.count_nonzero(self.matrix.diagonal())
        return bool(off_diagonal == 0 and (self.diagonal() >= 0).all())

    @property
    def prefers_sparse(self) -> bool:
        return True


def as_quadratic(P: Quadratic | MatrixLike | None, size: int) -> Quadratic:
    """``P`` as a Quadratic of the given size: arrays are checked and copied, None means zero.

    Raises
    ------
    InvalidProgramError
        Wrong shape, not finite, not symmetric.
    """
    if P is None:
        return SparseQuadratic(sp.csc_array((size, size), dtype=np.float64))
    quadratic: Quadratic
    if isinstance(P, Quadratic):
        quadratic = P
    elif is_sparse(P):
        quadratic = SparseQuadratic(P)
    else:
        quadratic = DenseQuadratic(np.atleast_2d(P) if np.ndim(P) == 0 else P)
    if quadratic.size != size:
        raise InvalidProgramError(
            f"P has shape {quadratic.shape}, the program has {size} variables (the length of q)."
        )
    return quadratic


def _require_square_symmetric(array: Matrix) -> None:
    if array.shape[0] != array.shape[1]:
        raise InvalidProgramError(f"P must be square, got shape {array.shape}.")
    asymmetry = 0.0
    if sp.issparse(array):
        asymmetry = largest_magnitude(array - array.T)
    else:
        for rows in row_blocks(*array.shape):
            asymmetry = max(asymmetry, largest_magnitude(array[rows] - array[:, rows].T))
    if asymmetry > SYMMETRY_RTOL * largest_magnitude(array):
        raise InvalidProgramError(
            f"P must be symmetric, max|P - P'| is {asymmetry:.6g}; pass (P + P') / 2, which gives "
            "the same objective."
        )
