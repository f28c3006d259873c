"""One number for a data set, the same whether it is stored dense or sparse."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.data import BinaryTrainingSet
from qpsvm.qp._arrays import row_blocks


def fingerprint(data: BinaryTrainingSet) -> str:
    """SHA-256 of the non-zero entries of X with their places, and of the signs of the labels."""
    X = data.X
    digest = hashlib.sha256()
    digest.update(np.array(X.shape, dtype="<i8").tobytes())
    for rows in row_blocks(*X.shape):
        block: Any = sp.csr_array(X[rows])
        block.sum_duplicates()
        block.eliminate_zeros()
        block.sort_indices()
        for part, dtype in ((block.indptr, "<i8"), (block.indices, "<i8"), (block.data, "<f8")):
            digest.update(part.astype(dtype).tobytes())
    digest.update((data.signs > 0).astype("<i1").tobytes())
    return digest.hexdigest()
