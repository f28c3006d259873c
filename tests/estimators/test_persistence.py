"""A loaded estimator is the fitted one: its parameters, its attributes, its predictions."""

from __future__ import annotations

import copy
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import qpsvm
from qpsvm.estimators import SVC, SVDD, SVR, LinearSVC
from qpsvm.exceptions import ModelFileError
from tests.estimators.saved_cases import ALL, CODES, IRIS, NAMED, TWO, Case
from tests.models.sealing import change_metadata
from tests.strategies import grid

ATTRIBUTES = (
    "support_",
    "support_vectors_",
    "dual_coef_",
    "coef_",
    "intercept_",
    "classes_",
    "class_weight_",
    "n_features_in_",
    "feature_names_in_",
    "n_iter_",
    "n_support_",
    "offset_",
    "radius_",
    "epsilon_",
)


def loaded(estimator: Any, path: Path) -> Any:
    estimator.save(path)
    assert os.listdir(path.parent) == [path.name]
    return qpsvm.load(path)


def require_same(one: Any, other: Any, case: Case) -> None:
    assert type(one) is type(other)
    assert repr(one) == repr(other)
    for name in ATTRIBUTES:
        assert hasattr(one, name) == hasattr(other, name), name
        if hasattr(one, name):
            mine, theirs = getattr(one, name), getattr(other, name)
            assert type(mine) is type(theirs), name
            if sp.issparse(mine):
                assert abs(mine - theirs).max() == 0.0
            else:
                assert np.array_equal(mine, theirs), name
    for method in ("predict", "decision_function", "score_samples"):
        if hasattr(one, method):
            assert np.array_equal(getattr(one, method)(case.new), getattr(other, method)(case.new))
    more = {"groups": case.fit["groups"]} if "groups" in case.fit else {}
    if hasattr(one, "score"):
        assert one.score(case.X, case.y, **more) == other.score(case.X, case.y, **more)


@grid("kernel, name", list(ALL))
def test_round_trips(kernel: str, name: str, tmp_path: Path) -> None:
    case = ALL[kernel, name]
    fitted = case.fitted()
    again = loaded(fitted, tmp_path / "m.npz")
    require_same(fitted, again, case)
    require_same(fitted, loaded(again, tmp_path / "m.npz"), case)
    for attribute in ("problem_", "solution_", "certificate_", "fit_status_"):
        with pytest.raises(AttributeError, match=r"loaded from a file.*estimator\.restore\(X, y\)"):
            getattr(again, attribute)
    more = {"groups": case.fit["groups"]} if "groups" in case.fit else {}
    again.restore(case.X, case.y, **more)
    require_same(fitted, again, case)
    assert again.fit_status_ == fitted.fit_status_
    gap = fitted.certificate_.relative_gap
    assert again.certificate_.relative_gap == pytest.approx(gap, abs=1e-9)
    assert np.array_equal(again.solution_.predict(case.X), fitted.solution_.predict(case.X))
    assert again.report().passed == fitted.report().passed


@pytest.mark.parametrize("name", ["SVC ovo", "SVC two", "SVR", "OneClassSVM"])
def test_pickles_and_copies_keep_the_proof(name: str) -> None:
    case = ALL["rbf", name]
    fitted = case.fitted()
    for again in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted), copy.copy(fitted)):
        require_same(fitted, again, case)
        gap = fitted.certificate_.relative_gap
        assert again.certificate_.relative_gap == pytest.approx(gap, abs=1e-9)
    unfitted = pickle.loads(pickle.dumps(clone(fitted)))
    assert repr(unfitted) == repr(fitted)
    with pytest.raises(NotFittedError):
        unfitted.predict(case.X)


def test_a_loaded_estimator_can_be_fitted_again(tmp_path: Path) -> None:
    fitted = SVC(warm_start=True).fit(IRIS, CODES)
    again = loaded(fitted, tmp_path / "m.npz").set_params(C=5.0).fit(IRIS, CODES)
    assert again.certificate_.relative_gap <= 1e-8
    assert np.array_equal(again.predict(IRIS), SVC(C=5.0).fit(IRIS, CODES).predict(IRIS))


def test_column_names_and_sparse_samples(tmp_path: Path) -> None:
    frame = pd.DataFrame(IRIS, columns=["p", "q", "r", "s"])
    again = loaded(LinearSVC().fit(frame, NAMED), tmp_path / "m.npz")
    assert again.feature_names_in_.tolist() == ["p", "q", "r", "s"]
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame[["s", "r", "q", "p"]])
    again.restore(frame, NAMED)
    samples = sp.csr_array(np.where(IRIS > 2.0, IRIS, 0.0))
    fitted = SVC().fit(samples, CODES)
    require_same(
        fitted, loaded(fitted, tmp_path / "m.npz"), Case(fitted, samples, CODES, samples, {})
    )


