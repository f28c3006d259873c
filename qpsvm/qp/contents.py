"""Bytes that say what an array holds: not where in memory its objects are."""

from __future__ import annotations

import hashlib
import pickle
from typing import Any

import numpy as np
import numpy.typing as npt


def bytes_of(array: Any) -> bytes:
    """The entries of an array one after the other; its shape is not among them.

    Numbers, text and bytes count by value, and so do lists, tuples, sets,
    dictionaries and arrays of them. Any other
    object counts as it is pickled. One that cannot be is like no other: it counts by its place in
    memory, which is another one in every process.

    Examples
    --------
    >>> words = np.array(["ant", "bee"])
    >>> bytes_of(words) == bytes_of(words.astype(object))
    True
    >>> bytes_of(words) == bytes_of(words[::-1])
    False
    """
    values = np.ascontiguousarray(array)
    if values.dtype.kind not in "US" and not values.dtype.hasobject:
        return values.tobytes()
    return b"".join(map(_content, values.ravel().tolist()))


def row_hashes(samples: Any) -> npt.NDArray[np.uint64]:
    """64 bits for every entry of an array of shape (n,), or every row of a table."""
    digests = [hashlib.blake2b(_content(row), digest_size=8) for row in samples.tolist()]
    return np.frombuffer(b"".join(digest.digest() for digest in digests), dtype=np.uint64)


def _content(entry: Any) -> bytes:
    """Kind, length and content, so that no two sequences of entries are the same bytes."""
    if isinstance(entry, np.generic):
        entry = entry.item()
    if isinstance(entry, str):
        kind, content = "text", entry.encode("utf-8", "surrogatepass")
    elif isinstance(entry, bytes):
        kind, content = "bytes", entry
    elif isinstance(entry, int | float | complex):  # 1, 1.0 and True are equal
        kind, content = "number", repr(complex(entry) if abs(entry) < 2**53 else entry).encode()
    elif isinstance(entry, list | tuple):
        kind, content = "list", b"".join(map(_content, entry))
    elif isinstance(entry, set | frozenset):
        kind, content = "set", b"".join(sorted(map(_content, entry)))
    elif isinstance(entry, dict):
        kind, content = "mapping", b"".join(sorted(map(_content, entry.items())))
    elif isinstance(entry, np.ndarray):
        kind, content = f"array {entry.dtype.str} {entry.shape}", bytes_of(entry)
    else:
        kind, content = f"{type(entry).__module__}.{type(entry).__qualname__}", _pickled(entry)
    return f"{kind} {len(content)}\n".encode() + content


def _pickled(entry: Any) -> bytes:
    try:
        return pickle.dumps(entry, protocol=4)
    except Exception:  # noqa: BLE001 - whatever an object's own code raises
        return b"at " + str(id(entry)).encode()
