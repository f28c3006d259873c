"""The loop of sub-gradient descent, with its batches and averages.

The equations and their sources are those of ``subgradient``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal, TypeAlias

import numpy as np

from qpsvm.classical.hinge import HingeTask, Iterate
from qpsvm.classical.settings import require_count
from qpsvm.exceptions import InvalidParameterError
from qpsvm.numerics.arguments import require_choice
from qpsvm.numerics.arrays import Index

Average: TypeAlias = Literal["none", "uniform", "linear"]


def descent(
    task: HingeTask,
    batches: Iterator[Index | slice],
    rate: float | None,
    radius: float = math.inf,
) -> Iterator[Iterate]:
    """Yield the iterates of projected sub-gradient descent, one per batch."""
    at = task.start()
    for t, rows in enumerate(batches, 1):
        eta = pegasos_step(t) if rate is None else rate
        prices = task.prices[rows]
        weight = task.n / len(prices)  # the batch stands for all samples
        violated = task.margins(at, rows) < 1.0
        at = task.stepped(at, np.where(violated, weight * prices, 0.0), eta, rows)
        length = math.hypot(float(np.linalg.norm(at.v)), math.sqrt(task.penalty) * at.b)
        if length > radius:
            at = at.scaled(radius / length)
        yield at


def pegasos_step(t: int) -> float:
    """``eta_t = 1/t``, the step size for a 1-strongly convex objective."""
    return 1.0 / t


def averaged(iterates: Iterator[Iterate], average: Average) -> Iterator[Iterate]:
    """Yield the iterates, their running mean, or the running mean with weights t."""
    require_choice(average, ("none", "uniform", "linear"), "average")
    if average == "none":
        return iterates

    def means() -> Iterator[Iterate]:
        mean: Iterate | None = None
        for t, at in enumerate(iterates, 1):
            share = 1.0 / t if average == "uniform" else 2.0 / (t + 1)
            mean = at if mean is None else mean.towards(at, share)
            yield mean

    return means()


def all_samples() -> Iterator[Index | slice]:
    """Yield batches without end, each of all samples."""
    while True:
        yield slice(None)


def batches(n: int, size: int, seed: int) -> Iterator[Index | slice]:
    """Yield consecutive batches of the samples, shuffled for every pass."""
    require_count(size, "batch_size")
    if size > n:
        raise InvalidParameterError(
            f"batch_size is {size}, and there are {n} samples; pass at most as many."
        )
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InvalidParameterError(f"seed is {seed!r}; pass a whole number of at least 0.")
    draw = np.random.default_rng(seed)

    def stream() -> Iterator[Index | slice]:
        while True:
            order = draw.permutation(n)
            for first in range(0, n, size):
                yield order[first : first + size]

    return stream()
