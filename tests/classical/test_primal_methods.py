"""Sub-gradients, averages, steps, the perceptron and Newton's method on the primal."""

from __future__ import annotations

from itertools import islice, repeat
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm
from qpsvm import classical
from qpsvm.classical.subgradient import HingeTask, averaged, batches, descent
from tests.classical.cases import CANCER, SETOSA, assert_bounds, optimum, problem

ALL_SAMPLES = repeat(slice(None))

# --- by hand -------------------------------------------------------------------------------------


def test_the_hand_computed_case_is_exact() -> None:
    X, y, weights = [[0.5], [2.5]], [-1, 1], [1.0, 2.0]
    assert classical.hinge_cost(weights, X, y) == 4.0
    assert classical.hinge_cost(weights, X, y, regularization=2.0) == 5.5
    assert classical.hinge_cost([2.0], X, y, intercept=1.0) == 3.5  # 1/2 b^2 less
    assert classical.hinge_cost(weights, sp.csr_array(X), y) == 4.0


def test_the_hand_computed_case_is_the_package_s_own_objective() -> None:
    family = qpsvm.SoftMargin(C=1.0, intercept="penalized", average_loss=True)
    given = family.primal([[0.5], [2.5]], [-1, 1])
    machine = HingeTask(given).machine(np.array([1.0, 2.0, 0.0, 0.0]))
    assert qpsvm.certify(given, machine).primal_objective == 4.0


@pytest.mark.parametrize("intercept", [None, 0.3])
def test_the_subgradient_is_the_slope(intercept: float | None) -> None:
    X, y = CANCER
    labels, rng = np.where(y == 1, 1.0, -1.0), np.random.default_rng(0)
    weights = 0.1 * rng.standard_normal(X.shape[1] + (intercept is None))
    gradient, slope = classical.hinge_subgradient(
        weights, X, labels, regularization=3.0, intercept=intercept
    )

    def cost(v: Any, b: float | None) -> float:
        return classical.hinge_cost(v, X, labels, regularization=3.0, intercept=b)

    h = 1e-7
    for k in range(len(weights)):
        e = np.eye(len(weights))[k]
        central = (cost(weights + h * e, intercept) - cost(weights - h * e, intercept)) / (2 * h)
        assert gradient[k] == pytest.approx(central, abs=1e-6)
    if intercept is None:
        assert slope == 0.0
    else:
        central = (cost(weights, intercept + h) - cost(weights, intercept - h)) / (2 * h)
        assert slope == pytest.approx(central, abs=1e-6)


def test_it_is_a_subgradient_at_the_kink() -> None:
    X, y, v = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0]), np.array([0.0, 1.0])
    gradient, _ = classical.hinge_subgradient(v, X, y)
    for other in np.random.default_rng(0).standard_normal((50, 2)):
        below = classical.hinge_cost(v, X, y) + gradient @ (other - v)
        assert classical.hinge_cost(other, X, y) >= below - 1e-12


def test_a_step_is_the_one_of_the_page() -> None:
    X, y = CANCER
    given = problem("cancer", form="primal", intercept="penalized", average_loss=True, C=2.0)
    labels = np.where(y == 1, 1.0, -1.0)
    v = np.zeros(X.shape[1] + 1)
    states = descent(HingeTask(given), ALL_SAMPLES, 0.05)
    for at in islice(states, 5):
        v = v - 0.05 * classical.hinge_subgradient(v, X, labels, regularization=2.0)[0]
        np.testing.assert_allclose(at[: len(v)], v, atol=1e-13)


# --- sub-gradient descent -------------------------------------------------------------------------

METHODS = ["subgradient", "stochastic_subgradient", "pegasos"]


@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
@pytest.mark.parametrize("method", METHODS)
def test_every_row_bounds_the_optimum(method: str, intercept: str) -> None:
    given = problem("cancer", form="primal", intercept=intercept, average_loss=True, C=5.0)
    result = getattr(classical, method)(given, max_steps=100, max_seconds=None)
    assert_bounds(given, result)
    assert result.reason == "steps"
    assert result.relative_gap < 1.0


