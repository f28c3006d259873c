"""Agreement with LIBLINEAR (through scikit-learn): a penalised intercept, factor 1 everywhere."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import LinearSVC, LinearSVR

import qpsvm
from qpsvm import EpsilonRegression, Ranking, SoftMargin
from tests.reference.bundled import bundled
from tests.reference.peers import diabetes, unequal
from tests.tolerances import DESCENT, DESCENT_OBJECTIVE

BOTH = pytest.mark.parametrize("form", ["primal", "dual"])
WEIGHTS = pytest.mark.parametrize("weighted", [False, True], ids=["even", "weighted"])
STOP = {"tol": 1e-10, "max_iter": 100_000, "random_state": 0}
C = 0.05  # where coordinate descent converges
EPSILON = 0.3


def hinge(v):
    return np.maximum(v, 0.0)


def squared_hinge(v):
    return np.maximum(v, 0.0) ** 2


LOSSES = {"hinge": hinge, "squared_hinge": squared_hinge}


def assert_same(problem, form, model, objective):
    """Weights, intercept and objective; ``objective`` is LIBLINEAR's, written out here."""
    # weights are as good as the root of the gap
    backend = "cvxpy:CLARABEL" if form == "primal" else "auto"
    ours = qpsvm.solve(problem, backend, eps=DESCENT**2, strict=True)
    theirs = np.append(np.ravel(model.coef_), np.ravel(model.intercept_))
    np.testing.assert_allclose(np.append(ours.coef, ours.intercept), theirs, atol=DESCENT)
    mine = qpsvm.certify(problem, ours)
    assert objective(ours.coef, ours.intercept) == pytest.approx(mine.primal_objective, rel=1e-12)
    reached = objective(theirs[:-1], theirs[-1])
    assert mine.primal_objective <= reached + mine.gap + 1e-12
    assert reached == pytest.approx(mine.primal_objective, rel=DESCENT_OBJECTIVE)


@BOTH
@WEIGHTS
@pytest.mark.parametrize("class_weight", [None, {1: 1.0, 2: 3.0}, "balanced"], ids=str)
@pytest.mark.parametrize("loss", LOSSES)
def test_linear_svc(loss, class_weight, weighted, form):
    X, y = bundled("wine 1-2")
    weights = unequal(len(X)) if weighted else np.ones(len(X))
    model = LinearSVC(C=C, loss=loss, class_weight=class_weight, dual=True, **STOP)
    model.fit(X, y, sample_weight=weights)
    formulation = SoftMargin(C, intercept="penalized", loss=loss, class_weight=class_weight)
    problem = getattr(formulation, form)(X, y, sample_weight=weights)
    factors = (1.0, 1.0 if class_weight is None else 3.0)
    if class_weight == "balanced":  # LIBLINEAR's wrapper adds up the weights, as we do
        sums = [weights[y == label].sum() for label in (1, 2)]
        factors = [sum(sums) / (2 * s) for s in sums]
    price = C * weights * np.where(y == 1, *factors)
    signs = np.where(y == 1, -1.0, 1.0)

    def objective(w, b):
        return 0.5 * (w @ w + b * b) + price @ LOSSES[loss](1 - signs * (X @ w + b))

    assert_same(problem, form, model, objective)


@BOTH
@WEIGHTS
@pytest.mark.parametrize("squared", [False, True], ids=["plain", "squared"])
def test_linear_svr(squared, weighted, form):
    X, t = diabetes()
    t = t + 1.0  # so that the penalty of the intercept shows
    loss = "squared_epsilon_insensitive" if squared else "epsilon_insensitive"
    weights = unequal(len(X)) if weighted else np.ones(len(X))
    model = LinearSVR(C=C, epsilon=EPSILON, loss=loss, dual=True, **STOP)
    model.fit(X, t, sample_weight=weights)
    formulation = EpsilonRegression(C, EPSILON, intercept="penalized", loss=loss)
    problem = getattr(formulation, form)(X, t, sample_weight=weights)

    def objective(w, b):
        beyond = hinge(np.abs(t - X @ w - b) - EPSILON)
        return 0.5 * (w @ w + b * b) + C * weights @ (beyond**2 if squared else beyond)

    assert_same(problem, form, model, objective)
    free = qpsvm.solve(EpsilonRegression(C, EPSILON, loss=loss).dual(X, t, sample_weight=weights))
    assert abs(free.intercept - model.intercept_[0]) > 100 * DESCENT  # it is another program


@BOTH
@pytest.mark.parametrize("loss", LOSSES)
def test_ranking_is_a_linear_svc_on_differences(loss, form):
    # Joachims (2002), section 4: one sample x_i - x_j for each pair to be ordered
    X, t = diabetes(40)
    groups = np.arange(40) % 3
    grades = np.digitize(t, [-0.7, 0.0, 0.7])
    better, worse = np.nonzero((grades[:, None] > grades) & (groups[:, None] == groups))
    differences = X[better] - X[worse]
    side = np.where(np.arange(len(differences)) % 2, 1.0, -1.0)  # either direction of a pair
    model = LinearSVC(C=C, loss=loss, fit_intercept=False, dual=True, **STOP)
    model.fit(side[:, None] * differences, side)
    problem = getattr(Ranking(C, loss=loss), form)(X, grades, groups=groups)

    def objective(w, b):
        assert b == 0.0
        return 0.5 * w @ w + C * np.sum(LOSSES[loss](1 - differences @ w))

    assert_same(problem, form, model, objective)
