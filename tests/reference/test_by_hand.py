"""Problems small enough for paper, and figures that are printed somewhere."""

from __future__ import annotations

from itertools import combinations

import cvxpy as cp
import numpy as np
import pytest
from sklearn import datasets
from sklearn.linear_model import QuantileRegressor

import qpsvm
from qpsvm import (
    DataDescription,
    EpsilonRegression,
    HardMargin,
    LeastSquares,
    NuClassification,
    NuRegression,
    OneClass,
    QuantileRegression,
    Ranking,
    SoftMargin,
    kernels,
)
from tests.reference.peers import diabetes, flowers, unequal
from tests.tolerances import SAME_DECISION, SAME_OBJECTIVE, TIGHT, TIGHT_DECISION

BOTH = pytest.mark.parametrize("form", ["primal", "dual"])
TARGETS = np.array([3.0, -1.0, 4.0, 1.5, 9.0, 2.5, 6.0])
NOTHING = np.zeros((7, 1))
"""One feature that says nothing: the machine is its intercept."""


def tight(problem):
    return qpsvm.solve(problem, eps=TIGHT, strict=True)


def close(actual, expected, atol=TIGHT_DECISION):
    np.testing.assert_allclose(actual, expected, atol=atol)


def certified(problem, solution):
    return qpsvm.certify(problem, solution).primal_objective


# --- printed examples -----------------------------------------------------------------------------


@BOTH
def test_eight_points_with_a_column_of_ones(form):
    # Ventura, "A (not so) gentle introduction to support vector machines" (2009), section 2: his
    # bias is a feature, the penalised intercept here; he prints w = (1, 0), b = -2 and the
    # multipliers -3.5, 0.75, 0.75
    X = np.array([[3, 1], [3, -1], [6, 1], [6, -1], [1, 0], [0, 1], [0, -1], [-1, 0]])
    y = np.repeat([1, -1], 4)
    solution = tight(getattr(HardMargin("penalized"), form)(X, y))
    close(solution.coef, [1.0, 0.0])
    close(solution.intercept, -2.0)
    close(solution.alpha, [0.75, 0.75, 0, 0, 3.5, 0, 0, 0])
    np.testing.assert_array_equal(solution.support, [0, 1, 4])
    # with a free intercept the same line at another price: |w|^2 = 1 = sum alpha
    free = tight(getattr(HardMargin(), form)(X, y))
    close(np.append(free.coef, free.intercept), [1.0, 0.0, -2.0])
    close(free.alpha, [0.25, 0.25, 0, 0, 0.5, 0, 0, 0])


def test_the_same_author_maps_a_ring_to_a_line():
    # section 3: corners of two squares, mapped by hand; he prints w = (1, 1), b = -3 and the
    # multipliers -7 and 4
    corners = np.array([[1, 1], [1, -1], [-1, -1], [-1, 1]])
    X, y = np.vstack([2 * corners, corners]).astype(float), np.repeat([1, -1], 4)
    far = np.hypot(*X.T) > 2
    gap = np.abs(X[:, 0] - X[:, 1])
    mapped = np.where(far[:, None], 4 - X[:, ::-1] + gap[:, None], X)
    solution = tight(HardMargin("penalized").dual(mapped, y))
    close(np.append(solution.coef, solution.intercept), [1.0, 1.0, -3.0])
    close(solution.alpha, [4, 0, 0, 0, 7, 0, 0, 0])


STACK_LOSS = np.array(
    [
        [80, 27, 89, 42], [80, 27, 88, 37], [75, 25, 90, 37], [62, 24, 87, 28], [62, 22, 87, 18],
        [62, 23, 87, 18], [62, 24, 93, 19], [62, 24, 93, 20], [58, 23, 87, 15], [58, 18, 80, 14],
        [58, 18, 89, 14], [58, 17, 88, 13], [58, 18, 82, 11], [58, 19, 93, 12], [50, 18, 89, 8],
        [50, 18, 86, 7], [50, 19, 72, 8], [50, 19, 79, 8], [50, 20, 80, 9], [56, 20, 82, 15],
        [70, 20, 91, 15],
    ],
    dtype=float,
)  # fmt: skip
"""Brownlee's stack loss plant: air flow, water temperature, acid concentration; loss."""


@BOTH
def test_least_deviations_of_the_stack_loss_plant(form):
    # R's quantreg prints -39.68986, 0.83188, 0.57391, -0.06087 for rq(stack.loss ~ stack.x, 0.5)
    X, t = STACK_LOSS[:, :3], STACK_LOSS[:, 3]
    problem = getattr(QuantileRegression(0.5, C=1e3), form)(X, t)
    solution = qpsvm.solve(problem, "cvxpy:CLARABEL" if form == "primal" else "auto", strict=True)
    close(solution.coef, [0.83188, 0.57391, -0.06087], 1e-4)
    close(solution.intercept, -39.68986, 2e-3)


