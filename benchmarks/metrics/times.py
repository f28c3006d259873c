"""Time to a certified gap: the quantity that all comparisons are made of.

::

    t(p, s; g)  =  min over eps of  median over repeats of total seconds,
                   among the cells whose suboptimality is at most g in every repeat,
                   and whose median is within the time limit

A tolerance means something else to every solver, so nobody is compared at equal tolerance: each
sweeps its own, and is given the cheapest one that does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from benchmarks.calls import Call, parse
from benchmarks.cells import Instance
from benchmarks.metrics.measurements import Column, Measurement, measurements
from benchmarks.rows import Row

NO_BOUND = "no bound"
"""Outcome of an answer whose program has no lower bound to measure it against."""

NO_ATTEMPT = frozenset({"unsupported", "not installed", "not measured", NO_BOUND})
"""Outcomes that count neither as a time nor as a failure."""


@dataclass(frozen=True)
class Timing:
    """Time of a contestant to a certified gap on a program.

    Attributes
    ----------
    seconds : float
        inf if the gap was not reached.
    low, high : float
        95% interval; NaN when measured once, or not reached.
    error : float
        Standard error of ``log(seconds)``; NaN if nothing in the store was repeated.
    repeats : int
    eps : float
        The tolerance it took; NaN if none did.
    gap : float
        Suboptimality at ``eps``; if not reached, the smallest there was.
    outcome : str
        Of that cell; if not reached, of the last attempt, or why there was none: ``NO_BOUND`` if
        there is any answer that cannot be measured.
    limit : float
        Seconds that were given: ``seconds`` is within them, or infinite.
    """

    seconds: float
    low: float
    high: float
    error: float
    repeats: int
    eps: float
    gap: float
    outcome: str
    limit: float

    @property
    def reached(self) -> bool:
        """Return whether the gap was reached."""
        return self.seconds < math.inf

    @property
    def attempted(self) -> bool:
        """Return whether the contestant takes such programs, and its answer can be measured."""
        return self.outcome not in NO_ATTEMPT


Times: TypeAlias = Mapping[Column, Timing]


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
        column: _timing(sweep, target)
        for column, sweep in measurements(rows, best).items()
        if column[0] not in hopeless
    }


def _timing(sweep: tuple[Measurement, ...], target: float) -> Timing:
    reached = [m for m in sweep if m.reaches(target)]
    if reached:
        m = min(reached, key=lambda m: m.seconds)
        spread = (m.seconds, m.low, m.high, m.error)
        return Timing(*spread, m.repeats, m.eps, m.gap, m.outcome, m.limit)
    measured = [m for m in sweep if m.measured] or list(sweep)
    last = ([m for m in measured if m.outcome not in NO_ATTEMPT] or measured)[-1]
    outcome = NO_BOUND if any(m.unmeasurable for m in sweep) else last.outcome
    unknown = (math.inf, math.nan, math.nan, math.nan)
    gap = min(m.gap for m in sweep)
    return Timing(*unknown, last.repeats, math.nan, gap, outcome, last.limit)


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
