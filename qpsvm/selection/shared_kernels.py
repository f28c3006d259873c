"""Kernel matrices of all samples for several gamma: distances and products are computed once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qpsvm.certificates.rigorous.kernels import feature_norms
from qpsvm.display import short_repr
from qpsvm.kernels import RBF, Kernel, Linear, Polynomial
from qpsvm.kernels.errors import EntryErrors, entry_errors
from qpsvm.kernels.widths import SharedDistances
from qpsvm.numerics.arrays import Dense, Index, Vector, freeze
from qpsvm.numerics.single_precision import Stored
from qpsvm.selection.machine_bounds import Products


@short_repr
@dataclass(frozen=True, eq=False)
class KernelMatrix:
    """Kernel matrix of all samples, with bounds on its errors.

    Attributes
    ----------
    values : array of shape (n, n)
        Read-only; not finite where features are too large.
    errors : EntryErrors
        How far entries may be from the kernel function.
    norms : array of shape (n,)
        Upper bounds of ``|phi(x_i)|``.
    """

    values: Dense
    errors: EntryErrors
    norms: Vector

    @classmethod
    def of(cls, values: Dense, kernel: Kernel, X: Stored) -> KernelMatrix:
        """Bound the errors of the matrix of a kernel without open parameters."""
        with np.errstate(all="ignore"):
            return cls(values, entry_errors(kernel, X, X), feature_norms(kernel, X))

    def products(
        self, rows: Index, columns: Index, beta: Dense, *, more_digits: bool = False
    ) -> Products:
        """``w'phi(x)`` for the samples in rows, and coefficients beta of those in columns."""
        K, e = self.values[np.ix_(rows, columns)], self.errors
        errors = EntryErrors(e.rows[rows], e.columns[columns], e.left[rows], e.right[columns])
        return Products.of(K, errors, self.norms[rows], beta, more_digits=more_digits)


@short_repr
@dataclass(frozen=True, eq=False)
class SharedKernels:
    """Kernel matrices of one set of samples that differ in gamma.

    Attributes
    ----------
    matrix : callable
        ``gamma -> KernelMatrix``.
    """

    matrix: Callable[[Any], KernelMatrix]

    @classmethod
    def of(cls, kernel: Kernel, X: Stored, largest_gamma: float) -> SharedKernels | None:
        """Compute the distances or products that the kernels share.

        Parameters
        ----------
        kernel : Kernel
            With any gamma; all other parameters are those of every candidate.
        X : array or CSR matrix of shape (n, d)
        largest_gamma : float
            No matrix is asked for with a larger one.

        Returns
        -------
        SharedKernels or None
            None for kernels that are not positive semidefinite by their type.
        """
        if not kernel.is_positive_semidefinite:
            return None
        values: Callable[[Any], Dense]
        if isinstance(kernel, RBF):
            distances = SharedDistances(X, largest_gamma)
            values = lambda gamma: distances.gram(gamma).gram.dense  # noqa: E731
        elif isinstance(kernel, Polynomial):
            values = _Powers(Linear()(X, X), kernel.degree, kernel.coef0)
        else:
            known = KernelMatrix.of(freeze(kernel.resolve(X)(X, X)), kernel.resolve(X), X)
            return cls(lambda _: known)
        with_gamma = kernel
        return cls(lambda g: KernelMatrix.of(values(g), replace(with_gamma, gamma=g), X))


@dataclass(frozen=True, eq=False)
class _Powers:
    """``(gamma x'z + coef0)^degree``."""

    products: Dense
    degree: float
    coef0: float

    def __call__(self, gamma: float) -> Dense:
        with np.errstate(over="ignore"):
            return freeze((gamma * self.products + self.coef0) ** self.degree)
