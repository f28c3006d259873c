"""The stored form of a model: its checksums, and the arrays of its machines.

The metadata list the SHA-256 of every array, and the shapes of the arrays of every machine: the
arrays of all machines are stored end to end, so that a file has as many of them for forty-five
machines as for one. The member ``metadata_sha256`` is the checksum of the metadata. Checksums find
damage and careless edits. Who edits a file on purpose can compute them anew: whether a model is
right, ``SavedModel.verify`` says.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import numpy as np

from qpsvm.exceptions import ModelFileError
from qpsvm.io.members import METADATA, FileKind, Members
from qpsvm.io.npz import Arrays
from qpsvm.models.machine import FLOATS, INTEGERS, Numbers
from qpsvm.numerics.arguments import an
from qpsvm.numerics.arrays import Array

MODEL = FileKind("model", 2, "qpsvm.models.save", ModelFileError)
"""Model files. Version 1 had two-class machines only, and no checksums."""

OF_METADATA = "metadata_sha256"
"""Member with the checksum of the metadata."""


# --- checksums -----------------------------------------------------------------------------------


def sealed(metadata: Array) -> Arrays:
    """The metadata of a file and their checksum, as members."""
    own = np.frombuffer(bytes.fromhex(digest(metadata)), dtype=np.uint8)
    return {METADATA: metadata, OF_METADATA: own}


def digest(array: Array) -> str:
    """SHA-256 of an array: its dtype, its shape, its entries in C order.

    Examples
    --------
    >>> digest(np.array([1.0])) == digest(np.array([[1.0]]))
    False
    """
    found = hashlib.sha256(f"{array.dtype.str} {array.shape}\n".encode())
    found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def opened(arrays: Arrays) -> tuple[dict[str, Any], Members]:
    """Read the metadata of a file, and its other arrays, all with the checksums that are stated.

    Raises
    ------
    ModelFileError
        They were changed; an array is missing, or unknown, or holds NaN or infinite numbers.
    """
    data = MODEL.entries_of(arrays)
    of_metadata = sealed(arrays[METADATA])[OF_METADATA]
    stated = entry(data, "sha256", dict) | {OF_METADATA: digest(of_metadata)}
    found = {name: digest(array) for name, array in arrays.items() if name != METADATA}
    for name in sorted({*stated, *found}):
        if name not in found:
            raise ModelFileError(f"array {name!r} is missing.")
        if name not in stated:
            raise ModelFileError(f"it holds an array that the metadata do not list, {name!r}.")
        if stated[name] != found[name]:
            what = "metadata" if name == OF_METADATA else f"array {name!r}"
            raise ModelFileError(
                f"its {what} is not what was written (its SHA-256 differs); it was changed or "
                "damaged: save the model again."
            )
    numbers = {name: array for name, array in arrays.items() if name != OF_METADATA}
    wrong = not_finite(numbers)
    if wrong is not None:
        raise ModelFileError(f"array {wrong!r} holds NaN or infinite numbers.")
    return data, Members(numbers, ModelFileError)


# --- entries of the metadata ---------------------------------------------------------------------


def entry(data: Mapping[str, Any], name: str, kind: Any) -> Any:
    """Return an entry of a JSON object; refuse a missing one, or one of another type."""
    value = data.get(name)
    if not isinstance(value, kind):
        kinds = kind if isinstance(kind, tuple) else get_args(kind) or (kind,)
        wanted = " or ".join(each.__name__ for each in kinds)
        raise ModelFileError(f"the metadata's {name} is {an(value)}, not of type {wanted}.")
    return value


def count(data: Mapping[str, Any], name: str) -> int:
    """Return an entry of a JSON object that must be a positive integer."""
    value = data.get(name)
    if type(value) is not int or not 1 <= value < 2**62:
        raise ModelFileError(f"the metadata's {name} is {value!r}; it must be at least 1.")
    return value


# --- the arrays of the machines ------------------------------------------------------------------


def not_finite(arrays: Arrays) -> str | None:
    """Name of the first array with NaN or, but for intervals of intercepts, infinite numbers."""
    for name, array in arrays.items():
        if array.dtype.kind == "f":
            fine = ~np.isnan(array) if name == "intercept_interval" else np.isfinite(array)
            if not fine.all():
                return name
    return None


def packed(machines: Sequence[Numbers]) -> Arrays:
    """Put the arrays of all machines end to end.

    Examples
    --------
    >>> packed([{"alpha": np.ones(2)}, {"alpha": np.zeros((1, 2))}])
    {'alpha': array([1., 1., 0., 0.])}
    """
    parts = {
        name: [numbers[name].ravel() for numbers in machines if name in numbers]
        for name in (*FLOATS, *INTEGERS)
    }
    return {name: np.concatenate(own) for name, own in parts.items() if own}


def taken_machines(members: Members, shapes: Sequence[Mapping[str, Any]]) -> list[dict[str, Array]]:
    """Take the arrays of all machines, which are stored end to end.

    Raises
    ------
    ModelFileError
        Shapes that are none, or that do not add up to the arrays.
    """
    machines: list[dict[str, Array]] = [{} for _ in shapes]
    for name in (*FLOATS, *INTEGERS):
        own = {i: _shape(given[name]) for i, given in enumerate(shapes) if name in given}
        if not own:
            continue
        sizes = [math.prod(shape) for shape in own.values()]
        dtype = np.int64 if name in INTEGERS else np.float64
        values = members.take(name, sum(sizes), dtypes=(dtype,))
        parts = np.split(values, np.cumsum(sizes)[:-1])
        for (i, shape), part in zip(own.items(), parts, strict=True):
            machines[i][name] = np.array(part).reshape(shape)
    return machines


def _shape(given: Any) -> tuple[int, ...]:
    """A shape of up to two dimensions."""
    fits = isinstance(given, list) and len(given) <= 2
    if not fits or not all(type(n) is int and 0 <= n < 2**40 for n in given):
        raise ModelFileError(f"the metadata's shapes hold {str(given)[:60]!r}, which is none.")
    return tuple(given)
