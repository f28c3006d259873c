"""The nu families, which optimise the width: ``NuClassification``, ``NuRegression``.

nu-classification, with signs s and weights ``u_i`` (``1/n``; sample weights are divided by their
sum, class weights multiply them)::

    primal   minimize    1/2 w'w - nu rho + sum_i u_i xi_i
             subject to  s_i (w'x_i + b) >= rho - xi_i,   xi_i >= 0,   rho >= 0
    dual     minimize    1/2 alpha'(ss' . K) alpha
             subject to  s'alpha = 0,   1'alpha >= nu,   0 <= alpha_i <= u_i

nu-regression, with targets t and ``u_i`` likewise::

    primal   minimize    1/2 w'w + C (nu epsilon + sum_i u_i (xi_i + xi*_i))
             subject to  w'x_i + b >= t_i - epsilon - xi_i,   w'x_i + b <= t_i + epsilon + xi*_i
    dual     minimize    1/2 (alpha - alpha*)'K(alpha - alpha*) - t'(alpha - alpha*)
             subject to  1'(alpha - alpha*) = 0,   1'(alpha + alpha*) <= C nu,   0 <= . <= C u_i

Where the width (rho, epsilon) is above zero, nu is an upper bound on the share of samples that miss
the margin (lie outside the tube) and a lower bound on the share of support vectors.

LIBSVM scales differently, with n the sum of the sample weights: its nu-SVC multiplies the dual by n
(``0 <= alpha_i <= 1``, ``1'alpha = nu n``) and then divides alpha, w and b by rho, so that the
margin is at 1; its nu-SVR has the box ``0 <= alpha_i <= C`` and ``1'(alpha + alpha*) = C nu n``,
which is ours with C n for C.

Sources: Schoelkopf, Smola, Williamson and Bartlett, "New support vector algorithms", *Neural
Computation* 12 (2000), sections 3 and 4; Chang and Lin, "Training nu-support vector classifiers",
*Neural Computation* 13 (2001), for ``1'alpha = nu`` at some optimum and for the largest nu.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.data.training_sets import BinaryTrainingSet, RegressionTrainingSet
from qpsvm.exceptions import InvalidParameterError
from qpsvm.formulations.family import Classifier, Regressor
from qpsvm.formulations.parameters import ClassWeight, per_sample_C
from qpsvm.formulations.regression import spread, two_sides
from qpsvm.kernels.gram import Gram
from qpsvm.machines.conditions import ZERO, Conditions, InterceptKind
from qpsvm.machines.upper_bounds import in_range
from qpsvm.numerics.arrays import Vector
from qpsvm.qp.sample_quadratic import Selection

ROUNDED_SHARES = 1e-12
"""Relative rounding of the shares of classes that a nu may exceed them by."""


@dataclass(frozen=True, repr=False)
class NuClassification(Classifier):
    r"""The nu-support vector classifier: nu in place of C.

    .. math::

        \min \; \tfrac{1}{2} w^\top w - \nu \rho + \tfrac{1}{n} \sum_i \max(0, \rho - s_i (w^\top
        x_i + b)), \quad \rho \ge 0

    Parameters
    ----------
    nu : float
        In (0, 1]: bounds the share of margin errors from above, that of support vectors from
        below. Feasible up to twice the smaller class's share of the weights.
    intercept : {"free", "penalized", "none"}
    class_weight : dict, "balanced" or None
        Factors of the weights by label.

    Raises
    ------
    InvalidParameterError
        nu outside (0, 1], another intercept, class weights not above zero. When a problem is
        built: a nu that these classes make infeasible; the message says the largest.

    Notes
    -----
    ``solution.width`` is rho. With :math:`C = \frac{1}{n \rho}`, ``SoftMargin(C)`` gives the same
    classifier divided by rho. Where the classes overlap so much that rho = 0, w = 0 is optimal.
    Source: Schoelkopf, Smola, Williamson and Bartlett (2000), section 4.

    Examples
    --------
    >>> import qpsvm
    >>> X, y = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]
    >>> solution = qpsvm.solve(qpsvm.NuClassification(nu=0.4).dual(X, y))
    >>> round(float(solution.alpha.sum()), 6), round(solution.width, 6)  # 1'alpha and rho
    (0.4, 0.4)
    """

    nu: float = 0.5
    intercept: InterceptKind = "free"
    class_weight: ClassWeight = None

    def conditions(self, data: BinaryTrainingSet, gram: Gram) -> Conditions:
        share = per_sample_C(1.0, data, class_weight=self.class_weight, average=True).rounded
        largest = self.largest_nu_of(share, data.signs)
        if self.nu > largest * (1.0 + ROUNDED_SHARES):
            is_free = self.intercept == "free"
            why = "twice the smaller class's share of" if is_free else "the sum of"
            raise InvalidParameterError(
                f"nu is {self.nu!r}, and these data allow at most {largest!r} ({why} the weights); "
                "choose a smaller nu."
            )
        return Conditions(
            R=Selection(data.n_samples, data.signs),
            required=ZERO,
            lower=ZERO,
            upper=share,
            curvature=ZERO,
            intercept=self.intercept,
            width_sign=-1.0,
            width_price=-self.nu,
            unit=self.nu,  # w is a sum of samples with weights that add up to nu
            relative_to_spread=True,
        )

    def largest_nu(self, data: BinaryTrainingSet) -> float:
        """Return the largest nu that is feasible for the weights and classes of some samples.

        Twice the sum of the ``u_i`` of the smaller class, with ``u_i`` of the module's
        docstring; without a free intercept the sum of all ``u_i``.
        """
        share = per_sample_C(1.0, data, class_weight=self.class_weight, average=True).rounded
        return self.largest_nu_of(share, data.signs)

    def largest_nu_of(self, share: Vector, signs: Vector) -> float:
        """Return the largest nu that is feasible for ``u_i`` and labels, shape (n,) each."""
        if self.intercept != "free":
            return float(np.sum(share))
        # s'alpha = 0 lets no more into alpha than twice what the smaller class holds
        return 2.0 * min(float(np.sum(share[signs == sign])) for sign in (-1.0, 1.0))


@dataclass(frozen=True, repr=False)
class NuRegression(Regressor):
    r"""Support vector regression with nu: the width of the tube is chosen by the program.

    .. math::

        \min \; \tfrac{1}{2} w^\top w + C (\nu \epsilon + \tfrac{1}{n} \sum_i \max(0, \lvert t_i -
        f(x_i) \rvert - \epsilon)), \quad \epsilon \ge 0

    Parameters
    ----------
    nu : float
        In (0, 1]: bounds the share of samples outside the tube from above, that of support vectors
        from below.
    C : float
        Penalty on the average deviation, above 0 and finite (LIBSVM's C times n).
    intercept : {"free", "penalized", "none"}

    Raises
    ------
    InvalidParameterError
        nu outside (0, 1], C not a finite number above 0, another intercept.

    Notes
    -----
    ``solution.width`` is epsilon: ``EpsilonRegression`` with that epsilon and C/n has the same
    solution. Source: Schoelkopf, Smola, Williamson and Bartlett (2000), section 3.

    Examples
    --------
    >>> import qpsvm
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.5, 1.5, 3.0]
    >>> solution = qpsvm.solve(qpsvm.NuRegression(nu=0.5, C=100.0).dual(X, y))
    >>> round(solution.width, 6)
    0.375
    """

    nu: float = 0.5
    C: float = 1.0
    intercept: InterceptKind = "free"

    def conditions(self, data: RegressionTrainingSet, gram: Gram) -> Conditions:
        box = per_sample_C(self.C, data, average=True).rounded
        return Conditions(
            R=two_sides(data.n_samples),
            required=np.concatenate([data.values, -data.values]),
            lower=ZERO,
            upper=np.concatenate([box, box]),
            curvature=ZERO,
            intercept=self.intercept,
            width_sign=1.0,
            width_price=float(in_range(np.array([float(self.C) * float(self.nu)]))[0]),
            unit=spread(data.values, self.intercept),
        )
