"""From a solution of the textbook's six matrices back to one of the program, or a machine."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from cvxopt import solvers

import qpsvm
from qpsvm.exceptions import InvalidParameterError, InvalidProgramError, MissingPackageError
from qpsvm.qp import QPSolution, QuadraticProgram, Status, from_canonical, residuals

TIGHT = {"show_progress": False, "abstol": 1e-11, "reltol": 1e-11, "feastol": 1e-11}
EPS = 1e-6
RNG = np.random.default_rng(3)
X = RNG.normal(size=(40, 3))
T = X[:, 0] + 0.3 * RNG.normal(size=40)
Y = np.where(T > 0.1, 1, -1)
CLASSES = np.digitize(T, (-0.5, 0.5))

PROBLEMS = {
    "soft margin": lambda form: getattr(qpsvm.SoftMargin(C=2.0), form)(X, Y),
    "kernel": lambda form: getattr(qpsvm.SoftMargin(C=2.0), form)(X, Y, kernel="rbf"),
    "squared": lambda form: getattr(qpsvm.SoftMargin(C=2.0, loss="squared_hinge"), form)(X, Y),
    "no intercept": lambda form: getattr(qpsvm.SoftMargin(C=2.0, intercept="none"), form)(X, Y),
    "nu": lambda form: getattr(qpsvm.NuClassification(nu=0.4), form)(X, Y),
    "regression": lambda form: getattr(qpsvm.EpsilonRegression(C=1.0, epsilon=0.1), form)(X, T),
    "one class": lambda form: getattr(qpsvm.OneClass(nu=0.3), form)(X + 3.0),
    "joint": lambda form: getattr(qpsvm.CrammerSinger(C=1.0), form)(X, CLASSES),
    "constrained": lambda form: getattr(qpsvm.SoftMargin(C=2.0), form)(
        X, Y, constraints=qpsvm.constraints.nonnegative(1)
    ),
}


def cvxopts(problem):
    """What CVXOPT makes of the six matrices, exactly as the documentation calls it."""
    return solvers.qp(*problem.canonical("cvxopt"), options=TIGHT)


def proven(problem, machine, eps):
    """The verdict; of the joint dual the bound on the optimum and everything else but its rows.

    An interior point leaves 1e-14 in rows whose terms are all zero at the optimum, which is no
    small share of their size.
    """
    report = qpsvm.verify(problem, machine, eps=eps)
    if isinstance(problem, qpsvm.JointProblem) and problem.form == "dual":
        return all(c.passed for c in report.checks if c.name not in ("equality", "natural"))
    return report.passed


@pytest.mark.parametrize("form", ["dual", "primal"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_what_cvxopt_returns_is_verified(name, form):
    problem = PROBLEMS[name](form)
    answer = cvxopts(problem)
    for machine in (
        problem.from_canonical(answer),
        problem.from_canonical(answer["x"], answer["z"], answer["y"]),
    ):
        assert type(machine) is problem.solution_type
        assert proven(problem, machine, EPS)


def test_recover_names_the_way_for_what_cvxopt_returns():
    problem = PROBLEMS["soft margin"]("dual")
    with pytest.raises(InvalidParameterError, match=r"got a mapping; .* problem\.from_canonical"):
        problem.recover(cvxopts(problem))


@pytest.mark.parametrize("form", ["dual", "primal"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_point_alone_is_verified(name, form):
    if (name, form) == ("kernel", "primal"):
        pytest.skip("K alpha = K beta determines alpha only as far as the eigenvalues of K do")
    problem = PROBLEMS[name](form)
    x = np.array(cvxopts(problem)["x"]).ravel()
    machine = problem.from_canonical(x)
    assert proven(problem, machine, 1e-5)


def test_a_wrong_answer_does_not_pass():
    problem = PROBLEMS["soft margin"]("dual")
    answer = cvxopts(problem)
    x, z, y = (np.array(answer[key]).ravel() for key in "xzy")
    for wrong in ((0.9 * x, z, y), (x, z, y + 0.1), (x, z[::-1], y), (0.9 * x,), (x, None, y + 9)):
        machine = problem.from_canonical(*wrong)
        passed = qpsvm.verify(problem, machine, eps=EPS).passed
        # without z the multipliers are computed anew, so that a wrong y does no harm
        assert passed == (len(wrong) == 3 and wrong[1] is None)
    assert problem.from_canonical(answer).qp.status is Status.UNKNOWN


def test_a_bare_program_comes_back_multiplier_by_multiplier():
    """The canonical rows are listed by hand: a row that does not bind, two kinds of bounds."""
    program = QuadraticProgram(
        np.eye(3),
        [0.0, 0.0, 0.0],
        G=[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        h=[1.0, np.inf, 3.0],
        A=[[1.0, 1.0, 1.0]],
        b=[0.0],
        lb=[-np.inf, 0.0, 0.0],
        ub=[5.0, np.inf, 7.0],
    )
    found = from_canonical(program, [1.0, 2.0, 3.0], [10.0, 11.0, 12.0, 13.0, 14.0, 15.0], [16.0])
    assert found.z.tolist() == [10.0, 0.0, 11.0]
    assert found.z_lower.tolist() == [0.0, 12.0, 13.0]
    assert found.z_upper.tolist() == [14.0, 0.0, 15.0]
    assert found.y.tolist() == [16.0]


def test_no_constraints_need_no_multipliers():
    program = QuadraticProgram([[2.0]], [-2.0])
    for given in (([1.0],), ([1.0], [], []), ([1.0], None, []), ([1.0], [])):
        assert qpsvm.verify(program, from_canonical(program, *given)).passed


def test_the_dual_objective_is_that_of_the_canonical_form():
    """Weak duality holds on both sides of the way back, for multipliers drawn at random."""
    program = PROBLEMS["regression"]("dual").qp
    form = program.canonical("dense")
    for _ in range(20):
        x, z = RNG.normal(size=len(form.q)), RNG.exponential(size=len(form.h))
        y = RNG.normal(size=len(form.b))
        back = from_canonical(program, x, z, y)
        value = program.dual_objective(back.x, back.z, back.y, back.z_lower, back.z_upper)
        expected = -0.5 * x @ form.P @ x - form.h @ z - form.b @ y
        assert value == pytest.approx(expected, rel=1e-10)
        stationarity = form.P @ x + form.q + form.G.T @ z + form.A.T @ y
        measured = residuals(program, back).stationarity.absolute
        assert measured == pytest.approx(np.max(np.abs(stationarity)), rel=1e-10)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (([1.0, 2.0],), "x has 2 entries, the canonical form has 1"),
        (([1.0], [1.0], []), "z has 1 entries, the canonical form has 2, one for each row"),
        (([1.0], [1.0, 1.0], [1.0]), "y has 1 entries, the canonical form has 0"),
        ((["a"],), "x of from_canonical"),
        ((sp.eye_array(1),), "sparse"),
        (({"x": [1.0]}, [1.0, 1.0]), "pass one of them"),
    ],
)
def test_what_does_not_fit_is_refused(given, words):
    program = QuadraticProgram([[1.0]], [-3.0], lb=0.0, ub=2.0)
    with pytest.raises(InvalidProgramError, match=words):
        from_canonical(program, *given)


def test_what_is_no_number_never_passes():
    program = QuadraticProgram([[1.0]], [-3.0], lb=0.0, ub=2.0)
    masked = np.ma.array([2.0], mask=[True])
    for x in ([np.nan], [2.0 + 0.0j], masked, None):
        found = from_canonical(program, x)
        assert isinstance(found, QPSolution)
        assert not qpsvm.verify(program, found).passed


def test_without_cvxopt_its_matrices_say_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cvxopt", None)
    with pytest.raises(MissingPackageError, match="pip install cvxopt"):
        QuadraticProgram([[1.0]], [0.0]).canonical("cvxopt")
