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
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, TypeAlias

import numpy as np
import scipy.sparse as sp

from qpsvm.exceptions import InvalidParameterError, KernelError
from qpsvm.kernels.base import Kernel
from qpsvm.kernels.products import (
    FAR,
    common_centre,
    inner_products,
    restore_near,
    scaled,
    variance,
)
from qpsvm.kernels.rows import CACHED, RowsOfProducts, densified
from qpsvm.numerics.arrays import Dense, Index, row_blocks
from qpsvm.numerics.rows import row_squares
from qpsvm.qp.sample_gram import Rows

Gamma: TypeAlias = float | Literal["scale", "auto"]
"""``"scale"``: 1 / (n_features * variance of X); ``"auto"``: 1 / n_features; or a number > 0."""


@dataclass(frozen=True)
class Linear(Kernel):
    """``k(x, z) = x'z``.

    Examples
    --------
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    name = "linear"

    def __call__(self, X: Any, Z: Any) -> Dense:
        return inner_products(X, Z)

    @property
    def is_positive_semidefinite(self) -> bool:
        return True


@dataclass(frozen=True)
class _WithGamma(Kernel):
    gamma: Gamma = "scale"

    def __post_init__(self) -> None:
        gamma = self.gamma
        if isinstance(gamma, str):
            if gamma not in ("scale", "auto"):
                raise InvalidParameterError(
                    f"gamma is {gamma!r}; pass 'scale', 'auto' or a number above 0."
                )
        elif not _is_number(gamma) or not gamma > 0:
            raise InvalidParameterError(f"gamma is {gamma!r}; it must be a finite number above 0.")

    def resolve(self, X: Any) -> Self:
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


@dataclass(frozen=True)
class RBF(_WithGamma):
    """``k(x, z) = exp(-gamma |x - z|^2)``.

    Parameters
    ----------
    gamma : float, "scale" or "auto"

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

    def __call__(self, X: Any, Z: Any) -> Dense:
        # With u = sqrt(2 gamma) (x - c) the exponent is u'v - |u|^2/2 - |v|^2/2: one product of a
        # matrix with its own transpose (half the work for BLAS), then one pass that stays in cache.
        # The centre c changes nothing but the rounding: a common offset would drown the distances.
        same = X is Z
        scale = math.sqrt(2.0 * self._gamma())
        centre = common_centre(X, Z)
        U = scaled(X, scale, centre)
        V = U if same else scaled(Z, scale, centre)
        half_u = 0.5 * row_squares(U)
        half_v = half_u if same else 0.5 * row_squares(V)
        gram = inner_products(U, V)
        blocks = row_blocks(gram.shape[0], gram.shape[1], CACHED)
        halves = np.empty((blocks[0].stop if blocks else 0, gram.shape[1]))
        for rows in blocks:
            block = gram[rows]
            # (a_i + a_j) first: addition commutes, so the matrix stays symmetric to the last bit
            block -= np.add(half_u[rows, None], half_v, out=halves[: len(block)])
            np.minimum(block, 0.0, out=block)
            restore_near(block, X[rows], Z, half_u[rows], half_v, self._gamma())
            np.exp(block, out=block)
        if same:
            np.fill_diagonal(gram, 1.0)
        return gram

    def against(self, X: Any) -> Rows:
        if type(self).__call__ is not RBF.__call__:  # a subclass with values of its own
            return super().against(X)
        X, gamma = densified(X), self._gamma()
        U = scaled(X, math.sqrt(2.0 * gamma), common_centre(X, X))
        half = 0.5 * row_squares(U)
        is_near = 2.0 * float(np.max(half, initial=0.0)) <= FAR

        def finish(rows: Index, block: Dense) -> None:
            block -= half
            block -= half[rows, None]
            np.minimum(block, 0.0, out=block)
            if not is_near:
                restore_near(block, X[rows], X, half[rows], half, gamma)
            np.exp(block, out=block)

        return RowsOfProducts(U, finish)

    @property
    def is_nonnegative(self) -> bool:
        return True

    @property
    def is_positive_semidefinite(self) -> bool:
        return True


@dataclass(frozen=True)
class Polynomial(_WithGamma):
    """``k(x, z) = (gamma x'z + coef0)^degree``.

    Parameters
    ----------
    gamma : float, "scale" or "auto"
    degree : int, at least 1
    coef0 : float

    Raises
    ------
    InvalidParameterError
        A parameter outside its domain.
    """

    name = "polynomial"
    degree: int = 3
    coef0: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _is_number(self.degree) or self.degree < 1 or self.degree != int(self.degree):
            raise InvalidParameterError(
                f"degree is {self.degree!r}; a polynomial kernel needs a whole number from 1 on."
            )
        _require_number(self.coef0, "coef0")

    def __call__(self, X: Any, Z: Any) -> Dense:
        gram = inner_products(X, Z)
        for rows in row_blocks(gram.shape[0], gram.shape[1], CACHED):
            self._finish(gram[rows])
        return gram

    def against(self, X: Any) -> Rows:
        if type(self).__call__ is not Polynomial.__call__:
            return super().against(X)
        X = densified(X)
        U = X if sp.issparse(X) else np.asarray(X, dtype=np.float64)

        def finish(rows: Index, block: Dense) -> None:
            del rows
            self._finish(block)

        return RowsOfProducts(U, finish)

    def _finish(self, block: Dense) -> None:
        """Turn inner products into kernel values in place, with powers by repeated squaring."""
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


