"""Numbers and values as people read them, the same in every format."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

NOTHING = "-"


def figure(value: Any, digits: int = 6) -> str:
    """A number: 26.5255, 3.1e-09, infinite; a dash for none."""
    if value is None:
        return NOTHING
    number = float(value)
    if math.isnan(number):
        return "not a number"
    if math.isinf(number):
        return "infinite" if number > 0 else "-infinite"
    return f"{number:.{digits}g}"


def residual(value: Any) -> str:
    """A residual: two digits and the power of ten."""
    if value is None:
        return NOTHING
    if value == 0.0:
        return "0"
    return f"{value:.1e}" if math.isfinite(value) else figure(value)


def percentage(value: float) -> str:
    """A share."""
    return f"{100.0 * value:.2f} %" if math.isfinite(value) else figure(value)


def value(anything: Any) -> str:
    """Whatever a caller or a solver states: numbers, words, and lists of these."""
    if isinstance(anything, bool | np.bool_):
        return "yes" if anything else "no"
    if isinstance(anything, int | np.integer):
        return f"{int(anything):,}"
    if anything is None or isinstance(anything, float | np.floating):
        return figure(anything)
    if isinstance(anything, Mapping):
        return ", ".join(f"{key} = {value(entry)}" for key, entry in anything.items())
    if isinstance(anything, list | tuple | np.ndarray):
        return ", ".join(map(value, anything))
    return str(anything)
