"""Solvers behind another package: ``"cvxpy:CLARABEL"``, ``"qpsolvers:piqp"``.

CVXPY (Diamond and Boyd, 2016) and qpsolvers (Caron et al.) reach many solvers each, by the names in
``solver_table``. Either has a function here that translates a program and its answer.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from qpsvm.backends.base import Capabilities, Clock, Settings, installed_version
from qpsvm.backends.child import ChildBackend
from qpsvm.backends.output import silence_highs_banner, silenced, with_output
from qpsvm.backends.settings import require_options
from qpsvm.backends.solver_table import (
    BEHIND_CVXPY,
    BEHIND_QPSOLVERS,
    UNLISTED,
    NativeOptions,
    Solver,
)
from qpsvm.exceptions import UnknownBackendError, UnsupportedProgramError
from qpsvm.numerics.arguments import VectorLike
from qpsvm.numerics.arrays import Matrix, Vector, as_dense
from qpsvm.qp.multipliers import multipliers_at
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, SolveStatistics, Status

if TYPE_CHECKING:
    import cvxpy
    import qpsolvers


@dataclass(frozen=True)
class Package:
    """A package that reaches several solvers.

    Attributes
    ----------
    title, licence, example : str
    solvers : mapping
        What is known of its solvers, by their names.
    reported : str
        Its list of solvers, or the function that returns it.
    capabilities : Capabilities
        Of all its solvers.
    extra : str or None
        The extra of qpsvm that installs it, and some of its solvers.
    """

    title: str
    licence: str
    example: str
    solvers: Mapping[str, Solver]
    reported: str
    capabilities: Capabilities
    extra: str | None = None


PACKAGES = {
    "cvxpy": Package(
        "CVXPY",
        "Apache-2.0",
        "'cvxpy:CLARABEL', or 'cvxpy' for CVXPY's own choice",
        BEHIND_CVXPY,
        "installed_solvers",
        Capabilities(sparse=True, time_limit=True, certificates=True),
    ),
    "qpsolvers": Package(
        "qpsolvers",
        "LGPL-3.0-or-later",
        "'qpsolvers:piqp'",
        BEHIND_QPSOLVERS,
        "available_solvers",
        Capabilities(bounds=True, time_limit=True),
        extra="qpsolvers",
    ),
}


class BridgeBackend(ChildBackend):
    """A solver that another package reaches.

    Parameters
    ----------
    name : str
        ``"cvxpy"`` or ``"qpsolvers"``.
    solver : str, optional
        A name of the table, or one that the package reports, in upper or lower case; None for the
        one that CVXPY itself would choose.

    Raises
    ------
    UnknownBackendError
        Neither qpsvm nor the package knows the solver.
    """

    def __init__(self, name: str, solver: str | None = None) -> None:
        package = PACKAGES[name]
        self.name = self.distribution = name  # type: ignore[misc]
        self.required_modules: tuple[str, ...] = (name,)
        self.licence, self.extra = package.licence, package.extra
        self.capabilities, self.about, self.solver = package.capabilities, UNLISTED, solver
        if solver is None:
            return
        self.solver = solver = solver.upper() if name == "cvxpy" else solver.lower()
        self.about = about = package.solvers.get(solver, UNLISTED)
        self.full_rank = about.full_rank
        self.capabilities = replace(
            package.capabilities,
            sparse=not about.dense,
            bounds=package.capabilities.bounds and not about.folds_bounds,
            linear_programs=about.linear,
            quadratic_programs=about.quadratic,
            warm_start=about.warm_start,
            iteration_limit=bool(about.iterations),
        )
        if solver in package.solvers:
            self.required_modules = (name, about.module)
            self.distribution = about.distribution or about.module
            self.licence = about.licence
        elif self.missing_modules():
            raise UnknownBackendError(
                f"'{name}:{solver}' is unknown and {package.title} is not installed; qpsvm knows "
                f"{', '.join(package.solvers)}."
            )
        else:
            self.require_reported()

    @property
    def label(self) -> str:
        return self.name if self.solver is None else f"{self.name}:{self.solver}"

    def version(self) -> str:
        own = super().version()
        if self.solver is None or not own:
            return own
        return f"{own} ({self.name} {installed_version(self.name)})"

    def install_command(self) -> str:
        if self.about.in_extra:
            return f'pip install "qpsvm[{self.extra}]"'
        return f"pip install {' '.join(dict.fromkeys([self.name, self.distribution]))}"

    def require_reported(self) -> None:
        """Raise UnknownBackendError unless the installed package reports the solver."""
        package = PACKAGES[self.name]
        found = getattr(importlib.import_module(self.name), package.reported)
        reported: Iterable[str] = found() if callable(found) else found
        if str(self.solver) not in reported:
            raise UnknownBackendError(
                f"{package.title} has no solver {self.solver!r}; it has {', '.join(reported)}. "
                f"Write for instance {package.example}."
            )

    def native(self, about: Solver, settings: Settings) -> NativeOptions:
        """Build the solver's settings, and refuse options that it does not have."""
        if settings.options:
            require_options(self.label, settings.options, about.option_names())
        return about.build(settings)

    def _solve_here(self, program: QuadraticProgram, settings: Settings) -> QPSolution:
        return (_by_cvxpy if self.name == "cvxpy" else _by_qpsolvers)(self, program, settings)


