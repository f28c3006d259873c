"""Squared losses: a linear solve in NumPy, and what scikit-learn calls ridge regression."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.metrics.pairwise import rbf_kernel

import qpsvm
from qpsvm import EpsilonRegression, LeastSquares, kernels
from tests.reference.bundled import bundled
from tests.reference.peers import diabetes, unequal
from tests.tolerances import LINEAR_SYSTEM, TIGHT

BOTH = pytest.mark.parametrize("form", ["primal", "dual"])
PRICES = pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
WEIGHTS = pytest.mark.parametrize("weighted", [False, True], ids=["even", "weighted"])
EPS = TIGHT
GAMMA = 0.05


def close(ours, expected):
    np.testing.assert_allclose(ours, expected, atol=LINEAR_SYSTEM * np.abs(expected).max())


def least_squares_regression(C, **options):
    """``1/2 w'w + C/2 sum e^2`` for numeric targets."""
    return EpsilonRegression(C / 2, 0.0, loss="squared_epsilon_insensitive", **options)


def suykens(K, targets, price, kind):
    """(beta, b) from the linear system of Suykens and Vandewalle (1999), with beta = s alpha."""
    n = len(K)
    system = K + np.diag(1 / price)
    if kind == "free":
        ones = np.ones((n, 1))
        system = np.block([[np.zeros((1, 1)), ones.T], [ones, system]])
        solution = np.linalg.solve(system, np.append(0.0, targets))
        return solution[1:], solution[0]
    beta = np.linalg.solve(system + (kind == "penalized"), targets)
    return beta, float(beta.sum()) if kind == "penalized" else 0.0


@BOTH
@PRICES
@WEIGHTS
@pytest.mark.parametrize("kind", ["free", "penalized", "none"])
@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_least_squares_is_one_linear_system(task, kind, weighted, C, form):
    X, y = bundled("iris 1-2") if task == "classes" else diabetes(50)
    X, y = X[::2], y[::2]
    weights = unequal(len(X)) if weighted else np.ones(len(X))
    if task == "classes":
        formulation = LeastSquares(C, intercept=kind)
        targets = np.where(y == y.max(), 1.0, -1.0)
    else:
        formulation, targets = least_squares_regression(C, intercept=kind), y
    K = rbf_kernel(X, gamma=GAMMA)
    beta, b = suykens(K, targets, C * weights, kind)
    problem = getattr(formulation, form)(X, y, kernel=kernels.RBF(GAMMA), sample_weight=weights)
    ours = qpsvm.solve(problem, eps=EPS, strict=True)
    close(ours.decision_function(X), K @ beta + b)
    assert ours.intercept == pytest.approx(b, abs=LINEAR_SYSTEM)
    if task == "classes":  # alpha_i = C_i e_i, and every sample is a support vector
        close(ours.alpha, targets * beta)
        close(ours.alpha, C * weights * (1 - targets * (K @ beta + b)))
        assert ours.n_support == len(X)


@BOTH
@PRICES
@WEIGHTS
def test_ridge_with_alpha_one_over_c(weighted, C, form):
    X, y = bundled("wine 0-1")
    signs = np.where(y == y.max(), 1.0, -1.0)
    weights = unequal(len(X)) if weighted else np.ones(len(X))
    ours = qpsvm.solve(getattr(LeastSquares(C), form)(X, y, sample_weight=weights), eps=EPS)
    for model, targets in ((RidgeClassifier(alpha=1 / C), y), (Ridge(alpha=1 / C), signs)):
        model.fit(X, targets, sample_weight=weights)
        close(ours.coef, np.ravel(model.coef_))
        assert ours.intercept == pytest.approx(
            float(np.ravel(model.intercept_)[0]), abs=LINEAR_SYSTEM
        )

    X, t = diabetes()
    weights = unequal(len(X)) if weighted else np.ones(len(X))
    problem = getattr(least_squares_regression(C), form)(X, t, sample_weight=weights)
    model = Ridge(alpha=1 / C).fit(X, t, sample_weight=weights)
    ours = qpsvm.solve(problem, eps=EPS)
    close(ours.coef, model.coef_)
    assert ours.intercept == pytest.approx(model.intercept_, abs=LINEAR_SYSTEM)


@PRICES
def test_kernel_ridge_has_no_intercept(C):
    X, t = diabetes()
    model = KernelRidge(alpha=1 / C, kernel="rbf", gamma=GAMMA).fit(X[:100], t[:100])
    formulation = least_squares_regression(C, intercept="none")
    ours = qpsvm.solve(formulation.dual(X[:100], t[:100], kernel=kernels.RBF(GAMMA)), eps=EPS)
    close(ours.expansion, model.dual_coef_)
    close(ours.decision_function(X[100:]), model.predict(X[100:]))


def test_a_high_price_gives_fishers_discriminant():
    # least squares on two labels is Fisher's direction (Bishop, PRML, section 4.1.5)
    X, y = bundled("wine 0-1")
    ours = qpsvm.solve(LeastSquares(1e6).primal(X, y), "cvxpy:CLARABEL")
    fisher = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y).coef_[0]
    cosine = ours.coef @ fisher / np.linalg.norm(ours.coef) / np.linalg.norm(fisher)
    assert cosine == pytest.approx(1.0, abs=1e-8)
