"""The sums ``sum_i beta_i k(x_i, x)`` of decision functions, the same alone or among other samples.

A row of the result has the same bits whether it is asked for alone or among others: products are
added up in one order (``native.products_by_row``).
"""

from __future__ import annotations

import numpy as np

from qpsvm.kernels import Kernel
from qpsvm.native import products_by_row
from qpsvm.numerics.arrays import Dense, Index, is_sparse
from qpsvm.numerics.single_precision import Stored
from qpsvm.numerics.threads import for_each, kernel_blocks, one_blas_thread
from qpsvm.qp.sample_gram import products_elsewhere


class KernelSums:
    """The function ``sum_i beta_i k(x_i, x)``, prepared once for training samples and coefficients.

    Parameters
    ----------
    kernel : Kernel
    X : array, CSR matrix or objects of shape (n, ...)
    beta : array of shape (n,), or (n, p) for p sums over the same kernel values
    """

    def __init__(self, kernel: Kernel, X: Stored, beta: Dense) -> None:
        used: Index = np.flatnonzero(beta if beta.ndim == 1 else beta.any(axis=1))
        self.kernel, self.columns = kernel, len(used)
        self.shape = beta.shape[1:]
        weights = beta[used] if beta.ndim > 1 else beta[used, None]
        self._weights = np.ascontiguousarray(weights)
        self._centres = X[used]
        self._values = kernel.beside(self._centres)

    def __call__(self, samples: Stored) -> Dense:
        """Evaluate the sums for every row of samples, shape (m,) or (m, p)."""
        m, elsewhere = samples.shape[0], products_elsewhere()
        if elsewhere is not None and self.columns and m:
            found = elsewhere.expansion(self.kernel, samples, self._centres, self._weights)
            if found is not None:
                return found.reshape(m, *self.shape)
        values = np.empty((m, self._weights.shape[1]))

        def evaluate(rows: slice) -> None:
            products_by_row(self._values(samples[rows]), self._weights, values[rows])

        blocks = kernel_blocks(m, max(1, self.columns))
        if self.kernel.runs_in_threads and len(blocks) > 1:
            with one_blas_thread():
                for_each(evaluate, blocks)
        else:
            for rows in blocks:
                evaluate(rows)
        return values.reshape(m, *self.shape)


def linear_values(samples: Stored, coef: Dense) -> Dense:
    """``w'x`` for every row x of samples, shape (m,), or (m, k) for weights of shape (k, d)."""
    if is_sparse(samples):
        return np.asarray(samples @ coef.T)
    weights = np.ascontiguousarray(np.atleast_2d(coef).T)
    rows = np.ascontiguousarray(samples, dtype=np.float64)
    return products_by_row(rows, weights).reshape(len(rows), *coef.shape[:-1])
