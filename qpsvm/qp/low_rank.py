"""The Hessian of linear SVM duals, low rank plus diagonal: cheaper to apply than to store.

Products ``P x`` of any Hessian with the sizes of the terms of which they are sums are here, too.
What rounding can have done to a residual is relative to these sizes. They cost a product of their
own, with ``|P|``, and most residuals are judged without them: they are computed when asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
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
    all_finite,
    as_dense,
    freeze,
    is_sparse,
    require_memory,
)
from qpsvm.numerics.compensated import precise_product
from qpsvm.numerics.conversion import plain, plain_sparse
from qpsvm.numerics.precision import EPS
from qpsvm.numerics.rows import common_offset, row_squares, sum_of_rows
from qpsvm.numerics.single_precision import SinglePrecision, Stored, rows_of, stored_values
from qpsvm.qp.quadratic import Quadratic
from qpsvm.qp.sample_quadratic import SampleQuadratic, Selection, checked_diagonal


class LowRankQuadratic(SampleQuadratic):
    r"""``P = F F' + diag(d)`` with ``d >= 0``: the dual Hessian of every linear SVM.

    :math:`F = R \, [X, \sqrt{\mathrm{constant}}]` for a signed selection R: variables that look at
    the same sample share its row, and a feature that is the same for all samples is not stored.

    Parameters
    ----------
    samples : array, CSR matrix or SinglePrecision of shape (n_samples, r)
        X, or F itself without ``signs`` and ``index``. Not copied: the caller hands it over.
    diag : array of shape (n,) or None
        d, zero if None.
    signs, index : arrays of shape (n,) or None
        The rows of F: :math:`F_i = \mathrm{signs}_i X_{\mathrm{index}(i)}`; ones and the identity
        if None.
    constant : float
        At least 0: what is added to every product of two samples.

    Raises
    ------
    InvalidProgramError
        Not finite, lengths that differ, a negative d or constant.

    Examples
    --------
    >>> LowRankQuadratic(np.array([[1.0], [2.0]]), diag=np.array([0.0, 1.0])).to_dense()
    array([[1., 2.],
           [2., 5.]])
    """

    def __init__(
        self,
        samples: Stored,
        diag: Vector | None = None,
        *,
        signs: Vector | None = None,
        index: Index | None = None,
        constant: float = 0.0,
    ) -> None:
        if is_sparse(samples):
            samples = freeze(plain_sparse(samples, sp.csr_array, take_over=True))
        elif not isinstance(samples, SinglePrecision):
            samples = freeze(plain(samples))
        self.samples: Matrix | SinglePrecision = samples
        if not all_finite(stored_values(samples)):
            raise InvalidProgramError("The factor F of a LowRankQuadratic has NaN or inf entries.")
        self.constant = _checked_constant(constant)
        self.selection = Selection(self.samples.shape[0], signs, index)
        self.diag = checked_diagonal(diag, self.selection.size)

    def select(
        self,
        signs: Vector | None,
        index: Index | None = None,
        diag: Vector | None = None,
        *,
        constant: float = 0.0,
    ) -> LowRankQuadratic:
        """``R (K + constant) R' + diag(d)`` over the same samples, which are shared."""
        selection = Selection(self.samples.shape[0], signs, index)
        diag = checked_diagonal(diag, selection.size)
        return self.own(self.samples, selection, diag, _checked_constant(constant + self.constant))

    def combine(self, rows: Sparse, diag: Vector | None = None) -> LowRankQuadratic:
        """``R K R' + diag(d)`` for any CSR matrix R with one column per sample."""
        return LowRankQuadratic(rows @ self._features, diag)

    @property
    def rank(self) -> int:
        """Number of columns r of F."""
        return int(self.samples.shape[1]) + (self.constant > 0.0)

    @property
    def _features(self) -> Matrix:
        """The samples, with the constant feature if there is one: a copy then."""
        X = self.samples if sp.issparse(self.samples) else np.asarray(self.samples)
        if not self.constant:
            return X
        column = np.full((X.shape[0], 1), np.sqrt(self.constant))
        return sp.csr_array(sp.hstack([X, column])) if sp.issparse(X) else np.hstack([X, column])

    @cached_property
    def _offset(self) -> Vector | None:
        return common_offset(self.samples)

    @cached_property
    def factor(self) -> Matrix:
        """F, shape (n, r); computed once where it is not the samples themselves."""
        return freeze(self.selection.of_rows(self._features))

    @classmethod
    def own(cls, samples: Stored, selection: Selection, diag: Vector, constant: float) -> Self:
        """Wrap parts of another Hessian without checking or copying them."""
        instance = cls.__new__(cls)
        instance.samples, instance.selection = samples, selection
        instance.diag, instance.constant = diag, constant
        return instance

    def of_samples(self, samples: Index | None, selection: Selection, diag: Vector) -> Self:
        X: Stored = self.samples if samples is None else rows_of(self.samples, samples)
        return self.own(X, selection, diag, self.constant)

    def parts(self) -> tuple[object, ...]:
        return (self.factor, self.diag)  # however the rows are shared

    def matvec(self, x: Vector) -> Vector:
        X = self.samples
        return self.from_product(
            x, np.asarray(X @ sum_of_rows(X, self.selection.gather(x), self._offset))
        )

    def product_with_error(self, x: Vector) -> tuple[Vector, Vector]:
        F = self.factor
        if sp.issparse(F):
            return super().product_with_error(x)
        w, w_lost, w_error = precise_product(F.T, x)
        first, second = precise_product(F, w), precise_product(F, w_lost)
        own = self.diag * x
        value = (first[0] + (first[1] + (second[0] + second[1]))) + own
        error = first[2] + second[2] + np.abs(F) @ w_error
        return value, error + EPS * (np.abs(value) + np.abs(own))

    def weights(self, x: Vector) -> Vector:
        """``F'x``, shape (r,)."""
        beta = self.selection.gather(x)
        w = sum_of_rows(self.samples, beta, self._offset)
        return np.append(w, np.sqrt(self.constant) * np.sum(beta)) if self.constant else w

    def term_sizes(self, x: Vector) -> Vector:
        sums = self.selection.absolute().gather(np.abs(x))
        return self.sizes_from_factor(x, self.factor_sizes(x, abs(self.samples).T @ sums))

    def factor_sizes(self, x: Vector, column_sizes: Vector) -> Vector:
        """``|F|'|x|``, shape (r,), from ``|X|'|R|'|x|``."""
        if not self.constant:
            return np.asarray(column_sizes)
        sums = self.selection.absolute().gather(np.abs(x))
        return np.append(column_sizes, np.sqrt(self.constant) * np.sum(sums))

    def sizes_from_factor(self, x: Vector, factor_sizes: Vector) -> Vector:
        """``|F| |F|'|x| + d |x|``, shape (n,), from ``|F|'|x|``."""
        columns = self.samples.shape[1]
        product = np.asarray(abs(self.samples) @ factor_sizes[:columns])
        if self.constant:
            product = product + np.sqrt(self.constant) * factor_sizes[columns]
        return self.selection.absolute().spread(product) + self.diag * np.abs(x)

    def gram_block(self, rows: Index, columns: Index) -> Dense:
        product = self.samples[rows] @ self.samples[columns].T
        return as_dense(product)

    def gram_diagonal(self) -> Vector:
        return self._row_squares

    @cached_property
    def _row_squares(self) -> Vector:
        return freeze(row_squares(self.samples))

    def null_violation(self, x: Vector) -> float:
        # x'Px = |F'x|^2 + x'Dx: both must vanish, and F'x squares nothing
        F = self.factor
        terms = abs(F).T @ np.abs(x)
        used = terms > 0.0
        ratio = float(np.max(np.abs(F.T @ x)[used] / terms[used], initial=0.0))
        return max(ratio, float(np.any((self.diag > 0.0) & (x != 0.0))))

    @cached_property
    def _dense(self) -> Dense:
        product = self.factor @ self.factor.T
        dense = as_dense(product)
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


