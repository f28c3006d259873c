"""Sparse matrices whose indices lie outside of their arrays are refused, from any source."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm
from qpsvm import datasets, models
from qpsvm.exceptions import DataFileError, InvalidDataError, ModelFileError
from qpsvm.io.members import Members
from qpsvm.numerics.conversion import require_sound

ENTRIES = np.random.default_rng(0).standard_normal((24, 3))
ENTRIES[ENTRIES < 0.0] = 0.0
ENTRIES[:, 0] += 1.0
LABELS = np.where(np.random.default_rng(1).random(24) < 0.5, 1, -1)


def broken_pointers(kind: type = sp.csr_array) -> dict[str, np.ndarray]:
    pointer = kind(ENTRIES).indptr.astype(np.int64)
    ends = {"negative": -pointer, "falling": pointer.copy(), "too far": pointer.copy()}
    ends["falling"][2] = pointer[1] - 1
    ends["too far"][-1] += 100
    return ends | {"not from 0": pointer + 1, "one too few": pointer[:-1], "all zero": 0 * pointer}


@pytest.mark.parametrize("how", [how for how in broken_pointers() if how != "all zero"])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, sp.csr_matrix])
def test_an_index_pointer_that_leaves_its_arrays_is_refused(kind: type, how: str) -> None:
    matrix = kind(ENTRIES)
    matrix.indptr = broken_pointers(kind)[how].astype(np.int32)
    with pytest.raises(ValueError, match="index pointer"):
        require_sound(matrix)
    with pytest.raises(InvalidDataError, match="not a usable sparse matrix"):
        qpsvm.SoftMargin().dual(matrix, LABELS)


def test_coordinates_that_leave_the_shape_are_refused() -> None:
    matrix = sp.coo_array(ENTRIES)
    matrix.coords[0][0] = 10**6
    with pytest.raises(InvalidDataError, match="leave the shape"):
        qpsvm.SoftMargin().dual(matrix, LABELS)


@pytest.mark.parametrize("how", broken_pointers())
def test_files_with_such_pointers_are_refused(tmp_path: Path, how: str) -> None:
    X, pointer = sp.csr_array(ENTRIES), broken_pointers()[how]
    parts = {"data": X.data, "indices": X.indices.astype(np.int64), "indptr": pointer}
    parts["shape"] = np.array(X.shape, dtype=np.int64)
    members = Members({f"X_{name}": part for name, part in parts.items()}, ModelFileError)
    with pytest.raises(ModelFileError, match="not a CSR matrix"):
        members.take_matrix("X", None, 3)
    path = tmp_path / "data.npz"
    np.savez(path, y=LABELS, **{f"X_{name}": part for name, part in parts.items()})
    with pytest.raises(DataFileError, match="not a CSR matrix"):
        datasets.load(str(path))


def test_a_model_file_with_another_pointer_is_refused(tmp_path: Path) -> None:
    X = sp.csr_array(ENTRIES)
    problem = qpsvm.SoftMargin(C=1.0).dual(X, LABELS, kernel=qpsvm.kernels.RBF(gamma=0.3))
    path, changed = tmp_path / "model.npz", tmp_path / "changed.npz"
    models.save(path, problem, qpsvm.solve(problem))
    with np.load(path) as stored:
        arrays = dict(stored)
    arrays["support_vectors_indptr"] = -arrays["support_vectors_indptr"]
    np.savez(changed, **arrays)
    with pytest.raises(ModelFileError, match="SHA-256 differs"):
        models.load(changed)
