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
from typing import Any, TypeVar

import numpy as np

from qpsvm.exceptions import ModelFileError
from qpsvm.files import json_text
from qpsvm.files.npz import Arrays
from qpsvm.models.machine import FLOATS, INTEGERS, Numbers
from qpsvm.numerics.arrays import Array, Matrix
from qpsvm.numerics.conversion import compressed_rows

Kind = TypeVar("Kind", dict[str, Any], list[Any], str, int, float)

FORMAT = "qpsvm model"
FORMAT_VERSION = 2
"""Version 1 had two-class machines only, and no checksums."""

OF_METADATA = "metadata_sha256"
"""Member with the checksum of the metadata."""

CSR_PARTS = ("data", "indices", "indptr", "shape")
"""The arrays that a sparse matrix is stored as."""

_MAX_METADATA = 2**26
_MAX_DIMENSIONS = 2


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
    if array.size > _MAX_METADATA:
        raise ModelFileError(
            f"The metadata of the model take {array.size:,} bytes, more than {_MAX_METADATA:,}: "
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
    arrays: Arrays = {}
    for name in (*FLOATS, *INTEGERS):
        parts = [numbers[name].ravel() for numbers in machines if name in numbers]
        if parts:
            arrays[name] = np.concatenate(parts)
    return arrays


# --- the metadata --------------------------------------------------------------------------------


class Fields:
    """A JSON object whose entries are checked as they are read."""

    def __init__(self, entries: Mapping[str, object]) -> None:
        self.entries = dict(entries)

    def get(self, name: str) -> object:
        """Return an entry as it is; None without it."""
        return self.entries.get(name)

    def of(self, name: str, kind: type[Kind]) -> Kind:
        """Return an entry that must be of a type; an integer is a number, too."""
        value: Any = self.entries.get(name)
        if not isinstance(value, (int, float) if kind is float else kind):
            raise ModelFileError(
                f"the metadata's {name} is {type(value).__name__}, not {_WORDS[kind]}."
            )
        return kind(value) if kind is float else value

    def objects(self, name: str) -> list[Fields]:
        """Return an entry that must be a list of one or more objects."""
        entries = self.of(name, list)
        if not entries or not all(isinstance(entry, dict) for entry in entries):
            raise ModelFileError(f"the metadata's {name} must be a list of objects.")
        return list(map(Fields, entries))

    def count(self, name: str) -> int:
        """Return an entry that must be a positive integer."""
        value = self.of(name, int)
        if isinstance(value, bool) or not 1 <= value < 2**62:
            raise ModelFileError(f"the metadata's {name} is {value!r}; it must be at least 1.")
        return value


_WORDS: Mapping[type, str] = {
    dict: "an object",
    list: "a list",
    str: "a text",
    int: "a whole number",
    float: "a number",
}


def metadata_of(array: Array) -> Fields:
    """Parse the metadata from their bytes.

    Raises
    ------
    ModelFileError
        Not JSON, not of this format, or of another version.
    """
    if array.dtype != np.uint8 or array.ndim != 1 or array.size > _MAX_METADATA:
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
    return Fields(data)


def opened(contents: Arrays) -> tuple[Fields, ArrayReader]:
    """Read the metadata of a file; refuse arrays and metadata with another checksum than stated.

    Raises
    ------
    ModelFileError
        They were changed; an array is missing, or unknown.
    """
    arrays = dict(contents)
    if "metadata" not in arrays:
        raise ModelFileError("it has no metadata; write models with qpsvm.models.save.")
    text, stated = arrays.pop("metadata"), arrays.pop(OF_METADATA, None)
    fields, own = metadata_of(text), sealed(text)[OF_METADATA]
    if stated is None or stated.dtype != np.uint8 or not np.array_equal(stated, own):
        raise ModelFileError(
            "its metadata are not those that were written (their SHA-256 differs); it was changed "
            "or damaged: save the model again."
        )
    digests = fields.of("sha256", dict)
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
    return fields, ArrayReader(arrays)


# --- the arrays ----------------------------------------------------------------------------------


class ArrayReader:
    """The arrays of a file, each checked and handed out once."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = arrays

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def take(self, name: str, dtype: type, *, infinite: bool = False) -> Array:
        """Take an array of a dtype; with ``infinite`` its entries may be that."""
        if name not in self._arrays:
            raise ModelFileError(f"array {name!r} is missing.")
        array = self._arrays.pop(name)
        if array.dtype != dtype:
            raise ModelFileError(
                f"array {name!r} has dtype {array.dtype} instead of {np.dtype(dtype)}."
            )
        if np.isnan(array).any() or not (infinite or np.isfinite(array).all()):
            raise ModelFileError(f"array {name!r} holds NaN or infinite numbers.")
        # a copy is aligned, which sums may depend on to the last bit
        return np.array(array, order="C")

    def vector(
        self, name: str, dtype: type, length: int | None = None, *, infinite: bool = False
    ) -> Array:
        """Take a vector of a length, of any length by default."""
        array = self.take(name, dtype, infinite=infinite)
        length = array.size if length is None else length
        if array.shape != (length,):
            raise ModelFileError(f"array {name!r} has shape {array.shape} instead of ({length},).")
        return array

    def matrix(self, name: str, columns: int) -> Matrix:
        """Take a float64 matrix, dense or from the parts of a CSR matrix."""
        matrix: Matrix
        if name in self:
            matrix = self.take(name, np.float64)
        else:
            data = self.take(f"{name}_data", np.float64)
            integers = [self.take(f"{name}_{part}", np.int64) for part in CSR_PARTS[1:]]
            try:
                matrix = compressed_rows(data, *integers)
                if not matrix.has_canonical_format:
                    raise ValueError("the columns of a row do not rise")
            except (ValueError, TypeError, OverflowError, IndexError) as error:
                raise ModelFileError(f"{name!r} is not a CSR matrix ({error}).") from error
        if matrix.ndim != 2 or matrix.shape[1] != columns:
            raise ModelFileError(
                f"{name!r} has shape {matrix.shape}; the model has {columns} columns."
            )
        return matrix

    def machines(self, shapes: Sequence[Mapping[str, object]]) -> list[dict[str, Array]]:
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
            values = self.vector(name, dtype, sum(sizes), infinite=infinite)
            parts = np.split(values, np.cumsum(sizes)[:-1])
            for (i, shape), part in zip(own.items(), parts, strict=True):
                machines[i][name] = np.array(part).reshape(shape)
        return machines

    def require_empty(self) -> None:
        """Refuse a file with arrays that were not requested."""
        if self._arrays:
            raise ModelFileError(f"it holds unknown arrays: {', '.join(sorted(self._arrays))}.")


def _shape(given: object) -> tuple[int, ...]:
    if isinstance(given, list) and len(given) <= _MAX_DIMENSIONS:
        sizes = [n for n in given if type(n) is int and 0 <= n < 2**40]
        if len(sizes) == len(given):
            return tuple(sizes)
    raise ModelFileError(f"the metadata's shapes hold {str(given)[:60]!r}, which is none.")
