"""Seeded bootstrap of a table of times: other runs and other programs.

Two questions have two answers. *Another run* on the same machine measures the same programs with
other noise (parametric bootstrap)::

    log t*_ps  =  log t_ps + e_ps Z_ps,        Z standard normal

*Other programs* of the same sort: in addition the programs are drawn with replacement, all
contestants' times of a program together, as programs are easy or hard for everybody.

Intervals are the 2.5% and 97.5% quantiles of the draws (Efron and Tibshirani, *An Introduction to
the Bootstrap*, 1993, section 6.5 and chapter 13).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from benchmarks.arrays import Dense, Index
from benchmarks.metrics.noise import LEVEL
from benchmarks.metrics.tables import Table

DRAWS = 1000

FEWEST_PROGRAMS = 6
"""Fewer programs give no interval: not even the range of n of them covers a median with 95%,
``1 - 2^(1-n) < 0.95``."""

Statistic = Callable[[Dense, Index], Dense]
"""A function of seconds, shape (m, K), and of the rows of the table that they belong to."""


def other_runs(table: Table, statistic: Statistic, draws: int = DRAWS, seed: int = 0) -> Dense:
    """Values of a statistic on noisy copies of the times; NaN if the noise is unknown.

    Returns
    -------
    array of shape (draws, ...)
    """
    rng = np.random.default_rng(seed)
    rows = np.arange(len(table.instances))
    if not table.noise_is_known:
        return np.full((draws, *statistic(table.seconds, rows).shape), math.nan)
    return np.array([statistic(_noisy(table, rng), rows) for _ in range(draws)])


def other_programs(table: Table, statistic: Statistic, draws: int = DRAWS, seed: int = 0) -> Dense:
    """Values of a statistic on resampled programs; NaN if there are few of them.

    Where the noise is unknown, the programs alone are drawn.
    """
    rng = np.random.default_rng(seed)
    m = len(table.instances)
    found = []
    for _ in range(draws):
        rows = rng.integers(m, size=m)
        seconds = _noisy(table, rng) if table.noise_is_known else table.seconds
        found.append(statistic(seconds[rows], rows))
    values = np.array(found)
    return values if m >= FEWEST_PROGRAMS else np.full_like(values, math.nan)


def quantiles(draws: Dense) -> tuple[Dense, Dense]:
    """The interval of every statistic, from draws of shape (draws, ...)."""
    tail = (1.0 - LEVEL) / 2.0
    low, high = np.quantile(draws, [tail, 1.0 - tail], axis=0)
    return low, high


def _noisy(table: Table, rng: np.random.Generator) -> Dense:
    noise: Dense = np.exp(table.errors * rng.standard_normal(table.seconds.shape))
    return table.seconds * noise
