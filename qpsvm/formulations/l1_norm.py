"""The classifier with sparse weights: ``L1Norm``, a linear program with the hinge loss.

Primal, in (w, b, xi), with ``w = w+ - w-`` and signs s of the two classes::

    minimize    1'(w+ + w-) + sum_i C_i xi_i      (squared hinge: sum_i C_i xi_i^2)
    subject to  s_i (w'x_i + b) >= 1 - xi_i,   xi_i >= 0,   w+, w- >= 0

Dual, in alpha::

    minimize    -1'alpha
    subject to  -1 <= sum_i s_i alpha_i x_i <= 1,   s'alpha = 0,   0 <= alpha_i <= C_i

w are the multipliers of the dual's rows. The squared hinge has no upper bound and ``diag(1/(2
C_i))`` as Hessian. A penalised intercept is the weight of a feature that is always 1: it adds
``|b|`` to the objective, and ``|s'alpha| <= 1`` takes the place of ``s'alpha = 0``. Without
explicit features the coefficients beta of ``f(x) = sum_i beta_i k(x_i, x) + b`` take the place of
w, the columns of K that of the features.

In the code u is w, or (w, b) with a penalised intercept, and ``Phi`` has the features of u: X, or K
for a kernel, and a column of ones where b is penalised.

Sources: Bradley and Mangasarian, "Feature selection via concave minimization and support vector
machines", ICML 1998; Zhu, Rosset, Hastie and Tibshirani, "1-norm support vector machines", NIPS 16
(2003); with kernels Mangasarian, "Generalized support vector machines" (2000). Squared hinge and
penalised intercept: Fan, Chang, Hsieh, Wang and Lin, "LIBLINEAR", *JMLR* 9 (2008), L1R_L2LOSS_SVC.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp

from qpsvm.data.training_sets import BinaryTrainingSet
from qpsvm.formulations.family import Classifier
from qpsvm.formulations.margin import hinge
from qpsvm.formulations.parameters import ClassWeight, per_sample_C
from qpsvm.kernels.gram import Gram
from qpsvm.machines.blocks import NO_WEIGHTS, ModelRecovery, blocks, vector_or_nan
from qpsvm.machines.conditions import Conditions, InterceptKind
from qpsvm.machines.dual_program import DualRecovery, dual_blocks, dual_program
from qpsvm.machines.evaluation import Evaluation
from qpsvm.machines.model import SupportVectorModel
from qpsvm.machines.norms import ABSOLUTE
from qpsvm.machines.primal_dual import DualPoint
from qpsvm.machines.primal_program import PrimalRecovery, primal_program
from qpsvm.machines.setup import DecisionValues
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Matrix, Vector
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.quadratic import Quadratic, SparseQuadratic
from qpsvm.qp.sample_quadratic import Selection
from qpsvm.qp.solution import QPSolution


def _has_free_b(model: SupportVectorModel) -> int:
    """Number of intercepts that are no part of u: 1 or 0."""
    return int(model.intercept == "free")


def _n_penalized(model: SupportVectorModel) -> int:
    """Number of penalised variables, the length of u."""
    return model.n_weights + int(model.constant)


def _diagonal(before: int, values: Vector, after: int) -> Quadratic:
    """A Hessian with a diagonal block between blocks of zeros."""
    diagonal = np.concatenate([np.zeros(before), values, np.zeros(after)])
    return SparseQuadratic(sp.diags_array(diagonal, format="csc"))


def l1_primal(model: SupportVectorModel) -> QuadraticProgram:
    """Build the primal program of a machine with a 1-norm, its coefficients split as ``u+ - u-``.

    Slack costs ``C_i xi_i``, or with the squared hinge ``C_i xi_i^2``.
    """
    c, n, usual = model.conditions, _n_penalized(model), primal_program(model)
    G, A = (
        sp.hstack([rows[:, :n], -rows[:, :n], rows[:, n:]], format="csc")
        for rows in map(sp.csc_array, (usual.G, usual.A))
    )
    before = G.shape[1] - len(c)
    return QuadraticProgram(
        _diagonal(before, 1.0 / c.curvature, 0) if c.curvature.any() else None,
        np.concatenate([np.ones(2 * n), usual.q[n:]]),
        G=G,
        h=usual.h,
        A=A,
        b=usual.b,
        lb=np.concatenate([np.zeros(2 * n), usual.lb[n:]]),
        names={"x": ", ".join(l1_blocks(model))},
    )


def l1_blocks(model: SupportVectorModel) -> dict[str, slice]:
    """Slices of x that hold the parts of the primal program's variables, by name."""
    n, constant = model.n_weights, int(model.constant)
    sizes = {"w+": n, "b+": constant, "w-": n, "b-": constant, "b": _has_free_b(model)}
    return blocks({**sizes, "xi": len(model.conditions)})


