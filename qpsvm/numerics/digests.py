"""Digests of arrays: BLAKE2b hashes that show whether stored numbers are those of before.

They find damage, edits and samples that change between passes. A digest is no proof of who wrote a
file, because an editor can compute it anew: what a file claims is measured before it is repeated.

Source: Saarinen and Aumasson, *The BLAKE2 Cryptographic Hash*, RFC 7693 (2015).
"""

from __future__ import annotations

import hashlib

import numpy as np

from qpsvm.numerics.arrays import Array, Sparse, is_sparse
from qpsvm.numerics.single_precision import SinglePrecision

SIZE = 32
"""Bytes of a digest."""


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
    found = hashlib.blake2b(digest_size=SIZE)
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
