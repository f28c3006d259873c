"""Checks of the parameters that several formulations have: prices, shares, flags and words."""

from __future__ import annotations

import functools
import sys
from dataclasses import fields
from typing import (
    TYPE_CHECKING,
    Literal,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from qpsvm.exceptions import InvalidParameterError
from qpsvm.formulations.prices import as_class_weight
from qpsvm.machines.conditions import InterceptKind, require_intercept_kind
from qpsvm.numerics.arguments import is_real_number, require_choice, require_flag

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def store_python_numbers(formulation: DataclassInstance) -> None:
    """Convert NumPy numbers to Python's; a float32 parameter would reduce precision."""
    for field in fields(formulation):
        value = getattr(formulation, field.name)
        if isinstance(value, np.floating | np.integer):
            plain = float(value) if isinstance(value, np.floating) else int(value)
            object.__setattr__(formulation, field.name, plain)


def check_parameters(formulation: DataclassInstance) -> None:
    """Check the parameters that several formulations have, by their names and types.

    Raises
    ------
    InvalidParameterError
        A price C, share nu, flag or class weight that is none; a word that its type does not list.
    """
    store_python_numbers(formulation)
    hints = _hints(type(formulation))
    for field in fields(formulation):
        name = field.name
        value, hint = getattr(formulation, name), hints[name]
        if name == "C":
            require_price(value)
        elif name == "nu":
            require_share(value)
        elif name == "class_weight":
            object.__setattr__(formulation, name, as_class_weight(value))
        elif hint is bool:
            require_flag(value, name)
        elif hint == InterceptKind:
            require_intercept_kind(value)
        elif get_origin(hint) is Literal:
            require_choice(value, get_args(hint), name)


@functools.cache
def _hints(kind: type) -> dict[str, object]:
    """The types of a class's fields; reading them takes longer than checking values."""
    return get_type_hints(kind)


def require_price(C: object, hint: str = "") -> None:
    """Raise InvalidParameterError unless C is a finite number above zero."""
    if not is_real_number(C) or not 0 < C <= sys.float_info.max:
        raise InvalidParameterError(f"C is {C!r}; it must be a finite number above 0{hint}.")


def require_share(nu: object, name: str = "nu", *, closed: bool = True) -> None:
    """Raise InvalidParameterError unless 0 < nu <= 1 (below 1, if not closed)."""
    if not is_real_number(nu) or not (0 < nu < 1 or (closed and nu == 1)):
        end = "]" if closed else ")"
        raise InvalidParameterError(f"{name} is {nu!r}; it must be a number in (0, 1{end}.")
