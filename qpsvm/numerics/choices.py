"""Checks of public arguments: booleans, and words out of a list."""

from __future__ import annotations

import numpy as np

from qpsvm.exceptions import InvalidParameterError


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
