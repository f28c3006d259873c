"""The dual methods reach the package's own optimum, and every iterate is what its page says."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm
from qpsvm import classical
from qpsvm.exceptions import UnsupportedProgramError
from qpsvm.solvers.classical.coordinates import coordinates, pairs
from qpsvm.solvers.classical.driver import ITERATES
from qpsvm.solvers.classical.first_order import projected, step_size, vertex, vertices
from qpsvm.solvers.classical.program import ClassicalSettings, DualProgram
from tests.classical.cases import SETOSA, assert_bounds, optimum, problem
from tests.strategies import grid

REACHED = {
    "dual_ascent": 1e-2, "slsqp": 1e-6, "smo": 1e-6, "coordinate_descent": 1e-6,
    "frank_wolfe": 1e-2, "admm": 1e-6,
}  # fmt: skip
"""Certified gap that each method reaches in less than a second on 100 samples."""

SETTINGS = [
    (method, kernel, intercept, loss)
    for method, kernel, intercept, loss in product(
        REACHED, ("linear", "rbf"), ("free", "penalized", "none"), ("hinge", "squared_hinge")
    )
    if (intercept == "free") is (method == "smo") or method not in ("smo", "coordinate_descent")
    if loss == "hinge" or method != "frank_wolfe"
]


@grid("method, kernel, intercept, loss", SETTINGS)
def test_it_reaches_the_optimum(method: str, kernel: str, intercept: str, loss: str) -> None:
    given = problem(kernel=kernel, intercept=intercept, loss=loss, C=0.1)
    eps = REACHED[method]
    result = getattr(classical, method)(given, eps=eps, max_seconds=None, max_steps=200_000)
    assert result.reason == "gap", result
    assert result.relative_gap <= eps
    assert_bounds(given, result)
    cost = qpsvm.certify(given, result.solution).primal_objective
    best = optimum(given)
    assert best * (1.0 - 1e-9) <= cost <= best * (1.0 + 2.0 * eps)


def test_regression_and_novelty_are_box_programs_too() -> None:
    X, _ = SETOSA
    families = [
        qpsvm.EpsilonRegression(C=1.0, epsilon=0.1).dual(X[:, :1], X[:, 1]),
        qpsvm.OneClass(nu=0.2).dual(X, kernel="rbf"),
        qpsvm.QuantileRegression(C=1.0, tau=0.3).dual(X[:, :1], X[:, 1]),
    ]
    for given in families:
        result = classical.smo(given, eps=1e-7)
        assert result.reason == "gap"
        assert_bounds(given, result)


def test_status_is_what_the_verifier_says() -> None:
    given = problem()
    good = classical.smo(given, eps=1e-8)
    assert good.solution.status.value == "optimal"
    assert qpsvm.verify(given, good.solution, eps=1e-8).passed
    cut = classical.smo(given, max_steps=3)
    assert cut.solution.status.value == "iteration limit"
    assert (cut.reason, cut.steps) == ("steps", 3)
    assert not qpsvm.verify(given, cut.solution, eps=1e-6).passed


# --- iterates ------------------------------------------------------------------------------------


def start(dual: DualProgram) -> np.ndarray:
    return dual.project(np.zeros(len(dual.q)))


def iterates(given: Any, name: str, count: int, **options: Any) -> list[np.ndarray]:
    dual = DualProgram(given.qp, name)
    stream = ITERATES[name](dual, start(dual), ClassicalSettings(**options))
    return [x.copy() for x, _ in zip(stream, range(count), strict=False)]


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("name", ["dual-ascent", "smo", "frank-wolfe"])
def test_iterates_are_feasible_and_ascend(name: str, kernel: str) -> None:
    given = problem(kernel=kernel)
    signs, values = given.data.signs, []
    for x in iterates(given, name, 200):
        assert (x >= 0.0).all()
        assert (x <= 1.0).all()
        assert abs(signs @ x) <= 1e-13 * max(1.0, x.sum())
        values.append(given.qp.objective(x))
    assert (np.diff(values) <= 1e-12 * np.abs(values[:-1])).all()


def test_coordinate_descent_ascends_in_its_box() -> None:
    given = problem(intercept="penalized", loss="squared_hinge")
    values = [given.qp.objective(x) for x in iterates(given, "coordinate-descent", 300)]
    assert (np.diff(values) <= 1e-12 * np.abs(values[:-1])).all()
    assert values[-1] < values[0]


def test_coordinate_descent_of_a_kernel_is_that_of_its_factor() -> None:
    linear = problem("cancer", intercept="penalized")
    X = np.asarray(linear.data.X)
    given = qpsvm.SoftMargin(intercept="penalized").dual(
        X @ X.T, linear.data.targets, kernel="precomputed"
    )
    one, other = (iterates(p, "coordinate-descent", 500)[-1] for p in (linear, given))
    np.testing.assert_allclose(one, other, atol=1e-9)


def test_sparse_samples_make_no_difference() -> None:
    X, y = np.asarray(problem("cancer").data.X), problem("cancer").data.targets
    family = qpsvm.SoftMargin(intercept="penalized")
    dense, sparse = family.dual(X, y), family.dual(sp.csr_array(X), y)
    for name in ("coordinate-descent", "admm", "dual-ascent"):
        one, other = (iterates(p, name, 200)[-1] for p in (dense, sparse))
        np.testing.assert_allclose(one, other, atol=1e-10, err_msg=name)


def test_the_pair_of_smo_is_solved_exactly() -> None:
    """Between its bounds, the slope along the pair is zero after the step."""
    given = problem(C=1e6)
    dual = DualProgram(given.qp, "smo")
    before = start(dual)
    for x in iterates(given, "smo", 20):
        i, j = np.flatnonzero(x != before)
        G = dual.gradient(x) / dual.a
        if min(x[i], x[j]) > 0.0:
            assert abs(G[i] - G[j]) <= 1e-8 * np.abs(dual.gradient(x)).max()
        before = x


def test_the_step_of_ascent_is_below_two_over_the_largest_eigenvalue() -> None:
    dual = DualProgram(problem("cancer").qp, "dual-ascent")
    largest = np.linalg.eigvalsh(dual.P.to_dense())[-1]
    eta = step_size(dual, ClassicalSettings())
    assert 0.5 / largest <= eta < 2.0 / largest
    assert step_size(dual, ClassicalSettings(rate=0.125)) == 0.125


def test_the_vertex_is_that_of_a_linear_program() -> None:
    from scipy.optimize import linprog

    dual = DualProgram(problem(C=2.0).qp, "frank-wolfe")
    for seed in range(5):
        g = np.random.default_rng(seed).standard_normal(len(dual.q))
        v = vertex(dual, g)
        known = linprog(g, A_eq=dual.a[None], b_eq=[dual.b], bounds=(0.0, 2.0))
        assert g @ v == pytest.approx(known.fun, abs=1e-9)
        assert abs(dual.a @ v) < 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_the_projection_is_the_nearest_feasible_point(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 12
    lower, upper = -rng.uniform(size=n), rng.uniform(size=n)
    upper[:3], lower[3:5] = np.inf, -np.inf
    a = rng.standard_normal(n)
    a[5] = 0.0
    program = qpsvm.qp.QuadraticProgram(
        np.eye(n), np.zeros(n), A=a[None], b=[0.3], lb=lower, ub=upper
    )
    v = 3.0 * rng.standard_normal(n)
    x = DualProgram(program, "test").project(v)
    nearest = qpsvm.solve(program.replace(q=-v), eps=1e-12).x
    np.testing.assert_allclose(x, nearest, atol=1e-8)
    assert a @ x == pytest.approx(0.3, abs=1e-13)
    assert ((x >= lower) & (x <= upper)).all()


def test_the_row_s_multiplier_is_the_best_intercept() -> None:
    given = problem()
    dual = DualProgram(given.qp, "smo")
    for x in iterates(given, "frank-wolfe", 30)[::10]:
        g = dual.gradient(x)
        y = dual.multiplier(x, g)
        tried = [dual.relative_gap(x, g, y + d) for d in np.linspace(-0.5, 0.5, 41)]
        assert dual.relative_gap(x, g, y) <= min(tried) + 1e-12
        machine = given.recover(dual.solution(x))
        certified = qpsvm.certify(given, machine)
        assert dual.relative_gap(x, g, y) * abs(certified.dual_objective) == pytest.approx(
            certified.gap, rel=1e-9
        )


# --- without the constraints, and by hand ---------------------------------------------------------


def test_unconstrained_ascent_is_refused_by_the_certificate() -> None:
    given = problem()
    result = classical.dual_ascent(given, constrained=False, max_steps=300)
    later = result.trace.step > 10  # it begins inside the box, and by accident on the row
    assert np.isinf(result.trace.gap[later]).all()
    assert (result.trace.repair[later] > 1e-3).all()
    alpha = result.solution.alpha
    assert abs(given.data.signs @ alpha) > 0.1 or (alpha > 1.0).any() or (alpha < 0.0).any()
    # its value is no lower bound: it is above the optimum
    assert -given.qp.objective(alpha) > optimum(given)
    assert not qpsvm.verify(given, result.solution, eps=1e-2).passed
    assert result.solution.status.value != "optimal"


def test_the_unconstrained_update_is_the_one_of_the_notes() -> None:
    given = problem()
    H = given.qp.P.to_dense()
    result = classical.dual_ascent(given, constrained=False, rate=0.01, max_steps=3)
    alpha = np.zeros(len(H))
    for _ in range(3):
        alpha = alpha + 0.01 * (1.0 - H @ alpha)
    np.testing.assert_allclose(result.solution.alpha, alpha, atol=1e-14)


def test_weights_and_intercept_by_hand() -> None:
    given = problem("cancer", C=0.5)
    exact = qpsvm.solve(given, eps=1e-12)
    machine = classical.machine_from_alpha(given, exact.alpha)
    np.testing.assert_allclose(machine.coef, exact.coef, atol=1e-9)
    assert machine.intercept == pytest.approx(exact.intercept, abs=1e-5)
    np.testing.assert_allclose(machine.slack, exact.slack, atol=1e-5)


def test_the_average_over_free_vectors_is_never_better_than_the_best_intercept() -> None:
    given = problem("cancer")
    for x in iterates(given, "dual-ascent", 100)[::9]:
        by_hand = classical.machine_from_alpha(given, x)
        best = given.recover(qpsvm.qp.QPSolution(qpsvm.qp.Status.UNKNOWN, x=x))
        costs = [qpsvm.certify(given, m).primal_objective for m in (by_hand, best)]
        assert costs[1] <= costs[0] * (1.0 + 1e-12)


def test_no_free_vector_gives_the_midpoint() -> None:
    given = qpsvm.SoftMargin(C=0.1).dual([[0.0], [2.0]], [-1, 1])
    machine = classical.machine_from_alpha(given, [0.1, 0.1])
    assert machine.intercept == machine.intercept_interval.midpoint
    assert machine.intercept_interval.lower < machine.intercept_interval.upper


@pytest.mark.parametrize("method", ["dual_ascent", "frank_wolfe", "admm", "slsqp"])
def test_other_names_of_the_classes_turn_the_machine_round(method: str) -> None:
    X, y = np.asarray(problem().data.X), problem().data.targets
    family = qpsvm.SoftMargin(C=0.1)
    one, other = (
        getattr(classical, method)(family.dual(X, labels), max_steps=50, max_seconds=None)
        for labels in (y, -y)
    )
    np.testing.assert_allclose(one.trace.cost, other.trace.cost, rtol=1e-8)
    np.testing.assert_allclose(one.solution.coef, -other.solution.coef, atol=1e-7)


def test_the_same_run_gives_the_same_bits() -> None:
    given = problem("cancer", intercept="penalized")
    one, other = (classical.coordinate_descent(given, max_steps=500, seed=3) for _ in range(2))
    assert one.solution.alpha.tobytes() == other.solution.alpha.tobytes()
    third = classical.coordinate_descent(given, max_steps=500, seed=4)
    assert one.solution.alpha.tobytes() != third.solution.alpha.tobytes()


# --- programs that are refused --------------------------------------------------------------------


def test_programs_that_a_method_cannot_take() -> None:
    with pytest.raises(UnsupportedProgramError, match="none over all of its variables"):
        classical.smo(problem(intercept="penalized"))
    with pytest.raises(UnsupportedProgramError, match="penalised intercept"):
        classical.coordinate_descent(problem())
    with pytest.raises(UnsupportedProgramError, match="bounded"):
        classical.frank_wolfe(problem(loss="squared_hinge"))
    nu = qpsvm.NuClassification(nu=0.2).dual(*SETOSA)
    for method in (classical.smo, classical.admm, classical.slsqp):
        with pytest.raises(UnsupportedProgramError, match="1 inequalities"):
            method(nu)


def test_streams_end_at_the_optimum() -> None:
    given = problem(kernel="rbf")
    dual = DualProgram(given.qp, "smo")
    *_, last = pairs(dual, start(dual), ClassicalSettings())  # one array, changed in place
    g = dual.gradient(last)
    assert dual.relative_gap(last, g, dual.multiplier(last, g)) < 1e-9
    boxed = DualProgram(problem(intercept="penalized", kernel="rbf").qp, "cd")
    assert next(coordinates(boxed, start(boxed), ClassicalSettings())).shape == boxed.q.shape
    still = qpsvm.qp.QuadraticProgram(np.eye(2), [1.0, 1.0], lb=0.0, ub=1.0)
    done = DualProgram(still, "frank-wolfe")
    assert list(vertices(done, start(done), ClassicalSettings())) == []
    assert len(list(coordinates(done, start(done), ClassicalSettings()))) == 2
    np.testing.assert_array_equal(
        next(projected(done, start(done), ClassicalSettings())), [0.0, 0.0]
    )
