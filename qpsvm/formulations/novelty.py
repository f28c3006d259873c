"""One-class problems: ``OneClass`` and ``DataDescription`` (SVDD).

One-class, with weights ``u_i`` that add up to 1 (``1/n`` each) and ``rho = -b``::

    primal   minimize    1/2 w'w - rho + 1/nu sum_i u_i xi_i
             subject to  w'phi(x_i) >= rho - xi_i,   xi_i >= 0
    dual     minimize    1/2 alpha'K alpha     subject to  1'alpha = 1,   0 <= alpha_i <= u_i / nu

Data description, with the ball of centre c and radius R::

    primal   minimize    R^2 + sum_i C_i xi_i
             subject to  |phi(x_i) - c|^2 <= R^2 + xi_i,   xi_i >= 0
    dual     minimize    alpha'K alpha - diag(K)'alpha
             subject to  1'alpha = 1,   0 <= alpha_i <= C_i

The ball becomes a machine ``f(x) = R^2 - |phi(x) - c|^2 = w'phi(x) + b - k(x, x)`` with
``w = 2 c`` and ``b = R^2 - |c|^2``: then ``R^2 = b + 1/4 |w|^2`` and the program is quadratic.
Where ``k(x, x)`` is constant (RBF) both have the same alpha with ``C = 1 / (nu n)``, and the ball's
f is twice the other's.

LIBSVM multiplies the one-class dual by ``nu n``, with n the sum of the sample weights
(``0 <= alpha_i <= 1``, ``1'alpha = nu n``): its alpha, w and rho are ``nu n`` times ours.

Sources: Schoelkopf, Platt, Shawe-Taylor, Smola and Williamson, "Estimating the support of a
high-dimensional distribution", *Neural Computation* 13 (2001), section 3; Tax and Duin, "Support
vector data description", *Machine Learning* 54 (2004), section 2; Chang, Lee and Lin, "A revisit to
support vector data description" (2013), for the convex form and for small C.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from qpsvm.data.training_sets import TrainingSet
from qpsvm.exceptions import InvalidParameterError
from qpsvm.formulations.family import Unlabelled
from qpsvm.formulations.parameters import per_sample_C
from qpsvm.kernels.gram import Gram
from qpsvm.machines.conditions import ZERO, Conditions
from qpsvm.machines.prediction import squared_radius
from qpsvm.machines.solution import SVMSolution
from qpsvm.qp.sample_quadratic import Selection


@dataclass(frozen=True, repr=False)
class OneClass(Unlabelled):
    r"""Hyperplane that separates most of the data from the origin with the largest distance.

    .. math::

        \min \; \tfrac{1}{2} w^\top w - \rho + \tfrac{1}{\nu n} \sum_i
        \max(0, \rho - w^\top \phi(x_i)), \quad f(x) = w^\top \phi(x) - \rho

    Parameters
    ----------
    nu : float
        In (0, 1]: bounds the share of samples outside from above, that of support vectors from
        below.

    Raises
    ------
    InvalidParameterError
        nu outside (0, 1].

    Notes
    -----
    ``solution.intercept`` is -rho; ``predict`` gives +1 inside and -1 outside.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.OneClass(nu=0.4).dual([[1.0], [2.0], [3.0], [4.0]])
    >>> solution = qpsvm.solve(problem)
    >>> round(-solution.intercept / float(solution.coef[0]), 6)  # one sample in four is outside
    2.0
    """

    nu: float = 0.5

    def conditions(self, data: TrainingSet, gram: Gram) -> Conditions:
        C = per_sample_C(1 / Fraction(float(self.nu)), data, average=True)
        return Conditions(
            R=Selection(data.n_samples),
            required=ZERO,
            lower=ZERO,
            upper=C.rounded,
            curvature=ZERO,
            intercept_price=1.0,
            relative_to_spread=True,
            exact_upper=C,
        )


@dataclass(frozen=True, repr=False)
class DataDescription(Unlabelled):
    r"""The smallest ball around most of the data (SVDD).

    .. math::

        \min \; R^2 + C \sum_i \max(0, \lVert \phi(x_i) - c \rVert^2 - R^2), \quad
        f(x) = R^2 - \lVert \phi(x) - c \rVert^2

    Parameters
    ----------
    C : float
        Penalty on a squared distance beyond the ball. From 1/n on (the sum of ``C x sample weight``
        at least 1), below which the best ball has no samples in it; with 1 or more no sample
        stays outside.

    Raises
    ------
    InvalidParameterError
        C not a finite number above 0. When a problem is built: a C too small for these data; the
        message says the smallest.

    Notes
    -----
    ``solution.coef`` is twice the centre; ``predict`` gives +1 inside and -1 outside.

    Examples
    --------
    >>> import qpsvm
    >>> ball = qpsvm.DataDescription(C=1.0)
    >>> solution = qpsvm.solve(ball.dual([[0.0], [1.0], [4.0]]))
    >>> round(float(solution.coef[0]) / 2, 6), round(ball.radius(solution), 6)
    (2.0, 2.0)
    """

    C: float = 1.0

    def conditions(self, data: TrainingSet, gram: Gram) -> Conditions:
        C = per_sample_C(self.C, data)
        box = C.rounded
        if float(np.sum(box)) < 1.0 - 1e-12:
            smallest = float(1.0 / np.sum(data.weights))
            raise InvalidParameterError(
                f"C is {self.C!r}, and these data need at least {smallest!r} "
                "(1 over the sum of the sample weights); below, the best ball is empty."
            )
        return Conditions(
            R=Selection(data.n_samples),
            required=gram.diagonal(),
            lower=ZERO,
            upper=box,
            curvature=ZERO,
            intercept_price=1.0,
            norm_weight=0.5,
            relative_to_spread=True,
            minus_self_similarity=True,
            exact_upper=C,
        )

    @staticmethod
    def radius(solution: SVMSolution) -> float:
        """Radius of the enclosing ball, ``R = sqrt(b + |w|^2 / 4)``, in the kernel's feature space.

        Raises
        ------
        InvalidParameterError
            The solution is none of a ball.
        InvalidDataError
            It has neither coef nor an expansion.
        """
        if not solution.is_ball:
            raise InvalidParameterError(
                "The solution is of another family and has no radius; pass one of a "
                "DataDescription problem."
            )
        return math.sqrt(max(0.0, squared_radius(solution)))
