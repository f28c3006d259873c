"""Options that say which columns of a table are used, and how."""

from __future__ import annotations

import csv
import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

if TYPE_CHECKING:
    from qpsvm.datasets import DataFile

PANEL = "Columns of a table (CSV, Parquet)"


class Missing(StrEnum):
    """Policies for missing values."""

    ERROR = "error"
    DROP = "drop"
    MEDIAN = "median"


class Decimal(StrEnum):
    """Decimal marks."""

    POINT = "."
    COMMA = ","


def _columns_option(name: str, help: str) -> Any:
    return typer.Option(f"--{name}", help=help, rich_help_panel=PANEL)


DecimalOption: TypeAlias = Annotated[
    Decimal | None,
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
        Missing,
        typer.Option(
            help="Missing values: refuse them, drop their rows, or fill in the median.",
            rich_help_panel=PANEL,
        ),
    ] = Missing.ERROR,
    decimal: DecimalOption = None,
) -> dict[str, Any]:
    """The options by name."""
    return dict(locals())


PARAMETERS: Mapping[str, inspect.Parameter] = {
    name: parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
    for name, parameter in inspect.signature(_table_options, eval_str=True).parameters.items()
}
"""The options as parameters of a command, by name."""


@dataclass(frozen=True)
class TableOptions:
    """Columns of a table as the command line names them.

    Attributes
    ----------
    features, drop, id, categorical : tuple of str
    missing : {"error", "drop", "median"}
    decimal : {".", ","} or None
    """

    features: tuple[str, ...]
    drop: tuple[str, ...]
    id: tuple[str, ...]
    categorical: tuple[str, ...]
    missing: Any
    decimal: str | None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> TableOptions:
        """Build them from the values of the options by name."""
        lists = ("features", "drop", "id", "categorical")
        split = {name: columns_of(given[name]) for name in lists}
        decimal = given["decimal"]
        return cls(
            **split,
            missing=given["missing"].value,
            decimal=None if decimal is None else decimal.value,
        )

    def load(self, file: Path, **options: Any) -> DataFile:
        """Read a data file with these columns; other options as for ``qpsvm.datasets.load``."""
        from qpsvm import datasets

        return datasets.load(file, **vars(self), **options)


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
    """Give a command with a parameter ``table`` the options of which it is made."""
    own = inspect.signature(command, eval_str=True).parameters.values()
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [p.replace(kind=keyword) for p in own if p.name != "table"]

    @functools.wraps(command)
    def with_options(**given: Any) -> None:
        table = TableOptions.of({name: given.pop(name) for name in PARAMETERS})
        command(**given, table=table)

    signature = inspect.Signature([*parameters, *PARAMETERS.values()])
    with_options.__signature__ = signature  # type: ignore[attr-defined]
    with_options.__annotations__ = {p.name: p.annotation for p in signature.parameters.values()}
    return with_options
