"""The loop over passes: guess, narrow down, solve for the open samples, prove.

1. *Guess*: machines trained on rows that the first pass chose at random, with an estimate of the
   error of their decision values.
2. *Newton pass*, while memory allows no band of several times that error: gradient and Hessian of
   the losses, their kinks rounded off, over all samples; the error falls to a fraction.
3. *Band pass*: samples outside the band are decided, those inside are solved for in memory. The
   dual point that this gives bounds the optimum from below, whether the decisions were right or
   not; the next pass measures the machine, which bounds it from above. Where memory has room for
   every violated condition, all of them are open, and only those on the right side are decided.
4. *Search pass*, where a step did not lower the objective: the objective at several machines on the
   way to it.

Every pass measures the machine at its centre, so the gap is known after every pass but the first.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from qpsvm.chunked.certificate import primal_objective
from qpsvm.chunked.dual import DualPoint, dual_bound, dual_sums
from qpsvm.chunked.evaluation import ChunkResult
from qpsvm.chunked.machine import Machine
from qpsvm.chunked.open_conditions import distances
from qpsvm.chunked.problem import ChunkedProblem
from qpsvm.chunked.solution import ChunkedSolution, PassStatistics
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.deadline import Deadline
from qpsvm.passes.guess import RowSample, first_guess
from qpsvm.passes.newton import QuadraticModel
from qpsvm.passes.open_problem import SolveProgram, solve_open, together
from qpsvm.passes.settings import PassSettings
from qpsvm.passes.state import State, load, save
from qpsvm.qp.solution import Status

STEPS = tuple(2.0**-k for k in range(1, 11))
"""Shares of a step at which a search pass measures the objective."""


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
        When interrupted (Ctrl-C), the best machine so far with its certificate.
    """
    run = _Run(problem, eps, settings, solve_program, verbose)
    state, status = None, None
    try:
        state = run.first_state()
        if run.gap(state) <= eps:  # of a checkpoint after the last pass
            status = Status.OPTIMAL
        while status is None:
            state = run.pass_from(state)
            status = run.verdict(state, deadline)
            if stop(state.statistics.trace[-1][0], state.statistics.passes, run.gap(state)):
                status = status or Status.INTERRUPTED
    except KeyboardInterrupt:
        status, state = Status.INTERRUPTED, run.latest
        if state is None or not np.isfinite(state.primal):
            raise
    assert state is not None
    return run.solution(state, status)


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
        self.latest: State | None = None

    def first_state(self) -> State:
        """Train on the sample of rows, or read a checkpoint."""
        if self.settings.resume is not None:
            self.latest = load(self.settings.resume, self.problem)
            return self.latest
        began = time.perf_counter()
        guess = first_guess(self.problem, self.sample, self.settings, self.solve_program)
        seconds = {"passes": 0.0, "open problems": time.perf_counter() - began}
        statistics = PassStatistics(1, self.problem.totals.n_bytes, 0, seconds)
        return State.initial(guess.machine, guess.error, guess.leverage, statistics)

    def pass_from(self, state: State) -> State:
        """Make a pass over all chunks, choose the next machine, and save the state."""
        state = self._search(state) if state.is_searching else self._pass(state)
        self.latest = state
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

    # --- kinds of passes -------------------------------------------------------------------------

    def _pass(self, state: State) -> State:
        form, own = self.problem.template, self.settings
        violations = self.sample.violations(self.problem, state.machine)
        one_sided = self._is_one_sided(violations)
        roots = self.sample.roots(state.leverage)
        distance = distances(violations, roots, one_sided=one_sided)
        allowed = self.sample.band_of(distance, own.fill * self.most_open)
        least = own.least_band * float(np.median(np.abs(violations)))
        band = allowed if one_sided else min(allowed, max(own.wide * state.error, least))
        is_newton = form.is_curved or (allowed < own.narrow * state.error and not one_sided)
        began = time.perf_counter()
        results = self.problem.run(
            self.problem.request(
                (state.machine,),
                band=band,
                most_open=self._allowances(distance, band),
                leverage=state.leverage,
                smoothing=max(own.smoothing * state.error, least) if is_newton else None,
                one_sided=one_sided,
            ),
            verbose=self.verbose,
        )
        passed = time.perf_counter()
        primal, rounding = primal_objective(form, state.machine, results)
        is_worse = not primal <= state.primal
        found = state
        if not is_worse:
            found = replace(
                state,
                best=state.machine,
                primal=primal,
                primal_rounding=rounding,
            )
        sums = dual_sums([r.decided for r in results], self.problem.totals.n_features)
        decided = self._decided_point(state, results, one_sided=one_sided)
        found = found.with_bound(decided, dual_bound(form, sums))
        n_open = 0
        if is_worse and not one_sided:
            found = replace(found, is_searching=True)
        elif not found.certificate(self.problem).passed(self.eps):
            if not is_newton:
                found, n_open = self._solve_open(found, results, one_sided=one_sided)
            if is_newton or found.machine is state.machine:
                found = self._step(found, results)
        kind = "Newton" if is_newton else "band"
        gap = found.certificate(self.problem).relative_gap_upper
        counted = found.counted((kind, gap, band), _bytes(results), n_open, passed - began)
        return counted.with_seconds(time.perf_counter() - passed)

    def _is_one_sided(self, violations: Vector) -> bool:
        """Return whether there is room for every violated condition: classes that hardly overlap.

        Decisions at the upper bound are then not needed. A wrong one, of a sample far on the wrong
        side of a rough guess, pulls the next machine away without end.
        """
        form = self.problem.template
        if form.is_curved or (form.lower != 0.0).any():
            return False
        n_violated = float(np.sum(self.sample.shares[violations > 0.0]))
        return n_violated <= self.settings.one_sided * self.most_open

    def _decided_point(
        self, state: State, results: list[ChunkResult], *, one_sided: bool
    ) -> DualPoint:
        """The dual point of a pass with zero for every open condition."""
        if self.problem.template.is_curved:
            return DualPoint(state.machine)
        n_open = (0 if r.open is None else len(r.open) for r in results)
        bands, zeros = tuple(r.band for r in results), tuple(map(np.zeros, n_open))
        return DualPoint(state.machine, bands, zeros, one_sided, state.leverage)

    def _allowances(self, distance: Vector, band: float) -> tuple[int, ...]:
        """Open conditions that each chunk may return: twice as many as its part of the sample says.

        Chunks may be sorted, so that one has most of the open conditions. All together return about
        twice as many as memory is for, at most.
        """
        own, totals = self.settings, self.problem.totals
        near = np.where(distance <= band, self.sample.shares, 0.0)
        sizes = np.array([part.n_rows for part in totals.sample]) * len(self.problem.template.signs)
        expected = np.zeros(self.problem.n_chunks)
        used = [n > 0 for n in totals.n_rows_by_chunk]
        expected[used] = [float(np.sum(part)) for part in np.split(near, np.cumsum(sizes)[:-1])]
        equal = 2.0 * (1.0 - own.fill) * self.most_open / self.problem.n_chunks
        return tuple((2.0 * expected + equal + own.least_open).astype(int).tolist())

    def _solve_open(
        self, state: State, results: list[ChunkResult], *, one_sided: bool
    ) -> tuple[State, int]:
        """Solve for the open conditions of a pass: the next machine, and a dual point."""
        form = self.problem.template
        decided = dual_sums([r.decided for r in results], self.problem.totals.n_features)
        parts = [r.open for r in results if r.open is not None]
        found = together(parts)
        answer = solve_open(
            form,
            found,
            decided,
            state.machine,
            self.settings.open_eps * self.eps,
            self.solve_program,
        )
        if answer is None:
            return state, len(found)
        ends = np.cumsum([len(part) for part in parts])
        point = DualPoint(
            state.machine,
            tuple(r.band for r in results),
            tuple(np.split(answer.alpha, ends[:-1])),
            one_sided,
            state.leverage,
        )
        return self._moved(state.with_bound(point, answer.bound), answer.machine), len(found)

    def _step(self, state: State, results: list[ChunkResult]) -> State:
        """Take a step of Newton's method, if the pass has summed up a Hessian."""
        form, own = self.problem.template, self.settings
        derivatives = [
            (r.gradient, r.hessian)
            for r in results
            if r.gradient is not None and r.hessian is not None
        ]
        machine = state.machine
        if derivatives:
            model = QuadraticModel.of(form, state.machine, derivatives)
            machine = model.step(form, state.machine, own.ridge)
            if own.has_leverages(form.is_curved, self.problem.totals.n_features):
                leverage = model.leverage(form, own.leverage_ridge)
                if leverage is not None:
                    state = replace(state, leverage=self.sample.normalised(leverage))
        if machine is state.machine:
            return replace(state, error=max(2.0 * state.error, self._least(state)))
        return self._moved(state, machine)

    def _least(self, state: State) -> float:
        violations = self.sample.violations(self.problem, state.machine)
        return self.settings.least_band * float(np.median(np.abs(violations)))

    def _moved(self, state: State, machine: Machine) -> State:
        """Go on to another machine, with an estimate of its error from the length of the step."""
        length = self._length(state, state.machine, machine)
        return replace(state, machine=machine, error=self.settings.contraction * length)

    def _length(self, state: State, one: Machine, other: Machine) -> float:
        """The distance of two machines in decision values, over the roots of leverages."""
        return self.sample.distance(self.problem, one, other, self.sample.roots(state.leverage))

    def _search(self, state: State) -> State:
        """Measure machines between the best one and the one that was no better."""
        best, step = state.best.vector, state.machine.vector - state.best.vector
        machines = tuple(Machine.of(best + share * step) for share in STEPS)
        began = time.perf_counter()
        results = self.problem.run(self.problem.request(machines), verbose=self.verbose)
        passed = time.perf_counter()
        values = [
            primal_objective(self.problem.template, machine, results, k)[0]
            for k, machine in enumerate(machines)
        ]
        k = int(np.argmin(values))
        if values[k] < state.primal:
            machine, length = machines[k], self._length(state, state.best, machines[k])
        else:  # the direction is of no use: a wider band, or a step of Newton's method
            machine, length = state.best, self._length(state, state.best, state.machine)
        found = replace(state, machine=machine, error=length, is_searching=False)
        gap = found.certificate(self.problem).relative_gap_upper
        return found.counted(("search", gap, 0.0), _bytes(results), 0, passed - began)


def _bytes(results: list[ChunkResult]) -> int:
    """Bytes of samples that a pass has read."""
    return sum(result.n_bytes for result in results)
