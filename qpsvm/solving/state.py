"""State of one call of ``qpsvm.solve`` between its steps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from qpsvm.backends.base import Backend, Progress, Settings
from qpsvm.backends.printing import line_of
from qpsvm.machines.problem import Program
from qpsvm.numerics.deadline import NEVER, Deadline
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.solving.attempts import Attempt, Contract
from qpsvm.verification import KKTReport


@dataclass(frozen=True, eq=False)
class Call:
    """The arguments of one call of ``qpsvm.solve``.

    Attributes
    ----------
    problem : TrainingProblem or QuadraticProgram
    backend : str or Backend
    settings : Settings
        With the deadline of the whole call.
    began : float
        Reading of the deadline's clock.
    """

    problem: Program
    backend: str | Backend
    settings: Settings
    began: float

    @property
    def is_auto(self) -> bool:
        """Return whether the backend is left to qpsvm."""
        return isinstance(self.backend, str) and self.backend == "auto"

    @property
    def deadline(self) -> Deadline:
        """Deadline of the whole call."""
        return self.settings.deadline or NEVER

    def seconds(self) -> float:
        """Seconds since the call began."""
        return self.deadline.clock() - self.began


@dataclass(frozen=True, eq=False)
class SolveState:
    """The state of a solve between two steps.

    Attributes
    ----------
    call : Call
    contract : Contract
        The backend that is asked, its program, and how its answers are measured.
    settings : Settings
        What the backend is asked with.
    deadline : Deadline
        Of this backend and its polish; at most the call's.
    answer : QPSolution or None
        What the backend answered, not yet measured.
    found : Attempt or None
        The best answer so far.
    asked : tuple of str
        The backends that were asked.
    reason : str
        Why this backend.
    """

    call: Call
    contract: Contract
    settings: Settings
    deadline: Deadline
    answer: QPSolution | None = None
    found: Attempt | None = None
    asked: tuple[str, ...] = ()
    reason: str = ""

    @property
    def best(self) -> Attempt:
        """Best answer so far; there must be one."""
        assert self.found is not None
        return self.found

    @property
    def is_open(self) -> bool:
        """Return whether the answer is not settled, and time is left to improve it."""
        return not self.best.is_settled and not self.deadline.has_passed()

    @property
    def is_watched(self) -> bool:
        """Return whether the caller asked for progress."""
        return self.call.settings.verbose or self.call.settings.callback is not None

    @property
    def was_interrupted(self) -> bool:
        """Return whether Ctrl-C or the callback stopped the backend."""
        return self.best.solution.status is Status.INTERRUPTED

    @property
    def gave_way(self) -> bool:
        """Return whether the backend stopped for slow progress in favour of another one."""
        is_short = self.best.solution.status is Status.ITERATION_LIMIT
        return is_short and self.settings.gives_way and self.contract.backend.watches_progress

    @property
    def reached_own_limit(self) -> bool:
        """Return whether the backend stopped at a limit that the caller did not set."""
        status = self.best.solution.status
        if status is Status.ITERATION_LIMIT:
            return self.settings.max_iterations is None
        return status is Status.TIME_LIMIT and not self.call.deadline.has_passed()

    def with_all_time(self) -> SolveState:
        """The same state, with the deadline of the whole call."""
        return replace(self, deadline=self.call.deadline)

    def announce_start(self) -> None:
        """Report that the backend begins, with the size of its program, if the caller asked."""
        if not self.is_watched:
            return
        program = self.contract.program
        self._report_progress(
            "start",
            n_variables=program.n_variables,
            n_rows=program.n_inequalities + program.n_equalities,
        )

    def announce(self, stage: str) -> None:
        """Report the next stage with the figures of the best answer, if the caller asked."""
        if not self.is_watched:
            return
        report = self.best.report
        self._report_progress(stage, objective=report.objective, residual=report.worst)

    def _report_progress(self, stage: str, **figures: Any) -> None:
        settings, label = self.call.settings, self.contract.backend.label
        event = Progress(stage, label, seconds=self.call.seconds(), **figures)
        if settings.verbose:
            print(line_of(event), flush=True)
        if settings.callback is not None:
            settings.callback(event)


@dataclass(frozen=True, eq=False)
class Result:
    """Result of a solve: solution, machine and report.

    Attributes
    ----------
    solution : QPSolution
        Of the problem's own program, with its final status.
    machine : object
        The problem's solution: an SVMSolution, a JointSolution, or a bare program's QPSolution.
    report : KKTReport
        What the status rests on.
    """

    solution: QPSolution
    machine: Any
    report: KKTReport
