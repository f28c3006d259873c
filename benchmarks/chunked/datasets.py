"""Parquet datasets of any length: real data repeated with noise, and synthetic data.

Usage, from the root of the repository::

    python -m benchmarks.chunked.datasets synthetic 30000000 FOLDER
    python -m benchmarks.chunked.datasets kddcup99_10pct 30000000 FOLDER

Real data are read from the folder that ``QPSVM_DATA`` names. Every repetition of the rows gets
noise of a hundredth of each column's standard deviation, because equal rows would be merged. Every
file has a generator of its own, seeded by its number, whatever the number of files.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from pyarrow import parquet
from rich.progress import track

FILE_ROWS = 1_000_000
GROUP_ROWS = 262_144
FEATURES = 28
SEED = 20_270_101
NOISE = 0.01


def synthetic(rows: int, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes that overlap: skewed and heavy-tailed features, a nonlinear rule, noise."""
    rng = np.random.default_rng([SEED, number])
    X = rng.standard_normal((rows, FEATURES)).astype(np.float32)
    X[:, 9:18] = np.exp(0.5 * X[:, 9:18]) - 1.13
    X[:, 18:24] = rng.standard_t(4, (rows, 6)).astype(np.float32) / 1.41
    X[:, 24:] += 0.5 * X[:, :4]
    rule = np.random.default_rng(SEED).standard_normal(FEATURES).astype(np.float32) / 4.0
    f = X @ rule + 0.3 * X[:, 0] * X[:, 10] - 0.2 * X[:, 5] ** 2 + 0.1
    return X, f + rng.logistic(size=rows) > 0.0


class Repeated:
    """A real data set, repeated with noise and shuffled."""

    def __init__(self, name: str) -> None:
        folder = Path(os.environ.get("QPSVM_DATA", "../shared/data"))
        spec = importlib.util.spec_from_file_location("load", folder / "load.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        X, y = module.binary(name)
        self.X = (X.toarray() if sp.issparse(X) else np.asarray(X)).astype(np.float32)
        self.y = np.asarray(y) > 0
        self.spread = NOISE * self.X.std(axis=0)

    def __call__(self, rows: int, number: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng([SEED, number])
        chosen = rng.integers(len(self.y), size=rows)
        noise = rng.standard_normal((rows, self.X.shape[1]), dtype=np.float32) * self.spread
        return self.X[chosen] + noise, self.y[chosen]


def write(name: str, rows: int, folder: Path) -> None:
    """Write the files that are not there yet."""
    make = synthetic if name == "synthetic" else Repeated(name)
    folder.mkdir(parents=True, exist_ok=True)
    starts = range(0, rows, FILE_ROWS)
    for number, start in enumerate(track(starts, f"{name}, {rows} rows")):
        path = folder / f"part-{number:04d}.parquet"
        if path.exists():
            continue
        X, y = make(min(FILE_ROWS, rows - start), number)
        columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
        table = pa.table(columns | {"y": y.astype(np.int8)})
        temporary = path.with_suffix(".part")
        parquet.write_table(
            table, temporary, row_group_size=GROUP_ROWS, use_dictionary=False, compression="snappy"
        )
        temporary.rename(path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("name")
    parser.add_argument("rows", type=int)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    write(options.name, options.rows, options.folder)
