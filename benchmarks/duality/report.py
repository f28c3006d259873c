"""``docs/duality.md`` from the rows of ``rows.jsonl``, and from nothing else.

Usage: ``python benchmarks/duality/report.py > docs/duality.md``
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROWS = Path(__file__).with_name("rows.jsonl")

HEAD = """# Strong duality, measured

Primal and dual of every family are built separately and solved by different backends at `eps=1e-8`.
The certificate of each answer is an interval that contains the optimum. *gap*: certified relative
duality gap. *worst*: the worst check of the verifier in units of `eps` (KKT residuals, gap, every
sample; at most 1e-8 passes). *seconds*: including verification, polish and escalation.

Made by `benchmarks/duality/measure.py` and `report.py`; the raw rows, one per solve, are in
`benchmarks/duality/rows.jsonl`.
"""


def main() -> None:
    """Print the page."""
    rows = [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()]
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row["cell"][1:4]), []).append(row)
    last = rows[-1]
    versions = ", ".join(f"{name} {v}" for name, v in last["versions"].items())
    passed = sum(bool(row.get("passed")) for row in rows)
    print(HEAD)
    print(f"{last['cores']} cores, Python {last['python']}, {versions}.\n")
    best = [min(gaps) if (gaps := _gaps(group, form)) else float("inf")
            for group in groups.values() for form in ("primal", "dual")]  # fmt: skip
    certified = sum(gap <= 1e-8 for gap in best)
    apart = [spread for group in groups.values() if (spread := _spread(group)) is not None]
    print(f"- {certified} of {len(best)} programs (problem x form) certified to a gap of 1e-8.")
    print(f"- {passed} of {len(rows)} solves passed every check at 1e-8; the failures follow.")
    print(f"- Largest spread of the passing answers to one problem: {max(apart):.1e}.\n")
    failures = [row for row in rows if not row.get("passed")]
    if failures:
        print("## Solves that did not pass\n")
        print("| family | data | kernel | form | backend | status | gap | worst | seconds |")
        print("|---|---|---|---|---|---|---|---|---|")
        for row in failures:
            _, family, data, kernel, form, backend = row["cell"]
            print(
                f"| `{family}` | {data} | {kernel} | {form} | {backend} | {row['status']} | "
                f"{_figure(row.get('gap'))} | {_figure(row.get('worst'))} | {row['seconds']:.2f} |"
            )
        print()
    print("## Family by family\n")
    print("Over all data sets and kernels: the largest gap, the worst check, the total seconds.\n")
    print("| family | form | backend | problems | gap | worst | seconds |")
    print("|---|---|---|---|---|---|---|")
    cells: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in rows:
        _, family, _, _, form, backend = row["cell"]
        cells.setdefault((family, form, backend), []).append(row)
    for (family, form, backend), group in cells.items():
        good = [row for row in group if row.get("passed")]
        print(
            f"| `{family}` | {form} | {backend} | {len(good)} of {len(group)} | "
            f"{_figure(max((row['gap'] for row in good), default=None))} | "
            f"{_figure(max((row['worst'] for row in good), default=None))} | "
            f"{sum(row['seconds'] for row in group):.2f} |"
        )


def _gaps(group: list[dict[str, Any]], form: str) -> list[float]:
    return [row["gap"] for row in group if row["cell"][4] == form and row.get("passed")]


def _spread(group: list[dict[str, Any]]) -> float | None:
    """How far the passing answers lie apart, relative to the objective."""
    values = [row["primal_objective"] for row in group if row.get("passed")]
    if len(values) < 2:
        return None
    return (max(values) - min(values)) / max(abs(values[0]), 1e-300)


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.1e}"


if __name__ == "__main__":
    main()
