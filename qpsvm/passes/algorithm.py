"""The loop over passes: guess, narrow down, solve for the open samples, prove.

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
from collections.abc import Callable

import numpy as np

from qpsvm.chunked.certificate import primal_objective
from qpsvm.chunked.dual_bound import dual_bound, dual_sums
from qpsvm.chunked.evaluation import ChunkResult
from qpsvm.chunked.problem import ChunkedProblem
from qpsvm.chunked.solution import ChunkedSolution, PassStatistics
from qpsvm.numerics.deadline import Deadline
from qpsvm.numerics.interrupts import drop_best, keep_best
from qpsvm.passes.checkpoints import load, save
from qpsvm.passes.guess import RowSample, first_guess
from qpsvm.passes.open_problem import SolveProgram
from qpsvm.passes.plan import Plan
from qpsvm.passes.settings import PassSettings
from qpsvm.passes.state import BAND, NEWTON, State
from qpsvm.passes.steps import Steps
from qpsvm.qp.solution import Status


def solve_in_passes(
    problem: ChunkedProblem,
    eps: float,
    settings: PassSettings,
    solve_program: SolveProgram,
    *,
    deadline: Deadline,
    verbose: bool = False,
    stop: Callable[[str, int, float], bool] = lambda *_: False,
) -> ChunkedSolution:
    """Train a machine on samples in chunks, in a few passes over them.

    Parameters
    ----------
    problem : ChunkedProblem
    eps : float
        Relative gap to be certified.
    settings : PassSettings
    solve_program : callable
        Solves a program over open samples to a relative accuracy.
    deadline : Deadline
        Looked at after every pass.
    verbose : bool
        Print a line after every pass, with Dask's progress bar during it.
    stop : callable
        Receives what the pass was, its number and the relative gap; returning True stops.

    Returns
    -------
    ChunkedSolution

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C; it carries the best machine so far with its certificate, if a pass has measured one.
        A checkpoint stays that of the last pass.
    """
    run = _Run(problem, eps, settings, solve_program, verbose)
    status = None
    try:
        state = run.first_state()
        if state.certificate(problem).passed(eps):  # of a checkpoint after the last pass
            status = Status.OPTIMAL
        while status is None:
            state = run.pass_from(state)
            status = run.verdict(state, deadline)
            if stop(state.statistics.trace[-1][0], state.statistics.passes, run.gap(state)):
                status = status or Status.INTERRUPTED
        return run.solution(state, status)
    except KeyboardInterrupt as error:
        drop_best(error)  # of a program over some samples
        latest = run.latest
        if latest is not None and np.isfinite(latest.primal):
            keep_best(error, lambda: run.solution(latest, Status.INTERRUPTED))
        raise


class _Run:
    """One solve: its problem, settings and sample, which stay the same between passes."""

    def __init__(
        self,
        problem: ChunkedProblem,
        eps: float,
        settings: PassSettings,
        solve_program: SolveProgram,
        verbose: bool,
    ) -> None:
        self.problem, self.eps, self.settings = problem, eps, settings
        self.solve_program, self.verbose = solve_program, verbose
        self.sample = RowSample.of(problem)
        totals = problem.totals
        width = totals.n_features
        if totals.is_sparse:  # stored entries, and their indices
            width = int(1.5 * totals.n_bytes / (8.0 * max(1, totals.n_rows)))
        self.most_open = settings.most_open(width)
        accuracy = settings.open_eps * eps
        self.steps = Steps(problem, self.sample, settings, solve_program, accuracy)
        self.latest: State | None = None

    def first_state(self) -> State:
        """Compute the state before the first pass: a machine of sampled rows, or a checkpoint's."""
        if self.settings.resume is not None:
            limit = self.settings.largest_checkpoint
            read = load(self.settings.resume, self.problem, limit)
            self.latest = read.measured(self.problem, verbose=self.verbose)
            return self.latest
        began = time.perf_counter()
        guess = first_guess(self.problem, self.sample, self.settings, self.solve_program)
        seconds = {"passes": 0.0, "open problems": time.perf_counter() - began}
        statistics = PassStatistics(1, self.problem.totals.n_bytes, 0, seconds)
        return State.initial(guess.machine, guess.error, guess.leverage, statistics)

    def pass_from(self, state: State) -> State:
        """Make a pass over all chunks, choose the next machine, and save the state."""
        self.latest = state = self._pass(state)
        if self.settings.checkpoint is not None:
            save(self.settings.checkpoint, state, self.problem)
        if self.verbose:
            kind, gap, band = state.statistics.trace[-1]
            print(
                f"pass {state.statistics.passes}: {kind}, objective {state.primal:.10g}, relative "
                f"gap {gap:.2e}, band {band:.2e}"
            )
        return state

    def verdict(self, state: State, deadline: Deadline) -> Status | None:
        """The status of the solve after a pass; None if another pass is to be made."""
        if state.certificate(self.problem).passed(self.eps):
            return Status.OPTIMAL
        if deadline.has_passed():
            return Status.TIME_LIMIT
        if state.statistics.passes >= self.settings.max_passes:
            return Status.ITERATION_LIMIT
        return None

    def gap(self, state: State) -> float:
        """The certified relative gap of the best machine so far."""
        return state.certificate(self.problem).relative_gap_upper

    def solution(self, state: State, status: Status) -> ChunkedSolution:
        """The solution: the best machine with the best dual point."""
        best, form = state.best, self.problem.template
        return ChunkedSolution(
            status=status,
            coef=best.coef,
            intercept=best.intercept,
            width=best.width,
            dual=state.dual,
            certificate=state.certificate(self.problem),
            classes=self.problem.totals.classes,
            is_novelty=form.task == "unlabelled",
            is_ball=form.ball,
            statistics=state.statistics,
        )

    # --- one pass --------------------------------------------------------------------------------

    def _pass(self, state: State) -> State:
        form, problem, own = self.problem.template, self.problem, self.settings
        d = problem.totals.n_features
        plan = Plan.of(problem, self.sample, state, own, self.most_open)
        began = time.perf_counter()
        results = problem.run(
            problem.request(
                (state.machine, *state.alternatives),
                band=plan.band,
                most_open=plan.most_open,
                leverage=state.leverage,
                smoothing=plan.smoothing,
                majorised=state.is_careful and own.has_leverages(form.is_curved, d),
                one_sided=plan.one_sided,
            ),
            verbose=self.verbose,
        )
        passed = time.perf_counter()
        primal, rounding = primal_objective(form, state.machine, results)
        is_worse = not primal <= state.primal
        found = state
        if not is_worse:
            found = state.with_best(primal, rounding, plan.kind, plan.band)
        sums = dual_sums([r.decided for r in results], d)
        decided = self.steps.decided_point(state, results, one_sided=plan.one_sided)
        found = found.with_bound(decided, dual_bound(form, sums))
        n_open = 0
        if is_worse and not plan.one_sided:
            found = self.steps.shortened(found, results)
        elif not found.certificate(problem).passed(self.eps):
            if plan.kind == BAND:
                found, n_open = self.steps.solved_open(found, results, one_sided=plan.one_sided)
            if plan.kind == NEWTON or found.machine is state.machine:
                found = self.steps.newton(found, results)
        gap = found.certificate(problem).relative_gap_upper
        entry = (plan.kind, gap, plan.band)
        counted = found.counted(entry, _bytes(results), n_open, passed - began)
        return counted.with_seconds(time.perf_counter() - passed)


def _bytes(results: list[ChunkResult]) -> int:
    """Bytes of samples that a pass has read."""
    return sum(result.n_bytes for result in results)
