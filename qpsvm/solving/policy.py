"""The solve policy: the steps of one call of ``qpsvm.solve``, in order, under one deadline.

``STEPS`` is the list that the docstring of ``qpsvm.solve`` shows. A step takes a ``SolveState`` and
returns the next one; it is left out where it does not apply. An attempt is the part of the list
that begins with a backend and ends with its polish: the second attempt and the second backend run
it again. Every step, and every search within it, looks at the same deadline.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

import numpy as np

from qpsvm.backends import registry
from qpsvm.backends.base import Backend, Settings
from qpsvm.exceptions import BackendError
from qpsvm.machines.dual_program import DualRecovery
from qpsvm.machines.primal_program import primal_program
from qpsvm.machines.problem import Program, SVMProblem
from qpsvm.machines.routes import ByPrimal, Direct, route_of
from qpsvm.numerics.deadline import Deadline
from qpsvm.numerics.interrupts import TimeIsUp, best_known, keep_best, map_best, working_until
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.reductions import Reduced
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.solvers.common import WorkBudget
from qpsvm.solvers.polish import WORK_LIMIT, polish
from qpsvm.solving.attempts import NO_OPTIMUM, Attempt, Contract, is_blocked
from qpsvm.solving.polish_distance import PolishDistance
from qpsvm.solving.settings import POLICY
from qpsvm.solving.state import Call, Result, SolveState

BY_PRIMAL = (
    "the columns differ by orders of magnitude: the primal program is solved, by CVXOPT, which "
    "keeps the most digits"
)

WEIGHTS = "the primal program is solved: its weights are not sums over a rounded alpha"

NO_WARM_START = "the warm start was not used: this backend cannot begin at a given point"

_STOPPED = (Status.ITERATION_LIMIT, Status.TIME_LIMIT, Status.INTERRUPTED)


@dataclass(frozen=True)
class Step:
    """One step of a solve: a name, an action, and when to skip it."""

    name: str
    act: Callable[[SolveState], SolveState]
    improves: Callable[[SolveState], bool] | None = None

    def applies(self, state: SolveState) -> bool:
        """Return whether this step of the solve is needed for the present answer."""
        return self.improves is None or (not state.best.is_settled and self.improves(state))


def solve_by_policy(
    problem: Program,
    backend: str | Backend,
    settings: Settings,
) -> Result:
    """Carry out the steps for any kind of problem.

    Parameters
    ----------
    problem : TrainingProblem or QuadraticProgram
    backend : str or Backend
    settings : Settings
        Their warm start is a solution of the program as given; their deadline, if any, is the
        call's.
    """
    settings = settings.started()
    assert settings.deadline is not None
    clock = settings.deadline.clock
    call, seconds = Call(problem, backend, settings, clock()), dict[str, float]()
    state, ended = _first_state(call), call.began
    try:
        for step in STEPS:
            if step.applies(state):
                state = step.act(state)
                began, ended = ended, clock()
                seconds[step.name] = ended - began
    except KeyboardInterrupt as error:
        _keep_better(error, state)
        map_best(error, lambda found: _interrupted(state, found))
        raise
    result = _result(state, seconds=seconds, asked=state.asked)
    seconds[STEPS[-1].name] += clock() - ended  # in the statistics, too
    return result


def _keep_better(error: KeyboardInterrupt, state: SolveState) -> None:
    """Let an interrupt carry the better of the answer under way and the best one before it."""
    before = state.found
    if before is None:
        return
    if best_known(error) is None:
        keep_best(error, lambda: before)
    else:
        map_best(error, before.better_of)


def _interrupted(state: SolveState, found: Attempt) -> Result:
    """Build the result of a solve that Ctrl-C ended."""
    solution = found.solution.replace(status=Status.INTERRUPTED)
    return _result(replace(state, found=replace(found, solution=solution)))


# --- backends in turn ----------------------------------------------------------------------------


def _first_state(call: Call) -> SolveState:
    """Choose the backend and reduce the program."""
    route, settings = route_of(call.problem, any_form=call.is_auto), call.settings
    name, reason = call.backend, ""
    if call.is_auto and isinstance(route, ByPrimal):
        name, reason = "cvxopt", BY_PRIMAL
    elif call.is_auto:
        name, reason = registry.choose(route.reduced.program)
    call = _with_time_to_verify(call, route.reduced.program)
    contract = Contract(call.problem, route, _resolved(name), settings)
    if settings.warm_start is not None:
        settings = settings.replace(warm_start=route.start(settings.warm_start))
    first = SolveState(call, contract, settings, call.deadline, reason=reason)
    if not call.is_auto:
        return first
    stands_by = registry.stands_by(route.reduced.program, contract.backend.label)
    if contract.backend.watches_progress and not stands_by:
        return first
    gives_way = stands_by and settings.max_iterations is None
    share = call.deadline.share(POLICY.first_share)
    return replace(first, settings=settings.replace(gives_way=gives_way), deadline=share)


def _with_time_to_verify(call: Call, program: QuadraticProgram) -> Call:
    """Set aside the time that the last verification takes, where there is a limit.

    It evaluates the kernel between all samples and the support vectors, which may be any.
    """
    deadline, P = call.deadline, program.P
    if not (deadline.is_set and isinstance(P, KernelQuadratic)) or P.gram.is_kept:
        return call
    n = P.gram.size
    rows = np.arange(0, n, max(1, n * n // POLICY.timed_entries))
    began = deadline.clock()
    P.gram.block(rows, np.arange(n))
    whole = (deadline.clock() - began) * n / len(rows)
    reserve = min(POLICY.support_share * whole, POLICY.largest_reserve * deadline.remaining())
    earlier = Deadline(deadline.at - reserve, deadline.clock)
    return replace(call, settings=call.settings.replace(deadline=earlier))


def _others(state: SolveState) -> Iterator[SolveState]:
    """Yield the initial state of every further backend, or program of the same machine."""
    call, first = state.call, state.contract
    route, settings = first.route, call.settings
    if _has_weights_in_its_primal(call.problem) and isinstance(route, Direct):
        primal = Reduced.of(primal_program(call.problem.model))
        backend = _resolved(registry.choose(primal.program)[0])
        contract = Contract(call.problem, ByPrimal(call.problem, primal), backend, settings)
        start = settings.replace(warm_start=None)
        yield SolveState(call, contract, start, call.deadline, reason=WEIGHTS)
    if isinstance(route, ByPrimal):  # the problem's own program rounds in another way
        route = route_of(call.problem, any_form=False)
        name, reason = registry.choose(route.reduced.program)
    else:
        name, reason = registry.choose_again(route.reduced.program, first.backend.label)
    contract = Contract(call.problem, route, _resolved(name), call.settings)
    if settings.warm_start is not None:
        settings = settings.replace(warm_start=route.start(settings.warm_start))
    yield SolveState(call, contract, settings, call.deadline, reason=reason)
    if state.gave_way:
        reason = f"{name} did not succeed either, and {first.backend.label} goes on to its end"
        yield SolveState(call, first, settings, call.deadline, reason=reason)


def _has_weights_in_its_primal(problem: Program) -> TypeGuard[SVMProblem]:
    """Return whether the weights of a dual program are variables of its primal program."""
    if not isinstance(problem, SVMProblem) or not isinstance(problem.recovery, DualRecovery):
        return False
    return problem.model.is_linear


def _resolved(backend: str | Backend) -> Backend:
    return registry.get(backend) if isinstance(backend, str) else backend


# --- the steps of an attempt ---------------------------------------------------------------------


def _ask(state: SolveState) -> SolveState:
    """Solve the program with this state's backend."""
    backend = state.contract.backend
    state.announce_start()
    settings = state.settings.replace(deadline=state.deadline)
    try:
        with working_until(state.deadline.has_passed):
            answer = backend.solve(state.contract.program, settings)
    except TimeIsUp as stop:
        answer = _out_of_time(stop, backend)
    except KeyboardInterrupt as error:
        map_best(error, state.contract.attempt)
        raise
    if state.call.settings.warm_start is not None and not backend.capabilities.warm_start:
        notes = filter(None, (answer.statistics.note, NO_WARM_START))
        answer = answer.with_statistics(note="; ".join(notes))
    return replace(state, answer=answer, asked=(*state.asked, backend.label))


