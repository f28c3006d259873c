"""Time ``fit`` of the estimators beside ``qpsvm.solve``, and beside scikit-learn's default fit.

Every row pairs two ways of doing the same, one after the other, in one process:

- ``overhead``: ``SVC.fit`` against building and solving the same problem with ``qpsvm.solve``;
- ``sklearn``: ``qpsvm.estimators.SVC`` (certified to 1e-8) against ``sklearn.svm.SVC`` with its
  default tolerance, RBF kernel, C = 1 and 100; the gap that each reaches is in the row.

Usage: ``QPSVM_DATA=folder python -m benchmarks.estimators.measure [--repeats 5]``, with the folder
of the stored data sets. Rows are appended to ``rows.jsonl``; ``report.py`` makes the table.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import runpy
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import svm

import qpsvm
from qpsvm.estimators import SVC

ROWS = Path(__file__).with_name("rows.jsonl")
SETS = (
    "heart_scale",
    "ionosphere_scale",
    "sonar_scale",
    "diabetes_scale",
    "fourclass",
    "splice",
    "madelon",
    "phishing",
    "usps",
    "a9a",
    "w8a",
    "ijcnn1",
)
SIZES = (100, 300, 1000, 3000, 10_000)


def samples(name: str, n: int) -> tuple[Any, Any] | None:
    """The first n samples of a shuffled set, dense; None if it has fewer than half of them."""
    load = runpy.run_path(str(Path(os.environ["QPSVM_DATA"]) / "load.py"))
    X, y = load["binary"](name)
    if X.shape[0] < n / 2:
        return None
    chosen = np.random.default_rng(0).permutation(X.shape[0])[:n]
    X = X[chosen]
    return (X.toarray() if hasattr(X, "toarray") else np.asarray(X)), np.asarray(y)[chosen]


def paired(first: Callable[[], Any], second: Callable[[], Any], repeats: int) -> Iterator[Any]:
    """Seconds of both, in turn."""
    first(), second()
    for _ in range(repeats):
        times = []
        for action in (first, second):
            began = time.perf_counter()
            action()
            times.append(time.perf_counter() - began)
        yield times


def gap(problem: Any, machine: Any) -> float:
    """The certified gap of a scikit-learn machine for the same problem."""
    found = qpsvm.audit(machine, np.asarray(problem.data.X), problem.data.targets, optimum=False)
    return float(found.relative_gap)


def rows(name: str, n: int, repeats: int) -> Iterator[dict[str, Any]]:
    """All rows of one set and size."""
    data = samples(name, n)
    if data is None:
        return
    X, y = data
    for C in (1.0, 100.0):
        ours, theirs = SVC(C=C), svm.SVC(C=C)

        def solve(C: float = C) -> Any:
            return qpsvm.solve(qpsvm.SoftMargin(C=C).dual(X, y, kernel="rbf"))

        fit, their_fit = partial(ours.fit, X, y), partial(theirs.fit, X, y)

        base = {"set": name, "n": len(y), "d": X.shape[1], "C": C, "qpsvm": qpsvm.__version__}
        base |= {"python": platform.python_version(), "sklearn": version("scikit-learn")}
        base |= {"threads": os.environ.get("OPENBLAS_NUM_THREADS", "default")}
        few = repeats if len(y) <= 3000 else 1
        if len(y) <= 3000 or C == 1.0:
            for times in paired(fit, solve, few):
                yield base | {"what": "overhead", "fit": times[0], "other": times[1]}
        for times in paired(fit, their_fit, few):
            yield base | {"what": "sklearn", "fit": times[0], "other": times[1]}
        own = float(ours.certificate_.relative_gap)
        yield base | {"what": "gap", "fit": own, "other": gap(ours.problem_, theirs)}


def main() -> None:
    """Measure and append."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--largest", type=int, default=max(SIZES))
    arguments = parser.parse_args()
    with ROWS.open("a", encoding="utf-8") as file:
        for name in arguments.sets:
            for n in SIZES:
                if n <= arguments.largest:
                    for row in rows(name, n, arguments.repeats):
                        file.write(json.dumps(row) + "\n")
                        file.flush()
                    print(name, n, flush=True)


if __name__ == "__main__":
    main()
