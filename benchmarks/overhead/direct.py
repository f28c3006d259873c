"""Each backend's own package, called the way its documentation says, with given settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.qp import QuadraticProgram


def cvxopt(program: QuadraticProgram, settings: Mapping[str, Any]) -> Any:
    """``cvxopt.solvers.qp``."""
    from cvxopt import matrix, solvers, spdiag

    n = program.n_variables
    identity = spdiag(matrix(np.ones(n)))
    G = matrix_rows([-identity, identity])
    h = matrix(np.concatenate([-program.lb, program.ub]))
    result = solvers.qp(
        matrix(program.P.to_dense()), matrix(program.q), G, h,
        matrix(np.asarray(program.A)), matrix(program.b), options=dict(settings),
    )  # fmt: skip
    return np.array(result["x"]).ravel()


def matrix_rows(blocks: list[Any]) -> Any:
    """CVXOPT's block matrix: one column of blocks."""
    from cvxopt import sparse

    return sparse([blocks])


def osqp(program: QuadraticProgram, settings: Mapping[str, Any]) -> Any:
    """``osqp.OSQP().setup(...)`` and ``solve``."""
    import osqp as package

    n = program.n_variables
    solver = package.OSQP()
    solver.setup(
        sp.triu(sp.csc_matrix(program.P.to_dense()), format="csc"),
        np.array(program.q),
        sp.vstack([sp.csc_matrix(program.A), sp.identity(n)], format="csc"),
        np.concatenate([program.b, program.lb]),
        np.concatenate([program.b, program.ub]),
        **settings,
    )
    return solver.solve().x


def cvxpy(program: QuadraticProgram, settings: Mapping[str, Any]) -> Any:
    """``cvxpy.Problem``; ``psd_wrap`` spares both sides the same eigenvalue computation."""
    import cvxpy as cp

    x = cp.Variable(program.n_variables)
    objective = 0.5 * cp.quad_form(x, cp.psd_wrap(program.P.to_dense())) + program.q @ x
    constraints = [program.A @ x == program.b, x >= program.lb, x <= program.ub]
    problem = cp.Problem(cp.Minimize(objective), constraints)
    problem.solve(**settings)
    return x.value


def slsqp(program: QuadraticProgram, settings: Mapping[str, Any]) -> Any:
    """``scipy.optimize.minimize(method="SLSQP")``."""
    from scipy.optimize import minimize

    P, q, A = program.P.to_dense(), program.q, np.asarray(program.A)
    result = minimize(
        lambda x: 0.5 * x @ P @ x + q @ x,
        np.zeros(program.n_variables),
        jac=lambda x: P @ x + q,
        bounds=np.column_stack([program.lb, program.ub]),
        constraints={"type": "eq", "fun": lambda x: A @ x - program.b, "jac": lambda _: A},
        method="SLSQP",
        options=dict(settings),
    )
    return result.x


def piqp(program: QuadraticProgram, settings: Mapping[str, Any]) -> Any:
    """``qpsolvers.solve_problem(..., solver="piqp")``."""
    import qpsolvers

    problem = qpsolvers.Problem(
        np.array(program.P.to_dense()), np.array(program.q), None, None,
        np.array(program.A), np.array(program.b), np.array(program.lb), np.array(program.ub),
    )  # fmt: skip
    return qpsolvers.solve_problem(problem, "piqp", **settings).x


CALLS: Mapping[str, Callable[[QuadraticProgram, Mapping[str, Any]], Any]] = {
    "cvxopt": cvxopt,
    "osqp": osqp,
    "cvxpy": cvxpy,
    "qpsolvers:piqp": piqp,
    "slsqp": slsqp,
}
