"""Backends ``"classical:smo"`` and others: the methods of the textbooks, for comparison.

``qpsvm.classical`` has the same methods with their traces. Here they are what any backend is: a
program in, a point with its multipliers out, and a claim that the caller verifies.
"""

from __future__ import annotations

import math
from dataclasses import asdict

import numpy as np

from qpsvm.backends.base import Backend, Capabilities, Clock, Settings
from qpsvm.backends.options import settings_from_options
from qpsvm.exceptions import InvalidParameterError, UnknownBackendError
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.interrupts import keep_best
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, SolveStatistics, Status
from qpsvm.solvers.classical.methods import MAX_STEPS, METHODS, run
from qpsvm.solvers.classical.program import DualProgram
from qpsvm.solvers.classical.settings import ClassicalSettings


class ClassicalBackend(Backend):
    """A textbook's method for programs over a box with at most one equality row: SVM duals.

    Options are the fields of ``qpsvm.solvers.classical.settings.ClassicalSettings``.

    Parameters
    ----------
    method : str
        ``"smo"``, ``"dual-ascent"``, ``"slsqp"``, ``"coordinate-descent"`` (no equality row),
        ``"frank-wolfe"`` (bounded boxes) or ``"admm"``.

    Raises
    ------
    UnknownBackendError
        Another method.
    """

    name = "classical"
    licence = "Apache-2.0"
    distribution = "qpsvm"
    required_modules = ()
    capabilities = Capabilities(bounds=True, warm_start=True, time_limit=True, callback=True)
    prints_iterations = False

    def __init__(self, method: str) -> None:
        if method not in METHODS:
            raise UnknownBackendError(
                f"There is no classical method {method!r}; choose from "
                f"{', '.join(f'classical:{name}' for name in METHODS)}."
            )
        self.method = method

    @property
    def label(self) -> str:
        return f"{self.name}:{self.method}"

    @np.errstate(all="ignore")  # overflow becomes a gap that is not finite, and no claim
    def _solve(self, program: QuadraticProgram, settings: Settings) -> QPSolution:
        own = settings_from_options(ClassicalSettings, settings.options, self.label)
        if own.check_growth < 1.0 or own.first_check < 1:
            raise InvalidParameterError(
                f"first_check is {own.first_check!r} and check_growth {own.check_growth!r}; pass "
                "numbers of at least 1."
            )
        dual = DualProgram.of(program, self.label)
        clock = Clock(self.label, settings)
        watcher = _Watcher(dual, clock, own, settings.max_iterations or MAX_STEPS[self.method])
        start = dual.start(_known(settings.warm_start, dual.size))

        def solution() -> QPSolution:
            x = start if watcher.x is None else watcher.x
            if watcher.status is None:  # the method ended by itself, or Ctrl-C did
                watcher.measure(x)
            status = watcher.status or Status.INACCURATE
            return dual.solution(x).replace(
                status=status,
                native_status=f"{status.value} (gap {watcher.gap:.1e})",
                statistics=SolveStatistics(
                    iterations=watcher.steps, solve_seconds=clock.seconds, settings=asdict(own)
                ),
            )

        try:
            run(self.method, program, dual, start, own, watcher.visit)
        except KeyboardInterrupt as error:
            keep_best(error, solution)
            raise
        return solution()


class _Watcher:
    """Counts steps, measures the gap at some of them, and decides when to stop."""

    def __init__(
        self, dual: DualProgram, clock: Clock, own: ClassicalSettings, max_steps: int
    ) -> None:
        self.dual, self.clock, self.own, self.max_steps = dual, clock, own, max_steps
        self.x: Vector | None = None
        self.status: Status | None = None
        self.gap = math.inf
        self.steps = 0
        self._next = own.first_check

    def visit(self, x: Vector) -> bool:
        self.steps += 1
        self.x = x
        is_last = self.steps >= self.max_steps
        if self.steps < self._next and not is_last and not self.clock.deadline.has_passed():
            return False
        self._next = max(self.steps + 1, math.ceil(self.own.check_growth * self.steps))
        value = self.measure(x)
        gap = self.gap if math.isfinite(self.gap) else None
        reason = self.clock.report(self.steps, value, gap, gap)
        if self.status is None:
            self.status = reason or (Status.ITERATION_LIMIT if is_last else None)
        if not math.isfinite(value):
            self.status = self.status or Status.FAILED
        return self.status is not None

    def measure(self, x: Vector) -> float:
        """Evaluate the objective at the feasible point nearest to x, and keep that point."""
        self.x = x = self.dual.project(x)
        g = self.dual.gradient(x)
        self.gap = self.dual.relative_gap(x, g, self.dual.multiplier(x, g))
        if self.gap <= self.clock.settings.eps:
            self.status = Status.OPTIMAL
        return 0.5 * float(x @ (g + self.dual.q))


def _known(warm: QPSolution | None, n: int) -> Vector | None:
    """Return the x of a warm start if it has the program's size, else None."""
    if warm is None or warm.x is None or warm.x.shape != (n,) or not np.isfinite(warm.x).all():
        return None
    return np.array(warm.x)
