"""CVXPY (Diamond and Boyd, 2016) and every solver it reaches: ``"cvxpy"``, ``"cvxpy:CLARABEL"``."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, SupportsInt

import numpy as np

from qpsvm.backends.base import Capabilities, Clock, Settings, installed_version
from qpsvm.backends.bridge import PACKAGES, NativeOptions, SolverOptions
from qpsvm.backends.child import ChildBackend
from qpsvm.backends.cvxpy_options import CONSTRAINED, OPTIONS
from qpsvm.backends.native_options import names_behind_cvxpy
from qpsvm.backends.options import require_options
from qpsvm.backends.printing import silence_highs_banner, silenced, with_output
from qpsvm.exceptions import UnknownBackendError, UnsupportedProgramError
from qpsvm.numerics.arrays import Vector
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, SolveStatistics, Status

if TYPE_CHECKING:
    import cvxpy
    from cvxpy.reductions.solution import Solution

__all__ = ["OPTIONS", "CVXPYBackend"]


class CVXPYBackend(ChildBackend):
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

    def __init__(self, solver: str | None = None) -> None:
        self.solver = None if solver is None else solver.upper()
        if self.solver is None:
            return
        options = OPTIONS.get(self.solver)
        package = PACKAGES.get(self.solver.lower())
        if options is None or package is None:
            _require_reported(self.solver, self.missing_modules())
        if package is not None:
            self.required_modules = ("cvxpy", package.module)
            self.distribution = package.distribution
            self.licence = package.licence
        self.capabilities = _capabilities(options or SolverOptions())

    @property
    def label(self) -> str:
        return self.name if self.solver is None else f"{self.name}:{self.solver}"

    def version(self) -> str:
        own = super().version()
        if self.solver is None or not own:
            return own
        return f"{own} (cvxpy {installed_version('cvxpy')})"

    def install_command(self) -> str:
        packages = dict.fromkeys(["cvxpy", self.distribution])
        return f"pip install {' '.join(packages)}"

    @property
    def _minds_time(self) -> bool:
        return OPTIONS.get(self.solver or "", SolverOptions()).time is not None

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
        if not parts and chosen in CONSTRAINED:
            raise UnsupportedProgramError(
                f"Backend {self.label!r} needs at least one constraint and this program has none; "
                "use 'cvxopt' or 'osqp'."
            )
        table = OPTIONS.get(chosen, SolverOptions())
        if settings.options:
            names = names_behind_cvxpy(chosen, table)
            require_options(self.label, settings.options, names)
        options = table.build(settings)
        statistics = SolveStatistics(
            settings={"solver": chosen, **options}, note=table.not_passed_on(settings)
        )
        # "accept_unknown" is read while inverting: keep the point of a solver that got stuck
        inverse[-1].solver_options = options
        if chosen == "HIGHS" and not settings.verbose:
            silence_highs_banner()
        printed = list[str]()
        try:
            with silenced(unless=settings.verbose) as printed:
                raw = chain.solve_via_data(
                    problem, data, False, settings.verbose, {**options, **_copies(options)}
                )
            answer = chain.invert(raw, inverse)
        except cp.error.SolverError as error:
            return QPSolution(
                Status.FAILED,
                native_status=with_output(error, printed),
                statistics=dataclasses.replace(statistics, solve_seconds=clock.seconds),
            )
        solution = _translated(answer, x, parts, program)
        status = _limit(solution.status, settings, clock)
        return solution.replace(
            status=status,
            native_status=f"{chosen}: {answer.status}",
            statistics=dataclasses.replace(
                statistics,
                solve_seconds=clock.seconds,
                iterations=_count(answer.attr.get("num_iters")),
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


def _capabilities(options: SolverOptions) -> Capabilities:
    return Capabilities(
        sparse=True,
        linear_programs=options.linear,
        quadratic_programs=options.quadratic,
        time_limit=True,
        iteration_limit=bool(options.iterations),
        certificates=True,
    )


def _require_reported(solver: str, missing: tuple[str, ...]) -> None:
    """Accept a solver missing from the table if CVXPY reports it as installed."""
    if missing:
        known = ", ".join(OPTIONS)
        raise UnknownBackendError(
            f"'cvxpy:{solver}' is unknown and CVXPY is not installed; qpsvm knows {known}."
        )
    cp = importlib.import_module("cvxpy")
    installed = cp.installed_solvers()
    if solver not in installed:
        raise UnknownBackendError(
            f"CVXPY has no solver {solver!r}; installed are {', '.join(installed)}. "
            "Write for instance 'cvxpy:CLARABEL', or 'cvxpy' for CVXPY's own choice."
        )


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


def _copies(options: Mapping[str, object]) -> NativeOptions:
    """Copy inner dictionaries, since some of CVXPY's interfaces write into them."""
    return {name: dict(value) for name, value in options.items() if isinstance(value, dict)}


def _translated(
    answer: Solution,
    x: cvxpy.Variable,
    parts: Mapping[str, cvxpy.Constraint],
    program: QuadraticProgram,
) -> QPSolution:
    """Convert CVXPY's variables and multipliers to a QPSolution; sign conventions agree."""
    status = _STATUS.get(answer.status, Status.UNKNOWN)
    primal, dual = answer.primal_vars or {}, answer.dual_vars or {}
    sizes = {"z": program.n_inequalities, "y": program.n_equalities}
    vectors: dict[str, Vector | None] = {}
    for name, size in sizes.items():
        constraint = parts.get(name)
        value = np.zeros(0) if constraint is None else dual.get(constraint.id)
        vector = None if value is None else np.asarray(value, dtype=np.float64).ravel()
        vectors[name] = vector if vector is None or vector.shape == (size,) else None
    point = primal.get(x.id)
    zero = np.zeros(program.n_variables)
    return QPSolution(
        status,
        x=None if point is None else np.asarray(point, dtype=np.float64).ravel(),
        z=vectors["z"],
        y=vectors["y"],
        z_lower=zero,
        z_upper=zero,
    )


def _limit(status: Status, settings: Settings, clock: Clock) -> Status:
    """Tell time limit from iteration limit, for which CVXPY has one status."""
    limit = settings.time_limit
    if status is Status.ITERATION_LIMIT and limit is not None and clock.seconds >= 0.9 * limit:
        return Status.TIME_LIMIT
    return status


def _count(value: SupportsInt | None) -> int | None:
    return None if value is None else int(value)
