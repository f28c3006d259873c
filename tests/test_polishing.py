"""``qpsvm.polish``: never worse, and at the optimum from anywhere, for every family and form."""

from __future__ import annotations

import importlib.util
import warnings
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_blobs
from sklearn.preprocessing import scale
from sklearn.svm import SVC

import qpsvm
from qpsvm import kernels
from qpsvm.backends import Progress, Settings
from qpsvm.exceptions import InvalidDataError, InvalidParameterError, InvalidProgramError
from qpsvm.qp import QPSolution, QuadraticProgram, Status, residuals
from tests.families import BY_NAME, CASES, KERNELS, Case, Data, settings
from tests.strategies import grid
from tests.tolerances import CERTIFIED, LAW_OBJECTIVE, POLISHED, TIGHT

ROOT = Path(__file__).resolve().parents[1]


def at_random(problem: Any, seed: int = 0) -> Any:
    """A machine of random dual feasible alphas: a gap of the order of the objective."""
    model, rng = problem.model, np.random.default_rng(seed)
    c = model.conditions
    lower = np.where(np.isfinite(c.lower), c.lower, -1.0)
    upper = np.where(np.isfinite(c.upper), c.upper, 3.0)
    alpha = model.feasible_dual(rng.uniform(lower, upper)).alpha
    return machine_of(problem, alpha)


def machine_of(problem: Any, alpha: Any, b: float = 0.0) -> Any:
    """The machine that alpha implies, from outside: with an empty QPSolution."""
    model = problem.model
    beta = model.expansion(alpha)
    return model.recovered(
        QPSolution(Status.UNKNOWN), alpha, expansion=beta, coef=model.coef(beta), b=b
    ).solution


def gap_of(problem: Any, solution: Any) -> float:
    return float(qpsvm.certify(problem, solution).relative_gap)


# --- from random feasible points, every family ----------------------------------------------------


@grid("name, form, kernel, intercept", settings(kernels=("linear", "rbf", "polynomial")))
def test_from_a_random_feasible_point_to_a_proof(
    name: str, form: str, kernel: str, intercept: str
) -> None:
    problem = BY_NAME[name].build(form, KERNELS[kernel], intercept)
    start = at_random(problem)
    polished = qpsvm.polish(problem, start)
    assert gap_of(problem, polished) <= CERTIFIED
    assert polished.status is Status.OPTIMAL
    assert qpsvm.verify(problem, polished, eps=1e-10).passed
    assert polished.qp.statistics.polished


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("form", ["primal", "dual"])
def test_an_independent_solver_finds_the_same_objective(case: Case, form: str) -> None:
    problem = case.build(form, KERNELS["rbf"])
    polished = qpsvm.certify(problem, qpsvm.polish(problem, at_random(problem)))
    solved = qpsvm.certify(problem, qpsvm.solve(problem, "cvxopt", eps=LAW_OBJECTIVE / 4))
    assert polished.primal_objective == pytest.approx(solved.primal_objective, rel=LAW_OBJECTIVE)


def degenerate(case: Case) -> dict[str, tuple[Data, Any]]:
    """Singular matrices, several optima, everything at a bound, nothing at a bound."""
    data, family = case.data, case.family
    every_row = np.repeat(np.arange(len(data)), 3)
    cases = {"rows three times": (data.rows(every_row), family)}
    if case.has("C"):
        cases["tiny C"] = (data, replace(family, C=1e-4))
        cases["huge C"] = (data, replace(family, C=1e4))
        cases["rows three times, huge C"] = (data.rows(every_row), replace(family, C=1e4))
    return cases


@grid("case, kernel", product(CASES, ["linear", "rbf", "smooth"]))
def test_degenerate_problems_are_no_exception(case: Case, kernel: str) -> None:
    """Linear: many more samples than features. Smooth: a kernel matrix that is nearly constant."""
    k = kernels.RBF(1e-4) if kernel == "smooth" else KERNELS[kernel]
    for data, family in degenerate(case).values():
        try:
            problem = case.build("dual", k, data=data, family=family)
        except InvalidParameterError:
            continue  # a ball needs a C of 1/n
        polished = qpsvm.polish(problem, at_random(problem))
        assert gap_of(problem, polished) <= CERTIFIED


