"""The record of a run: cost and certified gap at every checkpoint, and the machine at its end."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Generic

import numpy as np

from qpsvm.backends.settings import Progress, line_of
from qpsvm.certificates.certifying import certificate_of
from qpsvm.classical.result import ClassicalResult, Trace
from qpsvm.classical.settings import Limits
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.solution import SVMSolution
from qpsvm.qp.solution import SolveStatistics, Status
from qpsvm.solvers.classical.driver import Driver, Method, State
from qpsvm.verification import verify

_STATUSES = {"seconds": Status.TIME_LIMIT, "steps": Status.ITERATION_LIMIT}


class Recorder(Generic[State]):
    """Certifies the machines of a run at the checkpoints of its driver.

    Parameters
    ----------
    problem : SVMProblem
    name : str
        Name of the method.
    machine : callable
        Builds the machine of an iterate; called at checkpoints only, since that takes time.
    start : object
        The iterate before the first step.
    limits : Limits
    as_it_is : bool
        Alpha claims to be feasible: a gap that needs a repair is none.
    """

    def __init__(
        self,
        problem: SVMProblem,
        name: str,
        machine: Callable[[State], SVMSolution],
        start: State,
        limits: Limits,
        *,
        as_it_is: bool = False,
    ) -> None:
        self.problem, self.name, self.machine = problem, name, machine
        self.limits, self.as_it_is = limits, as_it_is
        spacing, most = limits.settings, limits.max_steps
        self.driver = Driver(
            self._measure, self._is_late, start, most, spacing.first, spacing.growth
        )
        self.rows: list[tuple[int, float, float, float, float, float]] = []
        self.solution: SVMSolution | None = None
        self._began = self._now = 0.0
        self._best, self._idle = math.inf, 0

    def run(self, method: Method[State]) -> ClassicalResult:
        """Run a method until it ends by itself or a limit is reached.

        Raises
        ------
        KeyboardInterrupt
            Ctrl-C, with the machine of the last checkpoint as its attribute ``solution``.
        """
        self._began = self._now = self.limits.settings.clock()
        try:
            self.driver.drive(method)
            solution = self._judged()
        except KeyboardInterrupt as error:
            vars(error)["solution"] = self.solution
            raise
        trace = Trace(*map(np.asarray, zip(*self.rows, strict=True)))
        return ClassicalResult(solution, trace, self.name, self.driver.reason)

    def _is_late(self) -> bool:
        self._now = self.limits.settings.clock()
        limit = self.limits.max_seconds
        return limit is not None and self._now - self._began >= limit

    def _measure(self, reason: str) -> str:
        """Certify the last iterate, and decide whether the run ends."""
        limits, step, seconds = self.limits, self.driver.steps, self._now - self._began
        solution, model = self.machine(self.driver.last), self.problem.model
        self.solution = solution
        proof = certificate_of(model, model.evaluate(solution))
        cost, gap = proof.primal_objective, proof.relative_gap_upper
        if self.as_it_is and not proof.repair <= limits.settings.feasible:
            gap = math.inf
        self.rows.append((step, cost, proof.dual_objective, gap, proof.repair, seconds))
        if limits.verbose:
            words = Progress("solve", self.name, step, seconds, cost, gap=gap)
            print(line_of(words), flush=True)
        if cost < self._best - limits.min_change * abs(self._best) or step == 0:
            self._best, self._idle = cost, 0
        else:
            self._idle += 1
        self._began += limits.settings.clock() - self._now  # certificates are not its work
        if not (np.isfinite(solution.alpha).all() and math.isfinite(solution.intercept)):
            return "not finite"
        if gap <= limits.eps:
            return "gap"
        is_idle = limits.patience is not None and self._idle >= limits.patience
        return reason or ("patience" if is_idle else "")

    @np.errstate(all="ignore")  # overflow becomes inf or NaN, and fails closed
    def _judged(self) -> SVMSolution:
        """The last machine with its program's point and the verifier's status."""
        assert self.solution is not None
        step, *_, gap, _, seconds = self.rows[-1]
        own = SolveStatistics(backend=self.name, iterations=step, solve_seconds=seconds)
        qp = self.problem.to_qp(self.solution).replace(statistics=own)
        stated = self.solution.replace(qp=qp)
        reason = self.driver.reason
        passed = verify(self.problem, stated, eps=self.limits.eps).passed
        status = Status.OPTIMAL if passed else _STATUSES.get(reason, Status.INACCURATE)
        words = f"stopped by {reason} (gap {gap:.1e})"
        return stated.replace(qp=qp.replace(status=status, native_status=words))
