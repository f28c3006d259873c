"""Fit of a preparation to a training table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from qpsvm.exceptions import UnreadyColumnsError
from qpsvm.files.cells import Kind, Numbers, Rows, label_kind
from qpsvm.files.table import Roles, Table
from qpsvm.tables.columns import CategoryColumn, NumberColumn
from qpsvm.tables.findings import require_ready
from qpsvm.tables.inspection import findings
from qpsvm.tables.preparation import FeatureColumn, Missing, Preparation, as_rows, transformer


def learn(table: Table, roles: Roles, missing: Missing, decimal: str) -> Preparation:
    """Fit a preparation to the rows of a table that have all values, or whose gaps are filled.

    Parameters
    ----------
    table : Table
    roles : Roles
    missing : {"error", "drop", "median"}
    decimal : {".", ","}
        The decimal mark with which the table was read.

    Raises
    ------
    UnreadyColumnsError
        Columns that cannot be used as they are, or no row that has all values.
    """
    require_ready(table.source, findings(table, roles, missing))
    kinds = {
        i: Kind.TEXTS if i in roles.categorical else table.columns[i].kind for i in roles.features
    }
    if missing == "drop":
        others = (i for i in (roles.label, roles.groups) if i is not None)
        labels = {i: label_kind(table.columns[i]) for i in others}
        table = table.taken(complete_rows(table, kinds | labels))
    cells = [
        table.columns[i].texts() if kind is Kind.TEXTS else table.columns[i].numbers(kind)
        for i, kind in kinds.items()
    ]
    columns = tuple(
        _column(table.key(i), kind, learnt)
        for (i, kind), learnt in zip(kinds.items(), _fitted(cells, missing), strict=True)
    )
    label, groups = (None if i is None else table.key(i) for i in (roles.label, roles.groups))
    ids = tuple(table.key(i) for i in roles.ids)
    width = None if table.names is not None else len(table.columns)
    return Preparation(columns, label, groups, ids, width, missing, decimal)


def complete_rows(table: Table, kinds: Mapping[int, Kind]) -> Rows:
    """Rows without a missing value.

    Parameters
    ----------
    table : Table
    kinds : mapping of int to Kind
        Positions of the columns that count, with the kinds that they are read as.

    Raises
    ------
    UnreadyColumnsError
        There is no such row.
    """
    gone = [table.columns[i].missing(kind) for i, kind in kinds.items()]
    rows = np.flatnonzero(~np.any(gone, axis=0))
    if len(rows) == 0:
        raise UnreadyColumnsError(
            f"{table.source!r}: a value is missing in every row, so that none is left; drop "
            "columns, or let missing='median' (--missing median) fill in what is missing."
        )
    return rows


def _fitted(
    cells: Sequence[Numbers | list[str]], missing: Missing
) -> list[tuple[Any, tuple[str, ...]]]:
    """For each column the number or value that fills gaps, None without, and its categories."""
    values = [() if isinstance(column, list) else None for column in cells]
    fitted = transformer(values, missing).fit(as_rows(cells))
    learnt: list[tuple[Any, tuple[str, ...]]] = []
    for _, step, places in fitted.transformers_:
        is_category = values[places[0]] is not None
        filling = step[0] if is_category else step
        fills = getattr(filling, "statistics_", [None] * len(places))
        categories = step[-1].categories_ if is_category else [()] * len(places)
        learnt += zip(fills, (tuple(map(str, own)) for own in categories), strict=True)
    return learnt


def _column(name: str | int, kind: Kind, learnt: tuple[Any, tuple[str, ...]]) -> FeatureColumn:
    fill, values = learnt
    if kind is Kind.TEXTS:
        return CategoryColumn(name, values, None if fill is None else str(fill))
    return NumberColumn(name, kind is Kind.TRUTH_VALUES, None if fill is None else float(fill))
