r"""Newton's method on the primal of the squared hinge, in weights or in an expansion.

The squared hinge is differentiable, and quadratic as long as the same samples violate their
margins. With those samples V and :math:`C = \operatorname{diag}(C_i)`, in weights (Chapelle's
section 3)::

    F(w, b) = 1/2 |w|^2 + sum_{i in V} C_i (s_i - w'x_i - b)^2
    gradient: w - 2 X_V'C (s - f)_V,       Hessian: I + 2 X_V'C X_V        (and b likewise)

and with the representer expansion :math:`f(x) = \sum_j \beta_j k(x_j, x) + b` (section 4), where
the Newton step has a closed form: beta vanishes outside V, and::

    (K_VV + 1/2 C^{-1}) beta_V + b 1 = s_V,     1'beta_V = 0

A step that leaves V as it was is the last one: then F is that quadratic, and its minimum is reached
exactly. Steps that do not decrease F enough are halved. The dual variables are the slopes of the
loss, :math:`\alpha_i = 2 C_i \max(0, 1 - s_i f(x_i))`.

Sources: Chapelle, "Training a support vector machine in the primal", *Neural Computation* 19
(2007), sections 3 and 4; finite convergence: Keerthi and DeCoste, *JMLR* 6 (2005), theorem 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Unpack

import numpy as np

from qpsvm.classical.hinge import with_ones
from qpsvm.classical.machines import require_problem, stated
from qpsvm.classical.recording import (
    ClassicalResult,
    Limits,
    Recorder,
    RunOptions,
    textbook_method,
)
from qpsvm.formulations.margin import SoftMargin
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Dense, Mask, Vector, as_dense, is_sparse
from qpsvm.numerics.single_precision import Stored
from qpsvm.solvers.classical.driver import following


@textbook_method
def newton(problem: SVMProblem, **run: Unpack[RunOptions]) -> ClassicalResult:
    r"""Newton's method on the primal of the squared hinge, in the weights of a linear machine.

    .. math::

        (I + 2 X_V^\top C X_V) d = w - 2 X_V^\top C (s - f)_V, \quad w \gets w - t d

    Parameters
    ----------
    problem : SVMProblem
        Of ``SoftMargin(loss="squared_hinge")`` with the linear kernel, in either form.
    eps, max_seconds, max_steps, verbose, settings
        As for ``dual_ascent``.

    Returns
    -------
    ClassicalResult
        The machine, its trace, and the reason why the run ended.

    Raises
    ------
    InvalidParameterError
        An argument outside its domain, or a problem of another kind.

    Notes
    -----
    Source: Chapelle (2007), section 3.

    Examples
    --------
    >>> import qpsvm
    >>> machine = qpsvm.SoftMargin(C=10.0, loss="squared_hinge")
    >>> qpsvm.classical.newton(machine.primal([[0.0], [2.0]], [-1, 1])).relative_gap < 1e-12
    True
    """
    require_problem(problem, "newton", (SoftMargin,), loss="squared_hinge", kernel="linear")
    model, signs, C = problem.model, problem.model.conditions.signs, _per_sample_C(problem)
    X = model.data.X if is_sparse(model.data.X) else np.asarray(model.data.X)
    Z = X if model.intercept == "none" else with_ones(X)
    M = np.ones(Z.shape[1])
    if model.intercept == "free":
        M[0] = 0.0

    def target(violated: Mask) -> Vector:
        V, weights = Z[violated], 2.0 * C[violated]
        weighted = V.multiply(weights[:, None]) if is_sparse(V) else V * weights[:, None]
        H = np.diag(M) + as_dense(V.T @ weighted)
        return _solved(H, np.asarray(V.T @ (weights * signs[violated])))

    def machine(v: Vector, alpha: Vector) -> SVMSolution:
        b, w = (0.0, v) if model.intercept == "none" else (float(v[0]), v[1:])
        return stated(problem, alpha, coef=w, intercept=b)

    return _run(problem, "newton", Z, lambda v: M * v, target, machine, Limits(**run))


@textbook_method
def kernel_newton(problem: SVMProblem, **run: Unpack[RunOptions]) -> ClassicalResult:
    r"""Minimise the squared-hinge primal of a kernel machine by Newton's method.

    .. math::

        (K_{VV} + \tfrac{1}{2} C^{-1}) \beta_V + b 1 = s_V, \quad 1^\top \beta_V = 0, \quad \beta_i
        = 0 \text{ for } i \notin V

    Parameters
    ----------
    problem : SVMProblem
        Of ``SoftMargin(loss="squared_hinge")`` with any kernel, in either form.
    eps, max_seconds, max_steps, verbose, settings
        As for ``dual_ascent``.

    Returns
    -------
    ClassicalResult
        The machine, its trace, and the reason why the run ended.

    Raises
    ------
    InvalidParameterError
        An argument outside its domain, or a problem of another kind.
    MemoryLimitError
        The kernel matrix does not fit into memory.

    Notes
    -----
    Source: Chapelle (2007), section 4, equations 4.4 and 4.5.

    Examples
    --------
    >>> import qpsvm
    >>> machine = qpsvm.SoftMargin(C=10.0, loss="squared_hinge")
    >>> problem = machine.dual([[0.0], [2.0]], [-1, 1], kernel="rbf")
    >>> qpsvm.classical.kernel_newton(problem).relative_gap < 1e-12
    True
    """
    require_problem(problem, "kernel_newton", (SoftMargin,), loss="squared_hinge")
    model, signs, C = problem.model, problem.model.conditions.signs, _per_sample_C(problem)
    K, n, is_free = model.gram.to_dense(), len(signs), model.intercept == "free"
    if model.intercept == "penalized":  # b is the sum of beta
        K = K + 1.0
    A = np.column_stack([np.full(n, float(is_free)), K])
    K = A[:, 1:]

    def target(violated: Mask) -> Vector:
        V = np.flatnonzero(violated)
        system = np.zeros((len(V) + 1, len(V) + 1))
        system[1:, 1:] = K[np.ix_(V, V)] + np.diag(0.5 / C[V])
        system[0, 1:] = system[1:, 0] = float(is_free)
        system[0, 0] = float(not is_free)  # b = 0
        found = np.zeros(n + 1)
        found[np.concatenate([[0], 1 + V])] = _solved(system, np.concatenate([[0.0], signs[V]]))
        return found

    def machine(v: Vector, alpha: Vector) -> SVMSolution:
        beta = v[1:].copy()
        b = float(np.sum(beta)) if model.intercept == "penalized" else float(v[0])
        return stated(problem, alpha, coef=model.coef(beta), expansion=beta, intercept=b)

    def norm(v: Vector) -> Vector:
        return np.concatenate([[0.0], K @ v[1:]])

    return _run(problem, "kernel_newton", A, norm, target, machine, Limits(**run))


def _run(
    problem: SVMProblem,
    name: str,
    A: Stored,
    norm: Callable[[Vector], Vector],
    target: Callable[[Mask], Vector],
    machine: Callable[[Vector, Vector], SVMSolution],
    limits: Limits,
) -> ClassicalResult:
    """Minimise F = ``1/2 v'M v + sum_i C_i xi_i^2``, ``xi_i = max(0, 1 - s_i f_i)``, ``f = A v``.

    Parameters
    ----------
    problem : SVMProblem
    name : str
    A : array or sparse matrix of shape (n, m)
    norm : callable
        The product ``M v``.
    target : callable
        Minimises F for a fixed set of samples that violate the margin.
    machine : callable
        Builds the machine of v and the dual variables ``2 C_i xi_i``, the derivatives of the loss.
    limits : Limits
    """
    signs, C, start = problem.model.conditions.signs, _per_sample_C(problem), np.zeros(A.shape[1])

    def slack(v: Vector) -> Vector:
        return np.maximum(0.0, 1.0 - signs * (A @ v))

    def evaluated(v: Vector) -> tuple[float, Vector, Vector]:
        """F, its gradient and xi."""
        xi, Mv = slack(v), norm(v)
        cost = 0.5 * float(v @ Mv) + float(C @ (xi * xi))
        return cost, Mv - A.T @ (2.0 * C * signs * xi), xi

    def steps() -> Iterator[Vector]:
        v, (cost, gradient, xi) = start, evaluated(start)
        while True:
            violated = xi > 0.0
            d, t = target(violated) - v, 1.0
            slope = float(gradient @ d)
            if not slope < 0.0:
                return
            ahead = evaluated(v + d)
            while not ahead[0] <= cost + 1e-4 * t * slope:  # Armijo's rule
                t *= 0.5
                if t < 2.0**-40:
                    return
                ahead = evaluated(v + t * d)
            v, (cost, gradient, xi) = v + t * d, ahead
            yield v
            if t == 1.0 and np.array_equal(xi > 0.0, violated):
                return

    def of_iterate(v: Vector) -> SVMSolution:
        return machine(v, 2.0 * C * slack(v))

    return Recorder(problem, name, of_iterate, start, limits).run(following(steps()))


def _per_sample_C(problem: SVMProblem) -> Vector:
    return np.asarray(0.5 / problem.model.conditions.curvature)  # the dual's Hessian: 1 / (2 C_i)


def _solved(matrix: Dense, right: Vector) -> Vector:
    """Solve a linear system; if it is singular, return its least-squares solution of least norm."""
    try:
        return np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(matrix, right, rcond=None)[0])
