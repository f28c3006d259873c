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
    """A heading, and the function from an item to the cell below it.

    Attributes
    ----------
    heading : Heading
        The cell at the top.
    entry : callable
        From an item, which is a row, to its Cell.
    """

    heading: Heading
    entry: Callable[[Item], Cell]


def words(title: str, text: Callable[[Item], str]) -> TableColumn[Item]:
    """Declare a text column.

    Parameters
    ----------
    title : str
        The heading.
    text : callable
        From an item to its text.

    Returns
    -------
    TableColumn
        For ``table_of``; its cells have no sort key.

    Examples
    --------
    >>> column = words("Name", str.upper)
    >>> column.heading.text, column.entry("rbf").text
    ('Name', 'RBF')
    """
    return TableColumn(Heading(title), lambda item: Cell(text(item)))


def numbers(
    title: str,
    number: Callable[[Item], float | None],
    written: Callable[[Any], str] = value,
) -> TableColumn[Item]:
    """Declare a numeric column, sorted by value and shown as formatted text.

    Parameters
    ----------
    title : str
        The heading.
    number : callable
        From an item to its number, or to None.
    written : callable
        From that number to text.

    Returns
    -------
    TableColumn
        For ``table_of``; the number is the sort key of its cell.

    Examples
    --------
    >>> cell = numbers("Half", lambda n: n / 2, "{:.2f}".format).entry(3)
    >>> cell.text, cell.number
    ('1.50', 1.5)
    """

    def entry(item: Item) -> Cell:
        found = number(item)
        return Cell(written(found), found)

    return TableColumn(Heading(title, numeric=True), entry)


def cells(title: str, entry: Callable[[Item], Cell], *, numeric: bool = False) -> TableColumn[Item]:
    """Declare a column whose cells have a text and a separate sort key.

    Parameters
    ----------
    title : str
        The heading.
    entry : callable
        From an item to its Cell.
    numeric : bool
        Whether the cells are aligned as numbers.

    Returns
    -------
    TableColumn
        For ``table_of``; the cells are those of the function.

    Examples
    --------
    >>> column = cells("Length", lambda name: Cell(name, len(name)))
    >>> column.entry("rbf")
    Cell(text='rbf', number=3, verdict='')
    """
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
    detail: bool = False,
) -> Table:
    """Build a table with one row per item, in groups.

    Parameters
    ----------
    groups : iterable of iterables of items
        Items of a group stay together when the table is sorted.
    columns : sequence of TableColumn
        From left to right; the first names the rows.
    key : str
        For anchors.
    caption, title : str
        What the table shows, and its heading; no heading if empty.
    sortable : bool
        Whether the reader may want another order.
    long : bool
        Whether the table is worth folding.
    detail : bool
        Whether the short form on a terminal leaves the table out.

    Returns
    -------
    Table
        A block for a Section of a Document.

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
        detail=detail,
    )
