"""Kernels by their values or names, and Gram matrices of training samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from qpsvm.exceptions import InvalidParameterError, KernelError
from qpsvm.kernels.functions import RBF, Kernel, Linear, Polynomial, Sigmoid
from qpsvm.kernels.kernel_repair import (
    Indefinite,
    KernelRepair,
    negative_eigenvalues_within,
    repair,
    require_symmetric,
)
from qpsvm.numerics.arguments import MatrixLike, explains_calls, explains_constructor
from qpsvm.numerics.arrays import Dense, immutable, is_sparse
from qpsvm.numerics.conversion import first_rounded
from qpsvm.numerics.single_precision import Stored
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.sample_gram import SampleGram

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


# --- kernels by their names ----------------------------------------------------------------------


KERNELS: dict[str, type[Kernel]] = {
    kind.name: kind for kind in (Linear, Polynomial, RBF, Sigmoid, Precomputed)
}
"""Kernel classes by the names that stand for them in model files."""

NAMES: dict[str, type[Kernel]] = KERNELS | {"poly": Polynomial}
"""Kernel classes by the names that the argument ``kernel`` of a formulation accepts."""

MEANT = {
    name: meant
    for meant, names in {
        "rbf": "gaussian gauss radial rbf",
        "linear": "lin linear",
        "polynomial": "polynomial poly",
        "sigmoid": "tanh sigmoid",
        "precomputed": "gram",
    }.items()
    for name in names.split()
}
"""Other names and spellings of kernels, in lower case, and what they are called here."""

KernelArgument: TypeAlias = Kernel | str | KernelFunction
"""A kernel, the name of one, or a function ``(X, Z) -> Gram matrix``."""


@explains_calls
def as_kernel(kernel: KernelArgument) -> Kernel:
    """Convert a Kernel, the name of one, or a callable to a Kernel.

    Parameters
    ----------
    kernel : Kernel, str or callable
        A kernel; "linear", "rbf", "polynomial" ...; or ``(X, Z) -> block`` of shape
        (len(X), len(Z)).

    Returns
    -------
    Kernel
        The kernel itself, one with its default parameters, or a ``Custom`` around the callable.

    Raises
    ------
    InvalidParameterError
        Anything else.

    Examples
    --------
    >>> as_kernel("rbf")
    RBF(gamma='scale')
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
    meant = MEANT.get(kernel.lower()) if isinstance(kernel, str) else None
    hint = f"did you mean {meant!r}? Pass" if meant else "pass"
    raise InvalidParameterError(
        f"kernel is {kernel!r}; {hint} one of {', '.join(sorted(NAMES))}, a qpsvm.kernels object, "
        "or a callable (X, Z) -> Gram matrix."
    )


# --- Gram matrices -------------------------------------------------------------------------------


Gram: TypeAlias = LowRankQuadratic | KernelQuadratic
"""``K``, from which ``select`` and ``combine`` make the Hessian of any dual over these samples."""


@explains_calls
def gram(
    kernel: Kernel, X: Stored, *, indefinite: Indefinite = "error"
) -> tuple[Gram, KernelRepair | None]:
    """Build the Gram matrix ``K_ij = k(x_i, x_j)``, evaluated lazily; repair it if indefinite.

    Parameters
    ----------
    kernel : Kernel
        With every parameter a number.
    X : array or CSR matrix of shape (n, d); the Gram matrix itself when precomputed.
    indefinite : {"error", "clip", "flip", "shift"}
        What to do with negative eigenvalues, see ``kernel_repair``. Asked only of kernels whose
        type does not exclude them; these are evaluated at once.

    Returns
    -------
    LowRankQuadratic or KernelQuadratic
        ``X X'`` for the linear kernel, whose samples may stay sparse.
    KernelRepair or None

    Raises
    ------
    KernelError
        A kernel that does not guarantee it by its type returns an asymmetric matrix.
    IndefiniteKernelError
        ... or an indefinite one, with the policy "error".

    Examples
    --------
    >>> import numpy as np
    >>> from qpsvm import kernels
    >>> K, repaired = kernels.gram(kernels.Linear(), np.eye(3))
    >>> type(K).__name__, repaired
    ('LowRankQuadratic', None)
    """
    if isinstance(kernel, Linear):
        return LowRankQuadratic(X), None
    if isinstance(kernel, Precomputed):
        K = KernelQuadratic(SampleGram.of_matrix(immutable(X)))
    else:
        samples = SampleGram(kernel, X, positive_semidefinite=kernel.is_positive_semidefinite)
        K = KernelQuadratic(samples)
    if kernel.is_positive_semidefinite:
        return K, None
    require_symmetric(K)
    repaired = repair(K, indefinite, name=f"The kernel matrix of {kernel}")
    if repaired is None:
        K.gram.negative_bound = negative_eigenvalues_within(K)
        return K, None
    matrix, report = repaired
    K = KernelQuadratic(SampleGram.of_matrix(matrix))
    K.gram.negative_bound = negative_eigenvalues_within(K)
    return K, report
