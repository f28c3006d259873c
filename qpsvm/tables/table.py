"""Content of a data file: a table of cells, the roles of its columns, the samples."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from qpsvm.exceptions import DataFileError, InvalidParameterError
from qpsvm.numerics.arrays import Index
from qpsvm.tables.cells import Cells

Column: TypeAlias = str | int
"""A column by its name, or by its position from 0 (negative: from the end)."""

Columns: TypeAlias = tuple[Column, ...]
"""Columns by their names or positions."""


@dataclass(frozen=True, eq=False)
class FileTable:
    """Columns of a file with their names, and the places of the rows for messages.

    Attributes
    ----------
    source : str
        The file.
    names : tuple of str or None
        One per column; None without a header.
    columns : tuple of Cells
    places : sequence of int
        For each row its line in a CSV file, or its number from 0 in a Parquet file.
    unit : str
        Word for a place: "line", or "row" in a file without lines.
    header_line : int or None
        The line with the names.
    """

    source: str
    names: tuple[str, ...] | None
    columns: tuple[Cells, ...]
    places: Sequence[int]
    unit: str
    header_line: int | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.places)

    def name(self, position: int) -> str:
        """Name of a column for messages and output: its own, or ``column 3``."""
        return (self.names[position] if self.names else "") or f"column {position}"

    def reference(self, position: int) -> str:
        """Text by which a caller names a column: its name, or a position."""
        for text in (self.names[position] if self.names else "", str(position)):
            with suppress(InvalidParameterError):
                if text and self.position(text) == position:
                    return text
        return str(position - len(self.columns))

    def named(self, name: str | int) -> list[int]:
        """Positions of the columns of a name."""
        return [i for i, own in enumerate(self.names or ()) if own == name]

    def position(self, column: Column) -> int:
        """Find the position of a column from 0.

        Raises
        ------
        InvalidParameterError
            There is no such column, or there are several of its name.
        """
        position, width = _as_position(column), len(self.columns)
        same = self.named(column)
        if same:
            if position is not None and 0 <= position < width and position != same[0]:
                raise InvalidParameterError(
                    f"{self.source!r}: {column!r} is the name of column {same[0]} and the position "
                    f"of column {position} (counted from 0); name the column by its position from "
                    f"the end, {same[0] - width} or {position - width}."
                )
            if len(same) > 1:
                raise InvalidParameterError(
                    f"{self.source!r} has {len(same)} columns named {column!r}; name the column by "
                    "its position, counted from 0."
                )
            return same[0]
        if position is None:
            known = f"its columns are {', '.join(self.names)}" if self.names else "it has no header"
            raise InvalidParameterError(
                f"{self.source!r} has no column named {column!r}: {known}; name one, or give a "
                "position counted from 0."
            )
        if not -width <= position < width:
            raise InvalidParameterError(
                f"{self.source!r} has no column {position}; it has {width}, counted from 0 to "
                f"{width - 1}."
            )
        return position % width

    def place(self, row: int) -> str:
        """The place of a row in the file: ``line 7``, or ``row 5 (counted from 0)``."""
        counted = " (counted from 0)" if self.unit == "row" else ""
        return f"{self.unit} {self.places[row]}{counted}"

    def key(self, position: int) -> str | int:
        """Name of a column, or its position in a file without names: where other tables have it."""
        return position if self.names is None else self.names[position]

    def taken(self, rows: Index) -> FileTable:
        """The table of some rows only."""
        columns = tuple(column.taken(rows) for column in self.columns)
        return replace(self, columns=columns, places=[self.places[i] for i in rows.tolist()])


@dataclass(frozen=True)
class Wanted:
    """Columns that the caller names, by what they are for.

    Attributes
    ----------
    label : str, int or None
        None is the last column that is named for nothing else, if there are labels.
    groups : str, int or None
    labelled : bool
        Whether there are labels. Without, ``label`` names a column to be left out.
    features : tuple of column
        The only features, beside those of ``categorical``; empty for all columns that are named
        for nothing else.
    drop, ids : tuple of column
        Columns that are no features; identifiers are kept beside the samples.
    categorical : tuple of column
        Features whose values are categories.
    """

    label: Column | None = None
    groups: Column | None = None
    labelled: bool = True
    features: Columns = ()
    drop: Columns = ()
    ids: Columns = ()
    categorical: Columns = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are given as text: by names, or positions."""
        lists = (self.features, self.drop, self.ids, self.categorical)
        given = (self.label, self.groups, *(column for columns in lists for column in columns))
        return tuple(column for column in given if isinstance(column, str))


