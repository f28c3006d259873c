"""A fitted preparation: the plain numbers and texts by which columns become features.

Missing numbers become the median of the training rows, missing values of a category the most
frequent one; every value of a category becomes a feature. The numbers are those of scikit-learn's
``SimpleImputer`` and ``OneHotEncoder``, bit for bit. Preparations from a fit and from a file are
the same objects.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from qpsvm.display import short_repr
from qpsvm.exceptions import InvalidParameterError
from qpsvm.numerics.arguments import is_finite_number, require_choice, require_flag, require_kind
from qpsvm.numerics.arrays import Vector, require_memory
from qpsvm.tables.cells import CellKind

Role: TypeAlias = Literal["feature", "label", "groups", "id", "left out"]


@dataclass(frozen=True)
class TableColumn:
    """A column of a table that was read: its name, the kind of its cells, and its role.

    Attributes
    ----------
    name : str
        ``column 3`` in a file without names.
    kind : str
        "numbers", "truth values", "categories", "texts", "dates", ...
    role : {"feature", "label", "groups", "id", "left out"}
    """

    name: str
    kind: str
    role: Role


@dataclass(frozen=True)
class NumberColumn:
    """A feature that is a number.

    Attributes
    ----------
    name : str or int
        The name of the column, or its position in a file without names.
    truth : bool
        Whether the cells are ``True`` and ``False``, read as 1 and 0.
    fill : float or None
        The number in place of a missing one: the median of the training rows.
    """

    name: str | int
    truth: bool = False
    fill: float | None = None

    def __post_init__(self) -> None:
        require_name(self.name)
        require_flag(self.truth, "truth")
        if self.fill is not None and not is_finite_number(self.fill):
            raise InvalidParameterError(f"fill is {self.fill!r}; pass a finite number or None.")

    @property
    def kind(self) -> CellKind:
        """The kind of cells that the column is read as."""
        return CellKind.TRUTH_VALUES if self.truth else CellKind.NUMBERS

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The name of the only feature: that of the column."""
        return (written_name(self.name),)

    def write_features(self, cells: Vector | list[str], into: Vector) -> None:
        """Write the numbers of n rows into an array of shape (n, 1), with gaps filled in."""
        numbers = np.asarray(cells, dtype=np.float64)
        fill = math.nan if self.fill is None else self.fill
        into[:, 0] = np.where(np.isnan(numbers), fill, numbers)


@dataclass(frozen=True)
class CategoryColumn:
    """A column with one feature per value: 1 in the rows with this value, 0 in the others.

    Attributes
    ----------
    name : str or int
        The name of the column, or its position in a file without names.
    values : tuple of str
        The values in the training rows, ascending.
    fill : str or None
        The value in place of a missing one: the most frequent one of the training rows.
    """

    name: str | int
    values: tuple[str, ...]
    fill: str | None = None

    def __post_init__(self) -> None:
        require_name(self.name)
        require_kind(self.values, tuple, "values", "a tuple of texts")
        are_texts = all(isinstance(value, str) and value for value in self.values)
        if not are_texts or not self.values or sorted(set(self.values)) != [*self.values]:
            raise InvalidParameterError(
                f"values are {str(self.values)[:80]}; pass different texts in ascending order, "
                "none empty."
            )
        if self.fill is not None and self.fill not in self.values:
            raise InvalidParameterError(f"fill is {self.fill!r}; pass one of the values, or None.")

    @property
    def kind(self) -> CellKind:
        """The kind of cells that the column is read as."""
        return CellKind.TEXTS

    @property
    def feature_names(self) -> tuple[str, ...]:
        """A name for the feature of every value, such as ``city=Paris``."""
        return tuple(f"{written_name(self.name)}={value}" for value in self.values)

    def write_features(self, cells: Vector | list[str], into: Vector) -> None:
        """Encode k categories in n rows: write a 1 for each row's category into zeros (n, k)."""
        places = {value: i for i, value in enumerate(self.values)}
        into[np.arange(len(cells)), [places[str(text or self.fill)] for text in cells]] = 1.0


def require_name(name: object) -> None:
    """Refuse what is no name and no position of a column.

    Raises
    ------
    InvalidParameterError
    """
    if not (isinstance(name, str) or (type(name) is int and name >= 0)):
        raise InvalidParameterError(
            f"a column is {name!r}; pass its name, or its position from 0 in a file without names."
        )


def written_name(name: str | int) -> str:
    """A column's name for messages and output; ``column 3`` for a position."""
    return name if isinstance(name, str) else f"column {name}"


# --- preparations ------------------------------------------------------------------------------

Missing: TypeAlias = Literal["error", "drop", "median"]
MISSING_POLICIES: tuple[Missing, ...] = ("error", "drop", "median")
DECIMAL_MARKS = (".", ",")
FeatureColumn: TypeAlias = NumberColumn | CategoryColumn


