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
from collections.abc import Callable
from dataclasses import dataclass

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
class Estimate:
    """A figure of a contestant with its uncertainty.

    Attributes
    ----------
    value : float
    low, high : float
        95% interval over other programs and runs; NaN for fewer than six programs.
    run_low, run_high : float
        95% interval over other runs on the same programs; NaN without repeats.
    """

    value: float
    low: float
    high: float
    run_low: float
    run_high: float


@dataclass(frozen=True)
class Rank:
    """A contestant's place and the mean that it is decided by.

    Attributes
    ----------
    contestant : str
    place : Estimate
        From 1; equals share the mean of their places. NaN for whoever reached nothing.
    seconds : Estimate
        The shifted geometric mean of the times.
    score : float
        ``1/m sum log(t + shift)``: what the place is decided by.
    error : float
        Standard error of ``score`` over other runs; NaN without repeats. Contestants are measured
        apart, so their errors are independent.
    solved, failed : int
        Of the programs in common.
    """

    contestant: str
    place: Estimate
    seconds: Estimate
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


def ranking(
    times: Times, *, shift: float = SHIFT, penalty_seconds: float | None = None, seed: int = 0
) -> Ranking:
    """Rank contestants by ``exp(mean(log(t + shift))) - shift``, on the programs in common.

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
    Ranking
        Without ranks if nothing is in common; its table says who and what was left out.

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
    >>> found = ranking(times_to(rows, 1e-3))
    >>> [(rank.contestant, round(rank.seconds.value, 6)) for rank in found.ranks]
    [('fast', 0.1), ('slow', 0.4)]
    """
    table = table_of(times)
    if not table.instances:
        return Ranking((), table)
    statistic = _log_means(table, shift, penalty_seconds)
    scores = statistic(table.seconds, np.arange(len(table.instances)))
    programs = other_programs(table, statistic, seed=seed)
    runs = other_runs(table, statistic, seed=seed)
    solved = np.sum(table.seconds < math.inf, axis=0)
    nothing = solved == 0

    def estimates(figure: Callable[[Array], Array]) -> list[Estimate]:
        rows = (figure(scores), *quantiles(figure(programs)), *quantiles(figure(runs)))
        return [Estimate(*column) for column in np.array(rows).T.tolist()]

    places = estimates(lambda logs: np.where(nothing, math.nan, _places(logs)))
    seconds = estimates(lambda logs: np.exp(logs) - shift)
    errors = np.std(runs, axis=0, ddof=1)
    ranks = tuple(
        Rank(
            contestant=table.contestants[s],
            place=places[s],
            seconds=seconds[s],
            score=float(scores[s]),
            error=float(errors[s]),
            solved=int(solved[s]),
            failed=int(len(table.instances) - solved[s]),
        )
        for s in np.lexsort((scores, nothing))
    )
    return Ranking(ranks, table)


def _log_means(table: Table, shift: float, penalty: float | None = None) -> Statistic:
    """``1/m sum_p log(t_ps + shift)`` as a function of times and rows, shape (K,)."""
    worst = penalised(table, penalty)

    def statistic(seconds: Array, rows: Index) -> Array:
        filled = np.where(seconds < math.inf, seconds, worst[rows])
        means: Array = np.mean(np.log(filled + shift), axis=0)
        return means

    return statistic


def _places(scores: Array) -> Array:
    """Places from 1 along the last axis; NaN where the scores are."""
    places = scipy.stats.rankdata(scores, axis=-1)
    return np.where(np.isnan(scores), math.nan, places)
