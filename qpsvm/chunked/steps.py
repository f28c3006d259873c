"""Steps between passes: the state of a solve, what a pass is asked, what follows from its results.

The machine of the next pass comes from the program over undecided conditions, from a step of
Newton's method, or from the way to a machine that turned out to be worse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from qpsvm.chunked.certificate import (
    NO_BOUND,
    ChunkedCertificate,
    DualBound,
    FixedSums,
    dual_bound,
    primal_objective,
    summed,
)
from qpsvm.chunked.contents import CHUNKS
from qpsvm.chunked.evaluation import ChunkResult, Derivatives, Request, distances, join_undecided
from qpsvm.chunked.guess import (
    RowSample,
    SolveProgram,
    band_of,
    has_leverages,
    least_band,
    leverage_of,
    penalties,
    solve_undecided,
)
from qpsvm.chunked.machine import ChunkedDual, Leverage, Machine, scaled_hessian
from qpsvm.chunked.problem import ChunkedProblem
from qpsvm.chunked.solution import PassStatistics
from qpsvm.chunked.template import Template
from qpsvm.chunked.totals import Totals
from qpsvm.numerics.arrays import Mask

NEWTON, BAND = "Newton", "band"
"""Kinds of steps: by a Hessian over all samples, or by the program over undecided samples."""


@dataclass(frozen=True, eq=False)
class State:
    """State of a solve between two passes: machines, the dual point, their objectives.

    Attributes
    ----------
    machine : Machine
        The centre of the next pass.
    error : float
        Estimated error of its decision values, over the roots of leverages.
    leverage : Leverage
    best : Machine
        The machine with the lowest objective so far.
    dual : ChunkedDual
        The dual point with the highest objective so far.
    statistics : PassStatistics
    trusted : float
        The error that the last step relied on: half the band, or the error itself.
    primal, primal_rounding : float
        The objective of the best machine.
    bound : DualBound
        The objective of the dual point.
    alternatives : tuple of Machine
        Machines between ``best`` and ``machine``, in case that the step was too long.
    """

    machine: Machine
    error: float
    leverage: Leverage
    best: Machine
    dual: ChunkedDual
    statistics: PassStatistics
    trusted: float
    primal: float = np.inf
    primal_rounding: float = 0.0
    bound: DualBound = NO_BOUND
    alternatives: tuple[Machine, ...] = ()

    @classmethod
    def initial(
        cls, machine: Machine, error: float, leverage: Leverage, statistics: PassStatistics
    ) -> State:
        """The state before the first evaluation of a machine."""
        return cls(machine, error, leverage, machine, ChunkedDual(machine), statistics, error)

    def measured(self, problem: ChunkedProblem, *, verbose: bool) -> State:
        """Measure the best machine and the dual point by one pass over the samples."""
        primal, rounding, bound = problem.measured(self.best, self.dual, verbose=verbose)
        if not np.isfinite(primal):
            primal = np.inf
        return replace(self, primal=primal, primal_rounding=rounding, bound=bound)

    def certificate(self, problem: ChunkedProblem) -> ChunkedCertificate:
        """The certificate of the best machine so far."""
        own = self.primal, self.primal_rounding, self.bound
        return ChunkedCertificate.of(problem.template, problem.totals, *own)

    def with_bound(self, point: ChunkedDual, bound: DualBound) -> State:
        """Keep a dual point if it gives a higher bound."""
        if not bound.objective - bound.rounding > self.bound.objective - self.bound.rounding:
            return self
        return replace(self, dual=point, bound=bound)


@dataclass(frozen=True, eq=False)
class PassSteps:
    """Steps from one machine to the next, by the results of passes over all samples.

    Attributes
    ----------
    problem : ChunkedProblem
    sample : RowSample
        Estimates violations and the lengths of steps.
    memory_limit : int
        Bytes that this process may use for undecided conditions, about.
    solve_program : callable
        Solves a program over undecided samples to a relative accuracy.
    eps : float
        Relative gap to be certified.
    """

    problem: ChunkedProblem
    sample: RowSample
    memory_limit: int
    solve_program: SolveProgram
    eps: float

    # --- what a pass is asked --------------------------------------------------------------------

    def request(self, state: State) -> Request:
        """Choose band and kind of step of the next pass, by the violations on a sample of rows.

        A band that memory allows is tried, where it is several times as wide as the error;
        otherwise a step of Newton's method, for which the pass sums up a Hessian. A step that was
        of no use doubles the error: kinks are rounded off further, and a band gives way to a step
        of Newton's method.
        """
        form, most = self.problem.template, most_undecided(self.memory_limit, self.problem.totals)
        violations = self.sample.own.violations(state.machine)
        one_sided = not form.is_curved and not (form.lower != 0.0).any()
        if one_sided:
            # classes that hardly overlap: there is room for every violated condition. A wrong
            # decision at the upper bound, of a sample far on the wrong side of a rough guess,
            # pulls the next machine away without end.
            violated = float(np.sum((violations > 0.0) @ self.sample.shares))
            one_sided = violated <= 0.5 * most
        roots = state.leverage.roots(self.sample.own.contents.X)
        distance = distances(violations, roots, one_sided=one_sided)
        band = band_of(distance, self.sample.shares, most)
        least = least_band(violations)
        is_newton = form.is_curved or (band < CHUNKS.narrow * state.error and not one_sided)
        if not one_sided:
            band = min(band, max(CHUNKS.wide * state.error, least))
        return Request(
            form,
            (state.machine, *state.alternatives),
            band=band,
            one_sided=one_sided,
            leverage=state.leverage,
            most_undecided=self._allowances(distance <= band, most),
            smoothing=max(CHUNKS.smoothing * state.error, least) if is_newton else None,
        )

    def _allowances(self, is_near: Mask, most_undecided: int) -> tuple[int, ...]:
        """Undecided conditions that each chunk may return: an equal part beyond what is expected.

        Chunks may be sorted, so that one has most of the undecided conditions. All together return
        about twice as many as memory is for, at most.
        """
        totals, n_chunks = self.problem.totals, self.problem.n_chunks
        near = np.sum(is_near, axis=0) * self.sample.shares
        parts = np.split(near, np.cumsum(totals.n_chosen_by_chunk)[:-1])
        expected = np.array([float(np.sum(part)) for part in parts])
        return tuple((expected + most_undecided / n_chunks + 100).astype(int).tolist())

    # --- what follows from its results -----------------------------------------------------------

    def following(
        self, state: State, request: Request, results: Sequence[ChunkResult]
    ) -> tuple[State, int]:
        """The state after a pass, and the number of undecided conditions that were solved for."""
        form, problem = self.problem.template, self.problem
        kind = BAND if request.smoothing is None else NEWTON
        primal, rounding = primal_objective(form, state.machine, results)
        is_worse, found = not primal <= state.primal, state
        if not is_worse:
            trusted = state.error if kind == NEWTON else 0.5 * request.band
            found = replace(
                state,
                best=state.machine,
                primal=primal,
                primal_rounding=rounding,
                trusted=trusted,
            )
        fixed, point = summed([r.fixed for r in results]), ChunkedDual(state.machine)
        if not form.is_curved:
            numbers = tuple(r.numbers for r in results)
            point = replace(point, numbers=numbers, open=tuple(np.zeros(len(n)) for n in numbers))
        found, n_open = found.with_bound(point, dual_bound(form, fixed)), 0
        if is_worse and not request.one_sided:
            return self._shortened(found, results), 0
        if not found.certificate(problem).passed(self.eps):
            if kind == BAND:
                found, n_open = self._solved_undecided(found, results, fixed, point)
            if kind == NEWTON or found.machine is state.machine:
                found = self._newton(found, results)
        return found, n_open

    def _shortened(self, state: State, results: Sequence[ChunkResult]) -> State:
        """Shorten a step that raised the objective, or undo it if no shorter one lowers it."""
        form, n = self.problem.template, len(state.alternatives)
        values = [
            primal_objective(form, state.alternatives[k], results, k + 1)[0] for k in range(n)
        ]
        k = int(np.argmin(values)) if values else 0
        if values and values[k] < state.primal:
            machine = state.alternatives[k]
            error = self._length(state, state.best, machine)
        else:
            machine, error = state.best, 2.0 * state.trusted
        return replace(state, machine=machine, error=error, alternatives=())

    def _solved_undecided(
        self, state: State, results: Sequence[ChunkResult], fixed: FixedSums, point: ChunkedDual
    ) -> tuple[State, int]:
        """Solve the program over the samples not fixed at a bound; return machine and count."""
        totals, form = self.problem.totals, self.problem.template
        found = join_undecided([r.undecided for r in results])
        width = totals.n_features
        if totals.is_sparse:
            width = totals.n_bytes // (8 * max(1, totals.n_rows))
        # conditions that a sum over one block of a chunk may contain at most
        most = min(max(totals.n_rows_by_chunk), CHUNKS.block_bytes // (8 * max(1, width)))
        eps, most = 0.1 * self.eps, most * len(form.signs)
        answer = solve_undecided(form, found, fixed, state.machine, eps, self.solve_program, most)
        if answer is None:
            return state, found.size
        machine, alpha, bound = answer
        listed = np.split(alpha, np.cumsum([len(r.numbers) for r in results])[:-1])
        state = state.with_bound(replace(point, open=tuple(listed)), bound)
        return self._moved(state, (machine,)), found.size

    def _newton(self, state: State, results: Sequence[ChunkResult]) -> State:
        """Take a step of Newton's method, if the pass has summed up a Hessian."""
        form, machines = self.problem.template, tuple[Machine, ...]()
        parts = [r.derivatives for r in results if r.derivatives is not None]
        if parts:
            losses = summed(parts)
            machines = newton_steps(form, state.machine, losses)
            if has_leverages(form, self.problem.totals.n_features):
                leverage = leverage_of(form, losses)
                if leverage is not None:
                    state = replace(state, leverage=self.sample.normalised(leverage))
        if machines:
            return self._moved(state, machines)
        # there is no step of this kind
        least = least_band(self.sample.own.violations(state.machine))
        return replace(state, error=max(2.0 * state.error, least))

    def _moved(self, state: State, machines: Sequence[Machine]) -> State:
        """Continue at the first of several machines; the next pass also measures shorter steps.

        The error there is a quarter of the length of the step, about.
        """
        start, shares = state.machine.vector, 0.5 ** np.arange(1.0 + CHUNKS.search_points)
        ways = [Machine.of(start + t * (m.vector - start)) for m in machines for t in shares]
        return replace(
            state,
            machine=machines[0],
            error=0.25 * self._length(state, state.machine, machines[0]),
            alternatives=tuple(ways[1:]),
        )

    def _length(self, state: State, one: Machine, other: Machine) -> float:
        """The distance of two machines in decision values, over the roots of leverages."""
        roots = state.leverage.roots(self.sample.own.contents.X)
        return self.sample.distance(one, other, roots)


