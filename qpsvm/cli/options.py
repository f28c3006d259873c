"""Options shared by several commands, among them those of the columns of a table."""

from __future__ import annotations

import csv
import functools
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import typer

REPORT_HELP = "Also write a report (.html, .json, .md, .tex or .txt)."

VERBOSE_HELP = "Also print all checks, problem, data, solver with its settings, and samples."


DataFormat: TypeAlias = Literal["libsvm", "csv", "npz", "parquet"]
"""Formats of data files."""

LabelColumn: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--label",
        help="CSV, Parquet: the label column's name, or its position from 0 (default: the last).",
    ),
]

GroupsColumn: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--groups",
        help="CSV, Parquet: the column of the queries of a ranking (LIBSVM: qid, NPZ: groups).",
    ),
]

HeaderOption: TypeAlias = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="CSV: whether the first row names the columns."),
]

NumberingOption: TypeAlias = Annotated[
    bool | None,
    typer.Option("--zero-based/--one-based", help="LIBSVM: features are counted from 0 or from 1."),
]

WidthOption: TypeAlias = Annotated[
    int | None,
    typer.Option("--n-features", help="LIBSVM: number of features, if the last ones never occur."),
]

FittedModel: TypeAlias = Annotated[
    Path, typer.Argument(help="A model written by 'qpsvm fit --model'.")
]

SamplesFile: TypeAlias = Annotated[
    Path, typer.Argument(help="The samples: LIBSVM, CSV (-: standard input), NPZ or Parquet.")
]

FormatOption: TypeAlias = Annotated[
    DataFormat | None, typer.Option("--format", help="The data file's format.")
]

ReportOption: TypeAlias = Annotated[Path | None, typer.Option("--report", help=REPORT_HELP)]

StandardizeOption: TypeAlias = Annotated[
    bool, typer.Option("--standardize", help="Scale the features; saved with the model.")
]

VerboseOption: TypeAlias = Annotated[bool, typer.Option("--verbose", help=VERBOSE_HELP)]

JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def gamma_of(text: str) -> str | float:
    """Parse the coefficient of a kernel.

    Raises
    ------
    typer.BadParameter
        It is neither a number nor the name of a rule.
    """
    if text in ("scale", "auto"):
        return text
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(
            f"gamma is {text!r}; pass a number above 0, 'scale' or 'auto'."
        ) from None


# --- columns of tables ---------------------------------------------------------------------------

PANEL = "Columns of a table (CSV, Parquet)"


def _columns_option(name: str, help: str) -> Any:
    return typer.Option(f"--{name}", help=help, rich_help_panel=PANEL)


DecimalOption: TypeAlias = Annotated[
    Literal[".", ","] | None,
    typer.Option("--decimal", help="CSV: the decimal mark.", rich_help_panel=PANEL),
]
IdOption: TypeAlias = Annotated[
    list[str] | None, _columns_option("id", "Columns to copy into the predictions.")
]


def _table_options(
    features: Annotated[
        list[str] | None,
        _columns_option("features", "The features: names or positions, separated by commas."),
    ] = None,
    drop: Annotated[list[str] | None, _columns_option("drop", "Columns to leave out.")] = None,
    id: IdOption = None,
    categorical: Annotated[
        list[str] | None,
        _columns_option("categorical", "Columns to encode, one feature per value."),
    ] = None,
    missing: Annotated[
        Literal["error", "drop", "median"],
        typer.Option(
            help="Missing values: refuse them, drop their rows, or fill in the median.",
            rich_help_panel=PANEL,
        ),
    ] = "error",
    decimal: DecimalOption = None,
) -> dict[str, Any]:
    """The options by name."""
    return dict(locals())


PARAMETERS: Mapping[str, inspect.Parameter] = {
    name: parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
    for name, parameter in inspect.signature(_table_options, eval_str=True).parameters.items()
}
"""The options as parameters of a command, by name."""


def table_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a table for ``qpsvm.datasets.load``, from the values of the options."""
    lists = ("features", "drop", "id", "categorical")
    return {**given, **{name: columns_of(given[name]) for name in lists}}


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


def with_table_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command with a parameter ``table``, a dictionary, the options it is made of."""
    own = inspect.signature(command, eval_str=True).parameters.values()
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [p.replace(kind=keyword) for p in own if p.name != "table"]

    @functools.wraps(command)
    def with_options(**given: Any) -> None:
        table = table_of({name: given.pop(name) for name in PARAMETERS})
        command(**given, table=table)

    signature = inspect.Signature([*parameters, *PARAMETERS.values()])
    with_options.__signature__ = signature  # type: ignore[attr-defined]
    with_options.__annotations__ = {p.name: p.annotation for p in signature.parameters.values()}
    return with_options
