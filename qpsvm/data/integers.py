"""Integers that float64 cannot represent exactly: some beyond 2^53.

Two identifiers such as 9007199254740992 and 9007199254740993 would become the same number, and no
error would say so.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from qpsvm.numerics.arrays import Array, Index

EXACT = 2.0**53
"""The largest number up to which float64 represents every integer exactly."""


def rounded_integers(original: object, converted: npt.ArrayLike) -> Index:
    """Positions of the integers that change in float64, shape (m, n_dimensions).

    Parameters
    ----------
    original : array, list or other sequence
        As the caller has it; other numbers than integers are passed over.
    converted : array
        The same numbers as float64.

    Examples
    --------
    >>> ids = [[2**53], [2**53 + 1], [2**60]]
    >>> rounded_integers(ids, np.array(ids, dtype=float))
    array([[1, 0]])
    """
    nowhere = np.zeros((0, np.ndim(converted)), dtype=np.intp)
    dtype = getattr(original, "dtype", None)
    if getattr(dtype, "kind", "O") in "fb" or np.size(converted) == 0:
        return nowhere
    if np.max(converted) < EXACT and np.min(converted) > -EXACT:  # false where there is a NaN
        return nowhere
    exact = integers_of(original)
    if exact.dtype.kind in "iu":
        # the upper part is a multiple of 2^32 and a float64; so is what is left of a float64
        low = exact & exact.dtype.type(0xFFFFFFFF)
        rest = np.asarray(converted) - (exact - low).astype(np.float64)
        changed = rest != low.astype(np.float64)
    elif exact.dtype == object:
        changed = np.array([_is_rounded(entry) for entry in exact.flat], dtype=bool)
        changed = changed.reshape(exact.shape)
    else:
        return nowhere
    return np.asarray(np.argwhere(changed), dtype=np.intp)


def integers_of(original: object) -> Array:
    """Convert to an array that keeps integers exact, even beside floats."""
    if isinstance(original, list | tuple):
        return np.array(original, dtype=object)
    return np.asarray(original)


def _is_rounded(entry: object) -> bool:
    if isinstance(entry, bool) or not isinstance(entry, int | np.integer):
        return False
    number = int(entry)
    return abs(number) > EXACT and int(float(number)) != number