@dataclass(frozen=True)
class Sigmoid(_WithGamma):
    """``k(x, z) = tanh(gamma x'z + coef0)``: not positive semidefinite in general.

    Parameters
    ----------
    gamma : float, "scale" or "auto"
    coef0 : float

    Raises
    ------
    InvalidParameterError
        A parameter outside its domain.
    """

    name = "sigmoid"
    coef0: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_number(self.coef0, "coef0")

    def __call__(self, X: Any, Z: Any) -> Dense:
        gram = inner_products(X, Z)
        gram *= self._gamma()
        gram += self.coef0
        return np.tanh(gram, out=gram)


@dataclass(frozen=True)
class Precomputed(Kernel):
    """A given Gram matrix in place of X: (n, n) for training, (m, n) for prediction."""

    name = "precomputed"

    def __call__(self, X: Any, Z: Any) -> Dense:
        if X.shape[1] != Z.shape[0]:
            raise KernelError(
                f"With kernel='precomputed', pass one column per training sample: got {X.shape[1]} "
                f"columns for {Z.shape[0]} training samples."
            )
        return np.array(X, dtype=np.float64)


@dataclass(frozen=True)
class Custom(Kernel):
    """A user's function as a kernel: ``function(X, Z)`` returns a block of shape (len(X), len(Z)).

    Parameters
    ----------
    function : callable
        X and Z are arrays or CSR arrays of float64 with a sample in each row. Where the samples are
        no numbers (text, sequences of different lengths, graphs) they are arrays of shape (n,) with
        a sample in each entry, or of shape (n, d) if the samples came as a table. They are
        read-only.

    Raises
    ------
    KernelError
        When called: the function returned another shape, or NaN.

    Notes
    -----
    Whether a matrix of such a kernel is positive semidefinite is checked, for which all of it is
    evaluated. Who knows that it is derives a class from ``Kernel`` that says so, with
    ``takes_objects = True`` for samples that are no numbers.

    Examples
    --------
    >>> import qpsvm
    >>> def common_letters(X, Z):
    ...     return [[len(set(x) & set(z)) for z in Z] for x in X]
    >>> words, y = ["ant", "tan", "bee", "web"], ["a", "a", "b", "b"]
    >>> problem = qpsvm.SoftMargin(C=10.0).dual(words, y, kernel=Custom(common_letters))
    >>> qpsvm.solve(problem).predict(["natant", "ebb"])
    array(['a', 'b'], dtype='<U1')
    """

    name = "custom"
    takes_objects = True
    function: Callable[[Any, Any], Any]

    def __call__(self, X: Any, Z: Any) -> Dense:
        expected = (X.shape[0], Z.shape[0])
        left = X if sp.issparse(X) else np.asarray(X)
        right = left if Z is X else Z if sp.issparse(Z) else np.asarray(Z)
        result = self.function(left, right)
        if np.iscomplexobj(result) or np.ma.is_masked(result):
            what = "complex numbers" if np.iscomplexobj(result) else "masked entries"
            raise KernelError(f"The kernel function must return real numbers, not {what}.")
        try:
            gram = np.array(
                result.toarray() if sp.issparse(result) else result, dtype=np.float64
            )  # a copy: the caller's function may keep its own
        except (TypeError, ValueError) as error:
            raise KernelError(f"The kernel function must return real numbers ({error}).") from error
        if gram.shape != expected:
            raise KernelError(
                f"The kernel function returned shape {gram.shape} for {expected[0]} and "
                f"{expected[1]} samples; it must return one number per pair, {expected}."
            )
        if not np.isfinite(gram).all():
            bad = np.argwhere(~np.isfinite(gram))[0]
            raise KernelError(
                f"The kernel function returned {gram[tuple(bad)]} for the pair "
                f"({bad[0]}, {bad[1]}); every value must be finite."
            )
        return gram

    def __str__(self) -> str:
        return f"custom({getattr(self.function, '__name__', type(self.function).__name__)})"


NAMES: dict[str, type[Kernel]] = {
    "linear": Linear,
    "polynomial": Polynomial,
    "poly": Polynomial,
    "rbf": RBF,
    "sigmoid": Sigmoid,
    "precomputed": Precomputed,
}


def as_kernel(kernel: Any) -> Kernel:
    """Convert a Kernel, the name of one, or a callable to a Kernel.

    Raises
    ------
    InvalidParameterError
        Anything else.
    """
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str) and kernel in NAMES:
        return NAMES[kernel]()
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        raise InvalidParameterError(
            f"kernel is the class {kernel.__name__}; pass an instance: {kernel.__name__}()."
        )
    if callable(kernel):
        return Custom(kernel)
    raise InvalidParameterError(
        f"kernel is {kernel!r}; pass one of {', '.join(sorted(NAMES))}, a qpsvm.kernels object, "
        "or a callable (X, Z) -> Gram matrix."
    )


# --- parameters ----------------------------------------------------------------------------------


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    largest: Any = sys.float_info.max
    return bool(-largest <= value <= largest)  # false for NaN, and for integers beyond it


def _require_number(value: Any, name: str) -> None:
    if not _is_number(value):
        raise InvalidParameterError(f"{name} is {value!r}; it must be a finite number.")
