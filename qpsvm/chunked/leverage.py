"""Leverages of samples: how uncertain the decision value of each one is.

Let H be the Hessian of the objective in (w, b), its kinks rounded off. Where the machine is known
up to an error of size e in the norm of H, the decision value of x is known up to ``e s(x)``::

    |x'dw + db| <= e s(x),    s(x)^2 = (x, 1)' H^-1 (x, 1)

The number s^2 is the *leverage* of the sample. A sample with a rare, large feature has a high one:
few others say anything about the weight of that feature. So a violation is small or large in
comparison with s, not by itself.

Source: Cook and Weisberg, *Residuals and Influence in Regression* (1982), section 2.1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from qpsvm.numerics.arrays import Dense, Matrix, Vector
from qpsvm.numerics.precision import TINY
from qpsvm.numerics.rows import row_squares


@dataclass(frozen=True, eq=False)
class Leverage:
    """Leverages ``s(x)^2 = (x, 1)' H^-1 (x, 1)`` of samples.

    Attributes
    ----------
    factor : array of shape (d + 1, d + 1) or (0, 0)
        T with ``T T' = H^-1``, upper triangular; empty if every leverage is taken for 1.
    """

    factor: Dense

    @classmethod
    def equal(cls) -> Leverage:
        """Every leverage is taken for 1."""
        return cls(np.zeros((0, 0)))

    @classmethod
    def of_hessian(cls, H: Dense, ridge: float, *, has_intercept: bool) -> Leverage | None:
        """Factor the inverse of a Hessian in (w, b); None if it is not positive definite.

        Parameters
        ----------
        H : array of shape (d + 1, d + 1)
        ridge : float
            Added to its diagonal, which is scaled to ones.
        has_intercept : bool
            Otherwise b is zero, and certain.
        """
        factor, used = np.zeros_like(H), len(H) if has_intercept else len(H) - 1
        H = H[:used, :used]
        if not np.isfinite(H).all():
            return None
        scale = 1.0 / np.sqrt(np.maximum(np.diag(H), TINY))
        scaled = H * scale * scale[:, None]
        scaled[np.diag_indices_from(scaled)] += ridge
        try:
            lower = cholesky(scaled, lower=True)
            inverse = solve_triangular(lower, np.diag(scale), lower=True)
        except LinAlgError:  # not positive definite
            return None
        factor[:used, :used] = inverse.T
        return cls(factor) if np.isfinite(factor).all() else None

    def roots(self, X: Matrix) -> Vector:
        """Square roots s of the leverages of the rows of X.

        Parameters
        ----------
        X : array or CSR array of shape (m, d)

        Returns
        -------
        array of shape (m,)
            Above zero.
        """
        if not self.factor.size:
            return np.ones(X.shape[0])
        products = np.asarray(X @ self.factor[:-1]) + self.factor[-1]
        return np.sqrt(np.maximum(row_squares(products), TINY))

    def divided(self, size: float) -> Leverage:
        """Leverages whose roots are divided by a number."""
        return Leverage(self.factor / size)
