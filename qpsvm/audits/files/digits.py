"""Rounding of numbers by printing them with few digits.

LIBSVM writes support vectors with ``%.8g``: to find them among the training rows, these have to be
rounded in the same way.
"""

from __future__ import annotations

import re

import numpy as np

from qpsvm.numerics.arrays import Vector

EXACT = 17
"""Significant digits that tell every float64 from its neighbours."""

_LARGEST_EXACT_POWER = 22
_POWERS = np.array([float(f"1e{k}") for k in range(_LARGEST_EXACT_POWER + 1)])
_MOST_ROUNDED = 15


def as_printed(values: Vector, digits: int) -> Vector:
    """Round numbers exactly as ``printf("%.{digits}g")`` and reading back would.

    Parameters
    ----------
    values : array
    digits : int
        Significant digits, at least 1; from 17 on nothing changes.

    Examples
    --------
    >>> as_printed(np.array([2 / 3, 1234.5678951, 0.0]), 8)
    array([6.6666667e-01, 1.2345679e+03, 0.0000000e+00])

    Notes
    -----
    ``x 10^k`` with ``|k| <= 22`` has a single rounding, so its nearest integer is right unless it
    is halfway between two up to that rounding; dividing that integer by ``10^k`` again is the
    float64 next to the decimal number. The few others are printed.
    """
    if digits >= EXACT:
        return values
    magnitude = np.abs(values)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        shift = digits - 1 - np.floor(np.log10(magnitude))
        fast = np.abs(shift) <= _LARGEST_EXACT_POWER
        k = np.where(fast, shift, 0.0).astype(np.intp)
        power = _POWERS[np.abs(k)]
        scaled = np.where(k >= 0, magnitude * power, magnitude / power)
        whole = np.rint(scaled)
        fast &= np.abs(np.abs(scaled - whole) - 0.5) > 2e-16 * 10.0**digits
        printed: Vector = np.copysign(np.where(k >= 0, whole / power, whole * power), values)
    slow = np.flatnonzero(~fast & (magnitude > 0.0))
    printed[slow] = [float(f"{value:.{digits - 1}e}") for value in values[slow].tolist()]
    printed[magnitude == 0.0] = 0.0
    return printed


def most_digits(text: bytes, before: bytes, at_least: int, start: int = 0) -> int:
    """Largest number of significant digits of the numbers that follow a given character.

    Parameters
    ----------
    text : bytes
    before : bytes of length 1
        What stands before the numbers meant.
    at_least : int
        The answer where all of them are shorter.
    start : int
        Where to begin.

    Returns
    -------
    int
        ``EXACT`` if one has more than 15: with 16 the shortest decimal that is read back as the
        same float64 and the nearest one may differ (9.95 and 9.949999999999999).

    Examples
    --------
    >>> most_digits(b"0.98765432109876 1:0.012345678901 2:4", b":", 8)
    11
    """
    for digits in range(at_least, _MOST_ROUNDED + 1):
        # leading zeros do not count; the point may be anywhere
        longer = re.compile(before + rb"[+-]?[0.]*+[1-9](?:\.?\d){%d}" % digits)
        if not longer.search(text, start):
            return digits
    return EXACT
