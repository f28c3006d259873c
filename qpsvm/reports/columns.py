"""Tables declared column by column: each heading beside the entry that goes under it."""

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
    """A heading, and what stands under it in the row of an item."""

    heading: Heading
    entry: Callable[[Item], Cell]


def words(title: str, text: Callable[[Item], str]) -> TableColumn[Item]:
    """A column of texts."""
    return TableColumn(Heading(title), lambda item: Cell(text(item)))


def numbers(
    title: str, number: Callable[[Item], float | None], written: Callable[[Any], str] = value
) -> TableColumn[Item]:
    """A column of numbers, sorted by what they are and shown as they are written."""

    def entry(item: Item) -> Cell:
        found = number(item)
        return Cell(written(found), found)

    return TableColumn(Heading(title, numeric=True), entry)


def cells(title: str, entry: Callable[[Item], Cell], *, numeric: bool = False) -> TableColumn[Item]:
    """A column whose text and order are two things."""
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
    """A table with one row for every item; groups of items belong together.

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
