"""Strict parsing of the lines, fields and entries of a QPS file."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping
from typing import TypeVar

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import Matrix
from qpsvm.numerics.integers import is_rounded

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