@pytest.mark.parametrize("seed", range(3))
def test_of_many_optima_one_with_small_alphas_is_found(seed: int) -> None:
    """Copies with alphas of 1e4 that cancel are optimal, too, and round to a gap of 2e-9."""
    case = BY_NAME["quantile"]
    data = case.data.rows(np.repeat(np.arange(len(case.data)), 3))
    family = replace(case.family, C=1e4)
    problem = case.build("dual", KERNELS["rbf"], "penalized", data=data, family=family)
    assert gap_of(problem, qpsvm.polish(problem, at_random(problem, seed))) <= CERTIFIED


@pytest.mark.parametrize("n", [40, 400])
def test_one_class_with_every_sample_on_the_edge(n: int) -> None:
    angle = np.linspace(0.0, 2.0 * np.pi, n, endpoint=False)
    X = np.column_stack([np.cos(angle), np.sin(angle)]) + 3.0
    problem = qpsvm.DataDescription(C=1.0).dual(X)
    assert gap_of(problem, qpsvm.polish(problem, at_random(problem))) <= CERTIFIED


# --- from other solvers ---------------------------------------------------------------------------


def cancer(n: int = 569) -> tuple[Any, Any]:
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X)[:n], np.where(y[:n] == 1, 1.0, -1.0)


@pytest.mark.parametrize("C", [1.0, 100.0, 1e4])
def test_from_libsvm(C: float) -> None:
    """Its kernel cache is float32: no tolerance of its own comes below a gap of 1e-8 to 1e-3."""
    X, y = cancer()
    kernel = kernels.RBF(1.0 / X.shape[1])
    problem = qpsvm.SoftMargin(C=C).dual(X, y, kernel=kernel)
    svc = SVC(C=C, gamma=1.0 / X.shape[1], tol=1e-2).fit(X, y)
    alpha = np.zeros(len(y))
    alpha[svc.support_] = np.abs(svc.dual_coef_[0])
    given = machine_of(problem, alpha, float(svc.intercept_[0]))
    polished = qpsvm.polish(problem, given)
    assert gap_of(problem, given) > 1e-6
    assert gap_of(problem, polished) <= CERTIFIED


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_from_osqp_at_three_digits(form: str, kernel: str) -> None:
    X, y = cancer(200)
    problem = getattr(qpsvm.SoftMargin(C=10.0), form)(X, y, kernel=kernel)
    raw = qpsvm.backends.get("osqp").solve(problem.qp, Settings(eps=1e-3))
    given = problem.recover(raw)
    polished = qpsvm.polish(problem, given)
    assert gap_of(problem, polished) <= min(TIGHT, gap_of(problem, given))
    assert polished.qp.statistics.backend == "osqp"


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize(
    "family", [qpsvm.L1Norm(), qpsvm.CrammerSinger()], ids=["l1", "crammer-singer"]
)
def test_families_without_a_dual_over_a_box(family: Any, form: str) -> None:
    X, y = cancer(100) if isinstance(family, qpsvm.L1Norm) else load_iris(return_X_y=True)
    problem = getattr(family, form)(X, y)
    raw = qpsvm.backends.get("osqp").solve(problem.qp, Settings(eps=1e-3))
    given = problem.recover(raw)
    polished = qpsvm.polish(problem, given)
    assert gap_of(problem, polished) <= min(CERTIFIED, gap_of(problem, given))


