"""Errors for keyword arguments in the wrong place: of a formulation, or of its program."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import ClassVar, ParamSpec, Self, TypeVar

from qpsvm.exceptions import UnknownParameterError
from qpsvm.numerics.arguments import ExplainsMethods, require_positions

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

OF_KERNELS = {
    "gamma": 'kernel=qpsvm.kernels.RBF(gamma=...), or kernel="rbf" for gamma="scale"',
    "degree": "kernel=qpsvm.kernels.Polynomial(degree=...)",
    "coef0": "kernel=qpsvm.kernels.Polynomial(coef0=...)",
}
"""Parameters of kernels, and how a kernel with one is passed."""

OF_PROGRAMS = ("kernel", "sample_weight", "constraints", "indefinite", "groups")
"""Keyword arguments of ``primal`` and ``dual``."""

OF_SOLVES = ("eps", "backend", "time_limit", "max_iterations", "warm_start", "verbose", "callback")
"""Keyword arguments of ``qpsvm.solve``."""

OTHER_NAMES = {"tol": "eps", "max_iter": "max_iterations"}
"""Keyword arguments of scikit-learn, and what ``qpsvm.solve`` calls them."""


OF_FORMULATIONS = {
    "C": "SoftMargin, EpsilonRegression, QuantileRegression, DataDescription and others",
    "nu": "NuClassification, NuRegression and OneClass",
    "epsilon": "EpsilonRegression",
    "tau": "QuantileRegression",
    "loss": "SoftMargin, EpsilonRegression and Ranking",
    "class_weight": "classifiers with slack, such as SoftMargin",
}
"""Parameters of formulations, and the formulations that have them."""

MEANT = {
    (
        "HardMargin",
        "C",
    ): "A hard margin has no slack, hence no C: use SoftMargin(C=...).",
    ("OneClass", "C"): "nu, the share of outliers, is in its place; DataDescription has C.",
    ("NuClassification", "C"): "nu is in its place; SoftMargin has C.",
    ("NuRegression", "epsilon"): "The program finds the width; EpsilonRegression has epsilon.",
    ("EpsilonRegression", "eps"): "The width of the tube is epsilon; eps is the accuracy of "
    "qpsvm.solve(problem, eps=...).",
    ("QuantileRegression", "quantile"): "The quantile is tau.",
    ("QuantileRegression", "epsilon"): "There is no tube; the quantile is tau.",
}
"""What users of one formulation mean by a parameter of another."""


def refusal(name: str, keyword: str, known: Iterable[str], *, of_program: bool) -> str:
    """The message for a keyword argument that a formulation, or its program, does not have.

    Parameters
    ----------
    name : str
        Of the class or method that was called.
    keyword : str
    known : iterable of str
        The keyword arguments that there are.
    of_program : bool
        Whether ``primal`` or ``dual`` was called, not the class.

    Examples
    --------
    >>> refusal("SoftMargin", "kernel", ["C"], of_program=False)
    "SoftMargin() has no parameter 'kernel'. Pass it where the program is built: .dual(X, y, kernel=...). Its own parameters: C."
    """  # noqa: E501 - a doctest's output cannot be broken
    meant = MEANT.get((name, keyword))
    where = f" {meant}" if meant else _place(keyword, of_program=of_program)
    return f"{name}() has no parameter {keyword!r}.{where} Its own parameters: {', '.join(known)}."


def _place(keyword: str, *, of_program: bool) -> str:
    if keyword in OF_KERNELS:
        return f" It belongs to the kernel: .dual(X, y, {OF_KERNELS[keyword]})."
    if keyword in OF_PROGRAMS:
        built = f" Pass it where the program is built: .dual(X, y, {keyword}=...)."
        return " Ranking(...).dual has it." if of_program else built  # not all programs take groups
    own = OTHER_NAMES.get(keyword, keyword)
    if own in OF_SOLVES:
        return f" Pass it where the program is solved: qpsvm.solve(problem, {own}=...)."
    if keyword in OF_FORMULATIONS and not of_program:
        return f" {OF_FORMULATIONS[keyword]} have it."
    if of_program:
        return f" If it is a parameter of the formulation: SoftMargin({keyword}=...).dual(X, y)."
    return ""


@functools.cache
def parameters_of(kind: type) -> tuple[str, ...]:
    """Names of the parameters that a class takes."""
    return tuple(inspect.signature(kind.__init__).parameters)[1:]  # type: ignore[misc]


class ExplainsKeywords(ExplainsMethods):
    """Base of classes whose constructor says where a keyword that it does not have belongs."""

    _instead: ClassVar[str] = (
        "a formulation builds a problem, qpsvm.solve({}(...).dual(X, y)), whose solution predicts. "
        "The estimators, such as qpsvm.estimators.SVC, have fit and predict."
    )

    def __new__(cls, *args: object, **parameters: object) -> Self:
        for keyword in parameters:
            known = parameters_of(cls)  # type: ignore[arg-type]
            if keyword not in known:
                message = refusal(cls.__name__, keyword, known, of_program=False)
                raise UnknownParameterError(message)
        if args:
            require_positions(cls, args, parameters)
        return super().__new__(cls)


def explains_keywords(method: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Make ``primal`` or ``dual`` say where a keyword that it does not have belongs."""
    known = list(inspect.signature(method).parameters)[1:]
    takes_any = "options" in known

    @functools.wraps(method)
    def checked(*args: Arguments.args, **keywords: Arguments.kwargs) -> Result:
        for keyword in keywords:
            if keyword not in known and not (takes_any and keyword in OF_PROGRAMS):
                message = refusal(f".{method.__name__}", keyword, known, of_program=True)
                raise UnknownParameterError(message)
        return method(*args, **keywords)

    return checked
