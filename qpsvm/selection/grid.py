"""The parameters of a search: checks, and all candidates in the order of ``GridSearchCV``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from qpsvm.exceptions import InvalidParameterError
from qpsvm.numerics.arguments import is_real_number

Candidate: TypeAlias = dict[str, Any]
"""Values of the searched parameters by name."""


def as_values(
    values: object, name: str, *, may_be_zero: bool = False, words: tuple[str, ...] = ()
) -> list[object]:
    """Check the values of one parameter; return a list of them.

    Parameters
    ----------
    values : a number, one of the words, or a sequence of such
    name : str
    may_be_zero : bool
        Numbers have to be positive otherwise.
    words : tuple of str

    Raises
    ------
    InvalidParameterError
        No value, one that is no finite number of the right sign, or one that is there twice.
    """
    own = [values] if isinstance(values, str) or is_real_number(values) else values
    if not isinstance(own, Iterable) or isinstance(own, Mapping):
        raise InvalidParameterError(f"{name} is {values!r}; pass a sequence of numbers.")
    found = [value.item() if isinstance(value, np.generic) else value for value in own]
    if not found:
        raise InvalidParameterError(f"{name} is empty; pass at least one value.")
    for value in found:
        if isinstance(value, str) and value in words:
            continue
        ok = is_real_number(value) and np.isfinite(value) and value >= 0.0
        if not ok or (value == 0.0 and not may_be_zero):
            what = "not negative" if may_be_zero else "above 0"
            also = f", or {' or '.join(map(repr, words))}" if words else ""
            raise InvalidParameterError(
                f"{name} has the value {value!r}; every value must be a finite number {what}{also}."
            )
    if len(set(found)) < len(found):
        raise InvalidParameterError(f"{name} has a value twice: {found!r}; pass each once.")
    return found


def candidates(values: Mapping[str, list[object]]) -> list[Candidate]:
    """All combinations; names in alphabetical order, the last one changes first."""
    found: list[Candidate] = [{}]
    for name in sorted(values):
        found = [one | {name: value} for one in found for value in values[name]]
    return found
