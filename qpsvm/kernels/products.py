"""Kernel matrices ``K_ij = f(u_i'v_j)``, a piece of their rows at a time, and RBF exponents.

Of a symmetric matrix each piece is evaluated from the diagonal on and mirrored. That halves the
work, and makes the matrix exactly symmetric, which rounding alone would not.

With ``u = sqrt(2 gamma) (x - c)`` and ``v = sqrt(2 gamma) (z - c)`` the exponent of the RBF kernel,
``-gamma |x - z|^2``, is ``u'v - |v|^2/2 - |u|^2/2``: a product of matrices, then passes that stay
in cache. The centre c changes nothing but the rounding: a common offset would drown the distances.
``docs/rounding.md`` bounds the errors of this expression, as it is evaluated here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import scipy.sparse as sp

from qpsvm.native import products_by_row
from qpsvm.native.loops import exponent_tile
from qpsvm.numerics.arrays import (
    IN_CACHE,
    Dense,
    Index,
    Matrix,
    Sparse,
    Vector,
    as_dense,
    is_sparse,
    row_blocks,
)
from qpsvm.numerics.precision import EPS
from qpsvm.numerics.rows import row_squares
from qpsvm.numerics.single_precision import Stored
from qpsvm.numerics.threads import BLOCK, for_each


@dataclass(frozen=True)
class KernelSettings:
    """Settings of products of samples and of the passes over kernel values, which users cannot set.

    None changes a kernel value by more than the bounds of ``kernels.errors``.

    Attributes
    ----------
    square_rows : int
        Rows of a symmetric matrix that are evaluated at a time. The square on the diagonal of each
        piece is evaluated twice; a product of fewer rows takes as long.
    dense_up_to : int
        Columns for every entry of a row, up to which products of dense arrays are faster.
    largest_copy_bytes : int
        Bytes of a dense copy of sparse samples, at most.
    far : float
        Sum of the halved squared norms of two scaled samples up to which their exponent
        ``u'v - |u|^2/2 - |v|^2/2`` is accurate enough; beyond it, differences are taken.
    negligible : float
        Exponents below minus that need no digits: exp(-60) is 9e-27.
    most_digits : int
        Digits that a sample is cut into, at most; 24 reach from 1e-60 to 1e60.
    precise_exponent : float
        Absolute error of exponents that are evaluated with digits to spare, at most.
    precise_product : float
        Error of inner products that are evaluated with digits to spare, at most, relative to the
        square of the largest entry of a sample.
    """

    square_rows: int = 160
    dense_up_to: int = 12
    largest_copy_bytes: int = 2**30
    far: float = 64.0
    negligible: float = 60.0
    most_digits: int = 24
    precise_exponent: float = 2.0**-56
    precise_product: float = 2.0**-84


EVALUATION = KernelSettings()
"""Settings that every kernel matrix is evaluated with."""


# --- products and statistics of samples ----------------------------------------------------------


def exponent_roundings(n_terms: int) -> int:
    """Number of roundings in a computed exponent ``-gamma |x - z|^2``, for samples of n terms.

    The computed exponent is within ``gamma_k (|u|^2 + |v|^2)`` of the exact one, see lemma 5 of
    ``docs/rounding.md``.
    """
    return n_terms + n_terms // 2**19 + 19


def doubles(X: Stored) -> Matrix:
    """Convert samples to double precision; those that have it are not copied."""
    return X.astype(np.float64, copy=False) if is_sparse(X) else np.asarray(X, dtype=np.float64)


def factors(X: Stored, Z: Stored) -> tuple[Matrix, Matrix]:
    """Convert two sets of samples to double precision.

    Where both are the same object, so are the results: kernel matrices are then symmetric.
    """
    left = doubles(X)
    return left, left if X is Z else doubles(Z)


def write_inner_products(X: Stored, Z: Stored, out: Dense) -> None:
    """Write ``X Z'``, the inner products of two sets of samples, into an array.

    The array may be a part of a larger one.
    """
    if is_sparse(Z) and Z.shape[1] <= Z.shape[0]:  # a dense X is no larger than the result
        right = np.ascontiguousarray((as_dense(X) if is_sparse(X) else np.asarray(X)).T)
        products = Z @ right
        for rows in row_blocks(len(products), products.shape[1], IN_CACHE):
            out[:, rows] = products[rows].T
    elif sp.issparse(X) or sp.issparse(Z):
        out[:] = as_dense(X @ Z.T)
    else:
        np.matmul(X, Z.T, out=out)


def restore_near(
    exponents: Dense, X: Stored, Z: Stored, half_x: Vector, half_z: Vector, gamma: float
) -> None:
    """Recompute ``-gamma |x - z|^2`` from differences where subtracting norms lost its digits.

    These are the pairs whose norms are large and whose values may be more than negligible, given
    the error of the computed exponent. ``half_x`` and ``half_z`` are the squared norms times gamma.
    In place.
    """
    columns = np.flatnonzero(~(half_z + np.max(half_x, initial=0.0) <= EVALUATION.far))
    rows = np.flatnonzero(~(half_x + np.max(half_z, initial=0.0) <= EVALUATION.far))
    if not (len(rows) and len(columns)):
        return
    sums = np.add.outer(half_x[rows], half_z[columns])
    error = 2.0 * EPS * exponent_roundings(X.shape[1])
    # norms and exponents that overflowed are infinite or NaN, and count as near: not below -inf
    is_negligible = exponents[np.ix_(rows, columns)] < -EVALUATION.negligible - error * sums
    row, column = np.nonzero(~(sums <= EVALUATION.far) & ~is_negligible)
    i, j, root = rows[row], columns[column], math.sqrt(gamma)
    X, Z = (M if hasattr(M, "shape") else np.asarray(M, dtype=np.float64) for M in (X, Z))
    for some in row_blocks(len(i), X.shape[1]) if len(i) else ():
        steps = as_dense(Z[j[some]]).astype(np.float64) - as_dense(X[i[some]])
        exponents[i[some], j[some]] = -row_squares(root * steps)


def variance(X: Stored, weights: Vector | None = None) -> float:
    """Variance of all entries of X, including implicit zeros; zero if it is only rounding.

    Parameters
    ----------
    X : array or CSR array of shape (n, d), without repeated entries
    weights : array of shape (n,), optional
        Every entry counts with the weight of its row.
    """
    size = X.shape[0] * X.shape[1]
    values = X.data if is_sparse(X) else np.asarray(X)
    # deviations, not E[x^2] - mean^2: that difference can be all rounding, even negative
    with np.errstate(over="ignore"):
        if weights is None:
            mean = float(np.sum(values)) / size
            value = float(np.sum((values - mean) ** 2))
            if values.size < size:
                value += (size - values.size) * (mean * mean)
            value /= size
        else:
            mean, value = _weighted_moments(X, weights)
    return value if math.sqrt(value) > 4.0 * EPS * abs(mean) else 0.0


def _weighted_moments(X: Stored, weights: Vector) -> tuple[float, float]:
    """Mean and variance of all entries of X, each with the weight of its row."""
    share = weights / np.max(weights)  # whose sum is finite
    share = share / (np.sum(share) * X.shape[1])
    if is_sparse(X):
        stored, values = np.diff(X.indptr), X.data.astype(np.float64)
        zeros = float(share @ (X.shape[1] - stored))
        shares = np.repeat(share, stored)
    else:
        values, zeros = np.asarray(X, dtype=np.float64), 0.0
        shares = share[:, None]
    mean = float(np.sum(shares * values))
    mean += float(np.sum(shares * (values - mean))) - zeros * mean  # what rounding has missed
    squares = float(np.sum(shares * np.square(values - mean)))
    return mean, squares + zeros * (mean * mean)


# --- rows that share work ------------------------------------------------------------------------


Finish = Callable[[Index | slice, slice, Dense], None]
"""Function that replaces a block of inner products by kernel values; it is given the rows and
columns of the block, and the block."""


def write_rows(U: Stored, finish: Finish, rows: Index, out: Dense) -> None:
    """Write rows of a kernel matrix that is a function of inner products ``u_i'u_j``.

    Parameters
    ----------
    U : array or CSR matrix of shape (n, d)
    finish : callable
    rows : array of int of shape (m,)
    out : array of shape (m, n)
    """
    left = U[rows]

    def evaluate(columns: slice) -> None:
        values = out[:, columns]
        write_inner_products(left, U[columns], values)
        for block in row_blocks(len(rows), values.shape[1], IN_CACHE):
            finish(rows[block], columns, values[block])

    # pieces of columns: every product prepares its right factor anew
    for_each(evaluate, row_blocks(out.shape[1], len(rows), BLOCK))


def columns_of_products(columns: Dense, U: Stored, finish: Finish) -> Dense:
    """Kernel values ``f(u'v)`` of rows u, each added up on its own, and columns v.

    Parameters
    ----------
    columns : array of shape (d, n)
        In order of its rows, which a caller with many u prepares once.
    U : array or CSR matrix of shape (m, d)
    finish : callable
    """
    rows = np.ascontiguousarray(as_dense(U) if is_sparse(U) else U, dtype=np.float64)
    values = products_by_row(rows, columns)
    for block in row_blocks(len(values), values.shape[1], IN_CACHE):
        finish(block, slice(0, values.shape[1]), values[block])
    return values


def is_faster_dense(X: Sparse) -> bool:
    """Return whether products of sparse samples are faster in a dense copy that fits memory."""
    n, d = X.shape
    return bool(
        d * n <= EVALUATION.dense_up_to * X.nnz and 8 * d * n <= EVALUATION.largest_copy_bytes
    )


def densified(X: Stored, beside: Stored | None = None) -> Stored:
    """Convert sparse samples to a dense array where that makes products faster.

    Parameters
    ----------
    X : array or CSR matrix
    beside : array or CSR matrix, optional
        The other factor of the products. With a dense one, X is dense as well if it fits memory.
    """
    if not is_sparse(X):
        return X
    if beside is not None:
        fits = 8 * X.shape[0] * X.shape[1] <= EVALUATION.largest_copy_bytes
        return X.toarray() if fits and not is_sparse(beside) else X
    return X.toarray() if is_faster_dense(X) else X


# --- whole matrices ------------------------------------------------------------------------------


def kernel_values(
    U: Matrix, V: Matrix, finish: Finish | None = None, out: Dense | None = None
) -> Dense:
    """Evaluate a kernel matrix ``K_ij = f(u_i'v_j)``, with a function f of inner products.

    The matrix is exactly symmetric if U is V.

    Parameters
    ----------
    U, V : arrays or CSR matrices of shapes (m, d) and (n, d)
    finish : callable, optional
        f, on blocks; the identity without one.
    out : array of shape (m, n), optional
        Where the matrix is written.

    Returns
    -------
    array of shape (m, n)
        ``out``, or a fresh one without it.
    """
    is_symmetric = U is V
    V = densified(V)
    U = V if is_symmetric else densified(U, beside=V)
    gram = np.empty((U.shape[0], V.shape[0])) if out is None else out

    def evaluate(piece: slice) -> None:
        columns = slice(piece.start if is_symmetric else 0, gram.shape[1])
        values = gram[piece, columns]
        write_inner_products(U[piece], V[columns], values)
        if finish is not None:
            for block in row_blocks(len(values), values.shape[1], IN_CACHE):
                rows = slice(piece.start + block.start, piece.start + block.stop)
                finish(rows, columns, values[block])
        if is_symmetric:
            square = gram[piece, piece]
            if not np.array_equal(square, square.T):  # BLAS adds up the halves alike, or not
                np.copyto(square, square.T, where=np.tri(len(square), k=-1, dtype=np.bool_))
            gram[piece.stop :, piece] = gram[piece, piece.stop :].T

    # a sparse factor may be converted for every piece
    is_cut = is_symmetric and not sp.issparse(U)
    piece_bytes = EVALUATION.square_rows * 8 * len(gram) if is_cut else BLOCK
    pieces = row_blocks(gram.shape[0], gram.shape[1], piece_bytes)
    if gram.nbytes > BLOCK:
        for_each(evaluate, pieces)
    else:  # threads would wait for each other longer than they save
        for piece in pieces:
            evaluate(piece)
    return gram


# --- exponents of the RBF kernel -----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Frame:
    """The centre of samples, and whether they are stored as dense arrays.

    Errors of kernel values depend on both. So all blocks of one kernel matrix share the frame of
    its samples, and every block between two sets has the frame of the second.

    Attributes
    ----------
    centre : array of shape (d,) or None
        c; None for sparse samples that stay sparse: centring would fill them.
    """

    centre: Vector | None

    @classmethod
    def of(cls, Z: Stored) -> Frame:
        """The mean of samples; none if they are sparse, unless dense products are faster."""
        if Z.shape[0] == 0 or (is_sparse(Z) and not is_faster_dense(Z)):
            return cls(None)
        with np.errstate(over="ignore", invalid="ignore"):
            mean = np.asarray(Z.mean(axis=0) if is_sparse(Z) else np.mean(Z, axis=0)).ravel()
        return cls(np.where(np.isfinite(mean), mean, 0.0))

    def stored(self, X: Stored) -> Stored:
        """Samples as their products are taken: dense if the frame has a centre."""
        return X if self.centre is None or not is_sparse(X) else as_dense(X)

    def scaled(self, X: Stored, factor: float) -> Matrix:
        """``factor (x_i - c)`` for every row of stored X; without a centre X is only multiplied."""
        return doubles(X) * factor if self.centre is None else (doubles(X) - self.centre) * factor

    def half_squares(self, X: Stored, gamma: float) -> Vector:
        """``gamma |x_i - c|^2``, shape (n,)."""
        halves, scale = np.empty(X.shape[0]), math.sqrt(2.0 * gamma)
        for rows in row_blocks(*X.shape):
            halves[rows] = 0.5 * row_squares(self.scaled(self.stored(X[rows]), scale))
        return halves


@dataclass(frozen=True, eq=False)
class Exponents:
    """Scaled samples and halves of their squared norms, for blocks of exponents.

    Attributes
    ----------
    gamma : float
    X, Z : arrays or CSR matrices of shapes (m, d) and (n, d)
    U, V : arrays or CSR matrices of shapes (m, d) and (n, d)
        The rows u and v.
    half_u, half_v : arrays of shape (m,) and (n,)
        ``|u|^2/2`` and ``|v|^2/2``.
    """

    gamma: float
    X: Stored
    Z: Stored
    U: Matrix
    V: Matrix
    half_u: Vector
    half_v: Vector

    @classmethod
    def of(cls, X: Stored, Z: Stored, gamma: float, frame: Frame | None = None) -> Exponents:
        """Centre and scale the samples; once, if X is Z. The frame is that of Z if None."""
        frame, is_square = frame or Frame.of(Z), X is Z
        Z = frame.stored(Z)
        with np.errstate(over="ignore", invalid="ignore"):
            V = frame.scaled(Z, math.sqrt(2.0 * gamma))
            half_v = 0.5 * row_squares(V)
        found = cls(gamma, Z, Z, V, V, half_v, half_v)
        return found if is_square else found.beside(X, frame)

    def beside(self, X: Stored, frame: Frame) -> Exponents:
        """Scale other samples x, in the same frame, for exponents with the same samples z."""
        X = frame.stored(X)
        with np.errstate(over="ignore", invalid="ignore"):
            U = frame.scaled(X, math.sqrt(2.0 * self.gamma))
            return replace(self, X=X, U=U, half_u=0.5 * row_squares(U))

    @cached_property
    def are_exact(self) -> bool:
        """Return whether all norms are so small that subtracting them loses nothing of exp()."""
        largest = np.max(self.half_u, initial=0.0) + np.max(self.half_v, initial=0.0)
        return bool(largest <= EVALUATION.far)

    def write_values(self, rows: Index | slice, columns: slice, products: Dense) -> None:
        """Turn a block of inner products into values of the RBF kernel, in place."""
        if self.are_exact:
            exponent_tile(products, 2.0 * self.half_u[rows], 2.0 * self.half_v[columns], 0.5)
        else:
            self.write(rows, columns, products)
            exponentials(products)

    def write(self, rows: Index | slice, columns: slice, products: Dense) -> None:
        """Turn a block of products ``u'v`` into exponents, in place.

        Parameters
        ----------
        rows, columns : array of int or slice
            Of the block.
        products : array
        """
        half_u, half_v = self.half_u[rows], self.half_v[columns]
        with np.errstate(over="ignore", invalid="ignore"):
            products -= np.add.outer(half_u, half_v)  # in the order of ``exponent_tile``
            np.minimum(products, 0.0, out=products)
            if not self.are_exact:
                samples = self.X[rows], self.Z[columns]
                restore_near(products, *samples, half_u, half_v, self.gamma)


def rbf_beside(Z: Stored, gamma: float) -> Callable[[Stored], Dense]:
    """Prepare the RBF kernel for fixed samples z, shape (n, d), as a function of samples x."""
    frame = Frame.of(Z)
    known = Exponents.of(Z, Z, gamma, frame)
    return partial(_rbf_values, known, frame, np.ascontiguousarray(known.V.T))


def _rbf_values(known: Exponents, frame: Frame, columns: Dense, X: Stored) -> Dense:
    """Evaluate the RBF kernel between samples x and z, of which all that is needed is known."""
    parts = known.beside(X, frame)
    return columns_of_products(columns, parts.U, parts.write_values)


def exponentials(exponents: Dense, factor: float = 1.0) -> None:
    """Replace exponents e, none of them positive, by ``exp(factor e)``, in place."""
    m, n = exponents.shape
    exponent_tile(exponents, np.zeros(m), np.zeros(n), 0.5 * factor)
