"""Kernels given by their values: a stored matrix, or any callable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from qpsvm.exceptions import InvalidParameterError, KernelError
from qpsvm.kernels.base import Kernel
from qpsvm.numerics.arguments import MatrixLike
from qpsvm.numerics.arrays import Dense, is_sparse
from qpsvm.numerics.calls import explains_constructor
from qpsvm.numerics.integers import first_rounded
from qpsvm.numerics.single_precision import Stored

# which kinds of samples a function takes is its own affair
KernelFunction: TypeAlias = Callable[[Any, Any], MatrixLike]
"""A function ``(X, Z) -> Gram matrix`` of shape (len(X), len(Z))."""


@explains_constructor
@dataclass(frozen=True)
class Precomputed(Kernel):
    """A given Gram matrix in place of X: (n, n) for training, (m, n) for prediction.

    Examples
    --------
    >>> import qpsvm
    >>> K = [[1.0, 0.2], [0.2, 1.0]]
    >>> solution = qpsvm.solve(qpsvm.SoftMargin().dual(K, [-1, 1], kernel="precomputed"))
    >>> solution.predict([[0.9, 0.1]])
    array([-1])
    """

    name = "precomputed"

    def __call__(self, X: Stored, Z: Stored) -> Dense:
        if X.shape[1] != Z.shape[0]:
            raise KernelError(
                f"With kernel='precomputed', pass one column per training sample: got {X.shape[1]} "
                f"columns for {Z.shape[0]} training samples."
            )
        return np.array(X, dtype=np.float64)


@explains_constructor
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
    InvalidParameterError
        Not a callable.
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
    function: KernelFunction

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidParameterError(
                f"function is {self.function!r:.60}; pass a callable (X, Z) -> Gram matrix, or a "
                "matrix in place of X with kernel='precomputed'."
            )

    def __call__(self, X: Stored, Z: Stored) -> Dense:
        expected = (X.shape[0], Z.shape[0])
        left = X if is_sparse(X) else np.asarray(X)
        right = left if Z is X else Z if is_sparse(Z) else np.asarray(Z)
        result = self.function(left, right)
        if np.iscomplexobj(result) or np.ma.is_masked(result):
            what = "complex numbers" if np.iscomplexobj(result) else "masked entries"
            raise KernelError(f"The kernel function must return real numbers, not {what}.")
        try:
            gram = np.array(
                result.toarray() if is_sparse(result) else result, dtype=np.float64
            )  # a copy: the caller's function may keep its own
        except (TypeError, ValueError) as error:
            raise KernelError(f"The kernel function must return real numbers ({error}).") from error
        if gram.shape != expected:
            raise KernelError(
                f"The kernel function returned shape {gram.shape} for {expected[0]} and "
                f"{expected[1]} samples; it must return one number per pair, {expected}."
            )
        rounded = first_rounded(result, gram)
        if rounded is not None:
            raise KernelError(
                f"The kernel function returned {rounded.value} for the pair {rounded.place}, "
                f"{rounded.problem}"
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