def l1_dual(model: SupportVectorModel) -> QuadraticProgram:
    """Build the dual program of a machine with a 1-norm, which bounds every implied weight by 1.

    The squared hinge has ``diag(1/(2 C_i))`` as its Hessian.
    """
    c, usual = model.conditions, dual_program(model)
    features: Matrix = model.data.X if model.is_linear else model.gram.to_dense()
    rows = [sp.csr_array(c.rows @ features)]
    if model.constant:
        rows = [sp.hstack([*rows, sp.csr_array(c.signs[:, None])])]
    if model.constraints is not None:
        of_constraints = model.constraints.rows
        rows.append(-sp.csr_array(of_constraints if model.constant else of_constraints[:, :-1]))
    adjoint = sp.vstack(rows).T
    return QuadraticProgram(
        _diagonal(0, c.curvature, model.n_constraints) if c.curvature.any() else None,
        usual.q,
        G=sp.vstack([adjoint, -adjoint], format="csc"),
        h=np.ones(2 * _n_penalized(model)),
        A=usual.A,
        b=usual.b,
        lb=usual.lb,
        ub=usual.ub,
        names=usual.names,
    )


def _recovered(
    model: SupportVectorModel,
    qp: QPSolution,
    alpha: Vector,
    u: Vector,
    free: Vector,
    multipliers: Vector,
) -> Evaluation:
    """Recover the machine from alpha, u and the free intercept, shape (1,) or (0,).

    Interior-point methods leave small numbers where the optimum has zeros. An entry of u becomes
    zero where it is smaller than what its dual constraint leaves free, ``1 - |adjoint|``, one of
    which is zero at an optimum; if that makes the objective no larger.
    """

    def machine(u: Vector) -> Evaluation:
        weights, b = u[: model.n_weights], np.concatenate([u[model.n_weights :], free])
        return model.recovered(
            qp,
            alpha,
            expansion=None if model.is_linear else weights,
            coef=weights if model.is_linear else None,
            multipliers=multipliers,
            b=float(b[0]) if len(b) else 0.0,
        )

    found = machine(u)
    if model.constraints is not None:
        return found
    idle = np.abs(u) < 1.0 - np.abs(model.adjoint(DualPoint(alpha, multipliers)))
    if not np.any(u[idle]):
        return found
    sparse = machine(np.where(idle, 0.0, u))
    is_better = model.primal_objective(sparse) <= model.primal_objective(found)
    return sparse if is_better else found


def _penalized(model: SupportVectorModel, solution: SVMSolution) -> Vector | None:
    """The variables u of a solution; None if it has no weights of the kind that the model has."""
    weights = solution.coef if model.is_linear else solution.expansion
    if weights is None:
        return None
    return np.append(weights, [solution.intercept] * int(model.constant))


