"""Tables declared by columns: a heading with a function from an item to its cell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from qpsvm.reports.blocks import Cell, Heading, Table
from qpsvm.reports.numbers import value

__all__ = ["TableColumn", "cells", "numbers", "table_of", "words"]

Item = TypeVar("Item")


@dataclass(frozen=True)
class TableColumn(Generic[Item]):
    """A heading, and the function from an item to the cell below it."""

    heading: Heading
    entry: Callable[[Item], Cell]


def words(title: str, text: Callable[[Item], str]) -> TableColumn[Item]:
    """A text column."""
    return TableColumn(Heading(title), lambda item: Cell(text(item)))


def numbers(
    title: str,
    number: Callable[[Item], float | None],
    written: Callable[[Any], str] = value,
) -> TableColumn[Item]:
    """A numeric column, sorted by value and shown as formatted text."""

    def entry(item: Item) -> Cell:
        found = number(item)
        return Cell(written(found), found)

    return TableColumn(Heading(title, numeric=True), entry)


def cells(title: str, entry: Callable[[Item], Cell], *, numeric: bool = False) -> TableColumn[Item]:
    """A column whose cells have a text and a separate sort key."""
    return TableColumn(Heading(title, numeric), entry)


def table_of(
    groups: Iterable[Iterable[Item]],
    columns: Sequence[TableColumn[Item]],
    *,
    key: str,
    caption: str,
    title: str = "",
    sortable: bool = True,
    long: bool = False,
) -> Table:
    """Build a table with one row per item, in groups.

    Examples
    --------
    >>> columns = [words("Name", str), numbers("Letters", len)]
    >>> table = table_of([["ab", "c"]], columns, key="names", caption="Names")
    >>> [[cell.text for cell in row] for row in table.rows]
    [['ab', '2'], ['c', '1']]
    """
    return Table(
        key=key,
        title=title,
        caption=caption,
        headings=tuple(column.heading for column in columns),
        bodies=tuple(
            tuple(tuple(column.entry(item) for column in columns) for item in items)
            for items in groups
        ),
        sortable=sortable,
        long=long,
    )
