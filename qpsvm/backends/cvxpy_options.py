"""Table of CVXPY's solvers: names of their settings, and their limitations."""

from __future__ import annotations

from collections.abc import Mapping

from qpsvm.backends.bridge import HIGHS, SHORTER_STEPS, SolverOptions

_FIRST_ORDER = 100_000  # cheap iterations: CVXPY's own limits end such solvers early

OPTIONS: Mapping[str, SolverOptions] = {
    "CLARABEL": SolverOptions(
        ("tol_gap_abs", "tol_gap_rel", "tol_feas"),
        iterations=("max_iter",),
        time="time_limit",
        fixed={"accept_unknown": True},
        retry=SHORTER_STEPS,
    ),
    "OSQP": SolverOptions(
        ("eps_abs", "eps_rel", "eps_prim_inf", "eps_dual_inf"),
        iterations=("max_iter",),
        default_iterations=10_000,
        time="time_limit",
        fixed={"check_dualgap": True, "polishing": True, "polish_refine_iter": 10},
    ),
    "SCS": SolverOptions(
        ("eps_abs", "eps_rel", "eps_infeas"),
        iterations=("max_iters",),
        default_iterations=_FIRST_ORDER,
        time="time_limit_secs",
    ),
    "ECOS": SolverOptions(("abstol", "reltol", "feastol"), iterations=("max_iters",)),
    # CVXPY hands it a second-order cone program, which CVXOPT does not solve to more digits; asked
    # for more it ends "unknown", and CVXPY then drops the point
    "CVXOPT": SolverOptions(
        ("abstol", "reltol", "feastol"), factor=1.0, floor=1e-7, iterations=("maxiters",)
    ),
    "PIQP": SolverOptions(
        ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"),
        iterations=("max_iter",),
        fixed={"check_duality_gap": True},
    ),
    # CVXPY hands ProxQP these and no more: its duality gap goes unchecked
    "PROXQP": SolverOptions(("eps_abs", "eps_rel"), factor=0.01, iterations=("max_iter",)),
    "HIGHS": HIGHS,
    "DAQP": SolverOptions(
        ("primal_tol", "dual_tol"),
        floor=1e-11,
        iterations=("iter_limit",),
        default_iterations=20_000,
    ),
    "SCIPY": SolverOptions(
        ("primal_feasibility_tolerance", "dual_feasibility_tolerance"),
        floor=1e-10,
        iterations=("maxiter",),
        time="time_limit",
        within="scipy_options",
        quadratic=False,
    ),
    "GLPK": SolverOptions(("tol_bnd", "tol_dj"), within="glpk", quadratic=False),
    # the following are not tested for want of a licence or a package; names as in CVXPY's sources
    "GUROBI": SolverOptions(
        ("BarConvTol", "FeasibilityTol", "OptimalityTol"),
        floor=1e-9,
        iterations=("BarIterLimit",),
        time="TimeLimit",
    ),
    "COPT": SolverOptions(
        ("RelGap", "FeasTol", "DualTol"),
        floor=1e-9,
        iterations=("BarIterLimit",),
        time="TimeLimit",
    ),
    "MOSEK": SolverOptions(
        (
            "MSK_DPAR_INTPNT_QO_TOL_REL_GAP",
            "MSK_DPAR_INTPNT_QO_TOL_PFEAS",
            "MSK_DPAR_INTPNT_QO_TOL_DFEAS",
            "MSK_DPAR_INTPNT_CO_TOL_REL_GAP",
            "MSK_DPAR_INTPNT_CO_TOL_PFEAS",
            "MSK_DPAR_INTPNT_CO_TOL_DFEAS",
        ),
        within="mosek_params",
        time="MSK_DPAR_OPTIMIZER_MAX_TIME",
    ),
    "QOCO": SolverOptions(("abstol", "reltol"), iterations=("max_iters",)),
    "QPALM": SolverOptions(("eps_abs", "eps_rel"), iterations=("max_iter",), time="time_limit"),
}
"""CVXPY's solvers for continuous programs, and what each calls its settings."""


CONSTRAINED = frozenset({"SCS"})
"""They refuse a program without constraints."""
