"""Selections ``R`` in the Hessians of SVM duals, ``P = R K R' + diag(d)``.

They belong to *conditions on samples*: condition i looks at sample ``c(i)`` with a factor ``s_i``
(a label, or the side of a tube). With the signed selection ``R = S I[c]`` and the Gram matrix K of
the samples, every SVM dual has this Hessian, and several conditions share one sample.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from qpsvm.exceptions import InvalidProgramError
from qpsvm.numerics.arrays import Index, Matrix, Vector, as_vector


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

    def gather(self, x: Vector, out: Vector | None = None) -> Vector:
        """``R'x``, one entry per sample; ``out``, shape (n,), is room for it."""
        signed = np.multiply(self.signs, x, out=out)
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
