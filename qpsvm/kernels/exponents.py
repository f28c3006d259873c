"""Exponents ``-gamma |x - z|^2`` of the RBF kernel, made of inner products in place.

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

from qpsvm.kernels.products import common_centre, restore_near, scaled
from qpsvm.kernels.rows import densified
from qpsvm.kernels.settings import EVALUATION
from qpsvm.numerics.arrays import Dense, Index, Matrix, Vector
from qpsvm.numerics.rows import row_squares
from qpsvm.numerics.single_precision import Stored


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
    def of(cls, X: Stored, Z: Stored, gamma: float) -> Exponents:
        """Centre and scale the samples; once, if X is Z.

        Sparse samples are centred in a dense copy, where that makes products faster.
        """
        scale, is_square = math.sqrt(2.0 * gamma), X is Z
        Z = densified(Z)
        X = Z if is_square else densified(X, beside=Z)
        with np.errstate(over="ignore", invalid="ignore"):
            centre = common_centre(X, Z)
            V = scaled(Z, scale, centre)
            half_v = 0.5 * row_squares(V)
            if is_square:
                return cls(gamma, Z, Z, V, V, half_v, half_v)
            U = scaled(X, scale, centre)
            return cls(gamma, X, Z, U, V, 0.5 * row_squares(U), half_v)

    @cached_property
    def are_exact(self) -> bool:
        """Return whether all norms are so small that subtracting them loses nothing of exp()."""
        largest = (np.max(half, initial=0.0) for half in (self.half_u, self.half_v))
        return float(sum(largest)) <= EVALUATION.far

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
