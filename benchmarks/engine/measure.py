"""The engine at its largest: against the floor of a second-order method, and how it grows.

Every measurement is a process of its own. Rows go to ``rows.jsonl``; ``report.py`` makes the page.

Usage: ``python benchmarks/engine/measure.py [--pairs 5] [--largest 3000000]``
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
ROWS = HERE / "rows.jsonl"
FEATURES = 28
EPS = 1e-8
SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000)
FLOOR_AT = 1_000_000
PRODUCTS = 20


def main() -> None:
    """Pairs of floor and engine, alternating, then one engine per size."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--pairs", type=int, default=5)
    arguments.add_argument("--largest", type=int, default=SIZES[-1])
    arguments.add_argument("--one", nargs=2, metavar=("WHAT", "N"))
    chosen = arguments.parse_args()
    if chosen.one:
        what, n = chosen.one
        print(json.dumps(MEASURES[what](int(n))))
        return
    jobs = [(what, FLOOR_AT) for k in range(chosen.pairs) for what in _order(k)]
    jobs += [("engine", n) for n in SIZES if n <= chosen.largest for _ in range(3)]
    jobs += [("engine, float32", FLOOR_AT)] * 3
    with ROWS.open("w", encoding="utf-8") as rows:
        for what, n in jobs:
            row = json.loads(_measured(what, n))
            machine = {"machine": platform.machine(), "cores": os.cpu_count()}
            rows.write(json.dumps({"what": what, "n": n, **row, **machine}) + "\n")
            rows.flush()
            print(what, n, row, file=sys.stderr)


def _order(k: int) -> tuple[str, str]:
    return ("floor", "engine") if k % 2 else ("engine", "floor")


def _measured(what: str, n: int) -> str:
    command = [sys.executable, str(Path(__file__).resolve()), "--one", what, str(n)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def floor(n: int) -> dict[str, float]:
    """``X.T @ (D * X)``, which every step of a second-order method costs."""
    X, _ = _samples(n)
    D = np.random.default_rng(1).random(n)[:, None]
    X[:1000].T @ (D[:1000] * X[:1000])
    began = time.perf_counter()
    for _ in range(PRODUCTS):
        X.T @ (D * X)
    return {"seconds": time.perf_counter() - began}


def engine(n: int, dtype: type = np.float64) -> dict[str, float]:
    """Program, solution and certificate of a soft margin (C = 1), the first two timed."""
    import qpsvm
    from qpsvm.backends import Settings, get

    backend = get("ipm")
    backend.load()
    few, y = _samples(3000)
    backend.solve(qpsvm.SoftMargin(C=1.0).dual(few, y).qp, Settings(eps=EPS))
    before = _peak()
    X, y = _samples(n, dtype)
    X.flags.writeable = False  # then the copy of float32 is float32
    began = time.perf_counter()
    problem = qpsvm.SoftMargin(C=1.0).dual(X, y)
    found = backend.solve(problem.qp, Settings(eps=EPS))
    seconds = time.perf_counter() - began
    peak = _peak()
    gap = qpsvm.certify(problem, problem.recover(found)).relative_gap
    return {
        "seconds": seconds,
        "gap": gap,
        "iterations": found.statistics.iterations,
        "data_bytes": X.nbytes,
        "peak_bytes": peak - before,  # the data included
    }


def in_float32(n: int) -> dict[str, float]:
    """The same samples, rounded; computed in float64."""
    return engine(n, np.float32)


def _samples(n: int, dtype: type = np.float64) -> tuple[np.ndarray, np.ndarray]:
    """Block by block: no temporary array of the size of the data."""
    rng = np.random.default_rng(0)
    X, y, w = np.empty((n, FEATURES), dtype), np.empty(n), rng.standard_normal(FEATURES)
    for begin in range(0, n, 100_000):
        block = slice(begin, min(begin + 100_000, n))
        X[block] = rng.standard_normal((block.stop - begin, FEATURES))
        noise = rng.standard_normal(block.stop - begin)
        y[block] = np.where(X[block] @ w + 3.0 * noise > 0.0, 1.0, -1.0)
    return X, y


def _peak() -> int:
    """Largest resident memory so far, bytes (Linux counts in KiB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


MEASURES = {"floor": floor, "engine": engine, "engine, float32": in_float32}

if __name__ == "__main__":
    main()
