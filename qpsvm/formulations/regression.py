"""Support vector regression with a tube: ``EpsilonRegression``.

Primal, in (w, b, xi, xi*), with targets t::

    minimize    1/2 w'w + sum_i C_i (xi_i + xi*_i)      (squared loss: sum_i C_i (xi_i^2 + xi*_i^2))
    subject to  w'x_i + b >= t_i - epsilon - xi_i,   w'x_i + b <= t_i + epsilon + xi*_i,   xi >= 0

Dual, in (alpha, alpha*), two variables for each sample::

    minimize    1/2 (alpha - alpha*)'K(alpha - alpha*) + (epsilon - t)'alpha + (epsilon + t)'alpha*
    subject to  1'(alpha - alpha*) = 0,   0 <= alpha_i, alpha*_i <= C_i

The squared loss has no upper bound and ``diag(1/(2 C_i))`` on the Hessian.

Source: Drucker, Burges, Kaufman, Smola and Vapnik, "Support vector regression machines", NIPS 9
(1997); Smola and Schoelkopf, "A tutorial on support vector regression", *Statistics and Computing*
14 (2004), section 1.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Literal

import numpy as np

from qpsvm.data.training_sets import RegressionTrainingSet
from qpsvm.exceptions import InvalidParameterError
from qpsvm.formulations.family import Regressor
from qpsvm.formulations.parameters import per_sample_C
from qpsvm.kernels.gram import Gram
from qpsvm.machines.conditions import UNBOUNDED, ZERO, Conditions, InterceptKind
from qpsvm.numerics.arguments import is_real_number
from qpsvm.numerics.arrays import Vector
from qpsvm.qp.sample_quadratic import Selection


@dataclass(frozen=True, repr=False)
class EpsilonRegression(Regressor):
    r"""Epsilon-support vector regression: deviations up to epsilon are free.

    .. math::

        \min \; \tfrac{1}{2} w^\top w + C \sum_i \max(0, \lvert t_i - f(x_i) \rvert - \epsilon)

    Parameters
    ----------
    C : float
        Penalty on a deviation beyond the tube, above 0 and finite.
    epsilon : float
        Half-width of the tube, in units of the targets; at least 0.
    intercept : {"free", "penalized", "none"}
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}
        Whether a deviation v beyond the tube costs ``C v`` or :math:`C v^2`.
    average_loss : bool
        Divide C by the sum of the sample weights, which is n without any.

    Raises
    ------
    InvalidParameterError
        C not a finite number above 0, epsilon negative, another loss or intercept.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.EpsilonRegression(C=10.0, epsilon=0.5).dual([[0.0], [1.0]], [0.0, 2.0])
    >>> solution = qpsvm.solve(problem)
    >>> round(float(solution.coef[0]), 6), round(solution.intercept, 6)  # as flat as the tube lets
    (1.0, 0.5)
    """

    C: float = 1.0
    epsilon: float = 0.1
    intercept: InterceptKind = "free"
    loss: Literal["epsilon_insensitive", "squared_epsilon_insensitive"] = "epsilon_insensitive"
    average_loss: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_real_number(self.epsilon) or not 0.0 <= self.epsilon <= sys.float_info.max:
            raise InvalidParameterError(
                f"epsilon is {self.epsilon!r}; it must be a finite number, at least 0."
            )

    def conditions(self, data: RegressionTrainingSet, gram: Gram) -> Conditions:
        C = per_sample_C(self.C, data, average=self.average_loss)
        squared = self.loss == "squared_epsilon_insensitive"
        both = np.tile(C.rounded, 2)
        return Conditions(
            R=two_sides(data.n_samples),
            required=np.concatenate([data.values, -data.values]) - self.epsilon,
            lower=ZERO,
            upper=UNBOUNDED if squared else both,
            curvature=0.5 / both if squared else ZERO,
            intercept=self.intercept,
            unit=spread(data.values, self.intercept),
            exact_upper=C,
        )


def two_sides(n_samples: int) -> Selection:
    """``[I; -I]``, the matrix R of a tube: each sample from below and from above."""
    signs, samples = np.repeat([1.0, -1.0], n_samples), np.arange(n_samples)
    return Selection(n_samples, signs, np.concatenate([samples, samples]))


def spread(values: Vector, intercept: InterceptKind) -> float:
    """Unit of a regression's violations: the largest residual of the best constant.

    Half the range of the targets, or their largest magnitude where there is no free constant or
    they are all the same; 1 where that is zero.
    """
    # halves first: the difference of two large numbers of opposite sign may overflow
    half_range = 0.5 * float(np.max(values)) - 0.5 * float(np.min(values))
    if intercept == "free" and half_range > 0.0:
        return half_range
    return float(np.max(np.abs(values))) or 1.0
