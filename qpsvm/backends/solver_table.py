"""The table of the solvers that CVXPY and qpsolvers reach: packages, settings, limitations.

A line has what holds behind either bridge, then what is different behind CVXPY and behind
qpsolvers; a bridge that is left out does not reach the solver. A bridge also accepts solvers that
are not here, when CVXPY or qpsolvers itself reports them.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from qpsvm.backends.bridge import Solver


class Listed(NamedTuple):
    """A line of the table.

    Attributes
    ----------
    solver : Solver
    cvxpy, qpsolvers : mapping or None
        Fields that are different there; None where the bridge does not reach the solver.
    """

    solver: Solver
    cvxpy: Mapping[str, Any] | None = None
    qpsolvers: Mapping[str, Any] | None = None


def _attributes(module: str, name: str) -> frozenset[str]:
    """Names of the attributes of a solver's settings object, or of the solver's ``settings``."""
    made = getattr(importlib.import_module(module), name)()
    return _public_names(getattr(made, "settings", made))


def _public_names(thing: object) -> frozenset[str]:
    """Names of an object's attributes that are public and no methods; of a class, all."""
    return frozenset(
        name
        for name in dir(thing)
        if not name.startswith("_")
        and (isinstance(thing, type) or not callable(getattr(thing, name, None)))
    )


def _of_osqp() -> frozenset[str]:
    fields = importlib.import_module("osqp").OSQP().ext.OSQPSettings
    return _public_names(fields) | {"cg_preconditioner"}


def _of_daqp() -> frozenset[str]:
    parameters = inspect.signature(importlib.import_module("daqp").solve).parameters.values()
    return frozenset(p.name for p in parameters if isinstance(p.default, bool | int | float))


_FIRST_ORDER = 100_000  # cheap iterations: the bridges' own limits end such solvers early
_EPS_GAP = "eps_abs eps_rel eps_duality_gap_abs eps_duality_gap_rel"
_CHECKED_GAP = {"check_duality_gap": True}
_POLISHED = {"check_dualgap": True, "polishing": True, "polish_refine_iter": 10}
UNSTATED = "see the package"