@pytest.mark.parametrize("labels", [[False, True], [-1.0, 1.0], ["no", "yes"]], ids=str)
def test_labels_keep_their_kind(labels: Any, tmp_path: Path) -> None:
    y = np.array(labels)[TWO]
    again = loaded(SVC().fit(IRIS, y), tmp_path / "m.npz")
    assert again.classes_.dtype == y.dtype
    assert again.predict(IRIS).dtype == y.dtype


def test_a_model_of_a_formulation_is_a_saved_model(tmp_path: Path) -> None:
    problem = qpsvm.SoftMargin().dual(IRIS, TWO)
    qpsvm.models.save(tmp_path / "m.npz", problem, qpsvm.solve(problem))
    assert isinstance(qpsvm.load(tmp_path / "m.npz"), qpsvm.models.SavedModel)
    SVC().fit(IRIS, TWO).save(tmp_path / "e.npz")
    saved = qpsvm.models.load(tmp_path / "e.npz")
    assert saved.verify(IRIS, TWO).passed
    assert qpsvm.audit(tmp_path / "e.npz", IRIS, TWO).passed


# --- refusals ------------------------------------------------------------------------------------


def test_what_cannot_be_saved_says_why(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        SVC().save(tmp_path / "m.npz")
    function = SVC(kernel=lambda X, Z: np.asarray(X) @ np.asarray(Z).T).fit(IRIS, TWO)
    with pytest.raises(ModelFileError, match=r"kernel of SVC is .*code.*precomputed"):
        function.save(tmp_path / "m.npz")

    class Rows:
        def resolve(self, X: Any, names: Any = None, weights: Any = None) -> Any:
            return qpsvm.constraints.nonnegative(0).resolve(X, names, weights)

    own = LinearSVC(constraints=Rows()).fit(IRIS, TWO)
    with pytest.raises(ModelFileError, match=r"constraints of LinearSVC is .*Rows"):
        own.save(tmp_path / "m.npz")
    with pytest.raises(ModelFileError, match="choose another path"):
        SVC().fit(IRIS, TWO).save(tmp_path / "no" / "m.npz")
    assert os.listdir(tmp_path) == []


def test_other_training_data_are_refused(tmp_path: Path) -> None:
    again = loaded(SVR().fit(IRIS, CODES), tmp_path / "m.npz")
    with pytest.raises(ModelFileError, match="other values"):
        again.restore(IRIS + 1e-12, CODES)
    with pytest.raises(ModelFileError, match="30 samples"):
        again.restore(IRIS[1:], CODES[1:])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda e: e.update(name="print"), "'print' is unknown"),
        (lambda e: e.update(name="LinearSVR"), "not those of LinearSVR"),
        (lambda e: e.update(name="SVDD"), "not those of SVDD"),
        (lambda e: e["parameters"].update(wrong=1), "not those of SVC"),
        (lambda e: e["fitted"].update(wrong=1), "not those of SVC"),
        (lambda e: e["fitted"].pop("classes_"), "not those of SVC"),
        (lambda e: e["parameters"].update(kernel={"name": "x", "parameters": {}}), "unknown"),
        (lambda e: e.pop("fitted"), "NoneType"),
    ],
)
def test_forged_descriptions_are_refused(change: Any, words: str, tmp_path: Path) -> None:
    path = tmp_path / "m.npz"
    SVC().fit(IRIS, TWO).save(path)
    change_metadata(path, lambda data: change(data["estimator"]))
    with pytest.raises(ModelFileError, match=words):
        qpsvm.load(path)


def test_a_forged_machine_has_no_proof(tmp_path: Path) -> None:
    from tests.models.sealing import members, reseal

    path = tmp_path / "m.npz"
    SVDD().fit(IRIS).save(path)
    arrays = members(path)
    arrays["support_vectors"][0, 0] += 1.0
    reseal(path, arrays)
    with pytest.raises(ModelFileError, match="predicts with other numbers"):
        qpsvm.load(path).restore(IRIS)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # a gap beside 0
@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_a_machine_without_support_vectors(kernel: str, tmp_path: Path) -> None:
    X = IRIS @ IRIS.T if kernel == "precomputed" else IRIS
    fitted = SVR(kernel=kernel, epsilon=1.0).fit(X, 2.0 + 0.1 * np.sin(IRIS[:, 0]))
    assert not fitted.support_.size
    require_same(fitted, loaded(fitted, tmp_path / "m.npz"), Case(fitted, X, X[:, 0], X, {}))
