"""Make the document of a report from a summary."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence

from benchmarks.metrics.bounds import Contradiction
from benchmarks.metrics.outcomes import FalseClaim
from benchmarks.report.summary import Standing, Summary
from benchmarks.report.tables import (
    claims_table,
    contestants_table,
    means_table,
    outcomes_table,
    profile_table,
    scaling_table,
    times_table,
    wins_table,
)
from benchmarks.rows import OUTCOMES, Row, plain
from qpsvm.reports.blocks import Block, Document, Listing, Listings, Section, Sentences
from qpsvm.reports.numbers import count, figure, value

LISTED = 50
"""Refuted claims that are listed one by one, the worst of them."""

HOW = (
    "Every answer is measured by the same verifier, outside of the solver. The certified gap of an "
    "answer is its distance to the best lower bound that anybody's multipliers prove for that "
    "program, relative to the objective.",
    "Every contestant sweeps its own tolerance; the time to a gap is the shortest of those that "
    "reached it in every repeat, and the median of these repeats. Seconds are wall clock from the "
    "samples to the answer.",
    "Programs of different families, intercepts or kernels are never averaged, and a mean is about "
    "the programs that all of its contestants attempted. What was not reached counts as its time "
    "limit, so a mean with failures is a lower bound.",
)

NONE_REACHED = "Nobody reached a certified gap of {:g}: the outcomes say what became of every cell."
"""The sentence that replaces a ranking when no contestant reached the target accuracy."""

PLACE = re.compile(r'\s*File "(.+)", line (\d+), in (.+)')
"""A line of a Python traceback with a place in a file."""

HEADER = {"created": "Begun", "qpsvm": "qpsvm", "jobs": "Cells at once"}
"""Keys of a store's header, and their names in a report."""


def document(summary: Summary, *, listed: int = LISTED, detailed: bool = True) -> Document:
    """Return the document of a summary.

    Parameters
    ----------
    summary : Summary
        As ``summarize`` returns it.
    listed : int
        Refuted claims that are listed one by one.
    detailed : bool
        With times program by program, wins and losses, profiles and scaling.
    """
    sections = [
        Section("claims", "Claims that were refuted", None, tuple(_claims(summary, listed))),
        Section("outcomes", "Outcomes", None, tuple(_outcomes(summary, listed))),
        *(
            _target(summary, target, f"target-{i + 1}", detailed)
            for i, target in enumerate(summary.targets)
        ),
    ]
    if detailed:
        who = contestants_table(summary.results.rows)
        sections += [
            Section("how", "How it was measured", None, (Sentences("notes", "", HOW), who)),
        ]
    sections.append(Section("where", "Machine and command", None, (_provenance(summary),)))
    return Document(
        title=f"Benchmark {summary.name}",
        subtitle=str(summary.results.header.get("suite", {}).get("description", "")),
        passed=None,
        verdict=verdict(summary),
        sections=tuple(sections),
        footer=(),
    )


def verdict(summary: Summary) -> str:
    """Return the result of the run in a few sentences."""
    rows = summary.results.rows
    who, programs = {row.contestant for row in rows}, {row.instance for row in rows}
    size = (
        f"{count(len(rows), 'measurement')} of {count(len(who), 'contestant')} on "
        f"{count(len(programs), 'program')}."
    )
    unfinished = (
        f" Unfinished: {count(summary.missing, 'cell')} of the suite still to be measured, with "
        "--resume."
        if summary.missing
        else ""
    )
    return f"{size}{unfinished} {_refuted(summary.claims)}"


def _refuted(claims: tuple[FalseClaim, ...]) -> str:
    if not claims:
        return "No claim of an optimum was refuted."
    names = ", ".join(sorted({claim.contestant for claim in claims}))
    were = "was" if len(claims) == 1 else "were"
    harmless = sum(claim.machine_is_optimal for claim in claims)
    claimed = f"{count(len(claims), 'claim')} by {names} {were} refuted"
    if not harmless:
        return f"{claimed}."
    which = "" if harmless == len(claims) else f"in {harmless:,} of them "
    return f"{claimed}; {which}only {'its' if len(claims) == 1 else 'the'} multipliers were wrong."


# --- sections ------------------------------------------------------------------------------------


def _claims(summary: Summary, listed: int) -> Iterator[Block]:
    claims = summary.claims
    yield Sentences("meaning", "", (_refuted(claims),))
    if claims:
        yield claims_table(claims, listed)
    if summary.contradictions:
        found = tuple(map(_contradiction, summary.contradictions))
        yield Sentences("notes", "Proofs that contradict each other: one of them is wrong", found)


