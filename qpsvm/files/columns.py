"""Roles of a table's columns: features, label, and groups of samples."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from qpsvm.exceptions import DataFileError, InvalidParameterError

Column: TypeAlias = str | int | None
"""A column by its name, or by its position from 0 (negative: from the end)."""


_OF_INDEX = re.compile(r"Unnamed: \d+|__index_level_\d+__")
"""Names that pandas gives to columns without one."""


@dataclass(frozen=True)
class Wanted:
    """Columns that the caller names as label or groups.

    Attributes
    ----------
    label : str, int or None
        None is the last column that is not that of the groups, if there are labels.
    groups : str, int or None
    labelled : bool
        Whether there are labels. Without, ``label`` names a column to be left out.
    """

    label: Column = None
    groups: Column = None
    labelled: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are given as text: by names, or positions."""
        return tuple(column for column in (self.label, self.groups) if isinstance(column, str))


@dataclass(frozen=True)
class Roles:
    """Positions of the columns.

    Attributes
    ----------
    label, groups : int or None
    features : tuple of int
    """

    label: int | None
    groups: int | None
    features: tuple[int, ...]


def roles(
    source: str,
    names: tuple[str, ...] | None,
    width: int,
    wanted: Wanted,
    *,
    header_line: int | None = None,
) -> Roles:
    """Find the columns of a table.

    Parameters
    ----------
    source : str
        The file, for messages.
    names : tuple of str or None
        Of all columns; None without a header.
    width : int
        Number of columns.
    wanted : Wanted
    header_line : int, optional
        The line with the names, for messages.

    Raises
    ------
    InvalidParameterError
        A column that does not exist or is not the only one of its name, or one with two roles.
    DataFileError
        No column is left for the features; a feature without a name of its own.

    Examples
    --------
    >>> roles("a.csv", ("a", "b", "y"), 3, Wanted())
    Roles(label=2, groups=None, features=(0, 1))
    >>> roles("a.csv", ("a", "b", "y"), 3, Wanted(label="a", groups=-1))
    Roles(label=0, groups=2, features=(1,))
    """
    groups = _position(source, wanted.groups, names, width)
    label = _position(source, wanted.label, names, width)
    if label is None and wanted.labelled:
        label = width - 1 if groups != width - 1 else width - 2
    if label is not None and label == groups:
        raise InvalidParameterError(
            f"{source!r}: column {label} is named as the label and as the groups; name two columns."
        )
    features = tuple(i for i in range(width) if i not in (label, groups))
    if not features or (label is not None and label < 0):
        raise DataFileError(
            f"{source!r} has {'one column' if width == 1 else f'{width} columns'}; a feature"
            f"{' and a label' * wanted.labelled} at least are needed (columns are separated by a "
            "comma, a semicolon or a tab)."
        )
    if names is not None:
        _require_names(source, names, features, header_line)
    return Roles(label, groups, features)


def _require_names(
    source: str, names: tuple[str, ...], features: tuple[int, ...], line: int | None
) -> None:
    """Refuse features whose name is repeated, and the unnamed column of a pandas index."""
    where = source if line is None else f"{source!r} line {line}"
    remedy = "" if line is None else " (if it is a sample: header=False or --no-header)"
    for i in features:
        same = [j for j, name in enumerate(names) if name == names[i]]
        if not names[i] or _OF_INDEX.fullmatch(names[i]):
            raise DataFileError(
                f"{where}: column {i} (counted from 0) has no name but {names[i]!r}{remedy}. The "
                "index of a pandas frame is written so; leave it out, frame.to_csv(index=False), "
                "or name the column."
            )
        if len(same) > 1:
            raise DataFileError(
                f"{where}: columns {' and '.join(map(str, same))} (counted from 0) are both named "
                f"{names[i]!r}{remedy}. A model finds columns by their names; rename all but one."
            )


def _position(source: str, column: Column, names: tuple[str, ...] | None, width: int) -> int | None:
    if column is None:
        return None
    if isinstance(column, str) and names is not None and column in names:
        if _is_other_position(column, names, width):
            raise InvalidParameterError(
                f"{source!r}: {column!r} is the name of column {names.index(column)} and the "
                f"position of column {int(column) % width} (counted from 0); name the column by "
                f"its position from the end, {names.index(column) - width} or "
                f"{int(column) % width - width}."
            )
        if names.count(column) > 1:
            raise InvalidParameterError(
                f"{source!r} has {names.count(column)} columns named {column!r}; name the column "
                "by its position, counted from 0."
            )
        return names.index(column)
    try:
        position = int(column)
    except ValueError:
        known = f"its columns are {', '.join(names)}" if names else "it has no header"
        raise InvalidParameterError(
            f"{source!r} has no column named {column!r}: {known}; name one, or give a position "
            "counted from 0."
        ) from None
    if not -width <= position < width:
        raise InvalidParameterError(
            f"{source!r} has no column {position}; it has {width}, counted from 0 to {width - 1}."
        )
    return position % width


def _is_other_position(column: str, names: tuple[str, ...], width: int) -> bool:
    """Whether the name of a column is also the position of another one."""
    try:
        position = int(column)
    except ValueError:
        return False
    return 0 <= position < width and position != names.index(column)
