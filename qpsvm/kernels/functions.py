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

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
import scipy.sparse as sp

from qpsvm.device.base import ProductForm
from qpsvm.exceptions import InvalidDataError, InvalidParameterError
from qpsvm.kernels.products import (
    EVALUATION,
    Exponents,
    Frame,
    columns_of_products,
    densified,
    doubles,
    exponentials,
    factors,
    kernel_values,
    rbf_beside,
    variance,
    write_inner_products,
    write_rows,
)
from qpsvm.numerics.arguments import explains_constructor, is_finite_number
from qpsvm.numerics.arrays import Dense, Index, Vector, is_sparse, row_blocks
from qpsvm.numerics.single_precision import Stored
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.sample_gram import GramFunction, Rows, RowsByCall, SampleGram


@dataclass(frozen=True)
class Kernel(ABC):
    """A kernel function; ``kernel(X, Z)`` evaluates a Gram block of shape (len(X), len(Z))."""

    name: ClassVar[str]
    takes_objects: ClassVar[bool] = False
    """Whether samples may be something else than rows of numbers: text, sequences, graphs. X and Z
    are then arrays of shape (n,) with an object in each entry, or tables of shape (n, d)."""

    @abstractmethod
    def __call__(self, X: Stored, Z: Stored) -> Dense:
        """Evaluate the block ``k(x_i, z_j)``.

        Parameters
        ----------
        X, Z : arrays or CSR matrices of shape (n, d) and (m, d)
        """

    def write_square(self, X: Stored, out: Dense) -> None:
        """Write the Gram matrix ``self(X, X)`` into an array of shape (n, n)."""
        out[:] = self(X, X)

    def against(self, X: Stored) -> Rows:
        """Return an evaluator of rows of the Gram matrix of X, with the work they share done once.

        They are those of ``self(X, X)`` up to rounding.
        """
        return RowsByCall(self, X)

    def beside(self, Z: Stored) -> Callable[[Stored], Dense]:
        """Prepare the kernel for fixed samples Z: return the function ``X -> k(X, Z)``.

        Each row of its values has the same bits whatever the other rows are, for kernels of this
        package and dense samples.
        """
        return lambda X: self(X, Z)

    def within(self, X: Stored) -> GramFunction:
        """Return the kernel between subsets of samples X, all rounded as in ``self(X, X)``."""
        del X
        return self

    def product_form(self) -> ProductForm | None:
        """The kernel as a function of products that a GPU evaluates; None where it is another."""
        return None

    def diagonal(self, X: Stored) -> Vector:
        """``k(x_i, x_i)`` for every row of X, shape (n,)."""
        blocks = [X[rows] for rows in row_blocks(X.shape[0], 256, 8 * 256 * 256)]
        return np.concatenate([np.diagonal(self(block, block)) for block in blocks])

    def resolve(self, X: Stored) -> Self:
        """The same kernel with all parameters as numbers (``gamma="scale"`` depends on X)."""
        del X
        return self

    @property
    def is_positive_semidefinite(self) -> bool:
        """Return whether every Gram matrix of this kernel is positive semidefinite."""
        return False

    @property
    def is_nonnegative(self) -> bool:
        """Return whether all values of this kernel are non-negative."""
        return False

    @property
    def runs_in_threads(self) -> bool:
        """Return whether blocks may be evaluated in several threads at a time."""
        return False

    def parameters(self) -> dict[str, object]:
        """The kernel's parameters by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __str__(self) -> str:
        inside = ", ".join(f"{key}={_short(value)}" for key, value in self.parameters().items())
        return f"{self.name}({inside})" if inside else self.name


def _short(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


Gamma: TypeAlias = float | Literal["scale", "auto"]
"""``"scale"``: 1 / (n_features * variance of X); ``"auto"``: 1 / n_features; or a number > 0."""


class _OfNumbers(Kernel):
    """A kernel of this module: of rows of numbers, evaluated by NumPy alone.

    A subclass with values of its own has none of the ways to evaluate many of them at once.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__call__ is not _OfNumbers.__call__:
            for name in _SHORTCUTS:
                owner = next(kind for kind in cls.__mro__ if name in vars(kind))
                if owner.__module__ == __name__:
                    setattr(cls, name, getattr(Kernel, name))

    @property
    def runs_in_threads(self) -> bool:
        return True

    def __call__(self, X: Stored, Z: Stored) -> Dense:
        right = Z if hasattr(Z, "shape") else np.asarray(Z, dtype=np.float64)  # lists
        if X is Z:
            return self._values(right, right)
        return self._values(X if hasattr(X, "shape") else np.asarray(X, np.float64), right)

    def write_square(self, X: Stored, out: Dense) -> None:
        self._values(X, X, out)

    def beside(self, Z: Stored) -> Callable[[Stored], Dense]:
        if is_sparse(Z):
            return super().beside(Z)
        columns = np.ascontiguousarray(np.asarray(Z, dtype=np.float64).T)
        return partial(columns_of_products, columns, finish=self._finish)

    def _finish(self, rows: Index | slice, columns: slice, block: Dense) -> None:
        """Replace a block of inner products by kernel values, in place."""

    def _values(self, X: Stored, Z: Stored, out: Dense | None = None) -> Dense:
        """Evaluate ``k(x_i, z_j)``, into ``out`` if it is given."""
        return kernel_values(*factors(X, Z), self._finish, out)


