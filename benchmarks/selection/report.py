"""Make README.md from rows.jsonl: ``python -m benchmarks.selection.report``."""

from __future__ import annotations

import json
from pathlib import Path

HERE = Path(__file__).parent

HEAD = """# Leave-one-out

`measure.py` times `qpsvm.selection.leave_one_out` beside one `qpsvm.solve` of the same problem (RBF
kernel, `gamma="scale"`, one thread; processor seconds, the best of three runs), and compares 40
left-out predictions with refits. Rows: `rows.jsonl`.

| set | n | C | support vectors | one solve, s | leave-one-out, s | solves | by certificate |
by downdate | by refit | decided | labels that differ |
|---|---|---|---|---|---|---|---|---|---|---|---|
""".replace("certificate |\nby", "certificate | by")


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
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    (HERE / "README.md").write_text(page(), encoding="utf-8")
