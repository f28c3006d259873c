"""Agreement with LIBSVM (through scikit-learn), scaled as ``docs/formulations.md`` says."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC, NuSVC, OneClassSVM

import qpsvm
from qpsvm import NuClassification, OneClass, SoftMargin
from tests.reference.bundled import bundled
from tests.reference.peers import KERNELS, NU, PEERS, TOL, flowers, in_our_terms, unequal
from tests.tolerances import FLOAT32_CACHE, FLOAT32_GAP, SAME_DECISION

WEIGHTS = pytest.mark.parametrize("weighted", [False, True], ids=["even", "weighted"])


@WEIGHTS
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", PEERS)
def test_same_machine_and_never_a_worse_objective(name, kernel, weighted):
    peer = PEERS[name]
    weights = unequal(len(peer.data()[0])) if weighted else None
    problem, model, X, factor = peer.solved(*KERNELS[kernel], weights)
    ours = qpsvm.solve(problem, strict=True)

    mine = qpsvm.certify(problem, ours)
    theirs = qpsvm.certify(problem, in_our_terms(problem, ours, model, factor))
    assert mine.relative_gap < 1e-8
    allowed = mine.gap + 1e-12 * abs(mine.primal_objective)
    assert mine.primal_objective <= theirs.primal_objective + allowed
    assert mine.dual_objective >= theirs.dual_objective - allowed
    assert theirs.relative_gap < FLOAT32_GAP

    expected = model.predict(X) if name.endswith("R") else model.decision_function(X)
    np.testing.assert_allclose(
        factor * ours.decision_function(X), expected, atol=FLOAT32_CACHE * np.abs(expected).max()
    )


@pytest.mark.parametrize("name", PEERS)
def test_the_weights_of_samples_matter(name):
    peer = PEERS[name]
    X, _ = peer.data()
    plain, weighted = (
        qpsvm.solve(peer.solved(*KERNELS["rbf"], weights)[0]) for weights in (None, unequal(len(X)))
    )
    change = weighted.decision_function(X) - plain.decision_function(X)
    assert np.abs(change).max() > 10 * FLOAT32_CACHE * np.abs(plain.decision_function(X)).max()


@WEIGHTS
@pytest.mark.parametrize("class_weight", [{1: 1.0, 2: 3.0}, "balanced"], ids=["dict", "balanced"])
def test_class_weights_are_those_of_svc(class_weight, weighted):
    X, y = bundled("iris 1-2")
    X, y = X[:80], y[:80]  # 50 and 30
    weights = unequal(80) if weighted else None
    model = SVC(C=2.0, tol=TOL, class_weight=class_weight).fit(X, y, sample_weight=weights)
    if weighted and class_weight == "balanced":
        # SVC counts rows, LinearSVC and ours add up their weights
        class_weight = {1: 80 / (2 * 50), 2: 80 / (2 * 30)}
    problem = SoftMargin(2.0, class_weight=class_weight).dual(
        X, y, kernel="rbf", sample_weight=weights
    )
    expected = model.decision_function(X)
    np.testing.assert_allclose(
        qpsvm.solve(problem).decision_function(X),
        expected,
        atol=FLOAT32_CACHE * np.abs(expected).max(),
    )


def test_class_weights_of_nu_svc_do_nothing_and_ours_do():
    X, y = bundled("iris 1-2")
    heavier = {1: 1.0, 2: 3.0}
    models = [NuSVC(nu=NU, tol=TOL, class_weight=c).fit(X, y) for c in (None, heavier)]
    values = [model.decision_function(X) for model in models]
    np.testing.assert_array_equal(*values)
    # the same weights given to the samples do something in both, apart from the scale of nu
    weights = np.where(y == 2, 3.0, 1.0)
    total = float(np.sum(weights))
    model = NuSVC(nu=NU, tol=TOL).fit(X, y, sample_weight=weights)
    nu = NU * total / len(X)
    ours = qpsvm.solve(
        NuClassification(nu, class_weight=heavier).dual(X, y, kernel="rbf"), strict=True
    )
    expected = model.decision_function(X)
    assert np.abs(expected - values[0]).max() > 0.1
    np.testing.assert_allclose(
        ours.decision_function(X) / ours.width,
        expected,
        atol=FLOAT32_CACHE * np.abs(expected).max(),
    )


@pytest.mark.parametrize("nu", [0.05, 0.5, 0.9])
def test_scale_of_the_one_class_machine(nu):
    X, _ = flowers()
    model = OneClassSVM(nu=nu, gamma=0.1, tol=TOL).fit(X)
    ours = qpsvm.solve(OneClass(nu).dual(X, kernel=qpsvm.kernels.RBF(0.1)))
    n = len(X)
    assert ours.alpha.sum() == pytest.approx(1.0)
    assert model.dual_coef_.sum() == pytest.approx(nu * n)
    assert model.intercept_[0] == pytest.approx(nu * n * ours.intercept, rel=FLOAT32_CACHE)
    assert -model.offset_[0] == pytest.approx(nu * n * ours.intercept, rel=FLOAT32_CACHE)
    outside = ours.decision_function(X) < -SAME_DECISION / n
    np.testing.assert_array_equal(model.decision_function(X)[outside] < 0, True)


def test_the_margin_of_nu_svc_is_at_one_and_ours_at_rho():
    X, y = bundled("iris 1-2")
    model = NuSVC(nu=NU, tol=TOL).fit(X, y)
    ours = qpsvm.solve(NuClassification(NU).dual(X, y, kernel="rbf"))
    alpha = np.abs(model.dual_coef_[0])
    edge = model.support_[(alpha > 1e-3 * alpha.max()) & (alpha < 0.999 * alpha.max())]
    assert len(edge) >= 2
    np.testing.assert_allclose(np.abs(model.decision_function(X[edge])), 1.0, atol=FLOAT32_CACHE)
    np.testing.assert_allclose(
        np.abs(ours.decision_function(X[edge])), ours.width, rtol=FLOAT32_CACHE
    )
    assert alpha.max() == pytest.approx(1 / (len(X) * ours.width), rel=FLOAT32_CACHE)
