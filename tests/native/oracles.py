"""Optima in exact arithmetic, found by trying everything: slow, and right."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np

Number = Fraction | float


def exact(values: Any) -> list[Any]:
    """Nested lists of the numbers of an array, as fractions; infinities stay floats."""
    if isinstance(values, np.ndarray):
        return [exact(v) for v in values]
    value = float(values)
    return Fraction(value) if math.isfinite(value) else value  # type: ignore[return-value]


def solved(A: list[list[Fraction]], b: list[Fraction]) -> list[Fraction] | None:
    """The solution of a linear system; None where it is singular."""
    n, rows = len(b), [[*row, value] for row, value in zip(A, b, strict=True)]
    for k in range(n):
        pivot = next((r for r in range(k, n) if rows[r][k]), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [v / rows[k][k] for v in rows[k]]
        for r in range(n):
            if r != k and rows[r][k]:
                rows[r] = [a - rows[r][k] * c for a, c in zip(rows[r], rows[k], strict=True)]
    return [row[n] for row in rows]


def objective(Q: Any, q: Any, x: Any) -> Fraction:
    """``1/2 x'Qx + q'x`` exactly."""
    n = len(x)
    quadratic = sum(x[i] * Q[i][j] * x[j] for i in range(n) for j in range(n))
    return Fraction(quadratic) / 2 + sum((a * c for a, c in zip(q, x, strict=True)), Fraction(0))


def _points(Q: Any, q: Any, lower: Any, upper: Any, A: Any, b: Any) -> Iterator[list[Fraction]]:
    """Feasible stationary points of all faces of the box; rows of A have no variable in common."""
    n = len(q)
    for face in product((0, 1, 2), repeat=n):
        bounds = [lower[i] if f == 0 else upper[i] for i, f in enumerate(face)]
        if any(f < 2 and not isinstance(bounds[i], Fraction) for i, f in enumerate(face)):
            continue
        free = [i for i, f in enumerate(face) if f == 2]
        fixed = {i: bounds[i] for i, f in enumerate(face) if f < 2}
        # rows without a free variable only say whether the face is feasible
        used = [k for k, row in enumerate(A) if any(row[i] for i in free)]
        rows = [[Q[i][j] for j in free] + [A[k][i] for k in used] for i in free]
        rows += [[A[k][j] for j in free] + [Fraction(0)] * len(used) for k in used]
        right = [-q[i] - sum(Q[i][j] * v for j, v in fixed.items()) for i in free]
        right += [b[k] - sum(A[k][j] * v for j, v in fixed.items()) for k in used]
        found = solved(rows, right)
        if found is None:
            continue
        x = [fixed.get(i, Fraction(0)) for i in range(n)]
        for i, value in zip(free, found, strict=False):
            x[i] = value
        inside = all(low <= v <= high for low, v, high in zip(lower, x, upper, strict=True))
        if inside and all(
            sum(a * v for a, v in zip(row, x, strict=True)) == value
            for row, value in zip(A, b, strict=True)
        ):
            yield x


def box_minimum(
    Q: Any, q: Any, lower: Any, upper: Any, A: Sequence[Any] = (), b: Sequence[Any] = ()
) -> Fraction:
    """The least ``1/2 x'Qx + q'x`` over a box and ``Ax = b``, Q positive definite, n small.

    It is attained at a stationary point of one of the faces.
    """
    return min(objective(Q, q, x) for x in _points(Q, q, lower, upper, A, b))


def slope(v: Fraction, lower: Number, upper: Number, d: Fraction, *, right: bool) -> Number:
    """The maximiser of ``a v - d a^2 / 2`` within the slopes; at a kink the one just beside it."""
    if d:
        return min(max(v / d, lower), upper)
    if v == 0:
        return lower if right else upper
    return upper if v > 0 else lower


def derivative(terms: Any, cost: Fraction, b: Fraction, *, right: bool) -> Number:
    """Right or left derivative of ``cost b + sum of loss(t - b)`` of (t, lower, upper, d)."""
    return cost - sum(slope(t - b, low, up, d, right=right) for t, low, up, d in terms)


def minimisers(terms: Any, cost: Fraction) -> tuple[Number, Number]:
    """First and last minimiser of ``cost b + sum of loss(t - b)``, exactly; slopes are finite
    at kinks."""
    corners = sorted(
        {
            t - d * s if d else t
            for t, low, up, d in terms
            for s in (low, up)
            if not d or math.isfinite(s)
        }
    )
    mirrored = [(-t, -up, -low, d) for t, low, up, d in terms]
    first = _first(terms, cost, corners)
    last = -_first(mirrored, -cost, sorted(-c for c in corners))
    return (first, last) if math.isfinite(first) or first < 0 else (first, first)


def _first(terms: Any, cost: Fraction, corners: list[Fraction]) -> Number:
    """The least b whose right derivative is not negative."""
    ends: list[Number] = [-math.inf, *corners, math.inf]
    for left, right in pairwise(ends):
        if isinstance(left, Fraction) and derivative(terms, cost, left, right=True) >= 0:
            return left
        low = left if isinstance(left, Fraction) else (corners[0] - 2 if corners else Fraction(0))
        high = right if isinstance(right, Fraction) else low + 1
        # on the open piece the derivative is a line; through two of its points
        x, y = low + (high - low) / 3, low + 2 * (high - low) / 3
        at_x = derivative(terms, cost, x, right=True)
        at_y = derivative(terms, cost, y, right=True)
        if at_x == at_y:
            if at_x >= 0 and left == -math.inf:
                return -math.inf
            continue
        root = x - at_x * (y - x) / (at_y - at_x)
        if left < root < right:
            return root
    return math.inf
