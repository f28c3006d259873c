"""What users of scikit-learn's machines pass, call and leave out works here, or says what to do."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn import datasets
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

import qpsvm
from qpsvm import estimators
from qpsvm.constraints import bounded, fairness_band, nonnegative
from qpsvm.estimators import SVC, SVR, LinearSVC, LinearSVR, NuSVR, OneClassSVM, SVMRanker
from qpsvm.estimators.ranking import share_in_order
from qpsvm.exceptions import (
    InvalidDataError,
    InvalidParameterError,
    SeveralMachinesWarning,
    TubeWidthWarning,
    UnknownParameterError,
)
from qpsvm.selection import SVCSearch, SVRSearch

ALL = [getattr(estimators, name) for name in estimators.__all__]
X, y = (
    scale(datasets.load_breast_cancer().data[:120, :5]),
    datasets.load_breast_cancer().target[:120],
)
IRIS = datasets.load_iris(return_X_y=True)


def of(kind: Any, **parameters: Any) -> Any:
    """An estimator that can be fitted to (X, y)."""
    return kind(**({"nu": 0.3} if "nu" in kind().get_params() else {}), **parameters)


# --- parameters -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_tol_is_another_name_of_eps(kind: Any) -> None:
    by_eps, by_tol = of(kind, eps=1e-3).fit(X, y), of(kind, tol=1e-3).fit(X, y)
    np.testing.assert_array_equal(by_tol.predict(X), by_eps.predict(X))
    assert by_tol.report().eps == by_eps.report().eps == 1e-3
    assert clone(by_tol).tol == 1e-3
    with pytest.raises(InvalidParameterError, match="two names of one parameter"):
        of(kind, tol=1e-3, eps=1e-6).fit(X, y)
    with pytest.raises(InvalidParameterError, match="tol is 0"):
        of(kind, tol=0).fit(X, y)


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_parameters_without_effect_change_no_bit(kind: Any) -> None:
    plain = of(kind).fit(X, y)
    more = {"cache_size": 500, "shrinking": False, "random_state": np.random.RandomState(0)}
    if "dual" in kind().get_params():
        more["dual"] = "auto"
    full = of(kind, **more).fit(X, y)
    np.testing.assert_array_equal(full.predict(X), plain.predict(X))
    np.testing.assert_array_equal(full.solution_.alpha, plain.solution_.alpha)


def test_what_has_no_effect_is_no_part_of_a_file(tmp_path: Any) -> None:
    machine = SVC(tol=1e-4, random_state=np.random.RandomState(0)).fit(X, y)
    machine.save(tmp_path / "machine.npz")
    loaded: Any = qpsvm.load(tmp_path / "machine.npz")
    assert (loaded.tol, loaded.random_state) == (1e-4, None)
    assert loaded.restore(X, y).fit_status_ == 0


def test_searches_know_tol() -> None:
    grid: Any = {"C": [1.0, 10.0], "gamma": 0.1, "cv": 3}
    by_tol, by_eps = (SVCSearch(**grid, **{name: 1e-4}).fit(X, y) for name in ("tol", "eps"))
    gaps = [s.cv_results_["max_relative_gap"] for s in (by_tol, by_eps)]
    np.testing.assert_array_equal(*gaps)
    assert by_tol.best_params_ == by_eps.best_params_
    found = GridSearchCV(SVC(), {"tol": [1e-3, 1e-6]}, cv=3).fit(X, y)
    assert found.best_params_ == {"tol": 1e-3}  # the same scores: the first


# --- messages -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "refused",
    [
        lambda: SVC(probability=True),  # type: ignore[call-arg]
        lambda: SVC().set_params(probability=True),
        lambda: make_pipeline(SVC()).set_params(svc__probability=True),
        lambda: GridSearchCV(SVC(), {"probability": [True]}).fit(X, y),
        lambda: SVCSearch().set_params(probability=True),
    ],
    ids=["constructor", "set_params", "pipeline", "GridSearchCV", "SVCSearch"],
)
def test_unknown_parameters_have_one_message_everywhere(refused: Any) -> None:
    with pytest.raises(UnknownParameterError, match=r"no parameter 'probability'.*calibrated"):
        refused()
    assert issubclass(UnknownParameterError, TypeError)  # of a constructor
    assert issubclass(UnknownParameterError, ValueError)  # of set_params, as scikit-learn has it


def test_parameters_of_kernels_are_set_by_their_names() -> None:
    assert SVC().set_params(C=3.0, tol=1e-4).get_params()["C"] == 3.0


@pytest.mark.parametrize("name", ["predict_proba", "predict_log_proba"])
@pytest.mark.parametrize("kind", [SVC, LinearSVC])
def test_a_missing_probability_says_how_to_get_one(kind: Any, name: str) -> None:
    machine = kind().fit(X, y)
    assert not hasattr(machine, name)
    with pytest.raises(AttributeError, match=rf"no {name}.*calibrated"):
        getattr(machine, name)
    search = GridSearchCV(kind(), {"C": [1.0]}).fit(X, y)
    with pytest.raises(AttributeError) as error:
        getattr(search, name)
    assert "calibrated" in str(error.value.__cause__)


def test_an_accuracy_that_looks_like_a_tube_is_a_warning() -> None:
    t = X[:, 0]
    for machine in (SVR(eps=0.1), LinearSVR(eps=0.01), SVRSearch(C=[1.0], gamma=[1.0], eps=0.1)):
        with pytest.warns(TubeWidthWarning, match=r"epsilon=0\.\d+.*tol=0\.\d+"):
            machine.fit(X, t)
    # what is no mistake: another tube, the accuracy under its other name, no tube at all
    for machine in (SVR(eps=0.1, epsilon=0.2), SVR(tol=0.1), SVR(eps=1e-3), NuSVR(eps=0.1)):
        machine.fit(X, t)
    with pytest.raises(UnknownParameterError, match="The width of the tube is epsilon"):
        qpsvm.EpsilonRegression(eps=0.1)  # type: ignore[call-arg]


# --- constraints on several machines --------------------------------------------------------------


def test_constraints_with_three_classes_say_what_they_mean() -> None:
    pairs = SVC(kernel="linear", constraints=nonnegative(0))
    with pytest.warns(SeveralMachinesWarning, match=r"pair of classes a < b.*towards larger"):
        pairs.fit(*IRIS)
    assert (pairs.coef_[:, 0] <= 1e-8).all()  # of -f, as the warning says
    assert all(machine.coef[0] >= 0.0 for machine in pairs.solution_.solutions)
    for rests in (pairs.set_params(multi_class="ovr"), LinearSVC(constraints=nonnegative(0))):
        with pytest.warns(SeveralMachinesWarning, match="score of every class nondecreasing"):
            rests.fit(*IRIS)
        assert (rests.coef_[:, 0] >= -1e-8).all()
    pairs.set_params(multi_class="ovo").fit(X, y)  # two classes: one machine, no doubt


@pytest.mark.parametrize("kind", [SVC, LinearSVC])
def test_one_program_for_all_classes_takes_no_constraints(kind: Any) -> None:
    machine = kind(multi_class="crammer_singer", constraints=bounded(0, 0, 1))
    with pytest.raises(InvalidParameterError, match="take another multi_class"):
        machine.fit(*IRIS)


# --- cross-validation -----------------------------------------------------------------------------

SENSITIVE = np.where(X[:, 1] + X[:, 2] > 0, "b", "a")
BOUND = 0.01


def covariance(values: Any, rows: Any) -> float:
    """Covariance of decision values with the sensitive variable of some rows."""
    z = (SENSITIVE[rows] == "b").astype(float)
    return abs(float(np.mean((z - z.mean()) * values)))


@pytest.mark.parametrize("routed", [False, True])
@pytest.mark.parametrize("given", [None, SENSITIVE], ids=["left to fit", "given to the band"])
@pytest.mark.parametrize("kind", [SVC, LinearSVC])
def test_sensitive_values_are_split_with_the_samples(kind: Any, given: Any, routed: bool) -> None:
    machine = kind(constraints=[nonnegative(0), fairness_band(given, BOUND)])
    if kind is SVC:
        machine.set_params(kernel="linear")
    weights = np.ones(len(y))
    with sklearn.config_context(enable_metadata_routing=routed):
        if routed:
            machine.set_fit_request(sensitive=True, sample_weight=True)
            machine.set_score_request(sample_weight=True)
        found = cross_validate(
            machine,
            X,
            y,
            cv=3,
            params={"sensitive": SENSITIVE, "sample_weight": weights},
            return_estimator=True,
            return_indices=True,
        )
    plain = clone(machine).set_params(constraints=None).fit(X, y)
    assert covariance(plain.decision_function(X), np.arange(len(y))) > 2.0 * BOUND
    for fitted, rows in zip(found["estimator"], found["indices"]["train"], strict=True):
        assert fitted.fit_status_ == 0
        assert covariance(fitted.decision_function(X[rows]), rows) <= BOUND * (1.0 + 1e-6)


@pytest.mark.parametrize("kind", [SVR, OneClassSVM, SVMRanker, LinearSVR])
def test_every_estimator_takes_sensitive_values(kind: Any) -> None:
    machine = kind(constraints=fairness_band(None, BOUND))
    if "kernel" in machine.get_params():
        machine.set_params(kernel="linear")
    samples = X + 3.0  # away from the origin, from which a one-class machine separates
    machine.fit(samples, X[:, 0] + X[:, 1], sensitive=SENSITIVE)
    values = samples @ machine.solution_.coef  # coef_ of a OneClassSVM is nu n times that
    assert covariance(values, np.arange(len(y))) <= BOUND * (1.0 + 1e-6)


def test_a_fairness_band_without_its_values_says_where_they_go(tmp_path: Any) -> None:
    linear: Any = {"kernel": "linear"}
    with pytest.raises(InvalidDataError, match=r"fit\(X, y, sensitive=values\)"):
        SVC(**linear, constraints=fairness_band(None, BOUND)).fit(X, y)
    with pytest.raises(InvalidDataError, match=r"params=\{'sensitive': values\}"):
        SVC(**linear, constraints=fairness_band(SENSITIVE, BOUND)).fit(X[1:], y[1:])
    for constraints in (None, nonnegative(0), fairness_band(1, BOUND)):
        with pytest.raises(InvalidParameterError, match="no fairness band takes the values"):
            SVC(**linear, constraints=constraints).fit(X, y, sensitive=SENSITIVE)
    machine = SVC(**linear, constraints=fairness_band(None, BOUND))
    machine.fit(X, y, sensitive=SENSITIVE).save(tmp_path / "machine.npz")
    loaded: Any = qpsvm.load(tmp_path / "machine.npz")
    assert loaded.restore(X, y).fit_status_ == 0


def test_weights_of_scores_are_repetitions() -> None:
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    noisy = X[:, 0] + rng.normal(size=len(y))
    groups = np.arange(len(y)) // 10
    ranker = SVMRanker().fit(X, noisy, groups=groups)
    assert ranker.score(X, noisy, weights, groups=groups) == pytest.approx(
        ranker.score(X[rows], noisy[rows], groups=groups[rows])
    )
    search = SVCSearch(C=[0.01], gamma=1.0, cv=3).fit(X, y)
    assert search.score(X, y, weights) == pytest.approx(search.score(X[rows], y[rows]))


def test_the_score_of_a_ranking_needs_no_matrix_of_all_pairs() -> None:
    """With one query of many samples it filled the memory, and Ctrl-C waited for the matrix."""
    n = 2000
    order = np.random.default_rng(0).permutation(n)
    tracemalloc.start()
    share = share_in_order(order, order + 0.5 * (order % 2 == 0))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert share == 1.0
    assert peak < n * n
    assert share_in_order(order, -order) == 0.0


def test_weights_are_routed_through_searches() -> None:
    weights = np.random.default_rng(0).integers(1, 3, len(y)).astype(float)
    search = SVCSearch(C=[0.1, 10.0], gamma=0.5, cv=3)
    direct = cross_val_score(search, X, y, cv=3, params={"sample_weight": weights})
    with sklearn.config_context(enable_metadata_routing=True):
        search.set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        routed = cross_val_score(search, X, y, cv=3, params={"sample_weight": weights})
    np.testing.assert_array_equal(direct, routed)
    pipeline = make_pipeline(StandardScaler(), SVC())
    found = GridSearchCV(pipeline, {"svc__C": [1.0]}, cv=3)
    assert found.fit(X, y, svc__sample_weight=weights).best_score_ > 0.8


# --- what is meant by a name of another class, or of another library ------------------------------


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: estimators.QuantileSVR(tau=0.5), "QuantileSVR is quantile"),
        (lambda: OneClassSVM(C=1.0), "nu is in its place"),
        (lambda: OneClassSVM(contamination=0.1), "outliers is nu"),
        (lambda: SVC(nu=0.5), "NuSVC and NuSVR have nu"),
        (lambda: SVC(penalty="l1"), "LinearSVC has it"),
        (lambda: SVCSearch(Cs=[1.0]), "Use C"),
        (lambda: SVMRanker().fit(X, y, qid=y), "use groups"),
        (lambda: SVMRanker().fit(X, y).score(X, y, group=y), "use groups"),
        (lambda: qpsvm.paths.width_path(X, y, gammas=[0.1]), "use gamma"),
        (lambda: qpsvm.selection.leave_one_out(problem=None, tol=0.1), "use eps"),
    ],
)
def test_names_of_other_classes_are_answered_with_the_own_one(call: Any, words: str) -> None:
    with pytest.raises(UnknownParameterError, match=words) as caught:
        call()
    assert "self" not in str(caught.value)


def test_a_kernel_is_named_with_its_article() -> None:
    with pytest.raises(InvalidParameterError, match=r"an rbf\(gamma=0.1\) kernel has no explicit"):
        SVC(gamma=0.1, constraints=nonnegative([0])).fit(X, y)


def test_the_largest_nu_is_shown_with_six_digits() -> None:
    few = np.r_[np.flatnonzero(y == 0)[:20], np.flatnonzero(y == 1)[:4]]
    with pytest.warns(qpsvm.exceptions.NuReducedWarning, match="allow at most 0.333333, twice"):
        estimators.NuSVC(nu=0.9).fit(X[few], y[few])


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (SVC, r"the class SVC\. Pass a fitted one: SVC\(\.\.\.\)\.fit"),
        (X, r"an ndarray\. The model comes first"),
        (qpsvm.SoftMargin().dual(X, y), r"qpsvm\.verify\(problem, solution\)"),
    ],
)
def test_an_audit_of_something_else_says_what_to_pass(model: Any, words: str) -> None:
    with pytest.raises(qpsvm.exceptions.AuditRefusedError, match=words):
        qpsvm.audit(model, X, y)
