"""The primal objective of the soft margin, and its sub-gradient.

    cost(w, b) = 1/2 |w|^2 + reg/N sum_i max(0, 1 - y_i (w'x_i + b))

The hinge has a kink where a sample lies on its margin. Any slope between those of the two sides is
a sub-gradient; the one taken here counts a sample only where it violates its margin::

    dw = w - reg/N sum { y_i x_i : y_i f(x_i) < 1 },     db = -reg/N sum { y_i : y_i f(x_i) < 1 }

With the bias as first entry of the weight vector, ``v = (b, w)`` and ``z = (1, x)``, the bias is in
the norm, too: ``1/2 |v|^2``. In the package ``reg`` is C with ``average_loss=True``, and the bias
first is ``intercept="penalized"``.

Source: Shalev-Shwartz, Singer, Srebro and Cotter, "Pegasos: primal estimated sub-gradient solver
for SVM", *Mathematical Programming* 127 (2011), equations 1 and 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from qpsvm.classical.machines import stated
from qpsvm.classical.settings import require_above
from qpsvm.data.samples import require_exact
from qpsvm.exceptions import InvalidDataError, InvalidParameterError
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arguments import Samples, is_real_number
from qpsvm.numerics.arrays import Index, Matrix, Vector, stored
from qpsvm.numerics.calls import explains_calls
from qpsvm.numerics.single_precision import Stored


@explains_calls
def hinge_cost(
    weights: ArrayLike,
    X: Samples,
    y: ArrayLike,
    *,
    regularization: float = 1.0,
    intercept: float | None = None,
) -> float:
    r"""The regularised hinge objective of a linear classifier.

    .. math::

        \tfrac{1}{2} \lVert w \rVert^2 + \tfrac{\mathrm{regularization}}{N} \sum_i \max(0, 1 - y_i
        f(x_i))

    Parameters
    ----------
    weights : array of shape (d + 1,) or (d,)
        ``(b, w)`` with the bias first, which is then in the norm; w alone with ``intercept``.
    X : array or sparse matrix of shape (N, d)
        Samples.
    y : array of shape (N,)
        -1 and +1.
    regularization : float
        Above 0.
    intercept : float, optional
        The bias apart from the weights, and not in the norm.

    Returns
    -------
    float
        The cost.

    Raises
    ------
    InvalidDataError
        NaN, labels other than -1 and +1, or lengths that differ.
    InvalidParameterError
        ``regularization`` not a finite number above 0, or an intercept that is no number.

    Examples
    --------
    By hand: scores 2 and 6, losses 3 and 0, their mean 3/2, and :math:`\tfrac{1}{2} \lVert (1, 2)
    \rVert^2 = \tfrac{5}{2}`.

    >>> import qpsvm
    >>> qpsvm.classical.hinge_cost([1.0, 2.0], [[0.5], [2.5]], [-1, 1])
    4.0
    """
    v, Z, labels, b = _checked(weights, X, y, regularization, intercept)
    margins = labels * (Z @ v + b)
    return float(0.5 * (v @ v) + regularization * np.mean(np.maximum(0.0, 1.0 - margins)))


@explains_calls
def hinge_subgradient(
    weights: ArrayLike,
    X: Samples,
    y: ArrayLike,
    *,
    regularization: float = 1.0,
    intercept: float | None = None,
) -> tuple[Vector, float]:
    r"""A sub-gradient of ``hinge_cost`` in the weights and the intercept.

    .. math::

        w - \tfrac{\mathrm{regularization}}{N} \sum_{i : y_i f(x_i) < 1} y_i x_i

    Parameters
    ----------
    weights, X, y, regularization, intercept
        As for ``hinge_cost``.

    Returns
    -------
    gradient : array of the shape of ``weights``
        In the weights.
    slope : float
        In the intercept; 0 with the bias first, where it is the first entry of the gradient.

    Raises
    ------
    InvalidDataError, InvalidParameterError
        As ``hinge_cost``.

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.classical.hinge_subgradient([1.0, 2.0], [[0.5], [2.5]], [-1, 1])
    (array([1.5 , 2.25]), 0.0)
    """
    v, Z, labels, b = _checked(weights, X, y, regularization, intercept)
    violated = labels * (Z @ v + b) < 1.0
    counted = regularization / len(labels) * np.where(violated, labels, 0.0)
    slope = 0.0 if intercept is None else -float(np.sum(counted))
    return np.asarray(v - Z.T @ counted), slope


def _checked(
    weights: ArrayLike, X: Samples, y: ArrayLike, regularization: float, intercept: float | None
) -> tuple[Vector, Matrix, Vector, float]:
    """Check weights, samples (with a column of ones for the bias), labels and b."""
    require_above(regularization, 0.0, "regularization")
    if intercept is not None and not (is_real_number(intercept) and np.isfinite(intercept)):
        raise InvalidParameterError(
            f"intercept is {intercept!r}; pass a finite number, or None for the bias first."
        )
    v, labels = stored(weights, "weights", InvalidDataError), stored(y, "y", InvalidDataError)
    try:
        Z = sp.csr_array(X, dtype=np.float64) if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidDataError(f"X must hold numbers: {error}.") from error
    require_exact(Z, X)
    extra = 1 if intercept is None else 0
    if Z.ndim != 2 or labels.shape != (Z.shape[0],) or v.shape != (Z.shape[1] + extra,):
        raise InvalidDataError(
            f"weights has shape {v.shape}, X {Z.shape} and y {labels.shape}; pass (N, d) samples, "
            f"(N,) labels and (d{' + 1' if extra else ''},) weights."
        )
    if len(labels) == 0 or not (np.abs(labels) == 1.0).all():
        raise InvalidDataError("y must hold -1 and +1 alone, and at least one of them.")
    entries = Z.data if sp.issparse(Z) else Z
    if not (np.isfinite(entries).all() and np.isfinite(v).all()):
        raise InvalidDataError("weights or X has NaN or infinite entries; they must be finite.")
    return v, with_ones(Z) if extra else Z, labels, 0.0 if intercept is None else float(intercept)


def with_ones(X: Stored) -> Matrix:
    """``(1, X)``: samples with a first feature of ones, whose weight is the bias."""
    ones = np.ones((X.shape[0], 1))
    return sp.csr_array(sp.hstack([ones, X])) if sp.issparse(X) else np.hstack([ones, X])


# --- a training problem --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Iterate:
    """A linear machine during a sub-gradient method, with the dual variables of its steps.

    Attributes
    ----------
    v : array of shape (d,) or (d + 1,)
        Weights, the bias first where it is one of them.
    b : float
        The bias that is not one of the weights; 0 without one.
    alpha : array of shape (n,)
        ``w = sum_i alpha_i s_i x_i`` throughout: the lower bound of the certificate.
    """

    v: Vector
    b: float
    alpha: Vector

    def towards(self, other: Iterate, share: float) -> Iterate:
        """Return the point between this one and another, ``self + share (other - self)``."""
        return Iterate(
            self.v + share * (other.v - self.v),
            self.b + share * (other.b - self.b),
            self.alpha + share * (other.alpha - self.alpha),
        )

    def scaled(self, factor: float) -> Iterate:
        """Return the machine with weights, bias and dual variables multiplied by a factor."""
        return Iterate(factor * self.v, factor * self.b, factor * self.alpha)


class HingeTask:
    """Samples, signs and prices of a linear training problem, for sub-gradient methods.

    Parameters
    ----------
    problem : SVMProblem
        Of a linear classifier.
    bias_first : bool
        Whether the bias is the weight of a first feature of ones, and not a variable of its own.
    """

    def __init__(self, problem: SVMProblem, *, bias_first: bool = False) -> None:
        model = problem.model
        X = model.data.X if sp.issparse(model.data.X) else np.asarray(model.data.X)
        self.problem = problem
        self.bias_first = bias_first
        self.Z = with_ones(X) if bias_first else X
        self.signs, self.prices = model.conditions.signs, model.conditions.upper
        self.n = len(self.signs)
        self.has_bias = model.intercept != "none" and not bias_first
        self.penalty = 1.0 if model.intercept == "penalized" else 0.0

    def start(self) -> Iterate:
        """Return the machine with all variables zero, where methods start."""
        return Iterate(np.zeros(self.Z.shape[1]), 0.0, np.zeros(self.n))

    def margins(self, at: Iterate, rows: Index | slice = slice(None)) -> Vector:
        """Compute the margins ``s_i f(x_i)`` of some samples."""
        return np.asarray(self.signs[rows] * (self.Z[rows] @ at.v + at.b))

    def stepped(
        self, at: Iterate, counted: Vector, eta: float, rows: Index | slice, decay: float = 1.0
    ) -> Iterate:
        """Take one step: ``w <- w - eta (decay w - sum_i c_i s_i x_i)``, likewise b and alpha.

        Parameters
        ----------
        at : Iterate
        counted : array
            c, for the samples of ``rows``; no others take part.
        eta : float
        rows : array of int, or slice
        decay : float
            1 with the norm in the objective, 0 without it.
        """
        signed = counted * self.signs[rows]
        v = (1.0 - eta * decay) * at.v + eta * np.asarray(self.Z[rows].T @ signed)
        alpha = (1.0 - eta * decay) * at.alpha
        alpha[rows] += eta * counted
        b = at.b
        if self.has_bias:
            b += eta * (float(np.sum(signed)) - decay * self.penalty * b)
        return Iterate(v, b, alpha)

    def machine(self, at: Iterate) -> SVMSolution:
        """Return the iterate as a solution of the problem."""
        b, w = (float(at.v[0]), at.v[1:]) if self.bias_first else (at.b, at.v)
        return stated(self.problem, at.alpha, coef=w, intercept=b)
