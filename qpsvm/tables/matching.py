"""Columns of another table for a preparation, and all that is wrong with them in one message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from qpsvm.exceptions import InvalidDataError, UnreadyColumnsError
from qpsvm.files.cells import Kind, Mask, Numbers
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
    cells, lines = list[Numbers | list[str]](), list[str]()
    for i, column in zip(positions, preparation.columns, strict=True):
        stored, kind = table.columns[i], kind_of(column)
        is_category = isinstance(column, CategoryColumn)
        cells.append(stored.texts() if is_category else stored.numbers(kind))
        for text in _problems(table, i, column, preparation):
            lines.append(f"  {table.name(i)!r}: {text}")
    if lines:
        first = f"{table.source!r} does not fit the data that the model was trained with:"
        raise UnreadyColumnsError("\n".join([first, *lines]))
    return cells


def _problems(
    table: Table, i: int, expected: FeatureColumn, preparation: Preparation
) -> Iterator[str]:
    """Yield a sentence for everything that is wrong with the cells of a column."""
    stored, kind = table.columns[i], kind_of(expected)
    missing = stored.missing(kind)
    if missing.any() and preparation.missing == "error":
        yield (
            f"{_first_of(table, missing)} is missing; fill it in, or fit the model with missing="
            "'median' (--missing median), which fills in what it learnt, or with 'drop', which "
            "predicts nothing for such rows"
        )
    if isinstance(expected, CategoryColumn):
        texts = np.array(stored.texts(), dtype=object)
        unknown = ~np.isin(texts, np.array(expected.values, dtype=object)) & ~missing
        if unknown.any():
            different = list(dict.fromkeys(texts[unknown].tolist()))
            yield (
                f"{_first_of(table, unknown)} is {listed(different, ' or ')}, which no training "
                f"row has (they have {listed(expected.values)}); correct or leave out these rows, "
                "or fit to such data"
            )
        return
    numbers = stored.numbers(kind)
    wrong = ~np.isfinite(numbers) & ~missing
    rounded = None if wrong.any() else stored.rounded(numbers)
    if wrong.any():
        first = int(np.flatnonzero(wrong)[0])
        text = stored.texts()[first]
        meant = "a truth value" if kind is Kind.TRUTH_VALUES else "a number"
        what = "infinite" if np.isinf(numbers[first]) else f"not {meant}"
        commas = "," in text and preparation.decimal != ","
        remedy = "correct the file" + ", or pass decimal=',' (--decimal ,)" * commas
        yield f"{_first_of(table, wrong)} is {shown(text)}, which is {what}; {remedy}"
    elif rounded is not None:
        yield f"{table.place(rounded.place[0])} is {rounded.value}, {rounded.problem}"


def _first_of(table: Table, rows: Mask) -> str:
    """The place of the first of some rows, and how many there are."""
    first, *others = np.flatnonzero(rows).tolist()
    more = f" (and {len(others)} other row{'s' * (len(others) > 1)})" if others else ""
    return table.place(first) + more
