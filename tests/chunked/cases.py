"""Families that take samples in chunks, and problems on them in memory and in chunks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from qpsvm.chunked import chunked
from tests.families import CASES, Case

NOT_IN_CHUNKS = ("hard margin", "least squares", "ranking", "average squared ranking")
IN_CHUNKS = [case for case in CASES if case.name not in NOT_IN_CHUNKS]
BY_NAME = {case.name: case for case in IN_CHUNKS}


def settings() -> Iterator[tuple[str, str]]:
    """(name of the case, intercept)."""
    return ((case.name, intercept) for case in IN_CHUNKS for intercept in case.intercepts)


def arguments(case: Case) -> tuple[Any, Any]:
    """X and y, None without any."""
    return case.data.X, case.data.y if case.kind != "samples" else None


def in_chunks(family: Any, X: Any, y: Any = None, weights: Any = None, *, rows: int = 5) -> Any:
    """The problem on samples in chunks of so many rows."""
    return family.dual(chunked(X, y, weights, rows=rows))


def hard_numbers(case: Case, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """X, y and weights of some size and place: float32, an offset, weights of many sizes."""
    X, y = arguments(case)
    scale, offset = 10.0 ** rng.uniform(-4, 4), 10.0 ** rng.uniform(0, 8) * (rng.random() < 0.5)
    X = scale * (X + offset)
    if rng.random() < 0.3:
        X = X.astype(np.float32)
    if case.kind == "targets":
        y = y * 10.0 ** rng.uniform(-2, 3) + offset
    weights = 10.0 ** rng.uniform(-6, 6, len(X)) if rng.random() < 0.5 else None
    return X, y, weights
