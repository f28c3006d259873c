"""Hessians that are cheaper to apply than to store: low rank plus diagonal, and kernels."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from qpsvm.exceptions import InvalidProgramError
from qpsvm.qp._arrays import (
    Dense,
    Index,
    Matrix,
    Vector,
    as_vector,
    default_memory_limit,
    freeze,
    require_finite,
    require_memory,
    row_blocks,
)
from qpsvm.qp.quadratic import Quadratic


class GramFunction(Protocol):
    """What ``KernelQuadratic`` needs of a kernel: the Gram block between two sets of samples."""

    def __call__(self, X: Any, Z: Any) -> Dense: ...


class LowRankQuadratic(Quadratic):
    """``P = F F' + diag(d)`` with ``d >= 0``: the dual Hessian of every linear SVM.

    Parameters
    ----------
    factor : array or CSR matrix of shape (n, r)
        F. Not copied: the caller hands it over.
    diag : array of shape (n,) or None
        d, zero if None.

    Raises
    ------
    InvalidProgramError
        Not finite, lengths that differ, or a negative d.
    """

    def __init__(self, factor: Matrix, diag: Vector | None = None) -> None:
        self.factor = sp.csr_array(factor) if sp.issparse(factor) else np.asarray(factor, float)
        values = self.factor.data if sp.issparse(self.factor) else self.factor
        if not np.isfinite(values).all():
            raise InvalidProgramError("The factor F of a LowRankQuadratic has NaN or inf entries.")
        freeze(self.factor)
        self.diag = as_vector(diag, "diag", self.factor.shape[0])
        require_finite(self.diag, "diag")
        if (self.diag < 0).any():
            raise InvalidProgramError(
                f"diag must be non-negative, its smallest entry is {self.diag.min():.6g}."
            )

    @property
    def size(self) -> int:
        return int(self.factor.shape[0])

    def matvec(self, x: Vector) -> Vector:
        return np.asarray(self.factor @ (self.factor.T @ x)) + self.diag * x

    def block(self, rows: Index, columns: Index) -> Dense:
        product = self.factor[rows] @ self.factor[columns].T
        block = product.toarray() if sp.issparse(product) else np.asarray(product)
        return _add_diagonal(block, rows, columns, self.diag)

    def diagonal(self) -> Vector:
        F: Any = self.factor
        squares = F.multiply(F).sum(axis=1) if sp.issparse(F) else np.einsum("ij,ij->i", F, F)
        return np.asarray(squares).ravel() + self.diag

    def null_violation(self, x: Vector) -> float:
        # x'Px = |F'x|^2 + x'Dx: both must vanish, and F'x squares nothing
        terms = abs(self.factor).T @ np.abs(x)
        used = terms > 0.0
        ratio = float(np.max(np.abs(self.factor.T @ x)[used] / terms[used], initial=0.0))
        return max(ratio, float(np.any((self.diag > 0.0) & (x != 0.0))))

    @cached_property
    def _dense(self) -> Dense:
        product = self.factor @ self.factor.T
        dense = product.toarray() if sp.issparse(product) else np.asarray(product)
        dense[np.diag_indices(self.size)] += self.diag
        return np.asarray(freeze(dense))

    def to_dense(self, memory_limit: int | None = None) -> Dense:
        require_memory(
            *self.shape,
            "The linear-kernel Hessian",
            "use the primal form, or a backend that works with the factor.",
            memory_limit,
        )
        return self._dense

    @property
    def is_psd_by_construction(self) -> bool:
        return True


class KernelQuadratic(Quadratic):
    """``P_ij = s_i s_j k(x_{c(i)}, x_{c(j)}) + d_i [i = j]``, evaluated on demand.

    The index map c lets several variables share a sample: a C-SVC dual has one variable per
    sample, a support vector regression two.

    Parameters
    ----------
    kernel : callable
        ``kernel(X, Z)`` returns the fresh Gram block of shape (len(X), len(Z)).
    X : array or CSR matrix of shape (n_samples, n_features)
    signs : array of shape (n,)
        s.
    index : array of int of shape (n,) or None
        c; the identity if None.
    diag : array of shape (n,) or None
        d, zero if None.
    positive_semidefinite : bool
        Whether the kernel is one by construction.

    Notes
    -----
    A matrix that fits into the memory limit is kept after the first use: a verifier multiplies
    with P several times, and evaluating the kernel costs more than reading it.
    """

    def __init__(
        self,
        kernel: GramFunction,
        X: Any,
        signs: Vector,
        index: Index | None = None,
        diag: Vector | None = None,
        *,
        positive_semidefinite: bool = False,
    ) -> None:
        self.kernel = kernel
        self.X = X
        self.signs = as_vector(signs, "signs")
        self.index = None if index is None else np.asarray(index, dtype=np.intp)
        self.diag = as_vector(diag, "diag", self.signs.shape[0])
        self._positive_semidefinite = positive_semidefinite and bool((self.diag >= 0).all())
        samples = X.shape[0] if self.index is None else len(self.index)
        if samples != self.signs.shape[0]:
            raise InvalidProgramError(
                f"signs has {self.signs.shape[0]} entries for {samples} variables."
            )

    @property
    def size(self) -> int:
        return int(self.signs.shape[0])

    def _samples(self, variables: Any) -> Any:
        return self.X[variables if self.index is None else self.index[variables]]

    def matvec(self, x: Vector) -> Vector:
        if 8 * self.size**2 <= default_memory_limit():
            return self._dense @ x
        weights: Vector = self.signs * x
        if self.index is not None:  # gather the variables of one sample first
            weights = np.bincount(self.index, weights, self.X.shape[0]).astype(np.float64)
        n_samples = self.X.shape[0]
        product: Vector = np.empty(n_samples)
        for rows in row_blocks(n_samples, n_samples):
            product[rows] = self.kernel(self.X[rows], self.X) @ weights
        return self.signs * (product if self.index is None else product[self.index]) + self.diag * x

    def block(self, rows: Index, columns: Index) -> Dense:
        if "_dense" in self.__dict__:
            return self._dense[np.ix_(rows, columns)]
        block = self.kernel(self._samples(rows), self._samples(columns))
        block *= self.signs[rows, None]
        block *= self.signs[columns]
        return _add_diagonal(block, rows, columns, self.diag)

    def diagonal(self) -> Vector:
        if "_dense" in self.__dict__:
            return np.diagonal(self._dense).copy()
        blocks = row_blocks(self.size, 256, 8 * 256 * 256)
        everything = np.arange(self.size)
        return np.concatenate(
            [np.diagonal(self.block(everything[rows], everything[rows])) for rows in blocks]
        )

    @cached_property
    def _dense(self) -> Dense:
        if self.index is None:
            dense = self.kernel(self.X, self.X)
        else:
            dense = self.kernel(self.X, self.X)[np.ix_(self.index, self.index)]
        if not np.isfinite(np.sum(dense)) and not np.isfinite(dense).all():
            raise InvalidProgramError(
                "The kernel matrix has NaN or infinite entries: the features are too large for "
                "this kernel in double precision; scale them, for instance with StandardScaler."
            )
        for rows in row_blocks(self.size, self.size, 2**20):  # one pass that stays in cache
            dense[rows] *= self.signs[rows, None]
            dense[rows] *= self.signs
        if self.diag.any():
            dense[np.diag_indices(self.size)] += self.diag
        return np.asarray(freeze(dense))

    def to_dense(self, memory_limit: int | None = None) -> Dense:
        require_memory(
            *self.shape,
            "The kernel matrix",
            "use fewer samples, or raise memory_limit if the machine can take it.",
            memory_limit,
        )
        return self._dense

    @property
    def is_psd_by_construction(self) -> bool:
        return self._positive_semidefinite


def _add_diagonal(block: Dense, rows: Index, columns: Index, diag: Vector) -> Dense:
    if diag.any():
        row, column = np.nonzero(rows[:, None] == columns)
        block[row, column] += diag[rows[row]]
    return block
