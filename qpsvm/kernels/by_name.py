"""Kernels by their names, as every formulation takes them."""

from __future__ import annotations

from typing import TypeAlias

from qpsvm.exceptions import InvalidParameterError
from qpsvm.kernels.base import Kernel
from qpsvm.kernels.functions import RBF, Linear, Polynomial, Sigmoid
from qpsvm.kernels.given import Custom, KernelFunction, Precomputed
from qpsvm.numerics.calls import explains_calls

KERNELS: dict[str, type[Kernel]] = {
    kind.name: kind for kind in (Linear, Polynomial, RBF, Sigmoid, Precomputed)
}
"""Kernel classes by the names that stand for them in model files."""

NAMES: dict[str, type[Kernel]] = KERNELS | {"poly": Polynomial}
"""Kernel classes by the names that the argument ``kernel`` of a formulation accepts."""

MEANT = {
    "gaussian": "rbf",
    "gauss": "rbf",
    "radial": "rbf",
    "rbf": "rbf",
    "lin": "linear",
    "linear": "linear",
    "polynomial": "polynomial",
    "poly": "polynomial",
    "tanh": "sigmoid",
    "sigmoid": "sigmoid",
    "gram": "precomputed",
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
