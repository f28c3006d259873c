"""A solution of other samples, or other prices, as a start: who is recognised, and what is kept."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm
from qpsvm.exceptions import InvalidParameterError
from qpsvm.kernels import RBF, Custom
from qpsvm.machines.warm_start import transfer_warm_start
from tests import tolerances

N = 60
RNG = np.random.default_rng(4)
X = RNG.normal(size=(N + 20, 3))
Y = np.where(X[:, 0] + RNG.normal(0.0, 0.5, N + 20) > 0, 1, -1)
T = X[:, 1] + RNG.normal(0.0, 0.1, N + 20)
KERNEL = RBF(0.5)

FAMILIES = {
    "hinge": (lambda C: qpsvm.SoftMargin(C=C), Y),
    "no intercept": (lambda C: qpsvm.SoftMargin(C=C, intercept="none"), Y),
    "squared hinge": (lambda C: qpsvm.SoftMargin(C=C, loss="squared_hinge"), Y),
    "nu": (lambda _: qpsvm.NuClassification(nu=0.4), Y),
    "regression": (lambda C: qpsvm.EpsilonRegression(C=C, epsilon=0.05), T),
    "quantile": (lambda C: qpsvm.QuantileRegression(tau=0.3, C=C), T),
    "one class": (lambda _: qpsvm.OneClass(nu=0.4), None),
}
EVERY = pytest.mark.parametrize("family", FAMILIES)


def solved(family, rows, C=2.0, kernel=KERNEL, samples=X):
    problem = problem_of(family, rows, C, kernel, samples)
    return qpsvm.solve(problem, "active-set", eps=1e-12)


def problem_of(family, rows, C=2.0, kernel=KERNEL, samples=X):
    formulation, y = FAMILIES[family]
    return formulation(C).dual(samples[rows], None if y is None else y[rows], kernel=kernel)


def assert_same(alpha, expected) -> None:
    largest = np.max(np.abs(expected))
    np.testing.assert_allclose(alpha, expected, rtol=0.0, atol=tolerances.ROUNDING * largest)


@EVERY
def test_in_another_order_it_is_the_optimum_already(family) -> None:
    start, order = solved(family, np.arange(N)), np.random.default_rng(0).permutation(N)
    problem = problem_of(family, order)
    found = transfer_warm_start(problem.model, start)
    assert qpsvm.verify(problem, problem.recover(problem.to_qp(found))).passed
    assert_same(found.expansion, start.expansion[order])


@EVERY
def test_among_other_samples_it_is_feasible_and_keeps_what_it_knows(family) -> None:
    start, rows = solved(family, np.arange(N)), np.arange(15, N + 20)
    problem = problem_of(family, rows)
    c, found = problem.model.conditions, transfer_warm_start(problem.model, start)
    point = problem.model.feasible_dual(found.alpha)
    assert_same(point.alpha, found.alpha)  # nothing to repair
    assert ((found.alpha >= c.lower) & (found.alpha <= c.upper)).all()
    if family == "no intercept":  # nothing to repair there before, either
        np.testing.assert_array_equal(found.alpha[: N - 15], start.alpha[15:])
        np.testing.assert_array_equal(found.alpha[N - 15 :], 0.0)


@pytest.mark.parametrize("family", ["no intercept", "quantile"])
def test_with_another_price_everyone_keeps_the_share_of_the_box(family) -> None:
    rows = np.arange(N)
    start, problem = solved(family, rows, C=2.0), problem_of(family, rows, C=5.0)
    found = transfer_warm_start(problem.model, start)
    assert_same(found.alpha, 2.5 * start.alpha)
    is_bounded = (start.alpha == start.upper) | (start.alpha == start.conditions.lower)
    assert is_bounded.any()
    c = problem.model.conditions
    at_bounds = (found.alpha == c.upper) | (found.alpha == c.lower)
    assert (at_bounds >= is_bounded).all()


def test_several_of_a_kind_are_known_by_their_order() -> None:
    twice = np.concatenate([X[:N], X[:N]])
    y = np.concatenate([Y[:N], Y[:N]])
    y[N] = -y[N]  # as a sample of the other class it is another one
    family = qpsvm.SoftMargin(C=1.0, intercept="none")
    start = qpsvm.solve(family.dual(twice, y, kernel=KERNEL))
    other = np.arange(1.0, 2 * N + 1.0) / (4.0 * N)  # alphas to be told apart by
    start = start.replace(alpha=other)
    order = np.concatenate([[N], np.arange(N)[::-1], np.arange(N + 1, 2 * N)])
    found = transfer_warm_start(family.dual(twice[order], y[order], kernel=KERNEL).model, start)
    np.testing.assert_array_equal(found.alpha, other[order])


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array, np.asfortranarray])
@pytest.mark.parametrize("before", [np.asarray, sp.csr_array])
def test_however_samples_are_stored_they_are_the_same(before, storage) -> None:
    thin = np.where(X > 0.0, X, 0.0)
    family, order = qpsvm.SoftMargin(C=1.0, intercept="none"), np.arange(N)[::-1]
    start = qpsvm.solve(family.dual(before(thin[:N]), Y[:N], kernel=KERNEL))
    found = transfer_warm_start(
        family.dual(storage(thin[order]), Y[order], kernel=KERNEL).model, start
    )
    np.testing.assert_array_equal(found.alpha, start.alpha[order])


def test_words_are_recognised() -> None:
    words = np.array([f"{a:.2f} {b:.2f}" for a, b in X[:, :2]])

    def numbers(left, right):
        return RBF(0.5)(*(np.array([text.split() for text in s], float) for s in (left, right)))

    family, order = qpsvm.SoftMargin(C=1.0, intercept="none"), np.arange(N)[::-1]
    start = qpsvm.solve(family.dual(words[:N], Y[:N], kernel=Custom(numbers)))
    again = family.dual(words[order].tolist(), Y[order], kernel=Custom(numbers))
    np.testing.assert_array_equal(transfer_warm_start(again.model, start).alpha, start.alpha[order])


@EVERY
def test_solve_takes_it(family) -> None:
    start, rows = solved(family, np.arange(N)), np.arange(5, N + 5)
    problem = problem_of(family, rows)
    warm = qpsvm.solve(problem, "active-set", warm_start=start)
    assert qpsvm.verify(problem, warm).passed
    cold = qpsvm.solve(problem, "active-set")
    assert problem.qp.objective(warm.qp.x) == pytest.approx(
        problem.qp.objective(cold.qp.x), rel=tolerances.SAME_OBJECTIVE
    )


def test_parts_of_several_classes_take_theirs() -> None:
    y = np.arange(N + 20) % 3
    reduction = qpsvm.OneVsOne(qpsvm.SoftMargin(C=1.0))
    start = qpsvm.solve(reduction.dual(X[:N], y[:N], kernel=KERNEL), "active-set")
    problem = reduction.dual(X[4 : N + 10], y[4 : N + 10], kernel=KERNEL)
    assert qpsvm.verify(problem, qpsvm.solve(problem, "active-set", warm_start=start)).passed


def test_a_part_without_a_sample_in_common_starts_anew() -> None:
    y = np.arange(N + 20) // 20
    reduction = qpsvm.OneVsOne(qpsvm.SoftMargin(C=1.0))
    start = qpsvm.solve(reduction.dual(X[:N], y[:N], kernel=KERNEL), "active-set")
    problem = reduction.dual(X[20:], y[20:], kernel=KERNEL)
    assert qpsvm.verify(problem, qpsvm.solve(problem, "active-set", warm_start=start)).passed


@pytest.mark.parametrize("change", [{"alpha": np.full(N, 1e308)}, {"constraint_multipliers": None}])
def test_from_nonsense_it_gets_there_all_the_same(change) -> None:
    start, problem = solved("hinge", np.arange(N)).replace(**change), problem_of("hinge", range(50))
    assert qpsvm.verify(problem, qpsvm.solve(problem, "active-set", warm_start=start)).passed


def test_a_linear_machine_keeps_its_weights() -> None:
    family = qpsvm.SoftMargin(C=1.0)
    start = qpsvm.solve(family.primal(X[:N], Y[:N]))
    problem = family.primal(X[5 : N + 5], Y[5 : N + 5])
    np.testing.assert_array_equal(transfer_warm_start(problem.model, start).coef, start.coef)
    assert qpsvm.verify(problem, qpsvm.solve(problem, "osqp", warm_start=start)).passed


# --- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (problem_of("regression", np.arange(N)), ["another kind", "60 conditions on 60", "120"]),
        (problem_of("hinge", np.arange(N, N + 20)), ["60 samples, none", "the 20 of the problem"]),
        (problem_of("hinge", np.arange(50), samples=2 * X), ["none of which", "scaled"]),
        (
            qpsvm.SoftMargin().dual(KERNEL(X[:9], X[:9]), Y[:9], kernel="precomputed"),
            ["rows of a kernel matrix, are not compared"],
        ),
    ],
    ids=["another family", "no sample in common", "scaled anew", "matrix"],
)
def test_what_does_not_fit_says_why(problem, words) -> None:
    start = solved("hinge", np.arange(N))
    with pytest.raises(InvalidParameterError, match=r"^warm_start [^:]*$") as caught:
        qpsvm.solve(problem, "active-set", warm_start=start)
    for word in words:
        assert word in str(caught.value)
    with pytest.raises(InvalidParameterError, match="no alpha"):
        transfer_warm_start(problem.model, start.replace(alpha=None))


@pytest.mark.parametrize("samples", [2 * X, None], ids=["scaled anew", "matrix"])
def test_as_many_that_cannot_be_known_are_taken_in_their_order(samples) -> None:
    rows, family = np.arange(N), qpsvm.SoftMargin(C=2.0)
    start = solved("hinge", rows)
    if samples is None:
        problem = family.dual(KERNEL(X[:N], X[:N]), Y[:N], kernel="precomputed")
    else:
        problem = problem_of("hinge", rows, samples=samples)
    np.testing.assert_array_equal(transfer_warm_start(problem.model, start).alpha, start.alpha)
