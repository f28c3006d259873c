"""Points of a box, moved until their sums are what they must be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import qpsvm
from qpsvm.machines.repair import with_sum
from tests.strategies import examples
from tests.tolerances import ROUNDING

N = 9
ANYTHING = arrays(np.float64, N, elements=st.floats(-1e3, 1e3) | st.sampled_from([0.0, 1.0]))


@given(ANYTHING, arrays(np.float64, N, elements=st.sampled_from([-1.0, 0.0, 1.0])), st.floats(0, 1))
def test_a_sum_the_box_allows_is_reached_within_the_box(start, signs, share):
    lower, upper = np.zeros(N), np.linspace(0.5, 2.0, N)
    a = np.clip(start, lower, upper)
    most, least = float(upper @ (signs > 0)), -float(upper @ (signs < 0))
    total = least + share * (most - least)
    moved = with_sum(a, lower, upper, signs, total)
    assert (moved >= lower).all()
    assert (moved <= upper).all()
    assert signs @ moved == pytest.approx(total, abs=ROUNDING)
    np.testing.assert_array_equal(moved[signs == 0.0], a[signs == 0.0])


def test_a_point_with_the_right_sum_is_not_touched():
    a = np.array([0.25, 0.5, 0.75])
    assert with_sum(a, np.zeros(3), np.ones(3), np.array([1.0, 1.0, -1.0]), 0.0) is a


def test_an_unbounded_box_shares_what_is_missing():
    free = np.full(4, np.inf)
    np.testing.assert_allclose(with_sum(np.zeros(4), -free, free, np.ones(4), 2.0), 0.5)


@pytest.mark.parametrize("family", [qpsvm.NuClassification(0.4), qpsvm.NuClassification(0.1)])
@settings(max_examples=examples(200))
@given(alpha=ANYTHING)
def test_unbalanced_classes_still_balance(family, alpha):
    """Two against seven: the larger class has room for more than the smaller one can answer."""
    X = np.arange(N)[:, None] / N
    problem = family.dual(X, [1, 1, 0, 0, 0, 0, 0, 0, 0])
    signs, upper = problem.model.conditions.signs, problem.model.conditions.upper
    a = problem.model.feasible_dual(alpha).alpha
    assert (a >= 0.0).all()
    assert (a <= upper).all()
    assert signs @ a == pytest.approx(0.0, abs=ROUNDING)
    assert np.sum(a) >= family.nu - ROUNDING


@settings(max_examples=examples(200))
@given(alpha=arrays(np.float64, 2 * N, elements=st.floats(-1e3, 1e3)))
def test_a_tube_never_takes_more_than_it_may(alpha):
    X = np.arange(N)[:, None] / N
    problem = qpsvm.NuRegression(nu=0.3, C=10.0).dual(X, np.sin(5.0 * X[:, 0]))
    a = problem.model.feasible_dual(alpha).alpha
    assert (a >= 0.0).all()
    assert (a <= problem.model.conditions.upper).all()
    assert np.sum(a[:N]) == pytest.approx(np.sum(a[N:]), abs=ROUNDING * 10)
    assert np.sum(a) <= 3.0 + ROUNDING * 10
