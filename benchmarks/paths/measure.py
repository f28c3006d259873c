"""A path of 50 prices against the hardest single solve.

Every machine of the path has to have a certified relative gap of 1e-6. Then some of its prices are
solved alone, without a warm start: both ends, and some between. The table is about the ratio of the
whole path to the slowest of these, both in process time. Beside it scikit-learn refits the same
prices (``--refits``) at its default tolerance: ``SVC``, and for a linear kernel also ``LinearSVC``,
which penalises the intercept. Rows are appended to ``rows.jsonl``.

Usage, with the folder of stored sets in ``QPSVM_DATA``::

    export QPSVM_DATA=... OPENBLAS_NUM_THREADS=1
    python benchmarks/paths/measure.py usps:rbf a9a:linear [--rows 1000] [--points 50] [--refits 8]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import qpsvm
from benchmarks.data import load_samples
from qpsvm.paths import Path as SVMPath

ROWS = Path(__file__).with_name("rows.jsonl")
RANGE = (1e-2, 1e2)
EPS = 1e-6
SINGLES = 8


def main() -> None:
    """Measure the sets named on the command line."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("sets", nargs="+", help="set:kernel")
    arguments.add_argument("--rows", type=int, help="a random part of so many samples")
    arguments.add_argument("--points", type=int, default=50)
    arguments.add_argument("--refits", type=int, default=0, help="prices scikit-learn refits")
    arguments.add_argument("--label", default="", help="what is measured, for the row")
    arguments.add_argument("--dry", action="store_true", help="print the row only")
    chosen = arguments.parse_args()
    for name, kernel in (each.split(":") for each in chosen.sets):
        data = load_samples(f"{name}(n={chosen.rows}, seed=0)" if chosen.rows else name)
        found = measured(data.X, data.y, kernel, chosen.points)
        row = {"set": name, "label": chosen.label, "rows": data.X.shape[0], **found}
        if chosen.refits:
            row |= refitted(data.X, data.y, kernel, chosen.points, chosen.refits)
        row |= {"cores": os.cpu_count(), "python": platform.python_version()}
        print(json.dumps(row))
        if not chosen.dry:
            with ROWS.open("a", encoding="utf-8") as rows:
                rows.write(json.dumps(row) + "\n")


def measured(X: Any, y: Any, kernel: str, points: int) -> dict[str, Any]:
    """Seconds of the path and of single solves, and the largest certified gap."""
    values = np.geomspace(*RANGE, points)
    warm_up(kernel)
    began = time.process_time()
    path = qpsvm.paths.svm_path(X, y, kernel=kernel, values=values, eps=EPS)
    seconds = time.process_time() - began
    singles = {}
    for k in np.unique(np.linspace(0, points - 1, SINGLES).astype(int)).tolist():
        began = time.process_time()
        problem = qpsvm.SoftMargin(C=float(values[k])).dual(X, y, kernel=kernel)
        qpsvm.solve(problem, eps=EPS)
        singles[f"{values[k]:.4g}"] = time.process_time() - began
    return {
        "kernel": kernel,
        "points": points,
        "path_seconds": seconds,
        "exact": path.is_exact,
        "single_seconds": singles,
        "ratio": seconds / max(singles.values()),
        "largest_gap": largest_gap(path),
    }


def warm_up(kernel: str) -> None:
    """Import what paths and single solves import at their first use."""
    few = load_samples("synthetic(d=5, n=3000, seed=0)")
    qpsvm.paths.svm_path(few.X, few.y, kernel=kernel, values=[0.1, 1.0], eps=EPS)
    qpsvm.solve(qpsvm.SoftMargin().dual(few.X, few.y, kernel=kernel), eps=EPS)


def refitted(X: Any, y: Any, kernel: str, points: int, count: int) -> dict[str, Any]:
    """Seconds of scikit-learn's fits at some of the prices, and what all would take: their mean."""
    from sklearn.svm import SVC, LinearSVC

    values, found = np.geomspace(*RANGE, points), dict[str, Any]()
    if sp.issparse(X):  # LIBSVM takes indices of 32 bits only
        X = sp.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), X.shape)
    estimators: list[Any] = [SVC(kernel=kernel, cache_size=1000)]
    if kernel == "linear":
        estimators.append(LinearSVC(loss="hinge", random_state=0))
    for estimator in estimators:
        seconds = {}
        for k in np.unique(np.linspace(0, points - 1, count).astype(int)).tolist():
            began = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # LinearSVC ends by its limit of passes
                estimator.set_params(C=float(values[k])).fit(X, y)
            seconds[f"{values[k]:.4g}"] = time.process_time() - began
        name = type(estimator).__name__
        found[f"{name}_seconds"] = seconds
        found[f"{name}_all"] = points * float(np.mean([*seconds.values()]))
    return found


def largest_gap(path: SVMPath) -> float:
    """The largest certified relative gap of the path, rounding included."""
    return float(np.max(path.relative_gaps))


if __name__ == "__main__":
    main()
