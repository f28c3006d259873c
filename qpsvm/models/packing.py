"""Packing of the numbers of all machines of a model into one array per name.

The metadata have the shapes: ``{"alpha": [20], "intercept": []}`` for every machine. A file has as
many arrays for forty-five machines as for one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from qpsvm.exceptions import ModelFileError
from qpsvm.files.npz import Arrays
from qpsvm.models.array_reader import ArrayReader
from qpsvm.models.machine import FLOATS, INTEGERS, Numbers
from qpsvm.numerics.arrays import Array

MAX_DIMENSIONS = 2


def shapes_of(numbers: Numbers) -> dict[str, list[int]]:
    """The shape of every array of a machine."""
    return {name: list(array.shape) for name, array in numbers.items()}


def packed(machines: Sequence[Numbers]) -> Arrays:
    """Put the arrays of all machines end to end.

    Examples
    --------
    >>> packed([{"alpha": np.ones(2)}, {"alpha": np.zeros((1, 2))}])
    {'alpha': array([1., 1., 0., 0.])}
    """
    arrays: Arrays = {}
    for name in (*FLOATS, *INTEGERS):
        parts = [numbers[name].ravel() for numbers in machines if name in numbers]
        if parts:
            arrays[name] = np.concatenate(parts)
    return arrays


def unpacked(reader: ArrayReader, shapes: Sequence[Mapping[str, object]]) -> list[dict[str, Array]]:
    """Take the arrays of all machines out of a file.

    Raises
    ------
    ModelFileError
        Shapes that are none, or that do not add up to the arrays.
    """
    machines: list[dict[str, Array]] = [{} for _ in shapes]
    for name in (*FLOATS, *INTEGERS):
        own = [(i, _shape(given[name])) for i, given in enumerate(shapes) if name in given]
        if not own:
            continue
        total = sum(math.prod(shape) for _, shape in own)
        values: Array
        if name in INTEGERS:
            values = reader.integers(name, total)
        else:
            values = reader.vector(name, total, infinite=name == "intercept_interval")
        start = 0
        for i, shape in own:
            stop = start + math.prod(shape)
            machines[i][name] = np.array(values[start:stop]).reshape(shape)
            start = stop
    return machines


def _shape(given: object) -> tuple[int, ...]:
    if isinstance(given, list) and len(given) <= MAX_DIMENSIONS:
        sizes = [n for n in given if type(n) is int and 0 <= n < 2**40]
        if len(sizes) == len(given):
            return tuple(sizes)
    raise ModelFileError(f"the metadata's shapes hold {str(given)[:60]!r}, which is none.")
