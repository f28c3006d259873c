"""Programs through which a machine is polished, with the maps of solutions back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from qpsvm.exceptions import (
    InvalidDataError,
    InvalidProgramError,
    QPSVMError,
)
from qpsvm.machines.dual_program import DualRecovery, dual_program
from qpsvm.machines.evaluation import Evaluation
from qpsvm.machines.primal_program import PrimalRecovery
from qpsvm.machines.problem import MachineProblem, SVMProblem
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Vector
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, SolveStatistics, Status


class Route(Protocol):
    """A quadratic program to polish in place of a problem, with the maps there and back."""

    @property
    def program(self) -> QuadraticProgram: ...

    def start(self, solution: Any) -> QPSolution:
        """Map a solution of the problem to the program, as the point to begin with."""

    def evaluate(self, qp: QPSolution) -> Any:
        """Map a solution of the program to the problem's own, and evaluate that.

        A solution of a bare program is that itself.
        """


@dataclass(frozen=True, eq=False)
class OfProgram:
    """Polish route of a QuadraticProgram: the program itself."""

    program: QuadraticProgram

    def start(self, solution: QPSolution) -> QPSolution:
        """The solution, with zeros for multipliers that are missing or not finite."""
        require_finite_vector(solution.x, "x", InvalidProgramError)
        if not self.program.is_convex:
            self.program.P.require_positive_semidefinite()
        return solution.replace(
            z=finite_or_zero(solution.z, self.program.n_inequalities),
            y=finite_or_zero(solution.y, self.program.n_equalities),
            z_lower=finite_or_zero(solution.z_lower, self.program.n_variables),
            z_upper=finite_or_zero(solution.z_upper, self.program.n_variables),
        )

    def evaluate(self, qp: QPSolution) -> QPSolution:
        """Return the solution unchanged: a program needs no map."""
        return qp


@dataclass(frozen=True, eq=False)
class OfProblem:
    """Polish route of a training problem through its own quadratic program."""

    problem: MachineProblem

    @property
    def program(self) -> QuadraticProgram:
        return self.problem.qp

    def start(self, solution: object) -> QPSolution:
        """Build the solution of the program from the machine."""
        qp = self.problem.to_qp(solution)
        for name in ("x", "z", "y", "z_lower", "z_upper"):
            require_finite_vector(getattr(qp, name), name, InvalidDataError)
        return qp.replace(statistics=statistics_of(solution))

    def evaluate(self, qp: QPSolution) -> Any:
        """Recover and evaluate the machine of a program's solution."""
        return self.problem.evaluate(qp)


class ByAlpha:
    """Polish through the dual program; weights, intercept and slack follow from alpha."""

    def __init__(self, problem: SVMProblem) -> None:
        self.problem = problem
        is_dual = isinstance(problem.recovery, DualRecovery)
        self.program = problem.qp if is_dual else dual_program(problem.model)
        self.recovery = DualRecovery(problem.model)

    def start(self, solution: SVMSolution) -> QPSolution:
        """Find a feasible dual point near the solution, with its multipliers."""
        model = self.problem.model
        point = model.feasible_dual(solution.alpha, solution.constraint_multipliers)
        b, t = (v if math.isfinite(v) else 0.0 for v in (solution.intercept, solution.width))
        x = np.concatenate([point.alpha, point.constraint_multipliers])
        qp = QPSolution(Status.UNKNOWN, x=x, z=[t], y=[b])  # type: ignore[arg-type]
        full = self.recovery.to_qp(self.recovery.recover(qp))
        return full.replace(statistics=statistics_of(solution))

    def evaluate(self, qp: QPSolution) -> Evaluation:
        """Evaluate the machine of exactly feasible alphas, in the problem's form."""
        model, blocks = self.problem.model, self.recovery.blocks
        x = np.asarray(qp.x)
        n = blocks["alpha"].stop
        point = model.feasible_dual(x[:n], x[n:])
        exact = qp.replace(x=np.concatenate([point.alpha, point.constraint_multipliers]))
        if isinstance(self.problem.recovery, DualRecovery):
            return self.recovery.recover(exact)
        own = self.problem.recovery.to_qp(self.recovery.recover(exact))
        evaluation: Evaluation = self.problem.evaluate(
            own.replace(status=qp.status, statistics=qp.statistics, native_status=qp.native_status)
        )
        return evaluation


def polish_route(problem: MachineProblem) -> Route:
    """Choose the dual program over a box, if the problem has one, else its own program."""
    if isinstance(problem, SVMProblem) and isinstance(
        problem.recovery, DualRecovery | PrimalRecovery
    ):
        return ByAlpha(problem)
    return OfProblem(problem)


def statistics_of(solution: Any) -> SolveStatistics:
    """The statistics of a solver's solution; empty ones for solutions from elsewhere."""
    return solution.qp.statistics if isinstance(solution.qp, QPSolution) else SolveStatistics()


def finite_or_zero(vector: Vector | None, size: int) -> Vector:
    """Replace a missing vector, or non-finite entries, by zeros."""
    if vector is None or vector.shape != (size,):
        return np.zeros(size)
    return np.where(np.isfinite(vector), vector, 0.0)


def require_finite_vector(vector: Vector | None, name: str, error: type[QPSVMError]) -> None:
    """Raise an error unless a vector is present and finite."""
    if vector is None:
        raise error(f"The solution has no {name}; polish needs a point to begin with.")
    bad = np.argwhere(~np.isfinite(vector))
    if len(bad):
        where = ", ".join(map(str, bad[0]))
        raise error(
            f"{name}[{where}] of the solution is {vector[tuple(bad[0])]} ({len(bad)} such "
            "entries); polish needs finite numbers to begin with."
        )
