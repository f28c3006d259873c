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

Sources: Bradley and Mangasarian, "Feature selection via concave minimization and support vector
machines", ICML 1998; Zhu, Rosset, Hastie and Tibshirani, "1-norm support vector machines", NIPS 16
(2003); with kernels Mangasarian, "Generalized support vector machines" (2000). Squared hinge and
penalised intercept: Fan, Chang, Hsieh, Wang and Lin, "LIBLINEAR", *JMLR* 9 (2008), L1R_L2LOSS_SVC.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from qpsvm.data.training_sets import BinaryTrainingSet
from qpsvm.formulations.family import Classifier
from qpsvm.formulations.l1_programs import L1DualRecovery, L1PrimalRecovery, l1_dual, l1_primal
from qpsvm.formulations.prices import ClassWeight, prices
from qpsvm.kernels.gram import Gram
from qpsvm.machines.conditions import UNBOUNDED, ZERO, Conditions, InterceptKind, one_each
from qpsvm.machines.norms import ABSOLUTE


@dataclass(frozen=True, repr=False)
class L1Norm(Classifier):
    r"""The 1-norm support vector classifier: few features, by a linear program.

    .. math::

        \min \; \lVert w \rVert_1 + C \sum_i \max(0, 1 - s_i (w^\top x_i + b))

    Parameters
    ----------
    C : float
        Price of a margin violation, above 0 and finite. Too small a C gives w = 0.
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
        del gram
        C = prices(self.C, data, class_weight=self.class_weight, average=self.average_loss)
        squared = self.loss == "squared_hinge"
        return Conditions(
            rows=one_each(data.signs),
            required=np.ones(data.n_samples),
            lower=ZERO,
            upper=UNBOUNDED if squared else C,
            curvature=0.5 / C if squared else ZERO,
            intercept=self.intercept,
        )
