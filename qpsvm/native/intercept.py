"""The best intercept for given decision values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qpsvm.exceptions import InvalidParameterError
from qpsvm.native.checks import (
    Array,
    Vector,
    require_array,
    require_at_least,
    require_box,
    require_indices,
    require_signs,
    require_vector,
)
from qpsvm.native.library import Status, run


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

    def _fields(self, values: Vector) -> tuple[Any, ...]:
        n = len(self.required)
        require_vector(values, "values", n if self.rows is None else None, finite=True)
        if self.rows is not None:
            require_indices(self.rows, "rows", len(values))
        loss = self.lower, self.upper, self.curved
        return (n, self.rows, self.signs, self.required, values, *loss, 0.0)
