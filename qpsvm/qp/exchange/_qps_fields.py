"""Strict parsing of the lines, fields and entries of a QPS file.

Rows of a QPS file become rows of G and A:

========  ============  ===========================
row       range R       sides, with right-hand side r
========  ============  ===========================
``L``     any           ``r - |R| <= g'x <= r``
``G``     any           ``r <= g'x <= r + |R|``
``E``     not below 0   ``r <= g'x <= r + R``
``E``     below 0       ``r + R <= g'x <= r``
========  ============  ===========================

Source: the RANGES section of the MPS format, as CPLEX, MOSEK and HiGHS document it.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping
from typing import NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import Matrix
from qpsvm.numerics.conversion import is_rounded

_T = TypeVar("_T")

LONGEST_LINE = 10_000
"""In characters; no writer comes near."""

DENSE_SHARE = 2 / 3
"""A matrix fuller than that takes less memory as an array (8 bytes an entry against 12)."""


class Refusal(Exception):  # noqa: N818
    """The reason why a line or the whole file is refused."""


def pairs(fields: list[str]) -> list[tuple[str, float]]:
    """Yield the pairs of ``row number row number ...``."""
    if not fields or len(fields) % 2:
        raise Refusal(f"{shown(fields)} is not a list of rows, each with a number.")
    return [(row, number(value)) for row, value in zip(fields[::2], fields[1::2], strict=True)]


def number(word: str, *, infinite: bool = False) -> float:
    """Parse a finite number; with ``infinite``, also an explicit infinity."""
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    spelled_out = infinite and "inf" in word.lower()
    if math.isnan(value) or "_" in word or (math.isinf(value) and not spelled_out):
        raise Refusal(f"{word[:40]!r} is not a number a program can hold.")
    if is_rounded(word):
        raise Refusal(f"{word[:40]!r} is an integer that float64 rounds to {int(value)}.")
    return value


def known(table: Mapping[str, _T], name: str, what: str) -> _T:
    """Look up an entry of a table; refuse the line if there is none."""
    if name not in table:
        raise Refusal(f"{what} {name[:40]!r} is not declared.")
    return table[name]


def once(table: dict[str, _T], name: str, value: _T, what: str) -> None:
    """Add an entry to a table; refuse the line if it exists already."""
    if name in table:
        raise Refusal(f"{what} {name[:40]!r} is given twice.")
    table[name] = value


def shown(fields: list[str]) -> str:
    """The line, or its beginning, for a message."""
    return repr(" ".join(fields)[:60])


class Entries:
    """The entries of a sparse matrix in the order of the file."""

    def __init__(self) -> None:
        self.values, self.rows, self.columns = array("d"), array("i"), array("i")

    def add(self, row: int, column: int, value: float) -> None:
        self.values.append(value)
        self.rows.append(row)
        self.columns.append(column)

    def matrix(self, name: str, shape: tuple[int, int], *, triangle: bool = False) -> Matrix:
        """Build the matrix; a symmetric matrix from either triangle."""
        values, rows, columns = (np.array(part) for part in (self.values, self.rows, self.columns))
        if triangle:
            rows, columns = np.maximum(rows, columns), np.minimum(rows, columns)
        matrix = sp.csc_array((values, (rows, columns)), shape=shape)
        if matrix.nnz < len(values):
            raise Refusal(f"{name} has {len(values) - matrix.nnz} repeated entries.")
        if triangle:
            matrix = sp.csc_array(matrix + sp.tril(matrix, -1).T)
        return compact(matrix)


def compact(matrix: sp.csc_array) -> Matrix:
    """The matrix as an array if it takes less memory so."""
    return matrix.toarray() if matrix.nnz > DENSE_SHARE * math.prod(matrix.shape) else matrix


class Row(NamedTuple):
    """A row of the file: its type, and its index among the rows after the objective."""

    kind: str
    number: int

    @property
    def is_objective(self) -> bool:
        """Whether it is the first row of type N."""
        return self.number < 0


class Side(NamedTuple):
    """A row of G or A: the row of the file, its sign, and the right-hand side."""

    part: str
    number: int
    sign: float
    right: float


def sides_of(name: str, row: Row, right: float, width: float | None) -> list[Side]:
    """The rows of G or A for a row of the file, the upper side first.

    Parameters
    ----------
    name : str
        Of the row, for messages.
    row : Row
    right : float
        Right-hand side.
    width : float or None
        The range.

    Raises
    ------
    Refusal
        A range so small beside the right-hand side, or so large, that float64 loses it.

    Examples
    --------
    >>> sides_of("r", Row("E", 3), 5.0, -2.0)
    [Side(part='G', number=3, sign=1.0, right=5.0), Side(part='G', number=3, sign=-1.0, right=-3.0)]
    """
    if row.is_objective:
        return []
    if row.kind == "N":
        return [Side("G", row.number, 1.0, math.inf)]
    if width is None and row.kind == "G":
        return [Side("G", row.number, -1.0, 0.0 - right)]
    if width is None or width == 0.0:
        is_equality = row.kind == "E" or width is not None
        return [Side("A" if is_equality else "G", row.number, 1.0, right)]
    is_upper = row.kind == "L" or (row.kind == "E" and width < 0.0)
    other = right - abs(width) if is_upper else right + abs(width)
    if math.isinf(other) or other == right:
        raise Refusal(f"row {name[:40]!r}: float64 loses its range {width!r} beside {right!r}.")
    low, high = min(right, other), max(right, other)
    return [Side("G", row.number, 1.0, high), Side("G", row.number, -1.0, 0.0 - low)]


def matrix_of(rows: Matrix, sides: list[Side]) -> Matrix:
    """G or A from the rows of the file, one row for each side."""
    chosen = sp.csr_array(rows)[[side.number for side in sides]]
    chosen.data = chosen.data * np.repeat([side.sign for side in sides], np.diff(chosen.indptr))
    return compact(sp.csc_array(chosen))
