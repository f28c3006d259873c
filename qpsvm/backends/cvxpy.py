"""CVXPY (Diamond and Boyd, 2016) and every solver it reaches: ``"cvxpy"``, ``"cvxpy:CLARABEL"``."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from qpsvm.backends.base import Capabilities, Clock, Settings
from qpsvm.backends.bridge import UNLISTED, BridgeBackend, as_vector
from qpsvm.backends.printing import silence_highs_banner, silenced, with_output
from qpsvm.backends.solver_table import BEHIND_CVXPY
from qpsvm.exceptions import UnsupportedProgramError
from qpsvm.numerics.arrays import Vector
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, SolveStatistics, Status

if TYPE_CHECKING:
    import cvxpy
    from cvxpy.reductions.solution import Solution


class CVXPYBackend(BridgeBackend):
    """The program as ``cp.Problem``, compiled and inverted by CVXPY, one solver in between.

    Parameters
    ----------
    solver : str, optional
        A name of ``cvxpy.installed_solvers()``; None for the one CVXPY itself would choose.

    Raises
    ------
    UnknownBackendError
        Neither qpsvm nor CVXPY knows the name.
    """

    name = "cvxpy"
    licence = "Apache-2.0"
    distribution = "cvxpy"
    required_modules: tuple[str, ...] = ("cvxpy",)
    capabilities = Capabilities(sparse=True, time_limit=True, certificates=True)
    solvers = BEHIND_CVXPY
    title = "CVXPY"
    advice = "Write for instance 'cvxpy:CLARABEL', or 'cvxpy' for CVXPY's own choice."

    def __init__(self, solver: str | None = None) -> None:
        self.solver, self.about = None, UNLISTED
        if solver is not None:
            super().__init__(solver.upper())

    def _reported(self) -> Iterable[str]:
        reported: list[str] = importlib.import_module("cvxpy").installed_solvers()
        return reported

    def _solve_here(self, program: QuadraticProgram, settings: Settings) -> QPSolution:
        import cvxpy as cp

        clock = Clock(self.label, settings)
        problem, x, parts = _problem(cp, program)
        try:
            # what Problem.solve does, without its warnings: the status says the same
            data, chain, inverse = problem.get_problem_data(self.solver, solver_opts={})
        except cp.error.SolverError as error:
            raise UnsupportedProgramError(
                f"Backend {self.label!r} does not take this program: {error} "
                "Use 'cvxpy' for CVXPY's own choice."
            ) from error
        chosen = chain.solver.name()
        about = self.solvers.get(chosen, UNLISTED)
        if not parts and about.needs_rows:
            raise UnsupportedProgramError(
                f"Backend {self.label!r} needs at least one constraint and this program has none; "
                "use 'cvxopt' or 'osqp'."
            )
        options = self._native(about, settings)
        statistics = SolveStatistics(
            settings={"solver": chosen, **options}, note=about.not_passed_on(settings)
        )
        # "accept_unknown" is read while inverting: keep the point of a solver that got stuck
        inverse[-1].solver_options = options
        if chosen == "HIGHS" and not settings.verbose:
            silence_highs_banner()
        # some of CVXPY's interfaces write into inner dictionaries
        copied = {k: dict(v) if isinstance(v, dict) else v for k, v in options.items()}
        printed = list[str]()
        try:
            with silenced(unless=settings.verbose) as printed:
                raw = chain.solve_via_data(problem, data, False, settings.verbose, copied)
            answer = chain.invert(raw, inverse)
        except cp.error.SolverError as error:
            return QPSolution(
                Status.FAILED,
                native_status=with_output(error, printed),
                statistics=dataclasses.replace(statistics, solve_seconds=clock.seconds),
            )
        solution = _translated(answer, x, parts, program)
        status, limit = solution.status, settings.time_limit
        if status is Status.ITERATION_LIMIT and limit is not None and clock.seconds >= 0.9 * limit:
            status = Status.TIME_LIMIT  # for both limits CVXPY has one status
        iterations = answer.attr.get("num_iters")
        return solution.replace(
            status=status,
            native_status=f"{chosen}: {answer.status}",
            statistics=dataclasses.replace(
                statistics,
                solve_seconds=clock.seconds,
                iterations=None if iterations is None else int(iterations),
            ),
        )


_STATUS = {
    "optimal": Status.OPTIMAL,
    "optimal_inaccurate": Status.INACCURATE,
    "infeasible": Status.PRIMAL_INFEASIBLE,
    "infeasible_inaccurate": Status.PRIMAL_INFEASIBLE,
    "unbounded": Status.DUAL_INFEASIBLE,
    "unbounded_inaccurate": Status.DUAL_INFEASIBLE,
    "infeasible_or_unbounded": Status.UNKNOWN,
    "user_limit": Status.ITERATION_LIMIT,
    "solver_error": Status.FAILED,
}


def _problem(
    cp: ModuleType, program: QuadraticProgram
) -> tuple[cvxpy.Problem, cvxpy.Variable, dict[str, cvxpy.Constraint]]:
    x = cp.Variable(program.n_variables)
    objective = program.q @ x
    if not program.is_linear:
        P = program.P.to_sparse() if program.P.prefers_sparse else program.P.to_dense()
        # semidefiniteness is the program's business: CVXPY would spend an eigenvalue on it
        objective = 0.5 * cp.quad_form(x, cp.psd_wrap(P)) + objective
    parts = {}
    if program.n_inequalities:
        parts["z"] = program.G @ x <= program.h
    if program.n_equalities:
        parts["y"] = program.A @ x == program.b
    return cp.Problem(cp.Minimize(objective), list(parts.values())), x, parts


def _translated(
    answer: Solution,
    x: cvxpy.Variable,
    parts: Mapping[str, cvxpy.Constraint],
    program: QuadraticProgram,
) -> QPSolution:
    """Convert CVXPY's variables and multipliers to a QPSolution; sign conventions agree."""
    primal, dual = answer.primal_vars or {}, answer.dual_vars or {}

    def multipliers(name: str, size: int) -> Vector | None:
        return as_vector(dual.get(parts[name].id), size) if name in parts else np.zeros(0)

    zero = np.zeros(program.n_variables)
    return QPSolution(
        _STATUS.get(answer.status, Status.UNKNOWN),
        x=as_vector(primal.get(x.id), program.n_variables),
        z=multipliers("z", program.n_inequalities),
        y=multipliers("y", program.n_equalities),
        z_lower=zero,
        z_upper=zero,
    )
