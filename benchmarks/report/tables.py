"""The tables of a report, and how their entries are written."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.cells import Instance, short_name
from benchmarks.metrics.bounds import is_reference
from benchmarks.metrics.outcomes import FalseClaim, OutcomeTable
from benchmarks.metrics.rankings import SHIFT, Rank
from benchmarks.metrics.scaling import Fit
from benchmarks.metrics.times import NO_BOUND, Timing
from benchmarks.report.summary import Loss, Standing
from benchmarks.rows import Row
from qpsvm.reports.blocks import Cell, Table, TableColumn, numbers, words
from qpsvm.reports.numbers import NOTHING, figure, residual, value

FACTORS = (1.0, 2.0, 5.0, 10.0, 100.0, math.inf)
"""Multiples of the fastest time at which tables show a performance profile."""


def claims_table(claims: tuple[FalseClaim, ...], listed: int) -> Table[FalseClaim]:
    """Table of refuted claims, the worst first."""
    all_of_them = len(claims) <= listed
    shown = "All of them" if all_of_them else f"{listed} of {len(claims):,}"
    return Table(
        [claims[:listed]],
        [
            words("Contestant", lambda claim: short_name(claim.contestant)),
            words("Outcome", _claimed),
            words("Program", lambda claim: str(claim.instance)),
            numbers("Claimed", lambda claim: claim.eps, residual),
            numbers("Certified gap", lambda claim: claim.gap, residual),
            words("What the verifier found", lambda claim: claim.message),
        ],
        key="claims-table",
        caption=f"{shown}, the furthest from what was claimed first",
    )


def _claimed(claim: FalseClaim) -> str:
    return claim.outcome + ", multipliers only" * claim.machine_is_optimal


def outcomes_table(outcomes: OutcomeTable) -> Table[str]:
    """Table of how often each contestant had each outcome."""

    def count_of(outcome: str) -> TableColumn[str]:
        return numbers(outcome, lambda who: outcomes.counts[who].get(outcome, 0))

    return Table(
        [outcomes.contestants],
        [
            words("Contestant", short_name),
            *map(count_of, outcomes.outcomes),
            numbers("repeats disagree", lambda who: outcomes.unsteady[who]),
        ],
        key="outcomes-table",
        caption="Cells, that is program and accuracy asked for, by their outcome; where repeats "
        "disagree the worst of them counts",
    )


def means_table(standings: Sequence[Standing], key: str, *, detailed: bool) -> Table[_Ranked]:
    """Table of places and shifted geometric means by kind; two columns more if detailed."""
    columns: tuple[TableColumn[_Ranked], ...] = (
        words("Contestant", lambda row: short_name(row.rank.contestant)),
        words("Kind of program", lambda row: row.kind),
        TableColumn("Place", lambda row: _place_cell(row.rank), numeric=True),
        TableColumn("Seconds", lambda row: _mean_cell(row.rank), numeric=True),
        numbers("Reached", lambda row: row.rank.solved),
        numbers("Failed", lambda row: row.rank.failed),
        TableColumn(
            "Furthest behind", lambda row: _loss_cell(row.loss, row.rank.solved), numeric=True
        ),
        words("Where, and who was fastest", lambda row: _where(row.loss)),
        TableColumn(
            "Other programs",
            lambda row: interval(row.rank.seconds.low, row.rank.seconds.high),
            numeric=True,
        ),
    )
    return Table(
        [
            [_Ranked(each.kind, r, each.losses.get(r.contestant)) for r in each.ranking.ranks]
            for each in standings
            if each.ranking.ranks
        ],
        columns if detailed else columns[:-2],
        key=f"{key}-means",
        title="Shifted geometric means",
        caption=f"Seconds, shifted by {SHIFT:g} s, on the programs in common; in brackets the 95% "
        "interval over other runs" + ", in a column of its own over other programs" * detailed,
    )


class _Ranked(NamedTuple):
    """A contestant on programs of one kind."""

    kind: str
    rank: Rank
    loss: Loss | None


def _place_cell(rank: Rank) -> Cell:
    place = rank.place
    if not rank.solved:
        return Cell(NOTHING, math.inf)
    return Cell(figure(place.value, 3) + bracket(place.run_low, place.run_high), place.value)


def _mean_cell(rank: Rank) -> Cell:
    mean = rank.seconds
    bound = "> " if rank.failed else ""
    text = f"{bound}{figure(mean.value, 3)}{bracket(mean.run_low, mean.run_high)}"
    return Cell(text, mean.value)


def _loss_cell(loss: Loss | None, solved: int) -> Cell:
    if loss is None:
        return Cell("never", 1.0) if solved else Cell(NOTHING, math.inf)
    text = f"{figure(loss.factor, 3)} times" if math.isfinite(loss.factor) else loss.outcome
    return Cell(text, loss.factor)


def _where(loss: Loss | None) -> str:
    return NOTHING if loss is None else f"{loss.instance}: {loss.winner}"


def times_table(standing: Standing, key: str) -> Table[Instance]:
    """Table of seconds to the gap, program by program."""

    def time_of(who: str) -> TableColumn[Instance]:
        return TableColumn(
            short_name(who), lambda of: time_cell(standing.times.get((of, who))), numeric=True
        )

    return Table(
        [standing.instances],
        [
            words("Program", str),
            words("Fastest", lambda instance: _fastest(standing, instance)),
            *map(time_of, standing.contestants),
        ],
        key=f"{key}-times",
        title="Seconds to the gap",
        caption="Seconds with half their 95% interval where there are repeats; in words what "
        "became of it if the gap was not reached, with the smallest gap that was; a dash: does "
        "not take such a program, or was not asked; no bound: nobody has a lower bound to measure "
        "the answer against",
    )


def _fastest(standing: Standing, instance: Instance) -> str:
    timings = {who: standing.times.get((instance, who)) for who in standing.contestants}
    reached = [(t.seconds, who) for who, t in timings.items() if t is not None and t.reached]
    return short_name(min(reached)[1]) if reached else "nobody"


def wins_table(standing: Standing, key: str) -> Table[str]:
    """Table of wins, losses and ties of every pair."""
    wins = standing.wins
    at = {who: wins.contestants.index(who) for who in standing.contestants}

    def against(other: str) -> TableColumn[str]:
        def score(who: str) -> Cell:
            i, j = at[who], at[other]
            if i == j:
                return Cell(NOTHING)
            return Cell(f"{wins.wins[i, j]} : {wins.losses[i, j]}", float(wins.wins[i, j]))

        return TableColumn(short_name(other), score, numeric=True)

    return Table(
        [standing.contestants],
        [
            words("Contestant", short_name),
            numbers("Won", lambda who: int(np.sum(wins.wins[at[who]]))),
            numbers("Lost", lambda who: int(np.sum(wins.losses[at[who]]))),
            numbers("Ties", lambda who: int(np.sum(wins.ties[at[who]]))),
            *map(against, standing.contestants),
        ],
        key=f"{key}-wins",
        title="Wins and losses",
        caption="Programs won and lost by the contestant of the row against that of the column, "
        "by more than the uncertainty of both; what is left of the programs that both attempted "
        "is a tie, or neither reached the gap",
    )


def profile_table(standing: Standing, key: str) -> Table[str]:
    """Table of the performance profile at a few factors."""
    profile = standing.profile

    def share_at(factor: float) -> TableColumn[str]:
        return numbers(_factor_name(factor), lambda who: profile.share(who, factor), percent)

    return Table(
        [[who for who in standing.contestants if who in profile.contestants]],
        [
            words("Contestant", short_name),
            *map(share_at, FACTORS),
        ],
        key=f"{key}-profile",
        title="Performance profile",
        caption=f"Share of {profile.instances} programs on which a contestant takes at most so "
        "many times the seconds of the fastest",
    )


def _factor_name(factor: float) -> str:
    if factor == 1.0:
        return "Fastest"
    return f"Within {factor:g} times" if math.isfinite(factor) else "Reached at all"


def scaling_table(fits: Sequence[Fit], key: str) -> Table[Fit]:
    """Table of how seconds grow with the number of samples."""
    return Table(
        [fits],
        [
            words("Contestant", lambda fit: short_name(fit.contestant)),
            words("Programs", lambda fit: fit.series),
            numbers("Exponent", lambda fit: fit.exponent, short),
            TableColumn("Interval", lambda fit: interval(fit.low, fit.high), numeric=True),
            numbers("Sizes", lambda fit: len(fit.points)),
            numbers("Not reached", lambda fit: fit.censored),
        ],
        key=f"{key}-scaling",
        title="Scaling",
        caption="Seconds grow as samples to the power of the exponent, here with its 95% "
        "interval; programs that were not reached are missing, and make it too small",
    )


def contestants_table(rows: Iterable[Row]) -> Table[Row]:
    """Table of versions and settings, from the first row of each contestant."""
    first: dict[str, Row] = {}
    for row in rows:
        if row.contestant not in first or not first[row.contestant].version:
            first[row.contestant] = row
    return Table(
        [first.values()],
        [
            words("Contestant", _name),
            words("Version", lambda row: row.version or NOTHING),
            words("Settings", lambda row: value(row.settings) or NOTHING),
        ],
        key="contestants",
        title="Contestants",
        caption="Versions, and what each was told at the first accuracy it was asked for",
        sortable=False,
    )


def _name(row: Row) -> str:
    return row.contestant + " (bounds only, not ranked)" * is_reference(row.contestant)


# --- entries --------------------------------------------------------------------------------------


def short(number: float) -> str:
    """Write a number with three digits; a dash if it is not finite."""
    return figure(number, 3) if math.isfinite(number) else NOTHING


def percent(share: float) -> str:
    """Write a share as a percentage without decimals."""
    return f"{100.0 * share:.0f} %"


def interval(low: float, high: float) -> Cell:
    """Write an interval as "low to high"; a dash if it is unknown."""
    known = math.isfinite(low) and math.isfinite(high)
    return Cell(f"{short(low)} to {short(high)}", low) if known else Cell(NOTHING)


def bracket(low: float, high: float) -> str:
    """Write an interval in brackets, to follow a number; nothing if it is unknown."""
    known = math.isfinite(low) and math.isfinite(high)
    return f" ({short(low)} to {short(high)})" if known else ""


def time_cell(timing: Timing | None) -> Cell:
    """Write seconds with half their interval, or the outcome and the smallest gap.

    A dash where there is nothing to measure, "no bound" where nothing is known to measure it by.
    """
    if timing is not None and timing.outcome == NO_BOUND:
        return Cell(NO_BOUND)
    if timing is None or not timing.attempted:
        return Cell(NOTHING)
    if timing.reached:
        half = timing.high / timing.seconds - 1.0
        spread = f" ± {100.0 * half:.0f}%" if math.isfinite(half) else ""
        return Cell(f"{short(timing.seconds)}{spread}", timing.seconds)
    reached = f", {residual(timing.gap)}" if math.isfinite(timing.gap) else ""
    return Cell(f"{timing.outcome}{reached}", math.inf)
