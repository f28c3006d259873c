"""Linear rows and bounds as restrictions on a point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import Index, Mask, Matrix, Vector
from qpsvm.numerics.rows import SMALL_MATRIX


class Rows(Protocol):
    """Linear rows of any storage, of which some can be taken out."""

    @property
    def shape(self) -> tuple[int, int]: ...

    def estimate(self, x: Vector) -> tuple[Vector, Vector]:
        """``R x`` in plain arithmetic and ``|R| |x|``."""

    def take(self, index: Index) -> Matrix:
        """Some rows, dense or CSR."""


@dataclass(frozen=True, eq=False)
class MatrixRows:
    """Rows of a stored matrix."""

    matrix: Matrix

    @property
    def shape(self) -> tuple[int, int]:
        """(number of rows, number of variables)."""
        return (int(self.matrix.shape[0]), int(self.matrix.shape[1]))

    def estimate(self, x: Vector) -> tuple[Vector, Vector]:
        """``R x`` and ``|R| |x|``."""
        return np.asarray(self.matrix @ x), np.asarray(abs(self.matrix) @ np.abs(x))

    def take(self, index: Index) -> Matrix:
        """The rows with these numbers."""
        return self.matrix[index]

    @classmethod
    def of(cls, matrix: Any) -> MatrixRows:
        """Rows of a dense or sparse matrix of any format; small ones become dense."""
        if not sp.issparse(matrix):
            return cls(np.asarray(matrix))
        is_small = matrix.shape[0] * matrix.shape[1] <= SMALL_MATRIX
        return cls(matrix.toarray() if is_small else sp.csr_array(matrix))


@dataclass(frozen=True, eq=False)
class Restrictions:
    """``R x <= r``, with equality in some rows, and ``lower <= x <= upper``.

    Attributes
    ----------
    rows : Rows of shape (m, n)
    right : array of shape (m,)
        ``inf`` for a row that does not bind.
    is_equality : array of bool of shape (m,)
    lower, upper : arrays of shape (n,)
    """

    rows: Rows
    right: Vector
    is_equality: Mask
    lower: Vector
    upper: Vector
