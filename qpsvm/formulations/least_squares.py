"""The least-squares classifier: ``LeastSquares``.

Primal, in (w, b, e), with signs s of the two classes::

    minimize    1/2 w'w + sum_i C_i/2 e_i^2     subject to  s_i (w'x_i + b) = 1 - e_i

Dual, in alpha, without bounds::

    minimize    1/2 alpha'(ss' . K + diag(1/C_i)) alpha - 1'alpha     subject to  s'alpha = 0

Its optimality conditions are one linear system. Every sample is a support vector, with
``alpha_i = C_i e_i``.

Source: Suykens and Vandewalle, "Least squares support vector machine classifiers", *Neural
Processing Letters* 9 (1999), equations (5) to (11), where C is called gamma.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.data.training_sets import BinaryTrainingSet
from qpsvm.formulations.family import Classifier
from qpsvm.formulations.prices import ClassWeight, prices
from qpsvm.kernels.gram import Gram
from qpsvm.machines.conditions import UNBOUNDED, Conditions, InterceptKind, one_each


@dataclass(frozen=True, repr=False)
class LeastSquares(Classifier):
    r"""The least-squares support vector classifier.

    .. math::

        \min \; \tfrac{1}{2} w^\top w + \tfrac{C}{2} \sum_i (1 - s_i (w^\top x_i + b))^2

    Parameters
    ----------
    C : float
        Price of a squared deviation, above 0 and finite (gamma in the source).
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
        del gram
        C = prices(self.C, data, class_weight=self.class_weight, average=self.average_loss)
        return Conditions(
            rows=one_each(data.signs),
            required=np.ones(data.n_samples),
            lower=-UNBOUNDED,
            upper=UNBOUNDED,
            curvature=1.0 / C,
            intercept=self.intercept,
        )
