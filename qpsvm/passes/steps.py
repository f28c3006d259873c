"""Steps between passes: the next machine and a dual point from the results of a pass.

The machine of the next pass comes from the program over open conditions, from a step of Newton's
method, or from the way to a machine that turned out to be worse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from qpsvm.chunked.certificate import primal_objective
from qpsvm.chunked.dual_bound import dual_sums
from qpsvm.chunked.dual_point import DualPoint
from qpsvm.chunked.evaluation import ChunkResult
from qpsvm.chunked.machine import Machine
from qpsvm.chunked.problem import ChunkedProblem
from qpsvm.chunked.settings import CHUNKS
from qpsvm.passes.guess import RowSample
from qpsvm.passes.newton import QuadraticModel
from qpsvm.passes.open_problem import SolveProgram, solve_open, together
from qpsvm.passes.settings import PassSettings
from qpsvm.passes.state import BAND, NEWTON, State


@dataclass(frozen=True, eq=False)
class Steps:
    """Steps from one machine to the next, by the results of a pass over all samples.

    Attributes
    ----------
    problem : ChunkedProblem
    sample : RowSample
        Measures the lengths of steps.
    settings : PassSettings
    solve_program : callable
        Solves a program over open samples to a relative accuracy.
    open_eps : float
        That accuracy.
    """

    problem: ChunkedProblem
    sample: RowSample
    settings: PassSettings
    solve_program: SolveProgram
    open_eps: float

    def shortened(self, state: State, results: list[ChunkResult]) -> State:
        """Shorten a step that raised the objective, or undo it if no shorter one lowers it."""
        form = self.problem.template
        values = [
            primal_objective(form, machine, results, k + 1)[0]
            for k, machine in enumerate(state.alternatives)
        ]
        k = int(np.argmin(values)) if values else 0
        if values and values[k] < state.primal:
            machine = state.alternatives[k]
            return state.shortened(machine, self._length(state, state.best, machine))
        return state.rejecting()

    def decided_point(
        self, state: State, results: list[ChunkResult], *, one_sided: bool
    ) -> DualPoint:
        """The dual point of a pass with zero for every open condition."""
        if self.problem.template.is_curved:
            return DualPoint(state.machine)
        n_open = (0 if r.open is None else r.open.n_conditions for r in results)
        bands, zeros = tuple(r.band for r in results), tuple(map(np.zeros, n_open))
        return DualPoint(state.machine, bands, zeros, one_sided, state.leverage)

    def solved_open(
        self, state: State, results: list[ChunkResult], *, one_sided: bool
    ) -> tuple[State, int]:
        """Solve the program over open conditions for the next machine; return their number, too."""
        form = self.problem.template
        decided = dual_sums([r.decided for r in results], self.problem.totals.n_features)
        parts = [r.open for r in results if r.open is not None]
        found = together(parts)
        start, accuracy = state.machine, self.open_eps
        most = self._most_added
        answer = solve_open(form, found, decided, start, accuracy, self.solve_program, most)
        if answer is None:
            return state, len(found)
        ends = np.cumsum([len(part) for part in parts])
        alphas = np.split(answer.alpha, ends[:-1])
        point = DualPoint(
            state.machine,
            tuple(r.band for r in results),
            tuple(part.divided(alpha) for part, alpha in zip(parts, alphas, strict=True)),
            one_sided,
            state.leverage,
        )
        moved = self._moved(state.with_bound(point, answer.bound), (answer.machine,), BAND)
        return moved, len(found)

    @property
    def _most_added(self) -> int:
        """Return how many open conditions a sum over one block may contain at most."""
        totals = self.problem.totals
        width = totals.n_features
        if totals.is_sparse:
            width = totals.n_bytes // (8 * max(1, totals.n_rows))
        rows = min(max(totals.n_rows_by_chunk), CHUNKS.block_bytes // (8 * max(1, width)))
        return rows * len(self.problem.template.signs)

    def newton(self, state: State, results: list[ChunkResult]) -> State:
        """Take a step of Newton's method, if the pass has summed up a Hessian."""
        form, own = self.problem.template, self.settings
        derivatives = [r.derivatives for r in results if r.derivatives is not None]
        machines: tuple[Machine, ...] = ()
        if derivatives:
            model = QuadraticModel.of(form, state.machine, derivatives)
            machines = model.steps(form, state.machine, own.ridge)
            if own.has_leverages(form.is_curved, self.problem.totals.n_features):
                leverage = model.leverage(form, own.leverage_ridge)
                if leverage is not None:
                    state = replace(state, leverage=self.sample.normalised(leverage))
        if not machines:  # there is no step of this kind
            error = max(2.0 * state.error, self._least(state))
            return replace(state, error=error, rejected=NEWTON if derivatives else BAND)
        return self._moved(state, machines, NEWTON)

    def _least(self, state: State) -> float:
        violations = self.sample.violations(self.problem, state.machine)
        return self.settings.least_band * float(np.median(np.abs(violations)))

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
        return self.sample.distance(self.problem, one, other, self.sample.roots(state.leverage))
