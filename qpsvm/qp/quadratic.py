"""Structured Hessians: ``x -> 1/2 x'Px`` for a P that need not be stored as a matrix.

Every solver can ask for ``to_dense()`` or ``to_sparse()``; a structured one uses ``matvec``,
``block`` and ``diagonal`` and never forms the n-by-n matrix.

=====================  =============================================  ====================
type                   P                                              stores
=====================  =============================================  ====================
``DenseQuadratic``     P                                              n x n
``SparseQuadratic``    P                                              its non-zeros
``LowRankQuadratic``   F F' + diag(d)                                 n x r
``KernelQuadratic``    s_i s_j k(x_{c(i)}, x_{c(j)}) + diag(d)        the samples
=====================  =============================================  ====================
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from qpsvm.exceptions import InvalidProgramError, NotPositiveSemidefiniteError
from qpsvm.numerics.arguments import MatrixLike
from qpsvm.numerics.arrays import (
    EIGENVALUE_SIZE,
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
from qpsvm.numerics.rows import terms_per_row
from qpsvm.qp.convexity import Convexity, of_matrix

SYMMETRY_RTOL = 1e-10
"""P counts as symmetric when ``max|P - P'| <= SYMMETRY_RTOL max|P|``: it is then symmetrised."""

PSD_RTOL = 1e-10
"""A kernel matrix that is data counts as positive semidefinite down to
``-PSD_RTOL * sqrt(n) * max diagonal``: its entries may have been rounded by whoever computed them.
A program's own P is held to ``convexity``."""


