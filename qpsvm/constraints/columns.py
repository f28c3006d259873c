"""Columns of X that constraints name, or give by position."""

from __future__ import annotations

import difflib
from typing import Any

import numpy as np

from qpsvm.constraints.rows import Column, Names
from qpsvm.exceptions import InvalidParameterError
from qpsvm.numerics.arguments import scalar


def require_columns(word: str, columns: tuple[Any, ...]) -> tuple[Column, ...]:
    """Normalise columns given one by one or as one list; require at least one (two if ordered)."""
    columns = tuple(map(scalar, columns))
    if len(columns) == 1 and isinstance(columns[0], list | tuple | np.ndarray):
        columns = tuple(columns[0])
    least = 2 if word == "ordered" else 1
    valid = [isinstance(c, str | int | np.integer) and not isinstance(c, bool) for c in columns]
    if len(columns) < least or not all(valid):
        raise InvalidParameterError(
            f"{word}: columns is {columns!r}; pass at least {least}, names (strings) or positions "
            "(integers), one by one or in a list."
        )
    return tuple(str(c) if isinstance(c, str) else int(c) for c in columns)


def positions_of(columns: tuple[Column, ...], d: int, feature_names: Names) -> list[int]:
    """Positions of the columns in X, without repetition."""
    named: dict[str, list[int]] = {}
    for j, name in enumerate(feature_names or ()):
        named.setdefault(name, []).append(j)
    positions = [_position(column, d, named) for column in columns]
    if len(set(positions)) < len(positions):
        twice = next(c for j, c in zip(positions, columns, strict=True) if positions.count(j) > 1)
        raise InvalidParameterError(f"Column {twice!r} is among {columns} twice; give it once.")
    return positions


def _position(column: Column, d: int, named: dict[str, list[int]]) -> int:
    found = named.get(str(column), [])
    if isinstance(column, int):
        if not 0 <= column < d:
            raise InvalidParameterError(
                f"Column {column} is out of range; X has {d} columns, 0 to {d - 1}."
            )
        if found not in ([], [column]):
            raise InvalidParameterError(
                f"Column {column} could be the one at that position or the one named "
                f"{str(column)!r}; pass its name as a string."
            )
        return column
    if len(found) > 1:
        raise InvalidParameterError(
            f"X has {len(found)} columns named {column!r}; give one of the positions {found}."
        )
    if not found:
        folded = {name.casefold(): name for name in named}
        near = [folded[name] for name in difflib.get_close_matches(column.casefold(), folded)]
        if near:
            hint = f"did you mean {' or '.join(map(repr, near))}?"
        elif named:
            hint = f"it has {', '.join(map(repr, list(named)[:6]))}{', ...' * (len(named) > 6)}."
        else:
            hint = (
                "no column has a name. Pass a DataFrame whose columns are all named by strings, or "
                "give the position."
            )
        raise InvalidParameterError(f"X has no column {column!r}; {hint}")
    return found[0]


def label_of(j: int, feature_names: Names) -> str:
    """The name of a column, or its position in words."""
    return f"column {j}" if feature_names is None else feature_names[j]