def _vector(value: VectorLike | None, size: int) -> Vector | None:
    """Return an answer's vector of the given size; None for one of another size, or for none."""
    if size == 0:
        return np.zeros(0)
    vector = None if value is None else np.asarray(value, dtype=np.float64).ravel()
    return vector if vector is not None and vector.shape == (size,) else None


def _is_late(settings: Settings, clock: Clock) -> bool:
    """Return whether a solver that ended without a reason did so for the time limit."""
    return settings.time_limit is not None and clock.seconds >= 0.9 * settings.time_limit


# --- CVXPY ---------------------------------------------------------------------------------------

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


def _by_cvxpy(backend: BridgeBackend, program: QuadraticProgram, settings: Settings) -> QPSolution:
    """Solve the program as ``cp.Problem``, compiled and inverted by CVXPY, one solver in between.

    The steps of ``Problem.solve``, without its warnings: the status says the same.
    """
    import cvxpy as cp

    clock, label = Clock(backend.label, settings), backend.label
    problem, x, parts = _cvxpy_problem(cp, program)
    try:
        data, chain, inverse = problem.get_problem_data(backend.solver, solver_opts={})
    except cp.error.SolverError as error:
        raise UnsupportedProgramError(
            f"Backend {label!r} does not take this program: {error} "
            "Use 'cvxpy' for CVXPY's own choice."
        ) from error
    chosen = chain.solver.name()
    about = BEHIND_CVXPY.get(chosen, UNLISTED)
    if not parts and about.needs_rows:
        raise UnsupportedProgramError(
            f"Backend {label!r} needs at least one constraint and this program has none; "
            "use 'cvxopt' or 'osqp'."
        )
    options = backend.native(about, settings)
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
        said = with_output(error, printed)
        failed = QPSolution(Status.FAILED, native_status=said, statistics=statistics)
        return failed.with_statistics(solve_seconds=clock.seconds)
    status = _STATUS.get(answer.status, Status.UNKNOWN)
    if status is Status.ITERATION_LIMIT and _is_late(settings, clock):
        status = Status.TIME_LIMIT  # for both limits CVXPY has one status
    primal, dual, none = answer.primal_vars or {}, answer.dual_vars or {}, np.zeros(0)
    iterations, zero = answer.attr.get("num_iters"), np.zeros(program.n_variables)
    z, y = (  # sign conventions agree
        _vector(dual.get(parts[name].id), size) if name in parts else none
        for name, size in (("z", program.n_inequalities), ("y", program.n_equalities))
    )
    return QPSolution(
        status,
        x=_vector(primal.get(x.id), program.n_variables),
        z=z,
        y=y,
        z_lower=zero,
        z_upper=zero,
        native_status=f"{chosen}: {answer.status}",
        statistics=replace(
            statistics,
            solve_seconds=clock.seconds,
            iterations=None if iterations is None else int(iterations),
        ),
    )


def _cvxpy_problem(
    cp: ModuleType, program: QuadraticProgram
) -> tuple[cvxpy.Problem, cvxpy.Variable, dict[str, cvxpy.Constraint]]:
    x = cp.Variable(program.n_variables)
    objective, parts = program.q @ x, {}
    if not program.is_linear:
        P = program.P.to_sparse() if program.P.prefers_sparse else program.P.to_dense()
        # semidefiniteness is the program's business: CVXPY would spend an eigenvalue on it
        objective = 0.5 * cp.quad_form(x, cp.psd_wrap(P)) + objective
    if program.n_inequalities:
        parts["z"] = program.G @ x <= program.h
    if program.n_equalities:
        parts["y"] = program.A @ x == program.b
    return cp.Problem(cp.Minimize(objective), list(parts.values())), x, parts


# --- qpsolvers -----------------------------------------------------------------------------------

DEFINITE = ("not positive definite", "non-convex", "nonconvex", "not definite")
"""In the words of an error: the solver factors P and cannot."""

_WORDS = (
    ("primalinfeasible", Status.PRIMAL_INFEASIBLE),
    ("dualinfeasible", Status.DUAL_INFEASIBLE),
    ("unbounded", Status.DUAL_INFEASIBLE),
    ("infeasible", Status.PRIMAL_INFEASIBLE),
    ("maxtime", Status.TIME_LIMIT),
    ("timelimit", Status.TIME_LIMIT),
    ("maxiter", Status.ITERATION_LIMIT),
    ("maximumiter", Status.ITERATION_LIMIT),
)


