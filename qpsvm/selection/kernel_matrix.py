"""Kernel matrices of all samples, and sums of their entries with bounds on what rounding changed.

The kernel is the function on the samples, not the matrix that was stored: sums are known up to the
errors of all kernel values (``kernels.errors``) and of their additions (lemma 7 of
``docs/rounding.md``)::

    |fl(sum_l K^_jl beta_l) - sum_l K_jl beta_l|
        <=  sum_l (gamma + rows_j + (1 + rows_j) columns_l) |K^_jl| |beta_l|
            + left_j sum_l right_l |beta_l| + underflow

which does not become smaller when the terms cancel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qpsvm.certificates.rigorous.kernels import feature_norms, own_norms
from qpsvm.direct.matrices import Features
from qpsvm.display import short_repr
from qpsvm.kernels import RBF, Kernel, Linear, Polynomial
from qpsvm.kernels.errors import EntryErrors, entry_errors
from qpsvm.kernels.functions import SharedDistances
from qpsvm.machines.model import SupportVectorModel
from qpsvm.numerics import compensated
from qpsvm.numerics.arrays import Dense, Index, Vector, as_dense, freeze, is_sparse
from qpsvm.numerics.balls import (
    UNDERFLOW,
    U,
    gamma,
    in_chunks,
    n_steps,
    outward,
    root,
    row_squares,
)
from qpsvm.numerics.single_precision import Stored
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.selection.settings import SEARCH


@short_repr
@dataclass(frozen=True, eq=False)
class Sums:
    """``w'phi(x)`` of several machines (rows) for several samples x (columns).

    Attributes
    ----------
    values, rounding, entries : arrays of shape (m, r)
        Sums, and bounds on their rounding and on what the errors of kernel values change.
    norms : array of shape (r,)
        Upper bounds of ``|phi(x)|``.
    """

    values: Dense
    rounding: Dense
    entries: Dense
    norms: Vector

    def of(self, rows: Index) -> Sums:
        """The sums of some machines."""
        return Sums(self.values[rows], self.rounding[rows], self.entries[rows], self.norms)

    def at(self, samples: Index) -> Sums:
        """The sum of every machine for one sample of its own, shape (m, 1)."""
        own = np.arange(len(samples)), samples
        parts = self.values[own], self.rounding[own], self.entries[own], self.norms[samples]
        return Sums(*(part[:, None] for part in parts))


@short_repr
@dataclass(frozen=True, eq=False)
class KernelBlock:
    """Kernel values of some samples (rows) and others (columns), with bounds on their errors.

    Attributes
    ----------
    values : array of shape (r, n)
        As they were computed; not finite where features are too large.
    errors : EntryErrors
        How far entries may be from the kernel function.
    norms : array of shape (r,)
        Upper bounds of ``|phi(x)|`` of the rows.
    hidden : float
        Bounds hold for ``K + hidden I``; above zero where a matrix that is data may have negative
        eigenvalues (``machines.accuracy``).
    features : Features or None
        Of the samples of a linear kernel, whose inner products are the values up to rounding.
    """

    values: Dense
    errors: EntryErrors
    norms: Vector
    hidden: float = 0.0
    features: Features | None = None

    @classmethod
    def of(cls, values: Dense, kernel: Kernel, X: Stored) -> KernelBlock:
        """Bound the errors of the matrix of a kernel without open parameters."""
        with np.errstate(all="ignore"):
            return cls(values, entry_errors(kernel, X, X), feature_norms(kernel, X))

    @classmethod
    def of_model(cls, model: SupportVectorModel) -> KernelBlock:
        """The matrix of a training problem, with ``+ 1`` where the intercept is penalised.

        Of the linear kernel with a free intercept, which takes up any offset, that of centred
        samples.
        """
        with np.errstate(all="ignore"):  # of what overflows nothing is known
            gram, kernel, X = model.gram, model.exact_kernel, model.data.X
            is_small = X.ndim == 2 and (not is_sparse(X) or X.shape[1] <= X.shape[0])
            is_linear, features = type(kernel) is Linear and is_small, None
            if is_linear and model.conditions.intercept == "free":
                return cls._centred(as_dense(X))
            norms = own_norms(model)
            if is_linear:
                constant = np.full((len(norms), 1), np.sqrt(model.constant))
                features = Features(np.hstack([as_dense(X), constant]))
            K = (
                gram.gram.dense
                if isinstance(gram, KernelQuadratic)
                else gram.select(None).to_dense()
            )
            none = np.zeros(len(K))
            errors = model.kernel_errors or EntryErrors.of_product(none, none)
            if model.constant:  # the sum is rounded as well
                K = K + model.constant
                norms = root(norms**2 + model.constant)
                errors = replace(errors, rows=outward(errors.rows + 2.0 * U))
            K = np.ascontiguousarray(K)
            return cls(K, errors, norms, 2.0 * model.negative_bound, features)

    @classmethod
    def _centred(cls, X: Dense) -> KernelBlock:
        V = X - np.mean(X, axis=0)  # each entry is rounded once, whatever the mean is
        norms = root(outward(row_squares(V).upper * (1.0 + gamma(4))))
        errors = EntryErrors.of_product(outward(gamma(X.shape[1] + 4) * norms), norms)
        return cls(V @ V.T, errors, norms, features=Features(V))

    def of_part(self, rows: Index, columns: Index) -> KernelBlock:
        """The values of some rows and columns, of a matrix without hidden curvature."""
        values = self.values[np.ix_(rows, columns)]
        return KernelBlock(values, self.errors.of_part(rows, columns), self.norms[rows])

    def sums(self, beta: Dense, *, together: bool = False, more_digits: bool = False) -> Sums:
        """``w'phi(x)`` of machines for the samples of the rows.

        Parameters
        ----------
        beta : array of shape (m, n)
            Coefficients of the samples of the columns.
        together : bool
            Bound the errors of all machines together, in the time of one: they hardly differ.
        more_digits : bool
            Compensated sums, whose rounding is estimated.
        """
        K, errors, n = self.values, self.errors, self.values.shape[1]
        with np.errstate(all="ignore"):
            size = np.abs(beta)
            if together:
                size = np.max(size, axis=0, initial=0.0)[None]
            columns = np.where(size > 0.0, errors.columns * size, 0.0)
            own, of_columns = np.split(np.vstack([size, columns]) @ np.abs(K).T, 2)
            growth = 1.0 + 4.0 * gamma(n)  # these sums were rounded themselves
            entries = errors.rows * own + (1.0 + errors.rows) * of_columns
            entries += np.multiply.outer(size @ errors.right, errors.left)
            entries = growth * (entries + UNDERFLOW * np.sum(size, axis=1, keepdims=True))
            if self.hidden:
                entries = entries + self.hidden * size
            entries = np.where(np.isnan(entries), np.inf, entries)
            rounding = growth * gamma(n_steps(n)) * own
            if more_digits:
                rounding *= SEARCH.compensated
                values = compensated.product(K, beta.T).T
            else:
                values = in_chunks(K, beta.T).T
        shape = np.shape(values)
        return Sums(
            values, np.broadcast_to(rounding, shape), np.broadcast_to(entries, shape), self.norms
        )

    def largest_error(self, samples: Index) -> float:
        """Bound on the errors of ``K_SS`` for samples S, in the spectral norm."""
        errors, norms = self.errors, self.norms[samples]
        growth = (1.0 + np.max(errors.rows[samples])) * (1.0 + np.max(errors.columns[samples]))
        left, right = errors.left[samples], errors.right[samples]
        products = math.sqrt(float(left @ left) * float(right @ right))
        size = (growth - 1.0 + 16.0 * U) * float(norms @ norms)
        return float(outward(1.001 * (size + products) + len(samples) * UNDERFLOW))


def shared_kernels(
    kernel: Kernel, X: Stored, largest_gamma: float
) -> Callable[[Any], KernelBlock] | None:
    """Compute the distances or products that kernels share which differ in gamma.

    Parameters
    ----------
    kernel : Kernel
        With any gamma; all other parameters are those of every candidate.
    X : array or CSR matrix of shape (n, d)
    largest_gamma : float
        No matrix is asked for with a larger one.

    Returns
    -------
    callable or None
        ``gamma -> KernelBlock`` of all samples; None for kernels that are not positive
        semidefinite by their type.
    """
    if not kernel.is_positive_semidefinite:
        return None
    if isinstance(kernel, RBF):
        distances = SharedDistances(X, largest_gamma)

        def values(gamma: Any) -> Dense:
            return distances.gram(gamma).gram.dense

    elif isinstance(kernel, Polynomial):
        products, degree, coef0 = Linear()(X, X), kernel.degree, kernel.coef0

        def values(gamma: Any) -> Dense:
            with np.errstate(over="ignore"):
                return freeze((gamma * products + coef0) ** degree)
    else:
        known = KernelBlock.of(freeze(kernel.resolve(X)(X, X)), kernel.resolve(X), X)
        return lambda _: known
    return lambda gamma: KernelBlock.of(values(gamma), replace(kernel, gamma=gamma), X)
