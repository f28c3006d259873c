"""Two-class families with one condition a sample: ``HardMargin``, ``SoftMargin``, ``LeastSquares``.

Primal, in (w, b, xi), with signs s of the two classes::

    minimize    1/2 w'w + sum_i C_i xi_i          (squared hinge: sum_i C_i xi_i^2)
    subject to  s_i (w'x_i + b) >= 1 - xi_i,   xi_i >= 0

Dual, in alpha::

    minimize    1/2 alpha'(ss' . K) alpha - 1'alpha
    subject to  s'alpha = 0,   0 <= alpha_i <= C_i

The squared hinge has no upper bound and ``diag(1/(2 C_i))`` on the Hessian; a hard margin has
neither. ``C_i = C x class weight x sample weight``, divided by the sum of the sample weights (by n,
without any) for ``average_loss=True``.

The least-squares classifier, in (w, b, e)::

    primal   minimize    1/2 w'w + sum_i C_i/2 e_i^2     subject to  s_i (w'x_i + b) = 1 - e_i
    dual     minimize    1/2 alpha'(ss' . K + diag(1/C_i)) alpha - 1'alpha
             subject to  s'alpha = 0,   without bounds

Its optimality conditions are one linear system. Every sample is a support vector, with
``alpha_i = C_i e_i``.

Sources: Cortes and Vapnik, "Support-vector networks", *Machine Learning* 20 (1995), section 2 and
appendix A; Suykens and Vandewalle, "Least squares support vector machine classifiers", *Neural
Processing Letters* 9 (1999), equations (5) to (11), where C is called gamma.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from qpsvm.data.training_sets import BinaryTrainingSet
from qpsvm.formulations.family import Classifier
from qpsvm.formulations.parameters import ClassWeight, per_sample_C, require_C
from qpsvm.kernels.gram import Gram
from qpsvm.machines.conditions import UNBOUNDED, ZERO, Conditions, InterceptKind
from qpsvm.numerics.arguments import is_real_number
from qpsvm.numerics.arrays import Sparse, Vector
from qpsvm.qp.sample_quadratic import Selection


@dataclass(frozen=True, repr=False)
class HardMargin(Classifier):
    r"""The maximum-margin classifier of separable classes, without slack.

    .. math::

        \min \; \tfrac{1}{2} w^\top w \quad \text{subject to} \quad s_i (w^\top x_i + b) \ge 1

    Parameters
    ----------
    intercept : {"free", "penalized", "none"}
        Whether b is left out of the objective, enters it as :math:`\tfrac{1}{2} b^2`, or is zero.

    Raises
    ------
    InvalidParameterError
        Another intercept.

    Notes
    -----
    Solving it on data that cannot be separated raises ``NotSeparableError`` with weights that
    prove it. Source: Boser, Guyon and Vapnik, COLT 1992, section 2.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.HardMargin().dual([[0.0], [2.0]], [-1, 1])
    >>> problem
    SVMProblem(HardMargin(intercept='free'), dual, linear kernel, 2 samples x 1 features (dense), 2 variables)
    >>> solution = qpsvm.solve(problem)
    >>> round(float(solution.coef[0]), 6), round(solution.intercept, 6)
    (1.0, -1.0)
    """  # noqa: E501 - a doctest's output cannot be broken

    _task = None  # a hard margin is no sum of losses

    intercept: InterceptKind = "free"

    def conditions(self, data: BinaryTrainingSet, gram: Gram) -> Conditions:
        return Conditions(
            R=Selection(data.n_samples, data.signs),
            required=np.ones(data.n_samples),
            lower=ZERO,
            upper=UNBOUNDED,
            curvature=ZERO,
            intercept=self.intercept,
        )


@dataclass(frozen=True, repr=False)
class SoftMargin(Classifier):
    r"""The C-support vector classifier.

    .. math::

        \min \; \tfrac{1}{2} w^\top w + C \sum_i \max(0, 1 - s_i (w^\top x_i + b))

    Parameters
    ----------
    C : float
        Penalty on a margin violation, above 0 and finite; for an infinite C use HardMargin.
    intercept : {"free", "penalized", "none"}
        Whether b is left out of the objective, enters it as :math:`\tfrac{1}{2} b^2` (what
        LIBLINEAR solves), or is zero.
    loss : {"hinge", "squared_hinge"}
        Whether a violation v costs ``C v`` or :math:`C v^2`.
    class_weight : dict, "balanced" or None
        Factors of C by label; "balanced" makes the sums of C_i of both classes equal.
    average_loss : bool
        Divide C by the sum of the sample weights, which is n without any: the average loss many
        textbooks write.

    Raises
    ------
    InvalidParameterError
        C not a finite number above 0, another loss or intercept, class weights not above zero.

    Notes
    -----
    Source: Cortes and Vapnik, *Machine Learning* 20 (1995), section 3.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.SoftMargin(C=10.0).dual([[0.0], [1.0], [2.0]], ["a", "b", "b"])
    >>> P, q, G, h, A, b = problem.canonical("dense")
    >>> h
    array([ 0.,  0.,  0., 10., 10., 10.])
    """

    C: float = 1.0
    intercept: InterceptKind = "free"
    loss: Literal["hinge", "squared_hinge"] = "hinge"
    class_weight: ClassWeight = None
    average_loss: bool = False

    def __post_init__(self) -> None:
        if is_real_number(self.C) and math.inf == self.C:
            require_C(math.inf, hint="; for C = infinity use HardMargin")
        super().__post_init__()

    def conditions(self, data: BinaryTrainingSet, gram: Gram) -> Conditions:
        C = per_sample_C(self.C, data, class_weight=self.class_weight, average=self.average_loss)
        R = Selection(data.n_samples, data.signs)
        return hinge(R, C.rounded, self.loss, intercept=self.intercept, exact_upper=C)


def hinge(R: Selection | Sparse, C: Vector, loss: str, **more: Any) -> Conditions:
    """Conditions that require 1, where a violation v costs ``C v`` or, squared, ``C v^2``.

    Parameters
    ----------
    R : Selection or CSR array of shape (N, n_samples)
    C : array of shape (N,)
    loss : {"hinge", "squared_hinge"}
    **more
        Other attributes of ``Conditions``.
    """
    squared = loss == "squared_hinge"
    return Conditions(
        R=R,
        required=np.ones(len(C)),
        lower=ZERO,
        upper=UNBOUNDED if squared else C,
        curvature=0.5 / C if squared else ZERO,
        **more,
    )


@dataclass(frozen=True, repr=False)
class LeastSquares(Classifier):
    r"""The least-squares support vector classifier.

    .. math::

        \min \; \tfrac{1}{2} w^\top w + \tfrac{C}{2} \sum_i (1 - s_i (w^\top x_i + b))^2

    Parameters
    ----------
    C : float
        Penalty on a squared deviation, above 0 and finite (gamma in the source).
    intercept : {"free", "penalized", "none"}
    class_weight : dict, "balanced" or None
        Factors of C by label.
    average_loss : bool
        Divide C by the sum of the sample weights, which is n without any.

    Raises
    ------
    InvalidParameterError
        C not a finite number above 0, another intercept, class weights not above zero.

    Notes
    -----
    Least squares for numeric targets is ``EpsilonRegression(C / 2, epsilon=0.0,
    loss="squared_epsilon_insensitive")``.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.LeastSquares(C=1.0).dual([[0.0], [2.0]], [-1, 1])
    >>> solution = qpsvm.solve(problem)
    >>> round(float(solution.coef[0]), 6), round(solution.intercept, 6)
    (0.666667, -0.666667)
    """

    _task = None  # it is no sum of losses with bounded slopes

    C: float = 1.0
    intercept: InterceptKind = "free"
    class_weight: ClassWeight = None
    average_loss: bool = False

    def conditions(self, data: BinaryTrainingSet, gram: Gram) -> Conditions:
        C = per_sample_C(self.C, data, class_weight=self.class_weight, average=self.average_loss)
        return Conditions(
            R=Selection(data.n_samples, data.signs),
            required=np.ones(data.n_samples),
            lower=-UNBOUNDED,
            upper=UNBOUNDED,
            curvature=1.0 / C.rounded,
            intercept=self.intercept,
        )
