"""The stored form of a model: a JSON text and arrays of numbers, each checked as it is read.

The metadata say format and version, list the SHA-256 of every array, and the shapes of the arrays
of every machine: the arrays of all machines are stored end to end, so that a file has as many of
them for forty-five machines as for one. A sparse matrix is four arrays. The member
``metadata_sha256`` is the checksum of the metadata. Checksums find damage and careless edits. Who
edits a file on purpose can compute them anew: whether a model is right, ``SavedModel.verify`` says.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from qpsvm.exceptions import ModelFileError
from qpsvm.io import json_text
from qpsvm.io.npz import Arrays
from qpsvm.models.machine import FLOATS, INTEGERS, Numbers
from qpsvm.numerics.arrays import Array, Matrix
from qpsvm.numerics.conversion import compressed_rows

FORMAT = "qpsvm model"
FORMAT_VERSION = 2
"""Version 1 had two-class machines only, and no checksums."""

OF_METADATA = "metadata_sha256"
"""Member with the checksum of the metadata."""

CSR_PARTS = ("data", "indices", "indptr", "shape")
"""The arrays that a sparse matrix is stored as."""

MAX_METADATA = 2**26

WORDS: Mapping[type, str] = {
    dict: "an object",
    list: "a list",
    str: "a text",
    int: "a whole number",
    float: "a number",
}


# --- writing -------------------------------------------------------------------------------------


def written(entries: Mapping[str, object]) -> Arrays:
    """The members of a file with its metadata and their checksum.

    Raises
    ------
    ModelFileError
        The metadata are larger than ``metadata_of`` accepts.
    """
    text = json_text.dumps({"format": FORMAT, "format_version": FORMAT_VERSION} | dict(entries))
    array = np.frombuffer(text.encode(), dtype=np.uint8)
    if array.size > MAX_METADATA:
        raise ModelFileError(
            f"The metadata of the model take {array.size:,} bytes, more than {MAX_METADATA:,}: "
            "its constraints or parameters are too large; pass them as fewer rows."
        )
    return sealed(array)


def sealed(metadata: Array) -> Arrays:
    """Add the checksum of the metadata to a file's members."""
    own = np.frombuffer(bytes.fromhex(digest(metadata)), dtype=np.uint8)
    return {"metadata": metadata, OF_METADATA: own}


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


# --- the metadata --------------------------------------------------------------------------------


def metadata_of(array: Array) -> dict[str, Any]:
    """Parse the metadata from their bytes.

    Raises
    ------
    ModelFileError
        Not JSON, not of this format, or of another version.
    """
    if array.dtype != np.uint8 or array.ndim != 1 or array.size > MAX_METADATA:
        raise ModelFileError("its metadata are not a JSON text.")
    try:
        data = json_text.loads(array.tobytes().decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"its metadata are not a JSON text ({error}).") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ModelFileError("its metadata are those of something else.")
    version = data.get("format_version")
    if version != FORMAT_VERSION:
        older = type(version) is int and version < FORMAT_VERSION
        remedy = "save the model again" if older else "upgrade qpsvm"
        raise ModelFileError(
            f"it has version {version!r} of the format, this qpsvm reads {FORMAT_VERSION}; "
            f"{remedy}."
        )
    return data


def entry(data: Mapping[str, Any], name: str, kind: type) -> Any:
    """Return a field of a model file's JSON; refuse a missing one, or one of another type."""
    value: Any = data.get(name)
    is_right: bool = isinstance(value, (int, float) if kind is float else kind)
    if not is_right:
        raise ModelFileError(f"the metadata's {name} is {type(value).__name__}, not {WORDS[kind]}.")
    return float(value) if kind is float else value


def count(data: Mapping[str, Any], name: str) -> int:
    """Return an entry of a JSON object that must be a positive integer."""
    value: int = entry(data, name, int)
    if isinstance(value, bool) or not 1 <= value < 2**62:
        raise ModelFileError(f"the metadata's {name} is {value!r}; it must be at least 1.")
    return value


def opened(contents: Arrays) -> tuple[dict[str, Any], Arrays]:
    """Read the metadata of a file, and its other arrays, all with the checksums that are stated.

    Raises
    ------
    ModelFileError
        They were changed; an array is missing, or unknown.
    """
    arrays = dict(contents)
    if "metadata" not in arrays:
        raise ModelFileError("it has no metadata; write models with qpsvm.models.save.")
    text, stated = arrays.pop("metadata"), arrays.pop(OF_METADATA, None)
    data, own = metadata_of(text), sealed(text)[OF_METADATA]
    if stated is None or stated.dtype != np.uint8 or not np.array_equal(stated, own):
        raise ModelFileError(
            "its metadata are not those that were written (their SHA-256 differs); it was changed "
            "or damaged: save the model again."
        )
    digests = entry(data, "sha256", dict)
    for name in sorted({*arrays, *digests}):
        if name not in arrays:
            raise ModelFileError(f"array {name!r} is missing.")
        if name not in digests:
            raise ModelFileError(f"it holds an array that the metadata do not list, {name!r}.")
        if digest(arrays[name]) != digests[name]:
            raise ModelFileError(
                f"array {name!r} is not the one that was written (its SHA-256 differs); it was "
                "changed or damaged: save the model again."
            )
    return data, arrays


# --- the arrays: each is taken out of the file once ----------------------------------------------


def taken(
    arrays: Arrays, name: str, dtype: type, *shape: int | None, infinite: bool = False
) -> Array:
    """Take an array of a dtype and shape, None for any length; ``infinite`` entries may be that."""
    if name not in arrays:
        raise ModelFileError(f"array {name!r} is missing.")
    array = arrays.pop(name)
    if array.dtype != dtype:
        raise ModelFileError(
            f"array {name!r} has dtype {array.dtype} instead of {np.dtype(dtype)}."
        )
    if np.isnan(array).any() or not (infinite or np.isfinite(array).all()):
        raise ModelFileError(f"array {name!r} holds NaN or infinite numbers.")
    wanted = [own if n is None else n for n, own in zip(shape, array.shape, strict=False)]
    if array.ndim != len(shape) or list(array.shape) != wanted:
        raise ModelFileError(f"array {name!r} has shape {array.shape} instead of {shape}.")
    # a copy is aligned, which sums may depend on to the last bit
    return np.array(array, order="C")


def taken_matrix(arrays: Arrays, name: str, columns: int) -> Matrix:
    """Take a float64 matrix, dense or from the parts of a CSR matrix."""
    if name in arrays:
        matrix: Matrix = taken(arrays, name, np.float64, None, None)
    else:
        parts = [taken(arrays, f"{name}_data", np.float64, None)]
        parts += [taken(arrays, f"{name}_{part}", np.int64, None) for part in CSR_PARTS[1:]]
        try:
            matrix = compressed_rows(*parts)
            if not matrix.has_canonical_format:
                raise ValueError("the columns of a row do not rise")
        except (ValueError, TypeError, OverflowError, IndexError) as error:
            raise ModelFileError(f"{name!r} is not a CSR matrix ({error}).") from error
    if matrix.shape[1] != columns:
        raise ModelFileError(f"{name!r} has shape {matrix.shape}; the model has {columns} columns.")
    return matrix


def taken_machines(arrays: Arrays, shapes: Sequence[Mapping[str, Any]]) -> list[dict[str, Array]]:
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
        infinite = name == "intercept_interval"
        values = taken(arrays, name, dtype, sum(sizes), infinite=infinite)
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
