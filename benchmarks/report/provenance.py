"""Origin of a store: machine, suite, and the command that measures it again."""

from __future__ import annotations

import json
from collections.abc import Iterator

from benchmarks.report.summary import Summary
from benchmarks.rows import plain
from qpsvm.reports.blocks import Listing, Listings
from qpsvm.reports.numbers import figure, value

HEADER = {"created": "Begun", "qpsvm": "qpsvm", "jobs": "Cells at once"}
"""Keys of a store's header, and their names in a report."""


def provenance(summary: Summary) -> Listings:
    """Return machine and measurement as names and values."""
    machine = dict(summary.results.header.get("machine", {}))
    if "memory" in machine:
        machine["memory"] = f"{machine['memory'] / 1e9:.1f} GB"
    return Listings(
        (
            Listing("Measurement", tuple(_measurement(summary))),
            Listing("Machine", tuple((name, value(entry)) for name, entry in machine.items())),
        )
    )


def _measurement(summary: Summary) -> Iterator[tuple[str, str]]:
    header, rows = summary.results.header, summary.results.rows
    cells = [row.cell for row in rows]
    yield "Command", command(summary)
    yield "Suite", summary.name
    for key, name in HEADER.items():
        if key in header:
            yield name, value(header[key])
    machines = {json.dumps(plain(row.machine)) for row in rows if row.machine}
    if len(machines) > 1:
        yield "Machines", f"{len(machines)}: their times are side by side here"
    yield "Threads", value(sorted({cell.threads for cell in cells}))
    yield "Time limit", _range([cell.time_limit for cell in cells], "s")
    yield "Memory limit", _range([cell.memory_limit / 1e9 for cell in cells], "GB")
    yield "Seeds", value(sorted({cell.seed for cell in cells}))
    yield "Repeats", f"up to {1 + max(cell.repeat for cell in cells)}"


def command(summary: Summary) -> str:
    """Return the command that measured the store."""
    header = summary.results.header
    return (
        str(header.get("command", "")) or f"python -m benchmarks run {summary.name} --store STORE"
    )


def _range(values: list[float], unit: str) -> str:
    low, high = min(values), max(values)
    return f"{figure(low)} {unit}" if low == high else f"{figure(low)} to {figure(high)} {unit}"
