"""Look for cliffs: fits beside scikit-learn's default fit, one property of the data at a time.

Around a centre (1,000 samples, 10 features, 2 classes, dense float64, C = 1, gamma "scale") one
property changes at a time: samples, features, classes, storage, C, gamma, the scale of one column.
Each row pairs both fits in one process and has the median of their processor times; a fit that
takes more than ``LIMIT`` seconds once is not repeated. scikit-learn's ``SVC`` has no limit of its
own and may take hours at a large C: it is ended after ``STEPS`` steps, so that its time is too
short, and the row says so.

Usage: ``python -m benchmarks.cliffs.measure``. Rows are appended to ``rows.jsonl``;
``report.py`` makes the table and the picture.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import svm

from qpsvm import estimators

ROWS = Path(__file__).with_name("rows.jsonl")
LIMIT = 5.0
"""Seconds of a fit, from which on it is measured once."""
REPEATS = 5
STEPS = 3_000_000
"""Steps of pairs after which scikit-learn's ``SVC`` is ended."""
STORAGES = ("dense", "fortran", "float32", "csr", "csr, 64-bit indices")
MACHINES = ("SVC rbf", "SVC linear", "LinearSVC")


@dataclass(frozen=True)
class Cell:
    """The properties of one pair of fits.

    Attributes
    ----------
    machine : str
        One of ``MACHINES``.
    n, d, classes : int
    storage : str
        One of ``STORAGES``.
    C : float
    gamma : float or str
    column : float
        Factor of the first column.
    """

    machine: str
    n: int = 1000
    d: int = 10
    classes: int = 2
    storage: str = "dense"
    C: float = 1.0
    gamma: float | str = "scale"
    column: float = 1.0


def cells() -> Iterator[tuple[str, Cell]]:
    """Every cell, with the name of the property that differs from the centre."""
    for machine in MACHINES:
        centre = Cell(machine)
        for n in (20, 50, 100, 300, 1000, 1500, 1600, 3000, 6000, 20_000):
            yield "samples", replace(centre, n=n)
        for d in (1, 2, 30, 100, 300, 301, 1000):
            yield "features", replace(centre, d=d)
        for classes in (3, 5, 10, 20):
            yield "classes", replace(centre, classes=classes)
        for storage in STORAGES:
            yield "storage", replace(centre, storage=storage)
        for C in 10.0 ** np.arange(-4, 7, 2):
            yield "C", replace(centre, C=float(C))
        if machine == "SVC rbf":
            for gamma in 10.0 ** np.arange(-4, 3, 1):
                yield "gamma", replace(centre, gamma=float(gamma))
        for column in (1e3, 1e6):
            yield "column", replace(centre, column=column)


def data(cell: Cell) -> tuple[Any, Any]:
    """Samples and labels: classes around centres of their own, a tenth of the labels drawn."""
    rng = np.random.default_rng([cell.n, cell.d, cell.classes])
    codes = np.arange(cell.n) % cell.classes
    centres = rng.standard_normal((cell.classes, cell.d))
    X = rng.standard_normal((cell.n, cell.d)) + 1.5 * centres[codes]
    is_drawn = rng.random(cell.n) < 0.1
    y = np.where(is_drawn, rng.integers(0, cell.classes, cell.n), codes)
    X[:, 0] *= cell.column
    if cell.storage == "fortran":
        return np.asfortranarray(X), y
    if cell.storage == "float32":
        return X.astype(np.float32), y
    if cell.storage.startswith("csr"):
        X = sp.csr_array(X * (rng.random(X.shape) < 0.3))
        if "64" in cell.storage:
            X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X, y


def machines(cell: Cell) -> tuple[Any, Any]:
    """The estimator of this package and scikit-learn's, not fitted."""
    made = []
    for module in (estimators, svm):
        if cell.machine == "LinearSVC":
            made.append(module.LinearSVC(C=cell.C))  # type: ignore[attr-defined]
        else:
            kernel = cell.machine.removeprefix("SVC ")
            kind: Any = module.SVC  # type: ignore[attr-defined]
            limit = {"max_iter": STEPS} if module is svm else {}
            made.append(kind(C=cell.C, kernel=kernel, gamma=cell.gamma, **limit))
    return made[0], made[1]


def seconds(fit: Callable[[], object]) -> float:
    """Processor time of one fit."""
    began = time.process_time()
    fit()
    return time.process_time() - began


def measured(cell: Cell) -> dict[str, Any]:
    """Median processor times of both, in turn."""
    X, y = data(cell)
    own, other = machines(cell)
    times: list[list[float]] = [[], []]
    for turn in range(REPEATS + 1):
        for found, machine in zip(times, (own, other), strict=True):
            if turn and found and max(found) > LIMIT:
                continue
            try:
                taken = seconds(lambda machine=machine: machine.fit(X, y))  # type: ignore[misc]
            except ValueError:  # scikit-learn takes no indices of 64 bits
                continue
            if turn or taken > LIMIT:  # the first one warms up
                found.append(taken)
    return {
        "seconds": statistics.median(times[0]),
        "sklearn": statistics.median(times[1]) if times[1] else None,
        "sklearn_ended": bool(times[1]) and int(np.max(other.n_iter_)) >= STEPS,
        "certified": own.fit_status_ == 0,
        "iterations": int(np.max(own.n_iter_)),
    }


def main() -> None:
    """Measure all cells, or those of one property."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--property", help="the only property that is measured")
    parser.add_argument("--largest", type=int, default=20_000, help="samples, at most")
    arguments = parser.parse_args()
    around = {"processor": platform.machine(), "python": platform.python_version()}
    with ROWS.open("a", encoding="utf-8") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, cell in cells():
            if arguments.property not in (None, name) or cell.n > arguments.largest:
                continue
            row = {"property": name, **asdict(cell), **measured(cell), **around}
            file.write(json.dumps(row) + "\n")
            file.flush()
            ratio = row["seconds"] / (row["sklearn"] or float("nan"))
            print(f"{ratio:8.2f} {row['seconds']:9.4f} s {name}: {cell}", flush=True)


if __name__ == "__main__":
    main()
