"""Estimators by name, and their parameters as options of the command line."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer

from qpsvm.cli.options import gamma_of
from qpsvm.io.cells import is_number

ESTIMATORS = (
    "SVC", "NuSVC", "LinearSVC", "SVR", "NuSVR", "LinearSVR", "QuantileSVR", "OneClassSVM", "SVDD",
    "SVMRanker",
)  # fmt: skip
"""Names in ``qpsvm.estimators``, known without importing it."""

LEFT_OUT = (
    "constraints", "warm_start", "tol", "cache_size", "shrinking", "random_state", "dual",
)  # fmt: skip
"""Parameters of estimators that are no options of ``qpsvm fit``: Python objects, other names of
parameters, and those without effect."""

INTEGERS = ("memory_limit", "n_jobs")
"""Parameters whose default is None and whose values are integers."""

OTHER_NAMES: Mapping[str, tuple[str, ...]] = {"eps": ("--tol",)}
"""Further names of options."""

HELP: Mapping[str, str] = {
    "C": "Price of a margin violation.",
    "nu": "Upper bound on the share of errors, lower bound on that of support vectors.",
    "epsilon": "Half-width of the tube.",
    "quantile": "Share of targets below the prediction; in (0, 1).",
    "kernel": "linear, poly, rbf, sigmoid or precomputed.",
    "degree": "Degree of the polynomial kernel.",
    "gamma": "Coefficient of the rbf, poly and sigmoid kernels: scale, auto or a number.",
    "coef0": "Constant term of the poly and sigmoid kernels.",
    "penalty": "Norm of the weights in the objective: l2 or l1.",
    "loss": "Loss function; see the documentation of the estimator.",
    "multi_class": "Strategy for more than two classes: ovo, ovr or crammer_singer.",
    "decision_function_shape": "Columns of decision values for more than two classes: ovr or ovo.",
    "break_ties": "Break ties between votes by decision values.",
    "fit_intercept": "Whether to fit an intercept.",
    "intercept_scaling": "1: the intercept is penalised; inf: it is not.",
    "class_weight": "Factors of C by class: balanced, or label=factor,label=factor.",
    "eps": "Relative accuracy to certify.",
    "backend": "A name from 'qpsvm backends'.",
    "indefinite": "Negative eigenvalues of a kernel matrix: error, clip, flip or shift.",
    "memory_limit": "Memory for kernel values, in bytes.",
    "device": "auto, cpu or cuda: where the kernel machine is solved.",
    "n_jobs": "Number of machines solved in parallel with more than two classes.",
    "max_iter": "Largest number of iterations of the backend; -1 for its own limit.",
    "verbose": "Print progress.",
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
    declared = (f"{flag}/--no-{flag[2:]}" if kind is bool else flag, *OTHER_NAMES.get(name, ()))
    annotation: object = kind | None if default is None else kind
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[
            annotation, typer.Option(*declared, help=HELP[name], rich_help_panel="Parameters")
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
    if parameters.get("gamma") is not None:
        parameters["gamma"] = gamma_of(parameters["gamma"])
    weights = parameters.get("class_weight")
    if weights is not None and weights != "balanced":
        pairs = [_factor(pair) for pair in weights.split(",")]
        parameters["class_weight"] = dict(pairs)
        if len(parameters["class_weight"]) < len(pairs):
            raise typer.BadParameter(
                f"class weights have a label twice: {weights!r}; name it once."
            )
    return parameters


def _factor(pair: str) -> tuple[str, float]:
    """Parse a class label, as it is written, and its weight."""
    label, equals, factor = pair.rpartition("=")
    try:
        if not (equals and label):
            raise ValueError(pair)
        return label, float(factor)
    except ValueError:
        raise typer.BadParameter(
            f"class weights have {pair!r}; pass 'balanced', or pairs like yes=2,no=1."
        ) from None


def as_labels(weights: Mapping[str, float], labels: Iterable[object]) -> dict[object, float]:
    """Replace the labels of class weights, which are texts, by those of the data.

    A text that is no label of the data is kept: fitting refuses it.

    Examples
    --------
    >>> as_labels({"1": 2.0, "0.50": 3.0, "Yes": 1.0}, [0.5, 1.0, "yes"])
    {1.0: 2.0, 0.5: 3.0, 'Yes': 1.0}
    """
    by_text = {str(label): label for label in labels}
    by_number = {Decimal(text): label for text, label in by_text.items() if is_number(text)}

    def label_of(text: str) -> object:
        same_number = by_number.get(Decimal(text), text) if is_number(text) else text
        return by_text.get(text, same_number)

    return {label_of(text): weight for text, weight in weights.items()}


# --- words in place of a command or an estimator --------------------------------------------------


def no_such_command(word: str, commands: Sequence[str]) -> str:
    """Message for a word that is no command.

    Examples
    --------
    >>> no_such_command("svc", ["fit", "solve"])
    "There is no command 'svc'; estimators are fitted by 'qpsvm fit SVC'. Commands: fit, solve."
    """
    known = f"Commands: {', '.join(commands)}."
    estimator = _alike(word, ESTIMATORS, 0.85)
    if estimator:
        fitted = f"estimators are fitted by 'qpsvm fit {estimator}'"
        return f"There is no command {word!r}; {fitted}. {known}"
    if _is_file(word):
        return f"{word!r} is a file; name a command first: qpsvm fit SVC {word}. {known}"
    return f"There is no command {word!r}.{_meant(word, commands)} {known}"


def no_such_estimator(word: str) -> str:
    """Message for a word that is no estimator.

    Examples
    --------
    >>> no_such_estimator("svc").partition(" Estimators")[0]
    "There is no estimator 'svc'. Did you mean 'SVC'?"
    >>> no_such_estimator("heart.csv").partition(" Estimators")[0]
    "'heart.csv' is a file; name an estimator first: qpsvm fit SVC heart.csv."
    """
    known = f"Estimators: {', '.join(ESTIMATORS)}."
    if _is_file(word):
        return f"{word!r} is a file; name an estimator first: qpsvm fit SVC {word}. {known}"
    return f"There is no estimator {word!r}.{_meant(word, list(ESTIMATORS))} {known}"


def _meant(word: str, known: Sequence[str]) -> str:
    near = _alike(word, known, 0.6)
    return f" Did you mean {near!r}?" if near else ""


def _alike(word: str, known: Sequence[str], cutoff: float) -> str | None:
    """The known word that is spelt alike, whatever the case; None without one."""
    by_lower = {name.lower(): name for name in known}
    near = get_close_matches(word.lower(), by_lower, 1, cutoff)
    return by_lower[near[0]] if near else None


def _is_file(word: str) -> bool:
    path = Path(word)
    return bool(path.suffix) or path.exists()
