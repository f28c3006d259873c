"""Machines for ascending C that share their work: linear ones, and those over one kernel matrix.

The dual of a linear machine has as many variables as samples, and at the optimum about as many of
them are between their bounds as there are weights. Which ones is nearly known from the weights at
the last C: proximal steps (``solvers.linear.proximal``) begin at the last solution, and their
Newton steps look at the samples nearest to their margins.

Over a kernel matrix that is kept, each machine is solved from the one before
(``direct.related``). What the verifier then asks of the matrix are products with the coefficients
of the machines: one pass over it computes those of several machines.

What does not depend on C is done once. Every machine is verified like any other, on the problem as
it was given, and solved where it does not pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from qpsvm.direct.related import RelatedMachines
from qpsvm.display import short_repr
from qpsvm.machines.evaluation import Multiply
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Dense, Vector
from qpsvm.numerics.duplicates import WORTH, Merged
from qpsvm.numerics.precision import EPS
from qpsvm.numerics.threads import one_blas_thread
from qpsvm.paths.program import FEW, ParametricProgram
from qpsvm.paths.training import PathSettings, Training, accepted, feasible_alpha, of_path, verified
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.sample_gram import SampleGram
from qpsvm.qp.solution import Status
from qpsvm.solvers.linear.factor import Factor
from qpsvm.solvers.linear.program import FactorProgram, Point
from qpsvm.solvers.linear.proximal import first_weight, solve_by_proximal_steps
from qpsvm.solvers.linear.search import Search, SearchResult
from qpsvm.solvers.linear.settings import DEFAULTS
from qpsvm.solvers.linear.solver import solve

ITERATIONS = 1000
"""Iterations of the solver of linear machines for one machine, at most."""

KNOWN = 0.01
"""Weight of the first proximal term next to a known solution, in units of that without one."""


@short_repr
@dataclass(frozen=True, eq=False)
class OneFactor:
    """Dual program of linear machines with C = 1, and its solutions for other C.

    Attributes
    ----------
    training : Training
    program : FactorProgram
        Of groups of equal samples.
    merged : Merged or None
        The way back to all samples; None where hardly any are equal.
    """

    training: Training
    program: FactorProgram
    merged: Merged | None

    @classmethod
    def of(cls, training: Training, program: ParametricProgram | None) -> OneFactor | None:
        """Prepare the sequence, or return None if the dual is not such a program.

        It is where the kernel is linear, C is the parameter, the loss is not squared, and there are
        several samples for each feature.
        """
        if program is None or training.over != "C" or not program.is_scaled_box:
            return None
        P = program.P
        if not isinstance(P, LowRankQuadratic) or P.diag.any():
            return None
        whole = FactorProgram(
            F=Factor.of(P),
            d=np.zeros(len(program)),
            q=-program.required.value,
            A=program.rows,
            b=np.zeros(len(program.rows)),
            lower=program.lower.slope,
            upper=program.upper.slope,
            offset=np.zeros(P.rank),
        )
        equal = [P.selection.signs, whole.q, *whole.A]
        bounds = whole.lower, whole.upper
        merged = Merged.of(P.samples, P.selection.index, equal, bounds, whole.d)
        if merged is not None:
            smaller = whole.restricted(merged.kept, np.zeros(whole.size), copied_below=WORTH)
            whole = replace(smaller, lower=merged.lower, upper=merged.upper)
        n_open = DEFAULTS.open_per_weight * P.rank
        return (
            None
            if n_open > DEFAULTS.largest_open_share * whole.size
            else cls(training, whole, merged)
        )

    def machines(self, values: Vector, eps: float) -> Iterator[SVMSolution]:
        """Yield the verified machine of every C of shape (m,), ascending."""
        last: SearchResult | None = None
        before = 1.0
        for C in values.tolist():
            with one_blas_thread():
                last, before = self._found(C, last, C / before, eps), C
                # shares of a group of equal samples are those for C = 1
                alpha = last.x if self.merged is None else C * self.merged.undone(last.x / C)
                problem = self.training.problem(C)
                machine = accepted(problem, feasible_alpha(problem, alpha), eps)
            yield machine

    @np.errstate(all="ignore")  # an objective that is not finite ends the search
    def _found(
        self, C: float, last: SearchResult | None, growth: float, eps: float
    ) -> SearchResult:
        """Solve the dual program for one C, from the solution for the last C if there is one."""
        p = self.program
        program = replace(p, lower=C * p.lower, upper=C * p.upper)
        found = None
        if last is not None:
            x = np.clip(growth * last.x, program.lower, program.upper)
            search = Search(program, eps, ITERATIONS, lambda *_: None)
            at = Point.of(program, x, last.y, last.w)
            found = solve_by_proximal_steps(search, at, KNOWN * first_weight(program))
        if found is None or found.status is not Status.OPTIMAL:
            found = solve(program, eps, ITERATIONS, lambda *_: None)
        return found


@short_repr
@dataclass(frozen=True, eq=False)
class OneMatrix:
    """Kernel matrix and dual programs that the machines of a path over C share.

    Attributes
    ----------
    training : Training
    gram : SampleGram
        That of the training samples; its matrix is kept.
    related : RelatedMachines
    box : pair of arrays of shape (N,)
        Bounds of a for C = 1.
    settings : PathSettings
    """

    training: Training
    gram: SampleGram
    related: RelatedMachines
    box: tuple[Vector, Vector]
    settings: PathSettings

    @classmethod
    @one_blas_thread()
    def of(
        cls, training: Training, program: ParametricProgram | None, settings: PathSettings
    ) -> OneMatrix | None:
        """Prepare the sequence, or return None if the dual is not such a program.

        It is where C is the parameter, the intercept is free, the loss is not squared, and the
        kernel matrix may be kept.
        """
        if program is None or training.over != "C" or not program.is_scaled_box:
            return None
        P = program.P
        if not isinstance(P, KernelQuadratic) or 8 * P.gram.size**2 > settings.kept_bytes:
            return None
        signs, rows = P.selection.signs, P.selection.index
        is_plain = len(program.rows) == 1 and not (P.constant or P.diag.any())
        if not is_plain or not np.array_equal(program.rows[0], signs):
            return None
        related = RelatedMachines(P.gram.dense, signs, program.required.value, rows)
        box = program.lower.slope, program.upper.slope
        return cls(training, P.gram, related, box, settings)

    def machines(self, values: Vector, eps: float) -> Iterator[SVMSolution]:
        """Yield the verified machine of every C of shape (m,), ascending."""
        C, lot = values.tolist(), self.settings.sequence_lot
        found = self.related.along(*self.box, C, self.settings.sequence_share * eps)
        for first in range(0, len(C), lot):
            with one_blas_thread():
                some = C[first : first + lot]
                machines = [*self._verified(some, [*islice(found, len(some))], eps)]
            yield from machines

    def _verified(
        self, values: list[float], solutions: list[Vector], eps: float
    ) -> Iterator[SVMSolution]:
        problems, signs = [self.training.problem(value) for value in values], self.related.signs
        pairs = list(zip(problems, solutions, strict=True))
        alphas = [feasible_alpha(problem, signs * v) for problem, v in pairs]
        expansions = [p.model.expansion(alpha) for p, alpha in zip(problems, alphas, strict=True)]
        known = KernelProducts.of(self.gram, np.column_stack(expansions))
        for k, problem in enumerate(problems):
            evaluation = problem.model.recovered(
                of_path(alphas[k]), alphas[k], expansion=expansions[k], multiply=known.multiply(k)
            )
            machine, is_optimal = verified(problem, evaluation, eps)
            yield machine if is_optimal else self.training.accepted(values[k], None, eps, machine)


@short_repr
@dataclass(frozen=True, eq=False)
class KernelProducts:
    """Products of a kernel matrix with the expansions of several machines, from one pass over it.

    Those with absolute values are sums of terms of one sign, for the estimate of rounding: plain
    sums, and rounded up. The others are the sums of ``SampleGram``, to the same bits.

    Attributes
    ----------
    gram : SampleGram
    expansions : array of shape (n, m)
    sums : array of shape (n, m)
        ``K beta`` of every machine.
    sizes : array of shape (n, m)
        At least ``|K| |beta|``.
    """

    gram: SampleGram
    expansions: Dense
    sums: Dense
    sizes: Dense

    @classmethod
    def of(cls, gram: SampleGram, expansions: Dense) -> KernelProducts:
        """Multiply by a kernel matrix that is kept in memory."""
        K, absolute = gram.dense, np.abs(expansions)
        used = np.flatnonzero(absolute.any(axis=1))
        few = FEW * len(used) <= len(K)
        sizes = K[used].T @ absolute[used] if few else K @ absolute  # K is symmetric
        sizes *= 1.0 + 4.0 * len(K) * EPS
        return cls(gram, expansions, gram.products(expansions), sizes)

    def multiply(self, k: int) -> Multiply:
        """Return a product with the kernel matrix that knows the expansion of machine k."""
        own = self.expansions[:, k]

        def product(V: Dense, W: Dense) -> tuple[Dense, Dense]:
            is_known = all(np.array_equal(v, own) for v in V.T)
            if not (is_known and all(np.array_equal(w, np.abs(own)) for w in W.T)):
                return self.gram.products_and_sizes(V, W)
            sums, sizes = self.sums[:, [k]], self.sizes[:, [k]]
            return np.repeat(sums, V.shape[1], axis=1), np.repeat(sizes, W.shape[1], axis=1)

        return product
