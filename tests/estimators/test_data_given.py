"""Data that estimators and searches are given: they mean what they mean to formulations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from qpsvm import estimators
from qpsvm.estimators import SVC, SVR, LinearSVC, OneClassSVM, SVMRanker
from qpsvm.estimators.kernel_estimator import kernel_of
from qpsvm.exceptions import InvalidDataError
from qpsvm.kernels import RBF, Linear
from qpsvm.selection import SVCSearch, SVRSearch

RNG = np.random.default_rng(0)
X = RNG.normal(size=(24, 2))
Y = np.arange(24) % 2
SEARCH = SVCSearch(C=[1.0], cv=3)
NUMBERS = SVRSearch(C=[1.0], cv=3)


def repeated(samples: Any) -> sp.csr_array:
    """The same samples with every number as a sum of two entries."""
    n, d = samples.shape
    parts = np.stack([samples - 7.0, np.full((n, d), 7.0)], axis=2)
    columns = np.tile(np.repeat(np.arange(d), 2), n)
    return sp.csr_array((parts.ravel(), columns, 2 * d * np.arange(n + 1)), shape=(n, d))


# --- samples --------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [None, 1.0 + Y])
@pytest.mark.parametrize("model", [SEARCH, NUMBERS, SVC(), LinearSVC()], ids=str)
def test_repeated_entries_of_a_sparse_matrix_are_added(model: Any, weights: Any) -> None:
    given, whole = repeated(X), sp.csr_array(repeated(X).toarray())
    model = clone(model)
    once = clone(model).fit(whole, Y, weights)
    twice = model.fit(given, Y, weights)
    assert len(given.data) == 2 * X.size  # the caller's matrix is left alone
    np.testing.assert_array_equal(twice.predict(given), once.predict(whole))
    if hasattr(once, "cv_results_"):
        assert twice.best_params_ == once.best_params_
        for name in ("mean_test_score", "mean_test_score_lower", "mean_proven"):
            np.testing.assert_array_equal(twice.cv_results_[name], once.cv_results_[name])


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6, 1e9])
def test_the_scale_of_weighted_samples_is_that_of_repeated_rows(
    store: Any, dtype: Any, offset: float
) -> None:
    counts = 1 + np.arange(24) % 3
    samples = (X + offset).astype(dtype)
    rows = np.repeat(samples, counts, axis=0).astype(np.float64)
    scale: Any = RBF(gamma="scale").resolve(rows)
    for size in (1.0, 1e-300, 1e306):
        found: Any = kernel_of(SVC(), store(samples), size * counts)
        assert found.gamma == pytest.approx(scale.gamma, rel=1e-6)  # the samples are so exact


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_the_scale_of_weighted_constant_samples_is_that_without_weights(store: Any) -> None:
    samples = np.full((1000, 3), 0.1)
    weights = RNG.uniform(0.1, 1.0, 1000)
    kernel: Any = kernel_of(SVC(), store(samples), weights)
    assert kernel == RBF(gamma="scale").resolve(samples)


def test_features_beyond_float64_are_refused_with_weights_as_without() -> None:
    for weights in (None, np.ones(24)):
        with pytest.raises(InvalidDataError, match="scale the features"):
            SVC().fit(1e154 * X, Y, weights)
        linear = kernel_of(SVC(kernel="linear"), 1e154 * X, weights)  # which has no gamma
        assert linear == Linear()


HIDDEN = np.ma.masked_array(X, X > 1.0)
HIDDEN_LABELS = np.ma.masked_array(Y, Y < 0).copy()
HIDDEN_LABELS[3] = np.ma.masked


@pytest.mark.parametrize("model", [SVC(), SVR(), OneClassSVM(), SEARCH, NUMBERS], ids=str)
def test_hidden_entries_are_refused(model: Any) -> None:
    fitted = clone(model).fit(X, Y)
    for call in (
        lambda: clone(model).fit(HIDDEN, Y),
        lambda: fitted.predict(HIDDEN),
        lambda: fitted.predict_certified(HIDDEN),
    ):
        with pytest.raises(InvalidDataError, match="X is a masked array"):
            call()
    if not isinstance(model, OneClassSVM):  # which ignores y
        for call in (
            lambda: clone(model).fit(X, HIDDEN_LABELS),
            lambda: fitted.score(X, HIDDEN_LABELS),
        ):
            with pytest.raises(InvalidDataError, match="y is a masked array"):
                call()


# --- labels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("mixed", [[1, "a"], [True, "a"], [1.5, "a"], ["1", 1]])
def test_texts_beside_other_labels_are_refused(mixed: Any) -> None:
    labels = mixed * 12
    fitted = SVC().fit(X, np.array(["1", "a"])[Y])
    for given in (labels, np.array(labels, dtype=object)):
        for call in (
            lambda given=given: SVC().fit(X, given),
            lambda given=given: clone(SEARCH).fit(X, given),
        ):
            with pytest.raises(InvalidDataError, match="y mixes labels of kinds"):
                call()
    with pytest.raises(InvalidDataError, match="y mixes labels of kinds"):
        fitted.score(X, labels)
    with pytest.raises(InvalidDataError, match="groups mixes labels of kinds"):
        SVMRanker().fit(X, np.arange(24), groups=labels)


@pytest.mark.parametrize("store", [list, lambda y: np.array(y, dtype=object)])
def test_texts_that_end_with_a_nul_are_texts_of_their_own(store: Any) -> None:
    labels = store(["a", "a\0", "b"] * 8)
    fitted = SVC().fit(X, labels)
    assert fitted.classes_.tolist() == ["a", "a\0", "b"]
    right = np.mean([p == t for p, t in zip(fitted.predict(X), labels, strict=True)])
    assert fitted.score(X, labels) == right


@pytest.mark.parametrize("kind", [list, np.array, pd.Series])
def test_labels_of_another_kind_than_the_classes_are_no_wrong_predictions(kind: Any) -> None:
    texts, numbers = np.array(["0", "1"])[Y].tolist(), Y.tolist()
    for classes, labels, words in ((texts, numbers, "numbers"), (numbers, texts, "texts")):
        for model in (SVC(), LinearSVC(), clone(SEARCH)):
            with pytest.raises(InvalidDataError, match=f"y holds {words}"):
                model.fit(X, classes).score(X, kind(labels))


def common_letters(A: Any, B: Any) -> Any:
    return np.array([[len(set(a) & set(b)) + float(a == b) for b in B] for a in A])


def test_a_search_over_words_takes_lists_of_labels() -> None:
    words = [f"{'abcdef'[i % 6]}{'xyz'[i % 3]}{i}" for i in range(24)]
    search = SVCSearch(kernel=common_letters, C=[1.0], cv=3)
    of_list = clone(search).fit(words, Y.tolist())
    of_array = clone(search).fit(words, Y)
    assert of_list.best_score_ == of_array.best_score_
    with pytest.raises(InvalidDataError, match="y is a masked array"):
        clone(search).fit(words, HIDDEN_LABELS)


# --- what is proven -------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [SVC(C=10.0), SVR(C=10.0), OneClassSVM(nu=0.3)], ids=str)
@pytest.mark.parametrize("k", [2, 3])
def test_predictions_of_a_kernel_matrix_are_proven_with_its_squares(model: Any, k: int) -> None:
    targets, kernel = np.arange(24) % k, RBF(0.5)
    new = RNG.normal(size=(10, 2))
    named = clone(model).set_params(kernel=kernel).fit(X, targets).predict_certified(new)
    given = clone(model).set_params(kernel="precomputed").fit(kernel(X, X), targets)
    with pytest.raises(InvalidDataError, match="squares="):
        given.predict_certified(kernel(new, X))
    found = given.predict_certified(kernel(new, X), squares=np.ones(10))
    if isinstance(model, SVR):
        assert (found.lower <= named.upper).all()
        assert (named.lower <= found.upper).all()
        assert np.isfinite(found.upper).all()
    else:
        np.testing.assert_array_equal(found.labels, named.labels)
        assert found.decided.any()


@pytest.mark.parametrize("search", [SEARCH, NUMBERS], ids=str)
def test_a_search_takes_a_sparse_kernel_matrix(search: Any) -> None:
    K = RBF(0.5)(X, X)
    dense, sparse = (
        clone(search).set_params(kernel="precomputed").fit(store(K), Y)
        for store in (np.asarray, sp.csr_array)
    )
    for name in ("mean_test_score", "mean_test_score_lower", "mean_proven"):
        # the same but for the order of sums, which depends on where arrays lie in memory
        np.testing.assert_allclose(sparse.cv_results_[name], dense.cv_results_[name], rtol=1e-12)


# --- attributes -----------------------------------------------------------------------------------


def test_what_the_fit_of_a_subclass_sets_stays() -> None:
    class Counting(SVC):
        def fit(self, X: Any, y: Any, sample_weight: Any = None, **more: Any) -> Any:
            self.n_seen_ = len(X)
            return super().fit(X, y, sample_weight, **more)

    class CountingSearch(SVCSearch):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            self.n_seen_ = len(X)
            return super().fit(X, y, sample_weight)

    for model in (Counting(), CountingSearch(C=[1.0], cv=3)):
        for n in (24, 12):
            assert model.fit(X[:n], Y[:n]).n_seen_ == n


@pytest.mark.parametrize(
    "model",
    [*(getattr(estimators, name)() for name in estimators.__all__), SEARCH, NUMBERS],
    ids=str,
)
def test_nothing_of_an_earlier_fit_stays(model: Any) -> None:
    frame = pd.DataFrame(X, columns=["width", "height"])
    again = clone(model).fit(frame, Y).fit(X[:, :1], Y)
    fresh = clone(model).fit(X[:, :1], Y)
    assert set(vars(again)) == set(vars(fresh))
    assert again.n_features_in_ == 1


def test_a_search_without_a_refit_has_no_best_estimator_of_before() -> None:
    search = clone(SEARCH).fit(X, Y)
    assert hasattr(search, "best_estimator_")
    search.set_params(refit=False).fit(X, Y)
    assert not {"best_estimator_", "refit_time_"} & set(vars(search))