def test_least_squares_of_the_stack_loss_plant():
    # Brownlee (1965), pages 491 to 500, and every package since: -39.92, 0.7156, 1.2953, -0.1521
    X, t = STACK_LOSS[:, :3], STACK_LOSS[:, 3]
    squares = EpsilonRegression(100.0, 0.0, loss="squared_epsilon_insensitive")
    solution = qpsvm.solve(squares.primal(X, t), "cvxpy:CLARABEL", strict=True)
    close(solution.coef, [0.7156, 1.2953, -0.1521], 1e-4)
    close(solution.intercept, -39.92, 1e-2)


# --- one number to find -----------------------------------------------------------------------


@BOTH
def test_a_constant_feature_leaves_the_weighted_median(form):
    weights = np.array([1.0, 1.0, 1.0, 1.0, 5.0, 1.0, 1.0])
    for w, median in ((None, 3.0), (weights, 6.0)):  # 11 in all: 5 up to 4, then 1 at 6, 5 at 9
        solution = tight(getattr(QuantileRegression(0.5), form)(NOTHING, TARGETS, sample_weight=w))
        close(solution.intercept, median)
        close(solution.coef, 0.0)
    tube = tight(getattr(EpsilonRegression(1.0, 0.0), form)(NOTHING, TARGETS))
    close(tube.intercept, 3.0)


@BOTH
@pytest.mark.parametrize("tau", [0.05, 0.2, 0.5, 0.7, 0.95])
def test_a_constant_feature_leaves_the_quantile(tau, form):
    solution = tight(getattr(QuantileRegression(tau), form)(NOTHING, TARGETS))
    close(solution.intercept, np.sort(TARGETS)[int(np.ceil(7 * tau)) - 1])
    close(solution.intercept, np.quantile(TARGETS, tau, method="inverted_cdf"))


def test_where_the_quantile_is_an_interval():
    solution = tight(QuantileRegression(0.5).dual(NOTHING[:6], TARGETS[:6]))
    close(solution.intercept_interval, [2.5, 3.0])
    close(solution.intercept, 2.75)


@BOTH
@pytest.mark.parametrize("cut", [0, 1, 2])
def test_nu_trims_the_range_from_both_ends(cut, form):
    # moving both edges of the tube inwards saves nu and costs 2/n for every pair of samples that it
    # leaves outside: nu between 2 cut / n and 2 (cut + 1) / n leaves `cut` on either side
    nu = (2 * cut + 1) / 7
    solution = tight(getattr(NuRegression(nu, C=7.0), form)(NOTHING, TARGETS))
    inner = np.sort(TARGETS)[cut : 7 - cut]
    close(solution.intercept, 0.5 * (inner[0] + inner[-1]))  # the midrange, for cut = 0
    close(solution.width, 0.5 * (inner[-1] - inner[0]))


@BOTH
def test_squares_leave_the_mean_and_a_ball_the_midrange(form):
    squared = EpsilonRegression(3.0, 0.0, loss="squared_epsilon_insensitive")
    solution = tight(getattr(squared, form)(NOTHING, TARGETS))
    close(solution.intercept, TARGETS.mean())
    description = DataDescription(1.0)
    ball = tight(getattr(description, form)(TARGETS[:, None]))
    close(ball.coef, 2 * 4.0)
    close(description.radius(ball), 5.0)


@pytest.mark.parametrize("C", [0.01, 0.1, 10.0])
def test_a_line_through_two_targets(C):
    # f = w x + b through (0, 0), (2, 4), tube 0.5: w = 1.5 as soon as 2 C reaches it
    solution = tight(EpsilonRegression(C, 0.5).dual([[0.0], [2.0]], [0.0, 4.0]))
    close(solution.coef, min(2 * C, 1.5))
    close(solution.intercept, 2.0 - solution.coef[0])
    # squared: minimise w^2/2 + 2 C (1.5 - w)^2
    squared = EpsilonRegression(C, 0.5, loss="squared_epsilon_insensitive")
    solution = tight(squared.dual([[0.0], [2.0]], [0.0, 4.0]))
    close(solution.coef, 6 * C / (1 + 4 * C))


@pytest.mark.parametrize("C", [0.1, 2.0, 50.0])
def test_least_squares_of_two_points(C):
    # at -1 and 1: w = alpha_1 + alpha_2, alpha = C (1 - w), so w = 2C / (1 + 2C), b = 0
    solution = tight(LeastSquares(C).dual([[-1.0], [1.0]], [-1, 1]))
    close(solution.coef, 2 * C / (1 + 2 * C))
    close(solution.intercept, 0.0)
    close(solution.alpha, C / (1 + 2 * C))
    # and squared hinge: alpha / (2C) = 1 - w
    solution = tight(SoftMargin(C, loss="squared_hinge").dual([[-1.0], [1.0]], [-1, 1]))
    close(solution.coef, 4 * C / (1 + 4 * C))


