"""The cases of the textbooks, and hard margins that cannot exist."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import qpsvm
from qpsvm import HardMargin, SoftMargin, kernels
from qpsvm.exceptions import (
    InfeasibleProgramError,
    NotSeparableError,
    ToleranceNotReachedWarning,
)
from tests.strategies import grid
from tests.tolerances import FLOAT32_CACHE, SAME_DECISION, TIGHT

BACKENDS = ("slsqp", "cvxopt", "osqp", "cvxpy")
EVERY = pytest.mark.parametrize("backend", BACKENDS)
BOTH = pytest.mark.parametrize("form", ["primal", "dual"])


def clouds():
    """50 standard-normal points around (2, 2) and 50 around (-2, -2)."""
    np.random.seed(42)  # noqa: NPY002 - the published example is defined by this generator
    A = np.random.randn(50, 2) + 2  # noqa: NPY002
    B = np.random.randn(50, 2) - 2  # noqa: NPY002
    return np.vstack([A, B]), np.repeat([1, -1], 50)


# --- two points, and other figures that fit on paper ----------------------------------------------


@EVERY
@BOTH
def test_two_points(form, backend):
    # (0, 0) and (2, 2): w = (1/2, 1/2), b = -1, alpha = 1/4 each, margin 2 sqrt 2
    problem = getattr(HardMargin(), form)([[0.0, 0.0], [2.0, 2.0]], [-1, 1])
    solution = qpsvm.solve(problem, backend)
    assert solution.coef == pytest.approx([0.5, 0.5], abs=1e-7)
    assert solution.intercept == pytest.approx(-1.0, abs=1e-7)
    assert solution.alpha == pytest.approx([0.25, 0.25], abs=1e-7)
    assert qpsvm.certify(problem, solution).primal_objective == pytest.approx(0.25, abs=1e-8)
    assert qpsvm.verify(problem, solution).summary.margin_width == pytest.approx(np.sqrt(8))


@pytest.mark.parametrize("C", [0.05, 0.125, 0.25, 7.0])
def test_two_points_with_a_price(C):
    # w = alpha (2, 2) with alpha = min(C, 1/4): below 1/4 both points are inside the margin,
    # at 1/4 they are free and bounded at once, which costs half of the digits
    solution = qpsvm.solve(SoftMargin(C).dual([[0.0, 0.0], [2.0, 2.0]], [-1, 1]))
    alpha = min(C, 0.25)
    assert solution.alpha == pytest.approx([alpha, alpha], abs=SAME_DECISION)
    assert solution.coef == pytest.approx([2 * alpha] * 2, abs=SAME_DECISION)
    # slack of one point: 1 - (w'x distance)/2, whichever midpoint is chosen
    assert solution.slack.sum() == pytest.approx(2 - 8 * alpha, abs=SAME_DECISION)
    assert solution.intercept == pytest.approx(
        -4 * alpha, abs=SAME_DECISION
    )  # halfway between the points


@BOTH
def test_exclusive_or_with_the_quadratic_kernel(form):
    # Four corners, k = (1 + x'z)^2: alpha = 1/8 each and f(x) = -x1 x2 (Haykin's example)
    X = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    y = np.array([-1, 1, 1, -1])
    problem = getattr(HardMargin(), form)(X, y, kernel=kernels.Polynomial(1.0, 2, 1.0))
    solution = qpsvm.solve(problem, "cvxopt")
    assert solution.alpha == pytest.approx([0.125] * 4, abs=1e-7)
    grid = np.random.default_rng(0).normal(size=(20, 2))
    np.testing.assert_allclose(
        solution.decision_function(grid), -grid[:, 0] * grid[:, 1], atol=1e-6
    )
    assert qpsvm.certify(problem, solution).primal_objective == pytest.approx(0.25, abs=1e-8)


# --- two clouds -----------------------------------------------------------------------------------


@EVERY
@BOTH
def test_two_clouds_hard_margin(form, backend):
    X, y = clouds()
    solution = qpsvm.solve(getattr(HardMargin(), form)(X, y), backend)
    np.testing.assert_allclose(solution.coef, [0.744272, 0.596109], atol=1e-5)
    assert solution.intercept == pytest.approx(-0.061770, abs=1e-5)
    assert solution.n_support == 3
    assert (solution.predict(X) == y).all()
    assert (y * solution.decision_function(X)).min() == pytest.approx(1.0, abs=1e-7)


def test_the_three_support_vectors_of_the_clouds_decide_alone():
    X, y = clouds()
    solution = qpsvm.solve(HardMargin().dual(X, y), eps=TIGHT)
    support = solution.support
    # the hyperplane through the margin of exactly these points: three equations in (w, b)
    equations = np.column_stack([X[support], np.ones(3)])
    *w, b = np.linalg.solve(equations, y[support])
    np.testing.assert_allclose(solution.coef, w, atol=1e-7)
    assert solution.intercept == pytest.approx(b, abs=1e-7)


# --- iris -----------------------------------------------------------------------------------------


@EVERY
@BOTH
def test_iris_petals(form, backend):
    X, y = load_iris(return_X_y=True)
    X, y = StandardScaler().fit_transform(X[y < 2][:, 2:]), y[y < 2]
    solution = qpsvm.solve(getattr(SoftMargin(C=5.0), form)(X, y), backend)
    theirs = SVC(kernel="linear", C=5.0, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(solution.coef, theirs.coef_[0], atol=2e-5)
    assert solution.intercept == pytest.approx(theirs.intercept_[0], abs=2e-5)
    assert solution.score(X, y) == 1.0


# --- moons ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["cvxopt", "osqp", "cvxpy"])
@pytest.mark.parametrize(
    ("kernel", "options"),
    [
        (kernels.Polynomial(degree=3, coef0=1.0), {"kernel": "poly", "degree": 3, "coef0": 1.0}),
        (kernels.RBF(gamma=2.0), {"kernel": "rbf", "gamma": 2.0}),
    ],
    ids=["polynomial", "rbf"],
)
def test_moons(kernel, options, backend):
    X, y = make_moons(100, noise=0.15, random_state=42)
    solution = qpsvm.solve(SoftMargin(C=10.0).dual(X, y, kernel=kernel), backend)
    theirs = SVC(C=10.0, tol=1e-10, **options).fit(X, y)
    grid = np.random.default_rng(0).uniform(-1.5, 2.5, size=(200, 2))
    expected = theirs.decision_function(grid)
    np.testing.assert_allclose(
        solution.decision_function(grid), expected, atol=FLOAT32_CACHE * np.abs(expected).max()
    )
    assert solution.score(X, y) == theirs.score(X, y) >= 0.97


# --- no hard margin -------------------------------------------------------------------------------


def assert_proof(error, X, y):
    """The weights are those of one point in both convex hulls."""
    weights, positive = error.weights, y == 1
    assert (weights >= 0).all()
    assert weights[positive].sum() == pytest.approx(1.0)
    assert weights[~positive].sum() == pytest.approx(1.0)
    one = weights[positive] @ X[positive]
    other = weights[~positive] @ X[~positive]
    np.testing.assert_allclose(one, other, atol=1e-6)
    np.testing.assert_allclose(error.common_point, one, atol=1e-6)
    assert error.distance == pytest.approx(np.linalg.norm(one - other), abs=1e-6)
    assert isinstance(error, InfeasibleProgramError)
    assert "SoftMargin" in str(error)
    assert "cannot be separated" in str(error)


@grid("intercept, form, backend", product(["free", "penalized"], ["primal", "dual"], BACKENDS))
def test_overlapping_classes_raise_with_a_point_of_both_hulls(intercept, form, backend):
    rng = np.random.default_rng(1)
    y = np.repeat([-1, 1], 15)
    X = rng.normal(size=(30, 2)) + 0.3 * y[:, None]
    with pytest.raises(NotSeparableError) as caught:
        qpsvm.solve(getattr(HardMargin(intercept), form)(X, y), backend)
    assert_proof(caught.value, X, y)


@pytest.mark.parametrize("scale", [1e-4, 1e-7])
def test_separable_classes_are_never_proved_inseparable_however_small(scale):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ToleranceNotReachedWarning)
        qpsvm.solve(HardMargin().dual([[0.0], [scale]], [-1, 1]), "osqp")


@BOTH
def test_the_same_point_in_both_classes_is_its_own_proof(form):
    X, y = np.array([[0.0, 1.0], [5.0, 5.0], [0.0, 1.0]]), np.array([-1, -1, 1])
    with pytest.raises(NotSeparableError) as caught:
        qpsvm.solve(getattr(HardMargin(), form)(X, y))
    assert_proof(caught.value, X, y)
    np.testing.assert_allclose(caught.value.common_point, [0.0, 1.0], atol=1e-6)


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_a_kernel_without_enough_features_raises_without_a_point(form):
    X, y = np.array([[-1.0], [0.0], [1.0]]), np.array([1, -1, 1])
    with pytest.raises(NotSeparableError) as caught:
        qpsvm.solve(getattr(HardMargin(), form)(X, y, kernel=kernels.Polynomial(1.0, 1)))
    error = caught.value
    assert error.common_point is None
    assert error.weights == pytest.approx([0.5, 1.0, 0.5], abs=1e-6)
    assert error.distance == pytest.approx(0.0, abs=1e-6)


def test_without_an_intercept_the_origin_must_be_on_one_side():
    # separable with an intercept, not without: both points on the same ray
    X, y = [[1.0], [2.0]], [-1, 1]
    assert qpsvm.solve(HardMargin().dual(X, y)).coef == pytest.approx([2.0])
    with pytest.raises(NotSeparableError, match="origin") as caught:
        qpsvm.solve(HardMargin("none").dual(X, y))
    weights = caught.value.weights
    assert weights.sum() == pytest.approx(1.0)
    assert -weights[0] * 1.0 + weights[1] * 2.0 == pytest.approx(0.0, abs=1e-7)


def test_overlapping_clouds_have_a_soft_margin():
    rng = np.random.default_rng(1)
    y = np.repeat([-1, 1], 15)
    X = rng.normal(size=(30, 2)) + 0.3 * y[:, None]
    solutions = [qpsvm.solve(SoftMargin(1.0).dual(X, y), backend) for backend in BACKENDS]
    for solution in solutions[1:]:
        np.testing.assert_allclose(
            solution.decision_function(X), solutions[0].decision_function(X), atol=SAME_DECISION
        )
