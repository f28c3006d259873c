"""What an audit says of training predictions: proven, proven to differ, or undecided."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM

import qpsvm
from qpsvm import reports
from qpsvm.audits import Arrays, comparison
from qpsvm.audits.inputs import Inputs
from qpsvm.audits.readers import translate_model
from qpsvm.audits.rebuilt import Decisions
from qpsvm.certificates.comparison import Range, compare
from qpsvm.reports.grade import Grade, tone_of

SMALL = 2.0**-16
"""A decision value of the optimum's, 1.5e-5: below the root of the default eps."""


def near_the_boundary(shift):
    """The audit of a machine whose exact optimum is ``f*(x) = x``, with its intercept moved.

    Samples at -1, 1 and SMALL with prices 1, 1, 1/2. With alpha_3 = 1/2 and
    ``alpha_1 + alpha_2 = 1 - SMALL / 2``, ``alpha_1 = alpha_2 + 1/2`` the weight is 1, the
    intercept 0, and all KKT conditions hold: the first two margins are 1, the third is below it.
    """
    X, y, weights = [[-1.0], [1.0], [SMALL]], [-1, 1, 1], [1.0, 1.0, 0.5]
    second = 0.5 * (1.0 - 0.5 * SMALL - 0.5)
    numbers = Arrays(
        qpsvm.SoftMargin(1.0), alpha=[second + 0.5, second, 0.5], intercept=shift, coef=[1.0]
    )
    return qpsvm.audit(numbers, X, y, sample_weight=weights)


def test_an_optimum_by_construction_is_found_to_be_one():
    found = near_the_boundary(0.0)
    assert found.passed
    assert found.grade is Grade.OPTIMAL
    compared = found.predictions
    assert (compared.n_same, compared.n_different, compared.n_undecided) == (3, 0, 0)
    assert compared.rigorous


def test_a_label_close_to_the_boundary_that_flips_is_proven_to_differ():
    found = near_the_boundary(-2.0 * SMALL)
    compared = found.predictions
    assert (compared.n_same, compared.n_different, compared.n_undecided) == (2, 1, 0)
    assert found.grade is Grade.WRONG
    assert "2 of 3 training predictions proven" in found.verdict
    assert "1 proven to differ" in found.verdict
    # and if it does not flip, the model is as good as the optimum for these samples
    close = near_the_boundary(-0.5 * SMALL)
    assert not close.passed
    assert close.grade is Grade.SAME_PREDICTIONS
    assert close.predictions.largest_change >= 0.5 * SMALL


@pytest.mark.parametrize("power", [0, -12, -40])
def test_one_class_counts_do_not_depend_on_the_size_of_the_samples(power):
    # f scales with the square of the samples: with none of them is it "near the boundary"
    scale = 2.0**power
    X = np.random.default_rng(4).normal(size=(40, 2)) + 3.0
    exact = qpsvm.solve(qpsvm.OneClass(0.2).dual(X), eps=1e-12)

    def audited(scale):
        model = Arrays(
            qpsvm.OneClass(0.2),
            alpha=exact.alpha,
            coef=scale * 1.01 * exact.coef,
            intercept=scale**2 * exact.intercept * 1.05,
        )
        return qpsvm.audit(model, scale * X).predictions

    first, other = audited(1.0), audited(scale)
    assert first.n_different > 0
    assert first.n_same > 10
    for count in ("n_samples", "n_same", "n_different", "n_undecided"):
        assert getattr(other, count) == getattr(first, count)
    assert other.largest_change == pytest.approx(scale**2 * first.largest_change, rel=1e-3)


def test_breast_cancer_is_good_news_in_every_format():
    X, y = load_breast_cancer(return_X_y=True)
    found = qpsvm.audit(make_pipeline(StandardScaler(), SVC(C=100.0)).fit(X, y), X, y)
    assert not found.passed
    assert found.grade is Grade.SAME_PREDICTIONS
    assert tone_of(found.grade.title) == "good"
    assert "all 569 training predictions are proven to be those of the exact opt" in found.verdict
    content = found.to_dict()
    assert (content["passed"], content["grade"]) == (False, "same_predictions")
    counts = content["predictions"]
    assert [counts[key] for key in ("same", "different", "undecided")] == [569, 0, 0]
    page = found.report()
    of_page = json.loads(reports.text_of(page, "json"))
    assert (of_page["grade"], of_page["headline"]) == (content["grade"], content["verdict"])
    assert of_page["predictions"] == counts
    html = reports.text_of(page, "html")
    assert '<p class="verdict pass">\n<strong id="verdict">SAME PREDICTIONS</strong>' in html
    assert "**SAME PREDICTIONS**" in reports.text_of(page, "md")
    assert r"\textbf{SAME PREDICTIONS}" in reports.text_of(page, "tex")
    first = reports.text_of(page, "txt").splitlines()[0]
    assert first == f"SAME PREDICTIONS at eps=1e-08: {found.verdict}"
    for text in (html, str(found), first):
        assert "At least one check" not in text


