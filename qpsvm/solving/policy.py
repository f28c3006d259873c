"""The solve policy: the steps of one call of ``qpsvm.solve``, in order, under one deadline.

``STEPS`` is the list that the docstring of ``qpsvm.solve`` shows, with the outcomes of the answer
so far for which each step is taken. The first five are an attempt: a backend is asked, and its
answer improved. The second attempt and the second backend are attempts of their own. Every step,
and every search within it, looks at the same deadline.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any

import numpy as np

from qpsvm.backends import registry
from qpsvm.backends.base import Backend, Progress, Settings
from qpsvm.backends.output import line_of
from qpsvm.exceptions import BackendError
from qpsvm.machines.dual_program import DualRecovery
from qpsvm.machines.primal_program import primal_program
from qpsvm.machines.problem import Program, SVMProblem
from qpsvm.machines.routes import ByPrimal, route_of
from qpsvm.numerics.interrupts import (
    Deadline,
    TimeIsUp,
    best_known,
    keep_best,
    map_best,
    working_until,
)
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.reductions import Reduced
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.solvers.budget import WorkBudget
from qpsvm.solvers.polish import WORK_LIMIT, polish
from qpsvm.solving.attempts import (
    NO_OPTIMUM,
    POLICY,
    Attempt,
    BackendRun,
    Outcome,
    Result,
    result_of,
)
from qpsvm.solving.polishing import polish_distance

UNSETTLED = frozenset(Outcome) - {Outcome.SETTLED, Outcome.LATE}
OF_ROUNDING = frozenset({Outcome.ROUNDED, Outcome.ROUGH, Outcome.UNPOLISHED})

STEPS: dict[str, frozenset[Outcome]] = {
    "backend": frozenset(),
    "verification": frozenset(),
    "first search for evidence": UNSETTLED - {Outcome.INTERRUPTED},
    "repair": UNSETTLED - {Outcome.ROUNDED},
    "polish": UNSETTLED - {Outcome.INTERRUPTED, Outcome.ROUNDED, Outcome.UNPOLISHED},
    "second attempt": frozenset({Outcome.OPEN}),
    "second backend": frozenset({Outcome.OPEN, Outcome.OUT_OF_TIME}),
    "search for evidence": UNSETTLED - {Outcome.INTERRUPTED},
    "verdict": frozenset(),
}
"""The steps of ``qpsvm.solve``, as its docstring lists them, and the outcomes that need them; the
first two and the last are always taken."""

BY_PRIMAL = (
    "the columns differ by orders of magnitude: the primal program is solved, by CVXOPT, which "
    "keeps the most digits"
)
WEIGHTS = "the primal program is solved: its weights are not sums over a rounded alpha"
NO_WARM_START = "the warm start was not used: this backend cannot begin at a given point"

_STOPPED = (Status.ITERATION_LIMIT, Status.TIME_LIMIT, Status.INTERRUPTED)


def solve_by_policy(problem: Program, backend: str | Backend, settings: Settings) -> Result:
    """Carry out the steps for any kind of problem.

    Parameters
    ----------
    problem : TrainingProblem or QuadraticProgram
    backend : str or Backend
    settings : Settings
        Their warm start is a solution of the program as given; their deadline, if any, is the
        call's.
    """
    solve = Solve(problem, backend, settings)
    try:
        solve.take_steps()
    except KeyboardInterrupt as error:
        kept = [found for found in (solve.found, solve.best) if found is not None]
        if kept:
            before = reduce(Attempt.better_of, kept)
            if best_known(error) is None:
                keep_best(error, lambda: before)
            else:
                map_best(error, before.better_of)
        map_best(error, lambda best: result_of(best.with_status(Status.INTERRUPTED)))
        raise
    best = solve.best
    assert best is not None
    note = best.run.reason + solve.declined
    result = result_of(best, reason=note, seconds=solve.seconds, asked=solve.asked)
    solve.mark("verdict")  # in the statistics, too
    return result


class Solve:
    """The state of one call of ``qpsvm.solve``: its arguments, and the best answers so far.

    Parameters
    ----------
    problem : TrainingProblem or QuadraticProgram
    backend : str or Backend
    settings : Settings

    Attributes
    ----------
    run : BackendRun
        The one under way, or the last one.
    found, best : Attempt or None
        Its answer so far; the best one of all.
    asked : tuple of str
        The backends that were asked.
    declined : str
        The backends that could not take the program since the best answer was found, and why.
    seconds : dict of str to float
        By the steps.
    """

    def __init__(self, problem: Program, backend: str | Backend, settings: Settings) -> None:
        self.problem, self.settings = problem, settings.started()
        self.clock = self.settings.deadline.clock
        self.began = self.ended = self.clock()
        self.is_auto = isinstance(backend, str) and backend == "auto"
        self.seconds, self.asked = dict[str, float](), tuple[str, ...]()
        self.found: Attempt | None = None
        self.best: Attempt | None = None
        self.declined = ""
        self.run = self._first_run(backend)

    # --- the policy ------------------------------------------------------------------------------

    def take_steps(self) -> None:
        """Take every step that the outcome of the answer so far needs."""
        runs = [self.run]
        for run in runs:
            try:
                found = self.best_of(run)
            except (BackendError, MemoryError) as error:
                if self.best is None:
                    raise
                name = run.backend.label  # what the first one found is not lost
                self.declined += f"; then {name!r} could not take the program: {error}"
                self.mark(run.step)
                continue
            if found.is_settled or self.deadline.has_passed():
                break
            if len(runs) == 1 and self.is_auto and self.needs_another_backend(found):
                runs += self.further_runs()
        assert self.best is not None
        self.found, self.run = self.best, self.best.run
        if self.needs_certificate_search("search for evidence"):
            self.run = self.run.with_settings(deadline=self.deadline)
            self.best = self.search(POLICY.search_seconds)
            self.mark("search for evidence")
        self.best = self.best.with_status(self.verdict(self.best))
        self.report("done", self.best)
        self.mark("verdict")

    def best_of(self, run: BackendRun) -> Attempt:
        """Ask a backend, a second time where that may help; keep its best answer and return it."""
        before, self.run = self.best, run
        found = self.keep(self.attempt(), before)
        if self.needs("second attempt"):
            self.run = run.second_attempt()
            found = self.keep(found.followed_by(self.attempt()), before)
        return found

    def attempt(self) -> Attempt:
        """Run the backend, then verify its answer and improve it if it misses the tolerance."""
        run, found = self.run, self.answer()
        if not run.settings.attempt and self.needs_certificate_search("first search for evidence"):
            found = self.search(POLICY.first_search_seconds)
            self.mark(run.step or "first search for evidence")
        if self.needs("repair"):
            found = self.found = found.repaired(run.settings.deadline)
            self.mark(run.step or "repair")
        if self.needs("polish"):
            found = self.polish(found)
            self.mark(run.step or "polish")
        return found

    def needs(self, step: str) -> bool:
        """Return whether a step of ``STEPS`` is to be taken, after what the attempt has found."""
        return self.outcome(self.run.settings.deadline) in STEPS[step]

    def needs_certificate_search(self, step: str) -> bool:
        """Return whether a search for a certificate is needed: an optimum need not exist."""
        assert self.found is not None
        is_useful = self.run.may_lack_an_optimum(self.found.report)
        return is_useful and self.needs(step)

    def outcome(self, deadline: Deadline) -> Outcome:
        """Outcome of the attempt under way: by its report, and by how the backend ended."""
        found, settings = self.found, self.run.settings
        assert found is not None
        status = found.solution.status
        is_short = status is Status.ITERATION_LIMIT
        if found.is_settled:
            outcome = Outcome.SETTLED
        elif deadline.has_passed():
            outcome = Outcome.LATE
        elif status is Status.INTERRUPTED:
            outcome = Outcome.INTERRUPTED
        elif found.outcome is not Outcome.OPEN:
            outcome = found.outcome
        elif is_short and settings.max_iterations is not None:
            outcome = Outcome.AT_LIMIT
        else:
            outcome = Outcome.OUT_OF_TIME if status is Status.TIME_LIMIT else Outcome.OPEN
        return outcome

    def needs_another_backend(self, found: Attempt) -> bool:
        """Return whether the first backend of ``"auto"`` is followed by others.

        Also where rounding alone keeps an answer by the primal program from passing, and the
        problem's own program rounds less.
        """
        outcome, route = self.outcome(self.deadline), self.run.route
        if outcome in OF_ROUNDING and isinstance(route, ByPrimal):
            rounding = route.gradient_rounding(found.own.solution.qp)
            return rounding <= POLICY.gradient_rounding_limit * self.settings.eps
        return outcome in STEPS["second backend"]

    def verdict(self, found: Attempt) -> Status:
        """Return the final status of an answer."""
        status = found.solution.status
        if status in NO_OPTIMUM:
            return status
        if found.report.passed:
            return Status.OPTIMAL
        if status in _STOPPED:
            return status
        if found.solution.x is None:
            return Status.FAILED
        return Status.TIME_LIMIT if self.deadline.has_passed() else Status.INACCURATE

    def keep(self, found: Attempt, before: Attempt | None) -> Attempt:
        """Record a backend's answer, and whether it or an earlier backend's is the best so far."""
        self.found = self.best = found
        if before is not None and not found.is_settled:
            if before.outcome in OF_ROUNDING:
                self.best = before
                return found
            self.best = before.better_of(found)
        self.declined = ""
        return found

    # --- backends in turn ------------------------------------------------------------------------

    @property
    def deadline(self) -> Deadline:
        """Deadline of the whole call, without the time that the last verification takes."""
        return self.settings.deadline

    def _first_run(self, backend: str | Backend) -> BackendRun:
        """Choose the backend and reduce the program."""
        route = route_of(self.problem, any_form=self.is_auto)
        program, name, reason = route.reduced.program, backend, ""
        if self.is_auto and not route.is_own:
            name, reason = "cvxopt", BY_PRIMAL
        elif self.is_auto:
            name, reason = registry.choose(program)
        self._set_time_aside(program)
        first = self._run_of(route, name, reason)
        if not self.is_auto:
            return first
        chosen = first.backend
        has_fallback = registry.choose_again(program, chosen.label)[0] != "osqp"  # it is slower
        if chosen.watches_progress and not has_fallback:
            return first
        return first.with_settings(deadline=self.deadline.share(POLICY.first_share))

    def _run_of(
        self, route: Any, backend: str | Backend, reason: str, step: str = ""
    ) -> BackendRun:
        named = registry.get(backend) if isinstance(backend, str) else backend
        settings = self.settings
        if settings.warm_start is not None:
            settings = settings.replace(warm_start=route.start(settings.warm_start))
        return BackendRun(self.problem, route, named, settings.eps, settings, reason, step)

    def _set_time_aside(self, program: QuadraticProgram) -> None:
        """Set aside the time that the last verification takes, where there is a limit.

        It evaluates the kernel between all samples and the support vectors, which may be any.
        """
        deadline, P = self.deadline, program.P
        if not (deadline.is_set and isinstance(P, KernelQuadratic)) or P.gram.is_kept:
            return
        n = P.gram.size
        rows = np.arange(0, n, max(1, n * n // POLICY.timed_entries))
        began = self.clock()
        P.gram.block(rows, np.arange(n))
        whole = (self.clock() - began) * n / len(rows)
        reserve = min(POLICY.support_share * whole, POLICY.largest_reserve * deadline.remaining())
        self.settings = self.settings.replace(deadline=Deadline(deadline.at - reserve, self.clock))

    def further_runs(self) -> Iterator[BackendRun]:
        """Yield an attempt for every further backend, or program of the same machine."""
        first, problem, step = self.run, self.problem, "second backend"
        route = first.route
        if (
            route.is_own
            and isinstance(problem, SVMProblem)
            and isinstance(problem.recovery, DualRecovery)
            and problem.model.is_linear
        ):
            primal = Reduced.of(primal_program(problem.model))
            by_primal = ByPrimal(problem, primal)
            run = self._run_of(by_primal, registry.choose(primal.program)[0], WEIGHTS, step)
            yield run.with_settings(warm_start=None)
        if not route.is_own:  # the problem's own program rounds in another way
            route = route_of(problem, any_form=False)
            name, reason = registry.choose(route.reduced.program)
        else:
            name, reason = registry.choose_again(route.reduced.program, first.backend.label)
        yield self._run_of(route, name, reason, step)

    # --- the steps of an attempt -----------------------------------------------------------------

    def answer(self) -> Attempt:
        """Run one backend once and verify its answer."""
        run = self.run
        backend, program = run.backend, run.program
        if run.settings.attempt:
            self.report("escalate", self.found)
        elif self.best is not None:
            self.report("second backend", self.best)
        self.found = None
        size = program.n_variables, program.n_inequalities + program.n_equalities
        self.report("start", n_variables=size[0], n_rows=size[1])
        try:
            with working_until(run.settings.deadline.has_passed):
                answer = backend.solve(program, run.settings)
        except TimeIsUp as stop:
            answer = _out_of_time(stop, backend)
        except KeyboardInterrupt as error:
            map_best(error, run.attempt)
            raise
        if self.settings.warm_start is not None and not backend.capabilities.warm_start:
            notes = filter(None, (answer.statistics.note, NO_WARM_START))
            answer = answer.with_statistics(note="; ".join(notes))
        self.asked += (backend.label,)
        self.mark(run.step or "backend")
        if answer.status in NO_OPTIMUM and not run.is_proof(answer):
            answer = answer.replace(status=Status.UNKNOWN)
        try:
            self.found = run.attempt(answer)
        except KeyboardInterrupt as error:
            keep_best(error, lambda: run.attempt(answer))
            raise
        self.mark(run.step or "verification")
        return self.found

    def polish(self, found: Attempt) -> Attempt:
        """Polish the answer by solving for its active set."""
        self.report("polish", found)
        run, deadline = self.run, self.run.settings.deadline
        try:
            with working_until(deadline.has_passed):
                polished = polish(
                    run.program,
                    found.solution,
                    goal=run.eps * POLICY.further_eps_share,
                    measure=polish_distance(found),
                    budget=WorkBudget(limit=WORK_LIMIT, deadline=deadline),
                )
        except TimeIsUp:
            return found
        if polished is found.solution:
            return found
        moved = run.attempt(polished)
        if not (moved.is_settled or deadline.has_passed()):
            moved = moved.repaired(deadline)
        self.found = found.better_of(moved)
        return self.found

    def search(self, at_most: float) -> Attempt:
        """Search for a proof that there is no optimum, so many seconds; return it, or the answer.

        A proof takes the place of the answer, with its statistics.
        """
        found, run = self.found, self.run
        assert found is not None
        try:
            with working_until(run.settings.deadline.has_passed):
                certificate = run.find_certificate(at_most)
        except TimeIsUp:
            return found
        if certificate is not None:
            solution = certificate.replace(statistics=found.solution.statistics)
            own = run.route.evaluate(solution)
            self.found = found = Attempt(solution, found.report, run, own)
        return found

    # --- progress --------------------------------------------------------------------------------

    def mark(self, step: str) -> None:
        """Count the seconds since the last mark for a step."""
        now = self.clock()
        self.seconds[step] = self.seconds.get(step, 0.0) + now - self.ended
        self.ended = now

    def report(self, stage: str, of: Attempt | None = None, **figures: Any) -> None:
        """Report a stage of the solve, with the figures of an answer, if the caller asked."""
        settings = self.settings
        if not (settings.verbose or settings.callback is not None):
            return
        if of is not None:
            figures = {"objective": of.report.objective, "residual": of.report.worst}
        label = self.run.backend.label
        event = Progress(stage, label, seconds=self.clock() - self.began, **figures)
        if settings.verbose:
            print(line_of(event), flush=True)
        if settings.callback is not None:
            settings.callback(event)


def _out_of_time(stop: TimeIsUp, backend: Backend) -> QPSolution:
    """Return the best point of a backend that was left at the deadline."""
    best = best_known(stop)
    if best is None:
        early = QPSolution(Status.TIME_LIMIT, native_status="stopped: time limit")
        return early.with_statistics(backend=backend.label, version=backend.version())
    found: QPSolution = best()
    return found.replace(status=Status.TIME_LIMIT)
