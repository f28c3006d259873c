"""Time exact leave-one-out beside one solve of the same problem, and check it against refits.

Usage: ``QPSVM_DATA=folder python -m benchmarks.selection.measure [--refits 100]``, with the folder
of the stored data sets. Rows are appended to ``rows.jsonl`` beside this file.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import qpsvm
from qpsvm.selection import leave_one_out

ROWS = Path(__file__).with_name("rows.jsonl")
CLASSES = ("diabetes_scale", "splice", "heart_scale", "ionosphere_scale", "sonar_scale")


def best(run: Callable[[], Any]) -> float:
    """Processor seconds, the best of three runs."""
    seconds = []
    for _ in range(3):
        began = time.process_time()
        run()
        seconds.append(time.process_time() - began)
    return min(seconds)


def measured(name: str, formulation: Any, X: Any, y: Any, refits: int) -> dict[str, Any]:
    """One row: seconds, shares, and how many labels differ from those of refits."""
    problem = formulation.dual(X, y, kernel="rbf")
    found = leave_one_out(problem)
    solve = best(lambda: qpsvm.solve(formulation.dual(X, y, kernel="rbf")))
    leaving = best(lambda: leave_one_out(problem))
    chosen = np.random.default_rng(0).permutation(len(y))[:refits]
    differ, off = 0, 0.0
    for i in chosen:
        others = np.arange(len(y)) != i
        part = formulation.dual(X[others], y[others], kernel=problem.kernel)
        machine = qpsvm.solve(part, eps=1e-10)
        value = float(machine.decision_function(X[[i]])[0])
        differ += bool(problem.data.predictions(np.array([value]))[0] != found.predictions[i])
        if np.isfinite(found.radius[i]):
            off = max(off, abs(value - float(found.decisions[i])))
    is_regression = problem.formulation.__class__.__name__ == "EpsilonRegression"
    return {
        "set": name,
        "n": len(y),
        "C": formulation.C,
        "solve": solve,
        "leave_one_out": leaving,
        "solves": leaving / solve,
        "shares": found.shares,
        "decided": float(np.mean(found.decided)),
        "n_support": found.n_support,
        "score": found.score,
        "refits": len(chosen),
        "labels that differ": None if is_regression else differ,
        "largest difference": off,
        "threads": os.environ.get("OPENBLAS_NUM_THREADS", "default"),
    }


def main() -> None:
    """Measure and append."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--refits", type=int, default=100)
    arguments = parser.parse_args()
    load = runpy.run_path(str(Path(os.environ["QPSVM_DATA"]) / "load.py"))
    with ROWS.open("a", encoding="utf-8") as file:
        for name in (*CLASSES, "housing_scale"):
            if name in CLASSES:
                X, y = load["binary"](name)
            else:
                raw = load["load"](name)
                X, y = raw["X"], raw["y"]
            X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
            for C in (1.0, 10.0, 100.0):
                formulation: Any = qpsvm.SoftMargin(C=C)
                if name == "housing_scale":
                    formulation = qpsvm.EpsilonRegression(C=C, epsilon=1.0)
                row = measured(name, formulation, X, y, arguments.refits)
                file.write(json.dumps(row) + "\n")
                file.flush()
                print(name, C, f"{row['solves']:.1f} solves", row["labels that differ"], flush=True)


if __name__ == "__main__":
    main()
