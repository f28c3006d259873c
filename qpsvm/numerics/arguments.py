"""Unchecked public arguments: their types, checks of single values, and words for messages."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence
from typing import Any, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from qpsvm.exceptions import InvalidParameterError
from qpsvm.numerics.arrays import Array

SPELT_WITH_A_VOWEL = "AEFHILMNORSX"
"""Letters whose names begin with a vowel: an SVC, an NPZ file, but a QP."""

SPELT = ("rbf", "ndarray")
"""Names in lower case of which the first letter is spelt."""


def an(thing: object) -> str:
    """Return the name of a thing's type with its article.

    Examples
    --------
    >>> an(3), an([]), an("yes")
    ('an int', 'a list', 'a str')
    >>> with_article("SVC"), with_article("NuSVC"), with_article("ndarray")
    ('an SVC', 'a NuSVC', 'an ndarray')
    """
    return with_article(type(thing).__name__)


def with_article(name: str) -> str:
    """Return a name with "a" or "an" before it, by how its beginning is spoken."""
    is_spelt = name[:2].isupper() or name.startswith(SPELT)
    has_vowel = name[:1].upper() in (SPELT_WITH_A_VOWEL if is_spelt else "AEIOU")
    return f"{'an' if has_vowel else 'a'} {name}"


VectorLike: TypeAlias = npt.ArrayLike
"""Numbers in one row: an array, a list, a column of a DataFrame; a number where all are equal."""

MatrixLike: TypeAlias = npt.ArrayLike | sp.sparray | sp.spmatrix
"""A table of numbers: an array, a sparse matrix, a DataFrame, a list of rows."""

Samples: TypeAlias = MatrixLike | Sequence[object]
"""Samples: a table of numbers with one in each row, or a list of objects for some kernels."""

Targets: TypeAlias = npt.ArrayLike | Sequence[object]
"""One label, target or group per sample: an array, a list, a column of a DataFrame."""

Weights: TypeAlias = VectorLike
"""One factor per sample, not negative."""

Labels: TypeAlias = Array
"""Labels, targets or groups as an array, of whatever dtype they came in."""


def is_real_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a real number that is a float, infinity included; no boolean."""
    if isinstance(value, int | np.integer):
        return not isinstance(value, bool) and abs(int(value)) <= sys.float_info.max
    return isinstance(value, float | np.floating)


def is_finite_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a finite real number; no boolean."""
    return is_real_number(value) and math.isfinite(value)


def require_flag(value: object, name: str) -> None:
    """Raise InvalidParameterError unless value is True or False.

    Examples
    --------
    >>> require_flag(np.bool_(True), "verbose")
    """
    if not isinstance(value, bool | np.bool_):
        raise InvalidParameterError(f"{name} is {value!r}; pass True or False.")


def require_choice(value: object, choices: tuple[str, ...], name: str, hint: str = "") -> None:
    """Raise InvalidParameterError unless value is one of the choices, which are text.

    Examples
    --------
    >>> require_choice("hinge", ("hinge", "squared_hinge"), "loss")
    """
    # an array compares entry by entry, and has no truth value
    if not isinstance(value, str) or value not in choices:
        *others, last = map(repr, choices)
        words = f"{', '.join(others)} or {last}" if others else last
        raise InvalidParameterError(f"{name} is {value!r}; choose {words}{hint}.")


def require_path(value: object, name: str = "path") -> None:
    """Raise InvalidParameterError unless value is a text or a path object: no number, no array.

    Examples
    --------
    >>> require_path("heart.csv")
    """
    require_kind(value, str | os.PathLike, name, "the path of a file, a str or a pathlib.Path")


def require_kind(value: object, kind: Any, name: str, words: str) -> None:
    """Raise InvalidParameterError unless value is of a type, which words describe.

    Examples
    --------
    >>> require_kind([1.0], list | tuple, "values", "a list of numbers")
    """
    if not isinstance(value, kind):
        raise InvalidParameterError(f"{name} is {an(value)}; pass {words}.")


def scalar(value: Any) -> Any:
    """Unpack a NumPy array of zero dimensions to its scalar; return any other value as it is."""
    return value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