# no subclasses of the usual maps, which say that the weights follow from alpha
class L1PrimalRecovery(ModelRecovery[SupportVectorModel]):
    """Map between ``x = (u+, u-, b, xi)`` and the SVM; the margin rows' multipliers are alpha."""

    blocks_of = staticmethod(l1_blocks)

    def recover(self, qp: QPSolution) -> Evaluation:
        """Recover w, b, alpha and slack from a solution of the primal program."""
        model, n, has_b = self.model, _n_penalized(self.model), _has_free_b(self.model)
        N, m = len(model.conditions), model.n_inequalities
        x = vector_or_nan(qp.x, 2 * n + has_b + N)
        z, y = vector_or_nan(qp.z, N + m), vector_or_nan(qp.y, model.n_constraints - m)
        u, free = x[:n] - x[n : 2 * n], x[2 * n : 2 * n + has_b]
        return _recovered(model, qp, z[:N], u, free, np.concatenate([z[N:], y]))

    def to_qp(self, values: DecisionValues) -> QPSolution:
        """Build the primal program's solution from any alpha and (w, b)."""
        solution, usual = values.solution, PrimalRecovery(self.model).to_qp(values)
        if usual.x is None or usual.z_lower is None:  # of a machine without weights
            return usual
        point = DualPoint(solution.alpha, solution.constraint_multipliers)
        adjoint, n = self.model.adjoint(point), _n_penalized(self.model)
        u = usual.x[:n]
        x = np.concatenate([np.maximum(u, 0.0), np.maximum(-u, 0.0), usual.x[n:]])
        z_lower = np.concatenate([1.0 - adjoint, 1.0 + adjoint, usual.z_lower[n:]])
        return usual.replace(x=x, z_lower=z_lower, z_upper=np.zeros(len(x)))


class L1DualRecovery(ModelRecovery[SupportVectorModel]):
    """Map between ``x = (alpha, z, y)`` and the SVM; the rows' multipliers give u."""

    blocks_of = staticmethod(dual_blocks)

    def recover(self, qp: QPSolution) -> Evaluation:
        """Recover w, b, alpha and slack from a solution of the dual program."""
        model, n, N = self.model, _n_penalized(self.model), len(self.model.conditions)
        x, z = vector_or_nan(qp.x, N + model.n_constraints), vector_or_nan(qp.z, 2 * n)
        free = vector_or_nan(qp.y, _has_free_b(model))
        return _recovered(model, qp, x[:N], z[:n] - z[n:], free, x[N:])

    def to_qp(self, values: DecisionValues) -> QPSolution:
        """Build the dual program's solution from any alpha and (w, b)."""
        u = _penalized(self.model, values.solution)
        if u is None:
            return NO_WEIGHTS
        split = np.concatenate([np.maximum(u, 0.0), np.maximum(-u, 0.0)])
        return DualRecovery(self.model).to_qp(values).replace(z=split)


@dataclass(frozen=True, repr=False)
class L1Norm(Classifier):
    r"""The 1-norm support vector classifier: few features, by a linear program.

    .. math::

        \min \; \lVert w \rVert_1 + C \sum_i \max(0, 1 - s_i (w^\top x_i + b))

    Parameters
    ----------
    C : float
        Penalty on a margin violation, above 0 and finite. Too small a C gives w = 0.
    intercept : {"free", "penalized", "none"}
        Whether b is left out of the objective, enters it as ``|b|`` (what LIBLINEAR solves), or is
        zero.
    loss : {"hinge", "squared_hinge"}
        Whether a violation v costs ``C v`` or ``C v^2``.
    class_weight : dict, "balanced" or None
        Factors of C by label.
    average_loss : bool
        Divide C by the sum of the sample weights, which is n without any.

    Raises
    ------
    InvalidParameterError
        C not a finite number above 0, another loss or intercept, class weights not above zero.

    Notes
    -----
    The optimal w need not be unique: the certificate bounds the objective, and no distance
    :math:`\lVert w - w^{*} \rVert` follows from it.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.L1Norm(C=1.0).primal([[0.0, 0.3], [2.0, 0.1]], [-1, 1])
    >>> problem.qp.is_linear
    True
    >>> solution = qpsvm.solve(problem)
    >>> solution.coef.round(6)
    array([1., 0.])
    """

    _task = None  # another norm than that of the weights of a pass

    _norm = ABSOLUTE
    _primal = l1_primal, L1PrimalRecovery
    _dual = l1_dual, L1DualRecovery

    C: float = 1.0
    intercept: InterceptKind = "free"
    loss: Literal["hinge", "squared_hinge"] = "hinge"
    class_weight: ClassWeight = None
    average_loss: bool = False

    def conditions(self, data: BinaryTrainingSet, gram: Gram) -> Conditions:
        C = per_sample_C(self.C, data, class_weight=self.class_weight, average=self.average_loss)
        return hinge(
            Selection(data.n_samples, data.signs), C.rounded, self.loss, intercept=self.intercept
        )