_SHORTCUTS = ("against", "beside", "diagonal", "product_form", "runs_in_threads", "within",
              "write_square")  # fmt: skip


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
            write_inner_products(*factors(X, Z), out)
            return out
        return kernel_values(*factors(X, Z), out=out)

    def product_form(self) -> ProductForm:
        return ProductForm("product")

    @property
    def is_positive_semidefinite(self) -> bool:
        return True


def gamma_scale(X: Stored, weights: Vector | None = None) -> float:
    """The number that ``gamma="scale"`` stands for: ``1 / (d v)`` for the variance v of X.

    v is the variance of all entries, as scikit-learn defines it; 1 for constant data.

    Parameters
    ----------
    X : array or CSR array of shape (n, d)
    weights : array of shape (n,), optional
        A weight of 2 counts as a repeated row.

    Raises
    ------
    InvalidDataError
        The variance is too large for float64.
    """
    spread = variance(X, weights) or 1.0
    if not math.isfinite(spread):
        raise InvalidDataError(
            "gamma='scale' is one over the variance of X, and that is too large for float64; "
            "scale the features, for instance with sklearn.preprocessing.MaxAbsScaler."
        )
    return 1.0 / (int(X.shape[1]) * spread)


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
        own = gamma_scale(X) if self.gamma == "scale" else 1.0 / X.shape[1]
        return replace(self, gamma=own)

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

    def product_form(self) -> ProductForm:
        return ProductForm("exponential", self._gamma())

    def diagonal(self, X: Stored) -> Vector:
        return np.ones(X.shape[0])

    def within(self, X: Stored) -> GramFunction:
        frame = Frame.of(X)
        return lambda S, Z: self._values(S, Z, None, frame)

    def beside(self, Z: Stored) -> Callable[[Stored], Dense]:
        if is_sparse(Z):
            return super().beside(Z)
        return rbf_beside(Z, self._gamma())

    def exponents(self, X: Stored) -> Dense:
        """``-gamma |x_i - x_j|^2``, the logarithm of the Gram matrix of X, shape (n, n)."""
        parts = Exponents.of(X, X, self._gamma())
        exponents = kernel_values(parts.U, parts.V, parts.write)
        np.fill_diagonal(exponents, 0.0)
        return exponents

    def against(self, X: Stored) -> Rows:
        parts = Exponents.of(X, X, self._gamma())
        return partial(write_rows, parts.U, parts.write_values)

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

    def product_form(self) -> ProductForm:
        return ProductForm("power", self._gamma(), float(self.coef0), int(self.degree))

    def against(self, X: Stored) -> Rows:
        return partial(write_rows, doubles(densified(X)), self._finish)

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

    def product_form(self) -> ProductForm:
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


# --- several widths ------------------------------------------------------------------------------


class SharedDistances:
    """Squared distances of samples, ``K_gamma = exp(-gamma D)`` for every gamma up to a largest.

    They are kept as exponents of the largest gamma: those of a smaller one are a fraction of them,
    and so are their errors. Where norms are so large that exponents need differences of samples,
    and which of them depends on gamma, nothing is shared.

    Parameters
    ----------
    X : array, CSR matrix or SinglePrecision of shape (n, d)
    largest_gamma : float

    Examples
    --------
    >>> shared = SharedDistances(np.array([[0.0], [2.0]]), 1.0)
    >>> shared.gram(0.5).to_dense().round(4)
    array([[1.    , 0.1353],
           [0.1353, 1.    ]])
    """

    def __init__(self, X: Stored, largest_gamma: float) -> None:
        self.X, self.largest_gamma = X, largest_gamma
        self._samples = X if hasattr(X, "indptr") else np.asarray(X)
        self.exponents: Dense | None = None
        if Exponents.of(self._samples, self._samples, largest_gamma).are_exact:
            self.exponents = RBF(largest_gamma).exponents(self._samples)

    def gram(self, gamma: float) -> KernelQuadratic:
        """The kernel matrix of one width, evaluated."""
        if self.exponents is None:
            K = RBF(gamma)(self._samples, self._samples)
        else:
            K = self.exponents.copy()
            exponentials(K, gamma / self.largest_gamma)
        samples = SampleGram.of_values(RBF(gamma), self.X, K, positive_semidefinite=True)
        return KernelQuadratic(samples)