def _checked_constant(constant: float) -> float:
    if not 0.0 <= constant < np.inf:
        raise InvalidProgramError(f"constant is {constant}; it must be finite and at least 0.")
    return float(constant)


# --- products with the sizes of their terms -----------------------------------------------------


@dataclass(frozen=True, eq=False)
class HessianProduct:
    """The product ``P x`` at one point.

    Attributes
    ----------
    P : Quadratic
    x : array of shape (n,)
    value : array of shape (n,)
        ``P x``.
    """

    P: Quadratic
    x: Vector
    value: Vector

    @classmethod
    def of(cls, P: Quadratic, x: Vector) -> HessianProduct:
        """Compute the product."""
        return cls(P, x, P.matvec(x))

    @cached_property
    def sizes(self) -> Vector:
        """``|P| |x|`` or an upper bound on it, shape (n,)."""
        return self.P.term_sizes(self.x)

    @cached_property
    def size(self) -> float:
        """``|x|'|P| |x|`` or an upper bound on it: the absolute terms of ``x'Px``."""
        return float(np.abs(self.x) @ self.sizes)


@dataclass(frozen=True, eq=False)
class LowRankProduct(HessianProduct):
    """The product ``F (F'x) + d x``, where the sizes of the terms of ``F'x`` are known.

    Attributes
    ----------
    P : LowRankQuadratic
    factor_sizes : array of shape (r,)
        ``|F|'|x|``.
    """

    P: LowRankQuadratic
    factor_sizes: Vector

    @cached_property
    def sizes(self) -> Vector:
        """``|F| |F|'|x| + d |x|``, shape (n,)."""
        return self.P.sizes_from_factor(self.x, self.factor_sizes)

    @cached_property
    def size(self) -> float:
        """``| |F|'|x| |^2 + d'x^2``, which needs no product with F."""
        return float(self.factor_sizes @ self.factor_sizes + (self.P.diag * self.x) @ self.x)
