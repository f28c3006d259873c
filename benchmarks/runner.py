"""Run a suite from the first cell to the last: plan, measure, store, repeat.

Every measurement is a joblib task of its own, so a surrounding ``joblib.parallel_config`` decides
where they run: threads of this process (each waits for a child), processes, a cluster. Rows come
back one by one and are stored here, by one process.
"""

from __future__ import annotations

import datetime
import math
import os
import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain

import joblib

import qpsvm
from benchmarks import machine
from benchmarks.cells import Cell
from benchmarks.contestants import registry
from benchmarks.data import require_known
from benchmarks.plan import Plan, make_plan
from benchmarks.process import Children, measure_apart
from benchmarks.programs import formulation_of, kernel_of
from benchmarks.rows import Row
from benchmarks.store import Results, open_store
from benchmarks.suite import Suite

_START = 1.5
"""Rough seconds until a process begins to measure; used in the estimate only."""


@dataclass(frozen=True)
class RunProgress:
    """Progress of a run, reported after each row.

    Attributes
    ----------
    row : Row
        The new one.
    done : mapping of Cell to Row
        All there are.
    plan : Plan
        The step that it belongs to.
    measured : tuple of Row
        The rows of this run.
    seconds : float
        Since the session began.
    """

    row: Row
    done: Mapping[Cell, Row]
    plan: Plan
    measured: tuple[Row, ...]
    seconds: float

    @property
    def remaining(self) -> list[Cell]:
        """Cells that may still be measured; fewer if sweeps end early."""
        return [c for c in (*self.plan.cells, *self.plan.later) if c not in self.done]

    @property
    def seconds_left(self) -> float:
        """Estimated seconds left: the time so far, scaled by the work left over the work done."""
        expected = _Expected(self.done.values())
        past = sum(map(_spent, self.measured))
        return self.seconds * sum(map(expected, self.remaining)) / past


def run(
    suite: Suite,
    store: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    resume: bool = False,
    retry: Collection[str] = (),
    callback: Callable[[RunProgress], None] | None = None,
    command: str = "",
) -> Results:
    """Measure every cell of a suite that the store does not have.

    Parameters
    ----------
    suite : Suite
    store : path
        See ``benchmarks.store``.
    jobs : int, optional
        Cells at once; what ``joblib.parallel_config`` says without it, else 1. Cells that run side
        by side share memory and caches: times of a report come from as many jobs as it says.
    resume : bool
        Continue the store.
    retry : collection of str
        Outcomes whose cells are measured again: of two rows of a cell the later one counts.
    callback : callable, optional
        Called after each row.
    command : str
        What reports say that it is measured again by; stored as it is.

    Returns
    -------
    Results
        Everything in the store.

    Raises
    ------
    SuiteError
        A name in the suite that nobody knows; nothing has been measured then.
    StoreError
        The store has rows and ``resume`` is not set, is no store, or is in use.
    """
    _require_known(suite)
    with open_store(store, resume=resume) as target:
        done = {row.cell: row for row in target.read().rows if row.outcome not in retry}
        target.begin(_header(suite, jobs, command))
        began = time.perf_counter()
        measured: list[Row] = []
        with closing(_rows(suite, done, jobs)) as rows:
            for plan, row in rows:
                named = replace(row, suite=suite.name)
                target.append(named)
                done[row.cell] = named
                if row.cell in plan.cells:
                    measured.append(named)
                if callback is not None:
                    seconds = time.perf_counter() - began
                    callback(RunProgress(named, done, plan, tuple(measured), seconds))
        return target.read()


def _rows(
    suite: Suite, done: Mapping[Cell, Row], jobs: int | None
) -> Generator[tuple[Plan, Row], None, None]:
    """Yield rows until the plan is empty; the caller adds each of them to ``done``."""
    children = Children()
    try:
        while (plan := make_plan(suite, done)).cells or plan.rows:
            for row in chain(plan.rows, _measured(plan.cells, done, jobs, children)):
                yield plan, row
    except BaseException:
        # those who wait for processes are in other threads, which hear of no interrupt
        children.end()
        raise


def _measured(
    cells: Sequence[Cell], done: Mapping[Cell, Row], jobs: int | None, children: Children
) -> Iterator[Row]:
    """Yield rows as they finish; long cells begin first."""
    expected = _Expected(done.values())
    tasks = [
        joblib.delayed(measure_apart)(cell, children)
        for cell in sorted(cells, key=expected, reverse=True)
    ]
    # a batch would come back, and be stored, as one
    options = {"n_jobs": jobs, "prefer": "threads", "batch_size": 1}
    try:
        parallel = joblib.Parallel(**options, return_as="generator_unordered")
    except ValueError:  # of backends that return everything at the end, as Ray's does
        step = joblib.effective_n_jobs(jobs)
        for first in range(0, len(tasks), step):
            yield from joblib.Parallel(**options)(tasks[first : first + step])
    else:
        yield from parallel(tasks)


class _Expected:
    """Expected seconds of a cell, from the rows of its sweep, its contestant, or all."""

    def __init__(self, rows: Iterable[Row]) -> None:
        groups: dict[object, list[float]] = {}
        for row in rows:
            if row.outcome != "not run":
                for group in (row.cell.sweep, row.contestant, None):
                    groups.setdefault(group, []).append(_spent(row))
        # a sweep becomes slower, so its longest cell is the best guess
        self._means = {
            group: max(spent) if isinstance(group, Cell) else sum(spent) / len(spent)
            for group, spent in groups.items()
        }

    def __call__(self, cell: Cell) -> float:
        for group in (cell.sweep, cell.contestant, None):
            if group in self._means:
                return self._means[group]
        return _START


def _spent(row: Row) -> float:
    """Seconds of a cell, from the start of its process to the end."""
    fit = row.cell.time_limit if row.outcome == "time limit" else row.total_seconds
    return _START + sum(part for part in (fit, row.judge_seconds) if math.isfinite(part))


def _header(suite: Suite, jobs: int | None, command: str) -> Mapping[str, object]:
    return {
        "suite": {
            "name": suite.name,
            "description": suite.description,
            "targets": list(suite.targets),
            "repeats": suite.repeats,
            "repeat_below": suite.repeat_below,
            "cells": len(suite.cells),
        },
        "jobs": jobs,
        "command": command,
        "machine": machine.describe(),
        "load": machine.load(),
        "qpsvm": qpsvm.__version__,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def _require_known(suite: Suite) -> None:
    """Check all names of a suite before a run: contestants, data, formulations, kernels."""
    for contestant in suite.contestants():
        registry.get(contestant)
    for name in dict.fromkeys(instance.data for instance in suite.instances()):
        require_known(name)
    for instance in suite.instances():
        formulation_of(instance.family)
        kernel_of(instance.kernel)
