"""Writes the tables of ``docs/polish.md`` from the rows of ``rows.jsonl``, between the two marks.

Usage: ``python benchmarks/polish/report.py``
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

ROWS = Path(__file__).with_name("rows.jsonl")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "polish.md"
BEGIN, END = "<!-- measured -->\n", "<!-- /measured -->\n"
ASKED = 1e-9

Row = dict[str, Any]


def main() -> None:
    """Rewrite the page."""
    PAGE.write_text(updated(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def updated(page: str) -> str:
    """The page with the tables that belong to the rows."""
    rows = [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()]
    head, rest = page.split(BEGIN)
    return head + BEGIN + "\n" + measured(rows) + "\n" + END + rest.split(END)[1]


def measured(rows: list[Row]) -> str:
    """Everything between the marks."""
    of_kind = {
        kind: [r for r in rows if r["kind"] == kind] for kind in ("libsvm", "osqp", "random", "far")
    }
    last = rows[-1]
    versions = ", ".join(f"{name} {v}" for name, v in last["versions"].items())
    parts = [
        f"{last['cores']} cores, BLAS threads: {last['blas_threads']}, Python {last['python']}, "
        f"{versions}.",
        *from_libsvm(of_kind["libsvm"]),
        *from_elsewhere("OSQP at `eps=1e-3`, its own polish off", of_kind["osqp"]),
        *from_elsewhere("random dual feasible points", of_kind["random"]),
        *from_elsewhere("random dual feasible points of large programs", of_kind["far"]),
    ]
    return "\n".join(parts)


def from_libsvm(rows: list[Row]) -> list[str]:
    """One line per set and C: medians over the pairs."""
    loads = [row["load"] for row in rows]
    lines = [
        "\n### From LIBSVM at `tol=1e-2`\n",
        "Medians; each pair is a default fit and a polish that follow one another, in processes of",
        f"their own. LIBSVM with `cache_size={rows[0]['cache_mb']}`; load average "
        f"{min(loads):.1f} to {max(loads):.1f}.\n",
        '| data (RBF, `gamma="scale"`) | pairs | LIBSVM, default (s) | its gap | polish (s) | '
        "gap before | gap after | factorisations | free | peak (MB), LIBSVM / polish |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for (name, C), group in grouped(rows, 2).items():
        fit, polish = ([row[part] for row in group] for part in ("default", "polish"))
        lines.append(
            f"| {name}, C={C:g} | {len(group)} | {middle(fit, 'seconds'):.2f} | "
            f"{middle(fit, 'gap'):.1e} | **{middle(polish, 'seconds'):.2f}** | "
            f"{middle(polish, 'gap_before'):.1e} | {max(p['gap_after'] for p in polish):.1e} | "
            f"{middle(polish, 'factorisations'):.0f} | {middle(polish, 'free'):.0f} | "
            f"{middle(fit, 'peak_mb'):.0f} / {middle(polish, 'peak_mb'):.0f} |"
        )
    return lines


def from_elsewhere(title: str, rows: list[Row]) -> list[str]:
    """One line per family: the worst of its rows."""
    reached = sum(row["polish"]["gap_after"] <= ASKED for row in rows)
    lines = [
        f"\n### From {title}\n",
        f"{reached} of {len(rows)} problems reach a certified gap of {ASKED:.0e}. Per family the "
        "worst of its",
        "kernels and forms, and the longest polish.\n",
        "| family | data | problems | gap before | gap after | factorisations | polish (s) |",
        "|---|---|---|---|---|---|---|",
    ]
    for (family, data), group in grouped(rows, 2).items():
        polish = [row["polish"] for row in group]
        lines.append(
            f"| `{family}` | {data} | {len(group)} | {max(p['gap_before'] for p in polish):.1e} | "
            f"{max(p['gap_after'] for p in polish):.1e} | "
            f"{max(p['factorisations'] for p in polish)} | "
            f"{max(p['seconds'] for p in polish):.2f} |"
        )
    return lines


def grouped(rows: list[Row], length: int) -> dict[tuple[Any, ...], list[Row]]:
    """By the first entries of their cells, in the order of the rows."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row["cell"][:length]), []).append(row)
    return groups


def middle(rows: list[Row], key: str) -> float:
    return median(row[key] for row in rows)


if __name__ == "__main__":
    main()