def _out_of_time(stop: TimeIsUp, backend: Backend) -> QPSolution:
    """Return the best point of a backend that was left at the deadline."""
    best = best_known(stop)
    if best is None:
        early = QPSolution(Status.TIME_LIMIT, native_status="stopped: time limit")
        return early.with_statistics(backend=backend.label, version=backend.version())
    found: QPSolution = best()
    return found.replace(status=Status.TIME_LIMIT)


def _measure(state: SolveState) -> SolveState:
    """Let the verifier measure the backend's answer, and drop a status that is not proven."""
    contract, answer = state.contract, state.answer
    assert answer is not None
    if answer.status in NO_OPTIMUM and not contract.is_proof(answer):
        answer = answer.replace(status=Status.UNKNOWN)
    try:
        return replace(state, found=contract.attempt(answer))
    except KeyboardInterrupt as error:
        keep_best(error, lambda: contract.attempt(answer))
        raise


def _repair(state: SolveState) -> SolveState:
    """Move the answer onto rows and bounds that it slightly violates."""
    return replace(state, found=state.best.repaired(state.deadline))


def _may_polish(state: SolveState) -> bool:
    if not state.is_open or state.was_interrupted or state.gave_way:
        return False
    return not (state.best.is_at_rounding and state.best.is_hopeless)