@pytest.mark.parametrize("tol", [1e-3, 0.3, 2.0])
@pytest.mark.parametrize("kind", [SVC, NuSVC])
def test_votes_are_proven_by_the_machines_that_decide_them(kind, tol):
    X, y = load_wine(return_X_y=True)
    X, y = StandardScaler().fit_transform(X[::2, :4]), y[::2]
    options = {"C": 20.0} if kind is SVC else {"nu": 0.3}
    model = kind(gamma=0.5, tol=tol, **options).fit(X, y)
    tight = kind(gamma=0.5, tol=1e-10, **options).fit(X, y)
    compared = qpsvm.audit(model, X, y).predictions
    differ = np.count_nonzero(model.predict(X) != tight.predict(X))
    assert compared.n_samples == len(X)
    assert compared.n_different <= differ <= compared.n_different + compared.n_undecided
    assert compared.n_same <= len(X) - differ
    assert compared.n_same > 0.5 * len(X)


def test_equal_numbers_of_votes_go_to_the_first_class_as_libsvm_has_it():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 2)), rng.integers(0, 4, 120)
    labels = {}
    for breaks in (False, True):
        model = SVC(C=0.5, gamma=2.0, tol=1e-10, break_ties=breaks).fit(X, y)
        labels[breaks] = model.predict(X)
        reading = translate_model(model, Inputs(X, y, None, None, None, None))
        of_pairs = clone(model).set_params(decision_function_shape="ovo", break_ties=False)
        votes = reading.combine(of_pairs.fit(X, y).decision_function(X))
        assert (np.argmax(votes, axis=1) == labels[breaks]).all()
        # the model is the optimum: nothing is proven to differ
        compared = qpsvm.audit(model, X, y, eps=1e-6).predictions
        assert compared.n_different == compared.n_computed_differ == 0
        assert compared.n_same > 100
    assert (labels[False] != labels[True]).any()  # there are ties here


def test_a_vote_is_proven_only_if_those_are_that_decide_it():
    def votes(for_first, for_second):
        counts = np.zeros((len(for_first), 4))
        pairs = itertools.combinations(range(4), 2)
        for f, g, (i, j) in zip(for_first.T, for_second.T, pairs, strict=True):
            counts[:, i] += f > 0.0
            counts[:, j] += g <= 0.0
        return counts

    def bounds(lower, upper):
        return votes(lower, upper), votes(upper, lower)

    rng = np.random.default_rng(1)
    proven = 0
    for _ in range(40):
        values = rng.normal(size=(30, 6))
        reach = rng.uniform(0.0, 1.0, size=6)
        machines = [
            comparison.DecisionRanges(
                own, Range(own.values - r, own.values + r), own, rigorous=True
            )
            for own, r in zip((Decisions(f, np.zeros(30)) for f in values.T), reach, strict=True)
        ]
        compared = comparison.of_votes(machines, bounds)
        # whatever the optimum is within the bounds, no more labels are kept than are proven
        kept = np.full(30, True)
        for _ in range(30):
            other = values + reach * rng.uniform(-1.0, 1.0, size=values.shape)
            own, best = votes(values, values), votes(other, other)
            tops = best == best.max(axis=1, keepdims=True)
            alone = (tops.sum(axis=1) == 1) & tops[np.arange(30), np.argmax(own, axis=1)]
            kept &= alone
        assert compared.n_same <= np.count_nonzero(kept)
        proven += compared.n_same
        assert compared.n_different == 0
    assert proven > 100


def test_numbers_are_within_a_proven_distance():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 3))
    y = X[:, 0] + 0.1 * rng.normal(size=80)
    for tol in (1e-1, 1e-6):
        model = SVR(C=5.0, tol=tol).fit(X, y)
        found = qpsvm.audit(model, X, y)
        compared = found.predictions
        assert compared.n_same is compared.n_different is compared.n_undecided is None
        exact = SVR(C=5.0, tol=1e-12).fit(X, y)
        change = np.abs(model.predict(X) - exact.predict(X)).max()
        assert compared.largest_change >= change - 1e-5  # LIBSVM's float32
        assert compared.largest_change <= change + 1e-4
        assert "no training prediction is farther than" in found.verdict


def test_without_the_optimum_the_models_own_bounds_say_what_is_known():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = SVC(C=1.0, tol=1e-6).fit(X, y)
    whole, bounds = (qpsvm.audit(model, X, y, optimum=b) for b in (True, False))
    assert 0 < bounds.predictions.n_same <= whole.predictions.n_same
    assert not bounds.predictions.rigorous
    assert "rounding is estimated" in bounds.verdict
    assert "rounding is estimated" not in whole.verdict


def test_values_that_are_no_numbers_decide_nothing():
    nothing, something = np.full(3, np.nan), np.array([1.0, -1.0, 2.0])
    for own, optimum in (
        (Range(nothing, nothing), Range(something, something)),
        (Range(something, something), Range(nothing, nothing)),
        (Range(something, something), Range(-np.inf * np.ones(3), np.inf * np.ones(3))),
    ):
        compared = compare(own, optimum, has_labels=True, rigorous=True)
        assert (compared.n_same, compared.n_different) == (0, 0)
        assert compared.largest_change == np.inf
    assert not compare(
        Range(nothing[:0], nothing[:0]),
        Range(nothing[:0], nothing[:0]),
        has_labels=True,
        rigorous=True,
    ).all_same


def test_one_class_samples_on_the_boundary_are_undecided():
    X = np.random.default_rng(5).normal(size=(100, 2))
    found = qpsvm.audit(OneClassSVM(nu=0.3, gamma=0.5).fit(X), X)
    on_it = np.count_nonzero(np.abs(found.machines[0].optimum.solution.decision_function(X)) < 1e-9)
    assert on_it > 0
    assert found.predictions.n_undecided >= on_it
    assert found.grade is not Grade.SAME_PREDICTIONS
