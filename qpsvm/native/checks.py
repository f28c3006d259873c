"""Checks of the arrays that are passed to compiled functions, which check nothing themselves.

Nothing is converted: an array of another type or order is an error, because the caller would not
see what is written to a copy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from qpsvm.exceptions import InvalidParameterError

Vector: TypeAlias = npt.NDArray[np.float64]
Dense: TypeAlias = npt.NDArray[np.float64]
Array: TypeAlias = npt.NDArray[Any]

_FLOAT64 = np.dtype(np.float64)


def require_array(
    array: object,
    name: str,
    dtype: type[np.generic],
    shape: tuple[int | None, ...],
    *,
    written: bool = False,
) -> Array:
    """Return the array if it has the type and shape, lies in one piece, and is aligned.

    Parameters
    ----------
    array : object
        Anything.
    name : str
        Its name in messages.
    dtype : type
        Its type, in this machine's byte order.
    shape : tuple of int or None
        None allows any length.
    written : bool
        Whether it must be writable.

    Returns
    -------
    array

    Raises
    ------
    InvalidParameterError
        With the argument, the value seen and the remedy.

    Examples
    --------
    >>> require_array(np.zeros(2), "v", np.float64, (2,))
    array([0., 0.])
    """
    wanted = np.dtype(dtype)
    if not isinstance(array, np.ndarray):
        raise InvalidParameterError(
            f"{name} is a {type(array).__name__}: pass a NumPy array of {wanted.name}"
        )
    if array.dtype != wanted:
        raise InvalidParameterError(
            f"{name} has the type {array.dtype}: convert it to {wanted.name}"
        )
    known = [found if n is None else n for n, found in zip(shape, array.shape, strict=False)]
    if array.ndim != len(shape) or array.shape != tuple(known):
        text = "(" + ", ".join("any" if n is None else str(n) for n in shape) + ")"
        raise InvalidParameterError(f"{name} has the shape {array.shape}: it must be {text}")
    if not (array.flags.c_contiguous and array.flags.aligned):
        raise InvalidParameterError(
            f"{name} has the strides {array.strides}, or is not aligned: pass {name}.copy()"
        )
    if written and not array.flags.writeable:
        raise InvalidParameterError(f"{name} is read-only: pass a copy, which is written to")
    return array


def require_vector(
    array: object, name: str, n: int | None, *, written: bool = False, finite: bool = False
) -> Vector:
    """Return a float64 vector of n entries, see ``require_array``; with ``finite``, of numbers."""
    if (
        type(array) is np.ndarray
        and array.dtype is _FLOAT64
        and (array.ndim == 1 if n is None else array.shape == (n,))
        and array.flags.c_contiguous
        and array.flags.aligned
        and (array.flags.writeable or not written)
    ):
        vector = array  # nearly always
    else:
        vector = require_array(array, name, np.float64, (n,), written=written)
    if finite and not np.isfinite(vector).all():
        require_finite(vector, name)
    return vector


def require_finite(array: Array, name: str) -> None:
    """Raise InvalidParameterError at the first entry of an array that is NaN or infinite."""
    is_bad = ~np.isfinite(array)
    if is_bad.any():
        place = tuple(int(i) for i in np.argwhere(is_bad)[0])
        where = place[0] if len(place) == 1 else place
        raise InvalidParameterError(
            f"{name}[{where}] is {array[place]}: every entry must be a finite number"
        )


def require_indices(indices: Array, name: str, end: int) -> None:
    """Raise InvalidParameterError where an index is outside ``[0, end)``."""
    if not len(indices):
        return
    for extreme in (int(indices.min()), int(indices.max())):
        if not 0 <= extreme < end:
            raise InvalidParameterError(
                f"{name} contains {extreme}: its entries must be at least 0 and below {end}"
            )


def require_box(point: Vector, name: str, lower: Vector, upper: Vector) -> None:
    """Raise InvalidParameterError unless ``lower <= point <= upper``, all of them numbers.

    Lower bounds may be minus infinity, upper ones infinity; the point is finite.
    """
    is_box = (lower <= upper) & (lower < math.inf) & (upper > -math.inf)  # False for NaN
    if not is_box.all():
        i = int(np.argmin(is_box))
        raise InvalidParameterError(
            f"lower[{i}] = {lower[i]} and upper[{i}] = {upper[i]} are no interval: lower must be "
            "at most upper"
        )
    if not np.isfinite(point).all():
        require_finite(point, name)
    is_inside = (lower <= point) & (point <= upper)
    if not is_inside.all():
        i = int(np.argmin(is_inside))
        raise InvalidParameterError(
            f"{name}[{i}] = {point[i]} is outside [{lower[i]}, {upper[i]}]: clip it to its bounds"
        )


def require_signs(signs: Array, name: str) -> None:
    """Raise InvalidParameterError unless every entry is -1 or 1."""
    is_bad = np.abs(signs) != 1.0
    if is_bad.any():
        i = int(np.argmax(is_bad))
        raise InvalidParameterError(f"{name}[{i}] is {signs[i]}: every sign must be -1 or 1")


def require_conditions(conditions: Any) -> int:
    """Check the arrays of conditions on decision values, and return how many they are.

    Parameters
    ----------
    conditions : object
        With ``required``, ``lower`` and ``upper``, and ``signs``, ``curved`` and ``rows`` or None.
    """
    own = conditions
    n = len(require_vector(own.required, "required", None, finite=True))
    require_vector(own.lower, "lower", n)
    require_vector(own.upper, "upper", n)
    if own.signs is not None:
        require_signs(require_vector(own.signs, "signs", n), "signs")
    if own.curved is not None:
        require_not_negative(own.curved, "curved", n)
    if own.rows is not None:
        require_array(own.rows, "rows", np.int64, (n,))
    return n


def require_not_negative(array: Array, name: str, n: int) -> None:
    """Raise InvalidParameterError unless an array is a vector of n finite numbers of at least 0."""
    require_vector(array, name, n, finite=True)
    require_at_least(np.min(array, initial=0.0), f"the smallest of {name}", 0.0)


def require_row_wise(array: object, name: str) -> int:
    """Return the distance between rows of a float64 matrix, counted in its entries.

    Parameters
    ----------
    array : object
        Anything; what passes has two axes, and every row lies in one piece.
    name : str
        Its name in messages.

    Returns
    -------
    int

    Raises
    ------
    InvalidParameterError
        With the argument, the value seen and the remedy.

    Examples
    --------
    >>> require_row_wise(np.zeros((3, 8))[:, :2], "block")
    8
    """
    if not isinstance(array, np.ndarray) or array.dtype != np.float64 or array.ndim != 2:
        raise InvalidParameterError(
            f"{name} is {described(array)}: pass a float64 array with two axes"
        )
    is_plain = array.flags.c_contiguous and array.flags.aligned
    return array.shape[1] if is_plain else row_distance(array, name)


def row_distance(array: Array, name: str) -> int:
    """Return the distance between rows in entries, see ``require_row_wise``."""
    size, (across, along) = array.itemsize, array.strides
    is_row_wise = along == size and across >= size * array.shape[1] and across % size == 0
    if array.size and not (array.flags.aligned and (is_row_wise or array.flags.c_contiguous)):
        raise InvalidParameterError(
            f"{name} has the strides {array.strides}, or is not aligned: every row must lie in "
            f"one piece; pass {name}.copy()"
        )
    return across // size if is_row_wise else array.shape[1]


def described(value: object) -> str:
    """Type and shape of an argument for a message."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} of shape {value.shape}"
    return f"a {type(value).__name__}"


def require_at_least(value: Any, name: str, least: float, *, infinite: bool = False) -> float:
    """Return a number that is at least a limit, and finite unless it may be infinite."""
    number = float(value)
    if not number >= least or (not infinite and math.isinf(number)):
        kind = "a number" if infinite else "a finite number"
        raise InvalidParameterError(f"{name} is {value!r}: it must be {kind} of at least {least:g}")
    return number


def require_disjoint(written: Mapping[str, Array | None], read: Mapping[str, Array | None]) -> None:
    """Raise InvalidParameterError where an array that is written shares memory with another.

    Parameters
    ----------
    written, read : dict of str to array or None
        Arrays by their names in messages; None is skipped.
    """
    others = {**written, **read}
    for name, array in written.items():
        del others[name]
        for other_name, other in others.items():
            if array is not None and other is not None and np.may_share_memory(array, other):
                raise InvalidParameterError(
                    f"{name} and {other_name} share memory, and {name} is written to: pass copies"
                )
