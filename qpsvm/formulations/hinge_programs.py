"""The hinge-loss classifier as programs, primal and dual, each with its recovery.

The mathematics is on the first page of ``hinge``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.formulations.hinge import HingeModel
from qpsvm.formulations.solution import SVMSolution
from qpsvm.qp._arrays import Matrix, Vector, require_memory
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.quadratic import SparseQuadratic
from qpsvm.qp.solution import QPSolution, Status

# --- the dual ------------------------------------------------------------------------------------


def dual_program(model: HingeModel) -> QuadraticProgram:
    """``P = ss' . K``, ``q = -1``, ``A = s'`` (free intercept only), ``0 <= alpha <= C``."""
    n = model.data.n_samples
    free = model.intercept == "free"
    return QuadraticProgram(
        model.dual_hessian(),
        -np.ones(n),
        A=model.data.signs[None, :] if free else None,
        b=np.zeros(1) if free else None,
        lb=np.zeros(n),
        ub=model.C,
        names={"x": "alpha"},
    )


@dataclass(frozen=True, eq=False)
class DualRecovery:
    """``x = alpha``; the multipliers are the intercept and the slack."""

    model: HingeModel

    def recover(self, qp: QPSolution) -> SVMSolution:
        """w, b, alpha and slack from a solution of the dual program."""
        model = self.model
        alpha = _vector_or_nan(qp.x, model.data.n_samples)
        expansion = model.data.signs * alpha
        return model.solution(
            qp,
            alpha,
            expansion=expansion,
            coef=model.coef(expansion),
            b=float(np.sum(expansion)),  # the weight of the constant feature, if penalised
        )

    def to_qp(self, solution: SVMSolution) -> QPSolution:
        """The dual program's solution that goes with any alpha and (w, b).

        Multipliers are read off the decision values: ``g_i = s_i f_i - 1`` is the gradient of
        the Lagrangian, its positive part z_lower and its negative part z_upper.
        """
        model = self.model
        scores, _ = model.scores_and_norm(solution)
        gradient = model.data.signs * (scores + solution.intercept) - 1.0
        free = model.intercept == "free"
        hard = np.isinf(model.C)
        return QPSolution(
            Status.UNKNOWN,
            x=solution.alpha,
            z=np.zeros(0),
            y=np.array([solution.intercept]) if free else np.zeros(0),
            z_lower=np.where(hard, gradient, np.maximum(gradient, 0.0)),
            z_upper=np.where(hard, 0.0, np.maximum(-gradient, 0.0)),
            native_status="from a model",
        )


# --- the primal ----------------------------------------------------------------------------------


def primal_program(model: HingeModel) -> QuadraticProgram:
    """(w, b, xi), or (beta, b, xi) for a kernel without explicit features.

    Rows of G: ``-s_i (w'x_i + b) - xi_i <= -1``. Variables that do not exist (b without an
    intercept, xi for a hard margin) are left out.
    """
    data, n = model.data, model.data.n_samples
    if model.is_linear:
        features: Matrix = data.X
        weight_hessian = sp.eye_array(data.n_features)
    else:
        require_memory(n, n, "The kernel primal", "use the dual form.")
        features = _plain_gram(model)
        weight_hessian = sp.csc_array(features)
    has_b, hard = model.intercept != "none", model.is_hard
    n_slack = 0 if hard else n
    signed = _scale_rows(features, -data.signs)
    columns = [sp.csc_array(signed)]
    hessian = [weight_hessian]
    if has_b:
        columns.append(sp.csc_array(-data.signs[:, None]))
        hessian.append(sp.csc_array([[model.constant]]))
    if n_slack:
        columns.append(-sp.eye_array(n))
        hessian.append(sp.csc_array((n, n)))
    n_weights = features.shape[1]
    free = np.full(n_weights + has_b, -np.inf)
    return QuadraticProgram(
        SparseQuadratic(sp.block_diag(hessian, format="csc")),
        np.concatenate([np.zeros(n_weights + has_b), model.C[:n_slack]]),
        G=sp.hstack(columns, format="csc"),
        h=-np.ones(n),
        lb=np.concatenate([free, np.zeros(n_slack)]),
        names={
            "x": ", ".join(
                ["w" if model.is_linear else "beta", *["b"] * has_b, *["xi"] * (not hard)]
            )
        },
    )


@dataclass(frozen=True, eq=False)
class PrimalRecovery:
    """``x = (w, b, xi)`` or ``(beta, b, xi)``; alpha is the multiplier of the margin rows."""

    model: HingeModel

    def recover(self, qp: QPSolution) -> SVMSolution:
        """W (or beta), b, alpha and slack from a solution of the primal program."""
        model = self.model
        n = model.data.n_samples
        n_weights = model.data.n_features if model.is_linear else n
        x = _vector_or_nan(qp.x, self._size())
        weights = x[:n_weights]
        return model.solution(
            qp,
            _vector_or_nan(qp.z, n),
            expansion=None if model.is_linear else weights,
            coef=weights if model.is_linear else None,
            b=float(x[n_weights]) if model.intercept != "none" else 0.0,
        )

    def to_qp(self, solution: SVMSolution) -> QPSolution:
        """The primal program's solution that goes with any alpha and (w, b)."""
        model = self.model
        n = model.data.n_samples
        weights = solution.coef if model.is_linear else solution.expansion
        if weights is None:
            return QPSolution(Status.UNKNOWN, native_status="the model has no weights")
        b = [] if model.intercept == "none" else [solution.intercept]
        slack = np.zeros(0) if model.is_hard else solution.slack
        x = np.concatenate([weights, b, slack])
        z_lower = np.zeros(len(x))
        if not model.is_hard:
            z_lower[-n:] = model.C - solution.alpha  # stationarity in xi
        return QPSolution(
            Status.UNKNOWN,
            x=x,
            z=solution.alpha,
            y=np.zeros(0),
            z_lower=z_lower,
            z_upper=np.zeros(len(x)),
            native_status="from a model",
        )

    def _size(self) -> int:
        model = self.model
        n = model.data.n_samples
        n_weights = model.data.n_features if model.is_linear else n
        return n_weights + (model.intercept != "none") + (0 if model.is_hard else n)


# --- small pieces ----------------------------------------------------------------------------


def _plain_gram(model: HingeModel) -> Any:
    """K itself, from the signed one."""
    s = model.data.signs
    return s[:, None] * model.gram.to_dense() * s


def _scale_rows(matrix: Matrix, factors: Vector) -> Matrix:
    if sp.issparse(matrix):
        return sp.dia_array((factors[None], [0]), shape=(len(factors), len(factors))) @ matrix
    return matrix * factors[:, None]


def _vector_or_nan(vector: Any, size: int) -> Vector:
    """A missing or misshapen vector becomes NaN, which nothing downstream can pass."""
    if vector is None or vector.shape != (size,):
        return np.full(size, np.nan)
    return np.asarray(vector, dtype=np.float64)
