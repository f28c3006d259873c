"""Record cost and certified gap of an iterative method, and decide when it stops."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from qpsvm.backends.printing import line_of
from qpsvm.backends.settings import Progress
from qpsvm.certificates.certifying import certificate_of
from qpsvm.classical.result import ClassicalResult, Trace
from qpsvm.classical.settings import Limits, TraceSettings
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arguments import require_flag
from qpsvm.qp.solution import SolveStatistics, Status
from qpsvm.verification import verify

State = TypeVar("State")
"""Type of the iterates of a method: weights, dual variables, or both."""

_STATUS = {"seconds": Status.TIME_LIMIT, "steps": Status.ITERATION_LIMIT}


@dataclass
class Recorder(Generic[State]):
    """The trace of one run: ``begin`` once, ``visit`` after every step, ``result`` at the end.

    Parameters
    ----------
    problem : SVMProblem
    method : str
    machine : callable
        Builds the machine of an iterate; called at checkpoints only, since that takes time.
    limits : Limits
    settings : TraceSettings
    verbose : bool
        Print a line for every checkpoint.
    as_it_is : bool
        Alpha claims to be feasible: a gap that needs a repair is none.

    Raises
    ------
    InvalidParameterError
        ``verbose`` is no flag.
    """

    problem: SVMProblem
    method: str
    machine: Callable[[State], SVMSolution]
    limits: Limits
    settings: TraceSettings
    verbose: bool = False
    as_it_is: bool = False
    _rows: list[tuple[int, float, float, float, float, float]] = field(default_factory=list)
    _solution: SVMSolution | None = None
    _last: State | None = None
    _reason: str = ""
    _step: int = 0
    _next: int = 0
    _began: float = 0.0
    _best: float = math.inf
    _patience: int = 0

    def __post_init__(self) -> None:
        require_flag(self.verbose, "verbose")

    @np.errstate(all="ignore")  # what diverges is noticed at the next checkpoint
    def follow(self, start: State, iterates: Iterator[State]) -> ClassicalResult:
        """Run a method until it ends by itself or a limit is reached.

        Raises
        ------
        KeyboardInterrupt
            Ctrl-C, with the machine of the last checkpoint as its attribute ``solution``.
        """
        try:
            self.begin(start)
            for iterate in iterates:
                if self.visit(iterate):
                    break
            return self.result()
        except KeyboardInterrupt as error:
            vars(error)["solution"] = self._solution
            raise

    def begin(self, start: State) -> None:
        """Certify the start as step 0, and start the clock."""
        self._last = start
        self._record(0.0)
        self._began = self.settings.clock()

    def visit(self, iterate: State) -> bool:
        """Count a step, and certify if it is a checkpoint or the last; True ends the run."""
        self._step += 1
        self._last = iterate
        now = self.settings.clock()
        seconds, limits = now - self._began, self.limits
        if limits.max_seconds is not None and seconds >= limits.max_seconds:
            self._reason = "seconds"
        elif limits.max_steps is not None and self._step >= limits.max_steps:
            self._reason = "steps"
        elif self._step < self._next:
            return False
        self._record(seconds)
        self._began += self.settings.clock() - now  # certificates are not the method's work
        return bool(self._reason)

    def result(self) -> ClassicalResult:
        """The result; the last iterate is certified if that was no checkpoint."""
        if not self._reason:
            if self._rows[-1][0] < self._step:
                self._record(self.settings.clock() - self._began)
            self._reason = self._reason if self._reason in ("gap", "not finite") else "end"
        assert self._solution is not None
        trace = Trace(*map(np.asarray, zip(*self._rows, strict=True)))
        return ClassicalResult(self._judged(self._solution), trace, self.method, self._reason)

    # --- one checkpoint --------------------------------------------------------------------------

    @np.errstate(all="ignore")  # overflow becomes inf or NaN, and fails closed
    def _record(self, seconds: float) -> None:
        assert self._last is not None
        solution, model = self.machine(self._last), self.problem.model
        proof = certificate_of(model, model.evaluate(solution))
        gap = proof.relative_gap_upper
        if self.as_it_is and not proof.repair <= self.settings.feasible:
            gap = math.inf
        cost = proof.primal_objective
        self._rows.append((self._step, cost, proof.dual_objective, gap, proof.repair, seconds))
        self._solution = solution
        self._next = self.settings.after(self._step)
        if self.verbose:
            words = Progress("solve", self.method, self._step, seconds, cost, gap=gap)
            print(line_of(words), flush=True)
        self._decide(cost, gap, solution)

    def _decide(self, cost: float, gap: float, solution: SVMSolution) -> None:
        limits = self.limits
        if cost < self._best - limits.min_change * abs(self._best) or not self._rows[1:]:
            self._best, self._patience = cost, 0
        else:
            self._patience += 1
        if not (np.isfinite(solution.alpha).all() and math.isfinite(solution.intercept)):
            self._reason = "not finite"
        elif gap <= limits.eps and self._step > 0:
            self._reason = "gap"
        elif not self._reason and limits.patience and self._patience >= limits.patience:
            self._reason = "patience"

    def _judged(self, solution: SVMSolution) -> SVMSolution:
        """The solution with its program's point and the verifier's status."""
        with np.errstate(all="ignore"):
            qp = self.problem.to_qp(solution)
            own = SolveStatistics(
                backend=self.method, iterations=self._step, solve_seconds=self._rows[-1][-1]
            )
            stated = solution.replace(qp=qp.replace(statistics=own))
            passed = verify(self.problem, stated, eps=self.limits.eps).passed
        status = Status.OPTIMAL if passed else _STATUS.get(self._reason, Status.INACCURATE)
        words = f"stopped by {self._reason} (gap {self._rows[-1][3]:.1e})"
        return stated.replace(qp=stated.qp.replace(status=status, native_status=words))
