"""Samples, labels and identifiers of a table, by a preparation that is fitted to it or given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qpsvm.exceptions import InvalidDataError, InvalidParameterError, UnreadyColumnsError
from qpsvm.files.cells import Kind, Numbers, Rows, label_kind
from qpsvm.files.table import Roles, Table, Wanted, position_of, roles
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
    found = roles(table.source, table.names, len(table.columns), wanted)
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
    by_name = preparation.width is None and table.names is not None
    label, groups = (
        _known(table, preparation, trained, role) if named is None else position(named)
        for named, trained, role in (
            (wanted.label, preparation.label if wanted.labelled or not by_name else None, "label"),
            (wanted.groups, preparation.groups, "groups"),
        )
    )
    needs_label = wanted.labelled and label is None
    if needs_label and not by_name:
        label = _last(table, preparation, {groups, *ids})
    named = [i for i in (label, groups, *ids) if i is not None]
    features = feature_positions(preparation, table, named)
    if needs_label and by_name:
        label = _last(table, preparation, {*features, *ids, groups})
    if not ids:
        found = (_known(table, preparation, column, "id") for column in preparation.ids)
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


def _known(
    table: Table, preparation: Preparation, column: str | int | None, role: str
) -> int | None:
    """The position of a column of the training table in another one, if it has it.

    Raises
    ------
    InvalidDataError
        Several columns have its name.
    """
    if not isinstance(column, str):
        return column if len(table.columns) == preparation.width else None
    places = [i for i, name in enumerate(table.names or ()) if name == column]
    if len(places) > 1:
        from_end = " or ".join(str(place - len(table.columns)) for place in places)
        raise InvalidDataError(
            f"{table.source!r} has {len(places)} columns named {column!r}, as the {role} of the "
            f"training data; name one by its position with {role} (--{role}): {from_end}."
        )
    return places[0] if places else None


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
        rows = complete_rows(table, kinds | {i: label_kind(table.columns[i]) for i in others})
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
    missing = cells.missing(label_kind(cells))
    if missing.any():
        place = table.place(int(np.flatnonzero(missing)[0]))
        raise UnreadyColumnsError(
            f"{table.source!r} {place}, column {table.name(position)!r} is missing; fill in the "
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
