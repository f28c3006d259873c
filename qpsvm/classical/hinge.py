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

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from qpsvm.backends.settings import require_above
from qpsvm.data.samples import require_exact
from qpsvm.exceptions import InvalidDataError, InvalidParameterError
from qpsvm.numerics.arguments import Samples, explains_calls, is_real_number
from qpsvm.numerics.arrays import Matrix, Vector, stored
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
