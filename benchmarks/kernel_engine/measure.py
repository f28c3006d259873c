"""How the kernel engine grows with the samples, in time and memory, beside LIBSVM.

Every measurement is a process of its own, with one thread, the two in turns. Rows go to
``rows.jsonl``; ``report.py`` makes the page.

Usage: ``python benchmarks/kernel_engine/measure.py [--repeats 3] [--largest 50000]``
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
FEATURES = 20
EPS = 1e-9
SIZES = (2_000, 5_000, 10_000, 20_000, 50_000)
MEMORY_LIMIT = 3 * 2**30
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def main() -> None:
    """All sizes, the engine and LIBSVM in turns."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--largest", type=int, default=SIZES[-1])
    arguments.add_argument("--one", nargs=2, metavar=("WHAT", "N"))
    chosen = arguments.parse_args()
    if chosen.one:
        what, n = chosen.one
        print(json.dumps(MEASURES[what](int(n))))
        return
    sizes = [n for n in SIZES if n <= chosen.largest]
    jobs = [(what, n) for _ in range(chosen.repeats) for n in sizes for what in MEASURES]
    with ROWS.open("w", encoding="utf-8") as rows:
        for what, n in jobs:
            row = json.loads(_measured(what, n))
            machine = {"machine": platform.machine(), "cores": os.cpu_count()}
            rows.write(json.dumps({"what": what, "n": n, **row, **machine}) + "\n")
            rows.flush()
            print(what, n, row, file=sys.stderr)


def _measured(what: str, n: int) -> str:
    command = [sys.executable, str(Path(__file__).resolve()), "--one", what, str(n)]
    environment = os.environ | ONE_THREAD
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return done.stdout


def engine(n: int) -> dict[str, float]:
    """Program and solution of a soft margin (C = 1, RBF), timed; then its certificate."""
    import qpsvm
    from qpsvm.backends import Settings, get

    backend = get("active-set")
    settings = Settings(eps=EPS, options={"memory_limit": MEMORY_LIMIT})
    few, y = _samples(300)
    backend.solve(qpsvm.SoftMargin(C=1.0).dual(few, y, kernel="rbf").qp, settings)
    before = _peak()
    X, y = _samples(n)
    began = time.perf_counter()
    problem = qpsvm.SoftMargin(C=1.0).dual(X, y, kernel="rbf")
    found = backend.solve(problem.qp, settings)
    seconds = time.perf_counter() - began
    peak = _peak()
    gap = qpsvm.certify(problem, problem.recover(found)).relative_gap
    return {"seconds": seconds, "gap": gap, "peak_bytes": peak - before, "limit": MEMORY_LIMIT}


def libsvm(n: int) -> dict[str, float]:
    """``SVC`` at its own tolerance, with a cache of 4 GB; its gap is not measured here."""
    from sklearn.svm import SVC

    few, y = _samples(300)
    SVC().fit(few, y)
    before = _peak()
    X, y = _samples(n)
    began = time.perf_counter()
    SVC(C=1.0, gamma="scale", cache_size=4000).fit(X, y)
    return {"seconds": time.perf_counter() - began, "peak_bytes": _peak() - before}


def _samples(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes, one a shell around the other, with noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, FEATURES))
    noise = rng.standard_normal(n)
    return X, np.where((X[:, :5] ** 2).sum(axis=1) + noise > 4.5, 1.0, -1.0)


def _peak() -> int:
    """Largest resident memory so far, bytes (Linux counts in KiB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


MEASURES = {"engine": engine, "LIBSVM": libsvm}

if __name__ == "__main__":
    main()
