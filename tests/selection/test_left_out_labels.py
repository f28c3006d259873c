"""A decided left-out label is that of every optimum of the program without the sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import chain, islice, product
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import datasets
from sklearn.base import clone
from sklearn.preprocessing import scale

import qpsvm
from benchmarks.soundness.left_out import false_claims
from benchmarks.soundness.rational import dot, exact, gram, times
from benchmarks.soundness.small_problems import Drawn, decision_ranges, draw
from qpsvm import kernels
from qpsvm.estimators import SVC, LinearSVC
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
from qpsvm.selection.machine_bounds import HeldOut, held_out
from qpsvm.selection.proven_steps import proven_bounds
from qpsvm.selection.subdifferential import Subdifferential
from qpsvm.selection.tableau import LeftOutMachines, Program, Tableau, by_trials

X, Y = (part[:60] for part in datasets.load_breast_cancer(return_X_y=True))
X = scale(X)
WEIGHTS = np.repeat([1.0, 3.0, 0.5], 20)


pytestmark = pytest.mark.filterwarnings(
    "ignore::qpsvm.exceptions.ToleranceNotReachedWarning"  # of problems that are hard on purpose
)


def small_problems(seed: int, count: int) -> Iterator[Drawn]:
    """Problems that take no seconds: without offsets, on which solvers try everything."""
    drawn = (draw(np.random.default_rng([seed, number])) for number in range(100 * count))
    return islice((each for each in drawn if "offset" not in each.trait), count)


def claims(problems: Iterator[Drawn]) -> Counter[str]:
    """Claims about the left-out samples of some problems; fails at the first that is false."""
    counts = Counter[str]()
    for drawn in problems:
        with np.errstate(all="ignore"):
            assert not list(false_claims(drawn, counts)), drawn
    return counts


def test_no_claim_contradicts_the_exact_programs() -> None:
    counts = claims(small_problems(seed=100, count=15))
    assert counts["decided labels"] > 0.6 * counts["unique labels"]


@pytest.mark.exhaustive
def test_no_claim_contradicts_many_exact_programs() -> None:
    claims(draw(np.random.default_rng([101, number])) for number in range(300))


@pytest.mark.parametrize("class_weight", ["balanced", {1: 3.0}])
@pytest.mark.parametrize("machine", [SVC(gamma=0.05), LinearSVC(loss="hinge")], ids=str)
def test_a_sample_leaves_the_problem_of_an_estimator_as_it_leaves_its_fit(
    machine: Any, class_weight: Any
) -> None:
    rows = np.r_[np.flatnonzero(Y == 1)[:4], np.flatnonzero(Y == 0)[:12]]
    samples, labels, weights = X[rows], Y[rows], WEIGHTS[rows]
    machine = clone(machine).set_params(class_weight=class_weight)
    found = leave_one_out(clone(machine).fit(samples, labels, weights).problem_)
    for i in range(len(rows)):
        given = (np.delete(part, i, axis=0) for part in (samples, labels, weights))
        bounds = clone(machine).fit(*given).certificate_.decision_bounds(samples[i : i + 1])
        assert bounds.lower[0] <= found.decisions[i] + found.radius[i]
        assert found.decisions[i] - found.radius[i] <= bounds.upper[0]


def line(x: list[float], y: list[int], C: float, **more: Any) -> Drawn:
    """A classifier of numbers, with the linear kernel."""
    samples = np.array(x)[:, None]
    return Drawn("ties", "plain", samples, np.array(y), ("linear", {}), C, "free", **more)


@pytest.mark.parametrize(
    ("drawn", "i"),
    [
        (line([2.0, 2.0, 0.0, -1.0, -2.0], [1, -1, 1, -1, -1], 0.01), 4),
        (line([1.0, -2.0, 2.0, 0.0, 1.0], [-1, 1, -1, -1, 1], 0.01), 2),
    ],
)
def test_an_alpha_of_zero_decides_nothing_where_the_intercept_moves(drawn: Drawn, i: int) -> None:
    others = [j for j in range(len(drawn.y)) if j != i]
    ((low, high),) = decision_ranges(drawn, drawn.gram, others, [i])
    assert low < 0 < high
    found = leave_one_out(drawn.problem())
    assert not found.decided[i]
    assert found.radius[i] >= (high - low) / 2


@pytest.mark.parametrize(
    ("formulation", "weights"),
    [
        (qpsvm.SoftMargin(C=0.3, class_weight="balanced"), None),
        (qpsvm.SoftMargin(C=0.3, class_weight="balanced"), WEIGHTS),
        (qpsvm.SoftMargin(C=20.0, average_loss=True), None),
        (qpsvm.SoftMargin(C=20.0, class_weight={0: 3.0, 1: 0.5}, average_loss=True), WEIGHTS),
        (qpsvm.SoftMargin(C=20.0, class_weight="balanced", average_loss=True), None),
        (qpsvm.EpsilonRegression(C=20.0, average_loss=True), WEIGHTS),
    ],
    ids=["balanced", "weighted, balanced", "mean", "weighted mean", "balanced mean", "tube"],
)
def test_prices_are_those_of_the_program_without_the_sample(formulation: Any, weights: Any) -> None:
    targets = X[:, 0] + X[:, 1] ** 2 if hasattr(formulation, "epsilon") else Y
    kernel = kernels.RBF(gamma=0.03)
    found = leave_one_out(formulation.dual(X, targets, kernel=kernel, sample_weight=weights))
    assert np.mean(found.decided) > 0.9
    assert np.mean(found.how == BY_REFIT) < 0.1
    for i in range(0, len(X), 6):
        others = np.arange(len(X)) != i
        own = None if weights is None else weights[others]
        part = formulation.dual(X[others], targets[others], kernel=kernel, sample_weight=own)
        proof = qpsvm.certify(part, qpsvm.solve(part, eps=1e-11), rigorous=True)
        bounds = proof.decision_bounds(X[[i]])
        assert found.decisions[i] - found.radius[i] <= bounds.upper[0]
        assert found.decisions[i] + found.radius[i] >= bounds.lower[0]


def test_samples_of_weights_of_their_own_are_refitted() -> None:
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 20)
    few = np.arange(20)
    problem = qpsvm.SoftMargin(average_loss=True, C=10.0).dual(
        X[few], np.arange(20) % 2, kernel="rbf", sample_weight=weights
    )
    found = leave_one_out(problem)
    assert (found.how == BY_REFIT).all()
    assert found.span_errors is None


def test_a_group_of_equal_prices_may_be_settled_by_the_certificate() -> None:
    samples = np.array([-9.0, -8.0, -7.0, -6.0, -1.0, -0.5, 0.5, 1.0, 6.0, 7.0, 8.0, 9.0])[:, None]
    weights = np.where(np.abs(samples.ravel()) > 5.0, 1.0, 2.0)
    formulation = qpsvm.SoftMargin(C=10.0, class_weight="balanced")
    found = leave_one_out(formulation.dual(samples, samples.ravel() > 0.0, sample_weight=weights))
    assert (found.how[weights == 1.0] == BY_CERTIFICATE).all()
    assert found.decided[weights == 1.0].all()


def test_kernel_values_that_are_rounding_decide_nothing_wrong() -> None:
    rng = np.random.default_rng(0)
    Z = np.round(rng.normal(size=(30, 2)) * 1024) / 1024
    y = np.where(Z[:, 0] + 0.5 * rng.normal(size=30) > 0, 1, -1)
    kernel, formulation = kernels.RBF(0.1), qpsvm.SoftMargin(C=100.0)
    truth = leave_one_out(formulation.dual(Z, y, kernel=kernel))
    assert truth.decided.all()
    found = leave_one_out(formulation.dual(sp.csr_array(Z + 1e8), y, kernel=kernel))
    decided = found.decided
    np.testing.assert_array_equal(found.predictions[decided], truth.predictions[decided])
    assert np.isfinite(found.radius[decided]).all()


def far_from_the_origin(offset: float) -> Drawn:
    """A regression whose decision values are sums that cancel."""
    rng = np.random.default_rng(0)
    samples, values = rng.normal(size=(8, 1)) + offset, rng.integers(-4, 5, 8) / 2.0
    linear = "polynomial", {"gamma": 1.0, "p": 1, "c": 0.0}  # which no offset is taken from
    return Drawn("offset", "plain", samples, values, linear, 1.0, "free", epsilon=0.1)


def test_the_radius_has_the_rounding_of_sums_that_cancel() -> None:
    assert not list(false_claims(far_from_the_origin(1e4), Counter[str]()))


@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
def test_a_decided_label_has_a_radius_smaller_than_its_value(intercept: Any) -> None:
    for C in (0.01, 1.0, 100.0):
        found = leave_one_out(qpsvm.SoftMargin(C=C, intercept=intercept).dual(X, Y, kernel="rbf"))
        np.testing.assert_array_equal(found.decided, found.radius < np.abs(found.decisions))


def program(problem: Any) -> Program:
    loss = Subdifferential.of_conditions(problem.model.conditions, problem.data.n_samples)
    assert loss is not None
    return program_of(problem, KernelBlock.of_model(problem.model), loss)


@pytest.mark.parametrize("together", [False, True], ids=["alone", "together"])
@pytest.mark.parametrize("intercept", ["free", "penalized"])
@pytest.mark.parametrize(
    ("kernel", "name", "parameters"),
    [
        (kernels.Linear(), "linear", {}),
        (kernels.Polynomial(0.3, 3, 1.0), "polynomial", {"gamma": 0.3, "p": 3, "c": 1.0}),
        (kernels.Polynomial(0.3, 9, 1.0), "polynomial", {"gamma": 0.3, "p": 9, "c": 1.0}),
        (kernels.RBF(0.2), "rbf", {"gamma": 0.2}),
        (kernels.RBF(0.2), "sparse rbf", {"gamma": 0.2}),
    ],
    ids=["linear", "cubic", "degree 9", "rbf", "sparse rbf"],
)
def test_exact_sums_are_in_their_balls(
    kernel: Any, name: str, parameters: Any, intercept: Any, together: bool
) -> None:
    rng = np.random.default_rng(0)
    for offset in (0.0, 1e3, 1e7):
        samples = rng.normal(size=(6, 2)) + offset
        stored = sp.csr_array(samples) if "sparse" in name else samples
        formulation = qpsvm.SoftMargin(intercept=intercept)
        problem = formulation.dual(stored, np.arange(6) % 2, kernel=kernel)
        matrix = KernelBlock.of_model(problem.model)
        beta = rng.integers(-(2**20), 2**20, (4, 6)) * 2.0 ** rng.integers(-30, 1, (4, 1))
        beta[:2, :4] = 0.0  # two samples: errors do not cancel
        beta[:, -1] -= np.sum(beta, axis=1)  # zero, exactly
        rows, sums = exact(samples), matrix.sums(beta, together=together)
        radius = sums.rounding + sums.entries
        shift = int(intercept == "penalized")
        values = gram(name.split(maxsplit=1)[-1], rows, rows, **parameters)
        K = [[v + shift for v in row] for row in values]
        for k, coefficients in enumerate(exact(beta)):
            if not np.isfinite(radius[k]).all():
                continue
            truth = times(K, coefficients)
            off = [v - m for v, m in zip(truth, exact(sums.values[k]), strict=True)]
            # a free intercept takes up what is the same for all samples
            common = off[0] if intercept == "free" else Fraction(0)
            at_most = [r + (exact(radius[k])[0] if common else 0) for r in exact(radius[k])]
            assert all(abs(v - common) <= r for v, r in zip(off, at_most, strict=True))


def by_gap(own: Program, machines: LeftOutMachines) -> tuple[np.ndarray, np.ndarray]:
    found = enclosed(own, own.loss.without(machines.samples), machines.beta, machines.samples)
    values, radius = intervals(found)
    return values[:, 0], radius[:, 0]


def test_bounds_of_machines_that_are_not_optimal_hold() -> None:
    checked, rng = Counter[str](), np.random.default_rng(0)
    far = [far_from_the_origin(offset) for offset in (1e4, 1e5, 1e6)]
    for drawn in chain(small_problems(seed=7, count=20), far):
        if drawn.intercept != "free" or drawn.average or drawn.class_weight == "balanced":
            continue
        problem = drawn.problem()
        own = program(problem)
        beta = np.asarray(qpsvm.solve(problem).expansion)
        tableau = Tableau.of(own, beta)
        if tableau is None or drawn.kernel[0] == "rbf":
            continue
        machines = by_trials(tableau, np.arange(len(drawn.y)))
        everyone = range(len(drawn.y))
        ranges = [
            decision_ranges(drawn, drawn.gram, [j for j in everyone if j != i], [int(i)])[0]
            for i in machines.samples
        ]
        trials = product((by_gap, proven_bounds), [0.0, 1e-12, 1e-9, 1e-6, 1e-3])
        for bounds_of, size in trials:
            noise = size * rng.normal(size=machines.beta.shape)
            moved = replace(machines, beta=machines.beta * (1.0 + noise), b=machines.b + size)
            for ends, value, radius in zip(ranges, *bounds_of(own, moved), strict=True):
                if np.isfinite(radius):
                    assert Fraction(value) - Fraction(radius) <= ends[0]
                    assert ends[1] <= Fraction(value) + Fraction(radius)
                    checked[bounds_of.__name__] += 1
    assert all(checked[of.__name__] > 20 for of in (by_gap, proven_bounds)), checked


def stalled(own: Program, b: float) -> HeldOut:
    """Bounds of a machine that neither its weights alone improve, nor its intercept alone."""
    for _ in range(10):
        moved = replace(own.loss, a=own.loss.a - b, c=own.loss.c - b)
        zero = np.zeros(len(own.equals))
        beta = moved.solved(own.kernel.values, zero, 1e-12, is_free=False)[None]
        sums = own.kernel.sums(beta)
        found = held_out(own.loss.of(None), beta, sums, sums)
        b = float(found.values[0, 0] - sums.values[0, 0])
    return found


def test_a_machine_whose_coefficients_do_not_add_up_to_zero_is_no_optimum() -> None:
    """Every condition holds but the sum's: what it is missed by is priced."""
    checked, rng = Counter[str](), np.random.default_rng(1)
    for drawn in small_problems(seed=11, count=25):
        own = program(drawn.problem())
        if drawn.intercept != "free" or drawn.kernel[0] == "rbf" or own.upper_bound_error:
            continue
        everyone = list(range(len(drawn.y)))
        optimal = decision_ranges(drawn, drawn.gram, everyone, everyone)
        for b in rng.normal(size=4):
            found = stalled(own, float(b))
            for ends, low, high in zip(optimal, found.lower[0], found.upper[0], strict=True):
                if np.isfinite([low, high]).all():
                    assert Fraction(low) <= ends[0]
                    assert ends[1] <= Fraction(high)
                    checked["finite"] += 1
    assert checked["finite"] > 100


def test_all_three_steps_settle_samples() -> None:
    found = leave_one_out(qpsvm.SoftMargin(C=1.0).dual(X, Y, kernel=kernels.RBF(gamma=0.03)))
    assert (found.how == BY_CERTIFICATE).any()
    assert (found.how == BY_DOWNDATE).any()


def test_the_exact_judge_knows_its_prices() -> None:
    drawn = line([0.0, 1.0, 2.0], [1, -1, -1], 3.0, class_weight="balanced", average=True)
    # W = 3, k = 2: the classes have the factors 3/2 and 3/4
    assert drawn.prices() == [Fraction(3, 2), Fraction(3, 4), Fraction(3, 4)]
    assert dot(drawn.prices(), [Fraction(1)] * 3) == 3
