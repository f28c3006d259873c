"""Table of qpsolvers' solvers: names of their settings, and their limitations."""

from __future__ import annotations

from collections.abc import Mapping

from qpsvm.backends.bridge import HIGHS, SHORTER_STEPS, SolverOptions

_GAP = ("eps_duality_gap_abs", "eps_duality_gap_rel")

OPTIONS: Mapping[str, SolverOptions] = {
    "clarabel": SolverOptions(
        ("tol_gap_abs", "tol_gap_rel", "tol_feas"),
        iterations=("max_iter",),
        time="time_limit",
        retry=SHORTER_STEPS,
    ),
    "cvxopt": SolverOptions(("abstol", "reltol", "feastol"), iterations=("maxiters",)),
    "daqp": SolverOptions(
        ("primal_tol", "dual_tol"),
        floor=1e-11,
        iterations=("iter_limit",),
        default_iterations=20_000,
        time="time_limit",
    ),
    "ecos": SolverOptions(("abstol", "reltol", "feastol"), iterations=("max_iters",), linear=False),
    "highs": HIGHS,
    "osqp": SolverOptions(
        ("eps_abs", "eps_rel", "eps_prim_inf", "eps_dual_inf"),
        iterations=("max_iter",),
        default_iterations=10_000,
        time="time_limit",
        fixed={
            "check_dualgap": True,
            "polishing": True,
            "polish_refine_iter": 10,
            "raise_error": False,
        },
    ),
    "piqp": SolverOptions(
        ("eps_abs", "eps_rel", *_GAP), iterations=("max_iter",), fixed={"check_duality_gap": True}
    ),
    "proxqp": SolverOptions(
        ("eps_abs", "eps_rel", *_GAP), iterations=("max_iter",), fixed={"check_duality_gap": True}
    ),
    "quadprog": SolverOptions(linear=False),
    "scs": SolverOptions(
        ("eps_abs", "eps_rel", "eps_infeas"),
        iterations=("max_iters",),
        default_iterations=100_000,
        time="time_limit_secs",
    ),
    # the following are not tested for want of a licence or a package; names as in qpsolvers
    "pyqpmad": SolverOptions(("tolerance",), iterations=("max_iter",)),
    "qtqp": SolverOptions(("atol", "rtol"), iterations=("max_iter",)),
    "sip": SolverOptions(("eps_abs", "eps_rel"), iterations=("max_iterations",), time="time_limit"),
    "copt": SolverOptions(("FeasTol", "DualTol", "RelGap"), floor=1e-9, time="TimeLimit"),
    "gurobi": SolverOptions(
        ("FeasibilityTol", "OptimalityTol", "BarConvTol"),
        floor=1e-9,
        iterations=("BarIterLimit",),
        time="TimeLimit",
    ),
    "hpipm": SolverOptions(
        ("tol_stat", "tol_eq", "tol_ineq", "tol_comp"), iterations=("iter_max",)
    ),
    "jaxopt_osqp": SolverOptions(("tol",), iterations=("maxiter",)),
    "kvxopt": SolverOptions(("abstol", "reltol", "feastol"), iterations=("maxiters",)),
    "mosek": SolverOptions(),
    "qpalm": SolverOptions(("eps_abs", "eps_rel"), iterations=("max_iter",), time="time_limit"),
    "qpax": SolverOptions(("solver_tol",)),
    "qpoases": SolverOptions(("termination_tolerance",), time="time_limit"),
    "qpswift": SolverOptions(("RELTOL", "ABSTOL"), iterations=("MAXITER",)),
}
"""The solvers of qpsolvers, and what each calls its settings."""

DENSE = frozenset(
    {"daqp", "quadprog", "qpoases", "qpswift", "qpax", "jaxopt_osqp", "hpipm", "pyqpmad"}
)
"""They take NumPy arrays only, whatever the program stores."""

FOLDED = frozenset(
    {"clarabel", "cvxopt", "ecos", "jaxopt_osqp", "kvxopt", "qpax", "qpswift", "qtqp", "quadprog"}
)
"""qpsolvers itself writes their bounds as rows, infinite ones included, which some refuse."""

WARM_STARTED = frozenset({"daqp", "gurobi", "osqp", "proxqp", "qpalm", "scs"})
"""They use ``initvals``; the others ignore it, some with a warning."""

FULL_RANK = frozenset({"cvxopt", "kvxopt", "quadprog", "qpswift", "ecos", "daqp"})
"""They break down when rows of A depend on each other."""

DEFINITE = ("not positive definite", "non-convex", "nonconvex", "not definite")
"""In the words of an error: the solver factors P and cannot."""

EXTRA = frozenset({"clarabel", "daqp", "highs", "piqp", "proxqp", "quadprog"})
"""What ``qpsvm[qpsolvers]`` installs."""
