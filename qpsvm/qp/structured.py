"""Hessians that are cheaper to apply than to store: low rank plus diagonal, and kernels.

Both belong to *conditions on samples*: condition i looks at sample ``c(i)`` with a factor ``s_i``
(a label, or the side of a tube). With the signed selection ``R = S I[c]`` and the Gram matrix K of
the samples, every SVM dual has ``P = R K R' + diag(d)``, and several conditions share one sample.
"""

from __future__ import annotations

from collections.abc import Iterator
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
    freeze,
    require_finite,
    require_memory,
    row_blocks,
)
from qpsvm.qp.quadratic import Quadratic

KEPT_BYTES = 2**29
"""Kernel matrices up to this size stay in memory: 8192 samples."""

REMEMBERED = 8
"""Number of products ``K v`` that are not computed again."""


class GramFunction(Protocol):
    """What ``SampleGram`` needs of a kernel: the Gram block between two sets of samples."""

    def __call__(self, X: Any, Z: Any) -> Dense: ...


class Selection:
    """``R = S I[c]``: one non-zero ``s_i`` in column ``c(i)`` of every row.

    Parameters
    ----------
    n_samples : int
    signs : array of shape (n,) or None
        s, ones if None.
    index : array of int of shape (n,) or None
        c, the identity if None.
    """

    def __init__(
        self, n_samples: int, signs: Vector | None = None, index: Index | None = None
    ) -> None:
        self.n_samples = n_samples
        self.index = None if index is None else np.asarray(index, dtype=np.intp)
        size = n_samples if self.index is None else len(self.index)
        if signs is not None and len(signs) != size:
            raise InvalidProgramError(f"signs has {len(signs)} entries for {size} variables.")
        self.signs = np.ones(size) if signs is None else as_vector(signs, "signs")
        self.is_identity = index is None and bool((self.signs == 1.0).all())

    @property
    def size(self) -> int:
        """Number of rows of R."""
        return len(self.signs)

    def parts(self) -> tuple[Any, ...]:
        """What defines R."""
        index = np.arange(self.n_samples) if self.index is None else self.index
        return (self.signs, index)

    def gather(self, x: Vector) -> Vector:
        """``R'x``, one entry per sample."""
        if self.index is None:
            return self.signs * x
        return np.bincount(self.index, self.signs * x, self.n_samples).astype(np.float64)

    def spread(self, v: Vector) -> Vector:
        """``R v``, one entry per row."""
        return self.signs * (v if self.index is None else v[self.index])

    def samples(self, rows: Any) -> Any:
        """The samples ``c(i)`` of the given rows."""
        return rows if self.index is None else self.index[rows]

    def of_rows(self, matrix: Any) -> Any:
        """``R M``, for a dense or CSR matrix with one row per sample."""
        if self.is_identity:
            return matrix
        chosen = matrix if self.index is None else matrix[self.index]
        if sp.issparse(chosen):
            scaling = sp.dia_array((self.signs[None], [0]), shape=(self.size, self.size))
            return sp.csr_array(scaling @ chosen)
        return chosen * self.signs[:, None]


