r"""Shifted geometric means: one number a contestant, with failures penalised and counted.

::

    mean_s  =  exp( 1/m sum_p log(t_ps + shift) )  -  shift

The logarithm keeps the slowest program from deciding alone, the shift keeps the fastest ones from
it (Achterberg, *Constraint Integer Programming*, 2007, appendix A.3; used in H. Mittelmann's
"Benchmarks for Optimization Software", with a shift of 10 seconds for hours of time limit). A time
that was not reached counts as the time limit, so a mean with failures is a lower bound and must
never be shown without their number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from benchmarks.arrays import Dense, Index
from benchmarks.metrics.resampling import Statistic, other_programs, other_runs, quantiles
from benchmarks.metrics.tables import Table, penalised, table_of
from benchmarks.metrics.times import Times

SHIFT = 0.1
"""Shift of the mean, seconds: differences far below it hardly count."""


@dataclass(frozen=True)
class Mean:
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

    contestant: str
    seconds: float
    low: float
    high: float
    run_low: float
    run_high: float
    solved: int
    failed: int

    @property
    def instances(self) -> int:
        """Programs in common with all other contestants."""
        return self.solved + self.failed


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
    >>> from benchmarks.metrics import times_to
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
    statistic = log_means(table, shift, penalty_seconds)
    centre = statistic(table.seconds, np.arange(len(table.instances)))
    low, high = quantiles(other_programs(table, statistic, seed=seed))
    run_low, run_high = quantiles(other_runs(table, statistic, seed=seed))
    solved = np.sum(table.seconds < math.inf, axis=0)
    means = [
        Mean(
            contestant=who,
            seconds=math.exp(centre[s]) - shift,
            low=math.exp(low[s]) - shift,
            high=math.exp(high[s]) - shift,
            run_low=math.exp(run_low[s]) - shift,
            run_high=math.exp(run_high[s]) - shift,
            solved=int(solved[s]),
            failed=int(len(table.instances) - solved[s]),
        )
        for s, who in enumerate(table.contestants)
    ]
    return tuple(sorted(means, key=lambda mean: mean.seconds))


def log_means(table: Table, shift: float, penalty: float | None = None) -> Statistic:
    """``1/m sum_p log(t_ps + shift)`` as a function of times and rows, shape (K,)."""
    worst = penalised(table, penalty)

    def statistic(seconds: Dense, rows: Index) -> Dense:
        filled = np.where(seconds < math.inf, seconds, worst[rows])
        means: Dense = np.mean(np.log(filled + shift), axis=0)
        return means

    return statistic
