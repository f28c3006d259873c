"""Types of arrays, and read-only arrays."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = NDArray[np.float64]
"""One-dimensional float64 array."""
Dense: TypeAlias = NDArray[np.float64]
"""Two-dimensional float64 array."""
Index: TypeAlias = NDArray[np.intp]
"""Positions in another array."""

Matrix: TypeAlias = Any
"""Array or CSR array of shape (n, d); SciPy ships no type information."""

Array = TypeVar("Array", bound=NDArray[np.generic])


def freeze(array: Array) -> Array:
    """Make an array read-only and return it."""
    array.flags.writeable = False
    return array
