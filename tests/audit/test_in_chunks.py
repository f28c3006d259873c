"""Audits of kernel machines on samples in chunks: what an audit in memory finds."""

import copy

import dask
import numpy as np
import pytest
from sklearn import svm

import qpsvm
from qpsvm.audits.in_chunks import audit_in_chunks
from qpsvm.chunked import chunked
from qpsvm.estimators import SVC
from qpsvm.exceptions import AuditRefusedError

N = 240


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(7)
    X = rng.standard_normal((N, 3))
    return X, X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(N), rng.integers(0, 3, N)


@pytest.fixture(autouse=True)
def _threads():
    with dask.config.set(scheduler="threads"):
        yield


MODELS = [
    svm.SVC(C=10.0),
    svm.SVC(kernel="poly", degree=2, coef0=1.0, class_weight="balanced"),
    svm.SVC(kernel="linear", class_weight={True: 3.0}, C=0.1),
    svm.SVR(C=2.0, epsilon=0.2),
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{type(m).__name__} {m.kernel}")
def test_bounds_are_those_of_an_audit_in_memory(data, model, weighted):
    X, t, weights = data
    y = t if isinstance(model, svm.SVR) else t > 0.2
    weight = weights if weighted else None
    model = copy.deepcopy(model).fit(X, y, sample_weight=weight)
    ours = audit_in_chunks(model, chunked(X, y, weight, rows=50))
    problem = qpsvm.audit(model, X, y, sample_weight=weight, optimum=False)
    theirs = problem.machines[0].report.certificate
    scale = abs(theirs.primal_objective)
    # the intercept of an audit in memory is the best one, that of the model may be a little worse
    assert ours.certificate.primal_objective >= theirs.primal_objective - 1e-10 * scale
    assert ours.certificate.primal_objective == pytest.approx(theirs.primal_objective, rel=1e-3)
    assert ours.certificate.dual_objective == pytest.approx(theirs.dual_objective, rel=1e-9)
    assert ours.n_rows == np.count_nonzero(weights) if weighted else N
    assert ours.passed == (ours.certificate.relative_gap_upper <= 1e-8)


def test_an_exact_machine_passes_and_a_moved_one_does_not(data):
    X, t, _ = data
    y = t > 0.2
    model = SVC(C=3.0, eps=1e-10).fit(X, y)
    assert qpsvm.audit(model, chunked(X, y, rows=50)).passed
    sloppy = svm.SVC(C=3.0, tol=0.5).fit(X, y)
    found = qpsvm.audit(sloppy, chunked(X, y, rows=50))
    assert not found.passed
    assert "proven to a relative gap" in str(found)


def test_dual_variables_beyond_their_bounds_prove_nothing_too_good(data):
    """A model fitted with a larger C than it states: its bound stays below the optimum."""
    X, t, _ = data
    y = t > 0.2
    optimum = SVC(C=1.0, eps=1e-10).fit(X, y).certificate_.primal_objective
    model = svm.SVC(C=5.0, tol=1e-8).fit(X, y)
    model.C = 1.0
    found = audit_in_chunks(model, chunked(X, y, rows=50)).certificate
    assert found.dual_objective <= optimum * (1.0 + 1e-9)
    assert found.primal_objective >= optimum * (1.0 - 1e-9)


def test_other_samples_are_refused(data):
    X, t, _ = data
    y = t > 0.2
    model = svm.SVC().fit(X, y)
    with pytest.raises(AuditRefusedError, match="differs from the support vector"):
        audit_in_chunks(model, chunked(X[::-1].copy(), y, rows=50))
    with pytest.raises(AuditRefusedError, match="have 100 samples"):
        audit_in_chunks(model, chunked(X[:100], y[:100], rows=50))
    with pytest.raises(AuditRefusedError, match="classes"):
        audit_in_chunks(svm.SVC().fit(X, np.arange(N) % 3), chunked(X, np.arange(N) % 3, rows=50))
    with pytest.raises(AuditRefusedError, match="cannot be audited"):  # it has another program
        audit_in_chunks(svm.NuSVR().fit(X, t), chunked(X, t, rows=50))
    with pytest.raises(AuditRefusedError, match="indefinite"):
        audit_in_chunks(svm.SVC(kernel="sigmoid").fit(X, y), chunked(X, y, rows=50))
    with pytest.raises(AuditRefusedError, match="cannot be audited"):
        audit_in_chunks(svm.LinearSVC().fit(X, y), chunked(X, y, rows=50))
