"""Exponents ``-gamma |x - z|^2`` of the RBF kernel and its values, made of inner products in place.

With ``u = sqrt(2 gamma) (x - c)`` and ``v = sqrt(2 gamma) (z - c)`` the exponent is
``u'v - |v|^2/2 - |u|^2/2``: a product of matrices, then passes that stay in cache. The centre
c changes nothing but the rounding: a common offset would drown the distances. ``docs/rounding.md``
bounds the errors of this expression, as it is evaluated here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from qpsvm.kernels.products import restore_near
from qpsvm.kernels.rows import ColumnsOfProducts, is_faster_dense
from qpsvm.kernels.settings import EVALUATION
from qpsvm.native.tiles import exponent_tile
from qpsvm.numerics.arrays import Dense, Index, Matrix, Vector, as_dense, is_sparse, row_blocks
from qpsvm.numerics.rows import row_squares
from qpsvm.numerics.single_precision import Stored


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
        """``factor (x_i - c)`` for every row x_i; without a centre X is only multiplied."""
        X = self.stored(X)
        if is_sparse(X):
            return X * factor
        array = np.asarray(X, dtype=np.float64)
        return (array if self.centre is None else array - self.centre) * factor

    def half_squares(self, X: Stored, gamma: float) -> Vector:
        """``gamma |x_i - c|^2``, shape (n,)."""
        halves, scale = np.empty(X.shape[0]), math.sqrt(2.0 * gamma)
        for rows in row_blocks(*X.shape):
            halves[rows] = 0.5 * row_squares(self.scaled(X[rows], scale))
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
        frame = frame or Frame.of(Z)
        scale, is_square = math.sqrt(2.0 * gamma), X is Z
        Z = frame.stored(Z)
        X = Z if is_square else frame.stored(X)
        with np.errstate(over="ignore", invalid="ignore"):
            V = frame.scaled(Z, scale)
            half_v = 0.5 * row_squares(V)
            if is_square:
                return cls(gamma, Z, Z, V, V, half_v, half_v)
            U = frame.scaled(X, scale)
            return cls(gamma, X, Z, U, V, 0.5 * row_squares(U), half_v)

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
            products -= half_v
            products -= half_u[:, None]
            np.minimum(products, 0.0, out=products)
            if not self.are_exact:
                samples = self.X[rows], self.Z[columns]
                restore_near(products, *samples, half_u, half_v, self.gamma)


class ExponentsBeside:
    """The RBF kernel, prepared once for fixed samples z and then called for many samples x.

    Parameters
    ----------
    Z : array of shape (n, d)
    gamma : float
    """

    def __init__(self, Z: Stored, gamma: float) -> None:
        self.gamma, self.Z, self.frame = gamma, Z, Frame.of(Z)
        self.scale = math.sqrt(2.0 * gamma)
        with np.errstate(over="ignore", invalid="ignore"):
            V = np.ascontiguousarray(self.frame.scaled(Z, self.scale))
            self.half_v = 0.5 * row_squares(V)
        self.columns = ColumnsOfProducts(V, _unchanged)

    def __call__(self, X: Stored) -> Dense:
        X = self.frame.stored(X)
        with np.errstate(over="ignore", invalid="ignore"):
            U = self.frame.scaled(X, self.scale)
            half_u = 0.5 * row_squares(U)
        parts = Exponents(self.gamma, X, self.Z, U, self.columns.V, half_u, self.half_v)
        return self.columns.finished(U, parts.write_values)


def _unchanged(rows: Index | slice, columns: slice, block: Dense) -> None:
    del rows, columns, block


def exponentials(exponents: Dense, factor: float = 1.0) -> None:
    """Replace exponents e, none of them positive, by ``exp(factor e)``, in place."""
    m, n = exponents.shape
    exponent_tile(exponents, np.zeros(m), np.zeros(n), 0.5 * factor)
