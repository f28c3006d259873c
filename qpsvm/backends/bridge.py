"""Shared parts of the CVXPY and qpsolvers backends: solver packages and names of settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from qpsvm.backends.base import Settings

NativeOptions: TypeAlias = dict[str, Any]
"""A solver's settings by its own names: numbers, words, dictionaries, whatever it takes."""


@dataclass(frozen=True)
class SolverPackage:
    """The package that provides a solver.

    Attributes
    ----------
    module, distribution : str
        As imported, as installed with pip.
    licence : str
    """

    module: str
    distribution: str
    licence: str


@dataclass(frozen=True)
class SolverOptions:
    """A solver's own names for the settings that every backend has.

    Attributes
    ----------
    tolerances : tuple of str
        All set to ``max(eps * factor, floor)``.
    factor, floor : float
        How much tighter than the caller's ``eps`` (solvers measure on their own scales), and the
        smallest value the solver accepts.
    iterations : tuple of str
        All set to the iteration limit.
    default_iterations : int or None
        Where the solver's own limit is too low to mean something.
    time : str or None
        Name of the time limit in seconds. Without one the process of the solver is ended.
    fixed : mapping
        Set in any case.
    retry : mapping
        Set besides when the tolerance contract asks a second time.
    within : str or None
        The solver takes its settings inside a dictionary of this name.
    linear : bool
        Solves linear programs.
    quadratic : bool
        Solves quadratic programs.
    """

    tolerances: tuple[str, ...] = ()
    factor: float = 0.1
    floor: float = 0.0
    iterations: tuple[str, ...] = ()
    default_iterations: int | None = None
    time: str | None = None
    fixed: Mapping[str, object] = field(default_factory=dict)
    retry: Mapping[str, object] = field(default_factory=dict)
    within: str | None = None
    linear: bool = True
    quadratic: bool = True

    @property
    def names(self) -> frozenset[str]:
        """Names of all settings that qpsvm itself passes on."""
        if self.within is not None:
            return frozenset({self.within})
        own = {*self.tolerances, *self.iterations, *self.fixed, *self.retry}
        return frozenset(own | ({self.time} if self.time is not None else set()))

    def build(self, settings: Settings) -> NativeOptions:
        """Settings by the solver's names, overridden by ``settings.options``."""
        eps = max(settings.eps * self.factor, self.floor)
        options: NativeOptions = dict.fromkeys(self.tolerances, eps)
        iterations = settings.max_iterations or self.default_iterations
        if iterations is not None:
            options |= dict.fromkeys(self.iterations, iterations)
        if self.time is not None and settings.time_limit is not None:
            options[self.time] = settings.time_limit
        options = {**self.fixed, **(self.retry if settings.attempt else {}), **options}
        if self.within is not None:
            options = {self.within: options}
        return options | dict(settings.options)

    def not_passed_on(self, settings: Settings) -> str:
        """Describe the limit that this solver has no setting for: time ends its process."""
        is_missing = settings.max_iterations is not None and not self.iterations
        return "this solver has no setting for the iteration limit" if is_missing else ""


SHORTER_STEPS: Mapping[str, object] = {"max_step_fraction": 0.9}
"""Clarabel takes steps of 99% to the boundary and now and then jams there; shorter ones do not."""

HIGHS = SolverOptions(
    (
        "primal_feasibility_tolerance",
        "dual_feasibility_tolerance",
        "ipm_optimality_tolerance",
    ),
    floor=1e-10,
    # HiGHS adds a multiple of the identity to P, 1e-7 by default: another program's optimum. Its
    # active-set method may go round in circles for ever, on a few variables, too
    fixed={"qp_regularization_value": 1e-12, "qp_iteration_limit": 100_000},
    iterations=("qp_iteration_limit", "simplex_iteration_limit", "ipm_iteration_limit"),
    time="time_limit",
)
"""The same names behind either bridge."""

UNSTATED = "see the package"

PACKAGES: Mapping[str, SolverPackage] = {
    "clarabel": SolverPackage("clarabel", "clarabel", "Apache-2.0"),
    "copt": SolverPackage("coptpy", "coptpy", "proprietary"),
    "cplex": SolverPackage("cplex", "cplex", "proprietary"),
    "cvxopt": SolverPackage("cvxopt", "cvxopt", "GPL-3.0-or-later"),
    "daqp": SolverPackage("daqp", "daqp", "MIT"),
    "ecos": SolverPackage("ecos", "ecos", "GPL-3.0"),
    "glpk": SolverPackage("cvxopt", "cvxopt", "GPL-3.0-or-later"),
    "gurobi": SolverPackage("gurobipy", "gurobipy", "proprietary"),
    "highs": SolverPackage("highspy", "highspy", "MIT"),
    "hpipm": SolverPackage("hpipm_python", "hpipm-python", UNSTATED),
    "jaxopt_osqp": SolverPackage("jaxopt", "jaxopt", "Apache-2.0"),
    "kvxopt": SolverPackage("kvxopt", "kvxopt", "GPL-3.0-or-later"),
    "mosek": SolverPackage("mosek", "mosek", "proprietary"),
    "osqp": SolverPackage("osqp", "osqp", "Apache-2.0"),
    "piqp": SolverPackage("piqp", "piqp", "BSD-2-Clause"),
    "proxqp": SolverPackage("proxsuite", "proxsuite", "BSD-2-Clause"),
    "qoco": SolverPackage("qoco", "qoco", "BSD-3-Clause"),
    "pyqpmad": SolverPackage("pyqpmad", "pyqpmad", UNSTATED),
    "qpalm": SolverPackage("qpalm", "qpalm", "LGPL-3.0-or-later"),
    "qpax": SolverPackage("qpax", "qpax", "MIT"),
    "qpoases": SolverPackage("qpoases", "qpoases", "LGPL-2.1-or-later"),
    "qpswift": SolverPackage("qpSWIFT", "qpSWIFT", "GPL-3.0"),
    "qtqp": SolverPackage("qtqp", "qtqp", UNSTATED),
    "quadprog": SolverPackage("quadprog", "quadprog", "GPL-2.0-or-later"),
    "scipy": SolverPackage("scipy", "scipy", "BSD-3-Clause"),
    "scs": SolverPackage("scs", "scs", "MIT"),
    "sip": SolverPackage("sip_qp_python", "sip-qp-python", UNSTATED),
    "xpress": SolverPackage("xpress", "xpress", "proprietary"),
}
"""Solver packages by lower-case solver name: enough to list them without importing any.

A bridge also accepts solvers that are not here, when CVXPY or qpsolvers itself reports them.
"""
