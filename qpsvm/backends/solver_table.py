"""The table of the solvers that CVXPY and qpsolvers reach: packages, settings, limitations.

A line has what holds behind either bridge, then what is different behind CVXPY and behind
qpsolvers; a bridge that is left out does not reach the solver. A bridge also accepts solvers that
are not here, when CVXPY or qpsolvers itself reports them.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

from qpsvm.backends.settings import Settings

NativeOptions: TypeAlias = dict[str, Any]
"""A solver's settings by its own names: numbers, words, dictionaries, whatever it takes."""


@dataclass(frozen=True)
class Solver:
    """A solver as a bridge reaches it: its package, names of its settings, and limitations.

    Attributes
    ----------
    module, licence : str
    distribution : str
        As installed with pip; the module's name by default.
    tolerances : str
        Names with spaces between, all set to ``max(eps * factor, floor)``.
    factor, floor : float
        How much tighter than the caller's ``eps`` (solvers measure on their own scales), and the
        smallest value the solver accepts.
    iterations : str
        Names, all set to the iteration limit.
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
    listed : str, callable or None
        Names of all of the solver's settings, or a function that reads them from its package; None
        where the solver checks its settings itself.
    also : str
        Names that the bridge accepts besides.
    linear, quadratic : bool
        Solves linear programs, solves quadratic programs.
    needs_rows : bool
        Refuses a program without constraints.
    dense : bool
        Takes NumPy arrays only, whatever the program stores.
    folds_bounds : bool
        The bridge itself writes its bounds as rows, infinite ones included, which some refuse.
    warm_start : bool
        Uses a start; the others ignore it, some with a warning.
    full_rank : bool
        Breaks down when rows of A depend on each other.
    in_extra : bool
        ``qpsvm[qpsolvers]`` installs it.
    """

    module: str = ""
    licence: str = ""
    tolerances: str = ""
    distribution: str = ""
    factor: float = 0.1
    floor: float = 0.0
    iterations: str = ""
    default_iterations: int | None = None
    time: str | None = None
    fixed: Mapping[str, object] = field(default_factory=dict)
    retry: Mapping[str, object] = field(default_factory=dict)
    within: str | None = None
    listed: str | Callable[[], frozenset[str]] | None = None
    also: str = ""
    linear: bool = True
    quadratic: bool = True
    needs_rows: bool = False
    dense: bool = False
    folds_bounds: bool = False
    warm_start: bool = False
    full_rank: bool = False
    in_extra: bool = False

    @property
    def names(self) -> frozenset[str]:
        """Names of all settings that qpsvm itself passes on."""
        own = f"{self.tolerances} {self.iterations} {self.time or ''}".split()
        return frozenset([self.within] if self.within else [*own, *self.fixed, *self.retry])

    def own_names(self) -> frozenset[str] | None:
        """Names of the settings that the installed solver has, or None if they are not known."""
        listed = self.listed
        return frozenset(listed.split()) if isinstance(listed, str) else listed and listed()

    def option_names(self) -> frozenset[str] | None:
        """Names of the settings that the bridge passes on, or None if they are not known."""
        own = self.own_names()
        return None if own is None else own.union(self.also.split(), self.names)

    def build(self, settings: Settings) -> NativeOptions:
        """Settings by the solver's names, overridden by ``settings.options``."""
        eps = max(settings.eps * self.factor, self.floor)
        options: NativeOptions = dict.fromkeys(self.tolerances.split(), eps)
        iterations = settings.max_iterations or self.default_iterations
        if iterations is not None:
            options |= dict.fromkeys(self.iterations.split(), iterations)
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


def _public_names(thing: object) -> frozenset[str]:
    """Names of an object's attributes that are public and no methods; of a class, all."""
    return frozenset(
        name
        for name in dir(thing)
        if not name.startswith("_")
        and (isinstance(thing, type) or not callable(getattr(thing, name, None)))
    )


def _attributes(module: str, name: str) -> frozenset[str]:
    """Names of the attributes of a solver's settings object, or of the solver's ``settings``."""
    made = getattr(importlib.import_module(module), name)()
    return _public_names(getattr(made, "settings", made))


def _of_osqp() -> frozenset[str]:
    fields = importlib.import_module("osqp").OSQP().ext.OSQPSettings
    return _public_names(fields) | {"cg_preconditioner"}


def _of_daqp() -> frozenset[str]:
    parameters = inspect.signature(importlib.import_module("daqp").solve).parameters.values()
    return frozenset(p.name for p in parameters if isinstance(p.default, bool | int | float))


