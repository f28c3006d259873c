"""Checks of the ``options`` of ``solve``, and their conversion to a settings object of ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from difflib import get_close_matches
from typing import Any, TypeVar

import numpy as np

from qpsvm.exceptions import InvalidParameterError
from qpsvm.numerics.arguments import is_finite_number

Own = TypeVar("Own")


def settings_from_options(kind: type[Own], options: Mapping[str, object], backend: str) -> Own:
    """Build a solver's settings object: defaults, with the values that a caller passes by name.

    Parameters
    ----------
    kind : type
        A frozen dataclass whose fields have defaults: whole numbers or numbers,
        none below zero.
    options : mapping
        New values by the names of fields.
    backend : str
        Name of the backend, for errors.

    Raises
    ------
    InvalidParameterError
        A name that is no field, or a value of another kind than the default.
    """
    defaults: Any = kind()
    require_options(backend, options, [field.name for field in fields(defaults)])
    for name, value in options.items():
        _check(name, value, getattr(defaults, name))
    changed: Own = replace(defaults, **options)
    return changed


def require_options(
    backend: str, options: Mapping[str, object], names: Iterable[str] | None
) -> None:
    """Refuse an option that a solver does not have, which some solvers would silently ignore.

    Parameters
    ----------
    backend : str
        Name of the backend, for the error.
    options : mapping
        New values by the solver's own names.
    names : iterable of str or None
        Names of all options; None where they are not known: then the solver itself has to say.

    Raises
    ------
    InvalidParameterError
        With the nearest names, and all of them.

    Examples
    --------
    >>> require_options("cvxopt", {"abstol": 1e-9}, ["abstol", "reltol"])
    """
    known = None if names is None else sorted(names)
    for name in options:
        if known is None or name in known:
            continue
        near = get_close_matches(str(name), known, 3, 0.6)
        hint = f"did you mean {' or '.join(map(repr, near))}? It" if near else "it"
        raise InvalidParameterError(
            f"Backend {backend!r} has no option {name!r}; {hint} has "
            f"{', '.join(known) or 'no options'}."
        )


def _check(name: str, value: object, default: object) -> None:
    if default is None:
        fits = value is None or (_is_non_negative(value) and isinstance(value, int | np.integer))
        wanted = "a whole number, or None"
    elif isinstance(default, int):
        fits = _is_non_negative(value) and isinstance(value, int | np.integer)
        wanted = "a whole number of 0 or more"
    else:
        fits, wanted = _is_non_negative(value), "a finite number of 0 or more"
    if not fits:
        raise InvalidParameterError(
            f"{name} is {value!r}; pass {wanted}, such as the default {default!r}."
        )


def _is_non_negative(value: object) -> bool:
    return is_finite_number(value) and bool(value >= 0)


# --- single values -------------------------------------------------------------------------------


def require_count(value: object, name: str, words: str = "", least: int = 1) -> None:
    """Raise InvalidParameterError unless value is a whole number of at least ``least``."""
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_whole or value < least:  # type: ignore[operator]
        raise InvalidParameterError(
            f"{name} is {value!r}; pass a whole number of at least {least}{words}."
        )


def require_above(value: object, least: float, name: str, words: str = "") -> None:
    """Raise InvalidParameterError unless value is a finite number above ``least``."""
    if not (is_finite_number(value) and value > least):
        raise InvalidParameterError(
            f"{name} is {value!r}; pass a finite number above {least:g}{words}."
        )
