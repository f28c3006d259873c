"""Steps between passes: what a pass is asked, and what follows from its results.

The machine of the next pass comes from the program over open conditions, from a step of Newton's
method, or from the way to a machine that turned out to be worse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from qpsvm.chunked.certificate import primal_objective
from qpsvm.chunked.checkpoints import BAND, NEWTON, State
from qpsvm.chunked.conditions import distances, together
from qpsvm.chunked.dual_bound import dual_bound
from qpsvm.chunked.evaluation import ChunkResult, Request
from qpsvm.chunked.guess import RowSample, band_of
from qpsvm.chunked.machine import DualPoint, Machine
from qpsvm.chunked.newton import Derivatives, QuadraticModel
from qpsvm.chunked.open_problem import SolveProgram, solve_open
from qpsvm.chunked.problem import ChunkedProblem
from qpsvm.chunked.settings import CHUNKS, PassSettings
from qpsvm.chunked.sums import Decided
from qpsvm.numerics.arrays import Mask


@dataclass(frozen=True, eq=False)
class Steps:
    """Steps from one machine to the next, by the results of passes over all samples.

    Attributes
    ----------
    problem : ChunkedProblem
    sample : RowSample
        Estimates violations and the lengths of steps.
    settings : PassSettings
    solve_program : callable
        Solves a program over open samples to a relative accuracy.
    eps : float
        Relative gap to be certified.
    """

    problem: ChunkedProblem
    sample: RowSample
    settings: PassSettings
    solve_program: SolveProgram
    eps: float

    # --- what a pass is asked --------------------------------------------------------------------

    def request(self, state: State) -> Request:
        """Choose band and kind of step of the next pass, by the violations on a sample of rows.

        A band that memory allows is tried, where it is several times as wide as the error;
        otherwise a step of Newton's method, for which the pass sums up a Hessian. A kind of step
        that was of no use at this machine is not tried again before the other one.
        """
        form, own, most_open = self.problem.template, self.settings, self._most_open
        violations = self.sample.own.violations(state.machine)
        one_sided = not form.is_curved and not (form.lower != 0.0).any()
        if one_sided:
            # classes that hardly overlap: there is room for every violated condition. A wrong
            # decision at the upper bound, of a sample far on the wrong side of a rough guess,
            # pulls the next machine away without end.
            violated = float(np.sum((violations > 0.0) @ self.sample.shares))
            one_sided = violated <= own.one_sided * most_open
        roots = self.sample.roots(state.leverage)
        distance = distances(violations, roots, one_sided=one_sided)
        band = band_of(distance, self.sample.shares, own.fill * most_open, own.beyond_band)
        least = own.least(violations)
        is_newton = band < own.narrow * state.error
        if state.rejected:
            is_newton = state.rejected == BAND
        is_newton = form.is_curved or (is_newton and not one_sided)
        if not (one_sided or state.is_careful):
            band = min(band, max(own.wide * state.error, least))
        has_leverages = own.has_leverages(form.is_curved, self.problem.totals.n_features)
        return self.problem.request(
            (state.machine, *state.alternatives),
            band=band,
            most_open=self._allowances(distance <= band, most_open),
            leverage=state.leverage,
            smoothing=max(own.smoothing * state.error, least) if is_newton else None,
            majorised=state.is_careful and has_leverages,
            one_sided=one_sided,
        )

    @property
    def _most_open(self) -> int:
        """Open conditions for which there is memory."""
        totals = self.problem.totals
        width = totals.n_features
        if totals.is_sparse:  # stored entries, and their indices
            width = int(1.5 * totals.n_bytes / (8.0 * max(1, totals.n_rows)))
        return self.settings.most_open(width)

    def _allowances(self, is_near: Mask, most_open: int) -> tuple[int, ...]:
        """Open conditions that each chunk may return: twice as many as its sample suggests.

        Chunks may be sorted, so that one has most of the open conditions. All together return about
        twice as many as memory is for, at most.
        """
        totals, n_chunks = self.problem.totals, self.problem.n_chunks
        near = np.sum(is_near, axis=0) * self.sample.shares
        parts = np.split(near, np.cumsum(totals.n_chosen_by_chunk)[:-1])
        expected = np.array([float(np.sum(part)) for part in parts])
        equal = 2.0 * (1.0 - self.settings.fill) * most_open / n_chunks
        return tuple((2.0 * expected + equal + self.settings.least_open).astype(int).tolist())

    # --- what follows from its results -----------------------------------------------------------

    def following(
        self, state: State, request: Request, results: Sequence[ChunkResult]
    ) -> tuple[State, int]:
        """The state after a pass, and the number of open conditions that were solved for."""
        form, problem = self.problem.template, self.problem
        kind = BAND if request.smoothing is None else NEWTON
        primal, rounding = primal_objective(form, state.machine, results)
        is_worse, found = not primal <= state.primal, state
        if not is_worse:
            trusted = state.error if kind == NEWTON else 0.5 * (request.band or 0.0)
            found = replace(
                state,
                best=state.machine,
                primal=primal,
                primal_rounding=rounding,
                trusted=max(trusted, state.trusted) if state.rejected else trusted,
            )
        decided, point = Decided.over([r.decided for r in results]), DualPoint(state.machine)
        if not form.is_curved:
            bands = tuple(r.band for r in results)
            zeros = tuple(np.zeros(0 if r.open is None else r.open.n_conditions) for r in results)
            one_sided = request.one_sided
            point = DualPoint(state.machine, bands, zeros, one_sided, state.leverage)
        found, n_open = found.with_bound(point, dual_bound(form, decided)), 0
        if is_worse and not request.one_sided:
            return self._shortened(found, results), 0
        if not found.certificate(problem).passed(self.eps):
            if kind == BAND:
                found, n_open = self._solved_open(found, results, decided, point)
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
            machine, rejected = state.alternatives[k], ""
            error = self._length(state, state.best, machine)
        else:
            machine, rejected = state.best, state.step
            error = state.trusted if state.step == NEWTON else 2.0 * state.trusted
        return replace(
            state,
            machine=machine,
            error=error,
            alternatives=(),
            rejected=rejected,
            is_careful=True,
        )

    def _solved_open(
        self, state: State, results: Sequence[ChunkResult], decided: Decided, point: DualPoint
    ) -> tuple[State, int]:
        """Solve the program over open conditions for the next machine; return their number, too."""
        totals, form = self.problem.totals, self.problem.template
        parts = [r.open for r in results if r.open is not None]
        found = together(parts)
        width = totals.n_features
        if totals.is_sparse:
            width = totals.n_bytes // (8 * max(1, totals.n_rows))
        # open conditions that a sum over one block may contain at most
        most = min(max(totals.n_rows_by_chunk), CHUNKS.block_bytes // (8 * max(1, width)))
        answer = solve_open(
            form,
            found,
            decided,
            state.machine,
            self.settings.open_eps * self.eps,
            self.solve_program,
            most * len(form.signs),
        )
        if answer is None:
            return state, len(found)
        alphas = np.split(answer.alpha, np.cumsum([len(part) for part in parts])[:-1])
        listed = tuple(part.divided(alpha) for part, alpha in zip(parts, alphas, strict=True))
        state = state.with_bound(replace(point, open=listed), answer.bound)
        return self._moved(state, (answer.machine,), BAND), len(found)

    def _newton(self, state: State, results: Sequence[ChunkResult]) -> State:
        """Take a step of Newton's method, if the pass has summed up a Hessian."""
        form, own = self.problem.template, self.settings
        losses = [r.derivatives for r in results if r.derivatives is not None]
        machines: tuple[Machine, ...] = ()
        if losses:
            model = QuadraticModel.of(form, state.machine, Derivatives.over(losses))
            machines = model.steps(own.ridge)
            if own.has_leverages(form.is_curved, self.problem.totals.n_features):
                leverage = model.leverage(own.leverage_ridge)
                if leverage is not None:
                    state = replace(state, leverage=self.sample.normalised(leverage))
        if machines:
            return self._moved(state, machines, NEWTON)
        # there is no step of this kind
        least = own.least(self.sample.own.violations(state.machine))
        error, rejected = max(2.0 * state.error, least), NEWTON if losses else BAND
        return replace(state, error=error, rejected=rejected)

    def _moved(self, state: State, machines: Sequence[Machine], kind: str) -> State:
        """Continue at the first of several machines; the next pass also measures shorter steps.

        The error there is estimated from the length of the step.
        """
        own, start = self.settings, state.machine.vector
        shares = 0.5 ** np.arange(1.0 + own.search_points)
        ways = [Machine.of(start + t * (m.vector - start)) for m in machines for t in shares]
        return replace(
            state,
            machine=machines[0],
            error=own.contraction * self._length(state, state.machine, machines[0]),
            alternatives=tuple(ways[1:]),
            step=kind,
            rejected="",
        )

    def _length(self, state: State, one: Machine, other: Machine) -> float:
        """The distance of two machines in decision values, over the roots of leverages."""
        return self.sample.distance(one, other, self.sample.roots(state.leverage))