def _polish(state: SolveState) -> SolveState:
    """Polish the answer by solving for its active set."""
    state.announce("polish")
    contract, best = state.contract, state.best
    try:
        with working_until(state.deadline.has_passed):
            polished = polish(
                contract.program,
                best.solution,
                goal=contract.settings.eps * POLICY.polish_share,
                measure=PolishDistance(best),
                budget=WorkBudget(limit=WORK_LIMIT, deadline=state.deadline),
            )
    except TimeIsUp:
        return state
    if polished is best.solution:
        return state
    found = contract.attempt(polished)
    if not (found.is_settled or is_blocked(found.report) or state.deadline.has_passed()):
        found = found.repaired(state.deadline)
    return replace(state, found=best.better_of(found))


# --- the steps after it --------------------------------------------------------------------------


def _may_attempt_again(state: SolveState) -> bool:
    status = state.best.solution.status
    if not state.is_open or status in (Status.TIME_LIMIT, Status.INTERRUPTED) or state.gave_way:
        return False
    if status is Status.ITERATION_LIMIT and state.settings.max_iterations is not None:
        return False  # the caller wanted it so
    return not (state.best.is_contradicted or state.best.is_at_rounding)


def _attempt_again(state: SolveState) -> SolveState:
    """Solve again with the same backend, a smaller ``eps`` and no warm start."""
    state.announce("escalate")
    first, eps = state.best, state.call.settings.eps
    tighter = max(eps * POLICY.tighter, POLICY.smallest_eps)
    settings = state.settings.replace(eps=tighter, attempt=1, warm_start=None)
    second = _run(ATTEMPT, replace(state, settings=settings, found=None))
    spent = first.solution.statistics.solve_seconds
    total = spent + second.best.solution.statistics.solve_seconds
    found = second.best if second.best.is_settled else first.better_of(second.best)
    solution = found.solution.with_statistics(solve_seconds=total, escalated=True)
    return replace(state, found=replace(found, solution=solution), asked=second.asked)


def _may_ask_another(state: SolveState) -> bool:
    """Return whether ``"auto"`` asks a second backend after an answer that does not pass."""
    if not state.call.is_auto or state.best.is_settled or state.call.deadline.has_passed():
        return False
    status, best = state.best.solution.status, state.best
    if best.is_contradicted:
        return False
    if isinstance(state.contract.route, ByPrimal):
        if status in (Status.TIME_LIMIT, Status.INTERRUPTED) and not state.reached_own_limit:
            return False
        rounding = state.contract.route.gradient_rounding(best.own.solution.qp)
        hopeless = rounding > POLICY.hopeless * state.call.settings.eps
        return not (best.is_at_rounding and hopeless)
    return (status not in _STOPPED or state.reached_own_limit) and not best.is_at_rounding


