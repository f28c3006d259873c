"""Kernel functions k(x, z), evaluated as Gram blocks.

===============  ===================================  ==============================
kernel           k(x, z)                              positive semidefinite
===============  ===================================  ==============================
``Linear``       ``x'z``                              always
``Polynomial``   ``(gamma x'z + coef0)^degree``       for integer degree, coef0 >= 0
``RBF``          ``exp(-gamma |x - z|^2)``            always
``Sigmoid``      ``tanh(gamma x'z + coef0)``          not in general
``Precomputed``  the numbers handed in                checked
``Custom``       any callable                         checked
===============  ===================================  ==============================

Source: Schoelkopf and Smola, *Learning with Kernels*, section 2.3.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, Self, TypeAlias

import numpy as np
import scipy.sparse as sp

from qpsvm.device.product_form import ProductForm
from qpsvm.exceptions import InvalidParameterError
from qpsvm.kernels.base import Kernel
from qpsvm.kernels.exponents import Exponents, ExponentsBeside, Frame
from qpsvm.kernels.products import factors, variance, write_inner_products
from qpsvm.kernels.rows import ColumnsOfProducts, RowsOfProducts, densified
from qpsvm.kernels.settings import EVALUATION
from qpsvm.kernels.whole import kernel_values
from qpsvm.numerics.arguments import is_finite_number
from qpsvm.numerics.arrays import Dense, Index, Vector, is_sparse, row_blocks
from qpsvm.numerics.calls import explains_constructor
from qpsvm.numerics.single_precision import Stored
from qpsvm.qp.sample_gram import GramFunction, Rows

Gamma: TypeAlias = float | Literal["scale", "auto"]
"""``"scale"``: 1 / (n_features * variance of X); ``"auto"``: 1 / n_features; or a number > 0."""


class _OfNumbers(Kernel):
    """A kernel of this module: of rows of numbers, evaluated by NumPy alone."""

    @property
    def runs_in_threads(self) -> bool:
        return type(self).__call__.__module__ == __name__  # a subclass may have its own values

    def __call__(self, X: Stored, Z: Stored) -> Dense:
        right = Z if hasattr(Z, "shape") else np.asarray(Z, dtype=np.float64)  # lists
        if X is Z:
            return self._values(right, right)
        return self._values(X if hasattr(X, "shape") else np.asarray(X, np.float64), right)

    def write_square(self, X: Stored, out: Dense) -> None:
        if self.runs_in_threads:
            self._values(X, X, out)
        else:
            super().write_square(X, out)

    def product_form(self) -> ProductForm | None:
        return self._form() if self.runs_in_threads else None

    @abstractmethod
    def _form(self) -> ProductForm:
        """The kernel as a function of inner products or distances."""

    def beside(self, Z: Stored) -> Callable[[Stored], Dense]:
        if not self.runs_in_threads or is_sparse(Z):
            return super().beside(Z)
        return ColumnsOfProducts(np.asarray(Z, dtype=np.float64), self._finish)

    def _finish(self, rows: Index | slice, columns: slice, block: Dense) -> None:
        """Replace a block of inner products by kernel values, in place."""

    @abstractmethod
    def _values(self, X: Stored, Z: Stored, out: Dense | None = None) -> Dense:
        """Evaluate ``k(x_i, z_j)``, into ``out`` if it is given."""


@explains_constructor
@dataclass(frozen=True)
class Linear(_OfNumbers):
    """``k(x, z) = x'z``.

    Examples
    --------
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    name = "linear"

    def _values(self, X: Stored, Z: Stored, out: Dense | None = None) -> Dense:
        if sp.issparse(X) or sp.issparse(Z):  # one product of them is faster than pieces
            out = np.empty((X.shape[0], Z.shape[0])) if out is None else out
            write_inner_products(X, Z, out)
            return out
        return kernel_values(*factors(X, Z), out=out)

    def _form(self) -> ProductForm:
        return ProductForm("product")

    @property
    def is_positive_semidefinite(self) -> bool:
        return True


@dataclass(frozen=True)
class _WithGamma(_OfNumbers):
    gamma: Gamma = "scale"

    def __post_init__(self) -> None:
        gamma = self.gamma
        if isinstance(gamma, str):
            if gamma not in ("scale", "auto"):
                raise InvalidParameterError(
                    f"gamma is {gamma!r}; pass 'scale', 'auto' or a number above 0."
                )
        elif not is_finite_number(gamma) or not gamma > 0:
            raise InvalidParameterError(f"gamma is {gamma!r}; it must be a finite number above 0.")

    def resolve(self, X: Stored) -> Self:
        if not isinstance(self.gamma, str):
            return self
        features = X.shape[1]
        spread = 1.0
        if self.gamma == "scale":
            # as scikit-learn defines it: the variance over all entries, 1 for constant data
            spread = variance(X) or 1.0
        return replace(self, gamma=1.0 / (features * spread))

    def _gamma(self) -> float:
        if isinstance(self.gamma, str):
            raise InvalidParameterError(
                f"gamma={self.gamma!r} depends on the training data; call kernel.resolve(X) first."
            )
        return float(self.gamma)


