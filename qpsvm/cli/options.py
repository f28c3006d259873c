"""Options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, TypeAlias

import typer

REPORT_HELP = "Also write a report (.html, .json, .md, .tex or .txt)."


class DataFormat(StrEnum):
    """Formats of data files."""

    LIBSVM = "libsvm"
    CSV = "csv"
    NPZ = "npz"


class Family(StrEnum):
    """Formulations that ``solve`` offers."""

    SOFT_MARGIN = "soft-margin"
    HARD_MARGIN = "hard-margin"


class FormName(StrEnum):
    """The two forms."""

    DUAL = "dual"
    PRIMAL = "primal"


class KernelName(StrEnum):
    """Kernels that need no code."""

    LINEAR = "linear"
    POLYNOMIAL = "polynomial"
    RBF = "rbf"
    SIGMOID = "sigmoid"
    PRECOMPUTED = "precomputed"


class Intercept(StrEnum):
    """How the intercept enters the objective."""

    FREE = "free"
    PENALIZED = "penalized"
    NONE = "none"


LabelColumn: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--label", help="CSV: the label column's name, or its position from 0. [default: last]"
    ),
]