@pytest.mark.parametrize(
    ("method", "average", "eps"),
    [
        ("subgradient", "none", 1e-2),
        ("subgradient", "linear", 3e-2),
        ("stochastic_subgradient", "linear", 5e-2),
        ("pegasos", "linear", 2e-1),
    ],
)
def test_it_gets_near_the_optimum(method: str, average: Any, eps: float) -> None:
    given = problem("cancer", intercept="penalized", average_loss=True, C=5.0)
    result = getattr(classical, method)(
        given, average=average, eps=eps, max_seconds=None, max_steps=20_000
    )
    assert result.reason == "gap", result
    assert result.trace.cost[-1] <= optimum(given) * (1.0 + 2.0 * eps)


def test_the_steps_of_pegasos() -> None:
    given = problem("cancer", form="primal", intercept="none", average_loss=True, C=4.0)
    task = HingeTask(given)
    X, s = np.asarray(given.data.X), given.data.signs
    lam, w = 1.0 / 4.0, np.zeros(X.shape[1])
    order = np.random.default_rng(7).permutation(len(s))
    states = descent(task, batches(len(s), 1, 7), None, np.sqrt(np.sum(task.upper_bounds)))
    for t, (i, at) in enumerate(zip(order, islice(states, 60), strict=False), 1):
        eta = 1.0 / (lam * t)  # figure 1 of the paper, in its own scale
        loss = s[i] * (w @ X[i]) < 1.0
        w = (1.0 - eta * lam) * w + (eta * s[i] * X[i] if loss else 0.0)
        w = min(1.0, 1.0 / (np.sqrt(lam) * max(np.linalg.norm(w), 1e-300))) * w
        np.testing.assert_allclose(task.parts(at)[1], w, atol=1e-12)


def test_alpha_is_what_the_weights_are_made_of() -> None:
    given = problem("cancer", form="primal", intercept="free", average_loss=True, C=3.0)
    X, s = np.asarray(given.data.X), given.data.signs
    for average in ("none", "uniform", "linear"):
        task = HingeTask(given)
        states = descent(task, batches(len(s), 7, 0), None)
        for at in islice(averaged(states, average), 40):
            _, w, alpha = task.parts(at)
            np.testing.assert_allclose(X.T @ (s * alpha), w, atol=1e-11)


def test_averages_are_means() -> None:
    given = problem("cancer", form="primal", average_loss=True)
    plain, uniform, linear = (
        list(islice(averaged(descent(HingeTask(given), ALL_SAMPLES, None), kind), 9))
        for kind in ("none", "uniform", "linear")
    )
    np.testing.assert_allclose(uniform[-1], np.mean(plain, axis=0), atol=1e-12)
    expected = np.average(plain, axis=0, weights=np.arange(1, 10))
    np.testing.assert_allclose(linear[-1], expected, atol=1e-12)


def test_the_bias_first_is_the_bias_apart_for_the_same_objective() -> None:
    given = problem("cancer", form="primal", intercept="penalized", average_loss=True, C=5.0)
    for method in METHODS:
        one, other = (
            getattr(classical, method)(given, bias=bias, max_steps=60, max_seconds=None)
            for bias in ("separate", "first")
        )
        np.testing.assert_allclose(one.trace.cost, other.trace.cost, rtol=1e-9)
        assert one.solution.intercept == pytest.approx(other.solution.intercept, abs=1e-10)


def test_batches_cover_every_sample_once_per_pass() -> None:
    stream = batches(10, 4, 0)
    for _ in range(3):
        drawn = [next(stream) for _ in range(3)]
        assert [len(batch) for batch in drawn] == [4, 4, 2]
        assert sorted(np.concatenate(drawn)) == list(range(10))


def test_a_batch_of_all_samples_is_plain_descent() -> None:
    given = problem("cancer", form="primal", average_loss=True)
    n = given.data.n_samples
    whole = classical.subgradient(given, max_steps=30)
    batch = classical.stochastic_subgradient(given, batch_size=n, average="none", max_steps=30)
    np.testing.assert_allclose(whole.trace.cost, batch.trace.cost, rtol=1e-10)


