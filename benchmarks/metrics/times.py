"""Time to a certified gap: the quantity that all comparisons are made of.

Rows of the same cell become one timing, the median of its repeats and their worst gap. Then::

    t(p, s; g)  =  min over eps of  median over repeats of total seconds,
                   among the cells whose suboptimality is at most g in every repeat,
                   and whose median is within the time limit

A tolerance means something else to every solver, so nobody is compared at equal tolerance: each
sweeps its own, and is given the cheapest one that does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from benchmarks.cells import Call, Cell, Instance, parse
from benchmarks.metrics.bounds import best_dual, is_reference, is_unmeasurable, suboptimality
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

NO_BOUND = "no bound"
"""Outcome of an answer whose program has no lower bound to measure it against."""

NO_ATTEMPT = frozenset({"unsupported", "not installed", "not measured", NO_BOUND})
"""Outcomes that count neither as a time nor as a failure."""


@dataclass(frozen=True)
class Timing:
    """One cell over all its repeats, or the time of a contestant to a certified gap.

    Attributes
    ----------
    eps : float
        The tolerance; NaN if none reached the gap.
    gap : float
        Largest suboptimality of the repeats, inf if one has none; if the gap was not reached, the
        smallest there was at any tolerance.
    seconds : float
        Median of the total seconds, NaN if a repeat has none; inf if the gap was not reached.
    low, high : float
        95% interval of ``seconds``; NaN when measured once, or not reached.
    error : float
        Standard error of ``log(seconds)``; NaN if nothing in the store was repeated.
    repeats : int
    outcome : str
        The worst of the repeats; if the gap was not reached, of the last attempt, or why there was
        none: ``NO_BOUND`` if there is any answer that cannot be measured.
    limit : float
        Seconds that were given.
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
    limit: float
    unmeasurable: bool

    @property
    def measured(self) -> bool:
        """Return whether the cell was measured, and not left out at the end of a sweep."""
        return self.outcome != "not run"

    @property
    def reached(self) -> bool:
        """Return whether there is a time."""
        return self.seconds < math.inf

    @property
    def attempted(self) -> bool:
        """Return whether the contestant takes such programs, and its answer can be measured."""
        return self.outcome not in NO_ATTEMPT

    def reaches(self, target: float) -> bool:
        """Return whether the gap is at most ``target`` and was reached within the time limit.

        Not every solver can be told a limit, and a process ends a little after it.
        """
        return self.gap <= target and self.seconds <= self.limit


Times: TypeAlias = Mapping[Column, Timing]


