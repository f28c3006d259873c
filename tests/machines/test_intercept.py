"""The best intercept for given weights, exactly."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import qpsvm
from qpsvm import SoftMargin
from qpsvm.machines.intercept import optimal_intercepts, signed
from tests.tolerances import ROUNDING


def hinge_intercepts(scores, signs, C):
    """Of the hinge loss: ``s_i (g_i + b)`` has to reach 1."""
    zero = np.zeros(len(C))
    return optimal_intercepts(*signed(1.0 - signs * scores, signs, zero, C), zero)


def loss(b, scores, signs, C):
    return float(C @ np.maximum(0.0, 1.0 - signs * (scores + b)))


@st.composite
def weighted_scores(draw, whole=False):
    """Scores, signs (both present) and C; small whole numbers produce ties and flat pieces."""
    n = draw(st.integers(2, 12))
    number = st.integers(-4, 4) if whole else st.floats(-5, 5, width=32)
    scores = draw(st.lists(number, min_size=n, max_size=n))
    signs = draw(
        st.lists(st.sampled_from([-1.0, 1.0]), min_size=n, max_size=n).filter(
            lambda s: len(set(s)) == 2
        )
    )
    prices = st.integers(1, 3) if whole else st.floats(0.125, 8, width=32)
    C = draw(st.lists(prices, min_size=n, max_size=n))
    return np.array(scores, float), np.array(signs), np.array(C, float)


@given(st.one_of(weighted_scores(), weighted_scores(whole=True)))
def test_no_intercept_is_better_than_the_ones_returned(case):
    scores, signs, C = case
    interval = hinge_intercepts(scores, signs, C)
    # a convex piecewise-linear function is smallest at one of its breakpoints
    best = min(loss(b, scores, signs, C) for b in signs - scores)
    for b in (interval.lower, interval.midpoint, interval.upper):
        assert loss(b, scores, signs, C) <= best + ROUNDING * C.sum() * 10


@given(weighted_scores(whole=True))
def test_the_interval_holds_every_best_intercept(case):
    scores, signs, C = case
    interval = hinge_intercepts(scores, signs, C)
    losses = {b: loss(b, scores, signs, C) for b in signs - scores}
    best = [b for b, value in losses.items() if value == min(losses.values())]
    assert (interval.lower, interval.upper) == (min(best), max(best))


@given(weighted_scores(), st.floats(-3, 3, width=32))
def test_shifted_scores_shift_the_interval_back(case, shift):
    scores, signs, C = case
    before = hinge_intercepts(scores, signs, C)
    after = hinge_intercepts(scores + shift, signs, C)
    np.testing.assert_allclose(np.array(after) + shift, before, atol=1e-5)


def test_a_flat_piece_reports_both_ends_and_the_midpoint():
    # one sample per class at score 0: every b in [-1, 1] costs 2
    interval = hinge_intercepts(np.zeros(2), np.array([-1.0, 1.0]), np.ones(2))
    assert interval == (-1.0, 1.0)
    assert interval.midpoint == 0.0


def test_the_flat_piece_survives_rounding():
    # 0.1 + 0.1 + 0.1 - 0.3 is not zero in binary: the slope of the flat piece is 5.6e-17
    scores, signs = np.array([0.0, 0.1, 0.2, 0.3]), np.array([1.0, 1.0, 1.0, -1.0])
    C = np.array([0.1, 0.1, 0.1, 0.3])
    interval = hinge_intercepts(scores, signs, C)
    assert interval == pytest.approx((-1.3, 0.8))


def test_the_hard_intercept_maximises_the_smallest_margin():
    scores, signs = np.array([-3.0, -1.0, 2.0, 7.0]), np.array([-1.0, -1.0, 1.0, 1.0])
    assert hinge_intercepts(scores, signs, np.full(4, np.inf)) == (-0.5, -0.5)


@pytest.mark.parametrize("family", [qpsvm.OneClass(1.0), qpsvm.DataDescription(1 / 20)])
@pytest.mark.parametrize("form", ["primal", "dual"])
def test_where_every_sample_may_be_outside_the_intercepts_are_a_half_line(family, form):
    """At nu = 1 (C = 1/n) moving the boundary outwards costs what it saves."""
    X = np.random.default_rng(0).normal(size=(20, 2))
    problem = getattr(family, form)(X, kernel="rbf")
    solution = qpsvm.solve(problem)
    lower, upper = solution.intercept_interval
    assert lower == -math.inf
    assert solution.intercept == upper
    best = qpsvm.certify(problem, solution).primal_objective
    for shift, same in ((-1e-3, True), (-10.0, True), (1e-3, False)):
        moved = solution.replace(intercept=upper + shift)
        value = problem.model.primal_objective(problem.model.decision_values(moved))
        assert (abs(value - best) <= ROUNDING * 100) is same
    assert qpsvm.verify(problem, solution).passed


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_scores_that_are_not_numbers_give_nan_not_a_guess(bad):
    interval = hinge_intercepts(np.array([bad, 1.0]), np.array([-1.0, 1.0]), np.ones(2))
    assert all(map(math.isnan, interval))


# --- no free support vector ------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["cvxopt", "osqp", "cvxpy", "slsqp"])
@pytest.mark.parametrize("form", ["primal", "dual"])
def test_without_a_free_support_vector_the_midpoint_is_reported(form, backend):
    # two points per class at -2, -1 and 1, 2; C so small that all four are bounded:
    # w = C (1 + 2 + 1 + 2) = 0.06, and every b with |w x + b| <= 1 everywhere is as good
    X, y, C = np.array([[-2.0], [-1.0], [1.0], [2.0]]), [-1, -1, 1, 1], 0.01
    problem = getattr(SoftMargin(C), form)(X, y)
    solution = qpsvm.solve(problem, backend)
    assert solution.alpha == pytest.approx([C] * 4, abs=1e-6)
    assert solution.coef == pytest.approx([0.06], abs=1e-6)
    assert solution.intercept_interval == pytest.approx((-0.88, 0.88), abs=1e-5)
    assert solution.intercept == pytest.approx(0.0, abs=1e-5)
    proof = qpsvm.certify(problem, solution)
    for b in proof.intercept_interval:
        ends = qpsvm.certify(problem, solution.replace(intercept=b))
        assert ends.primal_objective == pytest.approx(proof.primal_objective, abs=1e-8)


def test_bounded_support_vectors_are_never_averaged():
    """All support vectors are bounded and unbalanced: their average is no optimal intercept.

    The heap at 0 (20 negatives) and three positives at 4, tiny C: alpha of the positives is at C,
    that of the negatives adds up to 3 C. Averaging ``s_i - w x_i`` over all bounded support
    vectors, as some codes do, moves the boundary and mislabels the positives' side.
    """
    X = np.concatenate([np.linspace(-1.0, 1.0, 20), [4.0, 4.0, 4.5]])[:, None]
    y = np.array([-1] * 20 + [1] * 3)
    problem = SoftMargin(C=0.01).dual(X, y)
    solution = qpsvm.solve(problem, "cvxopt")
    bounded = solution.alpha > 0.99 * 0.01
    assert bounded.sum() >= 3
    averaged = float(np.mean(y[bounded] - X[bounded] @ solution.coef))
    optimal = qpsvm.certify(problem, solution)
    assert solution.intercept_interval.lower <= solution.intercept
    wrong = qpsvm.certify(problem, solution.replace(intercept=averaged))
    assert optimal.relative_gap < 1e-8
    assert wrong.relative_gap > 1e-3
    assert not qpsvm.verify(problem, solution.replace(intercept=averaged)).passed


def by_sorting(targets, lower, upper):
    """The interval from the sums right of every target with a price, in ascending order."""
    order = np.argsort(targets, kind="stable")
    order = order[(upper > lower)[order]]
    right = np.cumsum((upper - lower)[order]) - np.sum(upper)
    first = int(np.argmax(right >= 0.0))
    last = first + int(right[first] == 0.0)
    return float(targets[order[first]]), float(targets[order[last]])


@pytest.mark.parametrize("kind", ["spread", "ties", "ascending", "one far from the others", "two"])
@pytest.mark.parametrize("n", [4095, 4096, 20_001])
def test_many_targets_have_the_interval_of_a_sort(kind, n) -> None:
    """Whole numbers, whose sums are exact: half of the cases have a flat piece."""
    rng = np.random.default_rng(n)
    targets = rng.normal(size=n)
    if kind == "ties":
        targets = np.round(2.0 * targets)
    elif kind == "ascending":
        targets = np.sort(targets)
    elif kind == "two":
        targets = np.sign(targets)
    for _ in range(20):
        C = rng.integers(0, 3, n).astype(float)
        is_upper = rng.random(n) < rng.random()
        if kind == "one far from the others":  # none of the sample is near it
            C[:], C[n // 2 + 1] = 0.0, 1.0
        lower, upper = np.where(is_upper, 0.0, -C), np.where(is_upper, C, 0.0)
        lower[0], upper[0] = -1.0, 1.0
        interval = optimal_intercepts(targets, lower, upper, np.zeros(n))
        assert (interval.lower, interval.upper) == by_sorting(targets, lower, upper)


@pytest.mark.parametrize("n", [4096, 20_001])
def test_a_flat_piece_may_begin_where_the_guess_ends(n) -> None:
    """Two samples with a gap between them: of those without a price, none ends it."""
    targets, second = np.arange(n, dtype=float), 64 * (n // 1024)
    lower, upper = np.zeros((2, n))
    upper[[0, second]], lower[-4:] = 1.0, -1.0
    interval = optimal_intercepts(targets, lower, upper, np.zeros(n))
    assert (interval.lower, interval.upper) == (second, n - 4.0)
