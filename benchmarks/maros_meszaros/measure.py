"""Solve and verify the Maros-Meszaros programs.

Usage: ``python -m benchmarks.maros_meszaros.measure FOLDER [--largest 4000] [--seconds 20]``

Every program of FOLDER with up to ``--largest`` variables is solved by ``"auto"`` at ``eps=1e-6``
and verified. Rows are appended to ``rows.jsonl``; what is there is not measured again.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from rich.progress import track

import qpsvm
from benchmarks.maros_meszaros.programs import load
from qpsvm.qp import QuadraticProgram

HERE = Path(__file__).parent
ROWS = HERE / "rows.jsonl"
EPS = 1e-6


def main() -> None:
    """Measure what is not there yet."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--largest", type=int, default=4000, help="variables")
    arguments.add_argument("--seconds", type=float, default=20.0, help="time limit of a solve")
    chosen = arguments.parse_args()
    text = ROWS.read_text(encoding="utf-8") if ROWS.exists() else ""
    done = {json.loads(line)["program"] for line in text.splitlines()}
    with ROWS.open("a", encoding="utf-8") as rows:
        for path in track(sorted(chosen.folder.glob("*.mat"), key=lambda p: p.stat().st_size)):
            if path.stem in done:
                continue
            program = load(path)
            if program.n_variables <= chosen.largest:
                row = {"program": path.stem, "limit": chosen.seconds}
                rows.write(json.dumps(row | measured(program, chosen.seconds)) + "\n")
                rows.flush()


def measured(program: QuadraticProgram, limit: float) -> dict[str, Any]:
    """Solve and verify one program."""
    size = [program.n_variables, program.n_inequalities, program.n_equalities]
    began = time.perf_counter()
    try:
        solution = qpsvm.solve(program, eps=EPS, time_limit=limit)
    except qpsvm.exceptions.QPSVMError as error:
        return {"size": size, "status": type(error).__name__, "passed": False, "note": str(error)}
    seconds = time.perf_counter() - began
    report = qpsvm.verify(program, solution, eps=EPS)
    return {
        "size": size,
        "status": solution.status.value,
        "passed": report.passed,
        "objective": report.objective,
        "relative_gap": report.relative_gap,
        "backend": solution.statistics.backend,
        "seconds": seconds,
        "note": "; ".join(report.notes),
    }


if __name__ == "__main__":
    main()
