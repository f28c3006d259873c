"""Conversion of the ``options`` of ``solve`` to the settings object of one of our solvers."""

from __future__ import annotations

from collections.abc import Mapping
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
    names = [field.name for field in fields(defaults)]
    for name, value in options.items():
        if name not in names:
            near = get_close_matches(str(name), names, 3, 0.4) or names[:3]
            raise InvalidParameterError(
                f"Backend {backend!r} has no option {name!r}; did you mean "
                f"{', '.join(map(repr, near))}? All are fields of {kind.__module__}."
                f"{kind.__name__}."
            )
        _check(name, value, getattr(defaults, name))
    changed: Own = replace(defaults, **options)
    return changed


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
