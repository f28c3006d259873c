"""Samples, labels and identifiers of a table, by a preparation that is fitted to it or given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qpsvm.exceptions import InvalidDataError, InvalidParameterError, UnreadyColumnsError
from qpsvm.files.cells import Kind, Numbers, Rows
from qpsvm.files.columns import Roles, Wanted, position_of, roles
from qpsvm.files.table import Table
from qpsvm.files.text import Labels
from qpsvm.tables.columns import CategoryColumn, Role, TableColumn, written_name
from qpsvm.tables.learning import complete_rows, learn
from qpsvm.tables.matching import feature_positions, matched_cells
from qpsvm.tables.preparation import Missing, Preparation, kind_of


@dataclass(frozen=True, eq=False)
class TableSamples:
    """The content of a table.

    Attributes
    ----------
    X : array of shape (n, d)
    y, groups : array of shape (n,) or None
    preparation : Preparation
    columns : tuple of TableColumn
        All columns of the file.
    ids : mapping of str to list of str
        Identifiers of all rows of the file by the names of their columns, those of rows that were
        left out included.
    rows : array of shape (n,)
        The rows of the file that are samples, counted from 0.
    """

    X: Numbers
    y: Labels | None
    groups: Labels | None
    preparation: Preparation
    columns: tuple[TableColumn, ...]
    ids: dict[str, list[str]]
    rows: Rows


def learnt_samples(table: Table, wanted: Wanted, missing: Missing, decimal: str) -> TableSamples:
    """Fit a preparation to a table and apply it.

    Raises
    ------
    InvalidDataError, InvalidParameterError, DataFileError
        As ``qpsvm.datasets.load``.
    """
    found = roles(
        table.source,
        table.names,
        len(table.columns),
        wanted,
        header_line=table.header_line,
    )
    return _samples(table, learn(table, found, missing, decimal), found, wanted.labelled)


def prepared_samples(table: Table, wanted: Wanted, preparation: Preparation) -> TableSamples:
    """Apply a preparation that was fitted to another table.

    Columns that it does not use may be there or not.

    Parameters
    ----------
    table : Table
    wanted : Wanted
        Label, groups and identifiers if their columns have other names than in the training table.
    preparation : Preparation

    Raises
    ------
    InvalidDataError, InvalidParameterError
        As ``qpsvm.datasets.load``.
    """

    def position(column: str | int) -> int:
        return position_of(table.source, column, table.names, len(table.columns))

    ids = tuple(position(column) for column in wanted.ids)
    label, groups = (
        _known(table, preparation, trained) if named is None else position(named)
        for named, trained in (
            (wanted.label, preparation.label),
            (wanted.groups, preparation.groups),
        )
    )
    needs_label = wanted.labelled and label is None
    by_name = preparation.width is None and table.names is not None
    if needs_label and not by_name:
        label = _last(table, preparation, {groups, *ids})
    named = [i for i in (label, groups, *ids) if i is not None]
    features = feature_positions(preparation, table, named)
    if needs_label and by_name:
        label = _last(table, preparation, {*features, *ids, groups})
    if not ids:
        found = (_known(table, preparation, column) for column in preparation.ids)
        ids = tuple(i for i in found if i is not None)
    if label in features:
        raise InvalidParameterError(
            f"{table.source!r}: column {table.name(label)!r} is named as the label, and the model "
            "was trained with it as a feature; name another one."
        )
    categorical = tuple(
        i
        for i, column in zip(features, preparation.columns, strict=True)
        if isinstance(column, CategoryColumn)
    )
    found_roles = Roles(label, groups, features, categorical, ids)
    return _samples(table, preparation, found_roles, wanted.labelled)


def _known(table: Table, preparation: Preparation, column: str | int | None) -> int | None:
    """The position of a column of the training table in another one, if it has it."""
    if isinstance(column, str):
        return table.names.index(column) if table.names and column in table.names else None
    return column if len(table.columns) == preparation.width else None


def _last(table: Table, preparation: Preparation, taken: set[int | None]) -> int:
    """The last column without another role, where the preparation names no label.

    Raises
    ------
    InvalidDataError
        The label's column of the training table is not there; or no column is left.
    """
    free = [i for i in range(len(table.columns)) if i not in taken]
    if preparation.label is not None or not free:
        known = preparation.label
        named = "" if known is None else f" {written_name(known)!r}, that of the training data"
        raise InvalidDataError(
            f"{table.source!r} has no column of labels{named}; name one with label (--label)."
        )
    return free[-1]


def _samples(table: Table, preparation: Preparation, found: Roles, labelled: bool) -> TableSamples:
    kinds = dict(zip(found.features, map(kind_of, preparation.columns), strict=True))
    others = [i for i in (found.label if labelled else None, found.groups) if i is not None]
    whole, rows = table, np.arange(table.n_rows)
    if preparation.missing == "drop":
        rows = complete_rows(table, kinds | dict.fromkeys(others, Kind.TEXTS))
        table = table.taken(rows) if len(rows) < table.n_rows else table
    X = preparation.features(matched_cells(preparation, table, found.features))
    return TableSamples(
        X,
        _labels(table, found.label) if labelled else None,
        _labels(table, found.groups),
        preparation,
        tuple(_described(whole, found, kinds, i) for i in range(len(whole.columns))),
        {whole.name(i): whole.columns[i].texts() for i in found.ids},
        rows,
    )


def _labels(table: Table, position: int | None) -> Labels | None:
    """The labels or groups in a column.

    Raises
    ------
    UnreadyColumnsError
        One is missing.
    """
    if position is None:
        return None
    cells = table.columns[position]
    missing = cells.missing(Kind.TEXTS)
    if missing.any():
        place = table.place(int(np.flatnonzero(missing)[0]))
        raise UnreadyColumnsError(
            f"{table.source!r} {place}, column {table.name(position)!r} is empty; fill in the "
            "label or group, or leave out the row."
        )
    return cells.labels(table.source)


def _described(table: Table, found: Roles, kinds: dict[int, Kind], i: int) -> TableColumn:
    roles: Sequence[tuple[Role, tuple[int | None, ...]]] = (
        ("label", (found.label,)),
        ("groups", (found.groups,)),
        ("id", found.ids),
        ("feature", found.features),
    )
    role: Role = next((role for role, places in roles if i in places), "left out")
    kind = "categories" if i in found.categorical else kinds.get(i, table.columns[i].kind).value
    return TableColumn(table.name(i), kind, role)
