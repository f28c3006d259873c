"""Names of the settings of third-party solvers, so that a misspelt one is refused.

Where a solver has a settings object, its attributes are the names. The other lists are from the
solvers' documentation; a solver that is in neither list checks its settings itself.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from qpsvm.backends.bridge import SolverOptions

SETTINGS_OBJECTS: Mapping[str, str] = {
    "clarabel": "clarabel:DefaultSettings",
    "highs": "highspy:HighsOptions",
    "piqp": "piqp:DenseSolver",
    "qpalm": "qpalm:Settings",
}
"""Module and class of each solver's settings, or of the solver whose ``settings`` they are."""

FUNCTIONS: Mapping[str, str] = {"daqp": "daqp:solve"}
"""Functions of which the keyword arguments with a number or a boolean are the settings."""

LISTED: Mapping[str, frozenset[str]] = {
    "cvxopt": frozenset(
        {"abstol", "reltol", "feastol", "maxiters", "show_progress", "refinement", "kktreg"}
    ),
    "glpk": frozenset({"glpk", "show_progress"}),
    "proxqp": frozenset(
        {
            "eps_abs", "eps_rel", "rho", "mu_eq", "mu_in", "compute_preconditioner",
            "compute_timings", "max_iter", "initial_guess", "check_duality_gap",
            "eps_duality_gap_abs", "eps_duality_gap_rel", "primal_infeasibility_solving",
            "default_H_eigenvalue_estimate",
        }
    ),
    "quadprog": frozenset({"factorized"}),
    "scipy": frozenset({"scipy_options"}),
    "slsqp": frozenset(
        {"ftol", "maxiter", "disp", "eps", "finite_diff_rel_step", "iprint", "workers"}
    ),
    "scs": frozenset(
        {
            "normalize", "scale", "adaptive_scale", "rho_x", "max_iters", "eps_abs", "eps_rel",
            "eps_infeas", "alpha", "time_limit_secs", "acceleration_lookback",
            "acceleration_interval", "acceleration_type_1", "acceleration_regularization",
            "acceleration_relaxation", "write_data_filename", "log_csv_filename", "linear_solver",
        }
    ),
}  # fmt: skip
"""Names of the settings of solvers that do not list their settings themselves."""

OF_CVXPY: Mapping[str, frozenset[str]] = {
    "clarabel": frozenset({"accept_unknown", "use_quad_obj"}),
    "cvxopt": frozenset({"kktsolver", "max_iters"}),
    "highs": frozenset({"highs_options"}),
    "piqp": frozenset({"backend"}),
    "proxqp": frozenset({"backend"}),
    "scs": frozenset({"use_quad_obj", "use_indirect", "eps"}),
}
"""Names of the settings that CVXPY accepts beside those of the solver it calls."""

OF_QPSOLVERS: Mapping[str, frozenset[str]] = {
    "osqp": frozenset({"raise_error"}),
    "piqp": frozenset({"backend"}),
    "proxqp": frozenset({"backend"}),
}
"""Settings that qpsolvers adds to a solver's own."""

PASSED_ON_BY_CVXPY: Mapping[str, frozenset[str]] = {
    "proxqp": frozenset({"eps_abs", "eps_rel", "max_iter", "rho", "mu_eq", "mu_in", "backend"}),
}
"""Settings that reach the solver where CVXPY passes on only some."""


def option_names(solver: str) -> frozenset[str] | None:
    """Return the names of an installed solver's settings, or None if they are not known.

    Parameters
    ----------
    solver : str
        In lower case.

    Returns
    -------
    frozenset of str or None

    Examples
    --------
    >>> "abstol" in option_names("cvxopt"), option_names("another") is None
    (True, True)
    """
    if solver in LISTED:
        return LISTED[solver]
    if solver == "osqp":
        fields = importlib.import_module("osqp").OSQP().ext.OSQPSettings
        return _public(fields) | {"cg_preconditioner"}
    if solver in SETTINGS_OBJECTS:
        made = _named(SETTINGS_OBJECTS[solver])()
        return _public(getattr(made, "settings", made))
    if solver in FUNCTIONS:
        parameters = inspect.signature(_named(FUNCTIONS[solver])).parameters.values()
        plain = (bool, int, float)
        return frozenset(p.name for p in parameters if isinstance(p.default, plain))
    return None


def names_behind_cvxpy(solver: str, table: SolverOptions) -> frozenset[str] | None:
    """Return the names of the settings that CVXPY passes on to a solver, or None."""
    name = solver.lower()
    if name in PASSED_ON_BY_CVXPY:
        return PASSED_ON_BY_CVXPY[name] | table.names
    return _joined(option_names(name), OF_CVXPY.get(name, frozenset()), table)


def names_behind_qpsolvers(solver: str, table: SolverOptions) -> frozenset[str] | None:
    """Return the names of the settings that qpsolvers passes on to a solver, or None."""
    return _joined(option_names(solver), OF_QPSOLVERS.get(solver, frozenset()), table)


def _joined(
    own: frozenset[str] | None, of_bridge: frozenset[str], table: SolverOptions
) -> frozenset[str] | None:
    return None if own is None else own | of_bridge | table.names


def _named(place: str) -> Callable[..., Any]:
    module, _, name = place.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return found


def _public(thing: object) -> frozenset[str]:
    return frozenset(
        name for name in dir(thing) if not name.startswith("_") and not _is_method(thing, name)
    )


def _is_method(thing: object, name: str) -> bool:
    return callable(getattr(thing, name, None)) and not isinstance(thing, type)
