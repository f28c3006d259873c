"""The driver of every textbook method: it counts steps, looks at checkpoints, and stops."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from qpsvm.numerics.arrays import Vector
from qpsvm.solvers.classical import coordinates, first_order, slsqp
from qpsvm.solvers.classical.program import ClassicalSettings, DualProgram

Method: TypeAlias = Callable[[Callable[[Any], bool]], object]
"""A method as the driver runs it: it hands each iterate to its argument, and ends at True."""


@dataclass
class Driver:
    """One run of a method, measured at its start and at checkpoints until a reason to stop.

    Parameters
    ----------
    measure : callable
        Measures the iterate ``last``. It gets the reason for which the run ends anyway, or "", and
        returns the reason for which it ends, or "" to go on.
    is_late : callable
        Called once per step; True where the time is over.
    last : object
        The start; later the last iterate: weights, dual variables, or both.
    max_steps : int or None
    first : int
        The first checkpoint after the start.
    growth : float
        Ratio of the steps of two further checkpoints, at least 1: a measurement takes longer than
        a step.

    Attributes
    ----------
    steps : int
        Number of steps so far.
    reason : str
        "gap", "seconds", "steps", another word that ``measure`` returned, or "end": the method has
        nothing left to do.
    """

    measure: Callable[[str], str]
    is_late: Callable[[], bool]
    last: Any
    max_steps: int | None
    first: int
    growth: float
    steps: int = 0
    reason: str = ""
    _next: int = 0

    @np.errstate(all="ignore")  # what diverges is noticed at the next checkpoint
    def drive(self, method: Method) -> None:
        """Run a method until it ends by itself or there is a reason to stop."""
        if self._stops(""):
            return
        method(self.visit)
        if not self.reason and self._measured < self.steps:
            self._stops("end")
        self.reason = self.reason or "end"

    def visit(self, iterate: Any) -> bool:
        """Count a step, and measure the iterate if it is a checkpoint or the last one."""
        self.steps += 1
        self.last = iterate
        if self.is_late():
            return self._stops("seconds")
        if self.steps == self.max_steps:
            return self._stops("steps")
        return self.steps >= self._next and self._stops("")

    def _stops(self, reason: str) -> bool:
        self._measured = self.steps
        self._next = max(self.steps + 1, self.first, math.ceil(self.growth * self.steps))
        self.reason = self.measure(reason)
        return self.reason != ""


def following(iterates: Iterator[Any]) -> Method:
    """Turn a stream of iterates into a method that the driver runs."""
    return lambda visit: any(map(visit, iterates))  # up to the first True


# --- the dual methods by name ---------------------------------------------------------------------

Iterates = Callable[[DualProgram, Vector, ClassicalSettings], Iterator[Vector]]
"""A method: from a program and a feasible point to a stream of iterates."""

ITERATES: Mapping[str, Iterates] = {
    "dual-ascent": first_order.projected,
    "smo": coordinates.pairs,
    "coordinate-descent": coordinates.coordinates,
    "frank-wolfe": first_order.vertices,
    "admm": first_order.splittings,
}

MAX_STEPS: Mapping[str, int] = {
    "dual-ascent": 10_000,
    "smo": 100_000,
    "coordinate-descent": 1_000_000,
    "frank-wolfe": 10_000,
    "admm": 10_000,
    "slsqp": 1_000,
}
"""All methods, with the steps after which a backend gives up where its caller names no limit: some
seconds on a thousand samples. A step is a pair of SMO, a variable of coordinate descent, else a
pass over the data."""


def method_of(name: str, dual: DualProgram, x: Vector, settings: ClassicalSettings) -> Method:
    """Return a method by its name, which starts at x when the driver runs it.

    Parameters
    ----------
    name : str
        One of ``MAX_STEPS``.
    dual : DualProgram
    x : array of shape (n,)
        Feasible.
    settings : ClassicalSettings

    Returns
    -------
    Method
        Its iterates may be one array that changes in place. It raises UnsupportedProgramError for
        other programs than its own, and MemoryLimitError where a matrix does not fit.
    """
    if name == "slsqp":
        return partial(slsqp.visit_iterates, dual.program, x)
    return following(ITERATES[name](dual, x, settings))