def measurements(
    rows: Iterable[Row], best: Mapping[Instance, float] | None = None
) -> dict[Column, tuple[Timing, ...]]:
    """Combine the repeats of every cell, each sweep from loose to tight.

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
    cells = {
        (who, cell): repeats
        for (who, cell), repeats in cells_of(rows).items()
        if not is_reference(cell.contestant)
    }
    noise = pooled_noise(s for repeats in cells.values() if (s := _seconds(repeats)))
    sweeps: dict[Column, list[Timing]] = {}
    for (who, cell), repeats in cells.items():
        seconds = _seconds(repeats)
        middle = float(np.median(seconds)) if seconds else math.nan
        error = noise.error(seconds) if seconds else math.nan
        # an interval of its own needs repeats of its own
        low, high = interval(middle, error) if len(seconds) > 1 else (math.nan, math.nan)
        gap = max(suboptimality(row, best) for row in repeats)
        outcome, _ = outcome_of(repeats)
        unmeasurable = all(is_unmeasurable(row, best) for row in repeats)
        spread = (middle, low, high, error, len(repeats))
        timing = Timing(cell.eps, gap, *spread, outcome, cell.time_limit, unmeasurable)
        sweeps.setdefault((cell.instance, who), []).append(timing)
    return {column: tuple(sorted(sweep, key=lambda t: -t.eps)) for column, sweep in sweeps.items()}


def cells_of(rows: Iterable[Row]) -> dict[tuple[str, Cell], list[Row]]:
    """Collect the repeated measurements of every benchmark cell.

    Parameters
    ----------
    rows : iterable of Row
        Rows of a store, references included.

    Returns
    -------
    dict of (str, Cell) to list of Row
        In the order in which cells appear.

    Examples
    --------
    >>> cell = Cell(Instance("SoftMargin(C=1.0)", "iris"), "cvxopt", eps=1e-6)
    >>> repeats = [Row(replace(cell, repeat=k), "optimal") for k in range(3)]
    >>> [(who, len(own)) for (who, _), own in cells_of(repeats).items()]
    [('cvxopt', 3)]
    """
    rows = tuple(rows)
    cells: dict[tuple[str, Cell], list[Row]] = {}
    for row, who in zip(rows, column_names(rows), strict=True):
        cells.setdefault((who, replace(row.cell, repeat=0)), []).append(row)
    return cells


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


def times_to(
    rows: Iterable[Row], target: float, best: Mapping[Instance, float] | None = None
) -> dict[Column, Timing]:
    """Return each contestant's least median time to the target gap, over its tolerances.

    Parameters
    ----------
    rows : iterable of Row
        Rows of a store.
    target : float
        Relative certified gap.
    best : mapping of Instance to float, optional
        Lower bounds; those of ``rows`` by default.

    Returns
    -------
    dict of (Instance, contestant) to Timing
        Without references, and without programs that were proven to have no optimum (see
        ``outcome_table`` for these, and ``contradictions`` for those that somebody else solved).

    Raises
    ------
    StoreError
        As ``best_dual``.

    Examples
    --------
    >>> from benchmarks.cells import Cell
    >>> cell = Cell(Instance("SoftMargin(C=1.0)", "iris"), "cvxopt", eps=1e-6)
    >>> row = Row(cell, "optimal", primal=1.0, dual=1.0, size=1.0, total_seconds=0.1)
    >>> [timing.seconds for timing in times_to([row], 1e-3).values()]
    [0.1]
    """
    rows = tuple(rows)
    hopeless = {row.instance for row in rows if row.outcome == "infeasible"}
    return {
        column: _time_to(target, sweep)
        for column, sweep in measurements(rows, best).items()
        if column[0] not in hopeless
    }


def _time_to(target: float, sweep: tuple[Timing, ...]) -> Timing:
    reached = [t for t in sweep if t.reaches(target)]
    if reached:
        return min(reached, key=lambda t: t.seconds)
    measured = [t for t in sweep if t.measured] or list(sweep)
    last = ([t for t in measured if t.attempted] or measured)[-1]
    return replace(
        last,
        eps=math.nan,
        seconds=math.inf,
        low=math.nan,
        high=math.nan,
        error=math.nan,
        gap=min(t.gap for t in sweep),
        outcome=NO_BOUND if any(t.unmeasurable for t in sweep) else last.outcome,
    )


def kind_of(instance: Instance) -> str:
    """The kind of a program: family, intercept and kernel, without data and parameters.

    Parameters
    ----------
    instance : Instance
        The program.

    Returns
    -------
    str
        Programs of one kind have equal texts.

    Examples
    --------
    >>> kind_of(Instance("SoftMargin(C=1.0, intercept='penalized')", "a9a"))
    "SoftMargin(intercept='penalized'), linear"
    """
    family = parse(instance.family)
    kept = {k: v for k, v in family.arguments.items() if k == "intercept"}
    return f"{Call(family.name, kept)}, {parse(instance.kernel).name}"


def by_kind(times: Times) -> dict[str, dict[Column, Timing]]:
    """Split times by kind of program, in the order of first appearance.

    Parameters
    ----------
    times : mapping of (Instance, contestant) to Timing
        As ``times_to`` returns them.

    Returns
    -------
    dict of str to dict of (Instance, contestant) to Timing
        By the text of ``kind_of``.

    Examples
    --------
    >>> from benchmarks.cells import Cell
    >>> cell = Cell(Instance("SoftMargin(C=1.0)", "iris"), "cvxopt", eps=1e-6)
    >>> row = Row(cell, "optimal", primal=1.0, dual=1.0, size=1.0, total_seconds=0.1)
    >>> list(by_kind(times_to([row], 1e-3)))
    ['SoftMargin, linear']
    """
    kinds: dict[str, dict[Column, Timing]] = {}
    for column, timing in times.items():
        kinds.setdefault(kind_of(column[0]), {})[column] = timing
    return kinds
