"""Rankings by the shifted geometric mean, with the places that another run could have given."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.stats

from benchmarks.arrays import Index, Vector
from benchmarks.metrics.means import SHIFT, log_means
from benchmarks.metrics.resampling import other_programs, other_runs, quantiles
from benchmarks.metrics.tables import Table, table_of
from benchmarks.metrics.times import Times


@dataclass(frozen=True)
class Rank:
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

    contestant: str
    place: float
    low: float
    high: float
    run_low: float
    run_high: float
    score: float
    error: float
    solved: int
    failed: int


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
    >>> from benchmarks.metrics import times_to
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
    statistic = log_means(table, shift)
    scores = statistic(table.seconds, np.arange(len(table.instances)))
    runs = other_runs(table, statistic, seed=seed)
    solved = np.sum(table.seconds < math.inf, axis=0)
    nothing = solved == 0
    places = np.where(nothing, math.nan, _places(scores))
    low, high = quantiles(_places(other_programs(table, statistic, seed=seed)))
    run_low, run_high = quantiles(_places(runs))
    for ends in (low, high, run_low, run_high):
        ends[nothing] = math.nan
    errors = np.std(runs, axis=0, ddof=1)
    order: Index = np.lexsort((scores, nothing))
    ranks = tuple(
        Rank(
            contestant=table.contestants[s],
            place=float(places[s]),
            low=float(low[s]),
            high=float(high[s]),
            run_low=float(run_low[s]),
            run_high=float(run_high[s]),
            score=float(scores[s]),
            error=float(errors[s]),
            solved=int(solved[s]),
            failed=int(len(table.instances) - solved[s]),
        )
        for s in order
    )
    return Ranking(ranks, table)


def _places(scores: Vector) -> Vector:
    """Places from 1 along the last axis; NaN where the scores are."""
    places = scipy.stats.rankdata(scores, axis=-1)
    return np.where(np.isnan(scores), math.nan, places)
