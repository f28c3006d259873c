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
from dataclasses import dataclass
from typing import Unpack

import numpy as np

from qpsvm.classical.hinge import with_ones
from qpsvm.classical.machines import require_problem, stated
from qpsvm.classical.recording import Recorder
from qpsvm.classical.result import ClassicalResult
from qpsvm.classical.settings import METHODS, Limits, RunOptions, textbook_method
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
    model, signs, C = problem.model, problem.model.conditions.signs, _prices(problem)
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

    F = SquaredHinge(signs, C, Z, lambda v: M * v, target)

    def machine(v: Vector) -> SVMSolution:
        b, w = (0.0, v) if model.intercept == "none" else (float(v[0]), v[1:])
        return stated(problem, F.alpha(v), coef=w, intercept=b)

    recorder = Recorder(problem, "newton", machine, np.zeros(len(M)), Limits(**run))
    return recorder.run(following(_steps(F, np.zeros(len(M)))))


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
    model, signs, C = problem.model, problem.model.conditions.signs, _prices(problem)
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

    F = SquaredHinge(signs, C, A, lambda v: np.concatenate([[0.0], K @ v[1:]]), target)

    def machine(v: Vector) -> SVMSolution:
        beta = v[1:].copy()
        b = float(np.sum(beta)) if model.intercept == "penalized" else float(v[0])
        return stated(problem, F.alpha(v), coef=model.coef(beta), expansion=beta, intercept=b)

    recorder = Recorder(problem, "kernel_newton", machine, np.zeros(n + 1), Limits(**run))
    return recorder.run(following(_steps(F, np.zeros(n + 1))))


# --- the loop ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SquaredHinge:
    """Objective ``1/2 v'M v + sum_i C_i max(0, 1 - s_i f_i)^2`` of decision values ``f = A v``.

    Attributes
    ----------
    signs, prices : arrays of shape (n,)
        s and C.
    A : array or sparse matrix of shape (n, m)
    norm : callable
        The product ``M v``.
    target : callable
        Minimises the objective for a fixed set of samples that violate the margin.
    """

    signs: Vector
    prices: Vector
    A: Stored
    norm: Callable[[Vector], Vector]
    target: Callable[[Mask], Vector]

    def values(self, v: Vector) -> Vector:
        """Compute the decision values ``f = A v`` of the training samples, shape (n,)."""
        return np.asarray(self.A @ v)

    def slack(self, f: Vector) -> Vector:
        """Compute by how much each sample violates the margin, ``max(0, 1 - s_i f_i)``."""
        return np.maximum(0.0, 1.0 - self.signs * f)

    def cost(self, v: Vector, f: Vector) -> float:
        """Compute the primal objective, given the decision values f."""
        xi = self.slack(f)
        return 0.5 * float(v @ self.norm(v)) + float(self.prices @ (xi * xi))

    def gradient(self, v: Vector, f: Vector) -> Vector:
        """Compute the gradient of the primal objective, ``M v - 2 A'(C s xi)``."""
        return self.norm(v) - self.A.T @ (2.0 * self.prices * self.signs * self.slack(f))

    def alpha(self, v: Vector) -> Vector:
        """Compute the dual variables ``2 C_i xi_i``, the derivatives of the loss."""
        return 2.0 * self.prices * self.slack(self.values(v))


def _steps(F: SquaredHinge, v: Vector) -> Iterator[Vector]:
    f = F.values(v)
    while True:
        violated = F.signs * f < 1.0
        d = F.target(violated) - v
        slope, before, t = float(F.gradient(v, f) @ d), F.cost(v, f), 1.0
        if not slope < 0.0:
            return
        while True:
            ahead = v + t * d
            values = F.values(ahead)
            if F.cost(ahead, values) <= before + METHODS.sufficient_decrease * t * slope:
                break
            t *= 0.5
            if t < METHODS.shortest_step:
                return
        v, f = ahead, values
        yield v
        if t == 1.0 and np.array_equal(F.signs * f < 1.0, violated):
            return


def _prices(problem: SVMProblem) -> Vector:
    return np.asarray(0.5 / problem.model.conditions.curvature)  # the dual's Hessian: 1 / (2 C_i)


def _solved(matrix: Dense, right: Vector) -> Vector:
    """Solve a linear system; if it is singular, return its least-squares solution of least norm."""
    try:
        return np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(matrix, right, rcond=None)[0])