def _contradiction(found: Contradiction) -> str:
    if math.isinf(found.dual):
        return (
            f"{found.instance}: {found.upper} has an optimum, {found.primal:.12g}, and "
            f"{found.lower} proves that there is none; nobody is timed on it"
        )
    return (
        f"{found.instance}: the objective of {found.upper}, {found.primal:.12g}, is below the "
        f"lower bound of {found.lower}, {found.dual:.12g}"
    )


def _outcomes(summary: Summary, listed: int) -> Iterator[Block]:
    yield outcomes_table(summary.outcomes)
    words = tuple((outcome, OUTCOMES.get(outcome, "")) for outcome in summary.outcomes.outcomes)
    yield Listing("What the outcomes mean", words)
    if summary.without_bound:
        yield Sentences(
            "notes",
            "Programs without a lower bound: no answer to them can be measured",
            tuple(map(str, summary.without_bound)),
        )
    yield from _failures(summary.results.rows, listed)


def _target(summary: Summary, target: float, key: str, detailed: bool) -> Section:
    standings = summary.at(target)
    left_out = tuple(
        f"{who} is not in the means of {standing.kind}: {why}"
        for standing in standings
        for who, why in standing.ranking.table.left_out.items()
    )
    blocks: list[Block] = []
    if not any(rank.solved for standing in standings for rank in standing.ranking.ranks):
        blocks.append(Sentences("meaning", "", (NONE_REACHED.format(target),)))
    if any(standing.ranking.ranks for standing in standings):
        blocks.append(means_table(standings, key, detailed=detailed))
    if left_out:
        blocks.append(Sentences("notes", "Left out of the means", left_out))
    if detailed and any(fit.points for fit in summary.fits[target]):
        blocks.append(scaling_table(summary.fits[target], key))
    return Section(
        key=key,
        title=f"To a certified gap of {target:g}",
        passed=None,
        blocks=tuple(blocks),
        sections=tuple(
            Section(
                key=f"{key}-{i + 1}",
                title=f"{standing.kind}: certified gap {target:g}",
                passed=None,
                blocks=tuple(_details(standing, f"{key}-{i + 1}")),
            )
            for i, standing in enumerate(standings)
        )
        if detailed
        else (),
    )


def _details(standing: Standing, key: str) -> Iterator[Block]:
    yield times_table(standing, key)
    yield wins_table(standing, key)
    if standing.profile.instances:
        yield profile_table(standing, key)
        if standing.profile.reversed_pairs:
            pairs = tuple(
                f"{above} is nowhere below {below}, and yet slower on more programs than it is "
                "faster"
                for above, below in standing.profile.reversed_pairs
            )
            yield Sentences("notes", "What the profile hides", pairs)


# --- tracebacks -----------------------------------------------------------------------------------


def _failures(rows: Sequence[Row], listed: int) -> Iterator[Block]:
    """Yield every distinct traceback with the number of its cells.

    Parameters
    ----------
    rows : sequence of Row
        Rows of a store.
    listed : int
        Exceptions that are shown, those of the most cells.
    """
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        if row.traceback:
            groups.setdefault((row.contestant, row.message, row.traceback), []).append(row)
    found = sorted(groups.items(), key=lambda item: -len(item[1]))
    for (who, message, traceback), own in found[:listed]:
        where = f"{count(len(own), 'cell')}, the first of them {own[0].instance}"
        yield Listing(f"{who} raised {message} ({where})", tuple(_frames(traceback)))
    if len(found) > listed:
        left_out = f"{count(len(found) - listed, 'exception')} more in the store's rows"
        yield Sentences("notes", "", (left_out,))


def _frames(traceback: str) -> Iterator[tuple[str, str]]:
    """Yield place and code of every call; each line of text that is no Python traceback."""
    place = ""
    for line in traceback.splitlines():
        match = PLACE.fullmatch(line)
        if match:
            if place:  # its code is not known
                yield place, ""
            place = f"{match[1]}:{match[2]}, {match[3]}"
        elif line.strip() and not set(line.strip()) <= set("~^"):
            yield place, line.strip()
            place = ""
    if place:
        yield place, ""


# --- machine and command --------------------------------------------------------------------------


def _provenance(summary: Summary) -> Listings:
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
    repeated = f"python -m benchmarks run {summary.name} --store STORE"
    yield "Command", str(header.get("command", "")) or repeated
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


def _range(values: list[float], unit: str) -> str:
    low, high = min(values), max(values)
    return f"{figure(low)} {unit}" if low == high else f"{figure(low)} to {figure(high)} {unit}"
