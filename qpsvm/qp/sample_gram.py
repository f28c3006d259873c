"""Gram matrices of samples, evaluated on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from typing import Protocol

import numpy as np

from qpsvm.exceptions import InvalidProgramError
from qpsvm.numerics import compensated
from qpsvm.numerics.arrays import IN_CACHE, Dense, Index, Sparse, Vector, freeze, row_blocks
from qpsvm.numerics.single_precision import SinglePrecision, Stored, rows_of
from qpsvm.numerics.threads import for_each, kernel_blocks

KEPT_BYTES = 2**27
"""Kernel matrices up to this size stay in memory: 4096 samples."""


FEW = 2
"""Columns of a kept matrix are copied for a product where they are less than one in so many."""


class GramFunction(Protocol):
    """A kernel as ``SampleGram`` needs it: the Gram block between two sets of samples."""

    def __call__(self, X: Stored, Z: Stored) -> Dense: ...


class Rows(Protocol):
    """``K[rows]``, shape (m, n), into an array."""

    def __call__(self, rows: Index, out: Dense) -> None: ...


class Elsewhere(Protocol):
    """Products with kernel matrices that a GPU computes; None for other kernels."""

    def __call__(self, gram: SampleGram, V: Dense, W: Dense) -> tuple[Dense, Dense] | None:
        """Return ``K V`` and ``K W``."""

    def expansion(self, kernel: GramFunction, X: Stored, Z: Stored, B: Dense) -> Dense | None:
        """Return ``k(X, Z) B``."""


_ELSEWHERE: ContextVar[Elsewhere | None] = ContextVar("elsewhere", default=None)


@contextmanager
def products_by(elsewhere: Elsewhere | None) -> Iterator[None]:
    """Let another device multiply by kernel matrices that are not stored, in this context alone."""
    token = _ELSEWHERE.set(elsewhere)
    try:
        yield
    finally:
        _ELSEWHERE.reset(token)


def products_elsewhere() -> Elsewhere | None:
    """Return the device that multiplies in this context; None for the processor."""
    return _ELSEWHERE.get()


class RowsByCall:
    """Rows of the Gram matrix by calls of the kernel."""

    def __init__(self, kernel: GramFunction, X: Stored) -> None:
        self.kernel, self.X = kernel, X

    def __call__(self, rows: Index, out: Dense) -> None:
        out[:] = self.kernel(self.X[rows], self.X)


class SampleGram:
    """``K_ij = k(x_i, x_j)`` of the training samples, evaluated on demand.

    A small matrix is kept after the first product with a vector: evaluating a kernel costs more
    than reading it. Programs of the same samples share it. A large one is evaluated in blocks of
    rows, whenever it is multiplied.

    Parameters
    ----------
    kernel : callable
        ``kernel(X, Z)`` returns the fresh Gram block of shape (len(X), len(Z)).
    X : array, CSR matrix or SinglePrecision of shape (n, d)
        The training samples.
    positive_semidefinite : bool
        Whether the kernel is one by construction.

    Attributes
    ----------
    negative_bound : float
        ``K + negative_bound I`` is positive semidefinite; certificates pay for it.

    Examples
    --------
    >>> gram = SampleGram(
    ...     lambda X, Z: X @ Z.T, np.array([[1.0], [2.0]]), positive_semidefinite=True
    ... )
    >>> gram.size, gram.diagonal
    (2, array([1., 4.]))
    >>> gram.product(np.array([1.0, 1.0]))
    array([3., 6.])
    """

    def __init__(
        self, kernel: GramFunction, X: Stored, *, positive_semidefinite: bool = False
    ) -> None:
        self.kernel = kernel
        self.X = X
        self.positive_semidefinite = positive_semidefinite
        self.negative_bound = 0.0
        self.whole: tuple[SampleGram, Index] | None = None
        self._was_kept = False

    def __getstate__(self) -> dict[str, object]:
        # what can be evaluated again is, as a whole if it was one: hence to the same bits
        again = {"_rows", "_within"} | (set() if isinstance(self.kernel, _Lookup) else {"dense"})
        state = {name: part for name, part in self.__dict__.items() if name not in again}
        return state | {"_was_kept": self.is_kept}

    @classmethod
    def of_matrix(cls, matrix: Dense, *, positive_semidefinite: bool = False) -> SampleGram:
        """Wrap an existing kernel matrix, not copied; samples are its row numbers."""
        rows, psd = np.arange(len(matrix)), positive_semidefinite
        return cls.of_values(_Lookup(matrix), rows, matrix, positive_semidefinite=psd)

    @classmethod
    def of_values(
        cls, kernel: GramFunction, X: Stored, values: Dense, *, positive_semidefinite: bool = False
    ) -> SampleGram:
        """The Gram matrix of samples with all of its values, evaluated elsewhere; not copied."""
        gram = cls(kernel, X, positive_semidefinite=positive_semidefinite)
        gram.__dict__["dense"] = freeze(values)
        return gram

    @property
    def size(self) -> int:
        """Number of samples."""
        return int(self.X.shape[0])

    def parts(self) -> tuple[object, ...]:
        """Objects that define K: the kernel and the samples, or the matrix itself."""
        if isinstance(self.kernel, _Lookup):
            return (self.kernel.matrix,)
        if isinstance(self.kernel, Combinations):
            return (*self.kernel.gram.parts(), self.X)
        return (self.kernel, self.X)

    @property
    def is_kept(self) -> bool:
        """Return whether ``dense`` can be read from memory, or from a larger kept matrix."""
        return "dense" in self.__dict__ or self.whole is not None or self._was_kept

    @property
    def is_worth_keeping(self) -> bool:
        """Return whether the matrix will be evaluated and kept at the next product."""
        return self.is_kept or 8 * self.size**2 <= KEPT_BYTES

    def of_samples(self, samples: Index) -> SampleGram:
        """The Gram matrix of some of the samples."""
        if self.is_kept and 8 * len(samples) ** 2 <= KEPT_BYTES // 4:
            part = self.dense[np.ix_(samples, samples)]
            return self.of_matrix(part, positive_semidefinite=self.positive_semidefinite)
        return SampleGram(
            self.kernel, rows_of(self.X, samples), positive_semidefinite=self.positive_semidefinite
        )

    def sharing(self, samples: Index, X: Stored) -> SampleGram:
        """The Gram matrix of some samples, with the values of this one once they are evaluated.

        Parameters
        ----------
        samples : array of int of shape (m,)
        X : array, CSR matrix or SinglePrecision of shape (m, d)
            These samples.
        """
        part = SampleGram(self.kernel, X, positive_semidefinite=self.positive_semidefinite)
        if self.is_worth_keeping:
            part.whole = self, samples
        return part

    @cached_property
    def dense(self) -> Dense:
        """K, read-only, shape (n, n)."""
        if self.whole is not None:
            whole, samples = self.whole
            return np.asarray(freeze(whole.dense[np.ix_(samples, samples)]))
        X = np.asarray(self.X) if isinstance(self.X, SinglePrecision) else self.X
        dense = self.kernel(X, X)
        if isinstance(self.kernel, Combinations):
            dense = 0.5 * (dense + dense.T)  # products of sparse rows round either half differently
        if not np.isfinite(np.sum(dense)) and not np.isfinite(dense).all():
            raise InvalidProgramError(
                "The kernel matrix has NaN or infinite entries: the features are too large for "
                "this kernel in double precision; scale them, for instance with StandardScaler."
            )
        return np.asarray(freeze(dense))

    def product(self, v: Vector) -> Vector:
        """``K v``, shape (n,); a small matrix is kept, for the next product."""
        if self.is_worth_keeping and FEW * np.count_nonzero(v) > self.size:
            _ = self.dense
        return self.products(v[:, None])[:, 0]

    def products(self, V: Dense) -> Dense:
        """``K V`` for V of shape (n, m), in one pass over K, which is not kept."""
        return self.products_and_sizes(V, np.zeros((self.size, 0)))[0]

    def products_and_sizes(self, V: Dense, W: Dense) -> tuple[Dense, Dense]:
        """Multiply vectors by the kernel matrix K: ``K V`` with compensated sums, ``K W`` without.

        Sums of terms that do not cancel, K and W being non-negative, need no compensation.

        Parameters
        ----------
        V, W : arrays of shape (n, m) and (n, p)

        Returns
        -------
        tuple of arrays of shape (n, m) and (n, p)
        """
        elsewhere = None if self.is_kept else products_elsewhere()
        found = None if elsewhere is None else elsewhere(self, V, W)
        if found is not None:
            return found
        used = np.flatnonzero(V.any(axis=1) | W.any(axis=1))  # NaN counts
        if self.is_kept and FEW * len(used) > self.size:
            return compensated.product(self.dense, V), self.dense @ W
        sums, sizes, weights, positive = np.zeros(V.shape), np.zeros(W.shape), V[used], W[used]
        if not used.size:
            return sums, sizes
        Z = None if self.is_kept else self.X[used]
        within = self._within

        def multiply(rows: slice) -> None:
            block = self.dense[rows][:, used] if Z is None else within(self.X[rows], Z)
            sums[rows], sizes[rows] = compensated.product(block, weights), block @ positive

        blocks = kernel_blocks(self.size, len(used))
        if Z is None or getattr(self.kernel, "runs_in_threads", False):
            for_each(multiply, blocks)
        else:
            for rows in blocks:
                multiply(rows)
        return sums, sizes

    def blocks(self, columns: Index) -> Iterator[tuple[slice, Dense]]:
        """``K[rows][:, columns]`` for one block of rows after the other, as fresh arrays."""
        Z = self.X[columns]
        for rows in row_blocks(self.size, len(columns)):
            yield rows, self._within(self.X[rows], Z)

    def rows(self, samples: Index, out: Dense) -> None:
        """``K[samples]`` into an array of shape (m, n)."""
        if self.is_kept:
            out[:] = self.dense[samples]
        else:
            self._rows(samples, out)

    @cached_property
    def _within(self) -> GramFunction:
        within: Callable[[Stored], GramFunction] | None = getattr(self.kernel, "within", None)
        return self.kernel if within is None else within(self.X)

    @cached_property
    def _rows(self) -> Rows:
        against: Callable[[Stored], Rows] | None = getattr(self.kernel, "against", None)
        return RowsByCall(self.kernel, self.X) if against is None else against(self.X)

    def write_square(self, samples: Index, out: Dense) -> None:
        """Write the kernel matrix of some samples into an array of shape (m, m).

        Of two entries that are equal by symmetry one is evaluated.
        """
        if self.is_kept:
            for rows in row_blocks(len(samples), len(samples), IN_CACHE):
                out[rows] = self.dense[np.ix_(samples[rows], samples)]
            return
        write: Callable[[Stored, Dense], None] | None = getattr(self.kernel, "write_square", None)
        X = rows_of(self.X, samples)
        if write is None:
            out[:] = self.kernel(X, X)
        else:
            write(X, out)

    def block(self, rows: Index, columns: Index) -> Dense:
        """``K[rows][:, columns]`` as a fresh array."""
        if self.is_kept:
            return self.dense[np.ix_(rows, columns)]
        return self._within(self.X[rows], self.X[columns])

    @cached_property
    def diagonal(self) -> Vector:
        """``k(x_i, x_i)``, shape (n,)."""
        if self.is_kept:
            return np.asarray(freeze(np.diagonal(self.dense).copy()))
        known: Callable[[Stored], Vector] | None = getattr(self.kernel, "diagonal", None)
        if known is not None:
            return np.asarray(freeze(known(self.X)))
        blocks = [self.X[rows] for rows in row_blocks(self.size, 256, 8 * 256 * 256)]
        parts = [np.diagonal(self.kernel(block, block)) for block in blocks]
        return np.asarray(freeze(np.concatenate(parts)))


class _Lookup:
    """The kernel between row numbers of a stored matrix."""

    def __init__(self, matrix: Dense) -> None:
        self.matrix = matrix

    def __call__(self, X: Stored, Z: Stored) -> Dense:
        return np.asarray(self.matrix[np.ix_(X, Z)])


class Combinations:
    """The kernel between linear combinations of samples, given as CSR rows of weights."""

    def __init__(self, gram: SampleGram) -> None:
        self.gram = gram

    def __call__(self, X: Sparse, Z: Sparse) -> Dense:
        left, right = np.unique(X.indices), np.unique(Z.indices)
        block = self.gram.block(left, right)
        return np.asarray(Z[:, right] @ np.asarray(X[:, left] @ block).T).T
