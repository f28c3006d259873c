"""Comparison and hashing of arrays of Python objects by their contents.

Numbers, text, bytes and None count by type and value; so do lists, tuples, sets, dictionaries and
arrays of these: whatever a kernel could tell apart is different, as are 1 and True, a list and a
tuple, two units of time. Every other object is the same as another one if it *is* that one, or if
its class itself defines ``==``, and that says so.

Digests of arrays are BLAKE2b hashes. They show whether stored numbers are those of before, and find
damage, edits and samples that change between passes. A digest is no proof of who wrote a
file, because an editor can compute it anew: what a file claims is measured before it is repeated.

Source: Saarinen and Aumasson, *The BLAKE2 Cryptographic Hash*, RFC 7693 (2015).
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterable, Iterator
from itertools import chain, zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt

from qpsvm.numerics.arrays import Array, Sparse, is_sparse
from qpsvm.numerics.single_precision import SinglePrecision

_CONTAINERS = (list, tuple, set, frozenset, dict)


def own_copy(entry: Any) -> Any:
    """Copy an object's lists, sets, dictionaries and arrays; share its immutable parts."""
    kind = type(entry)
    if kind in (list, tuple, set, frozenset):
        return kind(map(own_copy, entry))
    if kind is dict:
        return {key: own_copy(value) for key, value in entry.items()}
    if kind is np.ndarray:
        copy = entry.copy()
        if entry.dtype == object:
            for place, inner in np.ndenumerate(entry):
                copy[place] = own_copy(inner)
        copy.flags.writeable = False
        return copy
    return entry


def same(one: Any, other: Any) -> bool:
    """Return whether two arrays of objects are equal entry by entry; False if this is unknown.

    Examples
    --------
    >>> words = np.array(["ant", "bee"])
    >>> same(words, words.astype(object)), same(words, words[::-1])
    (True, False)
    """
    if one.shape != other.shape or _layout(one) != _layout(other):
        return False
    if not _holds_objects(one):
        return bool(one.tobytes() == other.tobytes())
    entries = zip(one.ravel().tolist(), other.ravel().tolist(), strict=True)
    try:
        return all(a is b or _same(_tokens(a), _tokens(b)) for a, b in entries)
    except Exception:  # noqa: BLE001 - whatever an object's own code raises, depth among it
        return False


def bytes_of(array: npt.ArrayLike) -> bytes:
    """The entries of an array as bytes, without its shape.

    An object that is no value counts as it is pickled; one that cannot be, by its place in memory:
    as long as it is kept, it is like no other.

    Examples
    --------
    >>> words = np.array(["ant", "bee"])
    >>> bytes_of(words) == bytes_of(words.astype(object))
    True
    >>> bytes_of(words) == bytes_of(words[::-1])
    False
    """
    values = np.ascontiguousarray(array)
    layout = _layout(values).encode()
    if not _holds_objects(values):
        return layout + values.tobytes()
    return layout + b"".join(map(_content, values.ravel().tolist()))


def row_hashes(samples: Any) -> npt.NDArray[np.uint64]:
    """64 bits for every entry of an array of shape (n,), or every row of a table."""
    digests = [hashlib.blake2b(_content(row), digest_size=8) for row in samples.tolist()]
    return np.frombuffer(b"".join(digest.digest() for digest in digests), dtype=np.uint64)


def _holds_objects(array: Array) -> bool:
    return array.dtype.kind in "UST" or bool(array.dtype.hasobject)


def _layout(array: Array) -> str:
    """Type of the entries, with units and names of fields; text may be stored in several."""
    is_plain = _holds_objects(array) and array.dtype.names is None
    return "objects" if is_plain else str(array.dtype)


def _tokens(entry: Any) -> Iterator[object]:
    """Yield the types and values of an object as bytes, and objects without a value."""
    kind = type(entry)
    if kind in (str, np.str_):
        yield _token("str", str(entry).encode("utf-8", "surrogatepass"))
    elif kind in (bytes, np.bytes_):
        yield _token("bytes", bytes(entry))
    elif kind in (bool, int, float, complex, type(None)):
        yield _token(kind.__name__, repr(entry).encode())
    elif isinstance(entry, np.number | np.bool_ | np.datetime64):
        yield _token(entry.dtype.str, entry.tobytes())
    elif kind in _CONTAINERS:
        yield _token(kind.__name__, str(len(entry)).encode())
        items: Iterable[object] = entry.items() if kind is dict else entry
        if kind in (set, frozenset):  # whose order says nothing
            items = sorted(items, key=_content)
        yield from chain.from_iterable(map(_tokens, items))
    elif kind is np.ndarray:
        yield _token(f"array of {entry.dtype}", str(entry.shape).encode())
        if _holds_objects(entry):
            yield from chain.from_iterable(map(_tokens, entry.ravel().tolist()))
        else:
            yield entry.tobytes()
    else:
        yield entry


def _token(kind: str, content: bytes) -> bytes:
    return f"{kind} {len(content)}\n".encode() + content


def _same(one: Iterator[object], other: Iterator[object]) -> bool:
    for a, b in zip_longest(one, other):
        kind = type(a)
        if a is b:
            continue
        if kind is not type(b) or not (kind is bytes or "__eq__" in vars(kind)):
            return False
        if (a == b) is not True:
            return False
    return True


def _content(entry: object) -> bytes:
    try:
        return b"".join(t if type(t) is bytes else _pickled(t) for t in _tokens(entry))
    except RecursionError:
        return _pickled(entry)


def _pickled(entry: object) -> bytes:
    kind = type(entry)
    try:
        content = pickle.dumps(entry, protocol=4)
    except Exception:  # noqa: BLE001 - whatever an object's own code raises
        content = b"at " + str(id(entry)).encode()
    return _token(f"{kind.__module__}.{kind.__qualname__}", content)


def digest(*parts: Array | Sparse | SinglePrecision | str | None) -> str:
    """BLAKE2b hash of arrays and texts in their order: dtypes, shapes and all entries.

    Arrays of Python objects count as they are printed.

    Examples
    --------
    >>> digest(np.array([1.0, -0.0])) == digest(np.array([1.0, 0.0]))
    False
    >>> len(digest("two", np.zeros((2, 2))))
    64
    """
    found = hashlib.blake2b(digest_size=32)
    for part in parts:
        if part is None or isinstance(part, str):
            _add(found, "text" if part is not None else "nothing", (part or "").encode())
        elif is_sparse(part):
            _add(found, f"{part.format} {part.shape}", b"")
            for array in (part.data, part.indices, part.indptr):
                _add_array(found, array)
        else:
            _add_array(found, part.values if isinstance(part, SinglePrecision) else part)
    return found.hexdigest()


def _add_array(found: hashlib.blake2b, array: Array) -> None:
    kind = f"{array.dtype.str} {array.shape}"
    if array.dtype.kind in "OT":
        _add(found, kind, repr(array.tolist()).encode("utf-8", "surrogatepass"))
    else:
        _add(found, kind, np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def _add(found: hashlib.blake2b, kind: str, content: bytes | memoryview) -> None:
    found.update(f"{kind} {len(content)}\n".encode())  # where one part ends and the next begins
    found.update(content)
