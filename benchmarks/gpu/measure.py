"""Kernel machines on a GPU: the tests marked ``cuda``, then every figure, in one go.

``python benchmarks/gpu/measure.py --data FOLDER --out FILE [--seconds 480]``

The folder has ``load.py`` with ``binary(name)``, as ``QPSVM_DATA``. Rows are written one by one, as
JSON; a part that would begin after its share of the seconds is left out, and says so.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import qpsvm
from qpsvm.device import device_named
from qpsvm.kernels import RBF
from qpsvm.machines.device_products import DeviceProducts
from qpsvm.qp.sample_gram import products_by

ROOT = Path(__file__).resolve().parent.parent.parent
TESTS = [
    "tests/device",
    "tests/solvers/device",
    "tests/machines/test_device_products.py",
    "tests/test_solve_device.py",
]
SIZES = [10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000]


class Rows:
    """The file of rows, and the clock that says what may still begin."""

    def __init__(self, path: Path, seconds: float, device: Any) -> None:
        self.path, self.ends = path, time.perf_counter() + seconds
        self.machine = {
            "card": device.name,
            "memory_gib": round(device.free_bytes() / 2**30, 1),
            "processor": processor(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "cupy": device.xp.__version__,
        }

    def add(self, **row: Any) -> None:
        """Write a row."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(self.machine | row) + "\n")
        print(json.dumps(row), flush=True)

    def may_begin(self, seconds: float, **row: Any) -> bool:
        """Return whether a part of so many seconds still fits; note where it does not."""
        fits = time.perf_counter() + seconds <= self.ends
        if not fits:
            self.add(**row, left_out="no time")
        return fits


def processor() -> str:
    """The processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((x.partition(":")[2].strip() for x in lines if x.startswith("model name")), "")


def synthetic(n: int) -> tuple[Any, Any]:
    """Ten normal features, and labels of a curve with noise."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, 10))
    curve = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3]
    return X, np.sign(curve + 0.3 * rng.standard_normal(n))


