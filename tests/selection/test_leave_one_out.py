"""Leave-one-out predictions are those of n refits, and what is called decided is."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn import datasets, svm
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import LeaveOneOut as Splits
from sklearn.model_selection import cross_val_predict
from sklearn.preprocessing import scale

import qpsvm
from qpsvm import kernels
from qpsvm.exceptions import InvalidDataError, InvalidParameterError
from qpsvm.selection import leave_one_out
from qpsvm.selection.kernel_matrix import KernelBlock
from qpsvm.selection.left_out import (
    BY_CERTIFICATE,
    BY_DOWNDATE,
    BY_REFIT,
    enclosed,
    intervals,
    program_of,
)
from qpsvm.selection.proven_steps import proven_bounds
from qpsvm.selection.subdifferential import Subdifferential
from qpsvm.selection.tableau import LeftOutMachines, Program, Tableau, by_trials, distinct

MODULE = sys.modules["qpsvm.selection.left_out"]
RNG = np.random.default_rng(0)
CANCER = scale(datasets.load_breast_cancer().data[:60]), datasets.load_breast_cancer().target[:60]
DIABETES = scale(datasets.load_diabetes().data[:60]), datasets.load_diabetes().target[:60]
TWINS = np.repeat(RNG.standard_normal((25, 2)), 2, axis=0), RNG.integers(0, 2, 50)
GRID = np.round(RNG.standard_normal((60, 2))), RNG.integers(0, 2, 60)  # many equal samples
WIDE = RNG.standard_normal((30, 50)), RNG.integers(0, 2, 30)


REFITS = 15
"""Samples of each case that are refitted, drawn at random."""


def refitted(
    problem: Any, formulation: Any, X: Any, y: Any, **options: Any
) -> tuple[np.ndarray, np.ndarray]:
    chosen = np.random.default_rng(len(y)).choice(len(y), REFITS, replace=False)
    values = []
    for i in chosen:
        others = np.arange(len(y)) != i
        own = {name: np.asarray(value)[others] for name, value in options.items()}
        part = formulation.dual(X[others], y[others], kernel=problem.kernel, **own)
        machine = qpsvm.solve(part, eps=1e-11)
        values.append(float(machine.decision_function(X[[i]])[0]))
    return chosen, np.array(values)


CLASSIFIERS = [
    (CANCER, kernels.RBF(gamma=0.03), 1.0, "free"),
    (CANCER, kernels.RBF(gamma=0.03), 100.0, "free"),
    (CANCER, "linear", 0.1, "free"),
    (CANCER, "linear", 0.1, "penalized"),
    (CANCER, kernels.Polynomial(gamma=0.1, degree=2, coef0=1.0), 1.0, "none"),
    (TWINS, kernels.RBF(gamma=0.5), 2.0, "free"),
    (TWINS, "linear", 1.0, "free"),
    (GRID, kernels.RBF(gamma=1.0), 5.0, "free"),
    (WIDE, "linear", 10.0, "free"),
]


def nothing(tableau: Tableau, samples: np.ndarray) -> LeftOutMachines:
    return by_trials(tableau, samples).of(np.array([], dtype=int))


@pytest.mark.parametrize("case", CLASSIFIERS, ids=lambda case: f"{case[1]}, {case[2]}, {case[3]}")
@pytest.mark.filterwarnings("ignore::qpsvm.exceptions.ToleranceNotReachedWarning")
def test_labels_are_those_of_n_refits(case: Any) -> None:
    (X, y), kernel, C, intercept = case
    formulation = qpsvm.SoftMargin(C=C, intercept=intercept)
    problem = formulation.dual(X, y, kernel=kernel)
    found = leave_one_out(problem)
    assert np.mean(found.decided) > 0.9
    chosen, values = refitted(problem, formulation, X, y)
    decided, labels = found.decided[chosen], problem.data.predictions(values)
    np.testing.assert_array_equal(found.predictions[chosen][decided], labels[decided])
    radius, off = found.radius[chosen], np.abs(values - found.decisions[chosen])
    assert (off <= radius + 1e-5)[np.isfinite(radius)].all()
    assert found.score == pytest.approx(np.mean(found.predictions == y))
    assert set(found.shares) == {"certificate", "downdate", "refit"}


@pytest.mark.parametrize("epsilon", [0.0, 10.0])
@pytest.mark.parametrize("kernel", [kernels.RBF(gamma=0.1), "linear"], ids=str)
def test_predictions_of_regressions_are_those_of_n_refits(epsilon: float, kernel: Any) -> None:
    X, y = DIABETES
    formulation = qpsvm.EpsilonRegression(C=20.0, epsilon=epsilon)
    problem = formulation.dual(X, y, kernel=kernel)
    found = leave_one_out(problem)
    assert np.mean(found.decided) > 0.9
    chosen, values = refitted(problem, formulation, X, y)
    np.testing.assert_allclose(found.predictions[chosen], values, atol=2e-6 * np.ptp(y))
    assert found.score == pytest.approx(problem.data.score(found.decisions, y))
    assert found.span_errors is None


def test_weights_and_unequal_prices_are_taken_along() -> None:
    X, y = CANCER
    weights = RNG.uniform(0.2, 3.0, len(y))
    formulation = qpsvm.SoftMargin(C=1.0, class_weight={0: 2.0, 1: 0.5})
    problem = formulation.dual(X, y, kernel="rbf", sample_weight=weights)
    chosen, values = refitted(problem, formulation, X, y, sample_weight=weights)
    found = leave_one_out(problem)
    np.testing.assert_array_equal(found.predictions[chosen], problem.data.predictions(values))


def test_it_is_what_cross_validation_says() -> None:
    X, y = CANCER
    found = leave_one_out(qpsvm.SoftMargin(C=1.0).dual(X, y, kernel=kernels.RBF(gamma=0.03)))
    theirs = cross_val_predict(svm.SVC(C=1.0, gamma=0.03, tol=1e-9), X, y, cv=Splits())
    np.testing.assert_array_equal(found.predictions, theirs)
    assert found.decided.all()


def test_a_given_kernel_matrix_is_left_out_by_row_and_column() -> None:
    X, y = CANCER
    K = rbf_kernel(X, gamma=0.03)
    given = leave_one_out(qpsvm.SoftMargin(C=1.0).dual(K, y, kernel="precomputed"))
    plain = leave_one_out(qpsvm.SoftMargin(C=1.0).dual(X, y, kernel=kernels.RBF(gamma=0.03)))
    np.testing.assert_array_equal(given.predictions, plain.predictions)
    downdated = plain.how == BY_DOWNDATE
    np.testing.assert_allclose(given.decisions[downdated], plain.decisions[downdated], atol=1e-7)


def test_the_bounds_of_the_textbooks_hold() -> None:
    X, y = CANCER
    for C in (0.1, 1.0, 100.0):
        found = leave_one_out(qpsvm.SoftMargin(C=C).dual(X, y, kernel="rbf"))
        errors = int(np.sum(found.predictions != y))
        assert errors <= found.n_support == round(found.support_bound * len(y))
        assert found.span_errors is not None
        assert abs(found.span_errors - errors) <= 0.1 * len(y)


def test_refits_say_what_downdates_say(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = qpsvm.SoftMargin(C=1.0).dual(*CANCER, kernel=kernels.RBF(gamma=0.03))
    usual = leave_one_out(problem)
    assert np.mean(usual.how == BY_REFIT) < 0.05
    assert np.mean(usual.how == BY_CERTIFICATE) > 0.3
    monkeypatch.setattr(MODULE, "by_trials", nothing)
    slow = leave_one_out(problem)
    assert not (slow.how == BY_DOWNDATE).any()
    np.testing.assert_array_equal(slow.predictions, usual.predictions)
    refits = slow.how == BY_REFIT
    np.testing.assert_allclose(slow.decisions[refits], usual.decisions[refits], atol=1e-5)


def test_trials_that_do_not_end_are_refitted(monkeypatch: pytest.MonkeyPatch) -> None:
    for data in (CANCER, TWINS, GRID):
        problem = qpsvm.SoftMargin(C=3.0).dual(*data, kernel=kernels.RBF(gamma=0.3))
        usual = leave_one_out(problem)
        with monkeypatch.context() as patch:
            patch.setattr(MODULE, "by_trials", nothing)
            refitted = leave_one_out(problem)
        assert (refitted.how[usual.how == BY_DOWNDATE] == BY_REFIT).all()
        assert np.mean(refitted.decided) > 0.9 * np.mean(usual.decided)
        np.testing.assert_array_equal(refitted.predictions, usual.predictions)


def halve(beta: np.ndarray, free: np.ndarray) -> None:
    beta[free] *= 0.5


def leave_the_box(beta: np.ndarray, free: np.ndarray) -> None:
    beta[np.flatnonzero(free)[:2]] += [10.0, -10.0]


def unbalance(beta: np.ndarray, free: np.ndarray) -> None:
    beta[free] += 0.05


@pytest.mark.parametrize("spoil", [halve, leave_the_box, unbalance])
def test_a_wrong_machine_proves_nothing_wrong(monkeypatch: pytest.MonkeyPatch, spoil: Any) -> None:
    def wrong(tableau: Tableau, samples: np.ndarray) -> LeftOutMachines:
        found = by_trials(tableau, samples)
        for beta in found.beta:
            spoil(beta, tableau.is_free)
        return found

    problem = qpsvm.SoftMargin(C=1.0).dual(*CANCER, kernel=kernels.RBF(gamma=0.03))
    usual = leave_one_out(problem)
    monkeypatch.setattr(MODULE, "by_trials", wrong)
    found = leave_one_out(problem)
    np.testing.assert_array_equal(
        found.predictions[found.decided], usual.predictions[found.decided]
    )
    known = np.isfinite(found.radius) & np.isfinite(usual.radius)
    off = np.abs(found.decisions - usual.decisions)
    assert (off <= found.radius + usual.radius)[known].all()
    assert np.mean(found.how == BY_DOWNDATE) < np.mean(usual.how == BY_DOWNDATE)


@pytest.mark.parametrize(
    "problem",
    [
        qpsvm.SoftMargin(loss="squared_hinge").dual(*CANCER),
        qpsvm.SoftMargin().primal(*CANCER),
        qpsvm.NuClassification(nu=0.2).dual(*CANCER),
        qpsvm.SoftMargin().dual(*CANCER, constraints=qpsvm.constraints.nonnegative(0)),
        qpsvm.HardMargin().dual(*WIDE),
        qpsvm.L1Norm().dual(*CANCER),
        qpsvm.OneClass().dual(CANCER[0]),
        "SoftMargin",
    ],
    ids=lambda problem: type(getattr(problem, "formulation", problem)).__name__,
)
def test_other_problems_are_refused(problem: Any) -> None:
    with pytest.raises(InvalidParameterError, match="leave_one_out takes"):
        leave_one_out(problem)


def test_the_last_sample_of_a_class_cannot_be_left_out() -> None:
    problem = qpsvm.SoftMargin(C=1.0).dual([[0.0], [1.0], [2.0]], ["a", "a", "b"])
    with pytest.raises(InvalidDataError, match=r"Without sample 2 there is only one class.*'b'"):
        leave_one_out(problem)
    with pytest.raises(InvalidDataError, match="needs two samples"):
        leave_one_out(qpsvm.EpsilonRegression().dual([[1.0]], [2.0]))


def test_it_prints_a_table() -> None:
    found = leave_one_out(qpsvm.SoftMargin(C=1.0).dual(*CANCER, kernel="rbf"))
    assert "downdate" in repr(found)
    assert list(found.columns()) == ["decision", "radius", "prediction", "decided", "how"]


def full_tableau(problem: Any) -> tuple[Program, Tableau]:
    kernel = KernelBlock.of_model(problem.model)
    loss = Subdifferential.of_conditions(problem.model.conditions, problem.data.n_samples)
    assert loss is not None
    beta = np.asarray(qpsvm.solve(problem, eps=1e-10).expansion)
    program = program_of(problem, kernel, loss)
    tableau = Tableau.of(program, beta)
    assert tableau is not None
    return program, tableau


STEEP = qpsvm.EpsilonRegression(C=1e4, epsilon=1.0)
MACHINES = [
    qpsvm.SoftMargin(C=1.0).dual(*CANCER, kernel=kernels.RBF(gamma=0.03)),
    qpsvm.SoftMargin(C=2.0).dual(*GRID, kernel=kernels.RBF(gamma=1.0)),
    qpsvm.EpsilonRegression(C=20.0, epsilon=10.0).dual(*DIABETES, kernel=kernels.RBF(gamma=0.1)),
    STEEP.dual(*DIABETES, kernel=kernels.RBF(gamma=0.1)),
]


@pytest.mark.parametrize("problem", MACHINES, ids=lambda problem: repr(problem.formulation))
def test_many_at_once_are_those_one_by_one(problem: Any) -> None:
    _, tableau = full_tableau(problem)
    together = by_trials(tableau, np.arange(problem.data.n_samples))
    assert len(together.samples) > 0.9 * problem.data.n_samples
    for k, i in enumerate(together.samples[::3].tolist()):
        alone = by_trials(tableau, np.array([i]))
        for name in ("beta", "b"):
            left, right = getattr(alone, name)[0], getattr(together, name)[3 * k]
            np.testing.assert_allclose(left, right, atol=1e-8 * np.max(np.abs(right), initial=1.0))


@pytest.mark.parametrize(
    "problem",
    [MACHINES[0], *MACHINES[2:]],  # of the grid many samples are exactly at the end of a step
    ids=lambda problem: repr(problem.formulation),
)
def test_proven_steps_narrow_intervals_around_the_same_value(problem: Any) -> None:
    program, tableau = full_tableau(problem)
    found = by_trials(tableau, np.arange(problem.data.n_samples))
    others = program.loss.without(found.samples)
    plain = intervals(enclosed(program, others, found.beta, found.samples))
    values, radius = (part[:, 0] for part in plain)
    proven = proven_bounds(program, found)
    known = np.isfinite(radius) & np.isfinite(proven[1])
    assert np.mean(known) > 0.9
    assert np.median(proven[1][known] / radius[known]) < 0.1
    assert (np.abs(values - proven[0]) <= radius + proven[1])[known].all()


def test_steep_regressions_are_decided() -> None:
    X, y = DIABETES
    problem = STEEP.dual(X, y, kernel=kernels.RBF(gamma=0.1))
    found = leave_one_out(problem)
    assert found.decided.all()
    chosen, values = refitted(problem, STEEP, X, y)
    np.testing.assert_allclose(found.predictions[chosen], values, atol=2e-6 * np.ptp(y))


@pytest.mark.parametrize("problem", MACHINES, ids=lambda problem: repr(problem.formulation))
def test_gaps_of_samples_are_the_duality_gap(problem: Any) -> None:
    program, tableau = full_tableau(problem)
    loss, rng, K = tableau.program.loss, np.random.default_rng(0), program.kernel.values
    beta = rng.uniform(loss.lowest, loss.upper, (5, len(K)))
    up, down = (np.sum(np.maximum(way * beta, 0.0), axis=1)[:, None] for way in (1.0, -1.0))
    beta *= np.where(beta > 0.0, np.minimum(1.0, down / up), np.minimum(1.0, up / down))
    b = rng.standard_normal(5)
    of_beta = beta @ K
    f = of_beta + b[:, None]
    gaps = loss.gaps(f, beta, np.zeros(f.shape))
    losses = loss.upper * np.maximum(np.where(loss.upper > 0, loss.a, 0) - f, 0.0)
    losses -= loss.lowest * np.maximum(f - np.where(loss.lowest < 0, loss.c, 0), 0.0)
    primal = 0.5 * np.sum(beta * of_beta, axis=1) + np.sum(losses, axis=1)
    dual = loss.dual_linear_part(beta) - 0.5 * np.sum(beta * of_beta, axis=1)
    assert (gaps >= 0.0).all()
    np.testing.assert_allclose(np.sum(gaps, axis=1), primal - dual, rtol=1e-9)
    rounding = 1e-3 * rng.uniform(size=f.shape)
    wider = loss.gaps(f, beta, rounding)
    for way in (-1.0, 0.3, 1.0):
        shifted = loss.gaps(f + way * rounding, beta, np.zeros(f.shape))
        assert (shifted <= wider * (1.0 + 1e-9) + 1e-12).all()


def test_of_equal_samples_one_is_inside_of_its_box() -> None:
    X, y = TWINS[0], np.repeat(TWINS[1][::2], 2)
    problem = qpsvm.SoftMargin(C=3.0).dual(X, y, kernel=kernels.RBF(gamma=0.3))
    program, _ = full_tableau(problem)
    beta = np.asarray(qpsvm.solve(problem, eps=1e-10).expansion)
    beta = np.repeat(beta.reshape(-1, 2).mean(axis=1), 2)  # the same machine
    loss, K = program.loss, program.kernel.values
    found = distinct(program, beta)
    np.testing.assert_allclose(K @ found, K @ beta, atol=1e-12 * np.max(np.abs(K) @ np.abs(beta)))
    assert ((loss.lowest <= found) & (found <= loss.upper)).all()
    several, one = (
        np.bincount(program.equals[np.abs(loss.steps(each, 1e-9)) == 1]) for each in (beta, found)
    )
    assert np.max(several) == 2
    assert np.max(one) == 1
    assert Tableau.of(program, beta) is not None


@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
def test_linear_machines_are_refitted_by_their_weights(intercept: Any) -> None:
    X, y = (part[:200] for part in datasets.load_breast_cancer(return_X_y=True))
    X = scale(X)[:, :5]
    problem = qpsvm.SoftMargin(C=1.0, intercept=intercept).dual(X, y, kernel="linear")
    kernel = KernelBlock.of_model(problem.model)
    loss = Subdifferential.of_conditions(problem.model.conditions, problem.data.n_samples)
    assert loss is not None
    own = program_of(problem, kernel, loss)
    assert own.has_few_features
    assert kernel.features is not None
    np.testing.assert_allclose(kernel.features.K, kernel.values, atol=1e-10)
    is_free = intercept == "free"
    found = loss.solved_on_features(kernel.features, 1e-9, is_free=is_free)
    other = loss.solved(kernel.values, np.zeros(len(y)), 1e-9, is_free=is_free)
    assert found is not None
    np.testing.assert_allclose(kernel.values @ found, kernel.values @ other, atol=1e-4)


def test_equal_samples_enter_one_at_a_time() -> None:
    for data in (TWINS, GRID):
        problem = qpsvm.SoftMargin(C=3.0).dual(*data, kernel=kernels.RBF(gamma=0.3))
        _, tableau = full_tableau(problem)
        X = data[0]
        same = (X[:, None] == X[None]).all(axis=2)
        np.testing.assert_array_equal(
            same, tableau.program.equals[:, None] == tableau.program.equals
        )
        alone = replace(tableau.program, equals=np.arange(len(X)))
        at_once = replace(tableau, program=alone)
        found, fewer = (by_trials(each, np.arange(len(X))) for each in (tableau, at_once))
        assert len(found.samples) > len(fewer.samples)
