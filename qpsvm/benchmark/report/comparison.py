"""Two runs side by side as blocks: what changed, and whether they rank alike."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from qpsvm.benchmark.compare import Comparison, ContestantChange, KindAgreement, TimeChange
from qpsvm.benchmark.metrics import Timing
from qpsvm.benchmark.report.tables import bracket, number_cell
from qpsvm.plotting.picture import count
from qpsvm.reports.blocks import Block, Cell, Document, Heading, Listing, Section, Sentences, Table
from qpsvm.reports.numbers import NOTHING, figure, value

LISTED = 20
"""Times and outcomes that are listed one by one, the largest changes."""


def comparison_document(comparisons: Sequence[Comparison], a: str, b: str) -> Document:
    """What ``compare`` found, target by target.

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
    """Whether the rankings agree within their uncertainty at every target; None if unknown."""
    found = [each.agrees for each in comparisons if each.agrees is not None]
    return all(found) if found else None


def verdict(comparisons: Sequence[Comparison]) -> str:
    """The whole in a sentence."""
    words = {
        True: "The rankings of both runs agree within their stated uncertainty.",
        False: "The rankings of the two runs differ by more than their stated uncertainty.",
        None: "Whether the rankings agree is unknown: repeats, or contestants in common, are "
        "missing.",
    }
    return words[agree(comparisons)]


# --- sections ------------------------------------------------------------------------------------


def _runs(found: Comparison) -> Iterator[Block]:
    if found.machine:
        items = tuple(
            (name, f"{value(before)}, then {value(after)}")
            for name, (before, after) in found.machine.items()
        )
        yield Listing("What differs between machines and versions", items)
    else:
        yield Sentences("meaning", "", ("Same machine, same versions.",))
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
    changed = sorted((change for change in found.times if change.differs), key=_size, reverse=True)
    if changed:
        yield _times_table(changed, key)


def _size(change: TimeChange) -> float:
    """Largest where only one run reached the gap."""
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


def _outcomes_table(found: Comparison) -> Table:
    rows = tuple(
        (
            Cell(change.contestant),
            Cell(str(change.instance)),
            Cell(f"{change.eps:g}", change.eps),
            Cell(change.before),
            Cell(change.after),
        )
        for change in found.outcomes[:LISTED]
    )
    return Table(
        key="outcomes",
        title="Outcomes that changed",
        caption=f"{len(rows)} of {len(found.outcomes):,}",
        headings=(
            Heading("Contestant"),
            Heading("Program"),
            Heading("Asked for", numeric=True),
            Heading("Before"),
            Heading("After"),
        ),
        bodies=(rows,),
    )


def _contestants_table(changes: tuple[ContestantChange, ...], key: str) -> Table:
    return Table(
        key=f"{key}-contestants",
        title="Contestants",
        caption="Geometric mean of seconds after over seconds before, with its 95% interval; "
        "programs on which the gap was reached after only, and before only",
        headings=(
            Heading("Contestant"),
            Heading("Version"),
            Heading("Ratio", numeric=True),
            Heading("Programs", numeric=True),
            Heading("Gained", numeric=True),
            Heading("Lost", numeric=True),
        ),
        bodies=(
            tuple(
                (
                    Cell(change.contestant),
                    Cell(_versions(change)),
                    Cell(_ratio(change), change.ratio),
                    number_cell(change.programs),
                    number_cell(change.gained),
                    number_cell(change.lost),
                )
                for change in changes
            ),
        ),
    )


def _versions(change: ContestantChange) -> str:
    if change.version_a == change.version_b:
        return change.version_a or NOTHING
    return f"{change.version_a or NOTHING}, then {change.version_b or NOTHING}"


def _ratio(change: ContestantChange) -> str:
    if math.isnan(change.ratio):
        return NOTHING
    return figure(change.ratio, 3) + bracket(change.low, change.high)


def _rankings_table(rankings: tuple[KindAgreement, ...], key: str) -> Table:
    words = {True: "agree", False: "disagree", None: "nothing to compare"}
    return Table(
        key=f"{key}-rankings",
        title="Rankings",
        caption="Kendall's tau is 1 for the same order; a pair in another order is explained if "
        "its difference is within the uncertainty of both runs",
        headings=(
            Heading("Kind of program"),
            Heading("Kendall's tau", numeric=True),
            Heading("Pairs", numeric=True),
            Heading("In another order", numeric=True),
            Heading("Unexplained", numeric=True),
            Heading("Within the uncertainty they"),
        ),
        bodies=(
            tuple(
                (
                    Cell(each.kind),
                    Cell(_known(each.agreement.tau), each.agreement.tau),
                    number_cell(len(each.agreement.pairs)),
                    number_cell(len(each.agreement.swapped)),
                    number_cell(len(each.agreement.unexplained)),
                    Cell(words[each.agreement.agrees]),
                )
                for each in rankings
            ),
        ),
    )


def _times_table(changes: Sequence[TimeChange], key: str) -> Table:
    rows = tuple(
        (
            Cell(change.contestant),
            Cell(str(change.instance)),
            _seconds(change.a),
            _seconds(change.b),
            Cell(_known(math.exp(change.log_ratio)), change.log_ratio),
        )
        for change in changes[:LISTED]
    )
    return Table(
        key=f"{key}-times",
        title="Times that changed by more than their uncertainty",
        caption=f"{len(rows)} of {len(changes):,}, the largest changes first",
        headings=(
            Heading("Contestant"),
            Heading("Program"),
            Heading("Seconds before", numeric=True),
            Heading("Seconds after", numeric=True),
            Heading("Ratio", numeric=True),
        ),
        bodies=(rows,),
    )


def _seconds(timing: Timing) -> Cell:
    text = figure(timing.seconds, 3) if timing.reached else timing.outcome
    return Cell(text, timing.seconds)


def _known(number: float) -> str:
    return figure(number, 3) if math.isfinite(number) else NOTHING