# --- tails ----------------------------------------------------------------------------------------


def tail_mean(values, share):
    """The mean of the lowest share of the values, the last one counted in part."""
    box = 1.0 / (share * len(values))
    weights = np.clip(1.0 - box * np.arange(len(values)), 0.0, box)
    return float(np.sort(values) @ weights)


@BOTH
@pytest.mark.parametrize("nu", [0.05, 0.3, 0.5, 0.8, 1.0])
def test_one_class_of_one_feature_is_a_tail_mean(nu, form):
    # 1/2 (alpha'x)^2 is least when alpha is on the lowest nu n samples
    x = TARGETS + 3.0
    problem = getattr(OneClass(nu), form)(x[:, None])
    solution = tight(problem)
    mean = tail_mean(x, nu)
    close(solution.coef, mean)
    close(certified(problem, solution), -0.5 * mean**2)
    low, high = (-end / mean for end in reversed(solution.intercept_interval))
    assert low - 1e-4 <= np.quantile(x, nu, method="inverted_cdf") <= high + 1e-4


@BOTH
@pytest.mark.parametrize("nu", [0.1, 0.4, 0.7])
def test_nu_classification_of_one_feature_is_a_difference_of_tail_means(nu, form):
    # either class gets nu/2 of alpha: the closest points of the hulls shrunk to those boxes
    # (Crisp and Burges, "A geometric interpretation of nu-SVM classifiers", NIPS 1999)
    x = np.array([0.0, 0.3, 1.1, 2.0, 2.5, 3.5, 4.0, 4.2, 5.0, 7.0])
    y = np.repeat([-1, 1], 5)
    problem = getattr(NuClassification(nu), form)(x[:, None], y)
    solution = tight(problem)
    w = 0.5 * nu * (tail_mean(x[5:], nu) + tail_mean(-x[:5], nu))
    assert w > 0
    close(solution.coef, w)
    close(certified(problem, solution), -0.5 * w * w)


