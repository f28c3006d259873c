"""Laws of the terms of a duality gap over a box."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qpsvm.machines.conditions import gap_terms, losses
from qpsvm.qp.box_gap import best_multiplier, box_gap_terms
from tests.strategies import examples

NUMBERS = st.floats(-8.0, 8.0, allow_nan=False).map(lambda x: round(8.0 * x) / 8.0)
SIZES = st.floats(0.0, 8.0, allow_nan=False).map(lambda x: round(8.0 * x) / 8.0)


@settings(max_examples=examples(200))
@given(x=st.floats(0.0, 1.0), g=NUMBERS, lower=SIZES, upper=SIZES, d=SIZES)
def test_a_term_is_the_distance_from_the_minimum(
    x: float, g: float, lower: float, upper: float, d: float
) -> None:
    low, high = Fraction(-lower), Fraction(upper)
    at = low + (high - low) * Fraction(round(64 * x), 64)

    def value(t: Fraction) -> Fraction:
        return Fraction(d) / 2 * t * t + Fraction(g) * t

    candidates = [low, high]
    if d:
        candidates.append(min(max(-Fraction(g) / Fraction(d), low), high))
    truth = value(at) - min(map(value, candidates))
    box = np.array([float(at)]), np.array([g]), np.array([-lower]), np.array([upper])
    found = box_gap_terms(*box, np.array([d]))[0]
    assert found == pytest.approx(float(truth), rel=1e-12, abs=1e-12)
    assert found >= 0.0


@settings(max_examples=examples(100))
@given(v=NUMBERS, a=st.floats(0.0, 1.0), upper=SIZES, d=SIZES)
def test_loss_and_conjugate_make_a_term(v: float, a: float, upper: float, d: float) -> None:
    """``loss(v) + d/2 a^2 - a v``, the inequality of Fenchel and Young."""
    own, box = np.array([a * upper]), (np.zeros(1), np.array([upper]), np.array([d]))
    terms = losses(np.array([v]), *box) + 0.5 * d * own * own - own * v
    assert gap_terms(np.array([v]), own, *box) == pytest.approx(terms, rel=1e-12, abs=1e-12)


def test_no_bound_is_infinite_and_a_measure_is_finite() -> None:
    x, g, ends = np.array([2.0]), np.array([-3.0]), (np.zeros(1), np.full(1, np.inf))
    assert box_gap_terms(x, g, *ends) == [np.inf]
    assert box_gap_terms(x, g, *ends, is_measure=True) == [9.0]  # 3 (1 + 2)
    assert box_gap_terms(x, np.zeros(1), *ends) == [0.0]


@pytest.mark.parametrize("x", [0.0, 0.5, 1.0, np.nan])
@pytest.mark.parametrize("d", [0.0, 1.0])
def test_nan_is_passed_on(x: float, d: float) -> None:
    """At a bound, too: an error that is not a number must not count as none."""
    ends = np.zeros(1), np.ones(1), np.full(1, d)
    g = np.array([1.0 if np.isnan(x) else np.nan])
    assert np.isnan(box_gap_terms(np.array([x]), g, *ends)).all()
    assert np.isnan(gap_terms(-g, np.array([x]), *ends)).all()


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_an_infinite_slope_costs_nothing_at_the_bound_that_it_asks_for(sign: float) -> None:
    v, ends = np.array([sign * np.inf]), (np.zeros(1), np.ones(1), np.zeros(1))
    at = np.array([float(sign > 0.0)])
    assert gap_terms(v, at, *ends) == [0.0]
    assert gap_terms(v, 1.0 - at, *ends) == [np.inf]


@settings(max_examples=examples(100))
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 12))
def test_no_multiplier_of_a_row_has_a_smaller_gap_than_the_best_one(seed: int, n: int) -> None:
    """The gap is convex in the multiplier, with kinks where an entry of the gradient vanishes."""
    rng = np.random.default_rng(seed)
    a = rng.choice([-2.0, -1.0, 0.0, 0.5, 1.0], n)
    lower = -rng.choice([0.0, 1.0, 1e-3], n)
    upper = lower + rng.choice([0.0, 1.0, 1e4], n)
    x, g = lower + (upper - lower) * rng.choice([0.0, 0.5, 1.0], n), rng.standard_normal(n)

    def gap(y: float) -> float:
        return float(np.sum(box_gap_terms(x, g + y * a, lower, upper)))

    y = best_multiplier(a, float(a @ x), g, lower, upper)
    kinks = -g[a != 0.0] / a[a != 0.0]
    best = min(map(gap, kinks), default=gap(0.0))
    assert gap(y) <= best * (1.0 + 1e-12) + 1e-12


def test_where_no_multiplier_is_best_it_is_zero() -> None:
    one = np.ones(1)
    assert best_multiplier(one, 2.0, one, 0.0 * one, one) == 0.0
    assert best_multiplier(0.0 * one, 0.0, one, 0.0 * one, one) == 0.0
    assert best_multiplier(one, 0.5, np.array([np.nan]), 0.0 * one, one) == 0.0