def test_several_classes_are_polished_one_by_one() -> None:
    X, y = load_iris(return_X_y=True)
    problem = qpsvm.OneVsRest(qpsvm.SoftMargin(C=1.0)).dual(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", qpsvm.exceptions.ToleranceNotReachedWarning)
        rough = qpsvm.solve(problem, "osqp", eps=1e-2)
    polished = qpsvm.polish(problem, rough)
    assert isinstance(polished, type(rough))
    assert qpsvm.certify(problem, polished).relative_gap <= CERTIFIED
    assert qpsvm.polish(problem, polished) is polished


def test_constraints_on_the_weights() -> None:
    X, y = cancer(200)
    problem = qpsvm.SoftMargin(C=1.0).dual(
        X, y, constraints=qpsvm.constraints.nonnegative(*range(0, 30, 3))
    )
    raw = qpsvm.backends.get("osqp").solve(problem.qp, Settings(eps=1e-2))
    polished = qpsvm.polish(problem, problem.recover(raw))
    assert qpsvm.certify(problem, polished).passed(CERTIFIED)


def test_sparse_samples_and_regression_with_two_variables_per_sample() -> None:
    import scipy.sparse as sp

    X, y = load_diabetes(return_X_y=True)
    X, y = sp.csr_array(np.where(np.abs(scale(X)) > 1.0, scale(X), 0.0))[:250], y[:250] / 100.0
    problem = qpsvm.EpsilonRegression(C=3.0, epsilon=0.1).dual(X, y, kernel="rbf")
    assert gap_of(problem, qpsvm.polish(problem, at_random(problem))) <= TIGHT


# --- never worse ----------------------------------------------------------------------------------


@grid("case, form", product(CASES, ["primal", "dual"]))
def test_the_gap_is_never_larger_than_before(case: Case, form: str) -> None:
    """From exact, nearly exact and spoiled solutions; an exact one comes back as it is."""
    problem = case.build(form, KERNELS["rbf"])
    exact = qpsvm.polish(problem, at_random(problem))
    assert qpsvm.polish(problem, exact) is exact
    rng = np.random.default_rng(0)
    for size in (1e-12, 1e-6, 1e-2):
        noise = 1.0 + size * rng.normal(size=len(exact.alpha))
        given = exact.replace(alpha=exact.alpha * noise)
        assert gap_of(problem, qpsvm.polish(problem, given)) <= gap_of(problem, given)


def test_alphas_are_enough() -> None:
    """Weights and intercept that belong to nothing do no harm: they follow from alpha."""
    problem = BY_NAME["hinge"].build("dual", KERNELS["rbf"])
    start = at_random(problem)
    nothing = start.replace(expansion=1e6 * start.expansion[::-1], intercept=1e9)
    assert gap_of(problem, nothing) > 0.5
    assert gap_of(problem, qpsvm.polish(problem, nothing)) <= CERTIFIED


@pytest.mark.parametrize("size", [1e30, 1e150, 1e308])
def test_numbers_that_overflow_do_no_harm(size: float) -> None:
    problem = BY_NAME["squared hinge"].build("dual", KERNELS["rbf"])
    start = at_random(problem)
    start = start.replace(alpha=np.full(18, size), expansion=np.full(18, size))
    polished = qpsvm.polish(problem, start)
    assert not gap_of(problem, polished) > gap_of(problem, start)
    assert polished is start or polished.status in (Status.OPTIMAL, Status.INACCURATE)


def test_programs_without_multipliers() -> None:
    program = BY_NAME["tube"].build("dual", KERNELS["rbf"]).qp
    polished = qpsvm.polish(program, QPSolution(Status.UNKNOWN, x=np.ones(program.n_variables)))
    assert residuals(program, polished).worst <= POLISHED
    assert polished.status is Status.OPTIMAL
    assert qpsvm.polish(program, polished) is polished


# --- limits, events, errors -----------------------------------------------------------------------


def test_events_tell_the_progress_and_a_callback_can_stop() -> None:
    X, y = cancer()
    problem = qpsvm.SoftMargin(C=10.0).dual(X, y, kernel="rbf")
    start = at_random(problem)
    events: list[Progress] = []
    polished = qpsvm.polish(problem, start, callback=events.append)
    assert {event.stage for event in events} == {"polish"}
    counts = [event.iteration for event in events]
    assert counts == sorted(counts)  # type: ignore[type-var]
    assert events[0].residual is not None
    assert events[-1].residual is not None
    assert events[-1].residual < 1e-3 * events[0].residual

    calls: list[Progress] = []
    stopped = qpsvm.polish(problem, start, callback=lambda event: bool(calls.append(event)))
    assert len(calls) == 1  # append returns None, bool(None) is False
    assert gap_of(problem, stopped) <= gap_of(problem, start)
    assert gap_of(problem, polished) <= CERTIFIED < gap_of(problem, stopped)

    partly = qpsvm.polish(problem, start, callback=lambda event: event.iteration < 20)
    assert CERTIFIED < gap_of(problem, partly) < gap_of(problem, start)
    assert partly.status is Status.INACCURATE


def test_a_time_limit_ends_it_with_nothing_worse() -> None:
    X, y = cancer()
    problem = qpsvm.SoftMargin(C=10.0).dual(X, y, kernel="rbf")
    start = at_random(problem)
    assert gap_of(problem, qpsvm.polish(problem, start, time_limit=1e-9)) <= gap_of(problem, start)


def test_the_same_question_gets_the_same_answer() -> None:
    problem = BY_NAME["nu classification"].build("dual", KERNELS["rbf"])
    one, other = (qpsvm.polish(problem, at_random(problem)) for _ in range(2))
    np.testing.assert_array_equal(one.alpha, other.alpha)
    assert one.intercept == other.intercept


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("form", ["primal", "dual"])
def test_numbers_that_are_none_are_named(bad: float, form: str) -> None:
    problem = BY_NAME["hinge"].build(form, KERNELS["rbf"])
    start = at_random(problem)
    alpha = start.alpha.copy()
    alpha[3] = bad
    with pytest.raises(InvalidDataError, match=r"alpha\[3\]"):
        qpsvm.polish(problem, start.replace(alpha=alpha))
    with pytest.raises(InvalidProgramError, match=r"x\[0\]"):
        qpsvm.polish(problem.qp, QPSolution(Status.UNKNOWN, x=[bad] * problem.qp.n_variables))


def test_what_does_not_fit_together_is_refused() -> None:
    hinge = BY_NAME["hinge"].build("dual")
    solution = at_random(hinge)
    other = BY_NAME["hinge"].build("dual", data=BY_NAME["hard margin"].data)
    with pytest.raises(InvalidDataError):
        qpsvm.polish(other, solution)
    with pytest.raises(InvalidParameterError, match="QPSolution"):
        qpsvm.polish(hinge, solution.qp)
    with pytest.raises(InvalidParameterError, match="time_limit"):
        qpsvm.polish(hinge, solution, time_limit=0.0)
    with pytest.raises(InvalidParameterError, match="eps"):
        qpsvm.polish(hinge, solution, eps=0.0)
    with pytest.raises(InvalidProgramError, match="no x"):
        qpsvm.polish(hinge.qp, QPSolution(Status.FAILED))
    indefinite = QuadraticProgram(np.diag([1.0, -1.0]), [0.0, 0.0], lb=-1.0, ub=1.0)
    with pytest.raises(qpsvm.exceptions.NotPositiveSemidefiniteError):
        qpsvm.polish(indefinite, QPSolution(Status.UNKNOWN, x=[0.0, 0.0]))


def test_classes_that_cannot_be_separated_come_back_unchanged() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.where(rng.uniform(size=60) < 0.5, -1, 1)
    problem = qpsvm.HardMargin().dual(X, y)
    start = at_random(problem)
    assert qpsvm.polish(problem, start) is start


# --- the tolerance contract -----------------------------------------------------------------------


def test_every_backend_profits_when_it_is_polished() -> None:
    """OSQP alone does not certify this; the contract polishes its answer."""
    X, y = cancer()
    problem = qpsvm.SoftMargin(C=100.0).dual(X, y, kernel="rbf")
    solution = qpsvm.solve(problem, "osqp", max_iterations=300)
    assert solution.status is Status.OPTIMAL
    assert solution.qp.statistics.polished
    assert gap_of(problem, solution) <= TIGHT


def test_the_page_shows_the_rows() -> None:
    script = importlib.util.spec_from_file_location("report", ROOT / "benchmarks/polish/report.py")
    assert script is not None
    assert script.loader is not None
    report = importlib.util.module_from_spec(script)
    script.loader.exec_module(report)
    page = (ROOT / "docs/polish.md").read_text(encoding="utf-8")
    assert report.updated(page) == page, "run: python benchmarks/polish/report.py"


def test_a_status_that_was_about_a_larger_eps_is_not_kept() -> None:
    """Nothing better is found where eps is below what double precision has."""
    X, y = make_blobs(30, centers=2, cluster_std=3.0, random_state=1)
    problem = qpsvm.SoftMargin(C=1.0).dual(X, y)
    rough = qpsvm.solve(problem, eps=1e-3)
    assert rough.status is Status.OPTIMAL
    eps = 1e-17
    polished = qpsvm.polish(problem, rough, eps=eps)
    assert (polished.status is Status.OPTIMAL) == qpsvm.verify(problem, polished, eps=eps).passed
    again = qpsvm.polish(
        problem, polished.replace(qp=polished.qp.replace(status=Status.OPTIMAL)), eps=eps
    )
    assert (again.status is Status.OPTIMAL) == qpsvm.verify(problem, again, eps=eps).passed
