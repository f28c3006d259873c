"""Machines for ascending C over one stored kernel matrix, found and verified several at a time.

The dual variables of a machine are a box program whose box grows with C, so that each is solved
from the one before (``solvers.box.related``). What the verifier then asks of the
kernel matrix are products with the coefficients of the machines: one pass over the matrix computes
those of several machines. Nothing else is shared: every machine is verified like any other, and
solved where it does not pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from qpsvm.display import short_repr
from qpsvm.machines.evaluation import Multiply
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Dense, Vector
from qpsvm.numerics.precision import EPS
from qpsvm.numerics.threads import one_blas_thread
from qpsvm.paths.program import ParametricProgram
from qpsvm.paths.settings import DEFAULTS, PathSettings
from qpsvm.paths.training import Training, feasible_alpha, verified
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.sample_gram import SampleGram
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.solvers.box.related import RelatedPrograms, ScaledBoxes


@short_repr
@dataclass(frozen=True, eq=False)
class OneMatrix:
    """Kernel matrix and box programs that the machines of a path over C share.

    Attributes
    ----------
    training : Training
    gram : SampleGram
        That of the training samples; its matrix is kept.
    boxes : ScaledBoxes
        The programs in ``x_i = s_i a_i``, s the signs of the conditions.
    signs : array of shape (N,)
    settings : PathSettings
    """

    training: Training
    gram: SampleGram
    boxes: ScaledBoxes
    signs: Vector
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
        if program is None or training.over != "C" or not program.can_keep(settings.kept_bytes):
            return None
        P = program.P
        if not isinstance(P, KernelQuadratic) or not _is_scaled_box(program, P):
            return None
        signs, rows = P.selection.signs, P.selection.index
        lower, upper = signs * program.lower.slope, signs * program.upper.slope
        boxes = ScaledBoxes(
            RelatedPrograms(P.gram.dense, rows),
            -signs * program.required.value,
            np.minimum(lower, upper),
            np.maximum(lower, upper),
        )
        return cls(training, P.gram, boxes, signs, settings)

    def machines(self, values: Vector, eps: float) -> Iterator[SVMSolution]:
        """Yield the verified machine of every C, ascending.

        Parameters
        ----------
        values : array of shape (m,)
        eps : float
            Relative accuracy of every machine.
        """
        C = values.tolist()
        found = self.boxes.solutions(C, self.settings.sequence_share * eps)
        for first in range(0, len(C), self.settings.sequence_lot):
            some = C[first : first + self.settings.sequence_lot]
            with one_blas_thread():
                solutions = [*islice(found, len(some))]
                machines = [*self._verified(some, solutions, eps)]
            yield from machines

    def _verified(
        self, values: list[float], solutions: list[Vector], eps: float
    ) -> Iterator[SVMSolution]:
        problems = [self.training.problem(value) for value in values]
        pairs = list(zip(problems, solutions, strict=True))
        alphas = [self._alpha(problem, x) for problem, x in pairs]
        expansions = [p.model.expansion(alpha) for (p, _), alpha in zip(pairs, alphas, strict=True)]
        known = KernelProducts.of(self.gram, np.column_stack(expansions))
        for k, (value, problem) in enumerate(zip(values, problems, strict=True)):
            qp = QPSolution(Status.UNKNOWN, x=alphas[k], native_status="from a path")
            evaluation = problem.model.recovered(
                qp, alphas[k], expansion=expansions[k], multiply=known.multiply(k)
            )
            machine, is_optimal = verified(problem, evaluation, eps)
            yield machine if is_optimal else self.training.solved(value, eps=eps, start=machine)

    def _alpha(self, problem: SVMProblem, x: Vector) -> Vector:
        """Compute the dual variables of a problem from those of its box program."""
        return feasible_alpha(problem, self.signs * x)


def _is_scaled_box(program: ParametricProgram, P: KernelQuadratic) -> bool:
    """Return whether boxes are multiples of C and the signs of the conditions are the only row."""
    if not program.is_scaled_box or program.n_rows != 1 or P.constant or P.diag.any():
        return False
    return np.array_equal(program.rows[0], P.selection.signs)


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
        few = DEFAULTS.copied_rows_share * len(used) <= len(K)
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
