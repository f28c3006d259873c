"""Solves on samples in chunks: guess, narrow down, solve for the open samples, prove.

1. *Guess*: machines trained on rows that the first pass chose at random, with an estimate of the
   error of their decision values.
2. *Newton pass*, while memory allows no band of several times that error: gradient and Hessian of
   the losses, their kinks rounded off, over all samples; the error falls to a fraction.
3. *Band pass*: samples outside the band are decided, those inside are solved for in memory. The
   dual point that this gives bounds the optimum from below, whether the decisions were right or
   not; the next pass measures the machine, which bounds it from above. Where memory has room for
   every violated condition, all of them are open, and only those on the right side are decided.
Every pass measures the machine at its centre, so the gap is known after every pass but the first;
and the objective at several machines on the way to it, in case that the step was too long.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from qpsvm.backends.base import Backend, Progress, Settings
from qpsvm.backends.registry import choose, get
from qpsvm.chunked.checkpoints import BAND, NEWTON, State, load, save
from qpsvm.chunked.guess import RowSample, first_guess
from qpsvm.chunked.problem import ChunkedProblem
from qpsvm.chunked.settings import PassSettings
from qpsvm.chunked.solution import ChunkedSolution, PassStatistics
from qpsvm.chunked.steps import Steps
from qpsvm.numerics.arguments import explains_calls
from qpsvm.numerics.interrupts import NEVER, Deadline, drop_best, keep_best
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.reductions import Reduced
from qpsvm.qp.solution import QPSolution, Status


@explains_calls
def solve_chunked(
    problem: ChunkedProblem, backend: str | Backend, settings: Settings
) -> ChunkedSolution:
    """Train a machine on samples in chunks; programs over open samples go to the backend.

    Parameters
    ----------
    problem : ChunkedProblem
    backend : str or Backend
    settings : Settings
        Their ``options`` are those of ``PassSettings``, their iterations are passes.

    Returns
    -------
    ChunkedSolution
        Its certificate says what was reached.

    Raises
    ------
    InvalidParameterError
        An unknown option.
    KeyboardInterrupt
        Ctrl-C; it carries the best machine so far, if a pass has measured one.
    """
    own, deadline = PassSettings.of(settings.options), settings.deadline or NEVER
    if settings.max_iterations is not None:
        own = replace(own, max_passes=min(own.max_passes, settings.max_iterations))

    def solve_program(program: QuadraticProgram, eps: float) -> QPSolution:
        # no verdict on it is needed: the pass that follows bounds the whole problem
        reduced = Reduced.of(program)
        name = choose(reduced.program)[0] if backend == "auto" else backend
        solver = get(name) if isinstance(name, str) else name
        inner = Settings(eps=min(eps, own.loosest_eps), deadline=deadline)
        return reduced.inverse(solver.solve(reduced.program, inner))

    steps = Steps(problem, RowSample.of(problem), own, solve_program, settings.eps)
    solution = solve_in_passes(steps, settings, deadline)
    if solution.status is not Status.ITERATION_LIMIT:
        return solution
    # one more pass, that of ``qpsvm.verify``, decides: the passes carry bounds along with their
    # rounding, and those of a single pass may be narrower
    try:
        certificate = problem.certified(solution)
    except KeyboardInterrupt as error:
        keep_best(error, lambda: replace(solution, status=Status.INTERRUPTED))
        raise
    if not certificate.passed(settings.eps):
        return solution
    return replace(solution, status=Status.OPTIMAL, certificate=certificate)


def solve_in_passes(steps: Steps, settings: Settings, deadline: Deadline) -> ChunkedSolution:
    """Train a machine on samples in chunks, in a few passes over them.

    Parameters
    ----------
    steps : Steps
        The steps between passes, for a problem and the relative gap to be certified.
    settings : Settings
        ``verbose`` prints a line after every pass, with Dask's progress bar during it; the
        callback hears of every pass.
    deadline : Deadline
        Looked at after every pass.

    Returns
    -------
    ChunkedSolution

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C; it carries the best machine so far with its certificate, if a pass has measured one.
        A checkpoint stays that of the last pass.
    """
    problem, verbose, state = steps.problem, settings.verbose, None
    try:
        state = _first_state(steps, verbose=verbose)
        # a checkpoint after the last pass needs no other
        status = Status.OPTIMAL if state.certificate(problem).passed(steps.eps) else None
        while status is None:
            state = _pass_from(steps, state, verbose=verbose)
            (kind, gap, _), passes = state.statistics.trace[-1], state.statistics.passes
            if state.certificate(problem).passed(steps.eps):
                status = Status.OPTIMAL
            elif deadline.has_passed():
                status = Status.TIME_LIMIT
            elif passes >= steps.settings.max_passes:
                status = Status.ITERATION_LIMIT
            event = Progress("solve", f"passes: {kind}", iteration=passes, gap=gap)
            if settings.callback is not None and settings.callback(event) is False:
                status = status or Status.INTERRUPTED
        return _solution(problem, state, status)
    except KeyboardInterrupt as error:
        drop_best(error)  # of a program over some samples
        latest = state
        if latest is not None and np.isfinite(latest.primal):
            keep_best(error, lambda: _solution(problem, latest, Status.INTERRUPTED))
        raise


def _first_state(steps: Steps, *, verbose: bool) -> State:
    """The state before the first pass: a machine of sampled rows, or that of a checkpoint."""
    problem, settings = steps.problem, steps.settings
    if settings.resume is not None:
        read = load(settings.resume, problem, settings.largest_checkpoint)
        return read.measured(problem, verbose=verbose)
    began = time.perf_counter()
    guess = first_guess(problem, steps.sample, settings, steps.solve_program)
    seconds = {"passes": 0.0, "open problems": time.perf_counter() - began}
    return State.initial(*guess, PassStatistics(1, problem.totals.n_bytes, 0, seconds))


def _pass_from(steps: Steps, state: State, *, verbose: bool) -> State:
    """Make a pass over all chunks, choose the next machine, and save the state."""
    request, own = steps.request(state), state.statistics
    began = time.perf_counter()
    results = steps.problem.run(request, verbose=verbose)
    passed = time.perf_counter()
    found, n_open = steps.following(state, request, results)
    gap = found.certificate(steps.problem).relative_gap_upper
    kind, band = BAND if request.smoothing is None else NEWTON, request.band or 0.0
    statistics = replace(
        own,
        passes=own.passes + 1,
        n_bytes=own.n_bytes + sum(result.n_bytes for result in results),
        n_open=max(own.n_open, n_open),
        seconds={
            "passes": own.seconds["passes"] + passed - began,
            "open problems": own.seconds["open problems"] + time.perf_counter() - passed,
        },
        trace=(*own.trace, (kind, gap, band)),
    )
    found = replace(found, statistics=statistics)
    if steps.settings.checkpoint is not None:
        save(steps.settings.checkpoint, found, steps.problem)
    if verbose:
        print(
            f"pass {statistics.passes}: {kind}, objective {found.primal:.10g}, relative "
            f"gap {gap:.2e}, band {band:.2e}"
        )
    return found


def _solution(problem: ChunkedProblem, state: State, status: Status) -> ChunkedSolution:
    """The solution: the best machine with the best dual point."""
    best, form = state.best, problem.template
    return ChunkedSolution(
        status=status,
        coef=best.coef,
        intercept=best.intercept,
        width=best.width,
        dual=state.dual,
        certificate=state.certificate(problem),
        classes=problem.totals.classes,
        is_novelty=form.task == "unlabelled",
        is_ball=form.ball,
        statistics=state.statistics,
    )
