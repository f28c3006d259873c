"""Comparison of two runs as a document: changes, and whether the rankings agree."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from benchmarks.cells import short_name
from benchmarks.compare import Comparison, ContestantChange, OutcomeChange, TimeChange
from benchmarks.metrics.agreement import Agreement
from benchmarks.metrics.times import Timing
from benchmarks.report.tables import bracket, short
from qpsvm.reports.blocks import (
    Block,
    Cell,
    Document,
    Listing,
    Section,
    Sentences,
    Table,
    TableColumn,
    numbers,
    words,
)
from qpsvm.reports.numbers import NOTHING, count, figure, residual, value

LISTED = 20
"""Times and outcomes that are listed one by one, the largest changes."""


def comparison_document(comparisons: Sequence[Comparison], a: str, b: str) -> Document:
    """Return the document of a comparison, target by target.

    Parameters
    ----------
    comparisons : sequence of Comparison
        Of the same two runs, at one target or several.
    a, b : str
        Names of the runs.
    """
    sections = (
        Section("runs", "The two runs", None, tuple(_runs(comparisons[0]))),
        *(
            Section(
                key=f"target-{i + 1}",
                title=f"To a certified gap of {found.target:g}",
                passed=None,
                blocks=tuple(_target(found, f"target-{i + 1}")),
            )
            for i, found in enumerate(comparisons)
        ),
    )
    return Document(
        title=f"{a} and {b}",
        subtitle=f"Before: {a}. After: {b}. A ratio above 1 is slower than before.",
        passed=None,
        verdict=verdict(comparisons),
        sections=sections,
        footer=(),
    )


def agree(comparisons: Sequence[Comparison]) -> bool | None:
    """Return whether the rankings agree within their uncertainty at every target.

    None if that is unknown at any target, and they differ at none.
    """
    found = {each.agrees for each in comparisons}
    if False in found:
        return False
    return True if found == {True} else None


def verdict(comparisons: Sequence[Comparison]) -> str:
    """Return the result of the comparison in a sentence."""
    words = {
        True: "The rankings of both runs agree within their stated uncertainty.",
        False: "The rankings of the two runs differ by more than their stated uncertainty.",
        None: "Whether the rankings agree is unknown: repeats, or contestants in common, are "
        "missing",
    }
    answer = agree(comparisons)
    if answer is not None:
        return words[answer]
    gaps = ", ".join(f"{each.target:g}" for each in comparisons if each.agrees is None)
    return f"{words[None]} to a certified gap of {gaps}."


# --- sections ------------------------------------------------------------------------------------


def _runs(found: Comparison) -> Iterator[Block]:
    if found.conditions:
        items = tuple(
            (name, f"{value(before)}, then {value(after)}")
            for name, (before, after) in found.conditions.items()
        )
        yield Listing("What differs between machines, versions, threads and limits", items)
    else:
        yield Sentences("meaning", "", ("Same machine, versions, threads and limits.",))
    notes = [
        f"{instance}: other data under the same name, left out" for instance in found.other_programs
    ]
    for run, columns in (("before", found.only_a), ("after", found.only_b)):
        notes += [f"only {run}: {who} on {instance}" for instance, who in columns[:LISTED]]
        if len(columns) > LISTED:
            notes.append(f"only {run}: {len(columns) - LISTED:,} more")
    if notes:
        yield Sentences("notes", "Not in both", tuple(notes))
    if found.outcomes:
        yield _outcomes_table(found)


def _target(found: Comparison, key: str) -> Iterator[Block]:
    yield Sentences("meaning", "", tuple(_sentences(found)))
    yield _contestants_table(found.contestants, key)
    if found.rankings:
        yield _rankings_table(found.rankings, key)
    changed = sorted(
        (change for change in found.times if change.differs), key=_magnitude, reverse=True
    )
    if changed:
        yield _times_table(changed, key)


def _magnitude(change: TimeChange) -> float:
    """Magnitude of a change of time, ``|log ratio|``; infinite if only one run reached the gap."""
    return abs(change.log_ratio) if change.a.reached and change.b.reached else math.inf


def _sentences(found: Comparison) -> Iterator[str]:
    yield f"{count(len(found.times), 'time')} in both runs."
    if math.isfinite(found.speed):
        yield f"Median of the ratios: {figure(found.speed, 3)}."
    if math.isfinite(found.within):
        yield (
            f"{100.0 * found.within:.0f} % of the times are within their uncertainty; 95 % would "
            "be if nothing changed."
        )
    if math.isfinite(found.excess):
        yield (
            f"Times differ by {figure(found.excess, 3)} times their stated uncertainty (1 if it is "
            "right and nothing changed)."
        )


def _outcomes_table(found: Comparison) -> Table[OutcomeChange]:
    listed = found.outcomes[:LISTED]
    return Table(
        [listed],
        [
            words("Contestant", lambda change: short_name(change.contestant)),
            words("Program", lambda change: str(change.instance)),
            numbers("Asked for", lambda change: change.eps, residual),
            words("Before", lambda change: change.before),
            words("After", lambda change: change.after),
        ],
        key="outcomes",
        title="Outcomes that changed",
        caption=f"{len(listed)} of {len(found.outcomes):,}",
        sortable=False,
    )


def _contestants_table(changes: tuple[ContestantChange, ...], key: str) -> Table[ContestantChange]:
    return Table(
        [changes],
        [
            words("Contestant", lambda change: short_name(change.contestant)),
            words("Version", _versions),
            TableColumn("Ratio", _ratio_cell, numeric=True),
            numbers("Programs", lambda change: change.programs),
            numbers("Gained", lambda change: change.gained),
            numbers("Lost", lambda change: change.lost),
        ],
        key=f"{key}-contestants",
        title="Contestants",
        caption="Geometric mean of seconds after over seconds before, of programs of all kinds "
        "together, with its 95% interval; programs on which the gap was reached after only, and "
        "before only",
        sortable=False,
    )


def _versions(change: ContestantChange) -> str:
    if change.version_a == change.version_b:
        return change.version_a or NOTHING
    return f"{change.version_a or NOTHING}, then {change.version_b or NOTHING}"


def _ratio_cell(change: ContestantChange) -> Cell:
    return Cell(short(change.ratio) + bracket(change.low, change.high), change.ratio)


def _rankings_table(rankings: Mapping[str, Agreement], key: str) -> Table[tuple[str, Agreement]]:
    answers = {True: "agree", False: "disagree", None: "nothing to compare"}
    return Table(
        [rankings.items()],
        [
            words("Kind of program", lambda each: each[0]),
            numbers("Kendall's tau", lambda each: each[1].tau, short),
            numbers("Pairs", lambda each: len(each[1].pairs)),
            numbers("In another order", lambda each: len(each[1].swapped)),
            numbers("Unexplained", lambda each: len(each[1].unexplained)),
            words("Within the uncertainty they", lambda each: answers[each[1].agrees]),
        ],
        key=f"{key}-rankings",
        title="Rankings",
        caption="Kendall's tau is 1 for the same order; a pair in another order is explained if "
        "its difference is within the uncertainty of both runs",
        sortable=False,
    )


def _times_table(changes: Sequence[TimeChange], key: str) -> Table[TimeChange]:
    listed = changes[:LISTED]
    return Table(
        [listed],
        [
            words("Contestant", lambda change: short_name(change.contestant)),
            words("Program", lambda change: str(change.instance)),
            TableColumn("Seconds before", lambda change: _seconds(change.a), numeric=True),
            TableColumn("Seconds after", lambda change: _seconds(change.b), numeric=True),
            numbers("Ratio", lambda change: math.exp(change.log_ratio), short),
        ],
        key=f"{key}-times",
        title="Times that changed by more than their uncertainty",
        caption=f"{len(listed)} of {len(changes):,}, the largest changes first",
        sortable=False,
    )


def _seconds(timing: Timing) -> Cell:
    return Cell(short(timing.seconds) if timing.reached else timing.outcome, timing.seconds)
