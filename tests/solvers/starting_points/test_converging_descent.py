"""Programs that coordinate descent solves to the end: on text at any C, and where C is small."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

import qpsvm
from qpsvm.benchmark.data import load_samples
from qpsvm.numerics.deadline import Deadline
from qpsvm.qp import QPSolution, Status
from qpsvm.solvers.factored import solve
from qpsvm.solvers.interior_point.presolve import presolve
from qpsvm.solvers.interior_point.program import FactorProgram
from qpsvm.solvers.interior_point.search import Search
from qpsvm.solvers.interior_point.settings import InteriorPointSettings
from qpsvm.solvers.interior_point.translate import translation
from qpsvm.solvers.starting_points import coordinate_descent
from qpsvm.solvers.starting_points.converging_descent import ConvergingDescent
from tests import tolerances

EPS = 1e-8
TEXT = "synthetic_text(d=3000, n=800, seed=0, tokens=40)"
TALL = "synthetic(d=6, n=4000, seed=0)"


def problem(name: str, C: float) -> Any:
    """A soft margin with a penalised intercept."""
    samples = load_samples(name)
    return qpsvm.SoftMargin(C=C, intercept="penalized").dual(samples.X, samples.y)


def structured(name: str, C: float) -> FactorProgram:
    return translation(problem(name, C).qp).structured()


def search(program: FactorProgram, eps: float = EPS) -> Search:
    return Search(program, eps, 500, InteriorPointSettings(), lambda *_: None)


@pytest.mark.parametrize("C", [0.01, 1.0, 10.0, 100.0])
def test_text_is_solved_by_descent_to_the_optimum_of_another_backend(C: float) -> None:
    given = problem(TEXT, C)
    found = qpsvm.solve(given, "ipm", eps=EPS)
    other = qpsvm.solve(given, "ipm", eps=EPS, options={"wide_dense_size": 10**9})
    assert found.status is other.status is Status.OPTIMAL
    assert qpsvm.certify(given, found).relative_gap <= EPS
    ends = ConvergingDescent(search(translation(given.qp).structured())).found()
    assert ends is not None
    assert ends.status is Status.OPTIMAL
    objectives = [qpsvm.certify(given, each).primal_objective for each in (found, other)]
    assert objectives[0] == pytest.approx(objectives[1], rel=tolerances.SAME_OBJECTIVE)


@pytest.mark.parametrize(("name", "C"), [(TEXT, 1.0), (TALL, 0.01)])
def test_weights_are_those_of_the_dual_variables(name: str, C: float) -> None:
    program = structured(name, C)
    plain = coordinate_descent.descended(program, 50, 1e-3)
    x, _ = coordinate_descent.dual_variables(program, 50, 1e-3)
    assert (x >= program.lower).all()
    assert (x <= program.upper).all()
    np.testing.assert_allclose(program.F.transposed(x), plain.w, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("zeros", [False, True])
def test_dense_and_sparse_samples_have_the_same_dual_variables(zeros: bool) -> None:
    samples = load_samples(TALL)
    X = np.where(np.abs(samples.X) < 0.5, 0.0, samples.X) if zeros else samples.X
    found = []
    for each in (X, sp.csr_array(X)):
        given = qpsvm.SoftMargin(C=0.01, intercept="penalized").dual(each, samples.y)
        program = translation(given.qp).structured()
        found.append(coordinate_descent.dual_variables(program, 30, 1e-3)[0])
    np.testing.assert_array_equal(found[0], found[1])


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


def test_only_points_that_the_verifier_accepts_are_handed_out() -> None:
    eps, given, no_rows = 1e-3, problem(TALL, 0.01), np.zeros(0)
    program = translation(given.qp).structured()
    runs = [ConvergingDescent(search(program, eps)).run(passes, 1e-9) for passes in range(1, 25)]
    for run in runs:
        x, g = run.found.x / program.upper, program.gradient(run.found.w, no_rows, np.empty(4000))
        violation = np.max(np.abs(x - np.clip(x - g, 0.0, 1.0)))
        if run.found.status is Status.OPTIMAL:
            assert violation <= np.sqrt(eps)
            assert run.found.gap <= eps
            answer = QPSolution(Status.OPTIMAL, x=run.found.x, y=no_rows)
            whole = translation(given.qp)(answer)
            assert qpsvm.verify(given, whole, eps=eps).passed
    exact = ConvergingDescent(search(program, 1e-9)).run(300, 1e-13)
    assert exact.violation <= 2e-5 < np.sqrt(1e-9)
    assert exact.found.gap > 1e-9
    assert exact.found.status is not Status.OPTIMAL
    status = {(run.found.gap <= eps, run.found.status is Status.OPTIMAL) for run in runs}
    assert status == {(False, False), (True, False), (True, True)}


def test_a_program_that_it_does_not_converge_on_is_left_after_one_short_run() -> None:
    rng = np.random.default_rng(0)  # rows in nearly one direction
    X, y = 10.0 + 0.1 * rng.standard_normal((600, 700)), np.where(rng.random(600) < 0.5, -1, 1)
    given = qpsvm.SoftMargin(C=100.0, intercept="penalized").dual(X, y)
    descent = ConvergingDescent(search(translation(given.qp).structured()))
    assert descent.found() is None
    assert descent.last is not None
    assert descent.last.passes == InteriorPointSettings().trial_passes
    assert descent.guess is None
    assert qpsvm.solve(given, "ipm", eps=1e-6).status is Status.OPTIMAL


def test_without_time_there_is_one_pass_and_no_other_run() -> None:
    program, reports = structured(TEXT, 10.0), list[float]()
    limited = Search(
        program, EPS, 500, InteriorPointSettings(), lambda *all_of: reports.append(all_of[2])
    )
    descent = ConvergingDescent(limited, Deadline(0.0, clock=lambda: 1.0))
    assert descent.found() is None
    assert len(reports) == 1
    assert descent.last is not None
    assert descent.last.passes == 1


def test_a_stop_after_the_first_run_hands_out_its_point() -> None:
    program = structured(TEXT, 10.0)
    settings = InteriorPointSettings()
    found = solve(program, EPS, 500, settings, lambda *_: Status.INTERRUPTED)
    assert found.status is Status.INTERRUPTED
    assert 0.0 < found.gap < 1e3
    assert (found.x != 0.0).any()


def test_presolve_maps_a_known_point_and_its_weights_stay() -> None:
    samples = load_samples("synthetic(copies=3, d=6, n=700, seed=0)")
    given = qpsvm.SoftMargin(C=0.01, intercept="penalized").dual(samples.X, samples.y)
    program = translation(given.qp).structured()
    presolved, restore = presolve(program)
    assert presolved.size < program.size
    x, _ = coordinate_descent.dual_variables(program, 20, 1e-3)
    own = restore.forward(QPSolution(Status.UNKNOWN, x=x)).x
    assert own is not None
    np.testing.assert_allclose(
        presolved.F.transposed(np.asarray(own)), program.F.transposed(x), rtol=1e-10, atol=1e-12
    )
