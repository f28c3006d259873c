"""What a float32 kernel explains of a gap, and the figures that made the audit worth writing."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import datasets, metrics
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM

import qpsvm
from qpsvm.audits import Arrays, KernelRounding, Library
from tests.audit.peers import cancer, diabetes, flowers
from tests.tolerances import AUDITED_GAP

# what LIBSVM leaves of breast cancer, standardised, RBF with gamma="scale": (C, tol) -> gap
TABLE = {
    (1.0, 1e-3): 9.7e-5,
    (1.0, 1e-6): 7.5e-8,
    (1.0, 1e-10): 1.7e-8,
    (100.0, 1e-3): 1.4e-3,
    (100.0, 1e-6): 1.5e-5,
    (100.0, 1e-10): 1.5e-5,
    (1e4, 1e-3): 1.4e-1,
    (1e4, 1e-6): 1.3e-3,
    (1e4, 1e-10): 1.3e-3,
}


@pytest.mark.parametrize(("C", "tol"), TABLE)
def test_the_gap_of_libsvm_and_what_explains_it(C, tol):
    X, y = datasets.load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    found = qpsvm.audit(SVC(C=C, tol=tol).fit(X, y), X, y)
    assert not found.passed
    assert found.relative_gap == pytest.approx(TABLE[C, tol], rel=0.1)
    machine = found.machines[0]
    if tol == 1e-3:
        assert machine.rounding.share < 0.02
        assert "LIBSVM ended at its stopping tolerance of 0.001; float32 kernel" in found.verdict
    if tol == 1e-10:
        assert machine.rounding.share > 0.98
        assert "LIBSVM's float32 kernel cache explains the gap" in found.verdict
    if (C, tol) == (1e4, 1e-3):
        assert "the objective exceeds the optimum by 17%" in found.verdict


@pytest.mark.parametrize(
    "model",
    [SVC(C=5.0), NuSVC(nu=0.3), SVR(C=2.0), OneClassSVM(nu=0.3)],
    ids=lambda model: type(model).__name__,
)
def test_the_rounded_gap_is_that_of_the_program_with_the_rounded_kernel(model):
    X, y = flowers() if isinstance(model, OneClassSVM) else cancer(100)
    if isinstance(model, SVR):
        X, y = diabetes(80)
    K = metrics.pairwise.laplacian_kernel(X)  # far from singular: it stays one when rounded
    model.set_params(kernel="precomputed", tol=1e-5).fit(K, y)
    machine = qpsvm.audit(model, K, y, optimum=False).machines[0]
    rounded = K.astype(np.float32).astype(np.float64)
    same = Arrays(
        machine.problem.formulation,
        alpha=machine.solution.alpha,
        intercept=machine.solution.intercept,
        kernel="precomputed",
        width=machine.solution.width,
    )
    gap = qpsvm.audit(same, rounded, y, optimum=False).machines[0].certificate.gap
    size = abs(machine.certificate.primal_objective)
    assert machine.rounding.rounded_gap == pytest.approx(gap, rel=1e-6, abs=1e-13 * size)
    assert machine.rounding.rounded_gap != machine.rounding.gap


def test_a_kernel_that_float32_holds_explains_nothing():
    X = np.random.default_rng(0).integers(-8, 9, size=(60, 3)).astype(float)
    y = (X @ [1.0, 2.0, -1.0] + np.arange(60) % 5 > 1.0).astype(int)
    found = qpsvm.audit(SVC(kernel="linear", tol=0.1).fit(X, y), X, y)
    rounding = found.machines[0].rounding
    assert rounding.rounded_gap == pytest.approx(rounding.gap, rel=AUDITED_GAP)
    assert rounding.share < AUDITED_GAP


@pytest.mark.parametrize("offset", [1e4, 1e5, 1e6])
def test_a_rounded_kernel_may_be_indefinite(offset):
    # so far from the origin float32 leaves nothing of an inner product's differences, and LIBSVM is
    # at an exact KKT point of what it saw
    X, y = cancer(60)
    s = np.where(y == "benign", -1.0, 1.0)
    X = X[:, :4] + offset
    model = SVC(kernel="linear", C=0.1).fit(X, s)
    found = qpsvm.audit(model, X, s, optimum=False)
    K = (X @ X.T).astype(np.float32).astype(np.float64)
    beta = np.zeros(60)
    beta[model.support_] = model.dual_coef_[0]
    square = beta @ K @ beta
    assert square < 0.0
    primal = 0.5 * square + 0.1 * np.maximum(0.0, 1.0 - s * (K @ beta + model.intercept_)).sum()
    gap = primal - (np.abs(beta).sum() - 0.5 * square)
    rounding = found.machines[0].rounding
    assert rounding.rounded_gap == pytest.approx(gap, abs=1e-3 * rounding.gap)
    assert rounding.share > 0.99
    assert "float32 kernel cache explains the gap" in found.verdict


def test_the_share_is_a_share():
    assert KernelRounding(1.0, 0.25).share == 0.75
    assert KernelRounding(1.0, 2.0).share == 0.0
    assert KernelRounding(1.0, -0.1).share == 1.0
    assert KernelRounding(float("nan"), 0.1).share == 0.0
    assert KernelRounding(1.0, float("nan")).share == 0.0
    assert KernelRounding(0.0, 0.1).share == 0.0


def test_other_libraries_have_no_float32_cache_to_blame():
    X, y = cancer(100)
    model = SVC(gamma=0.05).fit(X, y)
    machine = qpsvm.audit(model, X, y, optimum=False).machines[0]
    for float32 in (False, True):
        same = Arrays(
            machine.problem.formulation,
            alpha=machine.solution.alpha,
            intercept=machine.solution.intercept,
            kernel=machine.problem.kernel,
            library=Library("Own", "step 7", float32_kernel=float32),
        )
        found = qpsvm.audit(same, X, y)
        assert (found.machines[0].rounding is not None) == float32
        reason = "Own ended at its step 7" + "; float32 kernel values account" * float32
        assert reason in found.verdict


def altered_C(model):
    return model.set_params(C=4.0)


def halved(model):
    model._dual_coef_, model.dual_coef_ = 0.5 * model._dual_coef_, 0.5 * model.dual_coef_
    return model


@pytest.mark.parametrize("alter", [altered_C, halved])
def test_a_tolerance_is_not_blamed_for_a_gap_that_it_cannot_leave(alter):
    X, y = cancer(100)
    model = SVC(C=2.0, tol=1e-8).fit(X, y)
    assert "fitted to other" not in qpsvm.audit(model, X, y, eps=1e-12).verdict
    found = qpsvm.audit(alter(model), X, y)
    assert "leaves a gap of at most" in found.verdict
    assert "the model was fitted to other data, weights or parameters" in found.verdict


def test_forgotten_weights_are_not_blamed_on_the_tolerance():
    X, y = cancer(100)
    weights = np.random.default_rng(0).uniform(0.5, 1.0, len(y))
    model = SVC(C=2.0, tol=1e-8).fit(X, y, sample_weight=weights)
    assert "fitted to other data, weights" in qpsvm.audit(model, X, y).verdict
    own = qpsvm.audit(model, X, y, sample_weight=weights, eps=1e-12).verdict
    assert "fitted to other" not in own


def test_a_large_kernel_is_evaluated_once_and_never_stored(monkeypatch):
    monkeypatch.setattr("qpsvm.qp.sample_gram.KEPT_BYTES", 0)
    evaluated = []
    plain = qpsvm.kernels.RBF.__call__

    def counted(self, X, Z):
        evaluated.append(len(X) * len(Z))
        return plain(self, X, Z)

    X, y = cancer(400)
    for model in (SVC(gamma=0.05), NuSVC(nu=0.3, gamma=0.05)):
        model.fit(X, y)
        evaluated.clear()
        monkeypatch.setattr(qpsvm.kernels.RBF, "__call__", counted)
        qpsvm.audit(model, X, y, optimum=False)
        monkeypatch.setattr(qpsvm.kernels.RBF, "__call__", plain)
        columns = len(model.support_)
        if isinstance(model, NuSVC):  # once per program, the mean of the samples
            columns += len(X)
        diagonal = len(X) * 256
        assert sum(evaluated) <= len(X) * columns + diagonal
