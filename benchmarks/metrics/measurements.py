"""Rows of the same cell become one measurement: the median of its repeats and their worst gap."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from benchmarks.cells import Cell, Instance
from benchmarks.metrics.bounds import (
    best_dual,
    is_reference,
    is_unmeasurable,
    suboptimality,
)
from benchmarks.metrics.noise import interval, pooled_noise
from benchmarks.rows import Row

Column: TypeAlias = tuple[Instance, str]
"""A program and a contestant, with its threads where a store has several numbers."""

WORST_FIRST = (
    "false optimal",
    "false infeasible",
    "crash",
    "error",
    "memory limit",
    "time limit",
    "unproven infeasible",
    "inaccurate",
    "above eps",
    "undecided",
    "unclaimed optimal",
)
"""Outcomes from worst to best: the worst counts when repeats disagree."""


@dataclass(frozen=True)
class Measurement:
    """One cell over all its repeats.

    Attributes
    ----------
    eps : float
        What was asked for.
    gap : float
        Largest suboptimality of the repeats; inf if one has none.
    seconds : float
        Median of the total seconds; NaN if a repeat has none.
    low, high : float
        95% interval of ``seconds``; NaN when measured once.
    error : float
        Standard error of ``log(seconds)``; NaN if nothing in the store was repeated.
    repeats : int
    outcome : str
        The worst of the repeats.
    steady : bool
        Whether the repeats agree on the outcome.
    limit : float
        Seconds that the cell was given.
    unmeasurable : bool
        Whether every repeat has an answer, and nobody a bound to measure it against.
    """

    eps: float
    gap: float
    seconds: float
    low: float
    high: float
    error: float
    repeats: int
    outcome: str
    steady: bool
    limit: float
    unmeasurable: bool

    @property
    def measured(self) -> bool:
        """Return whether the cell was measured, and not left out at the end of a sweep."""
        return self.outcome != "not run"

    def reaches(self, target: float) -> bool:
        """Return whether the gap is at most ``target`` and was reached within the time limit.

        Not every solver can be told a limit, and a process ends a little after it.
        """
        return self.gap <= target and self.seconds <= self.limit


def measurements(
    rows: Iterable[Row], best: Mapping[Instance, float] | None = None
) -> dict[Column, tuple[Measurement, ...]]:
    """Combine repeats into measurements, each sweep from loose to tight.

    Parameters
    ----------
    rows : iterable of Row
        Rows of a store.
    best : mapping of Instance to float, optional
        Lower bounds; those of ``rows`` by default.

    Raises
    ------
    StoreError
        As ``best_dual``.
    """
    rows = tuple(rows)
    best = best_dual(rows) if best is None else best
    cells: dict[tuple[Column, Cell], list[Row]] = {}
    for row, who in zip(rows, column_names(rows), strict=True):
        if not is_reference(row.contestant):
            cell = replace(row.cell, repeat=0)
            cells.setdefault(((row.instance, who), cell), []).append(row)
    noise = pooled_noise(s for repeats in cells.values() if (s := _seconds(repeats)))
    sweeps: dict[Column, list[Measurement]] = {}
    for (column, cell), repeats in cells.items():
        seconds = _seconds(repeats)
        middle = float(np.median(seconds)) if seconds else math.nan
        error = noise.error(seconds) if seconds else math.nan
        # an interval of its own needs repeats of its own
        low, high = interval(middle, error) if len(seconds) > 1 else (math.nan, math.nan)
        outcome, steady = outcome_of(repeats)
        sweeps.setdefault(column, []).append(
            Measurement(
                eps=cell.eps,
                gap=max(suboptimality(row, best) for row in repeats),
                seconds=middle,
                low=low,
                high=high,
                error=error,
                repeats=len(repeats),
                outcome=outcome,
                steady=steady,
                limit=cell.time_limit,
                unmeasurable=all(is_unmeasurable(row, best) for row in repeats),
            )
        )
    return {column: tuple(sorted(sweep, key=lambda m: -m.eps)) for column, sweep in sweeps.items()}


def column_names(rows: Iterable[Row]) -> tuple[str, ...]:
    """Names of columns, one per row: the contestant, with its threads where these differ.

    ``cvxopt [1 threads]`` and ``cvxopt [2 threads]`` are two contestants.

    Parameters
    ----------
    rows : iterable of Row
        Rows of a store, references included.

    Returns
    -------
    tuple of str
        One for each row, in their order.

    Examples
    --------
    >>> program = Instance("SoftMargin(C=1.0)", "iris")
    >>> cells = [Cell(program, "cvxopt", eps=1e-6, threads=threads) for threads in (1, 2)]
    >>> column_names(Row(cell, "optimal") for cell in cells)
    ('cvxopt [1 threads]', 'cvxopt [2 threads]')
    """
    rows = tuple(rows)
    several = len({row.cell.threads for row in rows if not is_reference(row.contestant)}) > 1
    return tuple(
        row.contestant + (f" [{row.cell.threads} threads]" if several else "") for row in rows
    )


def outcome_of(repeats: Iterable[Row]) -> tuple[str, bool]:
    """Return the outcome of a cell, and whether all its repeats have it."""
    found = {row.outcome for row in repeats}
    order = {outcome: place for place, outcome in enumerate(WORST_FIRST)}
    return min(found, key=lambda o: (order.get(o, len(order)), o)), len(found) == 1


def _seconds(repeats: Iterable[Row]) -> list[float]:
    """Return the seconds of all repeats; none if one of them has none."""
    seconds = [row.total_seconds for row in repeats]
    return seconds if all(0.0 < s < math.inf for s in seconds) else []
