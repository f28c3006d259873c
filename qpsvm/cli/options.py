"""Options shared by several commands."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, TypeAlias

import typer

REPORT_HELP = "Also write a report (.html, .json, .md, .tex or .txt)."

VERBOSE_HELP = "Also print all checks, problem, data, solver with its settings, and samples."


class DataFormat(StrEnum):
    """Formats of data files."""

    LIBSVM = "libsvm"
    CSV = "csv"
    NPZ = "npz"
    PARQUET = "parquet"


class Family(StrEnum):
    """Formulations of the ``solve`` command."""

    SOFT_MARGIN = "soft-margin"
    HARD_MARGIN = "hard-margin"


class FormName(StrEnum):
    """The forms of a problem: primal and dual."""

    DUAL = "dual"
    PRIMAL = "primal"


class KernelName(StrEnum):
    """Kernels that can be named on the command line."""

    LINEAR = "linear"
    POLYNOMIAL = "polynomial"
    POLY = "poly"
    RBF = "rbf"
    SIGMOID = "sigmoid"
    PRECOMPUTED = "precomputed"


class Intercept(StrEnum):
    """Kinds of intercept: free, penalised, none."""

    FREE = "free"
    PENALIZED = "penalized"
    NONE = "none"


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

FormatOption: TypeAlias = Annotated[
    DataFormat | None, typer.Option("--format", help="The data file's format.")
]
