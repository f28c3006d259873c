"""Formulations and kernels by name: the columns ``family`` and ``kernel`` of a suite."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.calls import Call, parse
from qpsvm import formulations
from qpsvm.exceptions import InvalidParameterError, SuiteError
from qpsvm.kernels import RBF, Kernel, Linear, Polynomial, Sigmoid

SEVERAL_PROGRAMS = ("OneVsOne", "OneVsRest")

FAMILIES: Mapping[str, type[object]] = {
    name: getattr(formulations, name)
    for name in formulations.__all__
    if name not in SEVERAL_PROGRAMS
}
"""Formulations that are one program, by name."""

KERNELS: Mapping[str, type[Kernel]] = {
    "linear": Linear,
    "polynomial": Polynomial,
    "rbf": RBF,
    "sigmoid": Sigmoid,
}


def formulation_of(text: Call | str) -> object:
    """Build the formulation that a suite's text names, such as ``SoftMargin(C=1.0)``.

    Parameters
    ----------
    text : Call or str
        ``SoftMargin(C=10.0, intercept='penalized')``: a name of ``FAMILIES``, parameters of
        its class.

    Raises
    ------
    SuiteError
        An unknown name or parameter, or a value outside its domain.

    Examples
    --------
    >>> formulation_of("NuClassification(nu=0.3)")
    NuClassification(nu=0.3)
    """
    return _made(FAMILIES, text, "formulation")


def kernel_of(text: Call | str) -> Kernel:
    """Build the kernel that a suite's text names; ``gamma='scale'`` is resolved later.

    Parameters
    ----------
    text : Call or str
        ``linear``, ``rbf(gamma='scale')``, ``polynomial(coef0=1.0, degree=2)``.

    Raises
    ------
    SuiteError
        An unknown name or parameter, or a value outside its domain.

    Examples
    --------
    >>> kernel_of("rbf(gamma=0.5)")
    RBF(gamma=0.5)
    """
    made: Kernel = _made(KERNELS, text, "kernel")
    return made


def _made(classes: Mapping[str, type[object]], text: Call | str, what: str) -> Any:
    call = parse(text) if isinstance(text, str) else text
    if call.name not in classes:
        raise SuiteError(f"There is no {what} {call.name!r}; there are {', '.join(classes)}.")
    try:
        return classes[call.name](**call.arguments)
    except (InvalidParameterError, TypeError) as error:
        raise SuiteError(f"The {what} {call} cannot be made: {error}") from error
