"""Tables of the suites ``threads-kernel`` and ``threads-linear``: one thread beside two."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from benchmarks.cells import Instance
from benchmarks.rows import Row

ENGINES = ("active-set", "ipm")
LIBSVM = ("sklearn:SVC", "sklearn:SVR")

Runs = Mapping[tuple[str, int], list[Row]]
"""Repeats by contestant and number of threads."""


def by_threads(rows: Iterable[Row]) -> str:
    """Seconds of the engine with one thread and with two, and LIBSVM's default fit beside them."""
    programs: dict[Instance, dict[tuple[str, int], list[Row]]] = {}
    for row in rows:
        name = row.contestant.partition("(")[0]
        programs.setdefault(row.instance, {}).setdefault((name, row.cell.threads), []).append(row)
    lines = ["| program | one thread, s | two, s | two / one | gap | LIBSVM, s | its gap |"]
    lines[0] += " one / LIBSVM | two / LIBSVM |"
    lines.append("|---" * 9 + "|")
    ratios: dict[str, list[float]] = {"two / one": [], "one / LIBSVM": [], "two / LIBSVM": []}
    reached = [0, 0]
    for program, runs in sorted(programs.items()):
        one, two = (first(runs, ENGINES, threads) for threads in (1, 2))
        peer = first(runs, LIBSVM, 1)
        reached[0] += is_reached(one)
        reached[1] += is_reached(two)
        found = {
            "two / one": ratio(two, one),
            "one / LIBSVM": ratio(one, peer),
            "two / LIBSVM": ratio(two, peer),
        }
        for name, value in found.items():
            if value is not None:
                ratios[name].append(value)
        entries = [program, seconds(one), seconds(two), shown(found["two / one"]), gap(one)]
        entries += [seconds(peer), gap(peer), shown(found["one / LIBSVM"])]
        entries += [shown(found["two / LIBSVM"])]
        lines.append("| " + " | ".join(map(str, entries)) + " |")
    summary = [
        f"{name}: {np.exp(np.mean(np.log(values))):.2f} in the geometric mean of {len(values)} "
        f"programs, {max(values):.2f} at most"
        for name, values in ratios.items()
        if values
    ]
    return "\n".join(
        [
            f"Verified to the tolerance within the limit: {reached[0]} of {len(programs)} programs "
            f"with one thread, {reached[1]} with two. Ratios of seconds, "
            + "; ".join(summary)
            + ".",
            "",
            *lines,
        ]
    )


def first(runs: Runs, names: tuple[str, ...], threads: int) -> list[Row]:
    """Return the rows of the first of these contestants that has any with this many threads."""
    return next((runs[name, threads] for name in names if (name, threads) in runs), [])


def is_reached(repeats: list[Row]) -> bool:
    """Return whether the first run ended at a verified optimum."""
    return bool(repeats) and repeats[0].outcome == "optimal"


def has_time(repeats: list[Row]) -> bool:
    """Return whether the first run ended by itself."""
    return bool(repeats) and bool(np.isfinite(repeats[0].total_seconds))


def median(repeats: list[Row]) -> float:
    """The median of the seconds of all repeats."""
    return float(np.median([row.total_seconds for row in repeats]))


def ratio(over: list[Row], under: list[Row]) -> float | None:
    """Ratio of medians, where both ended by themselves."""
    return median(over) / median(under) if has_time(over) and has_time(under) else None


def shown(value: float | None) -> str:
    """A ratio with two digits after the point."""
    return "" if value is None else f"{value:.2f}"


def seconds(repeats: list[Row]) -> str:
    """Seconds, or how the run ended without any."""
    if not repeats:
        return ""
    return f"{median(repeats):.3g}" if has_time(repeats) else repeats[0].outcome


def gap(repeats: list[Row]) -> str:
    """The certified gap; with its own verdict where the tolerance was not verified."""
    if not has_time(repeats):
        return ""
    verdict = "" if is_reached(repeats) else f" ({repeats[0].outcome})"
    return f"{repeats[0].gap:.0e}{verdict}"
