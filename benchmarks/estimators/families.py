"""The other estimators beside scikit-learn's, on ten sets each, and predictions on one.

``SVR``, ``NuSVC``, ``OneClassSVM``, ``LinearSVC`` and ``LinearSVR`` with both libraries' defaults
(``eps`` of ours 1e-8; ``nu`` of the two with nu 0.3, so that every set allows it), standardised
samples, at most 2,000 of each set. Targets of the regressions are standardised; sets of two classes
stand in where there are fewer than ten regressions. ``--predict`` times ``predict`` of an ``SVC``
for 1, 100 and 100,000 samples of digits.

Each row has the medians of paired runs in one process, wall clock and processor time, with whatever
number of BLAS threads the process has, and the certified gap.

Usage: ``QPSVM_DATA=folder python -m benchmarks.estimators.families [--predict]`` appends to
``families.jsonl``; ``report.py`` makes the table.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import runpy
import statistics
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets, svm
from sklearn.preprocessing import scale

import qpsvm
from qpsvm import estimators

ROWS = Path(__file__).with_name("families.jsonl")
LARGEST = 2000
SECONDS = 2.0
"""Runs of one pair are repeated for about so long, three times at least."""
STORED = ("heart_scale", "ionosphere_scale", "diabetes_scale", "fourclass", "splice", "usps")
BUNDLED = {
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "breast cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
}
REGRESSIONS = ("abalone", "bng_pwlinear", "cadata", "cpusmall", "housing_scale")
MACHINES: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "SVR": (estimators.SVR, svm.SVR),
    "NuSVC": (lambda: estimators.NuSVC(nu=0.3), lambda: svm.NuSVC(nu=0.3)),
    "OneClassSVM": (estimators.OneClassSVM, svm.OneClassSVM),
    "LinearSVC": (estimators.LinearSVC, svm.LinearSVC),
    "LinearSVR": (estimators.LinearSVR, svm.LinearSVR),
}


def sets(kind: str) -> dict[str, tuple[Any, Any]]:
    """Ten sets: samples and labels, or samples and targets."""
    load = runpy.run_path(str(Path(os.environ["QPSVM_DATA"]) / "load.py"))
    found: dict[str, tuple[Any, Any]] = {}
    if kind == "regression":
        found["diabetes"] = datasets.load_diabetes(return_X_y=True)
        for name in REGRESSIONS:
            data = load["load"](name)
            found[name] = data["X"], data["y"]
    for name, bundled in BUNDLED.items():
        found.setdefault(name, bundled(return_X_y=True))
    for name in STORED:
        if len(found) < 10:
            found[name] = load["binary"](name)
    return dict(list(found.items())[:10])


def prepared(X: Any, y: Any, kind: str) -> tuple[Any, Any]:
    """At most ``LARGEST`` samples, standardised."""
    chosen = np.random.default_rng(0).permutation(X.shape[0])[:LARGEST]
    X = X[chosen]
    X = scale(X.toarray() if hasattr(X, "toarray") else np.asarray(X, float))
    y = np.asarray(y)[chosen]
    return X, scale(y.astype(float)) if kind == "regression" else y


def medians(first: Callable[[], Any], second: Callable[[], Any]) -> dict[str, float]:
    """Median wall clock and processor time of both, in turn; the first turn warms up."""
    times: dict[str, list[float]] = {key: [] for key in ("wall", "cpu", "wall_sk", "cpu_sk")}
    began, turn = time.perf_counter(), 0
    while turn < 4 or (time.perf_counter() - began < SECONDS and turn < 50):
        for action, suffix in ((first, ""), (second, "_sk")):
            wall, cpu = time.perf_counter(), time.process_time()
            action()
            if turn:
                times["cpu" + suffix].append(time.process_time() - cpu)
                times["wall" + suffix].append(time.perf_counter() - wall)
        turn += 1
    return {key: statistics.median(values) for key, values in times.items()}


def fits(machine: str) -> list[dict[str, Any]]:
    """One row for each of ten sets."""
    kind = "regression" if machine.endswith("SVR") else "classification"
    rows = []
    for name, data in sets(kind).items():
        X, y = prepared(*data, kind)
        own, other = (make() for make in MACHINES[machine])
        found = medians(lambda: own.fit(X, y), lambda: other.fit(X, y))  # noqa: B023
        gap = float(np.max(np.atleast_1d(own.certificate_.relative_gap)))
        rows.append({"what": machine, "set": name, "n": len(y), **found, "gap": gap})
    return rows


def predictions() -> list[dict[str, Any]]:
    """One row for each number of samples."""
    X, y = datasets.load_digits(return_X_y=True)
    X = scale(X)
    own, other = estimators.SVC().fit(X, y), svm.SVC().fit(X, y)
    rows = []
    for n in (1, 100, 100_000):
        Z = np.tile(X, (n // len(X) + 1, 1))[:n]
        found = medians(lambda: own.predict(Z), lambda: other.predict(Z))  # noqa: B023
        rows.append({"what": "predict", "set": "digits", "n": n, **found})
    return rows


def main() -> None:
    """Measure and append."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--predict", action="store_true")
    parser.add_argument("--machines", nargs="*", default=list(MACHINES))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # scikit-learn's, where it stops early
    base = {"qpsvm": qpsvm.__version__, "sklearn": version("scikit-learn")}
    base |= {"python": platform.python_version()}
    base |= {"threads": os.environ.get("OPENBLAS_NUM_THREADS", "default")}
    with ROWS.open("a", encoding="utf-8") as file:
        for what in ["predict"] if arguments.predict else arguments.machines:
            for row in predictions() if what == "predict" else fits(what):
                file.write(json.dumps(row | base) + "\n")
                file.flush()
                print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
