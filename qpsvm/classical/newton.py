"""Newton's method on the primal of the squared hinge, in weights or in an expansion.

The squared hinge is differentiable, and quadratic as long as the same samples violate their
margins. With those samples V and ``C = diag(C_i)``, in weights (Chapelle's section 3)::

    F(w, b) = 1/2 |w|^2 + sum_{i in V} C_i (s_i - w'x_i - b)^2
    gradient: w - 2 X_V'C (s - f)_V,       Hessian: I + 2 X_V'C X_V        (and b likewise)

and with the representer expansion ``f(x) = sum_j beta_j k(x_j, x) + b`` (section 4), where the
Newton step has a closed form: beta vanishes outside V, and::

    (K_VV + 1/2 C^{-1}) beta_V + b 1 = s_V,     1'beta_V = 0

A step that leaves V as it was is the last one: then F is that quadratic, and its minimum is reached
exactly. Steps that do not decrease F enough are halved. The dual variables are the slopes of the
loss, ``alpha_i = 2 C_i max(0, 1 - s_i f(x_i))``.

Sources: Chapelle, "Training a support vector machine in the primal", *Neural Computation* 19
(2007), sections 3 and 4; finite convergence: Keerthi and DeCoste, *JMLR* 6 (2005), theorem 1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from qpsvm.classical.hinge import with_ones
from qpsvm.classical.machines import require_problem, stated
from qpsvm.classical.recording import Recorder
from qpsvm.classical.result import ClassicalResult
from qpsvm.classical.settings import DEFAULTS, NUMBERS, Limits, TraceSettings
from qpsvm.formulations.margin import SoftMargin
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Dense, Mask, Vector, as_dense, is_sparse


def newton(
    problem: SVMProblem,
    *,
    eps: float = 1e-6,
    max_seconds: float | None = 10.0,
    max_steps: int | None = None,
    verbose: bool = False,
    settings: TraceSettings = DEFAULTS,
) -> ClassicalResult:
    """Newton's method on the primal of the squared hinge, in the weights of a linear machine.

    ``(I + 2 X_V'C X_V) step = w - 2 X_V'C (s - f)_V,   w <- w - t step``

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
    F, limits = _Weights(problem), Limits(eps, max_seconds, max_steps)
    recorder = Recorder(problem, "newton", F.machine, limits, settings, verbose)
    return recorder.follow(F.start(), _steps(F))


def kernel_newton(
    problem: SVMProblem,
    *,
    eps: float = 1e-6,
    max_seconds: float | None = 10.0,
    max_steps: int | None = None,
    verbose: bool = False,
    settings: TraceSettings = DEFAULTS,
) -> ClassicalResult:
    """Minimise the squared-hinge primal of a kernel machine by Newton's method.

    ``(K_VV + 1/2 C^{-1}) beta_V + b 1 = s_V,   1'beta_V = 0,   beta elsewhere 0``

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
    F, limits = _Expansion(problem), Limits(eps, max_seconds, max_steps)
    recorder = Recorder(problem, "kernel_newton", F.machine, limits, settings, verbose)
    return recorder.follow(F.start(), _steps(F))


# --- the loop ------------------------------------------------------------------------------------


class _Primal(ABC):
    """The squared hinge of decision values ``f = A v``, plus the norm ``1/2 v'M v``."""

    def __init__(self, problem: SVMProblem) -> None:
        c = problem.model.conditions
        self.problem, self.signs = problem, c.signs
        self.prices = 0.5 / c.curvature  # C_i: the Hessian of the dual has 1 / (2 C_i)
        self.kind = problem.model.intercept
        self.size = 0

    def start(self) -> Vector:
        """Zeros."""
        return np.zeros(self.size)

    @abstractmethod
    def values(self, v: Vector) -> Vector:
        """Compute the decision values ``A v`` of the training samples, shape (n,)."""

    @abstractmethod
    def norm(self, v: Vector) -> Vector:
        """``M v``."""

    @abstractmethod
    def pulled(self, u: Vector) -> Vector:
        """``A'u``."""

    @abstractmethod
    def target(self, v: Vector, violated: Mask) -> Vector:
        """Minimise the objective for a fixed set of samples that violate the margin."""

    @abstractmethod
    def machine(self, v: Vector) -> SVMSolution:
        """The solution of the problem that v stands for."""

    def slack(self, f: Vector) -> Vector:
        """``max(0, 1 - s f)``."""
        return np.maximum(0.0, 1.0 - self.signs * f)

    def cost(self, v: Vector, f: Vector) -> float:
        """``F``."""
        xi = self.slack(f)
        return 0.5 * float(v @ self.norm(v)) + float(self.prices @ (xi * xi))

    def gradient(self, v: Vector, f: Vector) -> Vector:
        """``M v - 2 A'C s xi``."""
        return self.norm(v) - self.pulled(2.0 * self.prices * self.signs * self.slack(f))

    def alpha(self, v: Vector) -> Vector:
        """``2 C_i xi_i``."""
        return 2.0 * self.prices * self.slack(self.values(v))


def _steps(F: _Primal) -> Iterator[Vector]:
    v = F.start()
    f = F.values(v)
    while True:
        violated = F.signs * f < 1.0
        d = F.target(v, violated) - v
        slope, before, t = float(F.gradient(v, f) @ d), F.cost(v, f), 1.0
        if not slope < 0.0:
            return
        while True:
            ahead = v + t * d
            values = F.values(ahead)
            if F.cost(ahead, values) <= before + NUMBERS.sufficient_decrease * t * slope:
                break
            t *= 0.5
            if t < NUMBERS.shortest_step:
                return
        v, f = ahead, values
        yield v
        if t == 1.0 and np.array_equal(F.signs * f < 1.0, violated):
            return


# --- weights -------------------------------------------------------------------------------------


class _Weights(_Primal):
    """``v = (b, w)`` with samples ``(1, x)``, or w alone without an intercept."""

    def __init__(self, problem: SVMProblem) -> None:
        super().__init__(problem)
        data = problem.model.data
        X = data.X if is_sparse(data.X) else np.asarray(data.X)
        self.Z: Any = X if self.kind == "none" else with_ones(X)
        self.size = int(self.Z.shape[1])
        self.M = np.ones(self.size)
        if self.kind == "free":
            self.M[0] = 0.0

    def values(self, v: Vector) -> Vector:
        return np.asarray(self.Z @ v)

    def norm(self, v: Vector) -> Vector:
        return np.asarray(self.M * v)

    def pulled(self, u: Vector) -> Vector:
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


# --- the expansion -------------------------------------------------------------------------------


class _Expansion(_Primal):
    """``v = (b, beta)`` with decision values ``K beta + b``; a penalised b is ``sum beta``."""

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

    def pulled(self, u: Vector) -> Vector:
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
    """The solution of a linear system, that of least norm if it is singular."""
    try:
        return np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(matrix, right, rcond=None)[0])
