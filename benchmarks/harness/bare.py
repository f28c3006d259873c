"""One call, timed in a plain interpreter: no limits, no watching, no judge.

Usage: ``python bare.py CELL SETTINGS`` (JSON); prints seconds. ``measure.py`` runs it.

A backend gets the program (what it costs on top of its own package is the subject of
``../overhead``), an estimator is fitted as its documentation says. A few samples go first, so that
what is loaded lazily is there.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from qpsvm import backends
from qpsvm.backends import Settings
from qpsvm.benchmark.calls import parse
from qpsvm.benchmark.cells import Cell
from qpsvm.benchmark.data import load_samples
from qpsvm.benchmark.families import formulation_of, kernel_of


def call(cell: Cell, settings: Mapping[str, Any], X: Any, y: Any) -> Callable[[], Any]:
    """What is timed."""
    who = parse(cell.contestant)
    if who.name.startswith("sklearn:"):
        import sklearn.svm

        model = getattr(sklearn.svm, who.name.partition(":")[2])(**settings)
        return lambda: model.fit(X, y)
    formulation, kernel = formulation_of(cell.instance.family), kernel_of(cell.instance.kernel)
    program = formulation.dual(X, y, kernel=kernel).qp
    backend = backends.get(who.name)
    return lambda: backend.solve(program, Settings(eps=cell.eps, time_limit=cell.time_limit))


def main() -> None:
    cell = Cell.from_dict(json.loads(sys.argv[1]))
    settings = json.loads(sys.argv[2])
    samples = load_samples(cell.instance.data)
    call(cell, settings, samples.X[:10], samples.y[:10])()
    action = call(cell, settings, samples.X, samples.y)
    gc.collect()
    began = time.perf_counter()
    action()
    print(time.perf_counter() - began)


if __name__ == "__main__":
    main()