class LowRankQuadratic(Quadratic):
    """``P = F F' + diag(d)`` with ``d >= 0``: the dual Hessian of every linear SVM.

    ``F = R X`` for a signed selection R: variables that look at the same sample share its row.

    Parameters
    ----------
    samples : array or CSR matrix of shape (n_samples, r)
        X, or F itself without ``signs`` and ``index``. Not copied: the caller hands it over.
    diag : array of shape (n,) or None
        d, zero if None.
    signs, index : arrays of shape (n,) or None
        The rows of F: ``F_i = signs_i X_index(i)``; ones and the identity if None.

    Raises
    ------
    InvalidProgramError
        Not finite, lengths that differ, or a negative d.
    """

    def __init__(
        self,
        samples: Matrix,
        diag: Vector | None = None,
        *,
        signs: Vector | None = None,
        index: Index | None = None,
    ) -> None:
        self.samples = sp.csr_array(samples) if sp.issparse(samples) else np.asarray(samples, float)
        values = self.samples.data if sp.issparse(self.samples) else self.samples
        if not np.isfinite(values).all():
            raise InvalidProgramError("The factor F of a LowRankQuadratic has NaN or inf entries.")
        freeze(self.samples)
        self.selection = Selection(self.samples.shape[0], signs, index)
        self.diag = _checked_diagonal(diag, self.selection.size)

    def select(
        self,
        signs: Vector | None,
        index: Index | None = None,
        diag: Vector | None = None,
        *,
        constant: float = 0.0,
    ) -> LowRankQuadratic:
        """``R (K + constant) R' + diag(d)`` over the same samples, which are shared.

        A constant is one feature more, ``sqrt(constant)`` for every sample: a copy.
        """
        X = self.samples
        if constant:
            column = np.full((X.shape[0], 1), np.sqrt(constant))
            sparse = sp.issparse(X)
            X = sp.csr_array(sp.hstack([X, column])) if sparse else np.hstack([X, column])
        return LowRankQuadratic(X, diag, signs=signs, index=index)

    def combine(self, rows: Any, diag: Vector | None = None) -> LowRankQuadratic:
        """``R K R' + diag(d)`` for any CSR matrix R with one column per sample."""
        return LowRankQuadratic(rows @ self.samples, diag)

    @cached_property
    def factor(self) -> Any:
        """F, shape (n, r); computed once where it is not the samples themselves."""
        return freeze(self.selection.of_rows(self.samples))

    @property
    def size(self) -> int:
        return self.selection.size

    def parts(self) -> tuple[Any, ...]:
        return (self.factor, self.diag)  # however the rows are shared

    def matvec(self, x: Vector) -> Vector:
        X, R = self.samples, self.selection
        return R.spread(np.asarray(X @ (X.T @ R.gather(x)))) + self.diag * x

    def block(self, rows: Index, columns: Index) -> Dense:
        R = self.selection
        left, right = (self.samples[R.samples(i)] for i in (rows, columns))
        product = left @ right.T
        block = product.toarray() if sp.issparse(product) else np.asarray(product)
        block *= R.signs[rows, None]
        block *= R.signs[columns]
        return _add_diagonal(block, rows, columns, self.diag)

    def diagonal(self) -> Vector:
        X: Any = self.samples
        R = self.selection
        squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
        norms = np.asarray(squares).ravel()
        return R.signs * R.spread(norms) + self.diag

    def null_violation(self, x: Vector) -> float:
        # x'Px = |F'x|^2 + x'Dx: both must vanish, and F'x squares nothing
        F: Any = self.factor
        terms = abs(F).T @ np.abs(x)
        used = terms > 0.0
        ratio = float(np.max(np.abs(F.T @ x)[used] / terms[used], initial=0.0))
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


