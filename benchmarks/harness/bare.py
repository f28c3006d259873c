"""One fit, timed in a plain interpreter: no limits, no watching, no judge.

Usage: ``python bare.py CELL SETTINGS`` (JSON); prints seconds of wall clock and of processor time.
``measure.py`` runs it.

A backend gets the program, made from the samples, and its answer becomes a machine (what qpsvm
costs on top of the solver's own package is the subject of ``../overhead``); an estimator is fitted
as its documentation says. A few samples go first, so that what is loaded lazily is there.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmarks.cells import Cell, parse
from benchmarks.data import load_samples
from benchmarks.programs import formulation_of, kernel_of
from qpsvm import backends
from qpsvm.backends import Settings


def call(cell: Cell, settings: Mapping[str, Any], X: Any, y: Any) -> Callable[[], Any]:
    """What is timed."""
    who = parse(cell.contestant)
    if who.name.startswith("sklearn:"):
        import sklearn.svm

        model = getattr(sklearn.svm, who.name.partition(":")[2])(**settings)
        return lambda: model.fit(X, y)
    formulation, kernel = formulation_of(cell.instance.family), kernel_of(cell.instance.kernel)
    backend = backends.get(who.name)

    def solve() -> Any:
        problem = formulation.dual(X, y, kernel=kernel)
        wanted = Settings(eps=cell.eps, time_limit=cell.time_limit)
        return problem.recover(backend.solve(problem.qp, wanted))

    return solve


def main() -> None:
    cell = Cell.from_dict(json.loads(sys.argv[1]))
    settings = json.loads(sys.argv[2])
    samples = load_samples(cell.instance.data)
    few = np.concatenate([np.flatnonzero(samples.y == side)[:5] for side in (-1.0, 1.0)])
    call(cell, settings, samples.X[few], samples.y[few])()
    action = call(cell, settings, samples.X, samples.y)
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    action()
    print(time.perf_counter() - wall, time.process_time() - cpu)


if __name__ == "__main__":
    main()
