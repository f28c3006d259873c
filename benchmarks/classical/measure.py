"""Measure how far the classical methods get: certified gaps over the seconds of their process.

Usage: ``QPSVM_DATA=folder OPENBLAS_NUM_THREADS=1 python -m benchmarks.classical.measure SET``, with
SET one of iris, cancer, a9a and the folder of the stored data sets (a9a only). Rows are appended to
``rows.jsonl`` beside this file.

A classical method runs once, for ten seconds at most, and is certified at checkpoints; these take
no time of its own. A backend runs once for each of several accuracies, which gives one point each:
the seconds of the whole call of ``qpsvm.solve``, and the gap that is certified then. Seconds are
those of the process (``time.process_time``), not of the clock: other processes kept the machine
busy.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.preprocessing import scale

import qpsvm
from qpsvm import classical
from qpsvm.classical import TraceSettings
from qpsvm.exceptions import BackendError, QPSVMError

ROWS = Path(__file__).with_name("rows.jsonl")
SECONDS = 10.0
ACCURACIES = (1e-1, 1e-3, 1e-5, 1e-8)
BACKENDS = ("ipm", "active-set", "cvxopt", "osqp", "cvxpy:CLARABEL", "slsqp")
DENSE, SPARSE = ("cvxopt", "slsqp"), ("osqp", "cvxpy:CLARABEL")
LARGEST_DENSE = 2000
"""Samples up to which backends get the dual program with its dense matrix; beyond it, those with
sparse linear algebra get the primal one, and the others are not asked."""

FREE, PENALISED = {"intercept": "free"}, {"intercept": "penalized"}
SQUARED = {"intercept": "free", "loss": "squared_hinge"}
METHODS: tuple[tuple[str, Any, dict[str, Any], dict[str, Any]], ...] = (
    ("dual ascent", classical.dual_ascent, FREE, {}),
    ("SLSQP", classical.slsqp, FREE, {}),
    ("SMO", classical.smo, FREE, {}),
    ("Frank-Wolfe", classical.frank_wolfe, FREE, {}),
    ("ADMM", classical.admm, FREE, {}),
    ("coordinate descent", classical.coordinate_descent, PENALISED, {}),
    ("sub-gradient", classical.subgradient, PENALISED, {"average": "linear"}),
    ("stochastic sub-gradient", classical.stochastic_subgradient, PENALISED, {}),
    ("Pegasos", classical.pegasos, PENALISED, {"batch_size": 16, "average": "linear"}),
    ("Newton", classical.newton, SQUARED, {}),
)


def samples(name: str) -> tuple[Any, Any]:
    """Samples, standardised where they are dense, and labels of two classes."""
    if name == "a9a":
        load = runpy.run_path(str(Path(os.environ["QPSVM_DATA"]) / "load.py"))
        X, y = load["binary"]("a9a")
        return X, y
    if name == "iris":
        X, y = datasets.load_iris(return_X_y=True)
        return scale(X), np.where(y == 0, "setosa", "others")
    X, y = datasets.load_breast_cancer(return_X_y=True)
    return scale(X), y


def of_methods(X: Any, y: Any, only: str | None) -> Iterator[dict[str, Any]]:
    """A row for every classical method."""
    settings = TraceSettings(clock=time.process_time, growth=1.5)
    for name, method, family, options in METHODS:
        if only not in (None, name):
            continue
        problem = qpsvm.SoftMargin(C=1.0, **family).dual(X, y)
        try:
            run = method(problem, eps=1e-8, max_seconds=SECONDS, settings=settings, **options)
        except BackendError as error:
            yield {"what": name, "kind": "classical", "refused": str(error).split(";")[0]}
            continue
        trace = run.trace
        yield {
            "what": name,
            "kind": "classical",
            "problem": problem.family,
            "steps": run.steps,
            "stopped by": run.reason,
            "seconds": [round(float(s), 5) for s in trace.seconds],
            "gaps": [float(gap) if np.isfinite(gap) else None for gap in trace.gap],
        }


def of_backends(X: Any, y: Any, only: str | None) -> Iterator[dict[str, Any]]:
    """A row for every backend that can be asked."""
    is_large = X.shape[0] > LARGEST_DENSE
    for name in BACKENDS:
        if only not in (None, name):
            continue
        form = "primal" if is_large and name in SPARSE else "dual"
        if is_large and name in DENSE:
            yield {"what": name, "kind": "backend", "refused": f"{X.shape[0]} dense columns"}
            continue
        qpsvm.backends.get(name).load()
        seconds, gaps, failures = [], [], []
        for eps in ACCURACIES:
            problem = getattr(qpsvm.SoftMargin(C=1.0), form)(X, y)
            began = time.process_time()
            try:
                solution = qpsvm.solve(problem, name, eps=eps, time_limit=120.0)
            except (QPSVMError, MemoryError) as error:
                failures.append(f"eps {eps:g}: {type(error).__name__}")
                break
            seconds.append(round(time.process_time() - began, 5))
            gaps.append(qpsvm.certify(problem, solution).relative_gap_upper)
            if seconds[-1] > SECONDS:
                break
        yield {
            "what": name,
            "kind": "engine" if name in ("ipm", "active-set") else "backend",
            "problem": problem.family,
            "form": form,
            "failures": failures,
            "seconds": seconds,
            "gaps": gaps,
        }


def main() -> None:
    """Measure and append."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("set", choices=("iris", "cancer", "a9a"))
    parser.add_argument("--only", help="one method or backend, such as SMO")
    name, only = vars(parser.parse_args()).values()
    warnings.simplefilter("ignore")
    X, y = samples(name)
    about = {
        "set": name,
        "n": int(X.shape[0]),
        "d": int(X.shape[1]),
        "threads": os.environ.get("OPENBLAS_NUM_THREADS", "default"),
        "clock": "process time",
        "busy": True,
    }
    qpsvm.solve(qpsvm.SoftMargin().dual([[0.0], [2.0]], [-1, 1]))  # imports are not measured
    for rows in (of_backends(X, y, only), of_methods(X, y, only)):
        for row in rows:
            with ROWS.open("a", encoding="utf-8") as file:
                file.write(json.dumps(about | {"load": round(os.getloadavg()[0], 1)} | row) + "\n")
            print(name, row["what"], row.get("refused") or row["gaps"][-1:], flush=True)


if __name__ == "__main__":
    main()