SOLVERS: dict[str, Solver] = {}
"""Solvers by their lower-case names, with what holds behind either bridge."""

BEHIND_CVXPY: dict[str, Solver] = {}
BEHIND_QPSOLVERS: dict[str, Solver] = {}
UNLISTED = Solver()
"""A solver that is not in the table: nothing is known of its settings."""


def _add(
    name: str,
    *facts: Any,
    cvxpy: Mapping[str, Any] | None = None,
    qpsolvers: Mapping[str, Any] | None = None,
    **more: Any,
) -> None:
    """Add a line to the table: module, licence and tolerances, and what differs by bridge."""
    SOLVERS[name] = solver = Solver(*facts, **more)
    if cvxpy is not None:
        BEHIND_CVXPY[name.upper()] = replace(solver, **cvxpy)
    if qpsolvers is not None:
        BEHIND_QPSOLVERS[name] = replace(solver, **qpsolvers)


_FIRST_ORDER = 100_000  # cheap iterations: the bridges' own limits end such solvers early
_EPS_GAP = "eps_abs eps_rel eps_duality_gap_abs eps_duality_gap_rel"
_CHECKED_GAP = {"check_duality_gap": True}
_POLISHED = {"check_dualgap": True, "polishing": True, "polish_refine_iter": 10}
_DENSE, _WARM, _IN_EXTRA = {"dense": True}, {"warm_start": True}, {"in_extra": True}
_FOLDING = {"folds_bounds": True, "full_rank": True}
UNSTATED = "see the package"

# fmt: off
# Clarabel takes steps of 99% to the boundary and now and then jams there
_add("clarabel", "clarabel", "Apache-2.0", "tol_gap_abs tol_gap_rel tol_feas",
     iterations="max_iter", time="time_limit", retry={"max_step_fraction": 0.9},
     listed=partial(_attributes, "clarabel", "DefaultSettings"),
     cvxpy={"fixed": {"accept_unknown": True}, "also": "use_quad_obj"},
     qpsolvers={"folds_bounds": True} | _IN_EXTRA)
_add("osqp", "osqp", "Apache-2.0", "eps_abs eps_rel eps_prim_inf eps_dual_inf",
     iterations="max_iter", default_iterations=10_000, time="time_limit", fixed=_POLISHED,
     listed=_of_osqp, cvxpy={},
     qpsolvers={"fixed": {**_POLISHED, "raise_error": False}} | _WARM)
_add("scs", "scs", "MIT", "eps_abs eps_rel eps_infeas", iterations="max_iters",
     default_iterations=_FIRST_ORDER, time="time_limit_secs",
     listed="normalize scale adaptive_scale rho_x max_iters eps_abs eps_rel eps_infeas alpha "
     "time_limit_secs acceleration_lookback acceleration_interval acceleration_type_1 "
     "acceleration_regularization acceleration_relaxation write_data_filename log_csv_filename "
     "linear_solver",
     cvxpy={"needs_rows": True, "also": "use_quad_obj use_indirect eps"}, qpsolvers=_WARM)
_add("ecos", "ecos", "GPL-3.0", "abstol reltol feastol", iterations="max_iters", cvxpy={},
     qpsolvers={"linear": False} | _FOLDING)
# CVXPY hands CVXOPT a second-order cone program, which it does not solve to more digits; asked
# for more it ends "unknown", and CVXPY then drops the point
_add("cvxopt", "cvxopt", "GPL-3.0-or-later", "abstol reltol feastol", iterations="maxiters",
     listed="abstol reltol feastol maxiters show_progress refinement kktreg",
     cvxpy={"factor": 1.0, "floor": 1e-7, "also": "kktsolver max_iters"}, qpsolvers=_FOLDING)
_add("piqp", "piqp", "BSD-2-Clause", _EPS_GAP, iterations="max_iter", fixed=_CHECKED_GAP,
     listed=partial(_attributes, "piqp", "DenseSolver"), also="backend", cvxpy={},
     qpsolvers=_IN_EXTRA)
# CVXPY hands ProxQP these settings and no more: its duality gap goes unchecked
_add("proxqp", "proxsuite", "BSD-2-Clause", iterations="max_iter", also="backend",
     listed=f"{_EPS_GAP} rho mu_eq mu_in compute_preconditioner compute_timings max_iter "
     "initial_guess check_duality_gap primal_infeasibility_solving default_H_eigenvalue_estimate",
     cvxpy={"tolerances": "eps_abs eps_rel", "factor": 0.01,
            "listed": "eps_abs eps_rel max_iter rho mu_eq mu_in"},
     qpsolvers={"tolerances": _EPS_GAP, "fixed": _CHECKED_GAP} | _WARM | _IN_EXTRA)
