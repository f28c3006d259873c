"""Check that the processor rounds as IEEE 754 requires, which all rigorous bounds assume.

A library compiled with ``-ffast-math`` switches subnormal numbers off for the process that loads
it; the control word of a thread can also ask for another direction of rounding.
"""

from __future__ import annotations

import sys

import numpy as np

from qpsvm.exceptions import ArithmeticModeError

_HALF_AN_ULP = sys.float_info.epsilon / 2.0


def is_ieee() -> bool:
    """Return whether this thread rounds to nearest, ties to even, with gradual underflow."""
    one, tiny = np.float64(1.0), np.float64(sys.float_info.min)
    with np.errstate(under="ignore"):
        to_nearest = one + _HALF_AN_ULP == one and one + 1.5 * _HALF_AN_ULP > one
        downwards = -one - _HALF_AN_ULP == -one and -one - 1.5 * _HALF_AN_ULP < -one
        gradual = tiny / 2.0 > 0.0 and (tiny / 2.0) * 2.0 == tiny
    return bool(to_nearest and downwards and gradual)


def require_ieee() -> None:
    """Raise ArithmeticModeError unless this thread rounds as IEEE 754 requires.

    Raises
    ------
    ArithmeticModeError
        Subnormal numbers count as zero, or rounding is not to nearest.

    Examples
    --------
    >>> require_ieee()  # nothing happens: bounds computed in this thread are rigorous
    """
    if not is_ieee():
        raise ArithmeticModeError(
            "The arithmetic of this process is not IEEE 754: subnormal numbers are zero, or it does"
            " not round to nearest. A library compiled with -ffast-math was loaded (Snap ML is "
            "one); certify in a process of its own."
        )
