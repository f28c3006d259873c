"""The solver: exact on every family and on awkward data, whatever is done to the samples."""

from __future__ import annotations

import threading
from dataclasses import fields
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import qpsvm
from qpsvm.backends import Settings, get
from qpsvm.exceptions import UnsupportedProgramError
from qpsvm.qp import LowRankQuadratic, QuadraticProgram, Status, residuals
from qpsvm.solvers.linear.settings import LinearSettings
from tests import tolerances
from tests.interrupts import interrupted_point
from tests.strategies import grid, listed

EPS = 1e-8
SOLVER = get("ipm")


def raw(problem, **changes):
    """What the solver itself hands out: no polish, no second attempt."""
    return SOLVER.solve(problem.qp, Settings(eps=EPS, **changes))


def regression(n=200, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X @ rng.standard_normal(d) + rng.standard_normal(n)


def classes(n=200, d=5, seed=0, shift=0.0):
    X, y = regression(n, d, seed)
    return X, np.where(y > shift, 1, -1)


FAMILIES = {
    "hinge": lambda: qpsvm.SoftMargin(C=1.0).dual(*classes()),
    "penalised": lambda: qpsvm.SoftMargin(C=1.0, intercept="penalized").dual(*classes()),
    "no intercept": lambda: qpsvm.SoftMargin(C=1.0, intercept="none").dual(*classes()),
    "squared hinge": lambda: qpsvm.SoftMargin(C=1.0, loss="squared_hinge").dual(*classes()),
    "hard margin": lambda: qpsvm.HardMargin().dual([[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1]),
    "tube": lambda: qpsvm.EpsilonRegression(C=1.0, epsilon=0.1).dual(*regression()),
    "quantile": lambda: qpsvm.QuantileRegression(C=1.0, tau=0.3).dual(*regression()),
    "nu": lambda: qpsvm.NuClassification(nu=0.3).dual(*classes()),
    "nu regression": lambda: qpsvm.NuRegression(C=1.0, nu=0.3).dual(*regression()),
    "one class": lambda: qpsvm.OneClass(nu=0.1).dual(regression()[0] + 5.0),
    "ball": lambda: qpsvm.DataDescription(C=0.05).dual(regression()[0]),
    "least squares": lambda: qpsvm.LeastSquares(C=1.0).dual(*classes()),
    "ranking": lambda: qpsvm.Ranking(C=1.0).dual(*regression(n=25)),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_by_its_own_strength(name) -> None:
    problem = FAMILIES[name]()
    found = raw(problem)
    report = qpsvm.verify(problem, problem.recover(found), eps=EPS)
    assert found.status is Status.OPTIMAL
    assert report.passed, report


PRIMALS = {
    "hinge": lambda: qpsvm.SoftMargin(C=1.0).primal(*classes()),
    "penalised": lambda: qpsvm.SoftMargin(C=1.0, intercept="penalized").primal(*classes()),
    "squared hinge": lambda: qpsvm.SoftMargin(C=1.0, loss="squared_hinge").primal(*classes()),
    "hard margin": lambda: qpsvm.HardMargin().primal([[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1]),
    "tube": lambda: qpsvm.EpsilonRegression(C=1.0, epsilon=0.1).primal(*regression()),
    "quantile": lambda: qpsvm.QuantileRegression(C=1.0, tau=0.3).primal(*regression()),
    "nu": lambda: qpsvm.NuClassification(nu=0.3).primal(*classes()),
    "one class": lambda: qpsvm.OneClass(nu=0.1).primal(regression()[0] + 5.0),
}


@pytest.mark.parametrize("name", PRIMALS)
def test_primal_programs_by_their_duals(name) -> None:
    problem = PRIMALS[name]()
    solution = qpsvm.solve(problem, "ipm", eps=EPS)
    assert solution.status is Status.OPTIMAL


@pytest.mark.parametrize("C", [1e-6, 1e-2, 1.0, 1e2, 1e4])
@pytest.mark.parametrize("intercept", ["free", "penalized"])
def test_any_price(C, intercept) -> None:
    problem = qpsvm.SoftMargin(C=C, intercept=intercept).dual(*classes(400, 8, seed=1))
    assert qpsvm.verify(problem, problem.recover(raw(problem)), eps=EPS).passed


AWKWARD = {
    "rows of zeros": lambda X, y: (np.where(np.arange(len(X))[:, None] % 3, X, 0.0), y),
    "every sample four times": lambda X, y: (np.tile(X, (4, 1)), np.tile(y, 4)),
    "constant columns": lambda X, y: (np.hstack([X, np.ones((len(X), 2))]), y),
    "equal columns": lambda X, y: (np.hstack([X, X]), y),
    "a column a thousand times larger": lambda X, y: (X * np.r_[1e3, np.ones(X.shape[1] - 1)], y),
    "far from the origin": lambda X, y: (X + 100.0, y),
    "one of a class": lambda X, y: (X, np.where(np.arange(len(y)) == 7, 1, -1)),
    "features that say nothing": lambda X, y: (np.zeros_like(X), y),
    "the same sample in both classes": lambda X, y: (np.vstack([X, X]), np.r_[y, -y]),
    "more features than samples": lambda X, y: (
        X[:8].repeat(4, axis=1)[:, :20],
        y[:8] * 0 + [-1, 1] * 4,
    ),
}


@pytest.mark.parametrize("intercept", ["free", "penalized"])
@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_data(name, intercept) -> None:
    problem = qpsvm.SoftMargin(C=1.0, intercept=intercept).dual(*AWKWARD[name](*classes()))
    solution = qpsvm.solve(problem, "ipm", eps=EPS)
    assert solution.status is Status.OPTIMAL


@listed("intercept, n", [("free", 40), ("penalized", 200)], quick=1)
def test_a_column_a_million_times_larger(intercept, n) -> None:
    """Weights of 1e-6 are no sums of x that doubles can hold: they are corrected beside alpha."""
    X, y = classes(n)
    X = X * np.r_[1e6, np.ones(X.shape[1] - 1)]
    machine = qpsvm.SoftMargin(C=1.0, intercept=intercept)
    for form in (machine.primal, machine.dual):
        assert qpsvm.solve(form(X, y), "ipm", eps=EPS).status is Status.OPTIMAL


def text(n=900, d=4000, seed=0):
    """Sparse samples of unit length with more features than samples, some of them twice."""
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, d), density=0.01, rng=rng, format="csr")
    X.data[:] = rng.standard_normal(X.nnz) ** 2 + 0.1
    y = np.where(X @ rng.standard_normal(d) + 0.3 * rng.standard_normal(n) > 0.0, 1, -1)
    X = sp.csr_array(X / np.maximum(np.sqrt(X.multiply(X).sum(axis=1)), 1e-9)[:, None])
    return sp.csr_array(sp.vstack([X, X[:100]])), np.r_[y, y[:100]]


def many(n=9000, d=6, seed=0, shift=0.0):
    """Enough samples for a guess: with a shift hardly one is near its margin."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.where(X @ np.ones(d) + rng.standard_normal(n) > 0.0, 1, -1)
    return X + shift * y[:, None], y


def thinned(X, y):
    """Without the entries that are small."""
    return sp.csr_array(X * (np.abs(X) > 1.2)), y


LARGER = {
    "text": text,
    "many": many,
    "hardly any near the margin": lambda: many(shift=3.0),
    "long tails": lambda: (np.random.default_rng(1).standard_t(2, (9000, 6)), many()[1]),
    "sparse": lambda: thinned(*many(d=30)),
}


@grid("name, intercept, C", product(LARGER, ["free", "penalized"], [1e-3, 1.0, 1e3]))
def test_larger_programs_by_a_guess(name, intercept, C) -> None:
    problem = qpsvm.SoftMargin(C=C, intercept=intercept).dual(*LARGER[name]())
    found = raw(problem)
    assert found.status is Status.OPTIMAL
    assert qpsvm.certify(problem, problem.recover(found)).relative_gap <= EPS
    assert qpsvm.solve(problem, "ipm", eps=EPS).status is Status.OPTIMAL


@pytest.mark.parametrize(
    "problem",
    [
        lambda: qpsvm.SoftMargin(C=1.0, loss="squared_hinge").dual(*many()),
        lambda: qpsvm.EpsilonRegression(C=1.0, epsilon=0.1).dual(*regression(5000)),
        lambda: qpsvm.QuantileRegression(C=1.0, tau=0.3).dual(*regression(5000)),
        lambda: qpsvm.NuClassification(nu=0.3).dual(*many()),
        lambda: qpsvm.OneClass(nu=0.1).dual(regression(5000)[0] + 5.0),
        lambda: qpsvm.EpsilonRegression(C=1.0, epsilon=0.1).dual(
            text(300)[0], np.sin(np.arange(400.0))
        ),
    ],
)
def test_larger_programs_of_other_families(problem) -> None:
    problem = problem()
    found = raw(problem)
    assert found.status is Status.OPTIMAL
    assert qpsvm.certify(problem, problem.recover(found)).relative_gap <= EPS
    assert qpsvm.solve(problem, "ipm", eps=EPS).status is Status.OPTIMAL


FREE = qpsvm.constraints.LinearConstraints(A=np.eye(6)[:1], b=[0.3])

CORNERS = {
    "a free variable among many": lambda: qpsvm.SoftMargin(C=1.0).dual(*many(), constraints=FREE),
    "every variable has its value": lambda: qpsvm.SoftMargin(C=1.0, intercept="none").dual(
        np.zeros((4, 1)), [1, -1, 1, -1]
    ),
    "a row without slack": lambda: qpsvm.NuClassification(nu=1.0).dual(
        regression(6, 2)[0], [1, -1] * 3
    ),
    "a tube wider than the data": lambda: qpsvm.EpsilonRegression(C=1.0, epsilon=100.0).dual(
        *regression()
    ),
    "fewer samples than features, primal": lambda: qpsvm.SoftMargin(C=1.0).primal(*classes(6, 30)),
    "duplicates beside a free variable": lambda: qpsvm.SoftMargin(C=1.0).dual(
        np.tile(regression(50, 6)[0], (3, 1)), np.tile(classes(50, 6)[1], 3), constraints=FREE
    ),
    "indices in any order": lambda: qpsvm.SoftMargin(C=1.0).dual(
        sp.csr_array((np.ones(4), np.array([1, 0, 1, 0]), np.array([0, 2, 3, 4]))), [1, -1, 1]
    ),
}


@pytest.mark.parametrize("name", CORNERS)
def test_corners(name) -> None:
    problem = CORNERS[name]()
    found = raw(problem)
    assert found.status is Status.OPTIMAL
    assert found.statistics.iterations < 60
    assert qpsvm.solve(problem, "ipm", eps=EPS).status is Status.OPTIMAL


@pytest.mark.parametrize("r", [1, 5])
@pytest.mark.parametrize("n", [1, 2, 6])
def test_rows_that_say_the_same_or_nothing(n, r) -> None:
    """With fewer and with more weights than variables, with bounds and without."""
    rng = np.random.default_rng(n + r)
    row, x = rng.standard_normal(n), rng.standard_normal(n)
    A = np.vstack([row, 2.0 * row, np.zeros(n), row])
    P = LowRankQuadratic(rng.standard_normal((n, r)), rng.random(n))
    for bounds in ({}, {"lb": x - 1.0, "ub": x + 1.0}):
        program = QuadraticProgram(P, rng.standard_normal(n), A=A, b=A @ x, **bounds)
        found = SOLVER.solve(program, Settings(eps=EPS))
        assert found.status is Status.OPTIMAL
        assert residuals(program, found).passed(EPS)


def test_rows_that_contradict_the_box_end_the_search() -> None:
    X, y = many()
    dual = qpsvm.SoftMargin(C=1.0).dual(X, y).qp
    program = QuadraticProgram(
        dual.P, dual.q, A=np.ones((1, len(y))), b=[-1.0], lb=dual.lb, ub=dual.ub
    )
    assert SOLVER.solve(program, Settings(eps=EPS)).status is Status.INACCURATE


@pytest.mark.parametrize("at", [1, 2, 5, 9])
@pytest.mark.parametrize("data", [many, text])
def test_told_once_to_stop_it_does(data, at) -> None:
    calls = []

    def stop(event):
        calls.append(event.iteration)
        return len(calls) != at

    found = raw(qpsvm.SoftMargin(C=10.0).dual(*data()), callback=stop)
    assert len(calls) <= at  # or fewer: it was there
    assert found.status in (Status.INTERRUPTED, Status.OPTIMAL)
    assert found.status is Status.INTERRUPTED or at > 2
    assert np.isfinite(found.x).all()


@pytest.mark.parametrize("at", [0, 1, 3, 8])
@pytest.mark.parametrize("data", [classes, many, text])
def test_interrupted_it_hands_out_a_point(data, at) -> None:
    problem = qpsvm.SoftMargin(C=10.0).dual(*data())

    def interrupted(event):
        if event.iteration >= at:
            raise KeyboardInterrupt

    found = interrupted_point(lambda: raw(problem, callback=interrupted))
    assert found.status in (Status.INTERRUPTED, Status.OPTIMAL)  # which may have come before
    assert found.status is Status.INTERRUPTED or at > 1
    assert np.isfinite(found.x).all()
    assert (found.x >= problem.qp.lb).all()
    assert (found.x <= problem.qp.ub).all()
    assert found.statistics.iterations <= at + 1


@given(st.integers(0, 10**6), st.sampled_from([1e-2, 1.0, 1e2]))
@settings(max_examples=25)
def test_as_good_as_another_solver(seed, C) -> None:
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(6, 60)), int(rng.integers(1, 8))
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7)
    y = np.where(rng.random(n) < 0.3, 1, -1)
    y[:2] = -1, 1
    weights = rng.random(n) * (rng.random(n) < 0.8)
    weights[:2] = 1.0
    problem = qpsvm.SoftMargin(C=C).dual(X, y, sample_weight=weights)
    own, other = (qpsvm.solve(problem, name, eps=EPS) for name in ("ipm", "cvxopt"))
    assert own.status is Status.OPTIMAL
    costs = [qpsvm.certify(problem, each).primal_objective for each in (own, other)]
    assert abs(costs[0] - costs[1]) <= tolerances.SAME_OBJECTIVE * max(costs)


def test_dense_and_sparse_samples_are_the_same_program() -> None:
    X, y = classes()
    X = X * (np.abs(X) > 0.8)
    dense, sparse = (
        qpsvm.solve(qpsvm.SoftMargin(C=1.0).dual(form(X), y), "ipm", eps=EPS)
        for form in (np.asarray, sp.csr_array)
    )
    np.testing.assert_allclose(dense.coef, sparse.coef, atol=tolerances.SAME_DECISION)


def test_the_same_bits_every_time_and_in_every_thread() -> None:
    problem = qpsvm.SoftMargin(C=1.0).dual(*classes(9000, 12))
    first = raw(problem).x
    found = []
    threads = [threading.Thread(target=lambda: found.append(raw(problem).x)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(x, first) for x in found)


def test_the_samples_are_left_alone() -> None:
    X, y = classes()
    X = sp.csr_array(X)
    X.indices[: X.indptr[1]] = X.indices[: X.indptr[1]][::-1]  # not sorted
    X.data[: X.indptr[1]] = X.data[: X.indptr[1]][::-1]
    X.has_sorted_indices = False
    before = X.indices.copy()
    qpsvm.solve(qpsvm.SoftMargin(C=1.0).dual(X, y), "ipm", eps=EPS)
    assert np.array_equal(X.indices, before)


def test_progress_and_stopping_hand_out_the_best_so_far() -> None:
    problem = qpsvm.SoftMargin(C=1.0).dual(*classes())
    gaps = []

    def stop(event):
        gaps.append(event.residual)
        return event.iteration < 3

    found = raw(problem, callback=stop)
    assert found.status is Status.INTERRUPTED
    assert found.statistics.iterations == 3
    assert len(gaps) == 4
    reached = qpsvm.certify(problem, problem.recover(found)).relative_gap
    assert reached < 1.0
    assert np.isfinite(found.x).all()


def test_stopping_during_the_guess_hands_out_its_point() -> None:
    problem = qpsvm.SoftMargin(C=1.0).dual(*classes(9000, 12))
    found = raw(problem, callback=lambda event: event.iteration < 5)
    assert found.status is Status.INTERRUPTED
    assert qpsvm.certify(problem, problem.recover(found)).relative_gap < 1.0  # that of zero


def test_ctrl_c_during_the_guess_hands_out_its_point() -> None:
    problem = qpsvm.SoftMargin(C=1.0).dual(*classes(9000, 12))

    def press(event):
        if event.iteration == 5:
            raise KeyboardInterrupt
        return True

    found = interrupted_point(lambda: raw(problem, callback=press))
    assert found.status is Status.INTERRUPTED
    assert qpsvm.certify(problem, problem.recover(found)).relative_gap < 1.0  # that of zero


@listed("every", [3, 1], quick=1)
def test_no_limit_of_iterations_makes_it_claim_what_is_not_there(every: int) -> None:
    X, y = classes(4000, 20)
    X = sp.csr_array(X * (np.abs(X) > 1.0))
    problem = qpsvm.SoftMargin(C=0.2, intercept="penalized").dual(X, y)  # several rounds
    needed = raw(problem).statistics.iterations
    for limit in range(1, needed + 1, every):
        found = raw(problem, max_iterations=limit)
        gap = qpsvm.certify(problem, problem.recover(found)).relative_gap
        assert gap <= EPS or found.status is Status.ITERATION_LIMIT


@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
@pytest.mark.parametrize("C", [1e-8, 1e-6, 1e-4])
def test_a_price_so_low_that_no_gradient_vanishes(C, intercept) -> None:
    X = np.random.default_rng(0).standard_normal((5000, 50))
    y = np.repeat([1, -1], 2500)
    problem = qpsvm.SoftMargin(C=C, intercept=intercept).dual(X, y)
    found = raw(problem)
    assert found.status is Status.OPTIMAL
    assert qpsvm.verify(problem, problem.recover(found), eps=EPS).passed


@pytest.mark.parametrize(("n", "d"), [(3000, 20), (600, 900)])
def test_indices_of_64_bits(n, d) -> None:
    X, y = classes(n, d)
    X = sp.csr_array(X * (np.abs(X) > 1.2))
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    for part in (X.data, X.indices, X.indptr):
        part.flags.writeable = False
    problem = qpsvm.SoftMargin(C=0.1, intercept="penalized").dual(X, y)
    found = raw(problem)
    assert found.status is Status.OPTIMAL
    assert qpsvm.verify(problem, problem.recover(found), eps=EPS).passed


@pytest.mark.parametrize("C", [1e-3, 1e-2, 1.0, 100.0])
def test_sparse_samples_from_easy_to_hard(C) -> None:
    X, y = classes(4000, 30)
    X = sp.csr_array(X * (np.abs(X) > 1.2))
    problem = qpsvm.SoftMargin(C=C, intercept="penalized").dual(X, y)
    found = raw(problem)
    assert found.status is Status.OPTIMAL
    assert qpsvm.verify(problem, problem.recover(found), eps=EPS).passed


def test_limits() -> None:
    problem = qpsvm.SoftMargin(C=1.0).dual(*classes())
    few = raw(problem, max_iterations=3)
    assert (few.status, few.statistics.iterations) == (Status.ITERATION_LIMIT, 3)
    assert raw(problem, time_limit=1e-9).status is Status.TIME_LIMIT


def test_what_it_does_not_take_is_refused_with_a_way_out() -> None:
    X, y = classes(1200, 5)
    kernel = qpsvm.SoftMargin(C=1.0).dual(X, y, kernel=qpsvm.kernels.RBF(1.0))
    with pytest.raises(UnsupportedProgramError, match="dual form and a linear kernel"):
        raw(kernel)
    many = {"q": [1.0, 1.0], "G": np.ones((40, 2)), "h": np.ones(40)}
    for program, words in (
        (QuadraticProgram([[2.0, 1.0], [1.0, 2.0]], **many), "only with a diagonal P"),
        (
            QuadraticProgram(np.eye(2), **many, lb=[0.0, 0.0], ub=[1.0, 1.0]),
            r"x\[0\] has the bounds 0 and 1 \(2 such",
        ),
    ):
        with pytest.raises(UnsupportedProgramError, match=words):
            SOLVER.solve(program, Settings(eps=EPS))


@pytest.mark.parametrize("seed", [0, 1, 4, 5, 6])
def test_where_rounding_ends_proximal_steps_working_sets_go_on(seed) -> None:
    rng = np.random.default_rng(seed)
    X, y = classes(300, 20, seed)
    problem = qpsvm.SoftMargin(C=1.0).dual(X * 10.0 ** rng.uniform(-3.0, 3.0, 20), y)
    found = raw(problem)
    assert found.status is Status.OPTIMAL
    assert qpsvm.verify(problem, problem.recover(found), eps=EPS).passed


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("memory_limit", 10, "'memory_limit'"),
        ("patiance", 10, "did you mean 'patience'"),
        ("patience", 1.5, "a whole number of 0 or more, such as the default 10"),
        ("first_ramp", float("nan"), "a finite number"),
        ("slow_factor", True, "a finite number"),
        ("slow_factor", -0.5, "a finite number"),
    ],
)
def test_an_option_that_is_no_setting_is_refused_and_not_ignored(option, value, message) -> None:
    problem = qpsvm.SoftMargin(C=1.0).dual([[0.0], [2.0]], [-1, 1])
    with pytest.raises(qpsvm.exceptions.InvalidParameterError, match=message):
        qpsvm.solve(problem, "ipm", options={option: value})


def test_every_setting_is_documented_and_recorded() -> None:
    problem = qpsvm.SoftMargin(C=1.0).dual([[0.0], [2.0]], [-1, 1])
    names = {field.name for field in fields(LinearSettings)}
    assert all(f"    {name} : " in LinearSettings.__doc__ for name in names)
    solution = qpsvm.solve(problem, "ipm", options={"patience": 7})
    assert set(solution.qp.statistics.settings) == names
    assert solution.qp.statistics.settings["patience"] == 7


SWITCHED_OFF = {
    "first_weight": 1.0, "first_ramp": 0.0, "shrink": 0.5, "newton_steps": 10,
    "small_size": 10**9, "first_passes": 1, "open_per_free": 1, "open_per_weight": 1,
    "largest_open_share": 0.0, "patience": 20,
}  # fmt: skip


@pytest.mark.parametrize("option", SWITCHED_OFF)
def test_settings_change_the_way_and_not_the_optimum(option) -> None:
    X, y = classes(4500, 8, 3)
    problem = qpsvm.SoftMargin(C=1.0).dual(X, y)
    usual = qpsvm.solve(problem, "ipm")
    other = qpsvm.solve(problem, "ipm", options={option: SWITCHED_OFF[option]})
    assert qpsvm.verify(problem, other).passed
    np.testing.assert_allclose(other.coef, usual.coef, rtol=1e-3)
