"""Regularisation paths of linear machines: for ascending C, each starts at the last weights.

The dual of a linear machine has as many variables as samples, and at the optimum about as many of
them are between their bounds as there are weights. Which ones is nearly known from the weights at
the last C: the interior-point method solves for the samples nearest to their margins, beginning at
the point of the central path that belongs to the last weights (``open_set.near``), and one product
with all samples says whether others have to come in.

What does not depend on C is done once: checks, groups of equal samples, rows, sizes. Every machine
is verified like any other, on the problem as it was given, and solved where it does not pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from qpsvm.display import short_repr
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.duplicates import WORTH, Merged
from qpsvm.numerics.threads import one_blas_thread
from qpsvm.paths.program import ParametricProgram
from qpsvm.paths.settings import PathSettings
from qpsvm.paths.training import Training, accepted, feasible_alpha
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.solvers.interior_point.engine import solve
from qpsvm.solvers.interior_point.factor import Factor
from qpsvm.solvers.interior_point.interior import SearchResult
from qpsvm.solvers.interior_point.open_set import near
from qpsvm.solvers.interior_point.program import FactorProgram
from qpsvm.solvers.interior_point.search import Search
from qpsvm.solvers.interior_point.settings import InteriorPointSettings

ENGINE = InteriorPointSettings(slow_iterations=0)
"""Settings of the interior-point method, which goes on to its end however slow it is."""


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
    settings : PathSettings
    """

    training: Training
    program: FactorProgram
    merged: Merged | None
    settings: PathSettings

    @classmethod
    def of(
        cls, training: Training, program: ParametricProgram | None, settings: PathSettings
    ) -> OneFactor | None:
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
            F=Factor.of(P, settings=ENGINE),
            d=np.zeros(len(program)),
            q=-program.required.value,
            A=program.rows,
            b=np.zeros(program.n_rows),
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
        n_open = ENGINE.open_per_weight * P.rank
        if n_open > ENGINE.largest_open_share * whole.size:
            return None
        return cls(training, whole, merged, settings)

    def machines(self, values: Vector, eps: float) -> Iterator[SVMSolution]:
        """Yield the verified machine of every C, ascending.

        Parameters
        ----------
        values : array of shape (m,)
        eps : float
            Relative accuracy of every machine.
        """
        last: SearchResult | None = None
        for C in values.tolist():
            with one_blas_thread():
                last = self._found(C, last, eps)
                problem = self.training.problem(C)
                alpha = self._alpha(problem, C, last.x)
                qp = QPSolution(Status.UNKNOWN, x=alpha, native_status="from a path")
                machine = accepted(problem, qp, eps)
            yield machine

    @np.errstate(all="ignore")  # an objective that is not finite ends the search
    def _found(self, C: float, last: SearchResult | None, eps: float) -> SearchResult:
        """Solve the dual program for one C, from the solution for the last C if there is one."""
        p = self.program
        program = replace(p, lower=C * p.lower, upper=C * p.upper)
        found, limit = None, self.settings.sequence_iterations
        if last is not None:
            search = Search(program, eps, limit, lambda *_: None)
            found = near(search, last.w, last.y)
        if found is None or found.status is not Status.OPTIMAL:
            found = solve(program, eps, limit, lambda *_: None)
        return found

    def _alpha(self, problem: SVMProblem, C: float, x: Vector) -> Vector:
        """Compute the dual variables of all samples from those of groups of equal samples.

        Shares of a group are those for C = 1.
        """
        alpha = x if self.merged is None else C * self.merged.undone(x / C)
        return feasible_alpha(problem, alpha)
