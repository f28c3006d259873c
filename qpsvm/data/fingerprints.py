"""Hashes of training sets, equal for dense and sparse storage."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from qpsvm.io import json_text
from qpsvm.numerics.arrays import row_blocks
from qpsvm.numerics.contents import bytes_of
from qpsvm.numerics.conversion import first_rounded
from qpsvm.numerics.single_precision import Stored

if TYPE_CHECKING:
    from qpsvm.data.training_sets import TrainingSet

NOT_HASHED = ("X", "kept", "n_given", "feature_names")
"""X has a digest of its own; the others say where its rows and columns came from."""


def fingerprint(data: TrainingSet) -> str:
    """SHA-256 hash of a training set: samples, weights, labels or targets, pairs.

    Parameters
    ----------
    data : TrainingSet
        Of any kind.

    Returns
    -------
    str
        64 hexadecimal digits. Over the shape of X and, in blocks of rows, its entries other than
        zero with their places (as CSR arrays, int64 and float64, little-endian), or what
        ``qpsvm.numerics.contents`` says of samples that are no numbers; then the name and
        the entries of every other field: numbers as float64 (labels that float64 would round, as
        JSON text), anything else as JSON text.

    Examples
    --------
    >>> import qpsvm, scipy.sparse
    >>> X, y = [[0.0, 1.0], [2.0, 0.0]], ["a", "b"]
    >>> dense = qpsvm.SoftMargin().dual(X, y).data
    >>> sparse = qpsvm.SoftMargin().dual(scipy.sparse.csr_array(X), y).data
    >>> fingerprint(dense) == fingerprint(sparse)
    True
    """
    X = data.X
    digest = hashlib.sha256()
    digest.update(np.array(X.shape, dtype="<i8").tobytes())
    for part in (bytes_of(X),) if data.storage == "objects" else _entries(X):
        digest.update(part)
    for field in fields(data):
        if field.name not in NOT_HASHED:
            digest.update(f"\n{field.name}\n".encode())
            digest.update(_bytes(getattr(data, field.name)))
    return digest.hexdigest()


def _entries(X: Stored) -> Iterator[bytes]:
    """The nonzero entries and their positions."""
    for rows in row_blocks(*X.shape):
        block = sp.csr_array(X[rows])
        block.sum_duplicates()
        block.eliminate_zeros()
        block.sort_indices()
        for part, dtype in ((block.indptr, "<i8"), (block.indices, "<i8"), (block.data, "<f8")):
            yield part.astype(dtype).tobytes()


def _bytes(values: npt.ArrayLike) -> bytes:
    array = np.asarray(values)
    if array.dtype.kind in "biuf":
        numbers = array.astype("<f8")
        if first_rounded(array, numbers) is None:
            # labels 1 and 1.0 are the same; adding zero makes -0.0 the other zero
            return (numbers + 0.0).tobytes()
    return json_text.dumps(array.tolist()).encode()
