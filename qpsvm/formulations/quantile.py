"""Quantile regression: ``QuantileRegression``.

Primal, in (w, b, xi, xi*), with targets t::

    minimize    1/2 w'w + sum_i C_i (tau xi_i + (1 - tau) xi*_i)
    subject to  w'x_i + b + xi_i - xi*_i = t_i,   xi, xi* >= 0

Dual, in alpha, one variable for each sample in an asymmetric box::

    minimize    1/2 alpha'K alpha - t'alpha
    subject to  1'alpha = 0,   -(1 - tau) C_i <= alpha_i <= tau C_i

Source: Takeuchi, Le, Sears and Smola, "Nonparametric quantile estimation", *JMLR* 7 (2006), section
3.1, whose equation (10) is this dual.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from qpsvm.data.training_sets import RegressionTrainingSet
from qpsvm.formulations.family import Regressor
from qpsvm.formulations.parameters import per_sample_C, require_share
from qpsvm.formulations.regression import spread
from qpsvm.kernels.gram import Gram
from qpsvm.machines.conditions import ZERO, Conditions, InterceptKind
from qpsvm.machines.upper_bounds import in_range
from qpsvm.qp.sample_quadratic import Selection


@dataclass(frozen=True, repr=False)
class QuantileRegression(Regressor):
    r"""The tau-quantile of the target, given the features.

    :math:`\min \; \tfrac{1}{2} w^\top w + C \sum_i \operatorname{pinball}(t_i - f(x_i))`,
    .. math::

        \operatorname{pinball}(v) = \max(\tau v, (\tau - 1) v)

    Parameters
    ----------
    tau : float
        Which quantile, in (0, 1); 0.5 is the median.
    C : float
        Penalty on a deviation, above 0 and finite.
    intercept : {"free", "penalized", "none"}
    average_loss : bool
        Divide C by the sum of the sample weights, which is n without any.

    Raises
    ------
    InvalidParameterError
        tau outside (0, 1), C not a finite number above 0, another intercept.

    Notes
    -----
    With a free intercept at most a share tau of the targets lies below the machine, and at most
    1 - tau above it (Takeuchi et al., lemma 3).

    Examples
    --------
    >>> import qpsvm
    >>> X, y = [[0.0], [0.0], [0.0]], [1.0, 2.0, 10.0]
    >>> solution = qpsvm.solve(qpsvm.QuantileRegression(tau=0.5).dual(X, y))
    >>> round(solution.intercept, 6)
    2.0
    """

    tau: float = 0.5
    C: float = 1.0
    intercept: InterceptKind = "free"
    average_loss: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require_share(self.tau, "tau", closed=False)

    def conditions(self, data: RegressionTrainingSet, gram: Gram) -> Conditions:
        tau, above = float(self.tau), Fraction(float(self.tau))
        factors = per_sample_C(self.C, data, average=self.average_loss)
        C = factors.rounded
        return Conditions(
            R=Selection(data.n_samples),
            required=data.values,
            lower=-in_range((1.0 - tau) * C),
            upper=in_range(tau * C),
            curvature=ZERO,
            intercept=self.intercept,
            unit=spread(data.values, self.intercept),
            exact_upper=replace(factors, above=above, below=1 - above),
        )
