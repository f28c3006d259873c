"""Rows of stores that nobody measured, with figures known by construction."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.cells import Cell, Instance
from benchmarks.rows import Row

LIMIT = 600.0


def program(k: int = 0, *, family: str = "SoftMargin(C=1.0)") -> Instance:
    return Instance(family, f"synthetic(d=2, n=100, seed={k})")


def row(
    who: str,
    seconds: float,
    *,
    instance: Instance | None = None,
    gap: float = 1e-9,
    eps: float = 1e-8,
    repeat: int = 0,
    outcome: str = "optimal",
    threads: int = 1,
    **values: Any,
) -> Row:
    """An answer ``gap`` above an optimum of 1, with the optimum's own multipliers."""
    cell = Cell(
        program() if instance is None else instance,
        who,
        eps,
        repeat=repeat,
        threads=threads,
        time_limit=LIMIT,
    )
    primal = 1.0 + gap
    known = {"gap": gap / primal, "primal": primal, "dual": 1.0, "size": primal, "n": 100, "d": 2}
    return Row(cell, outcome, total_seconds=seconds, **(known | values))


def failure(who: str, outcome: str, **values: Any) -> Row:
    """No answer."""
    nothing = {"primal": math.nan, "dual": math.nan, "size": math.nan, "gap": math.inf}
    return row(who, math.nan, outcome=outcome, **(nothing | values))


def store(
    times: Mapping[str, Sequence[float | str]],
    *,
    repeats: int = 1,
    noise: float = 0.0,
    seed: int = 0,
    eps: float = 1e-8,
) -> tuple[Row, ...]:
    """One program for each place of the sequences; a text is the outcome of a failure."""
    rng = np.random.default_rng(seed)
    rows = []
    for who, values in times.items():
        for k, value in enumerate(values):
            if isinstance(value, str):
                rows.append(failure(who, value, instance=program(k), eps=eps))
                continue
            for r in range(repeats):
                seconds = value * math.exp(noise * rng.standard_normal())
                rows.append(row(who, seconds, instance=program(k), repeat=r, eps=eps))
    return tuple(rows)
