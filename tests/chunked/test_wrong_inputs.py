"""What cannot be trained on is refused by name, and nothing of it is read as something else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.bag as db
import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from pyarrow import parquet

import qpsvm
from qpsvm.chunked import chunked
from qpsvm.exceptions import (
    ChunkError,
    DataFileError,
    InvalidDataError,
    InvalidParameterError,
    QPSVMError,
)

N, ROWS = 60, 16
RNG = np.random.default_rng(5)
X = RNG.normal(size=(N, 3))
Y = np.where(X[:, 0] + 0.3 * RNG.normal(size=N) > 0.0, 1, -1)
U = RNG.uniform(0.5, 2.0, N)
FAMILY = qpsvm.SoftMargin(C=1.0)


def message(call: Callable[[], Any], error: type[QPSVMError] = InvalidDataError) -> str:
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


# --- weights -------------------------------------------------------------------------------------

NO_WEIGHTS = {
    "text": np.array(["a"] * N),
    "numbers as text": np.array(["1"] * N),
    "complex": U + 1j,
    "dates": np.arange(N).astype("M8[D]"),
    "two for each row": np.ones((N, 2)),
}


@pytest.mark.parametrize("what", NO_WEIGHTS)
def test_weights_that_are_no_numbers_are_refused_with_their_chunk(what: str) -> None:
    text = message(lambda: FAMILY.dual(chunked(X, Y, NO_WEIGHTS[what], rows=ROWS)))
    assert "Chunk rows" in text
    assert "sample_weight" in text


@pytest.mark.parametrize("rows", [1, ROWS])
def test_weights_whose_sum_overflows_are_refused(rows: int) -> None:
    text = message(lambda: FAMILY.dual(chunked(X, Y, np.full(N, 1e308), rows=rows)))
    assert "sample_weight" in text
    assert "scale" in text


# --- arrays --------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["X", "y", "sample_weight"])
def test_the_mask_of_an_array_is_not_dropped(which: str) -> None:
    own = {"X": X, "y": Y, "sample_weight": U}
    own[which] = np.ma.masked_array(
        own[which], np.arange(own[which].size).reshape(own[which].shape) == 4
    )
    text = message(lambda: chunked(*own.values(), rows=ROWS))
    assert which in text
    assert "masked" in text


@pytest.mark.parametrize("value", [1, "label"])
def test_a_single_value_is_not_one_for_every_row(value: Any) -> None:
    for samples in (X, da.from_array(X, chunks=(ROWS, 3))):
        assert "y" in message(lambda: chunked(samples, value))  # noqa: B023
        assert "sample_weight" in message(lambda: chunked(samples, Y, value))  # noqa: B023


def test_labels_of_several_kinds_do_not_become_text() -> None:
    mixed = ["a", 1] * (N // 2)
    for samples in (X, da.from_array(X, chunks=(ROWS, 3))):
        assert "kinds" in message(lambda: chunked(samples, mixed))  # noqa: B023
    own = np.array(mixed, dtype=object)
    text = message(lambda: FAMILY.dual(chunked(X, own, rows=ROWS)))
    assert "Chunk rows" in text


@pytest.mark.parametrize("rows", [0, -5, 16.5, None, "16"])
def test_chunks_have_a_whole_number_of_rows(rows: Any) -> None:
    assert "rows" in message(lambda: chunked(X, Y, rows=rows), InvalidParameterError)


# --- Dask ----------------------------------------------------------------------------------------


def test_other_collections_of_dask_are_refused() -> None:
    for own in (db.from_sequence(X.tolist()), dask.delayed(X)):
        assert "dask.array" in message(lambda: chunked(own, Y))  # noqa: B023


def test_columns_whose_number_is_unknown_are_refused() -> None:
    wide = da.from_array(X.T, chunks=(3, ROWS))
    some = wide[:, wide[0] > 0.0]
    assert "compute_chunk_sizes" in message(lambda: chunked(some, Y[:3]))


def test_labels_in_two_columns_are_refused() -> None:
    two = da.from_array(np.stack([Y, Y], axis=1), chunks=(ROWS, 2))
    assert "(60, 2)" in message(lambda: chunked(da.from_array(X, chunks=(ROWS, 3)), two))
    one = da.from_array(Y[:, None], chunks=(ROWS, 1))
    assert FAMILY.dual(da.from_array(X, chunks=(ROWS, 3)), one).totals.n_rows == N


def test_predictions_for_a_dask_vector_are_refused() -> None:
    solution = qpsvm.solve(FAMILY.dual(chunked(X, Y, rows=ROWS)))
    vector = da.from_array(X[:, 0], chunks=ROWS)
    assert "two dimensions" in message(lambda: solution.predict(vector))


# --- files ---------------------------------------------------------------------------------------


def test_other_sparse_formats_are_not_read_as_csr(tmp_path: Path) -> None:
    """A square matrix by columns would be read as its transpose."""
    square = sp.csr_array(np.triu(np.ones((3, 3))))
    for form in ("csc", "bsr", "coo"):
        sp.save_npz(tmp_path / "a.npz", square.asformat(form))
        text = message(lambda: qpsvm.OneClass(nu=0.5).dual(tmp_path), ChunkError)
        assert form in text
        assert "tocsr" in text
    sp.save_npz(tmp_path / "a.npz", square)
    assert qpsvm.OneClass(nu=0.5).dual(tmp_path).totals.n_rows == 3


@pytest.mark.parametrize("which", ["y", "u"])
@pytest.mark.parametrize("n", [N - 1, N + 1])
def test_files_beside_the_samples_have_as_many_rows(which: str, n: int, tmp_path: Path) -> None:
    for name, values in (("X", X), ("y", Y), ("u", U)):
        (tmp_path / name).mkdir()
        own = np.resize(values, n) if name == which else values
        np.save(tmp_path / name / "part-0.npy", own)
    samples = tmp_path / "X", tmp_path / "y", tmp_path / "u"
    text = message(lambda: chunked(*samples, rows=ROWS))
    assert str(tmp_path / which / "part-0.npy") in text
    assert str(n) in text


@pytest.mark.parametrize("empty", [np.zeros(0), np.zeros((0, 3, 2)), np.array(1.0)])
def test_empty_arrays_of_other_dimensions_are_refused(empty: Any, tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", X=X, y=Y)
    np.savez(tmp_path / "b.npz", X=empty, y=np.zeros(0))
    assert "b.npz" in message(lambda: FAMILY.dual(tmp_path, "y"))
    np.savez(tmp_path / "b.npz", X=np.zeros((0, 3)), y=np.array(1))
    assert "b.npz" in message(lambda: FAMILY.dual(tmp_path, "y"))
    np.save(tmp_path / "c.npy", np.array(1.0))
    text = message(lambda: qpsvm.OneClass(nu=0.5).dual(tmp_path / "c.npy"))
    assert "c.npy" in text
    assert "two dimensions" in text


def test_files_that_writers_leave_in_hidden_folders_are_no_samples(tmp_path: Path) -> None:
    table = pa.table({"a": X[:, 0], "y": Y})
    for folder in ("", "_delta_log", ".checkpoints", "part/_temporary"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        parquet.write_table(table, tmp_path / folder / "part-0.parquet")
    assert len(chunked(tmp_path, "y").chunks) == 1
    assert len(chunked(tmp_path / "_delta_log", "y").chunks) == 1


def test_columns_that_are_no_features_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"y": Y}), path)
    assert "a.parquet" in message(lambda: FAMILY.dual(path, "y"))
    for values in ([[1.0, 2.0]] * N, [{"u": 1.0, "v": 2.0}] * N):
        parquet.write_table(pa.table({"nested": values, "y": Y}), path)
        assert "nested" in message(lambda: FAMILY.dual(path, "y"))


def test_a_path_that_is_not_there_is_said_not_to_be(tmp_path: Path) -> None:
    assert "does not exist" in message(lambda: chunked(tmp_path / "nothing.parquet", "y"))


# --- options and statements ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"max_passes": 1.5},
        {"search_points": 1.5},
        {"leverage_rounds": np.inf},
        {"memory_limit": np.inf},
        {"checkpoint": 7},
        {"resume": 7},
    ],
)
def test_options_that_cannot_be_used_are_refused_by_name(options: Any) -> None:
    problem = FAMILY.dual(chunked(X, Y, rows=ROWS))
    (name,) = options
    assert name in message(lambda: qpsvm.solve(problem, options=options), InvalidParameterError)


def test_a_checkpoint_that_cannot_be_written_is_refused_before_the_first_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = FAMILY.dual(chunked(X, Y, rows=ROWS))
    monkeypatch.setattr("qpsvm.chunked.problem.run_pass", None)
    for path in (tmp_path / "nowhere" / "state", tmp_path):
        own = {"checkpoint": path}
        text = message(lambda: qpsvm.solve(problem, options=own), InvalidParameterError)  # noqa: B023
        assert str(path) in text


@pytest.mark.parametrize("value", ["a", 0.5, -1, N, 2**62])
def test_a_dual_point_numbers_conditions_that_are_there(value: Any) -> None:
    problem = FAMILY.dual(chunked(X, Y, rows=ROWS))
    solution = qpsvm.solve(problem)
    numbers = tuple(np.full(len(own), value) for own in solution.dual.numbers)
    wrong = replace(solution, dual=replace(solution.dual, numbers=numbers))
    text = message(lambda: qpsvm.verify(problem, wrong))
    assert "whole numbers" in text or "not among its" in text


# --- other samples -------------------------------------------------------------------------------


def test_labels_that_change_places_between_chunks_are_another_problem(tmp_path: Path) -> None:
    """Each chunk has one label: the numbers of labels, and codes in each chunk, stay the same."""
    order = np.argsort(X[:, 0])
    labels = np.repeat([-1, 1], N // 2)
    one, other = (FAMILY.dual(chunked(X[order], y, rows=N // 2)) for y in (labels, -labels))
    qpsvm.solve(one, options={"checkpoint": tmp_path / "state"})
    with pytest.raises(DataFileError, match="another problem"):
        qpsvm.solve(other, options={"resume": tmp_path / "state"})


FAMILIES = {
    "average": qpsvm.SoftMargin(C=1.0, average_loss=True),
    "balanced": qpsvm.SoftMargin(C=1.0, class_weight="balanced"),
    "nu": qpsvm.NuClassification(nu=0.3),
}


@pytest.mark.parametrize("what", ["rows", "labels", "weights", "sizes", "one sample"])
@pytest.mark.parametrize("name", FAMILIES)
def test_samples_that_change_after_the_first_pass_are_refused(
    name: str, what: str, tmp_path: Path
) -> None:
    """Prices depend on sums over all samples, which only the first pass has found."""

    def write(k: int, **own: Any) -> None:
        np.savez(tmp_path / f"part-{k}.npz", **own)

    for k, rows in enumerate((slice(0, N // 2), slice(N // 2, N))):
        write(k, X=X[rows], y=Y[rows], u=U[rows])
    problem = FAMILIES[name].dual(tmp_path, "y", sample_weight="u")
    solution = qpsvm.solve(problem, eps=1e-6)
    own = {"X": X[rows], "y": Y[rows], "u": U[rows]}
    write(1, **own)
    assert qpsvm.verify(problem, solution, eps=1.01e-6).passed
    changes = {
        "rows": {key: np.concatenate([value, value]) for key, value in own.items()},
        "labels": own | {"y": np.append(-own["y"][:1], own["y"][1:])},
        "weights": own | {"u": np.append(2.0 * own["u"][:1], own["u"][1:])},
        "sizes": own | {"X": 3.0 * own["X"]},
        "one sample": own | {"X": np.vstack([-own["X"][:1], own["X"][1:]])},
    }
    write(1, **changes[what])
    for call in (lambda: qpsvm.verify(problem, solution), lambda: qpsvm.solve(problem)):
        assert "changed" in message(call)
