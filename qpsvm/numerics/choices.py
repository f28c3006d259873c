"""Checks of arguments of public functions: truth values, names from a list, and file paths."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from qpsvm.exceptions import InvalidParameterError
from qpsvm.numerics.wording import an


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