def _ask_another(state: SolveState) -> SolveState:
    """Repeat the steps with a second backend; resume the first if it gave way."""
    for other in _others(state):
        replace(state, contract=other.contract).announce("second backend")
        first = state.best
        try:
            second = _run((*ATTEMPT, SECOND_ATTEMPT), replace(other, asked=state.asked))
        except (BackendError, MemoryError) as error:  # what the first one found is not lost
            name = other.contract.backend.label
            reason = f"{state.reason}; then {name!r} could not take the program: {error}"
            state = replace(state, reason=reason)
            continue
        state = replace(state, asked=second.asked)
        if second.best.is_settled:
            return replace(second, found=second.best)
        if not first.is_at_rounding:
            found = first.better_of(second.best)
            state = replace(state, contract=second.contract, found=found, reason=second.reason)
        if state.call.deadline.has_passed():
            break
    return state.with_all_time()


def _may_have_no_optimum(state: SolveState) -> bool:
    if not state.is_open or state.was_interrupted or not state.contract.can_lack_an_optimum:
        return False
    bound = state.best.report.bound
    if bound is not None and math.isfinite(bound.relative_gap):
        return False  # the objective is bounded from below, and a feasible point is known
    return not state.best.report.worst < POLICY.optimum_within


def _search_briefly(state: SolveState) -> SolveState:
    """Search briefly for a proof that there is no optimum, before the polish."""
    return _search(state, POLICY.first_search_seconds)


def _search_longer(state: SolveState) -> SolveState:
    return _search(state.with_all_time(), POLICY.search_seconds)


def _search(state: SolveState, at_most: float) -> SolveState:
    try:
        with working_until(state.deadline.has_passed):
            evidence = state.contract.evidence(at_most, state.deadline)
    except TimeIsUp:
        return state
    if evidence is None:
        return state
    solution = evidence.replace(statistics=state.best.solution.statistics)
    own = state.contract.route.evaluate(solution)
    return replace(state, found=Attempt(solution, state.best.report, state.contract, own))


def _decide(state: SolveState) -> SolveState:
    """Set the final status."""
    found = state.best
    status = found.solution.status
    if status not in NO_OPTIMUM:
        status = _status(state)
    if status is not found.solution.status:
        found = replace(found, solution=found.solution.replace(status=status))
        state = replace(state, found=found)
    state.announce("done")
    return state


def _status(state: SolveState) -> Status:
    found = state.best
    if found.report.passed:
        return Status.OPTIMAL
    if found.solution.status in _STOPPED:
        return found.solution.status
    if found.solution.x is None:
        return Status.FAILED
    return Status.TIME_LIMIT if state.call.deadline.has_passed() else Status.INACCURATE


def _result(state: SolveState, **figures: Any) -> Result:
    """Build the solution of the problem as given, with a note and other figures of the solve."""
    found = state.best
    solution, statistics = found.solution, found.solution.statistics
    notes = filter(None, (state.reason, statistics.note, found.contract.route.reduced.note))
    mapped = found.own if isinstance(found.own, QPSolution) else found.own.solution.qp
    qp = mapped.replace(
        status=solution.status,
        native_status=solution.native_status,
        statistics=replace(statistics, note="; ".join(notes), **figures),
    )
    machine = qp if isinstance(found.own, QPSolution) else found.own.solution.replace(qp=qp)
    return Result(qp, machine, found.report)


def _run(steps: tuple[Step, ...], state: SolveState) -> SolveState:
    try:
        for step in steps:
            if step.applies(state):
                state = step.act(state)
    except KeyboardInterrupt as error:
        _keep_better(error, state)
        raise
    return state


def _is_first_attempt(state: SolveState) -> bool:
    return state.settings.attempt == 0 and _may_have_no_optimum(state)


def _may_repair(state: SolveState) -> bool:
    """Return whether to move the answer onto rows and bounds, which can help it pass."""
    if not state.is_open or state.gave_way:
        return False
    return not (is_blocked(state.best.report) or state.best.is_as_accurate_as_rounding_allows)


ATTEMPT = (
    Step("backend", _ask),
    Step("verification", _measure),
    Step("first search for evidence", _search_briefly, _is_first_attempt),
    Step("repair", _repair, _may_repair),
    Step("polish", _polish, _may_polish),
)

SECOND_ATTEMPT = Step("second attempt", _attempt_again, _may_attempt_again)

STEPS = (
    *ATTEMPT,
    SECOND_ATTEMPT,
    Step("second backend", _ask_another, _may_ask_another),
    Step("search for evidence", _search_longer, lambda s: _may_have_no_optimum(s.with_all_time())),
    Step("verdict", _decide),
)
"""The steps of ``qpsvm.solve``, as its docstring lists them."""
