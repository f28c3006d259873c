"""Files of numbers with a JSON text: what the text is, and how each array is taken out, checked.

Models and programs are such files. The text, the member ``metadata``, says what the file is and in
which version; a sparse matrix is four arrays. Every array is taken out once, with the dtype and
shape that its reader needs, and none may be left.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from qpsvm.exceptions import QPSVMError
from qpsvm.io import files, json_text, npz
from qpsvm.io.npz import Arrays
from qpsvm.numerics.arrays import Array, Matrix, default_memory_limit, is_sparse
from qpsvm.numerics.conversion import compressed_rows

METADATA = "metadata"
"""Member with the JSON text."""

MAX_METADATA = 2**26
"""Bytes of the JSON text: parsed, it takes many times as much memory."""

COMPRESSED = ("data", "indices", "indptr", "shape")
"""Arrays that a sparse matrix is stored as, in compressed rows or columns."""


@dataclass(frozen=True)
class FileKind:
    """A kind of file: what it holds, the version of its format, and what writes it.

    Attributes
    ----------
    noun : str
        "model" or "program"; the format is called ``qpsvm model``.
    version : int
    writer : str
        Public name of the function, for messages.
    error : type of exception
        Raised for everything that is wrong.
    """

    noun: str
    version: int
    writer: str
    error: type[QPSVMError]

    def read(self, path: str | os.PathLike[str]) -> Arrays:
        """Read the arrays of a file; refuse one that is no NPZ file of plain arrays."""
        limit = default_memory_limit()
        return npz.read(path, self.error, limit_bytes=limit, compressed=False)

    def write(self, path: str | os.PathLike[str], arrays: Arrays) -> None:
        """Write the arrays of a file, completely or not at all."""
        with files.writing(path, self.noun, self.error) as stream:
            npz.write(stream, arrays)

    def metadata(self, entries: Mapping[str, object]) -> Array:
        """The JSON text of a file as bytes; refuse one that ``entries_of`` would not read."""
        header = {"format": f"qpsvm {self.noun}", "format_version": self.version}
        text = json_text.dumps(header | dict(entries))
        # what UTF-8 cannot hold (half a surrogate pair) becomes the escape that JSON reads back
        array = np.frombuffer(text.encode("utf-8", "backslashreplace"), dtype=np.uint8)
        if array.size > MAX_METADATA:
            raise self.error(
                f"The metadata of the {self.noun} take {array.size:,} bytes, more than "
                f"{MAX_METADATA:,}: its constraints, parameters or names are too large; pass fewer."
            )
        return array

    def entries_of(self, arrays: Arrays) -> dict[str, Any]:
        """Parse the JSON text of a file; refuse one of another kind or version."""
        array = arrays.get(METADATA)
        if array is None or array.dtype != np.uint8 or array.ndim != 1 or array.size > MAX_METADATA:
            raise self.error(
                f"it has no metadata; write {self.noun}s with {self.writer}, which stores them as "
                "bytes of a JSON text."
            )
        try:
            data = json_text.loads(array.tobytes().decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise self.error(f"its metadata is not JSON ({error}).") from error
        if not isinstance(data, dict) or data.get("format") != f"qpsvm {self.noun}":
            raise self.error(
                f"its metadata does not say 'qpsvm {self.noun}'; it is something else."
            )
        version = data.get("format_version")
        if version != self.version:
            older = type(version) is int and version < self.version
            remedy = "update (upgrade) qpsvm"
            if older:
                remedy = f"version {version} is no longer read: save the {self.noun} again"
            raise self.error(
                f"it has format version {version!r}, this qpsvm reads {self.version}; {remedy}."
            )
        return data


class Members:
    """Arrays of a file that are taken out once, each with the dtype and shape that it must have.

    Parameters
    ----------
    arrays : mapping of str to array
    error : type of exception
        Raised for an array that is missing, of another dtype or shape, or left.
    """

    def __init__(self, arrays: Mapping[str, Array], error: type[QPSVMError]) -> None:
        self._arrays = {name: array for name, array in arrays.items() if name != METADATA}
        self._error = error

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def take(
        self, name: str, *shape: int | None, dtypes: Sequence[npt.DTypeLike] = (np.float64,)
    ) -> Array:
        """Take an array of one of some dtypes, and of a shape: None for any length."""
        if name not in self._arrays:
            raise self._error(f"array {name!r} is missing.")
        array = self._arrays.pop(name)
        if array.dtype not in dtypes:
            expected = " or ".join(str(np.dtype(dtype)) for dtype in dtypes)
            raise self._error(f"array {name!r} has dtype {array.dtype} instead of {expected}.")
        if not _fits(array.shape, shape):
            raise self._error(f"array {name!r} has shape {array.shape}{_instead_of(shape)}.")
        # a copy is aligned, which sums may depend on to the last bit
        return np.array(array, order="C")

    def take_matrix(
        self, name: str, rows: int | None, columns: int | None, *, by_columns: bool = False
    ) -> Matrix:
        """Take a float64 matrix, an array or the parts of a CSR matrix (of CSC ``by_columns``)."""
        if name in self:
            return self.take(name, rows, columns)
        integers = (np.int32, np.int64)
        data = self.take(f"{name}_data", None)
        indices, indptr, shape = (
            self.take(f"{name}_{part}", None, dtypes=integers) for part in COMPRESSED[1:]
        )
        try:
            matrix = compressed_rows(data, indices, indptr, shape[::-1] if by_columns else shape)
        except (ValueError, TypeError, OverflowError, IndexError) as error:
            what = "matrix in compressed columns" if by_columns else "CSR matrix"
            raise self._error(f"{name!r} is not a {what} ({error}).") from error
        if not matrix.has_canonical_format:
            raise self._error(f"{name!r} has unsorted or repeated entries.")
        found: Matrix = matrix.T if by_columns else matrix
        if not _fits(found.shape, (rows, columns)):
            raise self._error(f"{name!r} has shape {found.shape}{_instead_of((rows, columns))}.")
        return found

    def require_empty(self) -> None:
        """Refuse a file with arrays that were not taken out of it."""
        if self._arrays:
            raise self._error(f"it holds unknown arrays: {', '.join(sorted(self._arrays))}.")


def _fits(found: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    """Whether a shape is the one that is wanted, of which None is any length."""
    return len(found) == len(wanted) and all(
        n is None or n == own for n, own in zip(wanted, found, strict=True)
    )


def _instead_of(wanted: tuple[int | None, ...]) -> str:
    """The end of a message about a shape."""
    if wanted == (None,):
        return ", not one dimension"
    return f" instead of {wanted}{' rows and columns' * (len(wanted) == 2)}"


def matrix_members(name: str, matrix: Matrix, integers: npt.DTypeLike | None = None) -> Arrays:
    """The arrays that ``Members.take_matrix`` reads: the matrix, or the parts of a CSR or CSC one.

    Parameters
    ----------
    name : str
    matrix : array, CSR array or CSC array
    integers : dtype, optional
        Of the indices; by default their own.
    """
    if not is_sparse(matrix):
        return {name: np.asarray(matrix)}
    places = (matrix.indices, matrix.indptr)
    parts = (
        matrix.data,
        *(part.astype(integers or part.dtype) for part in places),
        np.array(matrix.shape, dtype=np.int64),
    )
    return {f"{name}_{part}": value for part, value in zip(COMPRESSED, parts, strict=True)}