def loader(folder: Path) -> Callable[[str], tuple[Any, Any]]:
    """``binary`` of the data folder, as dense arrays."""
    spec = importlib.util.spec_from_file_location("load", folder / "load.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def binary(name: str) -> tuple[Any, Any]:
        X, y = module.binary(name)
        return np.ascontiguousarray(X.toarray() if hasattr(X, "toarray") else X), y

    return binary


def solved(
    X: Any, y: Any, C: float, device: Any, **options: Any
) -> tuple[Any, Any, dict[str, Any]]:
    """Solve and verify from arrays in the host's memory; the problem, the solution and a row."""
    began = time.perf_counter()
    problem = qpsvm.SoftMargin(C=C).dual(X, y, kernel=RBF("scale"))
    solution = qpsvm.solve(problem, device=device, options=options)
    seconds = time.perf_counter() - began
    size, statistics_ = np.abs(solution.alpha), solution.qp.statistics
    return (
        problem,
        solution,
        {
            "seconds": round(seconds, 4),
            "status": solution.status.value,
            "steps": {name: round(s, 4) for name, s in statistics_.seconds.items()},
            "rounds": statistics_.iterations,
            "support_vectors": int(np.count_nonzero(size)),
            "free": int(np.count_nonzero((size > 0.0) & (size < C))),
        },
    )


def certified_gap(problem: Any, solution: Any, device: Any) -> dict[str, Any]:
    """The certificate's figures, and how long it takes."""
    began = time.perf_counter()
    with products_by(DeviceProducts(device)):
        proof = qpsvm.certify(problem, solution)
    seconds = time.perf_counter() - began
    return {"certify_seconds": round(seconds, 4), "gap_upper": proof.relative_gap_upper}


def repeated(X: Any, y: Any, C: float, device: Any, repeats: int, **options: Any) -> dict[str, Any]:
    """The row of several calls: all seconds, and their median."""
    rows = list[dict[str, Any]]()
    for _ in range(repeats):
        problem, solution, row = solved(X, y, C, device, **options)
        rows.append(row)
    times = [row["seconds"] for row in rows]
    row = rows[-1] | {"seconds": statistics.median(times), "all_seconds": times}
    return {"n": len(X), "d": X.shape[1], "C": C} | row | certified_gap(problem, solution, device)


def libsvm(X: Any, y: Any, C: float) -> float:
    """Seconds of LIBSVM's default fit."""
    from sklearn.svm import SVC

    began = time.perf_counter()
    SVC(C=C).fit(X, y)
    return round(time.perf_counter() - began, 3)


# --- parts ----------------------------------------------------------------------------------------


def tests(rows: Rows) -> None:
    """The tests marked ``cuda``."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-m",
        "cuda",
        "-n",
        "0",
        "-W",
        "default",
        *TESTS,
    ]
    began = time.perf_counter()
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    (rows.path.parent / "tests.txt").write_text(run.stdout + run.stderr, encoding="utf-8")
    last = run.stdout.strip().splitlines()[-1:] or [run.stderr[-300:]]
    seconds = round(time.perf_counter() - began, 1)
    rows.add(part="tests", seconds=seconds, passed=run.returncode == 0, summary=last[0])


def sets(rows: Rows, binary: Callable[[str], tuple[Any, Any]], device: Any) -> None:
    """Data sets, with LIBSVM's default fit beside some of them."""
    for name, prices in (("ijcnn1", (1.0, 100.0)), ("covtype20k", (1.0, 100.0))):
        X, y = binary(name)
        for C in prices:
            rows.add(part="set", set=name, **repeated(X, y, C, device, 5))
    X, y = binary("skin_nonskin")
    rows.add(part="set", set="skin_nonskin", **repeated(X, y, 100.0, device, 2))
    for name, C in (("ijcnn1", 1.0), ("covtype20k", 1.0), ("covtype20k", 100.0)):
        if rows.may_begin(20.0, part="libsvm", set=name, C=C):
            X, y = binary(name)
            rows.add(part="libsvm", set=name, n=len(X), C=C, seconds=libsvm(X, y, C))


def growth(rows: Rows, device: Any) -> None:
    """Seconds against n."""
    for n in SIZES:
        if rows.may_begin(6e-5 * n, part="growth", n=n):
            rows.add(part="growth", **repeated(*synthetic(n), 1.0, device, 3 if n < 200_000 else 1))


def limits(rows: Rows, device: Any) -> None:
    """A limit on device memory that the allocator enforces as well."""
    xp, (X, y) = device.xp, synthetic(100_000)
    pool = xp.get_default_memory_pool()
    for limit in (2**30, 2**31):
        pool.free_all_blocks()
        pool.set_limit(size=int(limit * 1.0))
        try:
            found = repeated(X, y, 1.0, device, 1, memory_limit=int(0.8 * limit), cached_from=1)
            rows.add(part="limit", limit=limit, held=pool.total_bytes(), **found)
        except Exception as error:  # noqa: BLE001  what an allocator raises is a row, too
            rows.add(part="limit", limit=limit, error=repr(error)[:300])
        finally:
            pool.set_limit(size=0)
            pool.free_all_blocks()


def interrupted(rows: Rows, device: Any) -> None:
    """Ctrl-C after 30 rounds: the best point, with its certificate."""
    problem = qpsvm.SoftMargin(C=1.0).dual(*synthetic(100_000), kernel=RBF("scale"))

    def stop(progress: Any) -> None:
        if progress.iteration == 30:
            raise KeyboardInterrupt

    try:
        qpsvm.solve(problem, device=device, callback=stop)
    except KeyboardInterrupt as error:
        found = certified_gap(problem, error.solution, device)  # type: ignore[attr-defined]
        rows.add(part="ctrl-c", n=100_000, round=30, **found)


def parts(rows: Rows, folder: Path, device: Any) -> Iterator[Callable[[], None]]:
    """All parts, in order."""
    yield lambda: sets(rows, loader(folder), device)
    yield lambda: tests(rows)
    yield lambda: growth(rows, device)
    yield lambda: interrupted(rows, device)
    yield lambda: limits(rows, device)


def main() -> None:
    """Measure everything that fits the time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=480.0)
    given = parser.parse_args()
    device = device_named("cuda")
    rows = Rows(given.out, given.seconds, device)
    began = time.perf_counter()
    solved(*synthetic(20_000), 100.0, device)  # compiles and loads what later calls find loaded
    rows.add(part="first call of the process", seconds=round(time.perf_counter() - began, 2))
    for part in parts(rows, given.data, device):
        try:
            part()
        except Exception as error:  # noqa: BLE001  the other parts are measured all the same
            rows.add(part="failed", error=repr(error)[:500])


if __name__ == "__main__":
    main()
