"""Columns as a preparation knows them: plain numbers and texts, checked when they are built."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from qpsvm.exceptions import InvalidParameterError

Role: TypeAlias = Literal["feature", "label", "groups", "id", "left out"]


@dataclass(frozen=True)
class TableColumn:
    """A column of a table that was read: its name, the kind of its cells, and its role.

    Attributes
    ----------
    name : str
        ``column 3`` in a file without names.
    kind : str
        "numbers", "truth values", "categories", "texts", "dates", ...
    role : {"feature", "label", "groups", "id", "left out"}
    """

    name: str
    kind: str
    role: Role


@dataclass(frozen=True)
class NumberColumn:
    """A feature that is a number.

    Attributes
    ----------
    name : str or int
        The name of the column, or its position in a file without names.
    truth : bool
        Whether the cells are ``True`` and ``False``, read as 1 and 0.
    fill : float or None
        The number in place of a missing one: the median of the training rows.
    """

    name: str | int
    truth: bool = False
    fill: float | None = None

    def __post_init__(self) -> None:
        require_name(self.name)
        if type(self.truth) is not bool:
            raise InvalidParameterError(f"truth is {self.truth!r}; pass True or False.")
        if self.fill is not None and not (
            isinstance(self.fill, int | float) and math.isfinite(self.fill)
        ):
            raise InvalidParameterError(f"fill is {self.fill!r}; pass a finite number or None.")


@dataclass(frozen=True)
class CategoryColumn:
    """A column with one feature per value: 1 in the rows with this value, 0 in the others.

    Attributes
    ----------
    name : str or int
        The name of the column, or its position in a file without names.
    values : tuple of str
        The values in the training rows, ascending.
    fill : str or None
        The value in place of a missing one: the most frequent one of the training rows.
    """

    name: str | int
    values: tuple[str, ...]
    fill: str | None = None

    def __post_init__(self) -> None:
        require_name(self.name)
        values = self.values
        if not (
            isinstance(values, tuple)
            and values
            and all(isinstance(value, str) and value for value in values)
            and all(one < other for one, other in pairwise(values))
        ):
            raise InvalidParameterError(
                f"values are {str(values)[:80]}; pass a tuple of different texts in ascending "
                "order, none empty."
            )
        if self.fill is not None and self.fill not in values:
            raise InvalidParameterError(f"fill is {self.fill!r}; pass one of the values, or None.")


def require_name(name: object) -> None:
    """Refuse what is no name and no position of a column.

    Raises
    ------
    InvalidParameterError
    """
    if not (isinstance(name, str) or (type(name) is int and name >= 0)):
        raise InvalidParameterError(
            f"a column is {name!r}; pass its name, or its position from 0 in a file without names."
        )


def written_name(name: str | int) -> str:
    """A column's name for messages and output; ``column 3`` for a position."""
    return name if isinstance(name, str) else f"column {name}"