@dataclass(frozen=True)
class Roles:
    """Positions of the columns.

    Attributes
    ----------
    label, groups : int or None
    features : tuple of int
        Ascending.
    categorical : tuple of int
        Those among the features whose values are categories.
    ids : tuple of int
    label_was_named : bool
        False where the label is the last column because none was named.
    """

    label: int | None
    groups: int | None
    features: tuple[int, ...]
    categorical: tuple[int, ...] = ()
    ids: tuple[int, ...] = ()
    label_was_named: bool = field(default=True, repr=False)


# --- the roles of columns -----------------------------------------------------------------------


def roles(table: FileTable, wanted: Wanted) -> Roles:
    """Find the columns that are wanted in a table.

    Parameters
    ----------
    table : FileTable
    wanted : Wanted

    Raises
    ------
    InvalidParameterError
        A column that does not exist or is not the only one of its name, or one with two roles.
    DataFileError
        No column is left for the features.

    Examples
    --------
    >>> from qpsvm.tables.cells import TextCells
    >>> table = FileTable("a.csv", ("id", "city", "y"), (TextCells(["u"]),) * 3, [2], "line")
    >>> roles(table, Wanted())
    Roles(label=2, groups=None, features=(0, 1), categorical=(), ids=())
    >>> roles(table, Wanted(ids=("id",), categorical=("city",)))
    Roles(label=2, groups=None, features=(1,), categorical=(1,), ids=(0,))
    """

    def positions(columns: Columns) -> tuple[int, ...]:
        return tuple(dict.fromkeys(map(table.position, columns)))

    source, width = table.source, len(table.columns)
    given = {
        "the label": () if wanted.label is None else (wanted.label,),
        "the groups": () if wanted.groups is None else (wanted.groups,),
        "an identifier": wanted.ids,
        "dropped": wanted.drop,
        "a feature": (*wanted.features, *wanted.categorical),
    }
    found = {role: positions(columns) for role, columns in given.items()}
    taken: dict[int, str] = {}
    for role, places in found.items():
        for place in places:
            if place in taken:
                raise InvalidParameterError(
                    f"{source!r}: column {place} is named as {taken[place]} and as {role}; a "
                    "column has one role."
                )
            taken[place] = role
    label = next(iter(found["the label"]), None)
    if label is None and wanted.labelled:
        label = max((place for place in range(width) if place not in taken), default=-1)
    without_role = (place for place in range(width) if place not in taken and place != label)
    named = found["a feature"]
    only = bool(wanted.features)
    features = tuple(sorted(named if only else (*named, *without_role)))
    if not features or label == -1:
        raise DataFileError(
            f"{source!r} has {'one column' if width == 1 else f'{width} columns'}, of which none "
            f"is left as a feature{' or none as the label' * wanted.labelled}; name fewer for "
            "other roles (columns are separated by commas, semicolons, tabs, bars or spaces)."
        )
    return Roles(
        label,
        next(iter(found["the groups"]), None),
        features,
        positions(wanted.categorical),
        found["an identifier"],
        wanted.label is not None,
    )


def _as_position(column: str | int) -> int | None:
    """The position that a caller names, or None for a text that is no integer."""
    is_name = isinstance(column, str) and not re.fullmatch(r"\s*[+-]?[0-9]+\s*", column)
    return None if is_name else int(column)
