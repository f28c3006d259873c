"""Columns of tables by what their cells hold: words, or numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from qpsvm.reports.blocks import Cell, TableColumn
from qpsvm.reports.numbers import value

__all__ = ["numbers", "words"]

Item = TypeVar("Item")


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
        Its cells have no sort key.

    Examples
    --------
    >>> column = words("Name", str.upper)
    >>> column.title, column.entry("rbf").text
    ('Name', 'RBF')
    """
    return TableColumn(title, lambda item: Cell(text(item)))


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
        The number is the sort key of its cell.

    Examples
    --------
    >>> cell = numbers("Half", lambda n: n / 2, "{:.2f}".format).entry(3)
    >>> cell.text, cell.number
    ('1.50', 1.5)
    """

    def entry(item: Item) -> Cell:
        found = number(item)
        return Cell(written(found), found)

    return TableColumn(title, entry, numeric=True)
