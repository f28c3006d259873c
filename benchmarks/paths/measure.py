"""A path of 50 prices against the hardest single solve.

Every machine of the path has to have a certified relative gap of 1e-6. Then some of its prices are
solved alone, without a warm start: both ends, and some between. The table is about the ratio of the
whole path to the slowest of these, both in process time. Rows are appended to ``rows.jsonl``.

Usage, with the folder of stored sets in ``QPSVM_DATA``::

    export QPSVM_DATA=... OPENBLAS_NUM_THREADS=1
    python benchmarks/paths/measure.py usps a9a [--rows 1000] [--points 50]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from pathlib import Path
from typing import Any

import numpy as np

import qpsvm
from qpsvm.benchmark.data import load_samples
from qpsvm.paths import Path as SVMPath

ROWS = Path(__file__).with_name("rows.jsonl")
KERNELS = {"usps": "rbf", "a9a": "linear"}
RANGE = (1e-2, 1e2)
EPS = 1e-6
SINGLES = 8


def main() -> None:
    """Measure the sets named on the command line."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("sets", nargs="+", choices=sorted(KERNELS))
    arguments.add_argument("--rows", type=int, help="a random part of so many samples")
    arguments.add_argument("--points", type=int, default=50)
    arguments.add_argument("--dry", action="store_true", help="print the row only")
    chosen = arguments.parse_args()
    for name in chosen.sets:
        data = load_samples(f"{name}(n={chosen.rows}, seed=0)" if chosen.rows else name)
        found = measured(data.X, data.y, KERNELS[name], chosen.points)
        row = {"set": name, "rows": data.X.shape[0], **found}
        row |= {"cores": os.cpu_count(), "python": platform.python_version()}
        print(json.dumps(row))
        if not chosen.dry:
            with ROWS.open("a", encoding="utf-8") as rows:
                rows.write(json.dumps(row) + "\n")


def measured(X: Any, y: Any, kernel: str, points: int) -> dict[str, Any]:
    """Seconds of the path and of single solves, and the largest certified gap."""
    values = np.geomspace(*RANGE, points)
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


def largest_gap(path: SVMPath) -> float:
    """The largest certified relative gap of the path, rounding included."""
    return float(np.max(path.relative_gaps))


if __name__ == "__main__":
    main()
