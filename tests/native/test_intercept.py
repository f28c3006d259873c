"""Best intercepts against exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qpsvm.exceptions import InvalidParameterError
from qpsvm.native import Losses
from tests.native.oracles import exact, minimisers
from tests.strategies import examples

seeds = st.integers(0, 2**32 - 1)
KINDS = ("kinks", "ramps", "mixed", "squares")


def conditions(rng: Any, n: int, kind: str, *, ties: bool) -> tuple[Losses, Any]:
    """Losses and decision values; with ties these are small integers that often agree."""
    m = max(1, n // 2)
    draw = (
        (lambda *shape: rng.integers(-3, 4, shape).astype(float)) if ties else rng.standard_normal
    )
    lower = -rng.integers(0, 3, n) / 1.0
    upper = lower + rng.integers(0, 4, n)
    curved = rng.integers(1, 4, n) / 2.0
    if kind == "kinks":
        curved = np.zeros(n)
    elif kind == "mixed":
        curved *= rng.random(n) < 0.5
    elif kind == "squares":
        lower, upper = np.where(rng.random(n) < 0.5, 0.0, -np.inf), np.full(n, np.inf)
    signs = rng.choice([-1.0, 1.0], n)
    losses = Losses(draw(n), lower, upper, signs=signs, curved=curved, rows=rng.integers(0, m, n))
    return losses, draw(m)


def terms(losses: Losses, values: Any) -> list[Any]:
    """Losses of the form ``loss(t - b)``, as fractions."""
    assert losses.signs is not None
    assert losses.rows is not None
    assert losses.curved is not None
    s, f = losses.signs, values[losses.rows]
    t = s * losses.required - f  # one rounding, as in the core
    low = np.where(s > 0.0, losses.lower, -losses.upper)
    high = np.where(s > 0.0, losses.upper, -losses.lower)
    return list(zip(exact(t), exact(low), exact(high), exact(losses.curved), strict=True))


@settings(max_examples=examples(1000))
@given(seeds, st.integers(0, 12), st.sampled_from(KINDS), st.booleans(), st.integers(-4, 4))
def test_best_intercepts_are_the_exact_ones(
    seed: int, n: int, kind: str, ties: bool, cost: int
) -> None:
    losses, values = conditions(np.random.default_rng(seed), n, kind, ties=ties)
    expected = minimisers(terms(losses, values), Fraction(cost))
    found = losses.optimal_intercepts(values, cost=float(cost))
    if kind == "kinks" or ties:
        for end, best in zip(found, expected, strict=True):
            assert end == best or math.isclose(end, best, rel_tol=1e-15, abs_tol=1e-15)
    else:
        np.testing.assert_allclose(found, [float(end) for end in expected], rtol=1e-14, atol=1e-15)


def test_prices_that_cancel_but_for_rounding_leave_an_interval() -> None:
    n = 30
    signs = np.repeat([1.0, -1.0], [10, 20])
    losses = Losses(np.ones(n), np.zeros(n), np.where(signs > 0, 0.3, 0.15), signs=signs)
    values = np.where(signs > 0, 3.0, -2.0) + np.linspace(0.0, 0.1, n)
    first, last = losses.optimal_intercepts(values, flat=1e-14)
    assert last - first > 1.0


def test_hard_conditions_bound_the_intercept() -> None:
    """Both classes beyond their margins: everything between is as good."""
    losses = Losses(
        np.ones(4), np.zeros(4), np.full(4, np.inf), signs=np.array([1.0, 1.0, -1.0, -1.0])
    )
    assert losses.optimal_intercepts(np.array([3.0, 2.0, -4.0, -5.0])) == (-1.0, 3.0)
    # not separable: the middle of what each class asks for
    assert losses.optimal_intercepts(np.array([0.0, 0.0, 0.0, 2.0])) == (-1.0, -1.0)


def test_hard_and_soft_conditions_together() -> None:
    """b >= 1 for the first; the second pulls down as far as it may."""
    losses = Losses(np.array([1.0, 0.0]), np.array([0.0, -2.0]), np.array([np.inf, 2.0]))
    assert losses.optimal_intercepts(np.array([0.0, 5.0])) == (1.0, 1.0)


def test_no_conditions_and_no_minimum() -> None:
    empty = Losses(np.zeros(0), np.zeros(0), np.zeros(0))
    assert empty.optimal_intercepts(np.zeros(0)) == (-math.inf, math.inf)
    assert empty.optimal_intercepts(np.zeros(0), cost=1.0) == (-math.inf, -math.inf)
    assert empty.optimal_intercepts(np.zeros(0), cost=-1.0) == (math.inf, math.inf)


@pytest.mark.parametrize("size", [1e-300, 1e-5, 1e5, 1e300])
@pytest.mark.parametrize("d", [0.0, 1.0])
def test_decision_values_of_any_size(size: float, d: float) -> None:
    """Two samples that pull in opposite directions with different costs, far apart."""
    losses = Losses(
        np.zeros(2), np.array([-1.0, -2.0]), np.array([1.0, 2.0]), curved=np.full(2, d * size)
    )
    found = losses.optimal_intercepts(np.array([-size, size]))
    best = minimisers(
        [
            (Fraction(size), Fraction(-1), Fraction(1), Fraction(d * size)),
            (Fraction(-size), Fraction(-2), Fraction(2), Fraction(d * size)),
        ],
        Fraction(0),
    )
    np.testing.assert_allclose(found, [float(end) for end in best], atol=1e-15 * size)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"required": np.array([0.0, np.nan])}, r"required\[1\] is nan"),
        ({"lower": np.zeros(3)}, "lower has the shape"),
        ({"upper": np.full(2, -1.0)}, r"lower\[0\] = 0.0 and upper\[0\] = -1.0"),
        ({"upper": np.array([1.0, np.nan])}, r"upper\[1\] = nan"),
        ({"signs": np.array([1.0, 0.0])}, r"signs\[1\] is 0.0"),
        ({"curved": np.array([-1.0, 0.0])}, "the smallest of curved"),
        ({"rows": np.array([0.0, 1.0])}, "rows has the type float64"),
    ],
)
def test_wrong_losses_are_refused(change: Any, message: str) -> None:
    arguments = {"required": np.ones(2), "lower": np.zeros(2), "upper": np.ones(2)}
    with pytest.raises(InvalidParameterError, match=message):
        Losses(**(arguments | change))


def test_wrong_points_are_refused() -> None:
    losses = Losses(np.ones(2), np.zeros(2), np.ones(2))
    with pytest.raises(InvalidParameterError, match=r"values\[0\] is nan"):
        losses.optimal_intercepts(np.array([np.nan, 0.0]))
    with pytest.raises(InvalidParameterError, match="values has the shape"):
        losses.optimal_intercepts(np.zeros(3))
    with pytest.raises(InvalidParameterError, match="cost is nan"):
        losses.optimal_intercepts(np.zeros(2), cost=math.nan)
    far = Losses(np.full(1, -1e308), np.zeros(1), np.ones(1))
    with pytest.raises(InvalidParameterError, match="values are so large"):
        far.optimal_intercepts(np.full(1, 1e308))
    rows = Losses(np.ones(2), np.zeros(2), np.ones(2), rows=np.array([0, 5]))
    with pytest.raises(InvalidParameterError, match="rows contains 5"):
        rows.optimal_intercepts(np.zeros(2))