def test_patience_ends_a_run_without_progress() -> None:
    given = problem("cancer", form="primal", intercept="penalized", average_loss=True)
    result = classical.subgradient(
        given, patience=3, min_change=0.01, max_seconds=None, max_steps=10**6
    )
    assert result.reason == "patience"
    costs = np.minimum.accumulate(result.trace.cost)
    assert costs[-4] - costs[-1] <= 3 * 0.01 * costs[-4]
    long = classical.subgradient(given, patience=10, min_change=0.01, max_steps=10**5)
    assert long.steps > result.steps


def test_other_names_of_the_classes_turn_the_machine_round() -> None:
    X, y = CANCER
    for method in METHODS:
        one, other = (
            getattr(classical, method)(
                qpsvm.SoftMargin(average_loss=True).primal(X, labels), max_steps=40
            )
            for labels in (y, 1 - y)
        )
        np.testing.assert_allclose(one.trace.cost, other.trace.cost, rtol=1e-9)
        np.testing.assert_allclose(one.solution.coef, -other.solution.coef, atol=1e-12)


def test_sparse_samples_make_no_difference() -> None:
    X, y = CANCER
    family = qpsvm.SoftMargin(intercept="penalized", average_loss=True)
    for bias in ("separate", "first"):
        one, other = (
            classical.stochastic_subgradient(family.primal(Z, y), bias=bias, max_steps=50)
            for Z in (X, sp.csr_array(X))
        )
        np.testing.assert_allclose(one.solution.coef, other.solution.coef, atol=1e-12)


# --- the perceptron -------------------------------------------------------------------------------


def test_the_perceptron_separates_and_is_not_the_widest() -> None:
    given = qpsvm.HardMargin().dual(*SETOSA)
    result = classical.perceptron(given)
    assert result.reason == "end"
    assert result.solution.score(*SETOSA) == 1.0
    assert result.relative_gap > 0.1
    widest = qpsvm.solve(given)
    assert result.trace.cost[-1] > 1.1 * qpsvm.certify(given, widest).primal_objective
    assert_bounds(given, result)


def test_the_rate_of_the_perceptron_changes_no_label() -> None:
    given = qpsvm.HardMargin().dual(*SETOSA)
    one, other = (classical.perceptron(given, rate=rate) for rate in (0.01, 100.0))
    assert one.steps == other.steps
    np.testing.assert_array_equal(one.solution.predict(SETOSA[0]), SETOSA[1])
    np.testing.assert_allclose(one.trace.gap[1:], other.trace.gap[1:], rtol=1e-6)


def test_the_perceptron_runs_to_its_limit_on_classes_that_cannot_be_separated() -> None:
    given = qpsvm.HardMargin().primal([[0.0], [1.0], [2.0]], [-1, 1, -1])
    result = classical.perceptron(given, max_steps=500)
    assert result.reason == "steps"
    assert np.isinf(result.relative_gap)


# --- Newton ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_newton_ends_at_the_exact_optimum(kernel: str, intercept: str, form: str) -> None:
    given = problem(
        "cancer", form=form, intercept=intercept, loss="squared_hinge", kernel=kernel, C=3.0
    )
    methods = [classical.kernel_newton] + [classical.newton] * (kernel == "linear")
    for method in methods:
        result = method(given, eps=1e-10)
        assert result.relative_gap < 1e-10, result
        assert result.steps < 30
        assert_bounds(given, result)
        assert (np.diff(result.trace.cost) <= 1e-12 * result.trace.cost[:-1]).all()
        assert result.solution.status.value == "optimal"


def test_newton_takes_weights_of_samples_and_of_classes() -> None:
    X, y = CANCER
    family = qpsvm.SoftMargin(loss="squared_hinge", class_weight="balanced")
    weights = np.random.default_rng(0).uniform(0.2, 3.0, len(y))
    given = family.primal(X, y, sample_weight=weights)
    assert classical.newton(given, eps=1e-9).reason == "gap"
    assert classical.kernel_newton(given, eps=1e-9).reason == "gap"
