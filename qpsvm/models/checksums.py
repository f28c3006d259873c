"""SHA-256 checksums of the members of a model file.

The metadata list the checksum of every array; the member ``metadata_sha256`` is that of the
metadata. They find damage and careless edits. Who edits a file on purpose can compute them anew:
whether a model is right, ``SavedModel.verify`` says.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np

from qpsvm.exceptions import ModelFileError
from qpsvm.files.npz import Arrays
from qpsvm.numerics.arrays import Array

OF_METADATA = "metadata_sha256"
"""Member with the checksum of the metadata."""


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


def sealed(metadata: Array) -> Arrays:
    """Add the checksum of the metadata to a file's members."""
    own = np.frombuffer(bytes.fromhex(digest(metadata)), dtype=np.uint8)
    return {"metadata": metadata, OF_METADATA: own}


def require_metadata(metadata: Array, stated: Array | None) -> None:
    """Refuse metadata that have another checksum than the file says.

    Raises
    ------
    ModelFileError
        They were changed, or the checksum is missing.
    """
    own = sealed(metadata)[OF_METADATA]
    if stated is None or stated.dtype != np.uint8 or not np.array_equal(stated, own):
        raise ModelFileError(
            "its metadata are not those that were written (their SHA-256 differs); it was changed "
            "or damaged: save the model again."
        )


def require_arrays(arrays: Arrays, stated: Mapping[str, object]) -> None:
    """Refuse arrays that are missing, unknown, or have another checksum than the metadata say.

    Raises
    ------
    ModelFileError
        The first of them by name.
    """
    for name in sorted({*arrays, *stated}):
        if name not in arrays:
            raise ModelFileError(f"array {name!r} is missing.")
        if name not in stated:
            raise ModelFileError(f"it holds an array that the metadata do not list, {name!r}.")
        if digest(arrays[name]) != stated[name]:
            raise ModelFileError(
                f"array {name!r} is not the one that was written (its SHA-256 differs); it was "
                "changed or damaged: save the model again."
            )
