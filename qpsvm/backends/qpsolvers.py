"""The qpsolvers package (Caron et al.) and every solver it reaches: ``"qpsolvers:piqp"`` ..."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from qpsvm.backends.base import Capabilities, Clock, Settings
from qpsvm.backends.bridge import BridgeBackend, as_vector
from qpsvm.backends.printing import silence_highs_banner, silenced, with_output
from qpsvm.backends.solver_table import BEHIND_QPSOLVERS
from qpsvm.exceptions import UnsupportedProgramError
from qpsvm.numerics.arrays import Matrix, Vector, is_sparse
from qpsvm.qp.multipliers import multipliers_at
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, SolveStatistics, Status

if TYPE_CHECKING:
    import qpsolvers


class QPSolversBackend(BridgeBackend):
    """``qpsolvers.solve_problem`` with one of its solvers.

    Parameters
    ----------
    solver : str
        A name of ``qpsolvers.available_solvers``.

    Raises
    ------
    UnknownBackendError
        Neither qpsvm nor qpsolvers knows the name.
    """

    name = "qpsolvers"
    licence = "LGPL-3.0-or-later"
    distribution = "qpsolvers"
    required_modules: tuple[str, ...] = ("qpsolvers",)
    extra = "qpsolvers"
    capabilities = Capabilities(bounds=True, time_limit=True)
    solvers = BEHIND_QPSOLVERS
    title = "qpsolvers"
    advice = "Write for instance 'qpsolvers:piqp'."

    def __init__(self, solver: str) -> None:
        super().__init__(solver.lower())

    def _reported(self) -> Iterable[str]:
        reported: list[str] = importlib.import_module("qpsolvers").available_solvers
        return reported

    def _solve_here(self, program: QuadraticProgram, settings: Settings) -> QPSolution:
        import qpsolvers

        assert self.solver is not None
        self._require_reported(self.solver)
        options = self._native(self.about, settings)
        warm = settings.warm_start if self.capabilities.warm_start else None
        initial = None if warm is None or warm.x is None else np.array(warm.x)
        sparse_only = set(qpsolvers.sparse_solvers) - set(qpsolvers.dense_solvers)
        prefers_sparse = program.P.prefers_sparse and not self.about.dense
        problem = _problem(qpsolvers, program, prefers_sparse or self.solver in sparse_only)
        clock = Clock(self.label, settings)
        if self.solver == "highs" and not settings.verbose:
            silence_highs_banner()
        printed = list[str]()
        try:
            with silenced(unless=settings.verbose) as printed:
                answer = qpsolvers.solve_problem(
                    problem, self.solver, initvals=initial, verbose=settings.verbose, **options
                )
        except (ValueError, qpsolvers.exceptions.QPError) as error:
            if any(words in str(error) for words in DEFINITE):
                raise UnsupportedProgramError(
                    f"Backend {self.label!r} needs a positive definite P, this one is singular "
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
        solution = _translated(answer, program)
        iterations = _said(answer, "iter", "iterations")
        return solution.replace(
            status=_status(answer, settings, clock),
            native_status=_native(answer),
            statistics=SolveStatistics(
                iterations=None if iterations is None else int(np.ravel(iterations)[0]),
                solve_seconds=clock.seconds,
                settings=options,
                note=self.about.not_passed_on(settings),
            ),
        )


DEFINITE = ("not positive definite", "non-convex", "nonconvex", "not definite")
"""In the words of an error: the solver factors P and cannot."""


def _problem(package: ModuleType, program: QuadraticProgram, sparse: bool) -> qpsolvers.Problem:
    """Build a qpsolvers problem, with all matrices dense or all sparse.

    Copies throughout: some solvers refuse read-only arrays.
    """
    problem: qpsolvers.Problem = package.Problem(
        sp.csc_matrix(program.P.to_sparse(), copy=True)
        if sparse
        else np.array(program.P.to_dense()),
        np.array(program.q),
        *_rows(program.G, program.h, sparse),
        *_rows(program.A, program.b, sparse),
        _bounds(program.lb),
        _bounds(program.ub),
    )
    return problem


def _rows(matrix: Matrix, right: Vector, sparse: bool) -> tuple[Matrix | None, Vector | None]:
    if right.size == 0:
        return None, None
    if sparse:
        return sp.csc_matrix(matrix, copy=True), np.array(right)
    return (matrix.toarray() if is_sparse(matrix) else np.array(matrix)), np.array(right)


def _bounds(bounds: Vector) -> Vector | None:
    return np.array(bounds) if np.isfinite(bounds).any() else None


def _translated(answer: qpsolvers.Solution, program: QuadraticProgram) -> QPSolution:
    """Convert an answer of qpsolvers; multipliers of constraints that are not there are zero.

    Where qpsolvers has a point but no multipliers, those are computed that fit the point best.
    """
    x = as_vector(answer.x, program.n_variables)
    bounded = bool(np.isfinite(program.lb).any() or np.isfinite(program.ub).any())
    z = as_vector(answer.z, program.n_inequalities)
    y = as_vector(answer.y, program.n_equalities)
    box = as_vector(answer.z_box, program.n_variables if bounded else 0)
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


def _status(answer: qpsolvers.Solution, settings: Settings, clock: Clock) -> Status:
    """Read the status from the solver's own words, since qpsolvers reports only ``found``."""
    if answer.found:
        return Status.OPTIMAL
    words = _native(answer).lower().replace("_", " ").replace(" ", "")
    for fragment, status in _WORDS:
        if fragment in words:
            return status
    limit = settings.time_limit
    if limit is not None and clock.seconds >= 0.9 * limit:
        return Status.TIME_LIMIT
    return Status.UNKNOWN


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


def _native(answer: qpsolvers.Solution) -> str:
    said = _said(answer, "status", "exitFlag")
    return ("found" if answer.found else "not found") if said is None else str(said)


def _said(answer: qpsolvers.Solution, *names: str) -> Any:
    """Find a value for which solvers have different names and places, or None."""
    extras = answer.extras or {}
    found = [extras.get(name) for name in names]
    found += [getattr(extras.get("info"), name, None) for name in names]
    return next((value for value in found if value is not None), None)
