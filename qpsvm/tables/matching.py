"""Columns of another table for a preparation, and all that is wrong with them in one message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from qpsvm.exceptions import InvalidDataError, UnreadyColumnsError
from qpsvm.files.cells import Cells, Kind, Mask, Numbers
from qpsvm.files.table import Table
from qpsvm.tables.columns import CategoryColumn
from qpsvm.tables.inspection import listed, shown
from qpsvm.tables.preparation import FeatureColumn, Preparation, kind_of


def feature_positions(
    preparation: Preparation, table: Table, others: Sequence[int]
) -> tuple[int, ...]:
    """Find the columns that a preparation uses, by their names where both have names.

    Parameters
    ----------
    preparation : Preparation
    table : Table
    others : sequence of int
        Positions of columns that the caller names as label or groups of this table.

    Raises
    ------
    InvalidDataError
        Columns are missing, or a table without names has another number of them.
    """
    columns = preparation.columns
    if preparation.width is None and table.names is not None:
        lacking = [str(c.name) for c in columns if c.name not in table.names]
        if lacking:
            raise InvalidDataError(
                f"{table.source} has no column{'s' * (len(lacking) > 1)} "
                f"{', '.join(map(repr, lacking))}, which the model was trained with; its columns "
                f"are {', '.join(table.names)} (without a header: --no-header)."
            )
        repeated = [str(c.name) for c in columns if table.names.count(str(c.name)) > 1]
        if repeated:
            raise InvalidDataError(
                f"{table.source} has several columns named {', '.join(map(repr, repeated))}, with "
                "which the model was trained; rename all but one."
            )
        return tuple(table.names.index(str(c.name)) for c in columns)
    return _positions_without_names(preparation, len(table.columns), others, table.source)


def _positions_without_names(
    preparation: Preparation, width: int, others: Sequence[int], source: str
) -> tuple[int, ...]:
    """Columns in the order of the training table, with or without its label and groups."""
    rest = tuple(i for i in range(width) if i not in others)
    absent = {i for i in (preparation.label, preparation.groups) if isinstance(i, int)}
    trained = [i for i in range(preparation.width or 0) if i not in absent]
    places = [column.name for column in preparation.columns if isinstance(column.name, int)]
    if len(trained) > len(places):  # some were left out, and only the whole width says which
        if width == preparation.width:
            return tuple(places)
        if width == len(trained):
            return tuple(trained.index(place) for place in places)
    elif len(rest) == len(preparation.columns):
        return rest
    raise InvalidDataError(
        f"{source} has {len(rest)} features, the model was trained with "
        f"{len(preparation.columns)}; name the column of the label, if there is one, with label "
        "(--label)."
    )


def matched_cells(
    preparation: Preparation, table: Table, positions: Sequence[int]
) -> list[Numbers | list[str]]:
    """Read the cells of a table that a preparation uses, for ``Preparation.features``.

    Parameters
    ----------
    preparation : Preparation
    table : Table
    positions : sequence of int
        Of the columns of the preparation.

    Raises
    ------
    UnreadyColumnsError
        Cells that are no numbers, categories that the training rows do not have, missing values
        that nothing fills: all columns, with the first row of each.
    """
    found = [
        _Column(table, i, column, preparation)
        for i, column in zip(positions, preparation.columns, strict=True)
    ]
    lines = [f"  {each.name!r}: {text}" for each in found for text in each.problems()]
    if lines:
        first = f"{table.source!r} does not fit the data that the model was trained with:"
        raise UnreadyColumnsError("\n".join([first, *lines]))
    return [each.cells for each in found]


class _Column:
    """A column of a table beside that of the preparation."""

    def __init__(
        self, table: Table, i: int, expected: FeatureColumn, preparation: Preparation
    ) -> None:
        self._table, self._expected, self._preparation = table, expected, preparation
        self._stored: Cells = table.columns[i]
        self.kind = kind_of(expected)
        self.name = table.name(i)
        self.missing = self._stored.missing(self.kind)
        self.cells: Numbers | list[str] = (
            self._stored.texts()
            if isinstance(expected, CategoryColumn)
            else self._stored.numbers(self.kind)
        )

    def problems(self) -> Iterator[str]:
        """Yield a sentence for everything that is wrong with the cells."""
        if self.missing.any() and self._preparation.missing == "error":
            yield (
                f"{self._at(self.missing)} is missing; fill it in, or fit the model with missing="
                "'median' (--missing median), which fills in what it learnt, or with 'drop', which "
                "predicts nothing for such rows"
            )
        if isinstance(self._expected, CategoryColumn):
            yield from self._unknown(self._expected)
        else:
            yield from self._mistakes()

    def _unknown(self, expected: CategoryColumn) -> Iterator[str]:
        texts = np.array(self._stored.texts(), dtype=object)
        unknown = ~np.isin(texts, np.array(expected.values, dtype=object)) & ~self.missing
        if unknown.any():
            different = list(dict.fromkeys(texts[unknown].tolist()))
            yield (
                f"{self._at(unknown)} is {listed(different, ' or ')}, which no training row has "
                f"(they have {listed(expected.values)}); correct or leave out these rows, or fit "
                "to such data"
            )

    def _mistakes(self) -> Iterator[str]:
        numbers = self._stored.numbers(self.kind)
        wrong = ~np.isfinite(numbers) & ~self.missing
        if wrong.any():
            first = int(np.flatnonzero(wrong)[0])
            text = self._stored.texts()[first]
            expected = "a truth value" if self.kind is Kind.TRUTH_VALUES else "a number"
            what = "infinite" if np.isinf(numbers[first]) else f"not {expected}"
            commas = "," in text and self._preparation.decimal != ","
            remedy = "correct the file" + ", or pass decimal=',' (--decimal ,)" * commas
            yield f"{self._at(wrong)} is {shown(text)}, which is {what}; {remedy}"
            return
        rounded = self._stored.rounded(numbers)
        if rounded is not None:
            place = self._table.place(rounded.place[0])
            yield f"{place} is {rounded.value}, {rounded.problem}"

    def _at(self, rows: Mask) -> str:
        """The first of some rows, and how many there are."""
        first, *others = np.flatnonzero(rows).tolist()
        place = self._table.place(first)
        more = f" (and {len(others)} other row{'s' * (len(others) > 1)})" if others else ""
        return place + more
