"""Choice of the program that is solved for a problem, and the maps between their solutions.

Usually it is the problem's own program. The dual of a linear machine is not good enough where the
sizes of features differ by many orders of magnitude: its weights ``w = X'R'a`` are sums of terms as
large as ``C |x|``, and a weight of a feature of size s is of the order 1 / s. With s = 1e6 the
rounding of alpha alone moves decision values by 1e-4. The primal program has the weights themselves
among its variables, and alpha as its multipliers, each as exact as the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from qpsvm.machines.dual_program import DualRecovery
from qpsvm.machines.evaluation import Evaluation
from qpsvm.machines.primal_program import PrimalRecovery, primal_program
from qpsvm.machines.problem import Program, SVMProblem, TrainingProblem
from qpsvm.machines.settings import MACHINES
from qpsvm.numerics.precision import EPS
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.reductions import Reduced
from qpsvm.qp.solution import QPSolution


@dataclass(frozen=True, eq=False)
class Route:
    """Route through the problem's own program, reduced: maps between the solutions of both.

    Attributes
    ----------
    problem : TrainingProblem or QuadraticProgram
    reduced : Reduced
    """

    problem: Any
    reduced: Reduced

    is_own: ClassVar[bool] = True
    """Whether the program is the problem's own."""

    def evaluate(self, solution: QPSolution) -> Any:
        """Map a solution of the reduced program to the problem's own, and evaluate that.

        A solution of a bare program is only mapped.
        """
        own = self.own(solution)
        return self.problem.evaluate(own) if isinstance(self.problem, TrainingProblem) else own

    def start(self, solution: QPSolution) -> QPSolution:
        """Map a solution of the problem's own program to the reduced program."""
        return self.reduced.inverse.forward(solution)

    def own(self, solution: QPSolution) -> QPSolution:
        """Map a solution of the reduced program to the problem's own program."""
        return self.reduced.inverse(solution)


class ByPrimal(Route):
    """Route of a dual problem through its primal program, whose weights do not depend on alpha.

    ``reduced`` is that of the primal program.
    """

    is_own: ClassVar[bool] = False

    def evaluate(self, solution: QPSolution) -> Evaluation:
        """Recover the machine from a primal solution, completed to one of the dual form."""
        model = self.problem.model
        with np.errstate(over="ignore", invalid="ignore"):  # of a solver's nonsense
            evaluation = PrimalRecovery(model).recover(self.reduced.inverse(solution))
            alpha = evaluation.solution.alpha
            found = evaluation.solution.replace(expansion=model.expansion(alpha))
            evaluation = evaluation.of(found)
            qp = self.problem.recovery.to_qp(evaluation).replace(
                status=solution.status,
                native_status=solution.native_status,
                statistics=solution.statistics,
            )
        return evaluation.of(found.replace(qp=qp))

    def start(self, solution: QPSolution) -> QPSolution:
        """Map a solution of the dual program to the reduced primal program."""
        recovered = self.problem.evaluate(solution)
        return self.reduced.inverse.forward(PrimalRecovery(self.problem.model).to_qp(recovered))

    def own(self, solution: QPSolution) -> QPSolution:
        """Return the dual program's solution for a solution of the scaled primal program."""
        own: QPSolution = self.evaluate(solution).solution.qp
        return own

    def gradient_rounding(self, solution: QPSolution) -> float:
        """Bound on the rounding of the gradient ``F (F'x)`` of the dual program."""
        P, x = self.problem.qp.P, solution.x
        if not isinstance(P, LowRankQuadratic) or x is None:
            return math.inf
        F = abs(P.factor)
        return EPS * float(np.max(F @ (F.T @ np.abs(x))))


def route_of(problem: Program, *, any_form: bool = True) -> Route:
    """Choose the route with the smaller rounding errors.

    Parameters
    ----------
    problem : TrainingProblem or QuadraticProgram
    any_form : bool
        Whether a dual problem may be solved by its primal program.
    """
    if any_form and isinstance(problem, SVMProblem):
        by_primal = _by_primal(problem)
        if by_primal is not None:
            return by_primal
    if isinstance(problem, TrainingProblem):
        return Route(problem, Reduced.of(problem.qp))
    return Route(problem, Reduced.of(problem, is_bare=True))


def _by_primal(problem: SVMProblem) -> ByPrimal | None:
    model = problem.model
    if not (model.is_linear and isinstance(problem.recovery, DualRecovery)):
        return None
    if (
        model.constraints is None
        or problem.qp.n_variables + model.n_weights > MACHINES.most_primal_variables
    ):
        return None
    reduced = Reduced.of(primal_program(model), MACHINES.bad_spread)
    return ByPrimal(problem, reduced) if reduced.is_scaled else None
