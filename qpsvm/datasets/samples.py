"""Content of data files: samples, labels and identifiers, made of tables by a preparation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from qpsvm.display import short_repr
from qpsvm.exceptions import InvalidDataError, InvalidParameterError, UnreadyColumnsError
from qpsvm.numerics.arguments import Labels
from qpsvm.numerics.arrays import Index, Mask, Matrix, Vector
from qpsvm.tables.cells import CellKind, label_kind, read_cells
from qpsvm.tables.inspection import listed, require_ready, shown
from qpsvm.tables.preparation import (
    CategoryColumn,
    FeatureColumn,
    Missing,
    Preparation,
    Role,
    TableColumn,
    learnt_column,
    written_name,
)
from qpsvm.tables.table import FileTable, Roles, Wanted, roles

Format: TypeAlias = Literal["libsvm", "csv", "npz", "parquet"]


@short_repr
@dataclass(frozen=True, eq=False)
class DataFile:
    """The content of a data file: samples, labels and feature names.

    Attributes
    ----------
    X : array or CSR array of shape (n, d)
    y : array of shape (n,) or None
        Integers where every label is one, exact whatever their size, then numbers, otherwise text.
    groups : array of shape (n,) or None
        The group of every sample, such as the query of a ranking.
    feature_names : tuple of str or None
        From a CSV header, or of the columns of a Parquet file; ``city=Paris`` for the value of a
        category. None without a header.
    source : str
        The path as given.
    format : "libsvm", "csv", "npz" or "parquet"
    columns : tuple of TableColumn or None
        Name, kind and role of every column of a CSV or Parquet file.
    preparation : Preparation or None
        The way from the columns of a CSV or Parquet file to the features: ``load(other,
        preparation=...)`` reads another file in the same way.
    ids : mapping of str to list of str
        The columns named as ``id``, of all rows of the file.
    rows : array of shape (n,) or None
        The rows of a CSV or Parquet file that are samples, counted from 0; fewer than the file has
        where a value is missing and ``missing="drop"``.
    n_rows : int or None
        Number of rows of a CSV or Parquet file.
    zero_based : bool or None
        LIBSVM: whether column j has the index j in the file, and not j + 1.
    """

    X: Matrix
    y: Labels | None
    groups: Labels | None
    feature_names: tuple[str, ...] | None
    source: str
    format: Format
    columns: tuple[TableColumn, ...] | None = None
    preparation: Preparation | None = None
    ids: Mapping[str, list[str]] = field(default_factory=dict)
    rows: Index | None = None
    n_rows: int | None = None
    zero_based: bool | None = None


# --- the samples of a table --------------------------------------------------------------------


def learnt_samples(table: FileTable, wanted: Wanted, missing: Missing, decimal: str) -> DataFile:
    """Fit a preparation to a table and apply it.

    Raises
    ------
    InvalidDataError, InvalidParameterError, DataFileError
        As ``qpsvm.datasets.load``.
    """
    found = roles(table, wanted)
    return _samples(table, learn(table, found, missing, decimal), found, wanted.labelled)


def prepared_samples(table: FileTable, wanted: Wanted, preparation: Preparation) -> DataFile:
    """Apply a preparation that was fitted to another table.

    Columns that it does not use may be there or not.

    Parameters
    ----------
    table : FileTable
    wanted : Wanted
        Label, groups and identifiers if their columns have other names than in the training table.
    preparation : Preparation

    Raises
    ------
    InvalidDataError, InvalidParameterError
        As ``qpsvm.datasets.load``.
    """
    ids = tuple(map(table.position, wanted.ids))
    by_name = preparation.width is None and table.names is not None
    label, groups = (
        _known(table, preparation, trained, role) if named is None else table.position(named)
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
    columns = zip(features, preparation.columns, strict=True)
    categorical = tuple(i for i, column in columns if column.kind is CellKind.TEXTS)
    found_roles = Roles(label, groups, features, categorical, ids)
    return _samples(table, preparation, found_roles, wanted.labelled)


def _known(
    table: FileTable, preparation: Preparation, column: str | int | None, role: str
) -> int | None:
    """The position of a column of the training table in another one, if it has it.

    Raises
    ------
    InvalidDataError
        Several columns have its name.
    """
    if not isinstance(column, str):
        return column if len(table.columns) == preparation.width else None
    places = table.named(column)
    if len(places) > 1:
        from_end = " or ".join(str(place - len(table.columns)) for place in places)
        raise InvalidDataError(
            f"{table.source!r} has {len(places)} columns named {column!r}, as the {role} of the "
            f"training data; name one by its position with {role} (--{role}): {from_end}."
        )
    return places[0] if places else None


def _last(table: FileTable, preparation: Preparation, taken: set[int | None]) -> int:
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


def _samples(table: FileTable, preparation: Preparation, found: Roles, labelled: bool) -> DataFile:
    kinds = {i: c.kind for i, c in zip(found.features, preparation.columns, strict=True)}
    others = [i for i in (found.label if labelled else None, found.groups) if i is not None]
    whole, rows = table, np.arange(table.n_rows)
    if preparation.missing == "drop":
        rows = complete_rows(table, kinds | {i: label_kind(table.columns[i]) for i in others})
        table = table.taken(rows) if len(rows) < table.n_rows else table
    X = preparation.features(matched_cells(preparation, table, found.features))
    return DataFile(
        X,
        _labels(table, found.label) if labelled else None,
        _labels(table, found.groups),
        None if table.names is None else preparation.feature_names,
        table.source,
        "csv" if table.unit == "line" else "parquet",
        tuple(_described(whole, found, kinds, i) for i in range(len(whole.columns))),
        preparation,
        {whole.name(i): whole.columns[i].texts() for i in found.ids},
        rows,
        whole.n_rows,
    )


def _labels(table: FileTable, position: int | None) -> Labels | None:
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


def _described(table: FileTable, found: Roles, kinds: dict[int, CellKind], i: int) -> TableColumn:
    roles: Sequence[tuple[Role, tuple[int | None, ...]]] = (
        ("label", (found.label,)),
        ("groups", (found.groups,)),
        ("id", found.ids),
        ("feature", found.features),
    )
    role: Role = next((role for role, places in roles if i in places), "left out")
    kind = "categories" if i in found.categorical else kinds.get(i, table.columns[i].kind).value
    return TableColumn(table.name(i), kind, role)


# --- a preparation that is given ---------------------------------------------------------------


def feature_positions(
    preparation: Preparation, table: FileTable, others: Sequence[int]
) -> tuple[int, ...]:
    """Find the columns that a preparation uses, by their names where both have names.

    Parameters
    ----------
    preparation : Preparation
    table : FileTable
    others : sequence of int
        Positions of columns that the caller names as label or groups of this table.

    Raises
    ------
    InvalidDataError
        Columns are missing, or a table without names has another number of them.
    """
    if preparation.width is None and table.names is not None:
        places = {column.name: table.named(column.name) for column in preparation.columns}
        lacking = [name for name, own in places.items() if not own]
        if lacking:
            raise InvalidDataError(
                f"{table.source} has no column{'s' * (len(lacking) > 1)} "
                f"{', '.join(map(repr, lacking))}, which the model was trained with; its columns "
                f"are {', '.join(table.names)} (without a header: --no-header)."
            )
        repeated = [name for name, own in places.items() if len(own) > 1]
        if repeated:
            raise InvalidDataError(
                f"{table.source} has several columns named {', '.join(map(repr, repeated))}, with "
                "which the model was trained; rename all but one."
            )
        return tuple(first for first, *_ in places.values())
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
    preparation: Preparation, table: FileTable, positions: Sequence[int]
) -> list[Vector | list[str]]:
    """Read the cells of a table that a preparation uses, for ``Preparation.features``.

    Parameters
    ----------
    preparation : Preparation
    table : FileTable
    positions : sequence of int
        Of the columns of the preparation.

    Raises
    ------
    UnreadyColumnsError
        Cells that are no numbers, categories that the training rows do not have, missing values
        that nothing fills: all columns, with the first row of each.
    """
    cells, lines = list[Vector | list[str]](), list[str]()
    for i, column in zip(positions, preparation.columns, strict=True):
        cells.append(read_cells(table.columns[i], column.kind))
        for text in _problems(table, i, column, preparation):
            lines.append(f"  {table.name(i)!r}: {text}")
    if lines:
        first = f"{table.source!r} does not fit the data that the model was trained with:"
        raise UnreadyColumnsError("\n".join([first, *lines]))
    return cells


def _problems(
    table: FileTable, i: int, expected: FeatureColumn, preparation: Preparation
) -> Iterator[str]:
    """Yield a sentence for everything that is wrong with the cells of a column."""
    stored, kind = table.columns[i], expected.kind
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
        meant = "a truth value" if kind is CellKind.TRUTH_VALUES else "a number"
        what = "infinite" if np.isinf(numbers[first]) else f"not {meant}"
        commas = "," in text and preparation.decimal != ","
        remedy = "correct the file" + ", or pass decimal=',' (--decimal ,)" * commas
        yield f"{_first_of(table, wrong)} is {shown(text)}, which is {what}; {remedy}"
    elif rounded is not None:
        yield f"{table.place(rounded.place[0])} is {rounded.value}, {rounded.problem}"


def _first_of(table: FileTable, rows: Mask) -> str:
    """The place of the first of some rows, and how many there are."""
    first, *others = np.flatnonzero(rows).tolist()
    more = f" (and {len(others)} other row{'s' * (len(others) > 1)})" if others else ""
    return table.place(first) + more


# --- the fit of a preparation ------------------------------------------------------------------


def learn(table: FileTable, roles: Roles, missing: Missing, decimal: str) -> Preparation:
    """Fit a preparation to the rows of a table that have all values, or whose gaps are filled.

    Parameters
    ----------
    table : FileTable
    roles : Roles
    missing : {"error", "drop", "median"}
    decimal : {".", ","}
        The decimal mark with which the table was read.

    Raises
    ------
    UnreadyColumnsError
        Columns that cannot be used as they are, or no row that has all values.
    """
    require_ready(table, roles, missing)
    kinds = {
        i: CellKind.TEXTS if i in roles.categorical else table.columns[i].kind
        for i in roles.features
    }
    if missing == "drop":
        others = (i for i in (roles.label, roles.groups) if i is not None)
        labels = {i: label_kind(table.columns[i]) for i in others}
        table = table.taken(complete_rows(table, kinds | labels))
    columns = tuple(
        learnt_column(table.key(i), kind, read_cells(table.columns[i], kind), missing)
        for i, kind in kinds.items()
    )
    label, groups = (None if i is None else table.key(i) for i in (roles.label, roles.groups))
    ids = tuple(table.key(i) for i in roles.ids)
    width = None if table.names is not None else len(table.columns)
    return Preparation(columns, label, groups, ids, width, missing, decimal)


def complete_rows(table: FileTable, kinds: Mapping[int, CellKind]) -> Index:
    """Rows without a missing value.

    Parameters
    ----------
    table : FileTable
    kinds : mapping of int to CellKind
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
