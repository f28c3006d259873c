"""Make README.md from rows.jsonl and search.jsonl: ``python -m benchmarks.selection.report``."""

from __future__ import annotations

import json
from pathlib import Path

HERE = Path(__file__).parent

HEAD = """# Leave-one-out

`measure.py` times `qpsvm.selection.leave_one_out` beside one `qpsvm.solve` of the same problem (RBF
kernel, `gamma="scale"`, one thread; processor seconds, the best of three runs, on a machine with
other work), and compares 20 left-out predictions with refits. The solve goes
[the short way](../../docs/solving.md#the-short-way). Rows: `rows.jsonl`.

| set | n | C | support vectors | one solve, s | leave-one-out, s | solves | by certificate |
by downdate | by refit | decided | labels that differ |
|---|---|---|---|---|---|---|---|---|---|---|---|
""".replace("certificate |\nby", "certificate | by")

SEARCHES = """
# Searches

`search.py` times `SVCSearch` beside `GridSearchCV(SVC())`, one after the other: the same 5
stratified folds, 20 C (2^-5 ... 2^14), 5 gamma (1/16 ... 16 times "scale"), two jobs, one thread
each. Every machine of `SVCSearch` is certified; those of `SVC` have its tolerance of 1e-3, so that
some scores differ where a label is at the boundary. Processor seconds are of all threads and
processes; seconds of the clock were taken on two cores that had other work (load: of the minute
before the row was written). Rows: `search.jsonl`.

| set | n | load | ours, processor s | theirs | ratio | ours, clock s | theirs | ratio | \
same best | scores that differ, of 100 | proven labels | proven or equal verdicts |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
"""


def searches() -> str:
    """The table of searches."""
    lines = []
    stored = (HERE / "search.jsonl").read_text(encoding="utf-8").splitlines()
    last = {(row["set"], row["n"]): row for row in map(json.loads, stored)}
    for row in last.values():
        times = []
        for kind in ("processor", "seconds"):
            own, other = row[kind], row.get(f"sklearn {kind}")
            times += [
                f"{own:.1f}",
                *(("", "") if other is None else (f"{other:.1f}", f"{own / other:.2f}")),
            ]
        same = row.get("sklearn best")
        cells = [
            row["set"],
            row["n"],
            f"{row['load']:.0f}",
            *times,
            "" if same is None else "yes" if same == row["best"] else "no",
            row.get("scores that differ", ""),
            f"{row['proven labels']:.2%}",
            f"{row['proven candidates']:.0%}",
        ]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return SEARCHES + "\n".join(lines) + "\n"


def page() -> str:
    """The page as text."""
    lines = []
    for line in (HERE / "rows.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        shares, differ = row["shares"], row["labels that differ"]
        cells = [
            row["set"],
            row["n"],
            f"{row['C']:g}",
            row["n_support"],
            f"{row['solve']:.3f}",
            f"{row['leave_one_out']:.2f}",
            f"{row['solves']:.1f}",
            *(f"{shares[how]:.0%}" for how in ("certificate", "downdate", "refit")),
            f"{row['decided']:.0%}",
            "" if differ is None else differ,
        ]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return HEAD + "\n".join(lines) + "\n" + searches()


if __name__ == "__main__":
    (HERE / "README.md").write_text(page(), encoding="utf-8")