class SampleGram:
    """``K_ij = k(x_i, x_j)`` of the training samples, evaluated on demand.

    A small matrix is kept after the first use: evaluating a kernel costs more than reading it.
    Programs of the same samples share it. A large one is evaluated in blocks of rows, whenever it
    is multiplied, and the latest products are remembered: a verifier asks for the same few vectors
    again and again.

    Parameters
    ----------
    kernel : callable
        ``kernel(X, Z)`` returns the fresh Gram block of shape (len(X), len(Z)).
    X : array or CSR matrix of shape (n, d)
    positive_semidefinite : bool
        Whether the kernel is one by construction.
    """

    def __init__(
        self, kernel: GramFunction, X: Any, *, positive_semidefinite: bool = False
    ) -> None:
        self.kernel = kernel
        self.X = X
        self.positive_semidefinite = positive_semidefinite
        self._recent: dict[bytes, Vector] = {}

    @classmethod
    def of_matrix(cls, matrix: Dense, *, positive_semidefinite: bool = False) -> SampleGram:
        """A matrix that exists already: the samples are its row numbers. Not copied."""
        rows = np.arange(len(matrix))
        gram = cls(_Lookup(matrix), rows, positive_semidefinite=positive_semidefinite)
        gram.__dict__["dense"] = freeze(matrix)
        return gram

    @property
    def size(self) -> int:
        """Number of samples."""
        return int(self.X.shape[0])

    def parts(self) -> tuple[Any, ...]:
        """What defines K: the kernel and the samples, or the matrix itself."""
        if isinstance(self.kernel, _Lookup):
            return (self.kernel.matrix,)
        if isinstance(self.kernel, _Combinations):
            return (*self.kernel.gram.parts(), self.X)
        return (self.kernel, self.X)

    @property
    def is_kept(self) -> bool:
        """Whether the matrix has been evaluated."""
        return "dense" in self.__dict__

    @cached_property
    def dense(self) -> Dense:
        """K, read-only, shape (n, n)."""
        dense = self.kernel(self.X, self.X)
        if isinstance(self.kernel, _Combinations):
            dense = 0.5 * (dense + dense.T)  # products of sparse rows round either half differently
        if not np.isfinite(np.sum(dense)) and not np.isfinite(dense).all():
            raise InvalidProgramError(
                "The kernel matrix has NaN or infinite entries: the features are too large for "
                "this kernel in double precision; scale them, for instance with StandardScaler."
            )
        return np.asarray(freeze(dense))

    def product(self, v: Vector) -> Vector:
        """``K v``, shape (n,), read-only."""
        return self.products(v[:, None])[:, 0]

    def products(self, V: Dense) -> Dense:
        """``K V`` for V of shape (n, m), read-only: one pass over K for what is not remembered."""
        recent = self._recent
        found = [recent.get(_key(column)) for column in V.T]
        missing = [j for j, product in enumerate(found) if product is None]
        if missing:
            new = self._evaluated(V[:, missing])
            self.remember(V[:, missing], new)
            for j, column in zip(missing, new.T, strict=True):
                found[j] = column
        return np.asarray(freeze(np.column_stack([np.asarray(product) for product in found])))

    def remember(self, V: Dense, products: Dense) -> None:
        """Hand in ``K V`` that was computed elsewhere, so that it is not computed again."""
        pairs = zip(V.T, products.T, strict=True)
        known = self._recent | {_key(v): freeze(np.array(product)) for v, product in pairs}
        # replaced, never changed: other threads may be reading it
        self._recent = dict(list(known.items())[-REMEMBERED:])

    def blocks(self, columns: Index) -> Iterator[tuple[slice, Dense]]:
        """``K[rows][:, columns]`` for one block of rows after the other, as fresh arrays."""
        Z = self.X[columns]
        for rows in row_blocks(self.size, len(columns)):
            yield rows, self.kernel(self.X[rows], Z)

    def _evaluated(self, V: Dense) -> Dense:
        n = self.size
        if self.is_kept or 8 * n**2 <= KEPT_BYTES:
            # column by column: a product has the same bits whatever it is computed beside
            return np.column_stack([self.dense @ v for v in np.ascontiguousarray(V.T)])
        used = np.flatnonzero(V.any(axis=1))  # NaN counts
        result, weights = np.zeros(V.shape), V[used]
        for rows, block in self.blocks(used) if used.size else ():
            result[rows] = block @ weights
        return result

    def block(self, rows: Index, columns: Index) -> Dense:
        """``K[rows][:, columns]`` as a fresh array."""
        if self.is_kept:
            return self.dense[np.ix_(rows, columns)]
        return self.kernel(self.X[rows], self.X[columns])

    @cached_property
    def diagonal(self) -> Vector:
        """``k(x_i, x_i)``, shape (n,)."""
        if self.is_kept:
            return np.asarray(freeze(np.diagonal(self.dense).copy()))
        blocks = [self.X[rows] for rows in row_blocks(self.size, 256, 8 * 256 * 256)]
        parts = [np.diagonal(self.kernel(block, block)) for block in blocks]
        return np.asarray(freeze(np.concatenate(parts)))


