"""Options shared by several commands, and estimators with their parameters as options.

Options that belong together are the parameters of a function; ``with_options`` gives them to a
command as one dictionary. So every option is declared once.
"""

from __future__ import annotations

import csv
import decimal
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import typer

from qpsvm.tables.cells import is_number

Options: TypeAlias = Mapping[str, inspect.Parameter]
"""Options that belong together, by name."""

KEYWORD = inspect.Parameter.KEYWORD_ONLY
VERBOSE_HELP = "Also print all checks, problem, data, solver with its settings, and samples."

DataFile: TypeAlias = Annotated[
    Path, typer.Argument(help="The data: LIBSVM, CSV (-: standard input), NPZ or Parquet.")
]
TrainingFile: TypeAlias = Annotated[
    Path, typer.Argument(help="The data file that the model was trained on.")
]
ModelFile: TypeAlias = Annotated[
    Path, typer.Argument(help="A model written by 'qpsvm fit --model' or 'qpsvm solve --model'.")
]
Groups: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--groups",
        help="CSV, Parquet: the column of the queries of a ranking (LIBSVM: qid, NPZ: groups).",
    ),
]
Width: TypeAlias = Annotated[
    int | None,
    typer.Option("--n-features", help="LIBSVM: number of features, if the last ones never occur."),
]
Standardize: TypeAlias = Annotated[
    bool, typer.Option("--standardize", help="Scale the features; saved with the model.")
]
Model: TypeAlias = Annotated[
    Path | None, typer.Option("--model", help="Write the model (.npz), if it is certified.")
]
Report: TypeAlias = Annotated[
    Path | None,
    typer.Option("--report", help="Also write a report (.html, .json, .md, .tex or .txt)."),
]
Eps: TypeAlias = Annotated[float, typer.Option(help="Relative accuracy to certify.")]
Verbose: TypeAlias = Annotated[bool, typer.Option("--verbose", help=VERBOSE_HELP)]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def with_options(**groups: Options) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorate a command: replace parameters that are dictionaries by the options in them.

    The dictionaries have the options that are given, or have a default other than None.
    """

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        parameters: list[inspect.Parameter] = []
        for name, own in inspect.signature(command, eval_str=True).parameters.items():
            parameters += groups[name].values() if name in groups else [own.replace(kind=KEYWORD)]

        @functools.wraps(command)
        def with_groups(**given: Any) -> None:
            for name, options in groups.items():
                values = {option: given.pop(option) for option in options}
                given[name] = {option: v for option, v in values.items() if v is not None}
            command(**given)

        with_groups.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        with_groups.__annotations__ = {p.name: p.annotation for p in parameters}
        return with_groups

    return decorated


def _options(function: Callable[..., object]) -> Options:
    """The parameters of a function as options."""
    parameters = inspect.signature(function, eval_str=True).parameters
    return {name: parameter.replace(kind=KEYWORD) for name, parameter in parameters.items()}


# --- data files -----------------------------------------------------------------------------------


@_options
def READING(
    format: Annotated[
        Literal["libsvm", "csv", "npz", "parquet"] | None,
        typer.Option(help="The data file's format (default: from its suffix)."),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(
            help="CSV, Parquet: the label column's name, or its position from 0 (default: the "
            "last, or that of the model's training data).",
        ),
    ] = None,
    header: Annotated[
        bool | None, typer.Option(help="CSV: whether the first row names the columns.")
    ] = None,
    zero_based: Annotated[
        bool | None,
        typer.Option(
            "--zero-based/--one-based", help="LIBSVM: features are counted from 0 or from 1."
        ),
    ] = None,
) -> None:
    """Options for reading a data file, which are arguments of ``qpsvm.datasets.load``."""


def columns_of(values: list[str] | None) -> tuple[str, ...]:
    """The columns in the values of an option, which may be repeated.

    Columns are separated by commas; a name with a comma is put in double quotes.

    Examples
    --------
    >>> columns_of(['city,age', '"height, cm"'])
    ('city', 'age', 'height, cm')
    """
    rows = csv.reader(values or (), skipinitialspace=True)
    return tuple(column.strip() for row in rows for column in row)


PANEL = "Columns of a table (CSV, Parquet)"
Columns: TypeAlias = list[str] | None
_in_panel = functools.partial(typer.Option, rich_help_panel=PANEL)
_columns = functools.partial(_in_panel, callback=columns_of)

Id: TypeAlias = Annotated[Columns, _columns("--id", help="Columns to copy into the predictions.")]
Decimal: TypeAlias = Annotated[
    Literal[".", ","] | None, _in_panel("--decimal", help="CSV: the decimal mark.")
]


@_options
def TABLE(
    features: Annotated[
        Columns, _columns(help="The features: names or positions, separated by commas.")
    ] = None,
    drop: Annotated[Columns, _columns(help="Columns to leave out.")] = None,
    id: Id = None,
    categorical: Annotated[
        Columns, _columns(help="Columns to encode, one feature per value.")
    ] = None,
    missing: Annotated[
        Literal["error", "drop", "median"],
        _in_panel(help="Missing values: refuse them, drop their rows, or fill in the median."),
    ] = "error",
    decimal: Decimal = None,
) -> None:
    """Options for the columns of a table, which are arguments of ``qpsvm.datasets.load``."""


# --- estimators and their parameters --------------------------------------------------------------

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
    "C": "Penalty on a margin violation.",
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


def gamma_of(text: str | None) -> str | float | None:
    """Parse the coefficient of a kernel; None where it is not given.

    Raises
    ------
    typer.BadParameter
        It is neither a number nor the name of a rule.

    Examples
    --------
    >>> gamma_of("0.5"), gamma_of("scale")
    (0.5, 'scale')
    """
    if text is None or text in ("scale", "auto"):
        return text
    if not is_number(text):
        raise typer.BadParameter(f"gamma is {text!r}; pass a number above 0, 'scale' or 'auto'.")
    return float(text)


def weights_of(text: str | None) -> dict[str, float] | str | None:
    """Parse factors of C by class, with labels as they are written; None where not given.

    Raises
    ------
    typer.BadParameter
        They are no pairs of a label and a number, or have a label twice.

    Examples
    --------
    >>> weights_of("yes=2,no=1"), weights_of("balanced")
    ({'yes': 2.0, 'no': 1.0}, 'balanced')
    """
    if text is None or text == "balanced":
        return text
    weights: dict[str, float] = {}
    for pair in text.split(","):
        label, _, factor = pair.rpartition("=")
        if not (label and is_number(factor)):
            raise typer.BadParameter(
                f"class weights have {pair!r}; pass 'balanced', or pairs like yes=2,no=1."
            )
        if label in weights:
            raise typer.BadParameter(f"class weights have a label twice: {text!r}; name it once.")
        weights[label] = float(factor)
    return weights


PARSERS: Mapping[str, Callable[..., object]] = {"gamma": gamma_of, "class_weight": weights_of}
"""Functions from the texts of options to parameters."""


def options_of(estimator: Callable[..., object]) -> Options:
    """Build a command-line option for every parameter of an estimator."""
    parameters = inspect.signature(estimator).parameters
    return {
        name: parameter.replace(kind=KEYWORD, annotation=_annotation(name, parameter.default))
        for name, parameter in parameters.items()
        if name not in LEFT_OUT
    }


def _annotation(name: str, default: object) -> object:
    kind: Any = int if name in INTEGERS else str if default is None else type(default)
    flag = f"--{name.replace('_', '-')}"
    flags = (f"{flag}/--no-{flag[2:]}" if kind is bool else flag, *OTHER_NAMES.get(name, ()))
    settings: Any = {"help": HELP[name], "rich_help_panel": "Parameters"}
    option = typer.Option(*flags, callback=PARSERS.get(name), **settings)
    return Annotated[kind | None if default is None else kind, option]


def as_labels(weights: Mapping[str, float], labels: Iterable[object]) -> dict[object, float]:
    """Replace the labels of class weights, which are texts, by those of the data.

    A text that is no label of the data is kept: fitting refuses it.

    Examples
    --------
    >>> as_labels({"1": 2.0, "0.50": 3.0, "Yes": 1.0}, [0.5, 1.0, "yes"])
    {1.0: 2.0, 0.5: 3.0, 'Yes': 1.0}
    """
    by_text = {str(label): label for label in labels}
    by_number = {decimal.Decimal(text): label for text, label in by_text.items() if is_number(text)}

    def label_of(text: str) -> object:
        same_number = by_number.get(decimal.Decimal(text), text) if is_number(text) else text
        return by_text.get(text, same_number)

    return {label_of(text): weight for text, weight in weights.items()}


# --- words in place of a command or an estimator --------------------------------------------------


def no_such(what: str, word: str, known: Sequence[str]) -> str:
    """Message for a word that is no command, or no estimator.

    Parameters
    ----------
    what : "a command" or "an estimator"
    word : str
    known : sequence of str
        The words that are.

    Examples
    --------
    >>> no_such("a command", "svc", ["fit", "solve"])
    "There is no command 'svc'; estimators are fitted by 'qpsvm fit SVC'. Commands: fit, solve."
    >>> no_such("an estimator", "svc", ["SVC"])
    "There is no estimator 'svc'. Did you mean 'SVC'? Estimators: SVC."
    >>> no_such("an estimator", "heart.csv", ["SVC"])
    "'heart.csv' is a file; name an estimator first: qpsvm fit SVC heart.csv. Estimators: SVC."
    """
    noun, path = what.split()[1], Path(word)
    all_known = f"{noun.capitalize()}s: {', '.join(known)}."
    estimator = _alike(word, ESTIMATORS, 0.85)
    if estimator and noun == "command":
        fitted = f"estimators are fitted by 'qpsvm fit {estimator}'"
        return f"There is no command {word!r}; {fitted}. {all_known}"
    if path.suffix or path.exists():
        return f"{word!r} is a file; name {what} first: qpsvm fit SVC {word}. {all_known}"
    near = _alike(word, known, 0.6)
    meant = f" Did you mean {near!r}?" if near else ""
    return f"There is no {noun} {word!r}.{meant} {all_known}"


def _alike(word: str, known: Sequence[str], cutoff: float) -> str | None:
    """The known word that is spelt alike, whatever the case; None without one."""
    by_lower = {name.lower(): name for name in known}
    near = get_close_matches(word.lower(), by_lower, 1, cutoff)
    return by_lower[near[0]] if near else None
