"""``docs/maros_meszaros.md`` from ``rows.jsonl`` and ``contradictions.json``, and nothing else.

Usage: ``python benchmarks/maros_meszaros/report.py > docs/maros_meszaros.md``
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

HEAD = """# The programs of Maros and Meszaros

The test set of Maros and Meszaros ("A repository of convex quadratic programming problems",
*Optimization Methods and Software* 11, 1999) has programs from many fields: degenerate, badly
scaled, with thousands of rows of which many follow from others. None is a support vector machine.
Here they show what `qpsvm.solve` and `qpsvm.verify` do with programs of other kinds: every one with
at most {largest:,} variables is solved by `"auto"` and verified at `eps={eps:g}`, which asks for a
certified bound on the distance from the optimum.

**{passed} of {total} pass.** {rest}

## What does not pass

| program | variables | rows | reason |
|---|---|---|---|
"""

CONTRADICTION = """
A program whose rows contradict each other has no feasible point, and so no optimum. The
contradiction is as small as the rounding of the numbers in the file: with the decimal numbers that
were meant, the program has one. `contradictions.json` has multipliers for the rows and bounds of
each. Multiplied and added, the left-hand sides vanish and the right-hand side is below zero, in
rational numbers (Farkas' lemma). The script that checks it is independent of the verifier:

```sh
python -m benchmarks.maros_meszaros.contradictions FOLDER
```
"""

TABLE = """
## All programs

Seconds are those of one solve, verifier included, on one core; the certified gap is relative to the
objective.

| program | variables | inequalities | equalities | backend | seconds | certified gap |
|---|---|---|---|---|---|---|
"""

TAIL = """
## Once more

The files, in MATLAB's format, are part of the source distribution of
[ProxSuite](https://github.com/Simple-Robotics/proxsuite) 0.8.0: `test/data/maros_meszaros_data`.

```sh
python -m benchmarks.maros_meszaros.measure FOLDER --seconds {limit:g}
python benchmarks/maros_meszaros/report.py > docs/maros_meszaros.md
```
"""


def main() -> None:
    """Print the page."""
    lines = (HERE / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    rows = sorted((json.loads(line) for line in lines), key=lambda row: str(row["program"]))
    proven = json.loads((HERE / "contradictions.json").read_text(encoding="utf-8"))
    failed = [row for row in rows if not row["passed"]]
    print(_head(rows, failed, proven), end="")
    for row in failed:
        print(_cells(row, _reason(row, proven)))
    print(CONTRADICTION, end="")
    print(TABLE, end="")
    for row in rows:
        if row["passed"]:
            _, inequalities, equalities = row["size"]
            gap = f"{row['relative_gap']:.1e}"
            backend = f"`{row['backend']}`"
            cells = (inequalities, equalities, backend, f"{row['seconds']:.2g}", gap)
            print(f"| {row['program']} | {row['size'][0]} | " + " | ".join(map(str, cells)) + " |")
    print(TAIL.format(limit=rows[0]["limit"]), end="")


def _head(rows: list[dict[str, Any]], failed: list[dict[str, Any]], proven: Any) -> str:
    without = [row for row in failed if row["program"] in proven or _is_not_convex(row)]
    rest = "The others have no optimum as they are stored."
    if len(without) < len(failed):
        rest = f"{len(without)} of the others have no optimum as they are stored."
    return HEAD.format(
        largest=4000, eps=1e-6, passed=len(rows) - len(failed), total=len(rows), rest=rest
    )


def _is_not_convex(row: dict[str, Any]) -> bool:
    return bool(row["status"] == "NotPositiveSemidefiniteError")


def _reason(row: dict[str, Any], proven: Any) -> str:
    if _is_not_convex(row):
        return "P has a negative eigenvalue: the program is not convex"
    if row["program"] in proven:
        return f"{len(proven[row['program']])} of its rows and bounds contradict each other"
    return f"{row['status']}: {row['note']}"


def _cells(row: dict[str, Any], reason: str) -> str:
    n, inequalities, equalities = row["size"]
    return f"| {row['program']} | {n} | {inequalities + equalities} | {reason} |"


if __name__ == "__main__":
    main()
