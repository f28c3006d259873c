"""Compensated sums for certificates, and the best intercept for given decision values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from qpsvm.exceptions import InvalidParameterError
from qpsvm.native.checks import (
    Array,
    Vector,
    require_apart,
    require_array,
    require_at_least,
    require_box,
    require_indices,
    require_signs,
    require_vector,
)
from qpsvm.native.library import Status, run


class ConditionSums(NamedTuple):
    """Sums over conditions, each as a high and a low part whose sum is the value.

    Parameters
    ----------
    losses : pair of float
        ``sum loss_i(v_i)``.
    required : pair of float
        ``sum p_i alpha_i``.
    curved : pair of float
        ``sum d_i alpha_i^2 / 2``.
    products : pair of float
        ``sum s_i f_i alpha_i``.
    balance : pair of float
        ``sum s_i alpha_i``.
    gap : pair of float
        ``sum loss_i(v_i) + d_i alpha_i^2 / 2 - alpha_i v_i``, term by term without cancellation.
    """

    losses: tuple[float, float]
    required: tuple[float, float]
    curved: tuple[float, float]
    products: tuple[float, float]
    balance: tuple[float, float]
    gap: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Losses:
    """Conditions on decision values, with their losses.

    With an intercept b they are::

        v_i = p_i - s_i (f_i + b),   loss_i(v) = max over lower_i <= a <= upper_i of a v - d_i a^2/2

    The hinge is ``(lower, upper, d) = (0, C, 0)``, the squared hinge ``(0, inf, 1 / (2 C))``, a
    tube two conditions per sample, a quantile ``((tau - 1) C, tau C, 0)``, least squares
    ``(-inf, inf, 1 / C)``, a hard condition ``(0, inf, 0)``.

    Parameters
    ----------
    required, lower, upper : arrays of shape (n,)
        p and the slopes. Finite p; lower <= upper, which may be infinite.
    signs, curved : arrays of shape (n,), optional
        s (by default ones) and d >= 0 (by default zeros).
    rows : int64 array of shape (n,), optional
        Condition i is about the decision value ``rows[i]``, by default i.

    Raises
    ------
    InvalidParameterError
        An array of another type or shape than these, or of forbidden values.

    Examples
    --------
    The hinge with C = 1 and decision values of 2, 1 and -3 for labels 1, 1 and -1:

    >>> hinge = Losses(np.ones(3), np.zeros(3), np.ones(3), signs=np.array([1.0, 1.0, -1.0]))
    >>> f = np.array([2.0, 1.0, -3.0])
    >>> hinge.best_intercepts(f)
    (0.0, 2.0)
    >>> hinge.sums(f, np.zeros(3), intercept=-1.0).losses
    (1.0, 0.0)
    """

    required: Vector
    lower: Vector
    upper: Vector
    signs: Vector | None = None
    curved: Vector | None = None
    rows: Array | None = None

    def __post_init__(self) -> None:
        n = len(require_vector(self.required, "required", None, finite=True))
        require_vector(self.lower, "lower", n)
        require_vector(self.upper, "upper", n)
        inside = np.minimum(np.maximum(np.zeros(n), self.lower), self.upper)
        require_box(inside, "the slope of least size", self.lower, self.upper)
        if self.signs is not None:
            require_signs(require_vector(self.signs, "signs", n), "signs")
        if self.curved is not None:
            require_vector(self.curved, "curved", n, finite=True)
            require_at_least(np.min(self.curved, initial=0.0), "the smallest of curved", 0.0)
        if self.rows is not None:
            require_array(self.rows, "rows", np.int64, (n,))

    def best_intercepts(
        self, values: Vector, *, price: float = 0.0, flat: float = 0.0
    ) -> tuple[float, float]:
        """First and last minimiser of ``price b + sum_i loss_i(p_i - s_i (f_i + b))`` over b.

        Parameters
        ----------
        values : array of shape (m,)
            f, decision values without intercept.
        price : float
            Slope of the rest of the objective.
        flat : float
            Where there are only kinks, slopes of at most this size count as zero: prices that
            should cancel do so only but for rounding.

        Returns
        -------
        tuple of float
            Both ends, each may be infinite. Where hard conditions leave no b, twice the one that
            misses them by least; where there is no minimum, twice the infinity of the descent.

        Raises
        ------
        InvalidParameterError
            Decision values of another type or number than needed, or not finite.
        """
        price = require_at_least(price, "price", -np.inf)
        flat = require_at_least(flat, "flat", 0.0)
        ends, work = np.zeros(2), np.empty(len(self.required), np.int64)
        status = run("best_intercepts", self._fields(values), price, flat, work, ends)
        if status is Status.NOT_FINITE:
            raise InvalidParameterError(
                "values are so large that required - values overflows: scale the problem"
            )
        return float(ends[0]), float(ends[1])

    def sums(self, values: Vector, alpha: Vector, intercept: float) -> ConditionSums:
        """Compute the sum of losses and the duality gap of a machine, with compensated sums.

        Parameters
        ----------
        values : array of shape (m,)
            f, decision values without intercept.
        alpha : array of shape (n,)
            Within ``[lower, upper]``.
        intercept : float
            b.

        Returns
        -------
        ConditionSums
            Infinite where a hard condition is missed.

        Raises
        ------
        InvalidParameterError
            An array of another type or shape than these, or alpha outside its box.
        """
        require_box(
            require_vector(alpha, "alpha", len(self.required)), "alpha", self.lower, self.upper
        )
        intercept = require_at_least(intercept, "intercept", -np.inf)
        sums = np.zeros(12)
        run("condition_sums", self._fields(values), alpha, intercept, sums)
        return ConditionSums(*((float(high), float(low)) for high, low in sums.reshape(6, 2)))

    def _fields(self, values: Vector) -> tuple[Any, ...]:
        n = len(self.required)
        require_vector(values, "values", n if self.rows is None else None, finite=True)
        if self.rows is not None:
            require_indices(self.rows, "rows", len(values))
        loss = self.lower, self.upper, self.curved
        return (n, self.rows, self.signs, self.required, values, *loss)


def compensated_dot(x: Vector, y: Vector) -> tuple[float, float]:
    """``x'y`` as if in twice the precision: a high and a low part.

    Parameters
    ----------
    x, y : arrays of shape (n,)
        Of float64.

    Returns
    -------
    tuple of float

    Raises
    ------
    InvalidParameterError
        Arrays of another type or of different lengths.

    Examples
    --------
    >>> compensated_dot(np.array([1e16, 1.0, -1e16]), np.ones(3))
    (1.0, 0.0)
    """
    require_vector(x, "x", None)
    require_vector(y, "y", len(x))
    sums = np.zeros(2)
    run("pair_dot", len(x), x, y, sums)
    return float(sums[0]), float(sums[1])


def balance(
    alpha: Vector, signs: Vector, lower: Vector, upper: Vector, *, total: float = 0.0
) -> float:
    """Change alpha in place, within its box, until ``signs'alpha = total``.

    Variables strictly between their bounds are moved first, one after the other. For differences
    of the size of rounding errors: larger ones are better spread over many variables.

    Parameters
    ----------
    alpha : array of shape (n,)
        Within the box; changes.
    signs, lower, upper : arrays of shape (n,)
        Signs of -1 and 1, and the box.
    total : float
        The sum that is asked for.

    Returns
    -------
    float
        ``total - signs'alpha`` afterwards: 0.0, or what the box or rounding leaves.

    Raises
    ------
    InvalidParameterError
        An array of another type or shape than these, alpha outside its box, arrays that overlap.

    Examples
    --------
    >>> alpha = np.array([0.5, 1.0])
    >>> balance(alpha, np.array([1.0, -1.0]), np.zeros(2), np.ones(2)), alpha.tolist()
    (0.0, [1.0, 1.0])
    """
    require_vector(alpha, "alpha", None, written=True)
    n = len(alpha)
    require_signs(require_vector(signs, "signs", n), "signs")
    require_vector(lower, "lower", n)
    require_vector(upper, "upper", n)
    require_box(alpha, "alpha", lower, upper)
    total = require_at_least(total, "total", -np.inf)
    require_apart({"alpha": alpha}, {"signs": signs, "lower": lower, "upper": upper})
    left = np.zeros(1)
    run("balance", n, signs, lower, upper, total, alpha, left)
    return float(left[0])
