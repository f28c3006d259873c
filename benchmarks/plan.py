"""Plan of a benchmark run: the cells still to be measured, from a suite and its rows so far.

Nothing else is remembered, so a run that was killed continues as if it had not been. A plan holds
at most one accuracy and one repeat of each sweep and cell: all programs at loose accuracy come
before tight ones, and repeats lie apart in time, as repeats should.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from benchmarks.cells import Cell
from benchmarks.metrics.bounds import suboptimality
from benchmarks.rows import Row
from benchmarks.suite import Suite

CUT_OFF = frozenset({"time limit", "memory limit"})
"""Outcomes that end a sweep: a tighter accuracy needs no less time or memory."""

REGARDLESS_OF_EPS = frozenset({"unsupported", "not installed"})
"""Outcomes that do not depend on eps: the rest of the sweep would have them, too."""

NOT_REPEATED = CUT_OFF | REGARDLESS_OF_EPS | {"crash", "error", "not run"}
"""Outcomes without a time, which are not repeated."""


@dataclass(frozen=True)
class Plan:
    """The next step of a run.

    Attributes
    ----------
    cells : tuple of Cell
        To be measured now, in any order.
    rows : tuple of Row
        What is settled without measuring.
    later : tuple of Cell
        What may follow.
    """

    cells: tuple[Cell, ...]
    rows: tuple[Row, ...]
    later: tuple[Cell, ...]


def make_plan(suite: Suite, done: Mapping[Cell, Row]) -> Plan:
    """Return the next step; the run is complete when ``cells`` and ``rows`` are empty.

    Parameters
    ----------
    suite : Suite
    done : mapping of Cell to Row
    """
    cells: list[Cell] = []
    rows: list[Row] = []
    later: list[Cell] = []
    for sweep in suite.sweeps():
        end: Row | None = None
        waiting = False
        for cell in sweep:
            row = done.get(cell)
            left_out = row is not None and row.outcome == "not run"
            if end is not None:
                if row is None:
                    rows.append(_left_out(cell, end))
            elif row is None or left_out:  # what it was left out for may be gone
                (later if waiting else cells).append(cell)
                waiting = True
            else:
                repeats = _repeats(row, suite)
                missing = [c for c in repeats if c not in done]
                # only the first of them is due
                cells += missing[:1]
                later += missing[1:]
                if _is_cut_off(row) or row.outcome in REGARDLESS_OF_EPS:
                    end = row
                elif _reached(row, suite):
                    # a time to a gap is one that every repeat reached
                    waiting = waiting or bool(missing)
                    if not missing and all(_reached(done[c], suite) for c in repeats):
                        end = row
    return Plan(tuple(cells), tuple(rows), tuple(later))


def _is_cut_off(row: Row) -> bool:
    return row.outcome in CUT_OFF or row.total_seconds > row.cell.time_limit


def _reached(row: Row, suite: Suite) -> bool:
    """Return whether a row reaches the tightest target by its own lower bound."""
    own = suboptimality(row, {row.instance: row.dual})
    return own <= min(suite.targets, default=0.0)


def _repeats(row: Row, suite: Suite) -> list[Cell]:
    if row.outcome in NOT_REPEATED or not row.total_seconds < suite.repeat_below:
        return []
    return [replace(row.cell, repeat=k) for k in range(1, suite.repeats)]


def _left_out(cell: Cell, end: Row) -> Row:
    """Return the row "not run" of a cell after the end of its sweep."""
    if end.outcome in REGARDLESS_OF_EPS:
        return replace(end, cell=cell)
    why = (
        f"a certified gap of {end.gap:.1e}, the tightest target,"
        if not _is_cut_off(end)
        else f"the {end.outcome}"
    )
    return Row(
        cell,
        "not run",
        message=f"the sweep reached {why} at eps = {end.cell.eps:g}",
        n=end.n,
        d=end.d,
        density=end.density,
        problem_hash=end.problem_hash,
        version=end.version,
        suite=end.suite,
        machine=end.machine,
        qpsvm=end.qpsvm,
    )