SOLVERS: Mapping[str, Listed] = {
    # Clarabel takes steps of 99% to the boundary and now and then jams there
    "clarabel": Listed(
        Solver(
            "clarabel", "Apache-2.0", "tol_gap_abs tol_gap_rel tol_feas", iterations="max_iter",
            time="time_limit", retry={"max_step_fraction": 0.9},
            listed=partial(_attributes, "clarabel", "DefaultSettings"),
        ),
        cvxpy={"fixed": {"accept_unknown": True}, "also": "use_quad_obj"},
        qpsolvers={"folds_bounds": True, "in_extra": True},
    ),
    "osqp": Listed(
        Solver(
            "osqp", "Apache-2.0", "eps_abs eps_rel eps_prim_inf eps_dual_inf",
            iterations="max_iter", default_iterations=10_000, time="time_limit", fixed=_POLISHED,
            listed=_of_osqp,
        ),
        cvxpy={},
        qpsolvers={"fixed": {**_POLISHED, "raise_error": False}, "warm_start": True},
    ),
    "scs": Listed(
        Solver(
            "scs", "MIT", "eps_abs eps_rel eps_infeas", iterations="max_iters",
            default_iterations=_FIRST_ORDER, time="time_limit_secs",
            listed="normalize scale adaptive_scale rho_x max_iters eps_abs eps_rel eps_infeas "
            "alpha time_limit_secs acceleration_lookback acceleration_interval "
            "acceleration_type_1 acceleration_regularization acceleration_relaxation "
            "write_data_filename log_csv_filename linear_solver",
        ),
        cvxpy={"needs_rows": True, "also": "use_quad_obj use_indirect eps"},
        qpsolvers={"warm_start": True},
    ),
    "ecos": Listed(
        Solver("ecos", "GPL-3.0", "abstol reltol feastol", iterations="max_iters"),
        cvxpy={},
        qpsolvers={"linear": False, "folds_bounds": True, "full_rank": True},
    ),
    # CVXPY hands CVXOPT a second-order cone program, which it does not solve to more digits; asked
    # for more it ends "unknown", and CVXPY then drops the point
    "cvxopt": Listed(
        Solver(
            "cvxopt", "GPL-3.0-or-later", "abstol reltol feastol", iterations="maxiters",
            listed="abstol reltol feastol maxiters show_progress refinement kktreg",
        ),
        cvxpy={"factor": 1.0, "floor": 1e-7, "also": "kktsolver max_iters"},
        qpsolvers={"folds_bounds": True, "full_rank": True},
    ),
    "piqp": Listed(
        Solver(
            "piqp", "BSD-2-Clause", _EPS_GAP, iterations="max_iter", fixed=_CHECKED_GAP,
            listed=partial(_attributes, "piqp", "DenseSolver"), also="backend",
        ),
        cvxpy={},
        qpsolvers={"in_extra": True},
    ),
    # CVXPY hands ProxQP these settings and no more: its duality gap goes unchecked
    "proxqp": Listed(
        Solver(
            "proxsuite", "BSD-2-Clause", iterations="max_iter", also="backend",
            listed=f"{_EPS_GAP} rho mu_eq mu_in compute_preconditioner compute_timings max_iter "
            "initial_guess check_duality_gap primal_infeasibility_solving "
            "default_H_eigenvalue_estimate",
        ),
        cvxpy={
            "tolerances": "eps_abs eps_rel", "factor": 0.01,
            "listed": "eps_abs eps_rel max_iter rho mu_eq mu_in",
        },
        qpsolvers={
            "tolerances": _EPS_GAP, "fixed": _CHECKED_GAP, "warm_start": True, "in_extra": True,
        },
    ),
    # HiGHS adds a multiple of the identity to P, 1e-7 by default: another program's optimum. Its
    # active-set method may go round in circles for ever, on a few variables, too
    "highs": Listed(
        Solver(
            "highspy", "MIT",
            "primal_feasibility_tolerance dual_feasibility_tolerance ipm_optimality_tolerance",
            floor=1e-10,
            fixed={"qp_regularization_value": 1e-12, "qp_iteration_limit": 100_000},
            iterations="qp_iteration_limit simplex_iteration_limit ipm_iteration_limit",
            time="time_limit", listed=partial(_attributes, "highspy", "HighsOptions"),
        ),
        cvxpy={"also": "highs_options"},
        qpsolvers={"in_extra": True},
    ),
    "daqp": Listed(
        Solver(
            "daqp", "MIT", "primal_tol dual_tol", floor=1e-11, iterations="iter_limit",
            default_iterations=20_000, listed=_of_daqp,
        ),
        cvxpy={},
        qpsolvers={
            "time": "time_limit", "dense": True, "warm_start": True, "full_rank": True,
            "in_extra": True,
        },
    ),
    "scipy": Listed(
        Solver(
            "scipy", "BSD-3-Clause", "primal_feasibility_tolerance dual_feasibility_tolerance",
            floor=1e-10, iterations="maxiter", time="time_limit", within="scipy_options",
            quadratic=False, listed="scipy_options",
        ),
        cvxpy={},
    ),
    "glpk": Listed(
        Solver(
            "cvxopt", "GPL-3.0-or-later", "tol_bnd tol_dj", within="glpk", quadratic=False,
            listed="glpk show_progress",
        ),
        cvxpy={},
    ),
    "quadprog": Listed(
        Solver("quadprog", "GPL-2.0-or-later", linear=False, listed="factorized"),
        qpsolvers={"dense": True, "folds_bounds": True, "full_rank": True, "in_extra": True},
    ),
    # the following are not tested for want of a licence or a package; names as in the bridges'
    # sources
    "gurobi": Listed(
        Solver(
            "gurobipy", "proprietary", "BarConvTol FeasibilityTol OptimalityTol", floor=1e-9,
            iterations="BarIterLimit", time="TimeLimit",
        ),
        cvxpy={},
        qpsolvers={"warm_start": True},
    ),
    "copt": Listed(
        Solver("coptpy", "proprietary", "RelGap FeasTol DualTol", floor=1e-9, time="TimeLimit"),
        cvxpy={"iterations": "BarIterLimit"},
        qpsolvers={},
    ),
    "mosek": Listed(
        Solver("mosek", "proprietary"),
        cvxpy={
            "tolerances": "MSK_DPAR_INTPNT_QO_TOL_REL_GAP MSK_DPAR_INTPNT_QO_TOL_PFEAS "
            "MSK_DPAR_INTPNT_QO_TOL_DFEAS MSK_DPAR_INTPNT_CO_TOL_REL_GAP "
            "MSK_DPAR_INTPNT_CO_TOL_PFEAS MSK_DPAR_INTPNT_CO_TOL_DFEAS",
            "within": "mosek_params", "time": "MSK_DPAR_OPTIMIZER_MAX_TIME",
        },
        qpsolvers={},
    ),
    "qpalm": Listed(
        Solver(
            "qpalm", "LGPL-3.0-or-later", "eps_abs eps_rel", iterations="max_iter",
            time="time_limit", listed=partial(_attributes, "qpalm", "Settings"),
        ),
        cvxpy={},
        qpsolvers={"warm_start": True},
    ),
    "qoco": Listed(
        Solver("qoco", "BSD-3-Clause", "abstol reltol", iterations="max_iters"),
        cvxpy={},
    ),
    "pyqpmad": Listed(
        Solver("pyqpmad", UNSTATED, "tolerance", iterations="max_iter"),
        qpsolvers={"dense": True},
    ),
    "qtqp": Listed(
        Solver("qtqp", UNSTATED, "atol rtol", iterations="max_iter"),
        qpsolvers={"folds_bounds": True},
    ),
    "sip": Listed(
        Solver(
            "sip_qp_python", UNSTATED, "eps_abs eps_rel", "sip-qp-python",
            iterations="max_iterations", time="time_limit",
        ),
        qpsolvers={},
    ),
    "hpipm": Listed(
        Solver(
            "hpipm_python", UNSTATED, "tol_stat tol_eq tol_ineq tol_comp", "hpipm-python",
            iterations="iter_max",
        ),
        qpsolvers={"dense": True},
    ),
    "jaxopt_osqp": Listed(
        Solver("jaxopt", "Apache-2.0", "tol", iterations="maxiter"),
        qpsolvers={"dense": True, "folds_bounds": True},
    ),
    "kvxopt": Listed(
        Solver("kvxopt", "GPL-3.0-or-later", "abstol reltol feastol", iterations="maxiters"),
        qpsolvers={"folds_bounds": True, "full_rank": True},
    ),
    "qpax": Listed(
        Solver("qpax", "MIT", "solver_tol"),
        qpsolvers={"dense": True, "folds_bounds": True},
    ),
    "qpoases": Listed(
        Solver("qpoases", "LGPL-2.1-or-later", "termination_tolerance", time="time_limit"),
        qpsolvers={"dense": True},
    ),
    "qpswift": Listed(
        Solver("qpSWIFT", "GPL-3.0", "RELTOL ABSTOL", iterations="MAXITER"),
        qpsolvers={"dense": True, "folds_bounds": True, "full_rank": True},
    ),
}  # fmt: skip
"""Solvers by their lower-case names."""

BEHIND_CVXPY: Mapping[str, Solver] = {
    name.upper(): replace(line.solver, **line.cvxpy)
    for name, line in SOLVERS.items()
    if line.cvxpy is not None
}
BEHIND_QPSOLVERS: Mapping[str, Solver] = {
    name: replace(line.solver, **line.qpsolvers)
    for name, line in SOLVERS.items()
    if line.qpsolvers is not None
}
