"""Agreement with scikit-learn on its bundled sets, and who is closer to the optimum."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC, LinearSVC

import qpsvm
from qpsvm import SoftMargin, kernels
from tests.reference.bundled import SETS, bundled
from tests.tolerances import FLOAT32_CACHE

KERNELS = {
    "linear": (kernels.Linear(), {"kernel": "linear"}),
    "rbf": (kernels.RBF(), {"kernel": "rbf"}),
    "polynomial": (kernels.Polynomial(coef0=1.0), {"kernel": "poly", "coef0": 1.0}),
}


def in_our_terms(problem, ours, model):
    """A fitted SVC as a solution of our problem: same data, its alpha, its intercept."""
    alpha = np.zeros(problem.data.n_samples)
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    expansion = problem.data.signs * alpha
    return ours.replace(
        alpha=alpha,
        expansion=expansion,
        coef=problem.model.coef(expansion),
        intercept=float(model.intercept_[0]),
    )


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize(("kernel", "options"), KERNELS.values(), ids=KERNELS.keys())
@pytest.mark.parametrize("name", SETS)
def test_same_decision_and_never_a_worse_objective(name, kernel, options, C):
    X, y = bundled(name)
    problem = SoftMargin(C).dual(X, y, kernel=kernel)
    ours = qpsvm.solve(problem, "cvxopt")
    model = SVC(C=C, tol=1e-10, **options).fit(X, y)

    mine = qpsvm.certify(problem, ours)
    theirs = qpsvm.certify(problem, in_our_terms(problem, ours, model))
    assert mine.relative_gap < 1e-8
    allowed = mine.gap + 1e-12 * mine.primal_objective
    assert mine.primal_objective <= theirs.primal_objective + allowed
    assert mine.dual_objective >= theirs.dual_objective - allowed
    assert theirs.relative_gap < 1e-3  # an SVC with tol=1e-10 is no random vector either

    expected = model.decision_function(X)
    np.testing.assert_allclose(
        ours.decision_function(X), expected, atol=FLOAT32_CACHE * np.abs(expected).max()
    )
    sure = np.abs(expected) > FLOAT32_CACHE
    np.testing.assert_array_equal(ours.predict(X)[sure], model.predict(X)[sure])


def test_same_decision_on_samples_never_seen():
    X, y = bundled("breast_cancer")
    ours = qpsvm.solve(SoftMargin(1.0).dual(X[::2], y[::2], kernel="rbf"), "cvxopt")
    model = SVC(C=1.0, tol=1e-10).fit(X[::2], y[::2])
    np.testing.assert_allclose(
        ours.decision_function(X[1::2]), model.decision_function(X[1::2]), atol=1e-5
    )
    np.testing.assert_array_equal(ours.predict(X[1::2]), model.predict(X[1::2]))


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("name", ["breast_cancer", "wine 0-1", "digits 3-8"])
def test_a_penalised_intercept_is_what_liblinear_solves(name, form):
    X, y = bundled(name)
    C = 0.01  # where its coordinate descent converges
    problem = getattr(SoftMargin(C, intercept="penalized"), form)(X, y)
    ours = qpsvm.solve(problem, "cvxpy:CLARABEL" if form == "primal" else "cvxopt")
    model = LinearSVC(loss="hinge", C=C, tol=1e-9, max_iter=100_000, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.coef, model.coef_[0], atol=1e-4)
    assert ours.intercept == pytest.approx(model.intercept_[0], abs=1e-4)
    mine = qpsvm.certify(problem, ours)
    other = ours.replace(coef=model.coef_[0], intercept=float(model.intercept_[0]))
    theirs = problem.model.primal_objective(problem.model.decision_values(other))
    assert mine.primal_objective <= theirs + mine.gap + 1e-12
    assert theirs == pytest.approx(mine.primal_objective, rel=1e-6)
    free = qpsvm.solve(SoftMargin(C).dual(X, y), "cvxopt")
    assert abs(free.intercept - ours.intercept) > 1e-3  # it is another program
