"""The parameters of estimators as options of the command line, from their signatures."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

ESTIMATORS = (
    "SVC", "NuSVC", "LinearSVC", "SVR", "NuSVR", "LinearSVR", "QuantileSVR", "OneClassSVM", "SVDD",
    "SVMRanker",
)  # fmt: skip
"""Names in ``qpsvm.estimators``, known without importing it."""

LEFT_OUT = (
    "constraints", "warm_start", "tol", "cache_size", "shrinking", "random_state", "dual",
)  # fmt: skip
"""Parameters that are objects of Python, mean nothing to a single fit, or are scikit-learn's."""

INTEGERS = ("memory_limit", "n_jobs")
"""Parameters whose default is None and whose values are integers."""

HELP: Mapping[str, str] = {
    "C": "Price of a violation.",
    "nu": "Share of errors at most, and of support vectors at least; above 0, up to 1.",
    "epsilon": "Half-width of the tube.",
    "quantile": "Share of targets below the predictions.",
    "kernel": "linear, poly, rbf, sigmoid or precomputed.",
    "degree": "Of the kernel poly.",
    "gamma": "Of rbf, poly and sigmoid: scale, auto or a number.",
    "coef0": "Of poly and sigmoid.",
    "penalty": "l2 or l1.",
    "loss": "What a violation costs; see the estimator's documentation.",
    "multi_class": "More than two classes: ovo, ovr or crammer_singer.",
    "decision_function_shape": "More than two classes: ovr or ovo.",
    "break_ties": "Decide between equally many votes by decision values.",
    "fit_intercept": "With an intercept.",
    "intercept_scaling": "1: the intercept is in the objective; inf: it is not.",
    "class_weight": "Factors of C: balanced, or label=factor,label=factor.",
    "eps": "Relative accuracy to be certified.",
    "backend": "A name from 'qpsvm backends'.",
    "indefinite": "Negative eigenvalues of a kernel matrix: error, clip, flip or shift.",
    "memory_limit": "Bytes for kernel values.",
    "n_jobs": "How many machines of several classes are solved at the same time.",
    "max_iter": "Limit of the backend's iterations; -1: its own.",
    "verbose": "Let the solver print.",
}
"""A help text for every parameter."""


def options_of(estimator: Callable[..., object]) -> list[inspect.Parameter]:
    """Build a command-line option for every parameter of an estimator."""
    return [
        _option(parameter)
        for parameter in inspect.signature(estimator).parameters.values()
        if parameter.name not in LEFT_OUT
    ]


def _option(parameter: inspect.Parameter) -> inspect.Parameter:
    name, default = parameter.name, parameter.default
    kind = int if name in INTEGERS else str if default is None else type(default)
    flag = f"--{name.replace('_', '-')}"
    declared = f"{flag}/--no-{flag[2:]}" if kind is bool else flag
    annotation: object = kind | None if default is None else kind
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[
            annotation, typer.Option(declared, help=HELP[name], rich_help_panel="Parameters")
        ],
    )


def parsed(given: Mapping[str, Any]) -> dict[str, object]:
    """Convert the values of command-line options to parameters of an estimator.

    Raises
    ------
    typer.BadParameter
        A gamma that is no number; class weights that are no pairs.

    Examples
    --------
    >>> parsed({"gamma": "0.5", "class_weight": "yes=2,no=1", "degree": 3})
    {'gamma': 0.5, 'class_weight': {'yes': 2.0, 'no': 1.0}, 'degree': 3}
    """
    parameters = dict(given)
    gamma = parameters.get("gamma")
    if gamma is not None and gamma not in ("scale", "auto"):
        try:
            parameters["gamma"] = float(gamma)
        except ValueError:
            raise typer.BadParameter(
                f"gamma is {gamma!r}; pass a number above 0, 'scale' or 'auto'."
            ) from None
    weights = parameters.get("class_weight")
    if weights is not None and weights != "balanced":
        parameters["class_weight"] = dict(_factor(pair) for pair in weights.split(","))
    return parameters


def _factor(pair: str) -> tuple[object, float]:
    """Parse a class label and its weight."""
    label, equals, factor = pair.rpartition("=")
    try:
        if not (equals and label):
            raise ValueError(pair)
        value = float(factor)
    except ValueError:
        raise typer.BadParameter(
            f"class weights have {pair!r}; pass 'balanced', or pairs like yes=2,no=1."
        ) from None
    for number in (int, float):
        try:
            return number(label), value
        except ValueError:
            continue
    return label, value
