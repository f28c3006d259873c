"""The tolerance contract: OPTIMAL comes from the verifier, everything else is said."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, make_blobs
from sklearn.preprocessing import scale
from sklearn.svm import SVC

import qpsvm
from qpsvm.backends import Backend, Capabilities, Progress, Settings
from qpsvm.backends.registry import get
from qpsvm.exceptions import (
    InfeasibleProgramError,
    InvalidParameterError,
    InvalidProgramError,
    NotPositiveSemidefiniteError,
    NotSeparableError,
    SolverFailedError,
    ToleranceNotReachedError,
    ToleranceNotReachedWarning,
    UnboundedProgramError,
    UnknownBackendError,
)
from qpsvm.kernels import RBF
from qpsvm.qp import QPSolution, QuadraticProgram, SolveStatistics, Status
from qpsvm.solving.attempts import BackendRun
from tests.strategies import listed

X, Y = make_blobs(40, centers=2, cluster_std=2.5, random_state=0)
PROBLEM = qpsvm.SoftMargin(C=1.0).dual(X, Y, kernel="rbf")
PROGRAM = QuadraticProgram(np.eye(2), [-1.0, 0.0], A=[[1.0, 1.0]], b=[1.0], lb=0.0)


class Liar(Backend):
    """Returns what it is told to, and claims that it is optimal."""

    name = "liar"
    licence = "none"
    distribution = "numpy"
    required_modules = ()
    capabilities = Capabilities(sparse=True, bounds=True)

    def __init__(self, *answers: QPSolution | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[Settings] = []

    def _solve(self, program: QuadraticProgram, settings: Settings) -> QPSolution:
        del program
        self.asked.append(settings)
        answer = self.answers[min(len(self.asked), len(self.answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer


def _true_solution() -> QPSolution:
    return qpsvm.solve(PROGRAM, "cvxopt")


def test_a_verified_answer_is_optimal_whatever_the_solver_called_it() -> None:
    liar = Liar(_true_solution().replace(status=Status.UNKNOWN))
    assert qpsvm.solve(PROGRAM, liar).status is Status.OPTIMAL
    assert len(liar.asked) == 1


@pytest.mark.parametrize(
    "changes",
    [{"x": [0.9, 0.9]}, {"x": [np.nan, 0.0]}, {"x": None}, {"y": None}, {"z_lower": [0.0]}],
)
def test_a_claim_the_verifier_refutes_is_not_optimal(changes: dict[str, Any]) -> None:
    garbage = QPSolution(
        Status.OPTIMAL, x=[5.0, 5.0], z=[], y=[9.0], z_lower=[0.0, 7.0], z_upper=[0.0, 0.0]
    )
    liar = Liar(garbage.replace(**changes))
    if "x" in changes and changes["x"] == [0.9, 0.9]:
        # wrong, but close enough for the polish to find the optimum by itself
        assert qpsvm.verify(PROGRAM, qpsvm.solve(PROGRAM, liar)).passed
        return
    with pytest.warns(ToleranceNotReachedWarning, match="did not reach eps=1e-08"):
        solution = qpsvm.solve(PROGRAM, liar)
    assert solution.status in (Status.INACCURATE, Status.FAILED)
    assert not qpsvm.verify(PROGRAM, solution).passed


def test_status_is_optimal_exactly_when_verify_passes() -> None:
    for eps in (1e-4, 1e-8):
        for backend in ("cvxopt", "osqp"):
            solution = qpsvm.solve(PROBLEM, backend, eps=eps)
            assert solution.status is Status.OPTIMAL
            assert qpsvm.verify(PROBLEM, solution, eps=eps).passed


def test_a_rough_answer_is_polished_and_says_so() -> None:
    exact = qpsvm.solve(PROBLEM, "cvxopt", eps=1e-10).qp
    assert exact.x is not None
    rough = exact.replace(x=np.round(exact.x, 3), statistics=SolveStatistics())
    solution = qpsvm.solve(PROBLEM, Liar(rough))
    assert solution.status is Status.OPTIMAL
    assert solution.qp.statistics.polished
    assert not solution.qp.statistics.escalated


def test_the_backend_is_asked_a_second_time_with_a_smaller_eps() -> None:
    hopeless = QPSolution(Status.OPTIMAL, native_status="all is well")
    liar = Liar(hopeless, _true_solution())
    solution = qpsvm.solve(PROGRAM, liar)
    assert solution.status is Status.OPTIMAL
    assert solution.statistics.escalated
    assert [settings.attempt for settings in liar.asked] == [0, 1]
    assert liar.asked[1].eps == pytest.approx(1e-10)


def test_the_first_answer_is_not_lost_where_the_second_attempt_fails() -> None:
    hopeless = QPSolution(Status.OPTIMAL, native_status="all is well")
    liar = Liar(hopeless, SolverFailedError("the second time is one too many"))
    with pytest.warns(ToleranceNotReachedWarning):
        found = qpsvm.solve(PROGRAM, liar)
    assert found.native_status == "all is well"
    assert found.status is Status.FAILED  # no point was given
    assert "one too many" in found.statistics.note


def test_a_limit_the_caller_set_is_not_overruled() -> None:
    stopped = QPSolution(Status.ITERATION_LIMIT)
    liar = Liar(stopped, _true_solution())
    with pytest.warns(ToleranceNotReachedWarning, match="iteration limit"):
        solution = qpsvm.solve(PROGRAM, liar, max_iterations=3)
    assert solution.status is Status.ITERATION_LIMIT
    assert len(liar.asked) == 1


def test_strict_raises_with_the_figures() -> None:
    with pytest.raises(ToleranceNotReachedError, match="certified_gap inf"):
        qpsvm.solve(PROBLEM, Liar(QPSolution(Status.OPTIMAL)), strict=True)


def test_a_crash_names_the_backend_and_keeps_the_cause() -> None:
    with pytest.raises(SolverFailedError, match="'liar' raised ZeroDivisionError: oops") as error:
        qpsvm.solve(PROGRAM, Liar(ZeroDivisionError("oops")))
    assert isinstance(error.value.__cause__, ZeroDivisionError)


# --- no optimum --------------------------------------------------------------------------------

INFEASIBLE = QuadraticProgram(np.eye(2), [0.0, 0.0], A=[[1.0, 1.0]], b=[3.0], lb=0.0, ub=1.0)
UNBOUNDED = QuadraticProgram(np.diag([1.0, 0.0]), [0.0, -1.0], lb=0.0)


@pytest.mark.parametrize("backend", ["cvxopt", "osqp", "cvxpy", "slsqp"])
def test_infeasible_and_unbounded_programs_come_with_proof(backend: str) -> None:
    solution = qpsvm.solve(INFEASIBLE, backend)
    assert solution.status is Status.PRIMAL_INFEASIBLE
    assert qpsvm.qp.infeasibility.farkas_violation(INFEASIBLE, solution) < 1e-7
    solution = qpsvm.solve(UNBOUNDED, backend)
    assert solution.status is Status.DUAL_INFEASIBLE
    assert qpsvm.qp.infeasibility.ray_violation(UNBOUNDED, solution) < 1e-7
    with pytest.raises(InfeasibleProgramError, match="contradict"):
        qpsvm.solve(INFEASIBLE, backend, strict=True)
    with pytest.raises(UnboundedProgramError, match="falls without end"):
        qpsvm.solve(UNBOUNDED, backend, strict=True)


@pytest.mark.filterwarnings("ignore::qpsvm.exceptions.ToleranceNotReachedWarning")
@pytest.mark.parametrize("backend", ["auto", "cvxopt", "osqp"])
@pytest.mark.parametrize("apart", [1e-3, 1e-6, 1e-9, 1e-11, 0.0, -1.0])
def test_nothing_falls_without_end_where_there_is_no_point(apart: float, backend: str) -> None:
    """``-x_2`` falls along (0, 1), and x_1 is to be at least ``1 + apart`` and at most 1."""
    program = QuadraticProgram(
        None, [0.0, -1.0], G=[[-1.0, 0.0], [1.0, 0.0]], h=[-1.0 - apart, 1.0], lb=[-np.inf, 0.0]
    )
    solution = qpsvm.solve(program, backend)
    assert (solution.status is Status.DUAL_INFEASIBLE) == (apart <= 0.0)
    assert apart > 0.0 or solution.status is not Status.PRIMAL_INFEASIBLE


@pytest.mark.parametrize("claim", [Status.PRIMAL_INFEASIBLE, Status.DUAL_INFEASIBLE])
def test_a_claim_without_proof_is_not_believed(claim: Status) -> None:
    unproved = QPSolution(
        claim, x=[1.0, 1.0], z=[], y=[1.0], z_lower=[0.0, 0.0], z_upper=[0.0, 0.0]
    )
    solution = qpsvm.solve(PROGRAM, Liar(unproved, _true_solution()))
    assert solution.status is Status.OPTIMAL


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("backend", ["cvxopt", "osqp"])
def test_classes_that_overlap_are_proved_inseparable(form: str, backend: str) -> None:
    problem = getattr(qpsvm.HardMargin(), form)(X, Y)
    with pytest.raises(NotSeparableError, match="convex hulls") as error:
        qpsvm.solve(problem, backend)
    weights, signs = error.value.weights, problem.data.signs
    assert (weights >= 0).all()
    for sign in (-1, 1):
        assert weights[signs == sign].sum() == pytest.approx(1.0)
        point = X[signs == sign].T @ weights[signs == sign]
        np.testing.assert_allclose(point, error.value.common_point, atol=1e-6)


def test_a_program_that_is_not_convex_is_refused() -> None:
    hill = QuadraticProgram([[1.0, 2.0], [2.0, 1.0]], [0.0, 0.0], lb=-1.0, ub=1.0)
    with pytest.raises(NotPositiveSemidefiniteError, match="smallest eigenvalue is -1"):
        qpsvm.solve(hill, "cvxopt")


# --- arguments -----------------------------------------------------------------------------------


def test_warm_starts_of_either_kind_are_taken() -> None:
    first = qpsvm.solve(PROBLEM, "osqp")
    for start in (first, first.qp):
        assert qpsvm.solve(PROBLEM, "osqp", warm_start=start).status is Status.OPTIMAL
    other = qpsvm.SoftMargin().dual(X[:30], Y[:30])
    assert qpsvm.solve(other, "osqp", warm_start=first).status is Status.OPTIMAL
    with pytest.raises(InvalidParameterError, match="warm_start is a str"):
        qpsvm.solve(PROBLEM, "osqp", warm_start="yes")  # type: ignore[arg-type]


def test_an_interior_point_method_has_no_use_for_a_warm_start_and_says_so() -> None:
    cold = qpsvm.solve(PROBLEM, "cvxopt").qp
    warm = qpsvm.solve(PROBLEM, "cvxopt", warm_start=cold).qp
    assert (warm.x == cold.x).all()
    assert "warm start was not used" in warm.statistics.note
    assert not cold.statistics.note
    assert not qpsvm.solve(PROBLEM, "osqp", warm_start=cold).qp.statistics.note


def test_the_second_attempt_is_a_cold_start() -> None:
    liar = Liar(QPSolution(Status.OPTIMAL), _true_solution())
    liar.capabilities = Capabilities(sparse=True, bounds=True, warm_start=True)
    assert qpsvm.solve(PROGRAM, liar, warm_start=_true_solution()).status is Status.OPTIMAL
    assert [settings.warm_start is None for settings in liar.asked] == [False, True]


@pytest.fixture(scope="module")
def hard_to_start() -> tuple[Any, dict[str, QPSolution]]:
    """A large C, where CVXOPT beside a given x and y never arrived, and points to begin at."""
    X, y = load_breast_cancer(return_X_y=True)
    X, C = scale(X)[:200], 1e4
    problem = qpsvm.SoftMargin(C=C).dual(X, y[:200], kernel=qpsvm.kernels.RBF(1 / 30))
    rough = SVC(C=C, gamma=1 / 30).fit(X, y[:200])
    alpha = np.zeros(200)
    alpha[rough.support_] = np.abs(rough.dual_coef_[0])
    exact, none = qpsvm.solve(problem).qp, np.zeros(200)
    starts = {
        "LIBSVM": exact.replace(x=alpha, y=rough.intercept_, z_lower=none, z_upper=none),
        "optimum": exact,
        "centre": exact.replace(x=np.full(200, C / 2)),
        "far outside": exact.replace(x=np.full(200, -1e9)),
    }
    return problem, starts


@pytest.mark.parametrize("start", ["LIBSVM", "optimum", "centre", "far outside"])
@pytest.mark.parametrize("backend", ["cvxopt", "osqp", "qpsolvers:cvxopt", "qpsolvers:daqp"])
def test_a_warm_start_never_ends_worse(
    hard_to_start: tuple[Any, dict[str, QPSolution]], backend: str, start: str
) -> None:
    problem, starts = hard_to_start
    # by the backend alone: what a polish or a second attempt would repair is not forgiven
    raw = get(backend).solve(problem.qp, Settings(warm_start=starts[start]))
    cold = get(backend).solve(problem.qp, Settings())
    own, other = (qpsvm.verify(problem, qp).relative_gap for qp in (raw, cold))
    assert own <= max(1e-8, other)
    assert qpsvm.solve(problem, backend, warm_start=starts[start]).status is Status.OPTIMAL


@pytest.mark.parametrize("backend", ["cvxopt", "active-set", "ipm"])
def test_what_a_callback_raises_comes_out_as_it_is(backend: str) -> None:
    def careless(event: Progress) -> None:
        raise ZeroDivisionError(event.stage)

    with pytest.raises(ZeroDivisionError, match="start"):
        qpsvm.solve(PROBLEM, backend, callback=careless)
    with pytest.raises(ZeroDivisionError, match="solve"):
        get(backend).solve(PROBLEM.qp, Settings(callback=careless))


def test_interrupted_while_it_is_verified_an_answer_is_not_lost(monkeypatch) -> None:
    measure, calls = BackendRun.attempt, []

    def interrupted(task, solution):
        calls.append(solution)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return measure(task, solution)

    monkeypatch.setattr(BackendRun, "attempt", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        qpsvm.solve(PROBLEM, "active-set")
    assert len(calls) == 1  # the answer is measured when somebody asks for it
    solution = vars(caught.value)["solution"]
    assert isinstance(solution, qpsvm.machines.SVMSolution)
    assert solution.status is Status.INTERRUPTED
    assert qpsvm.verify(PROBLEM, solution).passed
    assert len(calls) == 2


def test_the_callback_hears_how_it_went() -> None:
    events: list[Progress] = []
    qpsvm.solve(PROBLEM, "cvxopt", callback=events.append)
    assert events[-1].stage == "done"
    assert events[-1].residual is not None
    assert events[-1].residual <= 1e-8
    assert any(event.stage == "solve" for event in events)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"eps": 0.0}, "eps is 0.0"),
        ({"eps": 2.0}, "eps is 2.0"),
        ({"time_limit": -1.0}, "time_limit is -1.0"),
        ({"max_iterations": 0}, "max_iterations is 0"),
    ],
)
def test_settings_outside_their_domain_are_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        qpsvm.solve(PROBLEM, "cvxopt", **arguments)


def test_unknown_backends_and_problems_are_refused() -> None:
    with pytest.raises(UnknownBackendError, match="cvxopt"):
        qpsvm.solve(PROBLEM, "cvxoptt")
    with pytest.raises(InvalidParameterError, match="takes an SVMProblem or a QuadraticProgram"):
        qpsvm.solve(X, "cvxopt")  # type: ignore[arg-type]


def test_auto_says_what_it_chose_and_why() -> None:
    solution = qpsvm.solve(PROBLEM)
    assert solution.status is Status.OPTIMAL
    assert solution.qp.statistics.backend
    assert solution.qp.statistics.note


@pytest.mark.parametrize("backend", ["cvxopt", "osqp", "cvxpy", "slsqp"])
def test_the_same_question_gives_the_same_bits(backend: str) -> None:
    first, second = (qpsvm.solve(PROBLEM, backend) for _ in range(2))
    np.testing.assert_array_equal(first.alpha, second.alpha)
    assert first.intercept == second.intercept


def test_solving_in_threads_gives_what_solving_in_turn_gives() -> None:
    from concurrent.futures import ThreadPoolExecutor

    problems = [qpsvm.SoftMargin(C=C).dual(X, Y, kernel="rbf") for C in (0.1, 1.0, 10.0, 100.0)]
    in_turn = [qpsvm.solve(problem, "cvxopt") for problem in problems]
    with ThreadPoolExecutor(4) as pool:
        at_once = list(pool.map(lambda problem: qpsvm.solve(problem, "cvxopt"), problems))
    for a, b in zip(in_turn, at_once, strict=True):
        np.testing.assert_array_equal(a.alpha, b.alpha)


@pytest.mark.exhaustive  # so many samples that OSQP refuses them: nearly a minute
def test_what_the_first_backend_found_survives_a_second_that_has_no_room():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60_000, 3))
    y = np.where(X[:, 0] + rng.standard_normal(60_000) > 0.0, 1, -1)
    X[:, 2] *= 1e8  # no dual of these weights in double precision
    with pytest.warns(ToleranceNotReachedWarning):
        solution = qpsvm.solve(qpsvm.SoftMargin(C=1.0).dual(X, y))
    assert "'osqp' could not take the program" in solution.qp.statistics.note
    assert np.isfinite(solution.alpha).all()


@pytest.mark.parametrize("form", ["dual", "primal"])
@pytest.mark.parametrize("backend", ["auto", "cvxopt"])
def test_evidence_is_looked_for_before_a_polish_that_is_in_vain(backend: str, form: str) -> None:
    rng = np.random.default_rng(0)
    samples, labels = rng.standard_normal((60, 3)), np.where(rng.random(60) < 0.5, -1, 1)
    problem = getattr(qpsvm.HardMargin(), form)(samples, labels)
    events: list[Progress] = []
    with pytest.raises(NotSeparableError):
        qpsvm.solve(problem, backend, callback=events.append)
    assert {event.stage for event in events} <= {"start", "solve", "done"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("time_limit", "a"), ("time_limit", True), ("max_iterations", "x"), ("max_iterations", 1.5),
        ("callback", 3), ("options", 3),
    ],
)  # fmt: skip
def test_an_argument_of_the_wrong_kind_is_named(name, value) -> None:
    program = QuadraticProgram([[1.0]], [-1.0])
    with pytest.raises(InvalidParameterError, match=f"{name} is {value!r}"):
        qpsvm.solve(program, **{name: value})


@pytest.mark.parametrize("P", [[[10**400]], np.eye(1).astype("M8[s]"), np.array([["1"]])])
def test_a_matrix_of_no_numbers_is_refused(P) -> None:
    with pytest.raises(InvalidProgramError, match="real numbers"):
        QuadraticProgram(P, [1.0])


@listed("seed", [9, 10, 15, 18], quick=1)
def test_an_intercept_that_rounding_fixes_is_no_reason_to_go_on(seed: int) -> None:
    """A little below the largest nu one class is at its bound but for a rounding."""
    rng = np.random.default_rng(seed)
    X, y = np.repeat(rng.uniform(size=(5, 4)), [3, 4, 4, 3, 3], axis=0), np.repeat([-1, 1], [3, 14])
    problem = qpsvm.NuClassification(nu=6.0 / 17.0 - 3.5e-13).dual(X, y, kernel=RBF(2.0))
    solution = qpsvm.solve(problem, "active-set")
    assert solution.status is Status.OPTIMAL
    assert len(solution.qp.statistics.asked) == 1


class OwnRBF(RBF):
    """A kernel of the caller's: its values are what they are, and have no further digits."""


