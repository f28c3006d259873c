"""The tables of a report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from qpsvm.benchmark.metrics import (
    FalseClaim,
    Fit,
    Mean,
    OutcomeTable,
    Timing,
    is_reference,
)
from qpsvm.benchmark.metrics.means import SHIFT
from qpsvm.benchmark.report.summary import Loss, Standing
from qpsvm.benchmark.rows import Row
from qpsvm.reports.blocks import Cell, Heading, Table
from qpsvm.reports.numbers import NOTHING, figure, residual, value

FACTORS = (1.0, 2.0, 5.0, 10.0, 100.0, math.inf)
"""Of the fastest time, in tables of performance profiles."""


def claims_table(claims: tuple[FalseClaim, ...], listed: int) -> Table:
    """Who claims an optimum, or that there is none, and is wrong; the worst first."""
    rows = tuple(
        (
            Cell(claim.contestant),
            Cell(claim.outcome + ", multipliers only" * claim.machine_is_optimal),
            Cell(str(claim.instance)),
            Cell(residual(claim.eps), claim.eps),
            Cell(residual(claim.gap), claim.gap),
            Cell(claim.message),
        )
        for claim in claims[:listed]
    )
    shown = "All of them" if len(rows) == len(claims) else f"{len(rows)} of {len(claims):,}"
    return Table(
        key="claims-table",
        title="",
        caption=f"{shown}, the furthest from what was claimed first",
        headings=(
            Heading("Contestant"),
            Heading("Outcome"),
            Heading("Program"),
            Heading("Claimed", numeric=True),
            Heading("Certified gap", numeric=True),
            Heading("What the verifier found"),
        ),
        bodies=(rows,),
        sortable=True,
    )


def outcomes_table(outcomes: OutcomeTable) -> Table:
    """How often each contestant had which outcome."""
    rows = tuple(
        (
            Cell(who),
            *(number_cell(outcomes.counts[who].get(outcome, 0)) for outcome in outcomes.outcomes),
            number_cell(outcomes.unsteady[who]),
        )
        for who in outcomes.contestants
    )
    return Table(
        key="outcomes-table",
        title="",
        caption="Cells, that is program and accuracy asked for, by their outcome; where repeats "
        "disagree the worst of them counts",
        headings=(
            Heading("Contestant"),
            *(Heading(outcome, numeric=True) for outcome in outcomes.outcomes),
            Heading("repeats disagree", numeric=True),
        ),
        bodies=(rows,),
        sortable=True,
    )


def means_table(standings: Sequence[Standing], key: str, *, detailed: bool) -> Table:
    """Places and shifted geometric means, kind by kind; in short without the last two columns."""
    width = None if detailed else -2
    return Table(
        key=f"{key}-means",
        title="Shifted geometric means",
        caption=f"Seconds, shifted by {SHIFT:g} s, on the programs in common; in brackets the 95% "
        "interval over other runs" + ", in a column of its own over other programs" * detailed,
        headings=(
            Heading("Contestant"),
            Heading("Kind of program"),
            Heading("Place", numeric=True),
            Heading("Seconds", numeric=True),
            Heading("Reached", numeric=True),
            Heading("Failed", numeric=True),
            Heading("Furthest behind", numeric=True),
            Heading("Where, and who was fastest"),
            Heading("Other programs", numeric=True),
        )[:width],
        bodies=tuple(
            tuple(row[:width] for row in _mean_rows(standing))
            for standing in standings
            if standing.means
        ),
        sortable=True,
    )


def _mean_rows(standing: Standing) -> tuple[tuple[Cell, ...], ...]:
    means = {mean.contestant: mean for mean in standing.means}
    return tuple(
        (
            Cell(rank.contestant),
            Cell(standing.kind),
            Cell(figure(rank.place, 3) + bracket(rank.run_low, rank.run_high), rank.place),
            _mean_cell(means[rank.contestant]),
            number_cell(rank.solved),
            number_cell(rank.failed),
            *_loss_cells(standing.losses.get(rank.contestant), rank.solved),
            _interval(means[rank.contestant].low, means[rank.contestant].high),
        )
        for rank in standing.ranking.ranks
    )


def _mean_cell(mean: Mean) -> Cell:
    bound = "> " if mean.failed else ""
    text = f"{bound}{figure(mean.seconds, 3)}{bracket(mean.run_low, mean.run_high)}"
    return Cell(text, mean.seconds)


def _loss_cells(loss: Loss | None, solved: int) -> tuple[Cell, Cell]:
    if loss is None:
        return Cell("never", 1.0) if solved else Cell(NOTHING, math.inf), Cell(NOTHING)
    text = f"{figure(loss.factor, 3)} times" if math.isfinite(loss.factor) else loss.outcome
    return Cell(text, loss.factor), Cell(f"{loss.instance}: {loss.winner}")


def times_table(standing: Standing, key: str) -> Table:
    """Seconds to the gap, program by program."""
    who = standing.contestants
    return Table(
        key=f"{key}-times",
        title="Seconds to the gap",
        caption="Seconds with half their 95% interval where there are repeats; in words what "
        "became of it if the gap was not reached, with the smallest gap that was; a dash: does "
        "not take such a program, or was not asked",
        headings=(
            Heading("Program"),
            Heading("Fastest"),
            *(Heading(name, numeric=True) for name in who),
        ),
        bodies=(
            tuple(
                (
                    Cell(str(instance)),
                    Cell(_fastest([(name, standing.times.get((instance, name))) for name in who])),
                    *(_time_cell(standing.times.get((instance, name))) for name in who),
                )
                for instance in standing.instances
            ),
        ),
        sortable=True,
    )


def _fastest(timings: list[tuple[str, Timing | None]]) -> str:
    reached = [(t.seconds, name) for name, t in timings if t is not None and t.reached]
    return min(reached)[1] if reached else "nobody"


def _time_cell(timing: Timing | None) -> Cell:
    if timing is None or not timing.attempted:
        return Cell(NOTHING)
    if timing.reached:
        half = timing.high / timing.seconds - 1.0
        spread = f" ± {100.0 * half:.0f}%" if math.isfinite(half) else ""
        return Cell(f"{figure(timing.seconds, 3)}{spread}", timing.seconds)
    reached = f", {residual(timing.gap)}" if math.isfinite(timing.gap) else ""
    return Cell(f"{timing.outcome}{reached}", math.inf)


def wins_table(standing: Standing, key: str) -> Table:
    """Wins, losses and ties of every pair."""
    wins, who = standing.wins, standing.contestants
    at = [wins.contestants.index(name) for name in who]
    rows = tuple(
        (
            Cell(name),
            *(
                number_cell(int(np.sum(counts[i])))
                for counts in (wins.wins, wins.losses, wins.ties)
            ),
            *(
                Cell(f"{wins.wins[i, j]} : {wins.losses[i, j]}", float(wins.wins[i, j]))
                if i != j
                else Cell(NOTHING)
                for j in at
            ),
        )
        for name, i in zip(who, at, strict=True)
    )
    return Table(
        key=f"{key}-wins",
        title="Wins and losses",
        caption="Programs won and lost by the contestant of the row against that of the column, "
        "by more than the uncertainty of both; what is left of the programs that both attempted "
        "is a tie, or neither reached the gap",
        headings=(
            Heading("Contestant"),
            *(Heading(name, numeric=True) for name in ("Won", "Lost", "Ties")),
            *(Heading(name, numeric=True) for name in who),
        ),
        bodies=(rows,),
        sortable=True,
    )


def profile_table(standing: Standing, key: str) -> Table:
    """The performance profile at a few factors."""
    profile = standing.profile
    rows = tuple(
        (Cell(name), *(_share(profile.share(name, factor)) for factor in FACTORS))
        for name in standing.contestants
        if name in profile.contestants
    )
    return Table(
        key=f"{key}-profile",
        title="Performance profile",
        caption=f"Share of {profile.instances} programs on which a contestant takes at most so "
        "many times the seconds of the fastest",
        headings=(
            Heading("Contestant"),
            *(Heading(_factor_name(factor), numeric=True) for factor in FACTORS),
        ),
        bodies=(rows,),
        sortable=True,
    )


def _factor_name(factor: float) -> str:
    if factor == 1.0:
        return "Fastest"
    return f"Within {factor:g} times" if math.isfinite(factor) else "Reached at all"


def scaling_table(fits: Iterable[Fit], key: str) -> Table:
    """How seconds grow with the number of samples."""
    rows = tuple(
        (
            Cell(fit.contestant),
            Cell(fit.series),
            Cell(_known(fit.exponent, 2), fit.exponent),
            _interval(fit.low, fit.high),
            number_cell(len(fit.points)),
            number_cell(fit.censored),
        )
        for fit in fits
    )
    return Table(
        key=f"{key}-scaling",
        title="Scaling",
        caption="Seconds grow as samples to the power of the exponent, here with its 95% "
        "interval; programs that were not reached are missing, and make it too small",
        headings=(
            Heading("Contestant"),
            Heading("Programs"),
            Heading("Exponent", numeric=True),
            Heading("Interval", numeric=True),
            Heading("Sizes", numeric=True),
            Heading("Not reached", numeric=True),
        ),
        bodies=(rows,),
        sortable=True,
    )


def contestants_table(rows: Iterable[Row]) -> Table:
    """Versions and settings, as the first row of each contestant has them."""
    first: dict[str, Row] = {}
    for row in rows:
        if row.contestant not in first or not first[row.contestant].version:
            first[row.contestant] = row
    return Table(
        key="contestants",
        title="Contestants",
        caption="Versions, and what each was told at the first accuracy it was asked for",
        headings=(Heading("Contestant"), Heading("Version"), Heading("Settings")),
        bodies=(
            tuple(
                (
                    Cell(who + (" (bounds only, not ranked)" if is_reference(who) else "")),
                    Cell(row.version or NOTHING),
                    Cell(value(row.settings) or NOTHING),
                )
                for who, row in first.items()
            ),
        ),
    )


# --- entries -------------------------------------------------------------------------------------


def number_cell(count: int) -> Cell:
    """A count."""
    return Cell(value(count), count)


def _share(share: float) -> Cell:
    return Cell(f"{100.0 * share:.0f} %", share)


def _known(number: float, digits: int) -> str:
    return figure(number, digits) if math.isfinite(number) else NOTHING


def _interval(low: float, high: float) -> Cell:
    known = math.isfinite(low) and math.isfinite(high)
    return Cell(f"{figure(low, 3)} to {figure(high, 3)}", low) if known else Cell(NOTHING)


def bracket(low: float, high: float) -> str:
    """An interval in brackets after a number, if it is known."""
    known = math.isfinite(low) and math.isfinite(high)
    return f" ({figure(low, 3)} to {figure(high, 3)})" if known else ""
