"""Constraints of every builder, at random, and the exact rows they stand for."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.soundness.rational import ONE, ZERO, Row, Rule, exact
from qpsvm import constraints as builders
from tests.certificates.textbook import Drawn

SUM = Fraction(64, 2**53)
"""Rounding of the row of a fairness band, relative to its terms."""
Made = tuple[Any, list[Rule]]
"""A builder of the library, and the rows it stands for in its order."""


def random_rules(rng: Any, data: Drawn) -> tuple[list[Any], list[Rule]]:
    """One to three of the builders, and the rows they stand for, inequalities first."""
    made = [_rule(rng, data) for _ in range(int(rng.choice([1, 1, 2, 3])))]
    rows = [rule for _, rules in made for rule in rules]
    ordered = [r for r in rows if not r.is_equality] + [r for r in rows if r.is_equality]
    return [builder for builder, _ in made], ordered


def _rule(rng: Any, data: Drawn) -> Made:
    d = data.X.shape[1]
    size = np.maximum(np.max(np.abs(data.X), axis=0), 1e-300)
    kind = int(rng.integers(10))
    if kind < 3:
        return _fairness(rng, data)
    if kind < 6:
        return _matrix(rng, d, size)
    unit = 1.0 / size[int(rng.integers(d))] if rng.random() < 0.7 else 1.0
    bound = float(abs(rng.normal()) * unit)
    if kind < 8:
        return _signs(rng, d) if rng.random() < 0.5 else _values(rng, d, bound)
    return _order(rng, d) if rng.random() < 0.4 else _sum(rng, d, bound)


def _columns(rng: Any, d: int) -> tuple[int, ...]:
    return tuple(map(int, rng.permutation(d)[: int(rng.integers(1, d + 1))]))


def _signs(rng: Any, d: int) -> Made:
    columns = _columns(rng, d)
    name = str(rng.choice(["nonnegative", "nonpositive", "increasing", "decreasing"]))
    side = _at_least if name in ("nonnegative", "increasing") else _at_most
    return getattr(builders, name)(*columns), [side(_unit(d, i), 0.0) for i in columns]


def _values(rng: Any, d: int, bound: float) -> Made:
    columns = _columns(rng, d)
    if rng.random() < 0.5:
        value = float(rng.choice([0.0, 0.0, -bound]))
        return builders.fixed(columns[0], value), [_equal(_unit(d, columns[0]), value)]
    rows = [_at_least(_unit(d, i), -bound) for i in columns]
    rows += [_at_most(_unit(d, i), bound) for i in columns]
    return builders.bounded(list(columns), -bound, bound), rows


def _order(rng: Any, d: int) -> Made:
    order = tuple(map(int, rng.permutation(d)))
    if d == 1:
        return _signs(rng, d)
    rows = []
    for k in range(d - 1):
        first, second = _unit(d, order[k]), _unit(d, order[k + 1])
        rows.append(_at_least([v - u for v, u in zip(second, first, strict=True)], 0.0))
    return builders.ordered(*order), rows


def _sum(rng: Any, d: int, bound: float) -> Made:
    columns = _columns(rng, d)
    ones, how = _unit(d, *columns), int(rng.integers(3))
    if how == 0:
        value = float(rng.choice([0.0, bound]))
        return builders.sum_of(*columns, equals=value), [_equal(ones, value)]
    if how == 1:
        return builders.sum_of(*columns, at_most=bound), [_at_most(ones, bound)]
    both = [_at_least(ones, -bound), _at_most(ones, bound)]
    return builders.sum_of(*columns, at_least=-bound, at_most=bound), both


def _fairness(rng: Any, data: Drawn) -> Made:
    """``|sum_i u_i (z_i - mean z) x_i'w| <= bound``, weights u that sum to one.

    The row is a sum that the library rounds: the program has the row as it is stored, which may be
    off the exact one by the rounding of its terms.
    """
    z = rng.integers(0, 2, data.n).astype(np.float64)
    if rng.random() < 0.5:  # what the first column tells of it
        z = (data.X[:, 0] > np.median(data.X[:, 0])).astype(np.float64)
    if len(set(z)) == 1:
        z[:2] = 0.0, 1.0
    bound = float(rng.choice([0.0, 0.01, 0.1, 1e-3]))
    total = sum(data.u, start=ZERO)
    shares = [u / total for u in data.u]
    mean = sum((u * Fraction(v) for u, v in zip(shares, z, strict=True)), start=ZERO)
    centred = [u * (Fraction(v) - mean) for u, v in zip(shares, z, strict=True)]
    row = [
        sum((c * x for c, x in zip(centred, column, strict=True)), start=ZERO)
        for column in zip(*exact(data.X), strict=True)
    ]
    builder = builders.fairness_band(z, bound)
    stored = builder.resolve(data.X, None, data.weights)
    rounded = exact(stored.A[0] if bound == 0.0 else stored.G[1])
    for v, u, column in zip(rounded, row, zip(*exact(data.X), strict=True), strict=True):
        terms = sum((abs(c * x) for c, x in zip(centred, column, strict=True)), start=ZERO)
        assert abs(v - u) <= SUM * terms, "the row of a fairness band is not the covariance"
    if bound == 0.0:
        return builder, [_equal(rounded, 0.0)]
    return builder, [_at_least(rounded, -bound), _at_most(rounded, bound)]


def _matrix(rng: Any, d: int, size: Any) -> Made:
    """Rows of mixed sizes, on the intercept too; w = 0 satisfies them."""
    m, k = int(rng.integers(0, 3)), int(rng.integers(0, 2))
    m = m if m + k else 1
    G = rng.integers(-3, 4, (m + k, d)) * 10.0 ** (
        rng.integers(0, 13, (m + k, d)) * (rng.random((m + k, d)) < 0.4)
    )
    if rng.random() < 0.4:
        G = G * size
    if rng.random() < 0.4:
        G = np.column_stack([G, rng.integers(-1, 2, m + k)])
    wide = np.column_stack([G, np.zeros(m + k)]) if G.shape[1] == d else G
    h = np.abs(np.round(8 * rng.normal(size=m)) / 8) * (rng.random(m) < 0.7)
    rules = [
        Rule(exact(wide[i, :d]), Fraction(wide[i, d]), Fraction(h[i]), False) for i in range(m)
    ]
    rules += [Rule(exact(wide[i, :d]), Fraction(wide[i, d]), ZERO, True) for i in range(m, m + k)]
    parts: dict[str, Any] = {}
    if m:
        parts |= {"G": G[:m], "h": h}
    if k:
        parts |= {"A": G[m:], "b": np.zeros(k)}
    return builders.LinearConstraints(**parts), rules


def _unit(d: int, *columns: int) -> Row:
    return [ONE if i in columns else ZERO for i in range(d)]


def _at_most(g: Row, h: float) -> Rule:
    return Rule(g, ZERO, Fraction(h), False)


def _at_least(g: Row, h: float) -> Rule:
    return Rule([-v for v in g], ZERO, -Fraction(h), False)


def _equal(g: Row, h: float) -> Rule:
    return Rule(g, ZERO, Fraction(h), True)