@pytest.mark.parametrize("backend", ["active-set", "cvxopt"])
def test_what_only_rounding_keeps_from_passing_is_not_solved_again(backend: str) -> None:
    """Free support vectors are at the kink of their loss in every optimum, and round as much."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(200, 2)), np.where(rng.random(200) < 0.5, -1, 1)
    problem = qpsvm.SoftMargin(C=1e3).dual(X, y, kernel=OwnRBF(0.02))
    first = qpsvm.solve(problem, backend, eps=1e-7)
    assert first.status is Status.OPTIMAL
    eps = 0.3 * qpsvm.certify(problem, first).rounding
    with pytest.warns(ToleranceNotReachedWarning, match="this answer passes at eps"):
        solution = qpsvm.solve(problem, backend, eps=eps)
    report = qpsvm.verify(problem, solution, eps=eps)
    failed = {check.name for check in report.checks if not check.passed}
    assert failed
    assert failed <= {"certified_gap", "rounding"}
    assert solution.status is not Status.OPTIMAL
    assert not solution.qp.statistics.escalated
    assert len(solution.qp.statistics.asked) == 1
    (note,) = [note for note in report.notes if "rounding" in note]
    assert qpsvm.verify(problem, solution, eps=float(note.rpartition(" ")[2])).passed


def test_rounding_that_is_all_at_kinks_is_no_reason_to_stop() -> None:
    """Samples at the edge of the tube pass on C times their rounding error; others may not."""
    X = [[0.49, -0.48], [0.67, -1.39], [1.67, -0.19], [0.53, 0.78]]
    targets = [2.4, 1.8, -13.4, -1.8]
    formulation = qpsvm.EpsilonRegression(C=1e6, epsilon=0.1, intercept="penalized")
    problem = formulation.dual(X, targets, kernel=RBF(1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ToleranceNotReachedWarning)
        solution = qpsvm.solve(problem, "cvxopt", eps=1e-12)
    assert solution.status is Status.OPTIMAL or solution.qp.statistics.escalated


def inner_products(A: Any, B: Any) -> Any:
    return np.asarray(A) @ np.asarray(B).T


@pytest.mark.parametrize("kernel", ["precomputed", inner_products], ids=["matrix", "callable"])
def test_kernel_values_that_are_given_carry_their_rounding(kernel: Any) -> None:
    """Inner products of unscaled features; both remedies of the message lead to an optimum."""
    X, y = load_breast_cancer(return_X_y=True)
    machine = qpsvm.SoftMargin(C=1.0)

    def data(samples: Any) -> Any:
        return samples if callable(kernel) else inner_products(samples, samples)

    with pytest.warns(
        ToleranceNotReachedWarning, match="kernel values are taken as given"
    ) as found:
        qpsvm.solve(machine.dual(data(X), y, kernel=kernel))
    for remedy in ("kernel='linear'", "scale the features before the kernel is evaluated"):
        assert remedy in str(found[0].message)
    assert qpsvm.solve(machine.dual(X, y, kernel="linear")).status is Status.OPTIMAL
    scaled = qpsvm.solve(machine.dual(data(scale(X)), y, kernel=kernel))
    assert scaled.status is Status.OPTIMAL
