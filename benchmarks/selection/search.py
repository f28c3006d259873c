"""Time ``SVCSearch`` beside ``GridSearchCV(SVC())``: 5 folds, 20 C, 5 gamma, two jobs each.

C are 2^-5 ... 2^14 (the range of LIBSVM's guide), gamma are 1/16 ... 16 times "scale"; both have
the same folds. Processor seconds are those of all threads and processes together: seconds of the
clock depend on what else the machine does.

Usage: ``QPSVM_DATA=folder python -m benchmarks.selection.search NAME:SAMPLES ...``, with ``--ours``
for no search of scikit-learn's. Rows are appended to ``search.jsonl``.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

import qpsvm
from benchmarks.estimators.measure import samples
from qpsvm.selection import SVCSearch

ROWS = Path(__file__).with_name("search.jsonl")
JOBS = 2


def grid_of(X: Any) -> dict[str, list[float]]:
    """The values of C and gamma."""
    scale = 1.0 / (X.shape[1] * float(np.var(X)))
    return {
        "C": (2.0 ** np.arange(-5, 15)).tolist(),
        "gamma": (scale * 4.0 ** np.arange(-2, 3)).tolist(),
    }


def timed(action: Callable[[], Any]) -> tuple[Any, float, float]:
    """The result of a call, its seconds, and processor seconds with those of ended children."""
    from joblib.externals.loky import get_reusable_executor

    began, before = time.perf_counter(), _processor_seconds()
    result = action()
    seconds = time.perf_counter() - began
    get_reusable_executor().shutdown(wait=True)
    return result, seconds, _processor_seconds() - before


def _processor_seconds() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def measured(name: str, n: int, *, ours_only: bool) -> dict[str, Any]:
    """One row: seconds of both, whether the choice is the same, and what is proven."""
    data = samples(name, n)
    assert data is not None, f"{name} has fewer than {n / 2:.0f} samples"
    X, y = data
    grid, cv = grid_of(X), StratifiedKFold(5)
    ours, seconds, processor = timed(lambda: SVCSearch(**grid, cv=cv, n_jobs=JOBS).fit(X, y))
    results = ours.cv_results_
    row = {
        "set": name,
        "n": len(y),
        "d": X.shape[1],
        "qpsvm": qpsvm.__version__,
        "threads": os.environ.get("OPENBLAS_NUM_THREADS", "default"),
        "load": os.getloadavg()[0],
        "seconds": seconds,
        "processor": processor,
        "best": ours.best_params_,
        "score": float(ours.best_score_),
        "proven labels": float(np.mean(results["mean_proven"])),
        "proven candidates": float(np.mean([v != "undecided" for v in ours.choice_.verdicts])),
        "equal candidates": int(np.sum([v == "equal" for v in ours.choice_.verdicts])),
        "largest gap": float(np.max(results["max_relative_gap"])),
    }
    if not ours_only:
        theirs = GridSearchCV(SVC(), grid, cv=cv, n_jobs=JOBS)
        theirs, seconds, processor = timed(lambda: theirs.fit(X, y))
        apart = theirs.cv_results_["mean_test_score"] - results["mean_test_score"]
        row |= {
            "sklearn seconds": seconds,
            "sklearn processor": processor,
            "sklearn best": theirs.best_params_,
            "sklearn score": float(theirs.best_score_),
            "scores that differ": int(np.count_nonzero(np.abs(apart) > 1e-12)),
        }
    return row


def main() -> None:
    """Measure and append."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--ours", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for each in arguments.sets:
        name, _, n = each.partition(":")
        row = measured(name, int(n), ours_only=arguments.ours)
        with ROWS.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        print(row, flush=True)


if __name__ == "__main__":
    main()
