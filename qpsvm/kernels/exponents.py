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

from qpsvm.kernels.products import FAR, common_centre, restore_near, scaled
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
        """Scale the samples; once, if X is Z."""
        scale, centre = math.sqrt(2.0 * gamma), common_centre(X, Z)
        U = scaled(X, scale, centre)
        half_u = 0.5 * row_squares(U)
        if X is Z:
            return cls(gamma, X, X, U, U, half_u, half_u)
        V = scaled(Z, scale, centre)
        return cls(gamma, X, Z, U, V, half_u, 0.5 * row_squares(V))

    @cached_property
    def are_exact(self) -> bool:
        """Return whether all norms are so small that subtracting them loses nothing of exp()."""
        largest = (np.max(half, initial=0.0) for half in (self.half_u, self.half_v))
        return float(sum(largest)) <= FAR

    def write(self, rows: Index | slice, columns: slice, products: Dense) -> None:
        """Turn a block of products ``u'v`` into exponents, in place.

        Parameters
        ----------
        rows, columns : array of int or slice
            Of the block.
        products : array
        """
        half_u, half_v = self.half_u[rows], self.half_v[columns]
        products -= half_v
        products -= half_u[:, None]
        np.minimum(products, 0.0, out=products)
        if not self.are_exact:
            near = (self.X[rows], self.Z[columns], half_u, half_v)
            restore_near(products, *near, self.gamma)
