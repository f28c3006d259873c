r"""Shifted geometric means, and rankings by them.

One number a contestant, with failures penalised and counted::

    mean_s  =  exp( 1/m sum_p log(t_ps + shift) )  -  shift

The logarithm keeps the slowest program from deciding alone, the shift keeps the fastest ones from
it (Achterberg, *Constraint Integer Programming*, 2007, appendix A.3; used in H. Mittelmann's
"Benchmarks for Optimization Software", with a shift of 10 seconds for hours of time limit). A time
that was not reached counts as the time limit, so a mean with failures is a lower bound and must
never be shown without their number.
A ranking has the places that another run could have given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import scipy.stats

from benchmarks.metrics.tables import (
    Array,
    Index,
    Statistic,
    Table,
    other_programs,
    other_runs,
    penalised,
    quantiles,
    table_of,
)
from benchmarks.metrics.times import Times

SHIFT = 0.1
"""Shift of the mean, seconds: differences far below it hardly count."""


@dataclass(frozen=True)
class _Figure:
    """A figure of one contestant, with its uncertainty."""

    contestant: str
    low: float
    high: float
    run_low: float
    run_high: float
    solved: int
    failed: int


@dataclass(frozen=True)
class Mean(_Figure):
    """The shifted geometric mean of a contestant's times.

    Attributes
    ----------
    contestant : str
    seconds : float
    low, high : float
        95% interval over other programs and runs; NaN for fewer than six programs.
    run_low, run_high : float
        95% interval over other runs on the same programs; NaN without repeats.
    solved, failed : int
        Of the programs in common.
    """

    seconds: float

    @property
    def instances(self) -> int:
        """Programs in common with all other contestants."""
        return self.solved + self.failed


@dataclass(frozen=True)
class Rank(_Figure):
    """A contestant's place.

    Attributes
    ----------
    contestant : str
    place : float
        From 1; equals share the mean of their places. NaN for whoever reached nothing.
    low, high : float
        95% interval over other programs and runs; NaN for fewer than six programs.
    run_low, run_high : float
        95% interval over other runs on the same programs; NaN without repeats.
    score : float
        ``1/m sum log(t + shift)``: what the place is decided by.
    error : float
        Standard error of ``score`` over other runs; NaN without repeats. Contestants are measured
        apart, so their errors are independent.
    solved, failed : int
    """

    place: float
    score: float
    error: float


@dataclass(frozen=True)
class Ranking:
    """All contestants that have programs in common, the fastest first.

    Attributes
    ----------
    ranks : tuple of Rank
    table : Table
        What was compared, and what was left out.
    """

    ranks: tuple[Rank, ...]
    table: Table

    @property
    def contestants(self) -> tuple[str, ...]:
        """Names of the contestants, the fastest first."""
        return tuple(rank.contestant for rank in self.ranks)


def shifted_geometric_means(
    times: Times, *, shift: float = SHIFT, penalty_seconds: float | None = None, seed: int = 0
) -> tuple[Mean, ...]:
    """``exp(mean(log(t + shift))) - shift`` of every contestant, on the programs in common.

    Parameters
    ----------
    times : mapping of (Instance, contestant) to Timing
        Times to a gap, as ``times_to`` returns them.
    shift : float
        Seconds.
    penalty_seconds : float, optional
        What a failure counts as; by default the time limit of its program.
    seed : int
        Of the bootstrap.

    Returns
    -------
    tuple of Mean
        Fastest first; empty if nothing is in common. ``table_of(times)`` says who and what was
        left out.

    Examples
    --------
    >>> from benchmarks.cells import Cell, Instance
    >>> from benchmarks.metrics.times import times_to
    >>> from benchmarks.rows import Row
    >>> program = Instance("SoftMargin(C=1.0)", "iris")
    >>> known = {"primal": 1.0, "dual": 1.0, "size": 1.0}
    >>> rows = [
    ...     Row(Cell(program, name, eps=1e-6), "optimal", **known, total_seconds=seconds)
    ...     for name, seconds in [("slow", 0.4), ("fast", 0.1)]
    ... ]
    >>> times = times_to(rows, 1e-3)
    >>> [(mean.contestant, round(mean.seconds, 6)) for mean in shifted_geometric_means(times)]
    [('fast', 0.1), ('slow', 0.4)]
    """
    table = table_of(times)
    if not table.instances:
        return ()
    statistic = _log_means(table, shift, penalty_seconds)
    logarithms = {"seconds": _of_the_table(table, statistic)}
    logarithms["low"], logarithms["high"] = quantiles(other_programs(table, statistic, seed=seed))
    runs = other_runs(table, statistic, seed=seed)
    logarithms["run_low"], logarithms["run_high"] = quantiles(runs)
    columns = {name: np.exp(values) - shift for name, values in logarithms.items()}
    return tuple(sorted(_figures(Mean, table, columns), key=lambda mean: mean.seconds))


def ranking(times: Times, *, shift: float = SHIFT, seed: int = 0) -> Ranking:
    """Rank contestants by mean log time; a failed program counts with the time limit.

    Parameters
    ----------
    times : mapping of (Instance, contestant) to Timing
        Times to a gap, as ``times_to`` returns them.
    shift : float
        Seconds.
    seed : int
        Of the bootstrap.

    Returns
    -------
    Ranking
        Without ranks if nothing is in common.

    Examples
    --------
    >>> from benchmarks.cells import Cell, Instance
    >>> from benchmarks.metrics.times import times_to
    >>> from benchmarks.rows import Row
    >>> program = Instance("SoftMargin(C=1.0)", "iris")
    >>> known = {"primal": 1.0, "dual": 1.0, "size": 1.0}
    >>> rows = [
    ...     Row(Cell(program, name, eps=1e-6), "optimal", **known, total_seconds=seconds)
    ...     for name, seconds in [("slow", 0.4), ("fast", 0.1)]
    ... ]
    >>> times = times_to(rows, 1e-3)
    >>> ranking(times).contestants
    ('fast', 'slow')
    """
    table = table_of(times)
    if not table.instances:
        return Ranking((), table)
    statistic = _log_means(table, shift)
    scores = _of_the_table(table, statistic)
    runs = other_runs(table, statistic, seed=seed)
    columns = {"place": _places(scores)}
    programs = other_programs(table, statistic, seed=seed)
    columns["low"], columns["high"] = quantiles(_places(programs))
    columns["run_low"], columns["run_high"] = quantiles(_places(runs))
    nothing = ~np.any(table.seconds < math.inf, axis=0)
    columns = {name: np.where(nothing, math.nan, values) for name, values in columns.items()}
    columns |= {"score": scores, "error": np.std(runs, axis=0, ddof=1)}
    ranks = _figures(Rank, table, columns)
    return Ranking(tuple(ranks[s] for s in np.lexsort((scores, nothing))), table)


Kind = TypeVar("Kind", bound=_Figure)


def _figures(kind: type[Kind], table: Table, columns: dict[str, Array]) -> list[Kind]:
    """Return a figure for every contestant, from columns of shape (K,)."""
    solved = np.sum(table.seconds < math.inf, axis=0)
    counts = {"solved": solved, "failed": len(table.instances) - solved}
    return [
        kind(who, **{name: values[s].item() for name, values in (columns | counts).items()})
        for s, who in enumerate(table.contestants)
    ]


def _log_means(table: Table, shift: float, penalty: float | None = None) -> Statistic:
    """``1/m sum_p log(t_ps + shift)`` as a function of times and rows, shape (K,)."""
    worst = penalised(table, penalty)

    def statistic(seconds: Array, rows: Index) -> Array:
        filled = np.where(seconds < math.inf, seconds, worst[rows])
        means: Array = np.mean(np.log(filled + shift), axis=0)
        return means

    return statistic


def _of_the_table(table: Table, statistic: Statistic) -> Array:
    """The statistic of the times as they are."""
    return statistic(table.seconds, np.arange(len(table.instances)))


def _places(scores: Array) -> Array:
    """Places from 1 along the last axis; NaN where the scores are."""
    places = scipy.stats.rankdata(scores, axis=-1)
    return np.where(np.isnan(scores), math.nan, places)
