"""Copies of solutions with arrays that cannot be made writable."""

from __future__ import annotations

import copy
from typing import TypeVar

import numpy as np

from qpsvm.numerics.arrays import Array

Machine = TypeVar("Machine")


def locked(solution: Machine) -> Machine:
    """The same solution with arrays of its own, which cannot be made writable.

    A read-only array can be made writable by its owner (``array.flags.writeable = True``), and a
    certificate would speak of a machine that has changed since. The training data is not copied.
    """
    own = copy.copy(solution)
    for name, value in vars(solution).items():
        if isinstance(value, np.ndarray):
            object.__setattr__(own, name, _locked(value))
    return own


def _locked(array: Array) -> Array:
    if array.dtype.hasobject or not array.size:
        return array
    return np.frombuffer(array.tobytes(), array.dtype).reshape(array.shape)