# HiGHS adds a multiple of the identity to P, 1e-7 by default: another program's optimum. Its
# active-set method may go round in circles for ever, on a few variables, too
_add("highs", "highspy", "MIT",
     "primal_feasibility_tolerance dual_feasibility_tolerance ipm_optimality_tolerance",
     floor=1e-10, fixed={"qp_regularization_value": 1e-12, "qp_iteration_limit": 100_000},
     iterations="qp_iteration_limit simplex_iteration_limit ipm_iteration_limit",
     time="time_limit", listed=partial(_attributes, "highspy", "HighsOptions"),
     cvxpy={"also": "highs_options"}, qpsolvers=_IN_EXTRA)
_add("daqp", "daqp", "MIT", "primal_tol dual_tol", floor=1e-11, iterations="iter_limit",
     default_iterations=20_000, listed=_of_daqp, cvxpy={},
     qpsolvers={"time": "time_limit", "full_rank": True} | _DENSE | _WARM | _IN_EXTRA)
_add("scipy", "scipy", "BSD-3-Clause",
     "primal_feasibility_tolerance dual_feasibility_tolerance", floor=1e-10,
     iterations="maxiter", time="time_limit", within="scipy_options", quadratic=False,
     listed="scipy_options", cvxpy={})
_add("glpk", "cvxopt", "GPL-3.0-or-later", "tol_bnd tol_dj", within="glpk", quadratic=False,
     listed="glpk show_progress", cvxpy={})
_add("quadprog", "quadprog", "GPL-2.0-or-later", linear=False, listed="factorized",
     qpsolvers=_DENSE | _FOLDING | _IN_EXTRA)
# the following are not tested for want of a licence or a package; names as in the bridges'
# sources
_add("gurobi", "gurobipy", "proprietary", "BarConvTol FeasibilityTol OptimalityTol", floor=1e-9,
     iterations="BarIterLimit", time="TimeLimit", cvxpy={}, qpsolvers=_WARM)
_add("copt", "coptpy", "proprietary", "RelGap FeasTol DualTol", floor=1e-9, time="TimeLimit",
     cvxpy={"iterations": "BarIterLimit"}, qpsolvers={})
_add("mosek", "mosek", "proprietary", qpsolvers={},
     cvxpy={"within": "mosek_params", "time": "MSK_DPAR_OPTIMIZER_MAX_TIME", "tolerances": " ".join(
         f"MSK_DPAR_INTPNT_{kind}_TOL_{what}" for kind in ("QO", "CO")
         for what in ("REL_GAP", "PFEAS", "DFEAS"))})
_add("qpalm", "qpalm", "LGPL-3.0-or-later", "eps_abs eps_rel", iterations="max_iter",
     time="time_limit", listed=partial(_attributes, "qpalm", "Settings"), cvxpy={},
     qpsolvers=_WARM)
_add("qoco", "qoco", "BSD-3-Clause", "abstol reltol", iterations="max_iters", cvxpy={})
_add("pyqpmad", "pyqpmad", UNSTATED, "tolerance", iterations="max_iter", qpsolvers=_DENSE)
_add("qtqp", "qtqp", UNSTATED, "atol rtol", iterations="max_iter",
     qpsolvers={"folds_bounds": True})
_add("sip", "sip_qp_python", UNSTATED, "eps_abs eps_rel", "sip-qp-python",
     iterations="max_iterations", time="time_limit", qpsolvers={})
_add("hpipm", "hpipm_python", UNSTATED, "tol_stat tol_eq tol_ineq tol_comp", "hpipm-python",
     iterations="iter_max", qpsolvers=_DENSE)
_add("jaxopt_osqp", "jaxopt", "Apache-2.0", "tol", iterations="maxiter",
     qpsolvers={"folds_bounds": True} | _DENSE)
_add("kvxopt", "kvxopt", "GPL-3.0-or-later", "abstol reltol feastol", iterations="maxiters",
     qpsolvers=_FOLDING)
_add("qpax", "qpax", "MIT", "solver_tol", qpsolvers={"folds_bounds": True} | _DENSE)
_add("qpoases", "qpoases", "LGPL-2.1-or-later", "termination_tolerance", time="time_limit",
     qpsolvers=_DENSE)
_add("qpswift", "qpSWIFT", "GPL-3.0", "RELTOL ABSTOL", iterations="MAXITER",
     qpsolvers=_DENSE | _FOLDING)
# fmt: on
