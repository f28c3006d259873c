"""Errors for keyword arguments in the wrong place: of a formulation, or of its program."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from qpsvm.numerics.arguments import SYNONYMS, explains_calls

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
    ("HardMargin", "C"): "A hard margin has no slack, hence no C: use SoftMargin(C=...).",
    ("OneClass", "C"): "nu, the share of outliers, is in its place; DataDescription has C.",
    ("NuClassification", "C"): "nu is in its place; SoftMargin has C.",
    ("NuRegression", "epsilon"): "The program finds the width; EpsilonRegression has epsilon.",
    ("EpsilonRegression", "eps"): "The width of the tube is epsilon; eps is the accuracy of "
    "qpsvm.solve(problem, eps=...).",
    ("QuantileRegression", "quantile"): "The quantile is tau.",
    ("QuantileRegression", "epsilon"): "There is no tube; the quantile is tau.",
}
"""What users of one formulation mean by a parameter of another."""


def remedy_for_formulations(name: str, keyword: str) -> str:
    """Suggest the class or call to which an unknown keyword of a formulation belongs.

    Empty where nothing is known.
    """
    meant = MEANT.get((name, keyword)) or _place(keyword)
    if not meant and keyword in OF_FORMULATIONS:
        return f"{OF_FORMULATIONS[keyword]} have it."
    return meant


def explains_keywords(method: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Make ``primal`` or ``dual`` say where a keyword that it does not have belongs."""
    return explains_calls(method, _remedy_for_programs)


def _remedy_for_programs(keyword: str) -> str:
    if keyword in OF_PROGRAMS:
        return "Ranking(...).dual has it."  # not all programs take groups
    if keyword in OF_FORMULATIONS:
        return f"It is a parameter of the formulation: SoftMargin({keyword}=...).dual(X, y)."
    return _place(keyword)


def _place(keyword: str) -> str:
    """Suggest the call that takes a keyword; empty if neither programs nor solves take it."""
    if keyword in OF_KERNELS:
        return f"It belongs to the kernel: .dual(X, y, {OF_KERNELS[keyword]})."
    if keyword in OF_PROGRAMS:
        return f"Pass it where the program is built: .dual(X, y, {keyword}=...)."
    for name in (keyword, *SYNONYMS.get(keyword, ())):
        if name in OF_SOLVES:
            return f"Pass it where the program is solved: qpsvm.solve(problem, {name}=...)."
    return ""
