"""The first table of the README from the rows of ``rows.jsonl``, and from nothing else.

Usage: ``python benchmarks/svc/report.py`` writes it into the README.
"""

from __future__ import annotations

import json
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROWS = HERE / "rows.jsonl"
README = HERE.parents[1] / "README.md"
BEGIN, END = "<!-- svc: gaps -->\n", "<!-- /svc: gaps -->\n"
COLUMNS = {
    "LIBSVM, tol=0.001": "LIBSVM, default `tol=1e-3`",
    "LIBSVM, tol=1e-10": "LIBSVM, `tol=1e-10`",
    "qpsvm": "qpsvm",
}


def main() -> None:
    """Write the table into the README."""
    README.write_text(filled(README.read_text(encoding="utf-8")), encoding="utf-8")


def filled(page: str) -> str:
    """A page with the table between its marks."""
    before, after = page.split(BEGIN)
    return before + BEGIN + table() + END + after.split(END)[1]


def table() -> str:
    """The last measurement of each C and contestant, as Markdown."""
    rows = [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()]
    gaps = {(row["C"], row["what"]): row["relative_gap"] for row in rows}
    lines = [
        f"| C | {' | '.join(COLUMNS.values())} |",
        "|---|" + "---|" * len(COLUMNS),
        *(
            f"| {C:g} | {' | '.join(_power(gaps[C, what]) for what in COLUMNS)} |"
            for C in dict.fromkeys(row["C"] for row in rows)
        ),
    ]
    return "\n".join(lines) + "\n"


def _power(gap: float) -> str:
    """Two digits: ``9.7e-5``."""
    digits, exponent = f"{gap:.1e}".split("e")
    return f"{digits}e{int(exponent)}"


if __name__ == "__main__":
    main()
