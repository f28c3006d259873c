"""Hessian of every SVM dual, ``P = R (K + constant) R' + diag(d)``, for any storage of K.

Selections R belong to *conditions on samples*: condition i looks at sample ``c(i)`` with a factor
``s_i`` (a label, or the side of a tube). With the signed selection ``R = S I[c]`` and the Gram
matrix K of the samples, every SVM dual has this Hessian, and several conditions share one sample.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Self

import numpy as np
import scipy.sparse as sp

from qpsvm.exceptions import InvalidProgramError
from qpsvm.numerics.arrays import (
    Dense,
    Index,
    Matrix,
    Sparse,
    Vector,
    as_vector,
    require_finite,
    restore_frozen,
)
from qpsvm.numerics.conversion import index_width
from qpsvm.qp.quadratic import Quadratic


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

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of samples."""
        return self.size, self.n_samples

    def __repr__(self) -> str:
        return f"Selection({self.size} rows of {self.n_samples} samples)"

    __setstate__ = restore_frozen

    @property
    def matrix(self) -> Sparse:
        """The selection matrix ``R = S I[c]`` as a CSR array."""
        ends = np.arange(self.size + 1, dtype=index_width(self.size, self.shape))
        index = ends[:-1] if self.index is None else self.index.astype(ends.dtype)
        R = sp.csr_array((self.signs.copy(), index, ends), shape=self.shape)
        R.has_canonical_format = True
        return R

    def absolute(self) -> Selection:
        """``|R|``."""
        return Selection(self.n_samples, np.abs(self.signs), self.index)

    def extended(self, m: int) -> Selection:
        """Append m rows of zeros, for slack variables."""
        if m == 0:
            return self
        index = np.arange(self.n_samples) if self.index is None else self.index
        signs, none = np.concatenate([self.signs, np.zeros(m)]), np.zeros(m, dtype=np.intp)
        return Selection(self.n_samples, signs, np.concatenate([index, none]))

    def parts(self) -> tuple[object, ...]:
        """Objects that define R."""
        index = np.arange(self.n_samples) if self.index is None else self.index
        return (self.signs, index)

    def gather(self, x: Vector) -> Vector:
        """``R'x``, one entry per sample."""
        signed = self.signs * x
        if self.index is None:
            return signed
        return np.bincount(self.index, signed, self.n_samples).astype(np.float64)

    def spread(self, v: Vector) -> Vector:
        """``R v``, one entry per row."""
        return self.signs * (v if self.index is None else v[self.index])

    def samples(self, rows: Index) -> Index:
        """The samples ``c(i)`` of the given rows."""
        return rows if self.index is None else self.index[rows]

    def of_rows(self, matrix: Matrix) -> Matrix:
        """``R M``, for a dense or CSR matrix with one row per sample."""
        if self.is_identity:
            return matrix
        chosen = matrix if self.index is None else matrix[self.index]
        if sp.issparse(chosen):
            scaling = sp.dia_array((self.signs[None], [0]), shape=(self.size, self.size))
            return sp.csr_array(scaling @ chosen)
        return chosen * self.signs[:, None]


class SampleQuadratic(Quadratic):
    """``R (K + constant) R' + diag(d)`` for a signed selection R of samples with Gram matrix K.

    Attributes
    ----------
    selection : Selection
        R.
    diag : array of shape (n,)
        d.
    constant : float
    """

    selection: Selection
    diag: Vector
    constant: float

    @abstractmethod
    def gram_block(self, rows: Index, columns: Index) -> Dense:
        """``K[rows][:, columns]`` as a fresh array, for samples and not variables."""

    @abstractmethod
    def gram_diagonal(self) -> Vector:
        """The diagonal of K, shape (n_samples,)."""

    @abstractmethod
    def of_samples(self, samples: Index | None, selection: Selection, diag: Vector) -> Self:
        """The same kernel on some of the samples, with another selection of these.

        Parameters
        ----------
        samples : array of int or None
            All samples, which are then shared, if None.
        selection : Selection
            Of the samples that are left.
        diag : array of shape (n,)
        """

    @property
    def size(self) -> int:
        return self.selection.size

    def from_product(self, x: Vector, product: Vector) -> Vector:
        """``P x`` from ``K R'x``, shape (n,)."""
        if self.constant:
            product = product + self.constant * float(np.sum(self.selection.gather(x)))
        return self.selection.spread(product) + self.diag * x

    def block(self, rows: Index, columns: Index) -> Dense:
        R = self.selection
        return self.weighted(self.gram_block(R.samples(rows), R.samples(columns)), rows, columns)

    def weighted(self, block: Dense, rows: Index, columns: Index) -> Dense:
        """Turn a block of K into one of P, in place."""
        if self.constant:
            block += self.constant
        block *= self.selection.signs[rows, None]
        block *= self.selection.signs[columns]
        if self.diag.any():
            row, column = np.nonzero(rows[:, None] == columns)
            block[row, column] += self.diag[rows[row]]
        return block

    def diagonal(self) -> Vector:
        R = self.selection
        return R.signs * R.spread(self.gram_diagonal() + self.constant) + self.diag

    def restricted(
        self, kept: Index, diag: Vector | None = None, *, copied_below: float = 1.0
    ) -> Self:
        """Return the Hessian of some of the variables, on the samples that these need.

        Parameters
        ----------
        kept : array of int of shape (m,)
            In increasing order.
        diag : array of shape (m,)
            Another d for these variables.
        copied_below : float
            The samples are copied if no more than this share of them is left.
        """
        R, own = self.selection, self.selection.samples(kept)
        used = own if R.index is None else np.unique(own)
        fewer = len(used) < copied_below * R.n_samples
        n_samples = len(used) if fewer else R.n_samples
        index = np.searchsorted(used, own) if fewer else own
        in_order = len(index) == n_samples and np.array_equal(index, np.arange(n_samples))
        selection = Selection(n_samples, R.signs[kept], None if in_order else index)
        diag = self.diag[kept] if diag is None else diag
        return self.of_samples(used if fewer else None, selection, diag)


def checked_diagonal(diag: Vector | None, size: int) -> Vector:
    """The diagonal d as a vector, zeros if None.

    Raises
    ------
    InvalidProgramError
        Another length, not finite, or a negative entry.
    """
    vector = as_vector(diag, "diag", size)
    require_finite(vector, "diag")
    if (vector < 0).any():
        raise InvalidProgramError(
            f"diag must be non-negative, its smallest entry is {vector.min():.6g}."
        )
    return vector