# --- balls ----------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("d", [2, 5])
def test_points_on_a_sphere_have_its_centre_and_radius(d, form):
    rng = np.random.default_rng(d)
    directions = rng.normal(size=(20, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    centre = rng.normal(size=d)
    inside = centre + rng.uniform(0, 2.4, (10, 1)) * directions[:10]
    X = np.vstack([centre + 2.5 * directions, centre - 2.5 * directions, inside])
    description = DataDescription(1.0)
    problem = getattr(description, form)(X)
    solution = tight(problem)
    close(0.5 * solution.coef, centre)
    close(description.radius(solution), 2.5)
    close(certified(problem, solution), 2.5**2)
    close(solution.decision_function(X[:40]), np.zeros(40))
    assert (solution.predict(X[40:]) == 1).all()
    assert solution.support.max() < 40


@pytest.mark.parametrize(
    ("corners", "radius"),
    [
        ([[0, 0], [3, 0], [0, 4]], 2.5),  # a right angle: half the hypotenuse (Thales)
        ([[0, 0], [10, 0], [4, 1]], 5.0),  # an obtuse one: half the longest side
        ([[0, 0], [2, 0], [1, np.sqrt(3)]], 2 / np.sqrt(3)),  # equal sides: side / sqrt 3
    ],
)
def test_the_smallest_circle_around_a_triangle(corners, radius):
    description = DataDescription(3.0)
    solution = tight(description.dual(corners))
    assert description.radius(solution) == pytest.approx(radius, abs=SAME_DECISION)


@pytest.mark.parametrize("C", [0.05, 0.1, 0.4, 1.0])
def test_a_ball_in_the_words_of_the_paper(C):
    # Tax and Duin (2004), equation (3), in (R^2, c, xi) and as a cone program
    X, _ = flowers()
    X = X[::5]
    square, centre, slack = cp.Variable(), cp.Variable(4), cp.Variable(30, nonneg=True)
    distances = cp.sum(cp.square(X - np.ones((30, 1)) @ cp.reshape(centre, (1, 4), "C")), axis=1)
    program = cp.Problem(cp.Minimize(square + C * cp.sum(slack)), [distances <= square + slack])
    program.solve("CLARABEL")
    problem = DataDescription(C).dual(X)
    solution = tight(problem)
    assert certified(problem, solution) == pytest.approx(program.value, rel=1e-6)
    close(0.5 * solution.coef, centre.value, 1e-3)
    outside = int(np.count_nonzero(solution.decision_function(X) < -TIGHT_DECISION))
    assert outside <= 1 / C
    assert solution.n_support >= 1 / C


# --- quantiles ------------------------------------------------------------------------------------

TAUS = pytest.mark.parametrize("tau", [0.1, 0.25, 0.5, 0.9])


def pinball(v, tau):
    return np.maximum(tau * v, (tau - 1) * v)


@TAUS
@pytest.mark.parametrize("weighted", [False, True], ids=["even", "weighted"])
def test_a_high_price_gives_the_regression_quantile(tau, weighted):
    # Koenker and Bassett (1978); a linear program, which scikit-learn hands to HiGHS
    X, t = diabetes(100)
    weights = unequal(100) if weighted else np.ones(100)
    ours = qpsvm.solve(QuantileRegression(tau, C=1e3).dual(X, t, sample_weight=weights))
    theirs = QuantileRegressor(quantile=tau, alpha=0.0).fit(X, t, sample_weight=weights)
    lost, least = (
        weights @ pinball(t - values, tau)
        for values in (ours.decision_function(X), theirs.predict(X))
    )
    assert lost >= least * (1 - 1e-9)
    assert lost <= least + 0.5 * theirs.coef_ @ theirs.coef_ / 1e3
    close(ours.decision_function(X), theirs.predict(X), 5e-3)


@TAUS
@pytest.mark.parametrize("kernel", ["linear", kernels.RBF(0.2)], ids=["linear", "rbf"])
def test_the_share_below_a_quantile(tau, kernel):
    # Takeuchi et al. (2006), lemma 3
    X, t = diabetes(100)
    solution = tight(QuantileRegression(tau, C=5.0).dual(X, t, kernel=kernel))
    residual = t - solution.decision_function(X)
    below, above = (float(np.mean(side > TIGHT_DECISION)) for side in (-residual, residual))
    assert below <= tau
    assert above <= 1 - tau
    on = float(np.mean(np.abs(residual) <= TIGHT_DECISION))
    assert below + on >= tau
    assert on > 0


@TAUS
@BOTH
@pytest.mark.parametrize("kind", ["free", "penalized", "none"])
def test_a_quantile_machine_in_the_words_of_the_paper(kind, tau, form):
    X, t = diabetes(60)
    weights, C = unequal(60), 0.7
    w, b = cp.Variable(X.shape[1]), cp.Variable()
    v = t - X @ w - b
    cost = cp.sum(cp.multiply(C * weights, cp.maximum(tau * v, (tau - 1) * v)))
    size = 0.5 * cp.sum_squares(w) + (0.5 * cp.square(b) if kind == "penalized" else 0)
    program = cp.Problem(cp.Minimize(size + cost), [b == 0] if kind == "none" else [])
    program.solve("CLARABEL")
    problem = getattr(QuantileRegression(tau, C, intercept=kind), form)(X, t, sample_weight=weights)
    solution = tight(problem)
    assert certified(problem, solution) == pytest.approx(program.value, rel=1e-7)
    close(solution.coef, w.value, 1e-3)


# --- order ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.05, 0.08, 0.12, 0.2, 0.7, 10.0])
def test_three_grades_on_a_line(C):
    # at 0, 1 and 3 the pairs are 1, 2 and 3 apart: w grows by C for each unit of a pair that pays,
    # and a pair stops to pay at w = 1, 1/2 and 1/3
    solution = tight(Ranking(C).dual([[0.0], [1.0], [3.0]], [0, 1, 2]))
    close(solution.coef, max(min(6 * C, 1 / 3), min(3 * C, 1 / 2), min(C, 1.0)))


def test_every_subset_of_pairs_counts_once():
    X, t = datasets.load_diabetes(return_X_y=True)
    X, t = 20 * X[:12], np.arange(12) % 4
    groups = np.arange(12) // 6
    pairs = [
        (i, j) if t[i] > t[j] else (j, i)
        for i, j in combinations(range(12), 2)
        if groups[i] == groups[j] and t[i] != t[j]
    ]
    w = cp.Variable(X.shape[1])
    margins = cp.hstack([(X[i] - X[j]) @ w for i, j in pairs])
    cp_problem = cp.Problem(
        cp.Minimize(0.5 * cp.sum_squares(w) + 0.3 * cp.sum(cp.pos(1 - margins)))
    )
    cp_problem.solve("CLARABEL")
    problem = Ranking(0.3).dual(X, t, groups=groups)
    assert len(problem.data.pairs) == len(pairs)
    solution = tight(problem)
    assert certified(problem, solution) == pytest.approx(cp_problem.value, rel=SAME_OBJECTIVE)
