"""The maximum-margin classifier with hinge loss: what hard and soft margin share.

Primal, in (w, b, xi), for explicit features::

    minimize    1/2 w'w + sum_i C_i xi_i
    subject to  s_i (w'x_i + b) >= 1 - xi_i,   xi_i >= 0

Kernel primal, in (beta, b, xi), with ``f(x_j) = (K beta)_j + b``: ``1/2 beta'K beta`` for
``1/2 w'w``. Dual, in alpha::

    minimize    1/2 alpha'(ss' . K) alpha - 1'alpha
    subject to  s'alpha = 0,   0 <= alpha_i <= C_i

A hard margin has no xi and no upper bound. A penalised intercept adds ``1/2 b^2`` to the primal,
which adds 1 to every entry of K and drops ``s'alpha = 0`` from the dual.

Recovery and certificate follow from stationarity: ``w = sum_i s_i alpha_i x_i``, b is the
multiplier of ``s'alpha = 0``, ``xi_i`` the multiplier of ``alpha_i <= C_i``, and alpha the
multiplier of the margin rows.

Source: Cortes and Vapnik, "Support-vector networks", *Machine Learning* 20 (1995), section 2 and
appendix A; for the kernel primal Chapelle, *Neural Computation* 19 (2007), section 3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from qpsvm.formulations.data import BinaryTrainingSet
from qpsvm.formulations.intercept import InterceptKind, Interval, best_intercepts
from qpsvm.formulations.solution import SVMSolution
from qpsvm.kernels import Kernel, Linear, gram_quadratic
from qpsvm.qp._arrays import Vector, as_vector, restore_frozen
from qpsvm.qp.quadratic import Quadratic
from qpsvm.qp.solution import QPSolution

Form: TypeAlias = Literal["primal", "dual"]

SMALLEST_MARGIN = 1e-100
"""Weights with a smaller margin count as not separating: their squares would underflow."""


@dataclass(frozen=True, eq=False)
class HingeModel:
    """Everything both forms of one training problem share.

    Attributes
    ----------
    data : BinaryTrainingSet
    kernel : Kernel
        With every parameter a number.
    C : array of shape (n,)
        The box; infinite entries for a hard margin.
    intercept : "free", "penalized" or "none"
    gram : Quadratic
        ``s_i s_j K_ij``, without the constant of a penalised intercept: certificates are computed
        from it, and taking the constant off again would leave only the digits of K that survived
        adding it.
    """

    data: BinaryTrainingSet
    kernel: Kernel
    C: Vector
    intercept: InterceptKind
    gram: Quadratic

    @classmethod
    def build(
        cls, data: BinaryTrainingSet, kernel: Kernel, C: Vector, intercept: InterceptKind
    ) -> HingeModel:
        """Resolve the kernel's parameters and set up the Gram matrix (not computed yet)."""
        resolved = kernel.resolve(data.X)
        gram = gram_quadratic(resolved, data.X, data.signs)
        return cls(data, resolved, as_vector(C, "C"), intercept, gram)

    def __setstate__(self, state: dict[str, Any]) -> None:
        restore_frozen(self, state)

    @property
    def constant(self) -> float:
        """What a penalised intercept adds to every entry of K."""
        return 1.0 if self.intercept == "penalized" else 0.0

    @property
    def is_hard(self) -> bool:
        """True when no slack is allowed."""
        return bool(np.isinf(self.C).any())

    @property
    def is_linear(self) -> bool:
        """True when there is an explicit weight vector."""
        return isinstance(self.kernel, Linear)

    def dual_hessian(self) -> Quadratic:
        """``s_i s_j (K_ij + constant)``, what solvers of the dual are given."""
        if not self.constant:
            return self.gram
        return gram_quadratic(self.kernel, self.data.X, self.data.signs, constant=self.constant)

    # --- products --------------------------------------------------------------------------------

    def kernel_product(self, v: Vector) -> Vector:
        """``K v``."""
        s = self.data.signs
        return s * self.gram.matvec(s * v)

    def curvature(self, a: Vector) -> float:
        """``a'Pa = |w|^2 + constant (s'a)^2`` for ``w = sum_i s_i a_i phi(x_i)``."""
        imbalance = float(self.data.signs @ a)  # times itself: a power of a float can raise
        return 2.0 * self.gram.value(a) + self.constant * imbalance * imbalance

    def coef(self, expansion: Vector) -> Vector | None:
        """``w = X' v``, for the linear kernel."""
        return np.asarray(self.data.X.T @ expansion) if self.is_linear else None

    def scores_and_norm(self, solution: SVMSolution) -> tuple[Vector, float]:
        """Decision values without the intercept, shape (n,), and ``|w|^2``.

        From ``coef`` when there is one, because that is what predictions use.
        """
        if solution.coef is not None:
            return np.asarray(self.data.X @ solution.coef), float(solution.coef @ solution.coef)
        if solution.expansion is None:
            return np.full(self.data.n_samples, np.nan), np.nan
        scores = self.kernel_product(solution.expansion)
        return scores, float(solution.expansion @ scores)

    # --- the two objectives, for anything --------------------------------------------------------

    def primal_objective(self, scores: Vector, norm_squared: float, b: float) -> float:
        """``1/2 |w|^2 + sum_i C_i max(0, 1 - s_i (g_i + b))``, plus ``1/2 b^2`` if penalised.

        For a hard margin, an infeasible (w, b) is scaled up until its smallest margin is 1 (the
        objective of the scaled point, infinite when some sample is on the wrong side). Where the
        program has no intercept, any other b than zero is infeasible: infinite.
        """
        if self.intercept == "none" and b != 0.0:
            return math.inf
        norm_squared = max(norm_squared, 0.0) + self.constant * b * b
        margins = self.data.signs * (scores + b)
        if self.is_hard:
            smallest = float(np.min(margins))
            if not smallest > SMALLEST_MARGIN:
                return np.inf
            return 0.5 * norm_squared / min(1.0, smallest) ** 2
        return 0.5 * norm_squared + float(self.C @ np.maximum(0.0, 1.0 - margins))

    def rounding(self, solution: SVMSolution, margins: Vector, objective: float) -> float:
        """What rounding can add to the objective, relative to it (hard margin: to the margins).

        A decision value is a sum whose terms may be far larger than it is: its error is of the
        order of ``e_i = u (sum |terms| + |b| + 1)`` with the rounding unit u, and each sample that
        can be short of its margin passes ``C_i e_i`` on to the objective. An estimate, not an
        enclosure.
        """
        unit = float(np.finfo(np.float64).eps)
        if solution.coef is not None:
            sizes = np.asarray(abs(self.data.X) @ np.abs(solution.coef))
            square = float(solution.coef @ solution.coef)
        elif solution.expansion is not None:
            v = np.abs(solution.expansion)
            if self.kernel.is_nonnegative:
                sizes = self.kernel_product(v)
            else:  # |k(x, z)| <= |phi(x)| |phi(z)|
                norms = np.sqrt(np.abs(self.gram.diagonal()))
                sizes = norms * float(norms @ v)
            square = float(v @ sizes)
        else:
            return math.inf
        errors = unit * (sizes + abs(solution.intercept) + 1.0)
        if self.is_hard:
            return float(np.max(errors))
        short = margins < 1.0 + errors
        total = float(self.C[short] @ errors[short]) + unit * square
        return total / max(abs(objective), float(np.finfo(float).tiny))

    def feasible_dual(self, alpha: Vector) -> Vector:
        """The nearest thing to alpha that is dual feasible: ``0 <= a <= C`` and ``s'a = 0``.

        Clip to the box; then remove the imbalance ``s'a`` from the variables that are strictly
        inside it, in proportion to their room ``min(a, C - a)``, where it costs the least
        (their reduced cost is zero at the optimum). Only if their room does not suffice, use all
        the room there is. A hard margin's feasible points form a cone: the best multiple of a,
        ``t = 1'a / a'Pa``, is taken.
        """
        a: Vector = np.minimum(np.maximum(alpha, 0.0), self.C)
        if self.intercept == "free":
            for _ in range(5):  # each pass removes the rounding of the one before
                if abs(float(self.data.signs @ a)) <= np.finfo(np.float64).eps * float(np.sum(a)):
                    break
                a = self._balanced(a)
        if self.is_hard:
            total, curvature = float(np.sum(a)), self.curvature(a)
            if total > 0.0 and curvature > 0.0:
                a = a * (total / curvature)
        return a

    def _balanced(self, a: Vector) -> Vector:
        """Remove ``s'a`` from a point of the box without leaving it."""
        s, C = self.data.signs, self.C
        imbalance = float(s @ a)
        shrinks = s * imbalance > 0.0
        inside = np.minimum(a, C - a)
        room = np.where(shrinks, a, np.minimum(C - a, abs(imbalance)))
        weights = inside if float(np.sum(inside)) >= abs(imbalance) else room
        total = float(np.sum(weights))
        if imbalance == 0.0 or not total > 0.0:
            return a
        step = min(1.0, abs(imbalance) / total) * weights
        return np.minimum(np.maximum(np.where(shrinks, a - step, a + step), 0.0), C)

    def dual_objective(self, a: Vector) -> float:
        """``1'a - 1/2 a'Pa`` for a feasible a."""
        return float(np.sum(a)) - 0.5 * self.curvature(a)

    # --- recovery --------------------------------------------------------------------------------

    def solution(
        self,
        qp: QPSolution,
        alpha: Vector,
        *,
        expansion: Vector | None = None,
        coef: Vector | None = None,
        b: float | None = None,
    ) -> SVMSolution:
        """An SVMSolution whose intercept and slack are exact for its weights.

        With a free intercept, b is the exact minimiser of the objective for these weights (the
        midpoint, if there are many). ``b`` is given where the program itself penalises it.
        """
        n = self.data.n_samples
        draft = SVMSolution(
            alpha=alpha,
            expansion=expansion,
            coef=coef,
            intercept=0.0,
            intercept_interval=Interval(0.0, 0.0),
            slack=np.zeros(n),
            upper=self.C,
            kernel=self.kernel,
            data=self.data,
            qp=qp,
        )
        scores, _ = self.scores_and_norm(draft)
        if self.intercept == "free":
            interval = best_intercepts(scores, self.data.signs, self.C)
        else:
            fixed = 0.0 if self.intercept == "none" or b is None else b
            interval = Interval(fixed, fixed)
        slack = np.maximum(0.0, 1.0 - self.data.signs * (scores + interval.midpoint))
        return draft.replace(intercept=interval.midpoint, intercept_interval=interval, slack=slack)
