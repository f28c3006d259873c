"""Every source of chunks gives the same samples, and what is wrong with one is named."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from pyarrow import parquet

import qpsvm
from qpsvm.chunked import chunked, is_chunked
from qpsvm.exceptions import (
    ChunkError,
    InvalidDataError,
    InvalidParameterError,
    MissingPackageError,
)
from qpsvm.numerics import arrays

N, ROWS = 60, 16
RNG = np.random.default_rng(3)
# quarters: exact in float32, and different from column to column
X = np.round(4.0 * RNG.normal(size=(N, 3))) / 4.0
Y = np.where(X @ [1.0, -2.0, 0.5] + 0.3 * RNG.normal(size=N) > 0.0, 1, -1)
U = np.round(1.0 + 3.0 * RNG.random(N))
PARTS = [slice(start, min(start + ROWS, N)) for start in range(0, N, ROWS)]
FRAME = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": Y, "u": U})
FEATURES = ["a", "b", "c"]
FAMILY = qpsvm.SoftMargin(C=0.5)


def bits(solution: Any) -> bytes:
    return bytes(solution.coef.tobytes() + np.float64(solution.intercept).tobytes())


def solve(*arguments: Any, **more: Any) -> Any:
    problem = FAMILY.dual(*arguments, **more)
    solution = qpsvm.solve(problem, eps=1e-9)
    assert qpsvm.verify(problem, solution, eps=2e-9).passed
    return solution


@pytest.fixture(scope="module")
def expected() -> Any:
    return solve(chunked(X, Y, U, rows=ROWS))


def test_the_array_gives_the_optimum_in_memory(expected: Any) -> None:
    problem = FAMILY.dual(X, Y, sample_weight=U)
    whole = qpsvm.certify(problem, qpsvm.solve(problem, eps=1e-10))
    assert expected.certificate.primal_objective == pytest.approx(whole.primal_objective, rel=2e-9)


# --- the same bits -------------------------------------------------------------------------------


def written(folder: Path, write: Callable[[Path, slice, int], None]) -> Path:
    for k, rows in enumerate(PARTS):  # part-10 comes after part-9
        write(folder / f"part-{k + 8}", rows, k)
    return folder


def parquet_folder(folder: Path, frame: Any, **more: Any) -> Path:
    def write(path: Path, rows: slice, _: int) -> None:
        own = pa.Table.from_pandas(frame.iloc[rows], preserve_index=False)
        parquet.write_table(own, path.with_suffix(".parquet"), **more)

    return written(folder, write)


def dask_array(_: Path) -> Any:
    return da.from_array(X, chunks=(ROWS, 2)), da.from_array(Y, chunks=ROWS), da.from_array(U)


def dask_array_and_arrays(_: Path) -> Any:
    return da.from_array(X, chunks=(ROWS, 3)), Y, U


def unknown_chunks(_: Path) -> Any:
    table = da.from_array(np.column_stack([X, Y, U]), chunks=(ROWS, 5))
    table = table[table[:, 0] > -1e9]
    assert np.isnan(table.shape[0])
    return table[:, :3], table[:, 3], table[:, 4]


def dask_frame(_: Path) -> Any:
    frames = [FRAME.iloc[rows] for rows in PARTS]
    frame = dd.from_map(lambda k: frames[k], range(len(frames)), meta=FRAME.iloc[:0])
    return frame[FEATURES], frame["y"], frame["u"]


def parquet_files(folder: Path) -> Any:
    return parquet_folder(folder, FRAME), "y", "u"


def one_parquet_file(folder: Path) -> Any:
    path = folder / "all.parquet"
    parquet.write_table(pa.Table.from_pandas(FRAME), path, row_group_size=ROWS)
    return chunked(str(path), "y", "u", rows=ROWS), None, None


def single_precision(folder: Path) -> Any:
    return parquet_folder(folder, FRAME.astype(dict.fromkeys(FEATURES, "float32"))), "y", "u"


def columns_of_several_types(folder: Path) -> Any:
    return parquet_folder(folder, FRAME.astype({"a": "float32", "b": "float64"})), "y", "u"


def npy_folder(folder: Path) -> Any:
    for name, values in (("X", X), ("y", Y), ("u", U)):
        (folder / name).mkdir()
        for k, rows in enumerate(PARTS):
            np.save(folder / name / f"part-{k + 8}.npy", values[rows])
    return folder / "X", folder / "y", str(folder / "u")


def npz_folder(folder: Path) -> Any:
    def write(path: Path, rows: slice, _: int) -> None:
        np.savez(path.with_suffix(".npz"), X=X[rows], label=Y[rows], u=U[rows])

    return written(folder, write), "label", "u"


def memory_map(folder: Path) -> Any:
    path = folder / "X.npy"
    np.save(path, X)
    return chunked(np.load(path, mmap_mode="r"), Y, U, rows=ROWS), None, None


def raw_memory_map(folder: Path) -> Any:
    path = folder / "X.dat"
    path.write_bytes(b"head" * 2 + X.astype(np.float32).tobytes())
    mapped = np.memmap(path, np.float32, mode="r", offset=8, shape=X.shape)
    return chunked(mapped, Y, U, rows=ROWS), None, None


def view_of_a_memory_map(folder: Path) -> Any:
    path = folder / "X.npy"
    np.save(path, np.concatenate([np.full((7, 3), 9.0), X]))
    return chunked(np.load(path, mmap_mode="r")[7:], Y, U, rows=ROWS), None, None


def map_that_copies_on_writing(folder: Path) -> Any:
    path = folder / "X.npy"
    np.save(path, np.zeros_like(X))
    mapped = np.load(path, mmap_mode="c")
    mapped[:] = X
    return chunked(mapped, Y, U, rows=ROWS), None, None


SOURCES = [
    dask_array,
    dask_array_and_arrays,
    unknown_chunks,
    dask_frame,
    parquet_files,
    one_parquet_file,
    single_precision,
    columns_of_several_types,
    npy_folder,
    npz_folder,
    memory_map,
    raw_memory_map,
    view_of_a_memory_map,
    map_that_copies_on_writing,
]


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.__name__)
def test_every_source_gives_the_same_bits(source: Any, tmp_path: Path, expected: Any) -> None:
    samples, y, weights = source(tmp_path)
    assert is_chunked(samples)
    found = solve(samples, y, sample_weight=weights)
    assert bits(found) == bits(expected)
    assert found.certificate == expected.certificate


def test_chunks_go_to_other_processes(tmp_path: Path) -> None:
    """By path, where they are in files: a map of a terabyte must not be sent."""
    for source in (memory_map, raw_memory_map, parquet_files):
        folder = tmp_path / source.__name__
        folder.mkdir()
        samples, y, weights = source(folder)
        for chunk in chunked(samples, y, weights).chunks:
            assert len(pickle.dumps(chunk)) < 1500
            read = pickle.loads(pickle.dumps(chunk.content))()
            assert np.asarray(read.X).shape[1] == 3


def test_integers_and_missing_values_in_parquet(tmp_path: Path) -> None:
    frame = FRAME.astype({"a": "int32"})
    problem = FAMILY.dual(parquet_folder(tmp_path, frame), "y", sample_weight="u")
    whole = FAMILY.dual(frame[FEATURES].to_numpy(dtype=float), Y, sample_weight=U)
    found = qpsvm.solve(problem, eps=1e-9).certificate.primal_objective
    assert found == pytest.approx(
        qpsvm.certify(whole, qpsvm.solve(whole, eps=1e-10)).primal_objective, rel=2e-9
    )


def test_csr_samples_give_the_same_optimum(tmp_path: Path, expected: Any) -> None:
    def write(path: Path, rows: slice, _: int) -> None:
        own = sp.csr_array(X[rows])
        np.savez(
            path.with_suffix(".npz"),
            **{name: getattr(own, name) for name in ("data", "indices", "indptr", "shape")},
            y=Y[rows],
            u=U[rows],
        )

    problem = FAMILY.dual(written(tmp_path, write), "y", sample_weight="u")
    assert problem.totals.is_sparse
    found = qpsvm.solve(problem, eps=1e-10)
    objective = expected.certificate.primal_objective
    assert found.certificate.primal_objective == pytest.approx(objective, rel=2e-9)
    assert qpsvm.verify(problem, found, eps=2e-10).passed


def test_empty_blocks_and_blocks_of_one_row(expected: Any) -> None:
    """A filter leaves blocks without rows; they change the sums in their last bits only."""
    sizes = (0, 1, 30, 0, 28, 1, 0)
    samples = da.from_array(X, chunks=(sizes, 3))
    found = solve(samples, da.from_array(Y, chunks=(sizes,)), sample_weight=U)
    objective = expected.certificate.primal_objective
    assert found.certificate.primal_objective == pytest.approx(objective, rel=2e-9)


def test_decision_values_of_dask_collections_are_lazy(expected: Any) -> None:
    values = expected.decision_function(da.from_array(X, chunks=(ROWS, 2)))
    assert isinstance(values, da.Array)
    assert values.compute() == pytest.approx(expected.decision_function(X), rel=1e-14)
    frame, _, _ = dask_frame(Path())
    labels = expected.predict(frame).compute()
    assert (labels == expected.predict(X)).all()
    assert labels.dtype == Y.dtype


def test_large_memory_maps_are_chunked_by_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert not is_chunked(mapped)
    assert not is_chunked(X)
    monkeypatch.setattr("qpsvm.chunked.sources.default_memory_limit", lambda: 100)
    assert is_chunked(mapped)
    assert not is_chunked(X)
    assert arrays.default_memory_limit() > 100


# --- what is wrong -------------------------------------------------------------------------------


def message(call: Callable[[], Any], error: type[Exception] = InvalidDataError) -> str:
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_number_that_is_none_is_named_by_chunk_row_and_column(bad: float, tmp_path: Path) -> None:
    frame = FRAME.copy()
    frame.loc[19, "b"] = bad
    text = message(lambda: FAMILY.dual(parquet_folder(tmp_path, frame), "y"))
    for part in ("part-9.parquet", "3", "b"):  # row 19 is the fourth of the second chunk
        assert part in text
    wrong = X.copy()
    wrong[19, 1] = bad
    text = message(lambda: FAMILY.dual(da.from_array(wrong, chunks=(ROWS, 3)), Y))
    assert "block 1" in text
    assert "3" in text


def test_nulls_in_parquet_are_named_by_chunk(tmp_path: Path) -> None:
    for column, shown in (("a", "column"), ("y", "y["), ("u", "sample_weight[")):
        frame = FRAME.astype({column: "Int64"} if column == "y" else {})
        frame.loc[19, column] = pd.NA if column == "y" else None
        folder = tmp_path / column
        folder.mkdir()
        parquet_folder(folder, frame)
        text = message(lambda: FAMILY.dual(folder, "y", sample_weight="u"))  # noqa: B023
        assert "part-9.parquet" in text
        assert shown in text


def test_other_bad_numbers_are_named_by_chunk() -> None:
    weights = U.copy()
    weights[20] = -1.0
    text = message(lambda: FAMILY.dual(chunked(X, Y, weights, rows=ROWS)))
    assert "rows 16 to 31" in text
    assert "sample_weight[4]" in text
    weights[20] = np.nan
    assert "sample_weight[4]" in message(lambda: FAMILY.dual(chunked(X, Y, weights, rows=ROWS)))
    y = Y.astype(float)
    y[50] = np.nan
    assert "rows 48 to 59" in message(lambda: FAMILY.dual(chunked(X, y, rows=ROWS)))
    regression = qpsvm.EpsilonRegression()
    assert "rows 48 to 59" in message(lambda: regression.dual(chunked(X, y, rows=ROWS)))
    nothing = chunked(X, Y, np.zeros(N), rows=ROWS)
    assert "weight above zero" in message(lambda: FAMILY.dual(nothing))


@pytest.mark.parametrize("count", [1, 3])
def test_labels_of_one_class_or_three_are_refused(count: int) -> None:
    text = message(lambda: FAMILY.dual(chunked(X, np.arange(N) % count, rows=ROWS)))
    assert f"{count} classes" in text


def test_labels_of_mixed_kinds_are_refused() -> None:
    y = np.array(["a"] * 30 + [1] * 30, dtype=object)
    assert "mixed" in message(lambda: FAMILY.dual(chunked(X, y, rows=30)))


@pytest.mark.parametrize("damage", ["missing", "cut"])
@pytest.mark.parametrize("suffix", [".npz", ".npy", ".parquet"])
def test_a_chunk_that_cannot_be_read_is_named_with_its_path(
    suffix: str, damage: str, tmp_path: Path
) -> None:
    source = {".npz": npz_folder, ".npy": npy_folder, ".parquet": parquet_files}[suffix]
    samples, y, weights = source(tmp_path)
    problem = FAMILY.dual(samples, y, sample_weight=weights)
    (path,) = [p for p in tmp_path.rglob(f"part-10{suffix}") if p.parent.name not in "yu"]
    whole = path.read_bytes()
    os.remove(path)
    if damage == "cut":
        path.write_bytes(whole[: len(whole) // 2])
    text = message(lambda: qpsvm.solve(problem), ChunkError)
    assert str(path) in text
    if damage == "cut":
        text = message(lambda: FAMILY.dual(chunked(samples, y, weights)), ChunkError)
        assert str(path) in text


@pytest.mark.parametrize(("package", "source"), [("dask", npz_folder), ("pyarrow", parquet_files)])
def test_a_missing_package_is_named_with_the_extra(
    package: str, source: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples, y, _ = source(tmp_path)
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.setitem(sys.modules, name, None)
    text = message(lambda: FAMILY.dual(samples, y), MissingPackageError)
    assert package in text
    assert "qpsvm[dask]" in text


def test_a_block_that_dask_cannot_compute_is_an_error_of_ours() -> None:
    def broken(block: Any, block_info: Any = None) -> Any:
        if block_info and block_info[0]["chunk-location"][0] == 1:
            raise OSError("no such bucket")
        return block

    samples = da.from_array(X, chunks=(ROWS, 3)).map_blocks(broken, dtype=float)
    text = message(lambda: FAMILY.dual(samples, Y), ChunkError)
    assert "no such bucket" in text
    assert "OSError" in text


def test_the_samples_may_not_change_between_passes(tmp_path: Path) -> None:
    samples, y, weights = npz_folder(tmp_path)
    problem = FAMILY.dual(samples, y, sample_weight=weights)
    solution = qpsvm.solve(problem)
    np.savez(tmp_path / "part-9.npz", X=X[:5], label=np.full(5, 7), u=U[:5])
    assert "label 7" in message(lambda: qpsvm.verify(problem, solution)).replace("np.int64(7)", "7")
    np.savez(tmp_path / "part-9.npz", X=X[:5, :2], label=Y[:5], u=U[:5])
    assert "2 features" in message(lambda: qpsvm.verify(problem, solution))


def test_sources_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    parts = tmp_path / "parts"
    parts.mkdir()
    parquet_folder(parts, FRAME)
    assert "holds none" in message(lambda: chunked(tmp_path / "empty"))
    assert "none" in message(lambda: chunked(tmp_path / "nothing"))
    assert "no column 'z'" in message(lambda: chunked(parts, "z"))
    assert "name" in message(lambda: chunked(parts, Y))
    assert "y is missing" in message(lambda: FAMILY.dual(parts))
    samples = da.from_array(X, chunks=(ROWS, 3))
    assert "60 rows and y 59" in message(lambda: chunked(samples, Y[1:]))
    assert "60 rows and y 59" in message(lambda: chunked(samples, da.from_array(Y[1:])))
    assert "60 rows and y 59" in message(lambda: chunked(X, Y[1:]))
    table, _, _ = unknown_chunks(tmp_path)
    assert "Dask collection" in message(lambda: chunked(table, Y))
    assert "blocks" in message(lambda: chunked(table, da.from_array(Y, chunks=N)))
    assert "two dimensions" in message(lambda: chunked(da.from_array(Y)))
    assert "two dimensions" in message(lambda: chunked(Y))
    np.save(parts / "part-1.npy", X)
    assert "several kinds" in message(lambda: chunked(parts, "y"))
    known = chunked(X, Y)
    assert "have their labels" in message(lambda: chunked(known, Y))


def test_chunks_with_other_columns_are_refused(tmp_path: Path) -> None:
    parquet_folder(tmp_path, FRAME)
    other = pa.Table.from_pandas(FRAME.rename(columns={"b": "z"}).iloc[:5], preserve_index=False)
    parquet.write_table(other, tmp_path / "part-20.parquet")
    text = message(lambda: FAMILY.dual(tmp_path, "y"))
    assert "part-20" in text
    assert "'z'" in text
    first = chunked(X, Y)
    both = replace(first, chunks=(*first.chunks, *chunked(X[:, :2], Y).chunks))
    assert "2 features" in message(lambda: FAMILY.dual(both))


def test_labels_of_another_length_than_their_chunk_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", X=X, y=Y[1:])
    assert "a.npz" in message(lambda: FAMILY.dual(tmp_path, "y"))


def test_what_needs_all_samples_is_refused_with_a_remedy() -> None:
    samples = chunked(X, Y)
    for family in (
        qpsvm.HardMargin(),
        qpsvm.LeastSquares(),
        qpsvm.L1Norm(),
        qpsvm.Ranking(),
        qpsvm.CrammerSinger(),
        qpsvm.OneVsRest(FAMILY),
    ):
        text = message(lambda: family.dual(samples, None), InvalidParameterError)  # noqa: B023
        assert "SoftMargin" in text
    text = message(
        lambda: qpsvm.solve(FAMILY.dual(samples, kernel=qpsvm.kernels.RBF(1.0))),
        InvalidParameterError,
    )
    assert "Nystroem" in text
    constraint = qpsvm.constraints.bounded(0, upper=1.0)
    assert "constraints" in message(
        lambda: FAMILY.dual(samples, constraints=constraint), InvalidParameterError
    )
    problem = FAMILY.dual(samples)
    solution = qpsvm.solve(problem)
    assert "rigorous" in message(
        lambda: qpsvm.certify(problem, solution, rigorous=True), InvalidParameterError
    )
    assert "warm_start" in message(
        lambda: qpsvm.solve(problem, warm_start=solution), InvalidParameterError
    )
    whole = FAMILY.dual(X, Y)
    assert message(lambda: qpsvm.verify(problem, qpsvm.solve(whole)), InvalidParameterError)
    assert message(lambda: qpsvm.verify(whole, solution), InvalidParameterError)
