"""The squared-hinge primal as a function of weights or of expansion coefficients.

Both have the cost ``F(v) = 1/2 |w|^2 + sum_i C_i max(0, 1 - s_i f(x_i))^2``; they differ in the
variables v, in the norm, and in the system whose solution is the minimum on a set of violations.
The equations and their sources are those of ``newton``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from qpsvm.classical.hinge import with_ones
from qpsvm.classical.machines import stated
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Dense, Mask, Vector, as_dense, is_sparse
from qpsvm.numerics.single_precision import Stored


class SquaredHinge(ABC):
    """Objective ``1/2 v'M v + sum_i C_i max(0, 1 - s_i f_i)^2`` of decision values ``f = A v``."""

    def __init__(self, problem: SVMProblem) -> None:
        c = problem.model.conditions
        self.problem, self.signs = problem, c.signs
        self.prices = 0.5 / c.curvature  # C_i: the Hessian of the dual has 1 / (2 C_i)
        self.kind = problem.model.intercept
        self.size = 0

    def start(self) -> Vector:
        """Return ``v = 0``, where the iterations start."""
        return np.zeros(self.size)

    @abstractmethod
    def values(self, v: Vector) -> Vector:
        """Compute the decision values ``f = A v`` of the training samples, shape (n,)."""

    @abstractmethod
    def norm(self, v: Vector) -> Vector:
        """Compute ``M v``, the gradient of ``1/2 v'M v``."""

    @abstractmethod
    def adjoint(self, u: Vector) -> Vector:
        """Compute ``A'u``, the gradient in v of a loss whose derivatives in the values f are u."""

    @abstractmethod
    def target(self, v: Vector, violated: Mask) -> Vector:
        """Minimise the objective for a fixed set of samples that violate the margin."""

    @abstractmethod
    def machine(self, v: Vector) -> SVMSolution:
        """Return the machine with these variables, as a solution of the problem."""

    def slack(self, f: Vector) -> Vector:
        """Compute by how much each sample violates the margin, ``max(0, 1 - s_i f_i)``."""
        return np.maximum(0.0, 1.0 - self.signs * f)

    def cost(self, v: Vector, f: Vector) -> float:
        """Compute the primal objective, given the decision values f."""
        xi = self.slack(f)
        return 0.5 * float(v @ self.norm(v)) + float(self.prices @ (xi * xi))

    def gradient(self, v: Vector, f: Vector) -> Vector:
        """Compute the gradient of the primal objective, ``M v - 2 A'(C s xi)``."""
        return self.norm(v) - self.adjoint(2.0 * self.prices * self.signs * self.slack(f))

    def alpha(self, v: Vector) -> Vector:
        """Compute the dual variables ``2 C_i xi_i``, the derivatives of the loss."""
        return 2.0 * self.prices * self.slack(self.values(v))


class InWeights(SquaredHinge):
    """The objective as a function of the weights: ``v = (b, w)``, or w without an intercept."""

    def __init__(self, problem: SVMProblem) -> None:
        super().__init__(problem)
        data = problem.model.data
        X = data.X if is_sparse(data.X) else np.asarray(data.X)
        self.Z: Stored = X if self.kind == "none" else with_ones(X)
        self.size = int(self.Z.shape[1])
        self.M = np.ones(self.size)
        if self.kind == "free":
            self.M[0] = 0.0

    def values(self, v: Vector) -> Vector:
        return np.asarray(self.Z @ v)

    def norm(self, v: Vector) -> Vector:
        return np.asarray(self.M * v)

    def adjoint(self, u: Vector) -> Vector:
        return np.asarray(self.Z.T @ u)

    def target(self, v: Vector, violated: Mask) -> Vector:
        del v
        Z, weights = self.Z[violated], 2.0 * self.prices[violated]
        weighted = Z.multiply(weights[:, None]) if is_sparse(Z) else Z * weights[:, None]
        H = np.diag(self.M) + as_dense(Z.T @ weighted)
        return _solved(H, np.asarray(Z.T @ (weights * self.signs[violated])))

    def machine(self, v: Vector) -> SVMSolution:
        b, w = (0.0, v) if self.kind == "none" else (float(v[0]), v[1:])
        return stated(self.problem, self.alpha(v), coef=w, intercept=b)


class InExpansion(SquaredHinge):
    """The objective as a function of the coefficients of kernel values, ``f = K beta + b``.

    The variables are ``v = (b, beta)``. A penalised b is ``sum beta``, with 1 added to every kernel
    value.
    """

    def __init__(self, problem: SVMProblem) -> None:
        super().__init__(problem)
        self.K: Dense = problem.model.gram.to_dense()
        if self.kind == "penalized":
            self.K = self.K + 1.0
        self.size = 1 + len(self.signs)

    def values(self, v: Vector) -> Vector:
        return np.asarray(self.K @ v[1:] + float(v[0]))

    def norm(self, v: Vector) -> Vector:
        return np.concatenate([[0.0], self.K @ v[1:]])

    def adjoint(self, u: Vector) -> Vector:
        return np.concatenate([[float(np.sum(u)) if self.kind == "free" else 0.0], self.K @ u])

    def target(self, v: Vector, violated: Mask) -> Vector:
        del v
        V = np.flatnonzero(violated)
        m = len(V)
        system = np.zeros((m + 1, m + 1))
        system[1:, 1:] = self.K[np.ix_(V, V)] + np.diag(0.5 / self.prices[V])
        right = np.concatenate([[0.0], self.signs[V]])
        if self.kind == "free":
            system[0, 1:] = system[1:, 0] = 1.0
        else:
            system[0, 0] = 1.0  # b = 0
        found = np.zeros(self.size)
        found[np.concatenate([[0], 1 + V])] = _solved(system, right)
        return found

    def machine(self, v: Vector) -> SVMSolution:
        beta = v[1:].copy()
        b = float(np.sum(beta)) if self.kind == "penalized" else float(v[0])
        coef = self.problem.model.coef(beta)
        return stated(self.problem, self.alpha(v), coef=coef, expansion=beta, intercept=b)


def _solved(matrix: Dense, right: Vector) -> Vector:
    """Solve a linear system; if it is singular, return its least-squares solution of least norm."""
    try:
        return np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(matrix, right, rcond=None)[0])
