"""Whether a time in a store is the time of the solver: the harness against a bare call.

Every row is a pair, one after the other, each in a fresh process: the cell as ``python -m
benchmarks run`` measures it, and the solver called by a plain script (``bare.py``) with the same
samples, settings and threads. Compared are the row's ``total_seconds`` and ``cpu_seconds`` with the
same clocks around that call.

Usage: ``python benchmarks/harness/measure.py [--pairs 25] [--only TEXT]``. Rows are appended to
``rows.jsonl`` beside this file; ``report.py`` makes the table from that file alone.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.cells import Cell, Instance
from benchmarks.process import THREADS, measure_apart

HERE = Path(__file__).parent
ROWS = HERE / "rows.jsonl"


def instance(n: int, d: int, kernel: str = "rbf(gamma='scale')", **family: Any) -> Instance:
    arguments = ", ".join(f"{key}={value!r}" for key, value in {"C": 1.0, **family}.items())
    return Instance(f"SoftMargin({arguments})", f"synthetic(d={d}, n={n}, seed=0)", kernel)


CELLS = (
    Cell(instance(700, 20), "cvxopt(form='dual')", 1e-6),
    Cell(instance(600, 20), "osqp(form='dual')", 1e-4),
    Cell(instance(800, 20), "qpsolvers:piqp(form='dual')", 1e-6),
    Cell(instance(3000, 20), "sklearn:SVC", 1e-3),
    Cell(instance(20_000, 50, "linear", intercept="penalized"), "sklearn:LinearSVC", 1e-3),
)


def bare(cell: Cell, settings: dict[str, Any]) -> list[float]:
    """Wall clock and processor time."""
    arguments = json.dumps(cell.to_dict()), json.dumps(settings)
    done = subprocess.run(
        [sys.executable, str(HERE / "bare.py"), *arguments],
        env={**os.environ, **dict.fromkeys(THREADS, str(cell.threads))},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [float(word) for word in done.stdout.split()[-2:]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=25)
    parser.add_argument("--only", default="", help="only contestants with this in their name")
    options = parser.parse_args()
    for cell in CELLS:
        if options.only not in cell.contestant:
            continue
        settings = dict(measure_apart(cell).settings)
        for pair in range(options.pairs):
            load = machine.load()
            if pair % 2:
                (wall, cpu), row = bare(cell, settings), measure_apart(cell)
            else:
                row, (wall, cpu) = measure_apart(cell), bare(cell, settings)
            measured = {
                "contestant": cell.contestant,
                "instance": str(cell.instance),
                "pair": pair,
                "harness_seconds": row.total_seconds,
                "bare_seconds": wall,
                "harness_cpu_seconds": row.cpu_seconds,
                "bare_cpu_seconds": cpu,
                "outcome": row.outcome,
                "version": row.version,
                "load": load,
                "machine": dict(row.machine),
            }
            with ROWS.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(measured) + "\n")
            print(f"{cell.contestant:28} {row.total_seconds:.4f} / {wall:.4f}", flush=True)


if __name__ == "__main__":
    main()
