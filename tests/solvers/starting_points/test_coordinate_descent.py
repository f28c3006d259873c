"""Programs over a box by coordinate descent: to the end, or as the start of another method."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

import qpsvm
from benchmarks.data import load_samples
from qpsvm.numerics.interrupts import Deadline
from qpsvm.qp import QPSolution, Status
from qpsvm.solvers.linear.descent import DualDescent
from qpsvm.solvers.linear.program import FactorProgram, Point
from qpsvm.solvers.linear.search import Search
from qpsvm.solvers.linear.solver import solve
from qpsvm.solvers.linear.translate import translation
from tests import tolerances

EPS = 1e-8
TEXT = "synthetic_text(d=3000, n=800, seed=0, tokens=40)"
TALL = "synthetic(d=6, n=4000, seed=0)"


def problem(name: str, C: float, loss: Any = "hinge", intercept: Any = "penalized") -> Any:
    samples = load_samples(name)
    return qpsvm.SoftMargin(C, intercept, loss).dual(samples.X, samples.y)


def structured(given: Any) -> FactorProgram:
    return translation(given.qp).structured()


def search(program: FactorProgram, eps: float = EPS, report: Any = lambda *_: None) -> Search:
    return Search(program, eps, 500, report)


@pytest.fixture(autouse=True)
def _as_in_the_backend():
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [0.01, 1.0, 10.0, 100.0])
def test_text_is_solved_to_the_optimum_of_another_backend(C: float, loss: Any) -> None:
    given = problem(TEXT, C, loss)
    ends = DualDescent(search(structured(given))).found()
    assert ends is not None or C > 10.0  # beyond, working sets on so few samples may be faster
    found = qpsvm.solve(given, "ipm", eps=EPS)
    assert not found.qp.statistics.polished
    other = qpsvm.solve(given, "cvxopt", eps=EPS)
    assert found.status is other.status is Status.OPTIMAL
    objectives = [qpsvm.certify(given, each).primal_objective for each in (found, other)]
    assert objectives[0] == pytest.approx(objectives[1], rel=tolerances.SAME_OBJECTIVE)


@pytest.mark.parametrize("intercept", ["penalized", "none"])
@pytest.mark.parametrize("family", ["squared tube", "tube", "quantile", "weighted"])
def test_every_family_over_a_box_is_solved_to_the_optimum_of_another_backend(
    family: str, intercept: Any
) -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 5))
    t = X @ np.arange(5.0) + rng.normal(size=300)
    given: Any
    if family == "quantile":
        given = qpsvm.QuantileRegression(0.01, 0.3, intercept).dual(X, t)
    elif family == "weighted":
        weights = rng.integers(0, 4, 300).astype(float)
        given = qpsvm.SoftMargin(0.01, intercept).dual(X, np.sign(t), sample_weight=weights)
    else:
        loss: Any = "epsilon_insensitive" if family == "tube" else "squared_epsilon_insensitive"
        given = qpsvm.EpsilonRegression(0.01, 0.1, intercept, loss=loss).dual(X, t)
    ends = DualDescent(search(structured(given))).found()
    assert ends is not None
    assert ends.status is Status.OPTIMAL
    found, other = (qpsvm.solve(given, backend, eps=EPS) for backend in ("ipm", "cvxopt"))
    assert not found.qp.statistics.polished
    objectives = [qpsvm.certify(given, each).primal_objective for each in (found, other)]
    assert objectives[0] == pytest.approx(objectives[1], rel=tolerances.SAME_OBJECTIVE)


def test_dense_sparse_and_single_precision_samples_have_the_same_optimum() -> None:
    samples = load_samples(TALL)
    X = np.where(np.abs(samples.X) < 0.5, 0.0, samples.X).astype(np.float32)
    single = X.copy()
    single.flags.writeable = False
    objectives = []
    for each in (X.astype(float), sp.csr_array(X.astype(float)), single):
        given = qpsvm.SoftMargin(C=0.01, intercept="penalized").dual(each, samples.y)
        ends = DualDescent(search(structured(given))).found()
        assert ends is not None
        whole = translation(given.qp)(QPSolution(Status.OPTIMAL, x=ends.x, y=ends.y))
        assert qpsvm.verify(given, whole, eps=EPS).passed
        objectives.append(0.5 * float(ends.w @ ends.w) - float(np.sum(ends.x)))
    np.testing.assert_allclose(objectives, objectives[0], rtol=tolerances.SAME_OBJECTIVE)


@pytest.mark.parametrize(("name", "C"), [(TEXT, 10.0), (TALL, 0.01)])
def test_the_same_bits_with_any_number_of_threads(name: str, C: float) -> None:
    given, found = problem(name, C), []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            found.append(qpsvm.solve(given, "ipm", eps=1e-6).alpha)
    beside: list[Any] = [None, None]

    def run(i: int) -> None:
        beside[i] = qpsvm.solve(given, "ipm", eps=1e-6).alpha

    threads = [threading.Thread(target=run, args=(i,)) for i in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for other in (found[1], *beside):
        np.testing.assert_array_equal(found[0], other)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("eps", [1e-2, 1e-3, 1e-5, 1e-8])
def test_only_points_that_the_verifier_accepts_are_handed_out(eps: float, loss: Any) -> None:
    given = problem(TALL, 0.01, loss)
    found = DualDescent(search(structured(given), eps)).found()
    assert found is not None
    assert found.gap <= eps
    whole = translation(given.qp)(QPSolution(Status.OPTIMAL, x=found.x, y=found.y))
    assert qpsvm.verify(given, whole, eps=eps).passed


def hard() -> Any:
    """Rows in nearly one direction, on which descent hardly moves."""
    rng = np.random.default_rng(0)
    X, y = 10.0 + 0.1 * rng.standard_normal((600, 700)), np.where(rng.random(600) < 0.5, -1, 1)
    return qpsvm.SoftMargin(C=100.0, intercept="penalized").dual(X, y)


def test_a_program_that_it_does_not_converge_on_is_left_with_a_starting_point() -> None:
    given, gaps = hard(), list[float]()
    program = structured(given)
    descent = DualDescent(search(program, report=lambda *seen: gaps.append(seen[2])))
    assert descent.found() is None
    assert descent.guess is not None
    assert min(gaps) > EPS
    assert ((program.lower <= descent.guess.x) & (descent.guess.x <= program.upper)).all()
    np.testing.assert_allclose(descent.guess.w, program.F.transposed(descent.guess.x), rtol=1e-9)
    assert qpsvm.solve(given, "ipm", eps=1e-6).status is Status.OPTIMAL


def test_without_time_there_is_one_call_and_no_other_round() -> None:
    reports = list[float]()

    def report(_iteration: int, _objective: float, gap: float) -> Status | None:
        reports.append(gap)
        return Status.TIME_LIMIT

    limited = search(structured(problem(TEXT, 10.0)), report=report)
    descent = DualDescent(limited, Deadline(0.0, clock=lambda: 1.0))
    assert descent.found() is None
    assert len(reports) == 1
    assert limited.best is not None
    assert limited.best.gap == pytest.approx(reports[0])


def test_a_stop_after_the_first_round_hands_out_its_point() -> None:
    program = structured(problem(TEXT, 10.0))
    found = solve(program, EPS, 500, lambda *_: Status.INTERRUPTED)
    assert found.status is Status.INTERRUPTED
    assert 0.0 < found.gap < 1e3
    assert (found.x != 0.0).any()


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_rounds_count_as_iterations_and_the_best_point_is_kept(limit: int) -> None:
    reports = list[int]()
    found = solve(
        structured(problem(TEXT, 10.0)), EPS, limit,
        lambda *seen: reports.append(seen[0]),
    )  # fmt: skip
    assert found.status is Status.ITERATION_LIMIT
    assert reports == list(range(1, limit + 1))
    assert (found.x != 0.0).any()


@pytest.mark.parametrize("curved", [False, True])
def test_what_variables_miss_adds_up_to_the_gap(curved: bool) -> None:
    program = structured(problem(TALL, 0.01, "squared_hinge" if curved else "hinge"))
    x = np.random.default_rng(0).uniform(0.0, 0.01, program.size)
    at = Point.of(program, x, np.zeros(0))
    objective, gap = program.gap(at)
    total = float(np.sum(program.missed(x, at.g)))
    assert total == pytest.approx(gap * max(abs(objective), program.floor(x)), rel=1e-9)
