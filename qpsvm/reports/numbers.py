"""Formatting of numbers and values, the same in every output format."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Context

import numpy as np

from qpsvm.plotting.picture import count

__all__ = [
    "NOTHING",
    "at_least",
    "at_most",
    "between",
    "count",
    "figure",
    "percentage",
    "residual",
    "share",
    "value",
]

NOTHING = "-"


def figure(value: float | np.floating | None, digits: int = 6) -> str:
    """Format a number: 26.5255, 3.1e-09, infinite; a dash for None.

    Parameters
    ----------
    value : float or None
        The number; infinities and NaN are written as words.
    digits : int
        Significant digits.

    Returns
    -------
    str
        The number, or the word for it.

    Examples
    --------
    >>> figure(26.52551234), figure(3.14159, 3), figure(float("inf")), figure(None)
    ('26.5255', '3.14', 'infinite', '-')
    """
    if value is None:
        return NOTHING
    number = float(value)
    if math.isnan(number):
        return "not a number"
    if math.isinf(number):
        return "infinite" if number > 0 else "-infinite"
    return f"{number:.{digits}g}"


def residual(value: float | np.floating | None) -> str:
    """Format a residual with two digits and a power of ten.

    Parameters
    ----------
    value : float or None
        The residual.

    Returns
    -------
    str
        A dash for None.

    Examples
    --------
    >>> residual(3.14e-9), residual(0.0), residual(None)
    ('3.1e-09', '0', '-')
    """
    if value is None:
        return NOTHING
    if value == 0.0:
        return "0"
    return f"{value:.1e}" if math.isfinite(value) else figure(value)


def at_most(value: float, digits: int = 2) -> str:
    """Format an upper bound, with the last digit rounded up.

    Parameters
    ----------
    value : float
        The bound.
    digits : int
        Significant digits.

    Returns
    -------
    str
        A number that is at least ``value``.

    Examples
    --------
    >>> at_most(0.12301), at_most(-0.12301)
    ('0.13', '-0.12')
    """
    return _outward(value, digits, ROUND_CEILING)


def at_least(value: float, digits: int = 2) -> str:
    """Format a lower bound, with the last digit rounded down.

    Parameters
    ----------
    value : float
        The bound.
    digits : int
        Significant digits.

    Returns
    -------
    str
        A number that is at most ``value``.

    Examples
    --------
    >>> at_least(0.12399), at_least(-0.12301)
    ('0.12', '-0.13')
    """
    return _outward(value, digits, ROUND_FLOOR)


def between(lower: float, upper: float, digits: int = 12) -> str:
    """Write an interval by its ends, each with the last digit rounded outwards.

    Parameters
    ----------
    lower, upper : float
        The ends.
    digits : int
        Significant digits.

    Returns
    -------
    str
        "between" the one "and" the other.

    Examples
    --------
    >>> between(0.12399, 0.12301, 2)
    'between 0.12 and 0.13'
    """
    return f"between {at_least(lower, digits)} and {at_most(upper, digits)}"


def _outward(value: float, digits: int, rounding: str) -> str:
    if not math.isfinite(value):
        return figure(value)
    rounded = Context(prec=digits, rounding=rounding).create_decimal_from_float(float(value))
    return f"{float(rounded):.15g}"


def share(part: float) -> str:
    """Format a ratio: a percentage unless it is tiny or large.

    Parameters
    ----------
    part : float
        The ratio, at least 0.

    Returns
    -------
    str
        A percentage from 0.001 to 10, otherwise a multiple of "its value".

    Examples
    --------
    >>> share(0.25), share(0.012), share(1e-5), share(12.0)
    ('25%', '1.2%', '1.0e-05 of its value', '12 times its value')
    """
    if part < 1e-3:
        return f"{part:.1e} of its value"
    if part >= 10.0:
        return f"{part:.3g} times its value"
    return f"{part:.0%}" if part >= 0.1 else f"{100.0 * part:.2g}%"


def percentage(value: float) -> str:
    """Format a ratio as a percentage.

    Parameters
    ----------
    value : float
        The ratio; 1 is 100 percent.

    Returns
    -------
    str
        With two decimals; infinities and NaN are written as words.

    Examples
    --------
    >>> percentage(0.1234), percentage(float("nan"))
    ('12.34 %', 'not a number')
    """
    return f"{100.0 * value:.2f} %" if math.isfinite(value) else figure(value)


def value(anything: object) -> str:
    """Format any value: numbers, booleans, text, and sequences or mappings of them.

    Parameters
    ----------
    anything : object
        The value; what is of no known kind is written by ``str``.

    Returns
    -------
    str
        Entries of sequences and mappings are joined by commas.

    Examples
    --------
    >>> value(1234), value([True, 0.5, None]), value({"C": 1.0})
    ('1,234', 'yes, 0.5, -', 'C = 1')
    """
    match anything:
        case bool() | np.bool_():
            return "yes" if anything else "no"
        case int() | np.integer():
            return f"{int(anything):,}"
        case None | float() | np.floating():
            return figure(anything)
        case Mapping():
            return ", ".join(f"{key} = {value(entry)}" for key, entry in anything.items())
        case list() | tuple() | np.ndarray():
            return ", ".join(map(value, anything))
        case _:
            return str(anything)
