"""Integers of samples in chunks are exact, or refused with the chunk and the place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import qpsvm
from qpsvm.chunked import chunked
from qpsvm.estimators import LinearSVC
from qpsvm.exceptions import InvalidDataError

ID = 2**53 + 1
"""The first integer that float64 does not have."""

N, ROWS = 24, 8
X = np.random.default_rng(0).normal(size=(N, 2))
X[:, 0] += np.where(np.arange(N) % 2, 3.0, -3.0)
SIGNS = np.arange(N) % 2
BAD = np.round(X).astype(np.int64)
BAD[3, 1] = ID
MIXED = {"a": X[:, 0], "b": BAD[:, 1]}
REFUSED = f"{ID} in row 3, column .*an integer that float64 rounds"


def in_folder(folder: Path, kind: str, samples: Any, y: Any) -> Any:
    """The samples in a file or folder, and where their labels are."""
    if kind == "parquet":
        table = {"a": samples[:, 0], "b": samples[:, 1], "y": y}
        parquet.write_table(pa.table(table), folder / "a.parquet")
        return folder / "a.parquet", "y"
    (folder / "X").mkdir()
    if kind == "npz":
        np.savez(folder / "X" / "a.npz", X=samples, y=y)
        return folder / "X", "y"
    (folder / "y").mkdir()
    np.save(folder / "X" / "a.npy", samples)
    np.save(folder / "y" / "a.npy", y)
    return folder / "X", folder / "y"


def sources(folder: Path, samples: Any, y: Any) -> dict[str, Any]:
    blocks = da.from_array(samples, chunks=(ROWS, 2)), da.from_array(np.asarray(y), chunks=ROWS)
    found: dict[str, Any] = {"array": (samples, y), "dask": blocks, "labels": (blocks[0], y)}
    for kind in ("parquet", "npz", "npy"):
        (folder / kind).mkdir()
        found[kind] = in_folder(folder / kind, kind, samples, y)
    return found


def test_samples_are_refused(tmp_path: Path) -> None:
    frame = pd.DataFrame(MIXED)
    of_dask = (dd.from_pandas(part, npartitions=3) for part in (frame, pd.Series(SIGNS)))
    tables = {
        "pandas": (frame, SIGNS),
        "polars": (pl.DataFrame(MIXED), SIGNS),
        "extended": (BAD.astype(np.longdouble), SIGNS),
        "frames of dask": tuple(of_dask),
    }
    for name, (samples, y) in (sources(tmp_path, BAD, SIGNS) | tables).items():
        with pytest.raises(InvalidDataError, match=f"Chunk .*{REFUSED}"):
            qpsvm.SoftMargin(C=1.0).dual(chunked(samples, y, rows=ROWS))
        assert name


@pytest.mark.parametrize(
    "pair", [(ID - 1, ID), (2**63, 2**63 + 1), (False, True)], ids=lambda pair: str(pair[1])
)
def test_labels_stay_what_they_are(pair: tuple[Any, Any], tmp_path: Path) -> None:
    y = np.array(pair)[SIGNS]
    for samples, labels in sources(tmp_path, X, y).values():
        machine = LinearSVC().fit(chunked(samples, labels, rows=ROWS), None)
        assert machine.classes_.tolist() == list(pair)
        assert machine.solution_.predict(X).tolist() == y.tolist()


@pytest.mark.parametrize("pair", [(2**70, 2**70 + 1), (-5, 2**63 + 1)], ids=str)
def test_labels_of_lists_may_have_any_size(pair: tuple[int, int]) -> None:
    y = [pair[k] for k in SIGNS]
    problem = qpsvm.SoftMargin(C=1.0).dual(chunked(X, y, rows=ROWS))
    assert qpsvm.solve(problem).predict(X).tolist() == y


def test_chunks_of_different_dtypes_are_not_made_equal(tmp_path: Path) -> None:
    for dtypes, pair in (((np.int64, np.uint64), (5, 2**53 + 1)), ((np.int64, float), (0.5, ID))):
        folder = tmp_path / str(pair[0])
        folder.mkdir()
        for k, (dtype, label) in enumerate(zip(dtypes[::-1], pair, strict=True)):
            rows = k == SIGNS
            table = {"a": X[rows, 0], "b": X[rows, 1], "y": np.full(rows.sum(), label, dtype)}
            parquet.write_table(pa.table(table), folder / f"{k}.parquet")
        if isinstance(pair[0], float):
            with pytest.raises(InvalidDataError, match=f"y of all chunks .* is {ID}, an integer"):
                qpsvm.SoftMargin(C=1.0).dual(chunked(folder, "y"))
        else:
            problem = qpsvm.SoftMargin(C=1.0).dual(chunked(folder, "y"))
            assert qpsvm.solve(problem).classes.tolist() == list(pair)


def test_targets_and_weights_are_refused() -> None:
    mixed = [ID] + [0.5] * (N - 1)
    for y, weights in ((mixed, None), (np.full(N, ID), None), (X[:, 0], mixed)):
        with pytest.raises(InvalidDataError, match=rf"\[0\] is {ID}, an integer"):
            qpsvm.EpsilonRegression(C=1.0).dual(chunked(X, y, weights, rows=ROWS))
