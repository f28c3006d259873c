"""Whether a time in a store is the time of the solver: the harness against a bare call.

Every row is a pair, one after the other, each in a fresh process: the cell as ``qpsvm bench run``
measures it, and the solver called by a plain script (``bare.py``) with the same samples, settings
and threads. For backends the row's ``setup_seconds + solve_seconds`` count (the program is built
outside of both), for estimators its ``total_seconds``.

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

from qpsvm.benchmark import machine
from qpsvm.benchmark.cells import Cell, Instance
from qpsvm.benchmark.process import THREADS, measure_apart
from qpsvm.benchmark.rows import Row

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
    Cell(instance(5000, 50, "linear", intercept="penalized"), "sklearn:LinearSVC", 1e-3),
)


def harness(cell: Cell) -> tuple[float, Row]:
    row = measure_apart(cell)
    if cell.contestant.startswith("sklearn:"):
        return row.total_seconds, row
    return row.setup_seconds + row.solve_seconds, row


def bare(cell: Cell, settings: dict[str, Any]) -> float:
    arguments = json.dumps(cell.to_dict()), json.dumps(settings)
    done = subprocess.run(
        [sys.executable, str(HERE / "bare.py"), *arguments],
        env={**os.environ, **dict.fromkeys(THREADS, str(cell.threads))},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return float(done.stdout.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=25)
    parser.add_argument("--only", default="", help="only contestants with this in their name")
    options = parser.parse_args()
    for cell in CELLS:
        if options.only not in cell.contestant:
            continue
        settings = dict(harness(cell)[1].settings)
        for pair in range(options.pairs):
            load = machine.load()
            if pair % 2:
                direct_call, (own, row) = bare(cell, settings), harness(cell)
            else:
                (own, row), direct_call = harness(cell), bare(cell, settings)
            measured = {
                "contestant": cell.contestant,
                "instance": str(cell.instance),
                "pair": pair,
                "harness_seconds": own,
                "bare_seconds": direct_call,
                "outcome": row.outcome,
                "version": row.version,
                "load": load,
                "machine": dict(row.machine),
            }
            with ROWS.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(measured) + "\n")
            ratio = own / direct_call
            print(f"{cell.contestant:28} {own:.4f} / {direct_call:.4f} = {ratio:.3f}", flush=True)


if __name__ == "__main__":
    main()
