r"""Comparison of two runs: changes, and whether the runs agree within their uncertainty.

A contestant's time on a program changed by the factor :math:`t_b / t_a`, and by more than the
uncertainty if, with the standard errors e of ``log t``,

.. math::

    \lvert \log t_b - \log t_a \rvert > 1.96 \sqrt{e_a^2 + e_b^2}.

If nothing changed between the runs and the uncertainty is stated rightly, that happens to 5% of
the times. Answers of both runs are measured against the same lower bounds, the better of both.
A contestant's ratios are of its own times, before and after, and their mean is over all kinds of
programs; contestants are compared with each other in the rankings only, kind by kind.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.cells import Instance
from benchmarks.metrics.agreement import Agreement, agreement
from benchmarks.metrics.bounds import best_dual
from benchmarks.metrics.noise import NORMAL
from benchmarks.metrics.rankings import ranking
from benchmarks.metrics.times import Column, Timing, by_kind, measurements, times_to
from benchmarks.rows import Row
from benchmarks.store import Results


@dataclass(frozen=True)
class TimeChange:
    """A contestant's time to the target on one program, in both runs.

    Attributes
    ----------
    instance : Instance
    contestant : str
    a, b : Timing
    """

    instance: Instance
    contestant: str
    a: Timing
    b: Timing

    @property
    def log_ratio(self) -> float:
        """``log(t_b / t_a)``; NaN unless both runs reached the target."""
        both = self.a.reached and self.b.reached
        return math.log(self.b.seconds / self.a.seconds) if both else math.nan

    @property
    def error(self) -> float:
        """Standard error of ``log_ratio``; NaN where a run has no repeats."""
        return math.hypot(self.a.error, self.b.error)

    @property
    def differs(self) -> bool | None:
        """Return whether the times differ by more than their uncertainty; None if unknown."""
        if self.a.reached != self.b.reached:
            return True
        if math.isnan(self.log_ratio) or math.isnan(self.error):
            return None
        return abs(self.log_ratio) > NORMAL * self.error


@dataclass(frozen=True)
class ContestantChange:
    """A contestant over all programs in both runs, of all kinds.

    Attributes
    ----------
    contestant : str
    version_a, version_b : str
    ratio : float
        Geometric mean of ``t_b / t_a`` where both runs reached the target; NaN without any.
    low, high : float
        95% interval of ``ratio``, for these programs; NaN where a run has no repeats.
    programs : int
        What ``ratio`` is a mean of.
    gained, lost : int
        Programs on which only b, or only a, reached the target.
    """

    contestant: str
    version_a: str
    version_b: str
    ratio: float
    low: float
    high: float
    programs: int
    gained: int
    lost: int


@dataclass(frozen=True)
class OutcomeChange:
    """A cell whose outcome differs between the two runs.

    Attributes
    ----------
    instance : Instance
    contestant : str
    eps : float
    before, after : str
    """

    instance: Instance
    contestant: str
    eps: float
    before: str
    after: str


@dataclass(frozen=True)
class Comparison:
    """All differences between two runs.

    Attributes
    ----------
    target : float
        Relative certified gap that times are taken to.
    times : tuple of TimeChange
        Of everything that both runs attempted.
    contestants : tuple of ContestantChange
    outcomes : tuple of OutcomeChange
    rankings : mapping of str to Agreement
        The agreement of both rankings, by kind of program as ``times.kind_of`` writes it.
    only_a, only_b : tuple of (Instance, str)
        Attempted in one run only.
    other_programs : tuple of Instance
        The same name for other data in the two runs: left out of everything.
    conditions : mapping of str to (value, value)
        What was not the same in both runs: what the headers say of machine, qpsvm and cells at
        once, and the threads, limits and seeds that cells in both were given. Empty if nothing.
    """

    target: float
    times: tuple[TimeChange, ...]
    contestants: tuple[ContestantChange, ...]
    outcomes: tuple[OutcomeChange, ...]
    rankings: Mapping[str, Agreement]
    only_a: tuple[Column, ...]
    only_b: tuple[Column, ...]
    other_programs: tuple[Instance, ...]
    conditions: Mapping[str, tuple[object, object]]

    @property
    def within(self) -> float:
        """Share of the times within their uncertainty: 0.95 if nothing changed; NaN without any."""
        known = [c.differs for c in self.times if c.a.reached and c.b.reached]
        decided = [differs for differs in known if differs is not None]
        return decided.count(False) / len(decided) if decided else math.nan

    @property
    def excess(self) -> float:
        """``sqrt(mean(z^2))`` with ``z = log ratio / error``: 1 if the uncertainty is right.

        Larger: something changed, or runs differ by more than the repeats within one.
        """
        known = [c for c in self.times if c.differs is not None and c.error > 0.0]
        squares = [(c.log_ratio / c.error) ** 2 for c in known]
        return math.sqrt(sum(squares) / len(squares)) if squares else math.nan

    @property
    def speed(self) -> float:
        """Median of ``t_b / t_a``: above 1, the second run was slower throughout."""
        ratios = [c.log_ratio for c in self.times if not math.isnan(c.log_ratio)]
        return math.exp(float(np.median(ratios))) if ratios else math.nan

    @property
    def agrees(self) -> bool | None:
        """Return whether all rankings agree within their uncertainty; None if that is unknown."""
        verdicts = {found.agrees for found in self.rankings.values() if found.pairs}
        if False in verdicts:
            return False
        return True if verdicts == {True} else None


def compare(a: Results, b: Results, target: float = 1e-6) -> Comparison:
    """Compare two stores.

    Parameters
    ----------
    a, b : Results
        Before and after, or two runs of the same.
    target : float
        Relative certified gap that times are taken to.

    Returns
    -------
    Comparison

    Raises
    ------
    StoreError
        Two programs under one name in the same store.
    """
    other = _other_programs(a.rows, b.rows)
    rows_a, rows_b = (tuple(r for r in run.rows if r.instance not in other) for run in (a, b))
    best = best_dual((*rows_a, *rows_b))
    times_a, times_b = (times_to(rows, target, best) for rows in (rows_a, rows_b))
    tried_a, tried_b = (
        {k for k, t in times.items() if t.attempted} for times in (times_a, times_b)
    )
    common = [column for column in times_a if column in tried_a & tried_b]
    before, after = (by_kind({k: times[k] for k in common}) for times in (times_a, times_b))
    changes = tuple(TimeChange(*column, times_a[column], times_b[column]) for column in common)
    return Comparison(
        target=target,
        times=changes,
        contestants=_contestants(changes, rows_a, rows_b),
        outcomes=_outcomes(rows_a, rows_b, best),
        rankings={
            kind: agreement(ranking(times), ranking(after[kind])) for kind, times in before.items()
        },
        only_a=tuple(column for column in times_a if column in tried_a - tried_b),
        only_b=tuple(column for column in times_b if column in tried_b - tried_a),
        other_programs=other,
        conditions=_machine(a.header, b.header) | _given(rows_a, rows_b),
    )


def _other_programs(a: Iterable[Row], b: Iterable[Row]) -> tuple[Instance, ...]:
    in_a, in_b = ({r.instance: r.problem_hash for r in rows if r.problem_hash} for rows in (a, b))
    return tuple(i for i in in_a if i in in_b and in_a[i] != in_b[i])


def _contestants(
    changes: tuple[TimeChange, ...], a: Iterable[Row], b: Iterable[Row]
) -> tuple[ContestantChange, ...]:
    versions_a, versions_b = (
        {row.contestant: row.version for row in rows if row.version} for rows in (a, b)
    )
    found = []
    for who in dict.fromkeys(change.contestant for change in changes):
        own = [change for change in changes if change.contestant == who]
        both = [change for change in own if not math.isnan(change.log_ratio)]
        ratio = low = high = math.nan
        if both:
            mean = sum(change.log_ratio for change in both) / len(both)
            # of the mean of independent ratios
            half = NORMAL * math.hypot(*(change.error for change in both)) / len(both)
            ratio, low, high = math.exp(mean), math.exp(mean - half), math.exp(mean + half)
        solver = who.partition(" [")[0]
        found.append(
            ContestantChange(
                contestant=who,
                version_a=versions_a.get(solver, ""),
                version_b=versions_b.get(solver, ""),
                ratio=ratio,
                low=low,
                high=high,
                programs=len(both),
                gained=sum(change.b.reached and not change.a.reached for change in own),
                lost=sum(change.a.reached and not change.b.reached for change in own),
            )
        )
    return tuple(found)


def _outcomes(
    a: Iterable[Row], b: Iterable[Row], best: Mapping[Instance, float]
) -> tuple[OutcomeChange, ...]:
    before, after = (
        {(*column, m.eps): m.outcome for column, sweep in swept for m in sweep if m.measured}
        for swept in (measurements(rows, best).items() for rows in (a, b))
    )
    return tuple(
        OutcomeChange(*cell, was, after[cell])
        for cell, was in before.items()
        if cell in after and after[cell] != was
    )


def _machine(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, tuple[object, object]]:
    in_a, in_b = (
        {"qpsvm": h.get("qpsvm"), "jobs": h.get("jobs"), **(h.get("machine") or {})} for h in (a, b)
    )
    keys = dict.fromkeys((*in_a, *in_b))
    return {k: (in_a.get(k), in_b.get(k)) for k in keys if in_a.get(k) != in_b.get(k)}


def _given(a: Iterable[Row], b: Iterable[Row]) -> dict[str, tuple[object, object]]:
    """Return limits, threads and seeds that differ between the runs on common programs."""
    found: dict[str, tuple[object, object]] = {}
    for name in ("threads", "time_limit", "memory_limit", "seed"):
        values_a, values_b = _values(a, name), _values(b, name)
        other = [k for k in values_a if k in values_b and values_a[k] != values_b[k]]
        if other:
            before, after = (
                sorted(set().union(*(values[k] for k in other))) for values in (values_a, values_b)
            )
            found[name.replace("_", " ")] = (before, after)
    return found


def _values(rows: Iterable[Row], name: str) -> dict[Column, set[float]]:
    """Return all values of a field of the cells, by program and contestant."""
    found: dict[Column, set[float]] = {}
    for row in rows:
        found.setdefault((row.instance, row.contestant), set()).add(getattr(row.cell, name))
    return found