def most_undecided(memory_limit: int, totals: Totals) -> int:
    """Undecided conditions for which there is memory.

    Each takes eleven doubles for every entry of its sample, about: the sample, the working copies
    of the solver, and a reserve, because the number of conditions in a band is estimated.
    """
    width = totals.n_features
    if totals.is_sparse:  # stored entries, and their indices
        width = int(1.5 * totals.n_bytes / (8.0 * max(1, totals.n_rows)))
    return max(1000, int(memory_limit / (88.0 * (width + 4))))


@np.errstate(all="ignore")  # a step that is not finite is none
def newton_steps(form: Template, machine: Machine, losses: Derivatives) -> tuple[Machine, ...]:
    """The minimisers of two quadratic models of the objective; none if they are singular.

    That of the objective with rounded kinks comes first: it is closer to the optimum, as a rule.
    The second has the gradient of the objective itself, so that the way there begins downhill.
    """
    penalty = penalties(form, losses)
    gradients = losses.gradients.value + penalty * machine.vector
    gradients[:, -2:] += (form.intercept_price, form.width_price)
    used = np.ones(len(penalty), dtype=bool)
    used[-2:] = (form.intercept != "none", form.width_sign != 0.0)
    steps, H = np.zeros(gradients.shape), losses.hessian.value + np.diag(penalty)
    try:
        scaled, scale = scaled_hessian(H[np.ix_(used, used)], 1e-13)  # singular in (b, t)
        steps[:, used] = scale * cho_solve(cho_factor(scaled), (scale * gradients[:, used]).T).T
    except (ValueError, LinAlgError):  # not finite; not positive definite
        return ()
    if not np.isfinite(steps).all():
        return ()
    return tuple(Machine.of(machine.vector - step) for step in steps)