@explains_constructor
@dataclass(frozen=True)
class RBF(_WithGamma):
    r"""``k(x, z) = exp(-gamma |x - z|^2)``.

    Parameters
    ----------
    gamma : float, "scale" or "auto"
        Inverse squared width, above 0; "scale" is :math:`1 / (d \operatorname{var} X)`, "auto"
        :math:`1 / d`.

    Raises
    ------
    InvalidParameterError
        Unless gamma is one of these.

    Examples
    --------
    >>> RBF(gamma=0.5)([[0.0]], [[0.0], [2.0]]).round(4)
    array([[1.    , 0.1353]])
    """

    name = "rbf"

    def _values(
        self, X: Stored, Z: Stored, out: Dense | None = None, frame: Frame | None = None
    ) -> Dense:
        frame = frame or Frame.of(Z)
        if frame.centre is not None and is_sparse(X) and X is not Z:
            pieces = row_blocks(X.shape[0], X.shape[1], EVALUATION.largest_copy_bytes)
            if len(pieces) > 1:  # a dense copy of all would not fit
                return np.vstack([self._values(X[rows], Z, None, frame) for rows in pieces])
        parts = Exponents.of(X, Z, self._gamma(), frame)
        gram = kernel_values(parts.U, parts.V, parts.write_values, out)
        if X is Z:
            np.fill_diagonal(gram, 1.0)
        return gram

    def _form(self) -> ProductForm:
        return ProductForm("exponential", self._gamma())

    def diagonal(self, X: Stored) -> Vector:
        if not self.runs_in_threads:  # a subclass with values of its own
            return super().diagonal(X)
        return np.ones(X.shape[0])

    def within(self, X: Stored) -> GramFunction:
        if not self.runs_in_threads:
            return super().within(X)
        frame = Frame.of(X)
        return lambda S, Z: self._values(S, Z, None, frame)

    def beside(self, Z: Stored) -> Callable[[Stored], Dense]:
        if not self.runs_in_threads or is_sparse(Z):
            return super().beside(Z)
        return ExponentsBeside(Z, self._gamma())

    def exponents(self, X: Stored) -> Dense:
        """``-gamma |x_i - x_j|^2``, the logarithm of the Gram matrix of X, shape (n, n)."""
        parts = Exponents.of(X, X, self._gamma())
        exponents = kernel_values(parts.U, parts.V, parts.write)
        np.fill_diagonal(exponents, 0.0)
        return exponents

    def against(self, X: Stored) -> Rows:
        if not self.runs_in_threads:  # a subclass with values of its own
            return super().against(X)
        parts = Exponents.of(X, X, self._gamma())
        return RowsOfProducts(parts.U, parts.write_values)

    @property
    def is_nonnegative(self) -> bool:
        return True

    @property
    def is_positive_semidefinite(self) -> bool:
        return True


@explains_constructor
@dataclass(frozen=True)
class Polynomial(_WithGamma):
    r"""``k(x, z) = (gamma x'z + coef0)^degree``.

    Parameters
    ----------
    gamma : float, "scale" or "auto"
        Factor of the product, above 0; "scale" is :math:`1 / (d \operatorname{var} X)`, "auto"
        :math:`1 / d`.
    degree : int, at least 1
        Exponent.
    coef0 : float
        What is added to the product.

    Raises
    ------
    InvalidParameterError
        A parameter outside its domain.

    Examples
    --------
    >>> Polynomial(gamma=1.0, degree=2, coef0=1.0)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    """

    name = "polynomial"
    degree: int = 3
    coef0: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_finite_number(self.degree) or self.degree < 1 or self.degree != int(self.degree):
            raise InvalidParameterError(
                f"degree is {self.degree!r}; a polynomial kernel needs a whole number from 1 on."
            )
        _require_number(self.coef0, "coef0")

    def _values(self, X: Stored, Z: Stored, out: Dense | None = None) -> Dense:
        return kernel_values(*factors(X, Z), self._finish, out)

    def _form(self) -> ProductForm:
        return ProductForm("power", self._gamma(), float(self.coef0), int(self.degree))

    def against(self, X: Stored) -> Rows:
        if not self.runs_in_threads:
            return super().against(X)
        X = densified(X)
        U = X if sp.issparse(X) else np.asarray(X, dtype=np.float64)

        return RowsOfProducts(U, self._finish)

    def _finish(self, rows: Index | slice, columns: slice, block: Dense) -> None:
        """Replace a block of inner products by values of the polynomial kernel.

        Powers are taken by repeated squaring.
        """
        del rows, columns
        block *= self._gamma()
        block += self.coef0
        base, degree = block.copy(), int(self.degree) - 1
        while degree:
            if degree % 2:
                block *= base
            degree //= 2
            if degree:
                base *= base

    @property
    def is_positive_semidefinite(self) -> bool:
        return self.coef0 >= 0  # sums and products of kernels are kernels


@explains_constructor
@dataclass(frozen=True)
class Sigmoid(_WithGamma):
    r"""``k(x, z) = tanh(gamma x'z + coef0)``: not positive semidefinite in general.

    Parameters
    ----------
    gamma : float, "scale" or "auto"
        Factor of the product, above 0; "scale" is :math:`1 / (d \operatorname{var} X)`, "auto"
        :math:`1 / d`.
    coef0 : float
        What is added to the product.

    Raises
    ------
    InvalidParameterError
        A parameter outside its domain.

    Examples
    --------
    >>> Sigmoid(gamma=1.0, coef0=-1.0)([[1.0]], [[1.0], [2.0]]).round(4)
    array([[0.    , 0.7616]])
    """

    name = "sigmoid"
    coef0: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_number(self.coef0, "coef0")

    def _values(self, X: Stored, Z: Stored, out: Dense | None = None) -> Dense:
        return kernel_values(*factors(X, Z), self._finish, out)

    def _form(self) -> ProductForm:
        return ProductForm("tanh", self._gamma(), float(self.coef0))

    def _finish(self, rows: Index | slice, columns: slice, block: Dense) -> None:
        """Replace a block of inner products by values of the sigmoid kernel."""
        del rows, columns
        block *= self._gamma()
        block += self.coef0
        np.tanh(block, out=block)


def _require_number(value: object, name: str) -> None:
    if not is_finite_number(value):
        raise InvalidParameterError(f"{name} is {value!r}; it must be a finite number.")