@short_repr
@dataclass(frozen=True)
class Preparation:
    """Columns of a table as features: numbers as they are, a feature for each value of a category.

    ``qpsvm.datasets.load`` fits one to a training table and returns it with the samples; with
    ``preparation=`` it reads other tables in the same way. Model files store it.

    Attributes
    ----------
    columns : tuple of NumberColumn and CategoryColumn
        The columns that are used, in the order of the training table.
    label, groups : str, int or None
        Columns of the training table with the label and the groups, which other tables may lack.
    ids : tuple of str or int
        Columns that are carried into predictions.
    width : int or None
        Number of columns of a training table without names, where columns are positions.
    missing : {"error", "drop", "median"}
        Missing values are an error, their rows are left out, or they are replaced by the medians
        (categories: most frequent values) of the training rows.
    decimal : {".", ","}
        The decimal mark of texts.
    """

    columns: tuple[FeatureColumn, ...]
    label: str | int | None = None
    groups: str | int | None = None
    ids: tuple[str | int, ...] = ()
    width: int | None = None
    missing: Missing = "error"
    decimal: str = "."

    def __post_init__(self) -> None:
        require_policies(self.missing, self.decimal)
        require_kind(self.columns, tuple, "columns", "a tuple of NumberColumn and CategoryColumn")
        require_kind(self.ids, tuple, "ids", "a tuple of columns")
        for column in self.columns or (None,):
            require_kind(column, FeatureColumn, "a column", "NumberColumn or CategoryColumn")
        others = [name for name in (self.label, self.groups, *self.ids) if name is not None]
        for name in others:
            require_name(name)
        names = [column.name for column in self.columns]
        if len(set(map(written_name, names))) < len(names):
            raise InvalidParameterError(f"columns are named twice among {names}; name each once.")
        has_positions = [isinstance(name, int) for name in (*names, *others)]
        if any(has_positions) != (self.width is not None) or len(set(has_positions)) > 1:
            raise InvalidParameterError(
                f"width is {self.width!r} for the columns {names}; positions need a width, names "
                "none."
            )

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """A name for every feature: that of its column, or ``city=Paris`` for a category."""
        return tuple(name for column in self.columns for name in column.feature_names)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.feature_names)

    @classmethod
    def of_numbers(cls, columns: Sequence[str] | range) -> Preparation:
        """The preparation of a model that knows its features by their names or number only."""
        width = len(columns) if isinstance(columns, range) else None
        return cls(tuple(NumberColumn(column) for column in columns), width=width)

    def features(self, cells: Sequence[Vector | list[str]]) -> Vector:
        """The features of rows whose cells were checked.

        Parameters
        ----------
        cells : sequence of arrays of shape (n,) or lists of n texts
            One for each column: numbers, or texts of a category; NaN or an empty text where a
            value is missing that is to be filled in.

        Returns
        -------
        array of shape (n, d)

        Raises
        ------
        MemoryLimitError
            The features do not fit into the memory.
        """
        require_memory(
            len(cells[0]),
            self.n_features,
            "The table with a feature for each value of a category",
            "drop columns with many different values.",
        )
        X = np.zeros((len(cells[0]), self.n_features))
        first = 0
        for column, own in zip(self.columns, cells, strict=True):
            last = first + len(column.feature_names)
            column.write_features(own, X[:, first:last])
            first = last
        return X


def learnt_column(
    name: str | int, kind: CellKind, cells: Vector | list[str], missing: Missing
) -> FeatureColumn:
    """Fit a column to the cells of the training rows.

    Examples
    --------
    >>> learnt_column("city", CellKind.TEXTS, ["Paris", "Lima", "", "Paris"], "median")
    CategoryColumn(name='city', values=('Lima', 'Paris'), fill='Paris')
    >>> learnt_column("age", CellKind.NUMBERS, np.array([30.0, math.nan, 41.0]), "median")
    NumberColumn(name='age', truth=False, fill=35.5)
    """
    fills = missing == "median"
    if kind is CellKind.TEXTS:
        counts = Counter(text for text in cells if text)
        values = tuple(sorted(map(str, counts)))
        most = max(values, key=counts.__getitem__)  # of several the first in their order
        return CategoryColumn(name, values, most if fills else None)
    median = float(np.nanmedian(np.asarray(cells))) if fills else None
    return NumberColumn(name, kind is CellKind.TRUTH_VALUES, median)


def require_policies(missing: object, decimal: object) -> None:
    """Refuse an unknown policy for missing values, and an unknown decimal mark.

    Raises
    ------
    InvalidParameterError
    """
    require_choice(missing, MISSING_POLICIES, "missing")
    require_choice(decimal, DECIMAL_MARKS, "decimal")
