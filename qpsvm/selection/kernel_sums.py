"""The kernel matrix of all samples, and how far sums of its entries are from exact ones.

By the inequality of Cauchy and Schwarz ``|k(x_j, x_l)| <= n_j n_l`` for the norms n of the samples
in feature space. So lemma 7 of ``docs/rounding.md`` bounds the error of a sum of kernel values by
few sums over the samples, whatever cancels::

    |fl(sum_l K^_jl beta_l) - sum_l K_jl beta_l|
        <=  n_j ((gamma + rows_j) sum_l n_l |beta_l| + (1 + rows_j) sum_l n_l columns_l |beta_l|)
            + left_j sum_l right_l |beta_l| + underflow

with the errors of kernel values of ``certificates.rigorous.kernels``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from qpsvm.certificates.rigorous.figures import own_norms
from qpsvm.display import short_repr
from qpsvm.kernels import Linear
from qpsvm.kernels.errors import EntryErrors
from qpsvm.machines.model import SupportVectorModel
from qpsvm.machines.score_errors import exact_kernel
from qpsvm.numerics.arrays import Dense, Index, Vector, as_dense, is_sparse
from qpsvm.numerics.balls import (
    UNDERFLOW,
    Ball,
    U,
    gamma,
    in_chunks,
    n_steps,
    outward,
    root,
    row_squares,
)
from qpsvm.qp.kernel_quadratic import KernelQuadratic


@short_repr
@dataclass(frozen=True, eq=False)
class KernelSums:
    """Sums ``K beta`` over all samples, with bounds on their errors.

    Attributes
    ----------
    K : array of shape (n, n)
        As it was computed; with ``+ 1`` where the intercept is penalised. Of the linear kernel with
        a free intercept, which takes up any offset, that of centred samples.
    norms : array of shape (n,)
        Upper bounds of ``|phi(x_i)|``.
    errors : EntryErrors
        Of the entries of K.
    hidden : float
        Bounds hold for ``K + hidden I``; above zero where a matrix that is data may have negative
        eigenvalues (``machines.negative_curvature``).
    """

    K: Dense
    norms: Vector
    errors: EntryErrors
    hidden: float

    @classmethod
    def of(cls, model: SupportVectorModel) -> KernelSums:
        """Sums over the samples of a training problem."""
        with np.errstate(all="ignore"):  # of what overflows nothing is known
            return cls._of(model)

    @classmethod
    def _of(cls, model: SupportVectorModel) -> KernelSums:
        gram, kernel, X = model.gram, exact_kernel(model), model.data.X
        is_small = X.ndim == 2 and (not is_sparse(X) or X.shape[1] <= X.shape[0])
        if type(kernel) is Linear and model.conditions.intercept == "free" and is_small:
            return cls._centred(as_dense(X))
        norms = own_norms(model)
        K = gram.gram.dense if isinstance(gram, KernelQuadratic) else gram.select(None).to_dense()
        none = np.zeros(len(K))
        errors = model.kernel_errors or EntryErrors.of_product(none, none)
        if model.constant:  # the sum is rounded as well
            K = K + model.constant
            norms = root(norms**2 + model.constant)
            rows = outward(errors.rows + 2.0 * U)
            errors = EntryErrors(rows, errors.columns, errors.left, errors.right)
        return cls(np.asarray(K), norms, errors, 2.0 * model.negative_bound)

    @classmethod
    def _centred(cls, X: Dense) -> KernelSums:
        V = X - np.mean(X, axis=0)  # each entry is rounded once, whatever the mean is
        norms = root(outward(row_squares(V).upper * (1.0 + gamma(4))))
        errors = EntryErrors.of_product(outward(gamma(X.shape[1] + 4) * norms), norms)
        return cls(V @ V.T, norms, errors, 0.0)

    def of_rows(self, beta: Dense) -> Ball:
        """``K beta`` for every row of coefficients, shape (m, n)."""
        return Ball(in_chunks(self.K, beta.T).T, self._error(np.abs(beta)))

    def _error(self, size: Dense) -> Dense:
        errors, norms = self.errors, self.norms
        sums = size @ np.column_stack(
            [norms, norms * errors.columns, errors.right, np.ones(len(norms))]
        )
        g = 1.001 * gamma(n_steps(len(norms)))  # computed entries may be larger than n_j n_l
        rad = np.multiply.outer(sums[:, 0], norms * (g + errors.rows))
        rad += np.multiply.outer(sums[:, 1], norms * (1.0 + errors.rows))
        rad += np.multiply.outer(sums[:, 2], errors.left)
        rad += UNDERFLOW * sums[:, 3:] + self.hidden * size
        return outward(rad * (1.0 + gamma(2 * len(norms))))

    def largest_error(self, samples: Index) -> float:
        """Bound on the errors of ``K_SS`` for samples S, in the spectral norm."""
        errors, norms = self.errors, self.norms[samples]
        growth = (1.0 + np.max(errors.rows[samples])) * (1.0 + np.max(errors.columns[samples]))
        left, right = errors.left[samples], errors.right[samples]
        products = math.sqrt(float(left @ left) * float(right @ right))
        size = (growth - 1.0 + 16.0 * U) * float(norms @ norms)
        return float(outward(1.001 * (size + products) + len(samples) * UNDERFLOW))
