"""The intercept: the best one for given weights, exactly.

For fixed scores ``g_i = w'x_i`` the hinge loss is piecewise linear and convex in the intercept b::

    phi(b) = sum_i C_i max(0, 1 - s_i (g_i + b))

with one breakpoint per sample, ``b_i = s_i - g_i``. From far left, where the slope is
``-sum_{s_i = +1} C_i``, each breakpoint adds ``C_i``; phi is smallest where the slope passes
through zero. That is a weighted median: sort, do not iterate.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from qpsvm.exceptions import InvalidParameterError
from qpsvm.qp._arrays import Vector

InterceptKind: TypeAlias = Literal["free", "penalized", "none"]
"""``"free"``: b is not in the objective. ``"penalized"``: 1/2 b^2 is (what LIBLINEAR solves).
``"none"``: b = 0."""


class Interval(NamedTuple):
    """A closed interval of intercepts; all of them are equally good."""

    lower: float
    upper: float

    @property
    def midpoint(self) -> float:
        """The one qpsvm reports."""
        return self.lower + 0.5 * (self.upper - self.lower)


def require_intercept_kind(kind: str) -> None:
    """Raise InvalidParameterError unless kind is one of the three."""
    if kind not in ("free", "penalized", "none"):
        raise InvalidParameterError(
            f"intercept is {kind!r}; choose 'free', 'penalized' (1/2 b^2 in the objective) or "
            "'none'."
        )


def best_intercepts(scores: Vector, signs: Vector, C: Vector) -> Interval:
    """All minimisers of ``sum_i C_i max(0, 1 - s_i (g_i + b))`` over b.

    Parameters
    ----------
    scores : array of shape (n,)
        g, the decision values without an intercept.
    signs : array of shape (n,)
        s, both signs present.
    C : array of shape (n,)
        Positive and finite for a soft margin; all infinite for a hard one, where the interval is
        the set of intercepts with the largest smallest margin (one point).

    Notes
    -----
    Slopes are compared to zero with a tolerance of ``n`` roundings of ``sum C``: on a flat piece
    the true slope is zero and only rounding would pick one end of it.
    """
    if not np.isfinite(scores).all():
        return Interval(math.nan, math.nan)
    if np.isinf(C).any():
        # the smallest margin min(min_+ g + b, min_- -g - b) is largest where both are equal
        lowest_positive = float(np.min(scores[signs > 0]))
        highest_negative = float(np.max(scores[signs < 0]))
        b = -0.5 * (lowest_positive + highest_negative)
        return Interval(b, b)
    breakpoints = signs - scores
    order = np.argsort(breakpoints, kind="stable")
    slopes = np.cumsum(C[order]) - float(np.sum(C[signs > 0]))  # right of each breakpoint
    rounding = len(C) * np.finfo(np.float64).eps * float(np.sum(C))
    first = int(np.argmax(slopes >= -rounding))
    flat = slopes[first] <= rounding and first + 1 < len(order)
    return Interval(
        float(breakpoints[order[first]]), float(breakpoints[order[first + 1 if flat else first]])
    )