class Quadratic(ABC):
    """The quadratic form ``x -> 1/2 x'Px`` with symmetric P of shape (n, n)."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of variables n."""

    @abstractmethod
    def matvec(self, x: Vector) -> Vector:
        """``P x`` for x of shape (n,)."""

    @abstractmethod
    def block(self, rows: Index, columns: Index) -> Dense:
        """``P[rows][:, columns]`` as a fresh dense array."""

    @abstractmethod
    def diagonal(self) -> Vector:
        """The diagonal of P, shape (n,)."""

    @abstractmethod
    def to_dense(self, memory_limit: int | None = None) -> Dense:
        """P as a read-only array of shape (n, n).

        Parameters
        ----------
        memory_limit : int, optional
            Bytes the matrix may take (default: a quarter of the machine's memory).

        Raises
        ------
        MemoryLimitError
            If it would take more.
        """

    def to_sparse(self, memory_limit: int | None = None) -> Sparse:
        """P as a CSC array (through the dense one unless the type knows better)."""
        return sp.csc_array(self.to_dense(memory_limit))

    @abstractmethod
    def parts(self) -> tuple[object, ...]:
        """Arrays, numbers and objects that define P: equal parts, equal P."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size} x {self.size}; to_dense() gives the matrix)"

    @property
    def is_psd_by_construction(self) -> bool:
        """Return whether the type guarantees ``x'Px >= 0``."""
        return False

    @property
    def prefers_sparse(self) -> bool:
        """Return whether solvers with sparse linear algebra should use ``to_sparse()``."""
        return False

    def products(self, X: Dense) -> Dense:
        """``P X`` for X of shape (n, m)."""
        return np.column_stack([self.matvec(column) for column in X.T])

    def term_sizes(self, x: Vector) -> Vector:
        """``|P| |x|`` or an upper bound on it, the scale of the rounding of ``P x``."""
        norms = np.sqrt(np.abs(self.diagonal()))  # |P_ij| <= sqrt(P_ii P_jj)
        return np.asarray(norms * float(norms @ np.abs(x)))

    def product_with_error(self, x: Vector) -> tuple[Vector, Vector]:
        """``P x``, with more digits where P is dense, and a bound on its rounding, shape (n,)."""
        steps = self.size + getattr(self, "rank", 0)
        return self.matvec(x), 0.5 * EPS * steps * self.term_sizes(x)

    def value(self, x: Vector) -> float:
        """``1/2 x'Px``."""
        return 0.5 * float(x @ self.matvec(x))

    @property
    def shape(self) -> tuple[int, int]:
        return (self.size, self.size)

    def __matmul__(self, x: Vector) -> Vector:
        return self.matvec(x)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Dense:
        dense = self.to_dense()
        return dense.astype(dtype) if dtype is not None or copy else dense

    def smallest_eigenvalue(self) -> float:
        r"""Smallest eigenvalue of P: LAPACK for small n, Lanczos with ``matvec`` beyond.

        Lanczos returns :math:`v^\top Pv` of a unit vector v, which is never below the smallest
        eigenvalue: equal to it where it stands apart from the others, about ``1e-6 |P|`` above it
        in a cluster. That nothing is smaller, only a factorisation proves.
        """
        if self.size == 0:
            return 0.0
        if self.size <= EIGENVALUE_SIZE:
            return float(np.linalg.eigvalsh(self.to_dense())[0])
        from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

        # A random start (seeded: the same bits every time). One that shares a symmetry of P never
        # leaves it: from a vector of ones no antisymmetric eigenvector is ever seen.
        start = np.random.default_rng(0).standard_normal(self.size)
        if not self.matvec(start).any():
            return 0.0  # P = 0, which ARPACK refuses
        options = {"k": 1, "v0": start, "return_eigenvectors": False}
        operator = LinearOperator(self.shape, matvec=self.matvec, dtype=np.float64)
        norm = abs(float(eigsh(operator, which="LM", tol=0.1, **options)[0]))
        # Lanczos stops relative to the eigenvalue it computes, and the smallest of a kernel matrix
        # is next to zero. Of `2 |P| I - P` it is the largest, and of the size of |P|.
        flipped = LinearOperator(
            self.shape, matvec=lambda x: 2.0 * norm * x - self.matvec(x), dtype=np.float64
        )
        basis = max(20, min(160, 2**24 // self.size))  # vectors kept: many, in 128 MB at most
        options |= {"which": "LA", "ncv": min(self.size, basis)}
        try:
            largest = eigsh(flipped, tol=0.0, maxiter=8, **options)
        except ArpackNoConvergence:  # a cluster: all its digits would take for ever
            largest = eigsh(flipped, tol=1e-6, **options)
        return 2.0 * norm - float(largest[0])

    def null_violation(self, x: Vector) -> float:
        """``max_i |(Px)_i| / (|P| |x|)_i``: zero when P x = 0 by cancellation, 1 without any."""
        P = self.to_sparse() if self.prefers_sparse else self.to_dense()
        terms = abs(P) @ np.abs(x)
        used = terms > 0.0
        return float(np.max(np.abs(self.matvec(x))[used] / terms[used], initial=0.0))

    def convexity(self) -> Convexity:
        """Test whether P is semidefinite, with the shift that rounding requires."""
        if self.is_psd_by_construction:
            return Convexity.proven(self.size)
        if not self.is_positive_semidefinite():
            return Convexity.refuted(self.size)
        return Convexity(True, np.full(self.size, self._psd_tolerance()))

    def _psd_tolerance(self) -> float:
        return float(PSD_RTOL * np.sqrt(self.size) * largest_magnitude(self.diagonal()))

    def is_positive_semidefinite(self) -> bool:
        """Return whether P has no eigenvalue below ``-PSD_RTOL * sqrt(n) * max diagonal``.

        A Cholesky factorisation of P plus a multiple of I at rounding level decides it, at a third
        of the cost of an eigenvalue; Lanczos for large sparse matrices.
        """
        if self.is_psd_by_construction:
            return True
        rounding = self._psd_tolerance()
        if self.prefers_sparse and self.size > EIGENVALUE_SIZE:
            return bool(self.smallest_eigenvalue() >= -rounding)
        from scipy.linalg.lapack import dpotrf

        shifted = np.array(self.to_dense(), order="C")
        shifted.flat[:: self.size + 1] += max(rounding, float(np.finfo(float).tiny))
        # in place: the transpose of a C-ordered copy is what LAPACK calls a matrix
        _, info = dpotrf(shifted.T, lower=1, clean=0, overwrite_a=1)
        return bool(info == 0)

    def require_positive_semidefinite(self, name: str = "P") -> None:
        """Raise unless P is convex; the error has the smallest eigenvalue.

        Raises
        ------
        NotPositiveSemidefiniteError
            Carries the eigenvalue.
        """
        if not self.convexity().is_convex:
            smallest = min(self.smallest_eigenvalue(), float(np.min(self.diagonal())))
            raise NotPositiveSemidefiniteError(
                f"{name} is not positive semidefinite: its smallest eigenvalue is "
                f"{smallest:.6g}, so the program is not convex and a solver's answer would mean "
                f"nothing; add at least {-smallest:.3g} to the diagonal or change {name}.",
                smallest,
            )


# --- stored matrices ----------------------------------------------------------------------------


class _StoredQuadratic(Quadratic):
    """Base class of Hessians that are stored as a matrix."""

    matrix: Matrix

    @property
    def size(self) -> int:
        return int(self.matrix.shape[0])

    def parts(self) -> tuple[object, ...]:
        return (self.matrix,)

    def term_sizes(self, x: Vector) -> Vector:
        return np.asarray(abs(self.matrix) @ np.abs(x))

    def product_with_error(self, x: Vector) -> tuple[Vector, Vector]:
        return self.matvec(x), 0.5 * EPS * terms_per_row(self.matrix) * self.term_sizes(x)

    def convexity(self) -> Convexity:
        certain = self.is_psd_by_construction
        return Convexity.proven(self.size) if certain else of_matrix(self.matrix)

    def matvec(self, x: Vector) -> Vector:
        return np.asarray(self.matrix @ x)


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


# --- repeated blocks ----------------------------------------------------------------------------


class RepeatedQuadratic(Quadratic):
    """A Hessian of k equal diagonal blocks, the Kronecker product of ``I_k`` and P.

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