def _by_qpsolvers(
    backend: BridgeBackend, program: QuadraticProgram, settings: Settings
) -> QPSolution:
    """Solve with ``qpsolvers.solve_problem`` and one of its solvers."""
    import qpsolvers

    about, solver = backend.about, backend.solver
    assert solver is not None
    backend.require_reported()
    options = backend.native(about, settings)
    warm = settings.warm_start if about.warm_start else None
    initial = None if warm is None or warm.x is None else np.array(warm.x)
    sparse_only = set(qpsolvers.sparse_solvers) - set(qpsolvers.dense_solvers)
    prefers_sparse = program.P.prefers_sparse and not about.dense
    problem = _qpsolvers_problem(program, prefers_sparse or solver in sparse_only)
    clock = Clock(backend.label, settings)
    if solver == "highs" and not settings.verbose:
        silence_highs_banner()
    printed = list[str]()
    try:
        with silenced(unless=settings.verbose) as printed:
            answer = qpsolvers.solve_problem(
                problem, solver, initvals=initial, verbose=settings.verbose, **options
            )
    except (ValueError, qpsolvers.exceptions.QPError) as error:
        if any(words in str(error) for words in DEFINITE):
            raise UnsupportedProgramError(
                f"Backend {backend.label!r} needs a positive definite P, this one is singular "
                f"({error}); use 'cvxopt', 'osqp' or 'qpsolvers:piqp'."
            ) from error
        if "unbounded below" in str(error):  # of a program without constraints
            return QPSolution(Status.DUAL_INFEASIBLE, native_status=str(error))
        return QPSolution(Status.FAILED, native_status=with_output(error, printed))
    except Exception as error:
        if not printed:
            raise
        # an exception of OSQP's own, of which the number is all that it says
        return QPSolution(Status.FAILED, native_status=with_output(repr(error), printed))
    iterations, words = _find(answer, "iter", "iterations"), _find(answer, "status", "exitFlag")
    said = ("found" if answer.found else "not found") if words is None else str(words)
    return _of_qpsolvers(answer, program).replace(
        # qpsolvers reports only ``found``: the rest is in the solver's own words
        status=Status.OPTIMAL if answer.found else _status(said, _is_late(settings, clock)),
        native_status=said,
        statistics=SolveStatistics(
            iterations=None if iterations is None else int(np.ravel(iterations)[0]),
            solve_seconds=clock.seconds,
            settings=options,
            note=about.not_passed_on(settings),
        ),
    )


def _qpsolvers_problem(program: QuadraticProgram, sparse: bool) -> qpsolvers.Problem:
    """Build a qpsolvers problem, with all matrices dense or all sparse.

    Copies throughout: some solvers refuse read-only arrays.
    """
    import qpsolvers

    def copied(matrix: Matrix) -> Matrix:
        return sp.csc_matrix(matrix, copy=True) if sparse else np.array(as_dense(matrix))

    rows: list[Matrix | None] = []
    for matrix, right in ((program.G, program.h), (program.A, program.b)):
        rows += [copied(matrix), np.array(right)] if right.size else [None, None]
    bounds = (np.array(b) if np.isfinite(b).any() else None for b in (program.lb, program.ub))
    P = program.P.to_sparse() if sparse else program.P.to_dense()
    return qpsolvers.Problem(copied(P), np.array(program.q), *rows, *bounds)


def _of_qpsolvers(answer: qpsolvers.Solution, program: QuadraticProgram) -> QPSolution:
    """Convert an answer of qpsolvers; multipliers of constraints that are not there are zero.

    Where qpsolvers has a point but no multipliers, those are computed that fit the point best.
    """
    x = _vector(answer.x, program.n_variables)
    bounded = bool(np.isfinite(program.lb).any() or np.isfinite(program.ub).any())
    z = _vector(answer.z, program.n_inequalities)
    y = _vector(answer.y, program.n_equalities)
    box = _vector(answer.z_box, program.n_variables if bounded else 0)
    if x is not None and answer.found and (z is None or y is None or box is None):
        return multipliers_at(program, x)
    lower = upper = None
    if box is not None:
        if not bounded:
            box = np.zeros(program.n_variables)
        # one signed number per variable; rounding on a bound that does not exist is nothing
        lower = np.where(np.isfinite(program.lb), np.maximum(-box, 0.0), 0.0)
        upper = np.where(np.isfinite(program.ub), np.maximum(box, 0.0), 0.0)
    return QPSolution(Status.UNKNOWN, x=x, z=z, y=y, z_lower=lower, z_upper=upper)


def _status(words: str, is_late: bool) -> Status:
    """Read the status of an answer that is not optimal from the solver's own words."""
    plain = words.lower().replace("_", " ").replace(" ", "")
    late = Status.TIME_LIMIT if is_late else Status.UNKNOWN
    return next((status for fragment, status in _WORDS if fragment in plain), late)


def _find(answer: qpsolvers.Solution, *names: str) -> Any:
    """Find a value for which solvers have different names and places, or None."""
    extras = answer.extras or {}
    found = [extras.get(name) for name in names]
    found += [getattr(extras.get("info"), name, None) for name in names]
    return next((value for value in found if value is not None), None)
