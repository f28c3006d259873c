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
from typing import Any

from benchmarks.cells import Instance
from benchmarks.changes import (
    Comparison,
    ContestantChange,
    KindAgreement,
    OutcomeChange,
    TimeChange,
)
from benchmarks.metrics.agreement import agreement
from benchmarks.metrics.bounds import best_dual
from benchmarks.metrics.noise import NORMAL
from benchmarks.metrics.rankings import ranking
from benchmarks.metrics.times import Column, Times, by_kind, measurements, times_to
from benchmarks.rows import Row
from benchmarks.store import Results


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
    changes = tuple(TimeChange(*column, times_a[column], times_b[column]) for column in common)
    return Comparison(
        target=target,
        times=changes,
        contestants=_contestants(changes, rows_a, rows_b),
        outcomes=_outcomes(rows_a, rows_b, best),
        rankings=_rankings(*({k: times[k] for k in common} for times in (times_a, times_b))),
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


def _rankings(a: Times, b: Times) -> tuple[KindAgreement, ...]:
    kinds_a, kinds_b = by_kind(a), by_kind(b)
    found = []
    for kind, times in kinds_a.items():
        first, second = ranking(times), ranking(kinds_b[kind])
        found.append(KindAgreement(kind, first, second, agreement(first, second)))
    return tuple(found)


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
