"""Solves on Parquet datasets: passes, seconds, memory of all processes, beside bare passes.

Usage, from the root of the repository::

    python -m benchmarks.chunked.measure FOLDER --C 0.01 1 100 --output rows.jsonl
    python -m benchmarks.chunked.measure --small          # under a minute, generates its data

A bare pass reads every chunk and multiplies it by a vector, with the same scheduler: the least that
any pass can take. Each row has the seconds of twelve of them, measured before and after the solve.
The memory is the largest sum of the resident memory of this process and of all its children,
looked at ten times a second.
"""

from __future__ import annotations

import argparse
import json
import platform
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import dask
import numpy as np
import psutil

import qpsvm
from benchmarks.chunked.datasets import write
from qpsvm.chunked.chunks import Chunk

EPS = 1e-6
BARE_PASSES = 12
SMALL_ROWS = 400_000
MALLOC = {"MALLOC_TRIM_THRESHOLD_": 2**27, "MALLOC_MMAP_THRESHOLD_": 2**25}
"""Bytes from which a worker hands memory back; with Dask's own 64 KiB, after every array."""


class Memory:
    """The largest resident memory of this process and its children, in bytes."""

    def __init__(self) -> None:
        self.largest = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        own = psutil.Process()
        while not self._stop.wait(0.1):
            total = 0
            for process in [own, *own.children(recursive=True)]:
                try:
                    total += process.memory_info().rss
                except psutil.NoSuchProcess:
                    continue
            self.largest = max(self.largest, total)


def product_sum(chunk: Chunk, w: np.ndarray) -> float:
    """What a bare pass does with a chunk."""
    X = chunk.content().X
    return float(np.sum(X @ w.astype(X.dtype)))


def bare_pass(chunks: tuple[Chunk, ...], d: int) -> float:
    """Seconds of one bare pass."""
    w = np.ones(d)
    began = time.perf_counter()
    dask.compute(*[dask.delayed(product_sum, traverse=False)(chunk, w) for chunk in chunks])
    return time.perf_counter() - began


@contextmanager
def cluster(workers: int | None) -> Iterator[Any]:
    """Workers with a thread each, in processes of their own; this process's threads for None."""
    if workers is None:
        with nullcontext():
            yield None
        return
    from distributed import Client, LocalCluster

    with (
        dask.config.set({f"distributed.nanny.pre-spawn-environ.{k}": v for k, v in MALLOC.items()}),
        LocalCluster(
            n_workers=workers, threads_per_worker=1, memory_limit=None, dashboard_address=":0"
        ) as local,
        Client(local) as client,
    ):
        yield client


def measured(
    folder: Path,
    C: float,
    *,
    workers: int | None,
    loss: str = "hinge",
    memory_limit: float = 2**28,
) -> dict[str, Any]:
    """One solve, with bare passes before and after it."""
    with Memory() as memory, cluster(workers):
        began = time.perf_counter()
        problem = qpsvm.SoftMargin(C=C, loss=loss).dual(str(folder), "y")
        built = time.perf_counter() - began
        d = problem.totals.n_features
        bare = [bare_pass(problem.samples.chunks, d)]
        began = time.perf_counter()
        solution = qpsvm.solve(problem, eps=EPS, options={"memory_limit": memory_limit})
        solved = time.perf_counter() - began
        bare.append(bare_pass(problem.samples.chunks, d))
        began = time.perf_counter()
        report = qpsvm.verify(problem, solution, eps=EPS)
        verified = time.perf_counter() - began
    own = solution.statistics
    return {
        "data": folder.name,
        "rows": problem.totals.n_rows,
        "features": d,
        "C": C,
        "loss": loss,
        "workers": workers,
        "eps": EPS,
        "passed": bool(report.passed),
        "relative_gap": report.certificate.relative_gap_upper,
        "objective": report.certificate.primal_objective,
        "coef": [value.hex() for value in solution.coef.tolist()],
        "passes": own.passes,
        "kinds": [kind for kind, _, _ in own.trace],
        "open": own.n_open,
        "bytes": own.n_bytes,
        "seconds": built + solved,
        "seconds_build": built,
        "seconds_passes": own.seconds["passes"],
        "seconds_open": own.seconds["open problems"],
        "seconds_verify": verified,
        "seconds_bare": bare,
        "over_bare": (built + solved) / (BARE_PASSES * float(np.mean(bare))),
        "memory": memory.largest,
        "machine": f"{platform.system()} {platform.machine()}, {psutil.cpu_count()} cores",
        "python": platform.python_version(),
        "qpsvm": qpsvm.__version__,
    }


def main() -> None:
    """Measure and append one row per solve."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--C", type=float, nargs="+", default=[1.0])
    parser.add_argument("--workers", type=int, nargs="+", default=[0], help="0: threads")
    parser.add_argument("--loss", default="hinge")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "rows.jsonl")
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folders = options.folders
        if options.small:
            folders = [Path(temporary) / "synthetic"]
            write("synthetic", SMALL_ROWS, folders[0])
        for folder in folders:
            for C in options.C:
                for workers in options.workers:
                    row = measured(folder, C, workers=workers or None, loss=options.loss)
                    print(
                        f"{row['data']}, C = {C:g}, workers {workers}: {row['passes']} passes, "
                        f"{row['seconds']:.1f} s ({row['over_bare']:.2f} of 12 bare passes), "
                        f"{row['memory'] / 2**20:.0f} MB, gap {row['relative_gap']:.1e}, "
                        f"{'PASS' if row['passed'] else 'FAIL'}",
                        flush=True,
                    )
                    if not options.small:
                        with options.output.open("a") as stream:
                            stream.write(json.dumps(row) + "\n")
                    elif not row["passed"]:
                        raise SystemExit("the small run did not pass")


if __name__ == "__main__":
    main()
