"""Models that contain fitted machines, and this package's own estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn import datasets, svm
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler, scale

import qpsvm
from qpsvm import estimators
from qpsvm.exceptions import AuditRefusedError
from tests.strategies import listed

X, y = datasets.load_breast_cancer(return_X_y=True)
X, y = scale(X)[:120, :6], y[:120]
IRIS, CODES = datasets.load_iris(return_X_y=True)
LABELS = np.array(["a", "b", "c"])[CODES]
SHARP = svm.SVC(tol=1e-9)
EPS = 1e-4
"""What float32 kernel values leave, with room."""


def calibrated(machine: Any, **options: Any) -> CalibratedClassifierCV:
    return CalibratedClassifierCV(machine, cv=3, **options)


WRAPPED = {
    "calibrated": (calibrated(SHARP), X, y, 3),
    "calibrated, one machine": (calibrated(SHARP, ensemble=False), X, y, 1),
    "calibrated pipeline": (calibrated(make_pipeline(StandardScaler(), SHARP)), X, y, 3),
    "pipeline of calibrated": (make_pipeline(StandardScaler(), calibrated(SHARP)), X, y, 3),
    "calibrated, three classes": (calibrated(SHARP), IRIS, LABELS, 9),
    "one against the rest": (OneVsRestClassifier(SHARP), IRIS, LABELS, 3),
    "one against the rest, two classes": (OneVsRestClassifier(SHARP), X, y, 1),
    "one against one": (OneVsOneClassifier(SHARP), IRIS, LABELS, 3),
    "search": (GridSearchCV(SHARP, {"C": [1.0, 3.0]}, cv=3), X, y, 1),
    "search of wrapped": (
        GridSearchCV(OneVsRestClassifier(SHARP), {"estimator__C": [1.0]}, cv=3),
        IRIS,
        LABELS,
        3,
    ),
    "own, calibrated": (estimators.SVC().calibrated(cv=3), IRIS, LABELS, 9),
}


@listed("name", WRAPPED, quick=2)
def test_every_machine_inside_is_audited_on_its_own_samples(name: str) -> None:
    model, samples, labels, n_machines = WRAPPED[name]
    found = qpsvm.audit(model.fit(samples, labels), samples, labels, eps=EPS)
    assert found.passed
    assert len(found.machines) == n_machines
    assert len({machine.name for machine in found.machines}) == n_machines
    assert type(model).__name__ in found.model
    assert found.own_predictions is None or found.own_predictions.passed
    for text in (str(found), found.to_json(), found.to_markdown()):
        assert found.verdict.split(":")[0] in text
    if n_machines > 1 and "search" not in name:
        assert any("combine" in remark for remark in found.remarks)


def test_predictions_by_probabilities_are_not_counted_as_those_of_the_machine() -> None:
    wrapped = CalibratedClassifierCV(svm.SVC(), ensemble=False, cv=3)
    for model in (wrapped, GridSearchCV(wrapped, {"cv": [3]}), make_pipeline(wrapped)):
        found = qpsvm.audit(model.fit(X, y), X, y)
        assert found.predictions is None
        assert "training predictions" not in found.verdict
        assert found.machines[0].predictions.n_same > 0
        assert any("probabilities was not" in remark for remark in found.remarks)


def lying(kind: type[Any]) -> type[Any]:
    """A wrapper whose ``predict`` says the opposite of what its machine does."""

    def predict(self: Any, samples: Any) -> Any:
        return 1 - super(own, self).predict(samples)

    own = type(f"Lying{kind.__name__}", (kind,), {"predict": predict})
    return own


@pytest.mark.parametrize(
    "model",
    [
        lying(GridSearchCV)(svm.SVC(), {"C": [1.0]}),
        lying(OneVsRestClassifier)(svm.SVC()),
        lying(OneVsOneClassifier)(svm.SVC()),
        lying(Pipeline)([("scale", StandardScaler()), ("search", GridSearchCV(svm.SVC(), {}))]),
    ],
    ids=lambda model: type(model).__name__,
)
def test_predictions_of_a_wrapper_that_says_something_else_are_not_counted(model: Any) -> None:
    found = qpsvm.audit(model.fit(X, y), X, y)
    assert found.predictions is None
    assert "training predictions" not in found.verdict
    assert any(f"something else for {len(y)} of {len(y)}" in remark for remark in found.remarks)
    honest = type(model).__mro__[1].predict
    assert np.array_equal(honest(model, X), 1 - model.predict(X))


def test_predictions_of_an_honest_wrapper_are_counted() -> None:
    names = np.array(["no", "yes"])[y]
    for model in (
        GridSearchCV(svm.SVC(), {"C": [1.0]}),
        OneVsRestClassifier(svm.SVC()),
        OneVsOneClassifier(svm.SVC()),
        make_pipeline(StandardScaler(), OneVsRestClassifier(svm.SVC())),
    ):
        found = qpsvm.audit(model.fit(X, names), X, names)
        assert found.predictions is not None
        assert found.remarks == ()
    search = GridSearchCV(svm.SVR(), {"C": [1.0]}).fit(X, X[:, 0])
    assert qpsvm.audit(search, X, X[:, 0]).predictions is not None


def test_a_rough_machine_inside_is_found() -> None:
    rough = svm.SVC(C=1e3, tol=1e-3)
    for model in (calibrated(rough), OneVsRestClassifier(rough)):
        found = qpsvm.audit(model.fit(X, y), X, y, eps=1e-8)
        assert not found.passed
        assert found.relative_gap > 1e-8


def test_a_changed_machine_inside_is_found() -> None:
    model = calibrated(svm.SVC(kernel="linear", tol=1e-9)).fit(X, y)
    inside = model.calibrated_classifiers_[1].estimator
    inside._intercept_ = inside._intercept_ + 0.5
    with pytest.raises(AuditRefusedError, match=r"without fold 1 of the .* changed after the fit"):
        qpsvm.audit(model, X, y, eps=EPS)


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (calibrated(SHARP), "calibrated_classifiers_.*pass a fitted one"),
        (
            CalibratedClassifierCV(SHARP, cv=StratifiedKFold(3, shuffle=True)).fit(X, y),
            "without fold 0 of the CalibratedClassifierCV.*random_state",
        ),
        (calibrated(svm.SVC()).set_params(cv=4), "calibrated_classifiers_"),
        (estimators.SVC(), "not fitted"),
        (calibrated(FrozenEstimator(SHARP)), "calibrated_classifiers_"),
    ],
    ids=["not fitted", "shuffled", "other folds", "own, not fitted", "frozen, not fitted"],
)
def test_what_cannot_be_split_again_is_refused(model: Any, match: str) -> None:
    with pytest.raises(AuditRefusedError, match=match):
        qpsvm.audit(model, X, y)


def test_other_data_are_refused_with_the_part() -> None:
    model = calibrated(SHARP).fit(X, y)
    with pytest.raises(AuditRefusedError, match="without fold 0 of the CalibratedClassifierCV"):
        qpsvm.audit(model, X[::-1], y[::-1])
    with pytest.raises(AuditRefusedError, match="3 machines, and cv splits into 5"):
        qpsvm.audit(model.set_params(cv=5), X, y)


def test_a_frozen_estimator_is_audited_on_the_data_of_its_fit() -> None:
    frozen = FrozenEstimator(estimators.SVC().fit(X[:60], y[:60]))
    model = CalibratedClassifierCV(frozen).fit(X[60:], y[60:])
    assert qpsvm.audit(model, X[:60], y[:60]).passed
    with pytest.raises(AuditRefusedError):
        qpsvm.audit(model, X[60:], y[60:])


# --- this package's own estimators ----------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in estimators.__all__ if n != "SVMRanker"])
def test_own_estimators_are_audited(name: str) -> None:
    kind: Any = getattr(estimators, name)
    machine = kind(**({"nu": 0.3} if "nu" in kind().get_params() else {}))
    labels = X[:, 0] if "SVR" in name else LABELS
    samples = X if "SVR" in name else IRIS
    machine.fit(samples, labels)
    found = qpsvm.audit(machine, samples, labels)
    assert found.passed
    assert found.model.startswith(name)
    assert found.library.name == "qpsvm"
    inside = qpsvm.audit(make_pipeline(machine), samples, labels)
    assert inside.relative_gap == found.relative_gap
    with pytest.raises(AuditRefusedError, match="cannot be audited"):
        qpsvm.audit(machine, samples[::-1], labels)


def test_an_own_estimator_that_was_changed_is_refused() -> None:
    class Other(estimators.SVC):
        def predict(self, X: Any) -> Any:
            return 1 - super().predict(X)

    with pytest.raises(AuditRefusedError, match="predicts something else"):
        qpsvm.audit(Other().fit(X, y), X, y)
    weights = np.arange(1.0, len(y) + 1.0)
    machine = estimators.SVC().fit(X, y, weights)
    assert qpsvm.audit(machine, X, y, sample_weight=weights).passed
    with pytest.raises(AuditRefusedError, match="other sample weights"):
        qpsvm.audit(machine, X, y, sample_weight=weights + 1.0)
    ranker = estimators.SVMRanker().fit(X, y)
    with pytest.raises(AuditRefusedError, match=r"qpsvm\.verify\(model\.problem_"):
        qpsvm.audit(ranker, X, y)
    own = estimators.SVC(kernel=lambda a, b: a @ b.T).fit(X, y)
    with pytest.raises(AuditRefusedError, match=r"qpsvm\.verify\(model\.problem_"):
        qpsvm.audit(own, X, y)