class KernelQuadratic(Quadratic):
    """``P_ij = s_i s_j (k(x_{c(i)}, x_{c(j)}) + constant) + d_i [i = j]``, evaluated on demand.

    The index map c lets several variables share a sample: a C-SVC dual has one variable per
    sample, a support vector regression two.

    Parameters
    ----------
    gram : SampleGram
        The kernel and its samples.
    signs : array of shape (n,) or None
        s, ones if None.
    index : array of int of shape (n,) or None
        c; the identity if None.
    diag : array of shape (n,) or None
        d, zero if None.
    constant : float
        1 for a penalised intercept, which is an extra feature of ones.

    Raises
    ------
    InvalidProgramError
        Lengths that differ, or a negative d.
    """

    def __init__(
        self,
        gram: SampleGram,
        signs: Vector | None = None,
        index: Index | None = None,
        diag: Vector | None = None,
        *,
        constant: float = 0.0,
    ) -> None:
        self.gram = gram
        self.selection = Selection(gram.size, signs, index)
        self.diag = _checked_diagonal(diag, self.selection.size)
        self.constant = constant

    def select(
        self,
        signs: Vector | None,
        index: Index | None = None,
        diag: Vector | None = None,
        *,
        constant: float = 0.0,
    ) -> KernelQuadratic:
        """``R (K + constant) R' + diag(d)`` over the same samples; an evaluated K is shared."""
        return KernelQuadratic(self.gram, signs, index, diag, constant=constant)

    def combine(self, rows: Any, diag: Vector | None = None) -> KernelQuadratic:
        """``R K R' + diag(d)`` for any CSR matrix R with one column per sample."""
        combined = SampleGram(
            _Combinations(self.gram), rows, positive_semidefinite=self.gram.positive_semidefinite
        )
        return KernelQuadratic(combined, diag=diag)

    @property
    def size(self) -> int:
        return self.selection.size

    def parts(self) -> tuple[Any, ...]:
        return (*self.gram.parts(), *self.selection.parts(), self.diag, self.constant)

    def matvec(self, x: Vector) -> Vector:
        v = self.selection.gather(x)
        product = self.gram.product(v)
        if self.constant:
            product = product + self.constant * float(np.sum(v))
        return self.selection.spread(product) + self.diag * x

    def block(self, rows: Index, columns: Index) -> Dense:
        R = self.selection
        block = self.gram.block(R.samples(rows), R.samples(columns))
        block += self.constant
        block *= R.signs[rows, None]
        block *= R.signs[columns]
        return _add_diagonal(block, rows, columns, self.diag)

    def diagonal(self) -> Vector:
        R = self.selection
        return R.signs * R.spread(self.gram.diagonal + self.constant) + self.diag

    def to_dense(self, memory_limit: int | None = None) -> Dense:
        require_memory(
            *self.shape,
            "The kernel matrix",
            "use fewer samples, or raise memory_limit if the machine can take it.",
            memory_limit,
        )
        R, K = self.selection, self.gram.dense
        if R.is_identity and not self.constant and not self.diag.any():
            return K
        dense = np.empty(self.shape)
        for rows in row_blocks(self.size, self.size, 2**20):  # one pass that stays in cache
            chosen = K[rows] if R.index is None else K[R.index[rows]][:, R.index]
            np.add(chosen, self.constant, out=dense[rows])
            dense[rows] *= R.signs[rows, None]
            dense[rows] *= R.signs
        dense[np.diag_indices(self.size)] += self.diag
        return np.asarray(freeze(dense))

    @property
    def is_psd_by_construction(self) -> bool:
        return self.gram.positive_semidefinite and self.constant >= 0.0


class _Lookup:
    """The kernel between row numbers of a stored matrix."""

    def __init__(self, matrix: Dense) -> None:
        self.matrix = matrix

    def __call__(self, X: Any, Z: Any) -> Dense:
        return np.asarray(self.matrix[np.ix_(X, Z)])


class _Combinations:
    """The kernel between linear combinations of samples, given as CSR rows of weights."""

    def __init__(self, gram: SampleGram) -> None:
        self.gram = gram

    def __call__(self, X: Any, Z: Any) -> Dense:
        left, right = np.unique(X.indices), np.unique(Z.indices)
        block = self.gram.block(left, right)
        return np.asarray(Z[:, right] @ np.asarray(X[:, left] @ block).T).T


def _key(v: Vector) -> bytes:
    """Equal for equal vectors; zeros have no sign."""
    return np.asarray(v + 0.0, dtype=np.float64).tobytes()


def _checked_diagonal(diag: Vector | None, size: int) -> Vector:
    vector = as_vector(diag, "diag", size)
    require_finite(vector, "diag")
    if (vector < 0).any():
        raise InvalidProgramError(
            f"diag must be non-negative, its smallest entry is {vector.min():.6g}."
        )
    return vector


def _add_diagonal(block: Dense, rows: Index, columns: Index, diag: Vector) -> Dense:
    if diag.any():
        row, column = np.nonzero(rows[:, None] == columns)
        block[row, column] += diag[rows[row]]
    return block
