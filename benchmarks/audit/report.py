"""The table of ``docs/audit.md`` from the rows of ``rows.jsonl``, and from nothing else.

Usage: ``python benchmarks/audit/report.py``
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

ROWS = Path(__file__).with_name("rows.jsonl")


def main() -> None:
    """Print the table."""
    rows = [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()]
    last = rows[-1]
    versions = ", ".join(f"{name} {number}" for name, number in last["versions"].items())
    print("| set | n x d | support vectors | K v, s | audit, s | ratio | K v, MB | audit, MB |")
    print("|---|---|---|---|---|---|---|---|")
    for name in dict.fromkeys(row["set"] for row in rows):
        own = [row for row in rows if row["set"] == name]
        seconds = {what: _median(own, what, "seconds") for what in ("product", "audit")}
        size = {what: _median(own, what, "peak_bytes") / 1e6 for what in ("product", "audit")}
        print(
            f"| {name} | {own[0]['n']} x {own[0]['features']} | {own[0]['support']} | "
            f"{seconds['product']:.2f} | {seconds['audit']:.2f} | "
            f"{seconds['audit'] / seconds['product']:.2f} | {size['product']:.0f} | "
            f"{size['audit']:.0f} |"
        )
    print(f"\n{last['cores']} cores, Python {last['python']}, {versions}.")


def _median(rows: list[dict[str, Any]], what: str, key: str) -> float:
    return median(row[key] for row in rows if row["what"] == what and key in row)


if __name__ == "__main__":
    main()
