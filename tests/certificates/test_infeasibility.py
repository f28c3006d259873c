"""A certificate that there is no optimum is believed only as far as it is measured."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm
from qpsvm import HardMargin, SoftMargin, kernels
from qpsvm.certificates.infeasibility import inseparability, not_separable
from qpsvm.constraints import bounded, nonnegative, nonpositive
from qpsvm.exceptions import (
    ConflictingConstraintsError,
    InfeasibleProgramError,
    InvalidParameterError,
    NotSeparableError,
    ToleranceNotReachedWarning,
    UnboundedProgramError,
)
from qpsvm.qp import QPSolution, QuadraticProgram, Status

X = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.0], [1.0, 0.2]])
Y = [1, 1, 1, -1]


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("kernel", ["linear", kernels.Polynomial(1.0, 1, 1.0)], ids=str)
def test_a_hard_margin_shows_a_point_in_both_hulls(form, kernel):
    problem = getattr(HardMargin(), form)(X, Y, kernel=kernel)
    with pytest.raises(NotSeparableError) as caught:
        qpsvm.solve(problem)
    proof = caught.value.certificate
    assert proof.passed
    assert proof.kind == "common point"
    weights = proof.hulls.weights
    means = [weights[np.array(Y) == s] @ X[np.array(Y) == s] for s in (1, -1)]
    np.testing.assert_allclose(means[0], means[1], atol=1e-8)
    # measured again from its own vectors
    assert qpsvm.certify_infeasible(problem, proof.evidence).passed
    assert proof.to_dict()["passed"] is True
    assert "PROVEN" in str(proof)


@pytest.mark.parametrize("size", [1e-6, 1e-3, 1.0])
def test_disturbed_evidence_is_no_proof(size):
    problem = HardMargin().primal(X, Y)
    with pytest.raises(NotSeparableError) as caught:
        qpsvm.solve(problem)
    evidence = caught.value.certificate.evidence
    z = evidence.z + size * np.array([1.0, 0.0, 0.0, 0.0]) * np.max(evidence.z)
    proof = qpsvm.certify_infeasible(problem, evidence.replace(z=z))
    assert not proof.passed
    assert "NOT PROVEN" in str(proof)


@pytest.mark.parametrize("spacing", [1e-3, 1e-4, 1e-5])
def test_different_samples_do_not_cancel_where_the_kernel_rounds_them_away(spacing):
    # an RBF kernel separates any different samples; the third difference is below its rounding
    line = spacing * np.arange(4.0)[:, None]
    problem = HardMargin().dual(line, [-1, 1, -1, 1], kernel=kernels.RBF(1.0))
    third_difference = np.array([0.25, 0.75, 0.75, 0.25])
    evidence = QPSolution(Status.DUAL_INFEASIBLE, x=third_difference)
    proof = qpsvm.certify_infeasible(problem, evidence)
    assert not proof.passed
    assert proof.violation > 0.0


@pytest.mark.parametrize("container", [np.array, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("kernel", [kernels.RBF(1.0), kernels.Polynomial(1.0, 3, 1.0)], ids=str)
def test_the_same_samples_cancel_exactly(container, kernel):
    near = np.array([[1e-3, 0.0], [2e-3, 0.0], [1e-3, -0.0], [0.0, 3e-3]])
    problem = HardMargin().dual(container(near), [1, 1, -1, -1], kernel=kernel)
    evidence = QPSolution(Status.DUAL_INFEASIBLE, x=np.array([2.0, 0.0, 2.0, 0.0]))
    proof = qpsvm.certify_infeasible(problem, evidence)
    assert proof.passed
    assert proof.violation == 0.0


@pytest.mark.parametrize("bad", [None, np.full(4, np.nan), np.zeros(4), np.ones(3)], ids=str)
def test_no_evidence_is_no_proof(bad):
    problem = HardMargin().primal(X, Y)
    evidence = QPSolution(Status.PRIMAL_INFEASIBLE, z=bad)
    proof = qpsvm.certify_infeasible(problem, evidence)
    assert not proof.passed
    assert proof.violation == np.inf


@pytest.mark.parametrize("status", [Status.PRIMAL_INFEASIBLE, Status.DUAL_INFEASIBLE])
def test_a_feasible_problem_cannot_be_proven_infeasible(status):
    rng = np.random.default_rng(0)
    problems = [
        HardMargin().dual(X[:, :1], [-1, 1, 1, 1]),
        SoftMargin().dual(X, Y),
        QuadraticProgram(np.eye(2), [1.0, -1.0], G=[[1.0, 1.0]], h=[1.0]),
    ]
    for problem in problems:
        program = getattr(problem, "qp", problem)
        for _ in range(100):
            evidence = QPSolution(
                status,
                x=rng.normal(size=program.n_variables),
                z=rng.exponential(size=program.n_inequalities),
                y=rng.normal(size=program.n_equalities),
                z_lower=np.zeros(program.n_variables),
                z_upper=np.zeros(program.n_variables),
            )
            assert not qpsvm.certify_infeasible(problem, evidence).passed


def test_programs_have_multipliers_or_a_direction():
    infeasible = QuadraticProgram(np.eye(1), [0.0], G=[[1.0], [-1.0]], h=[-1.0, -1.0])
    with pytest.raises(InfeasibleProgramError) as caught:
        qpsvm.solve(infeasible, "cvxopt", strict=True)
    proof = caught.value.certificate
    assert (proof.kind, proof.passed) == ("contradiction", True)
    falling = QuadraticProgram(np.zeros((1, 1)), [1.0], G=[[1.0]], h=[1.0])
    with pytest.raises(UnboundedProgramError) as caught:
        qpsvm.solve(falling, "cvxopt", strict=True)
    proof = caught.value.certificate
    assert (proof.kind, proof.passed) == ("descent", True)
    # whichever the status claims, both are measured where it claims neither
    again = qpsvm.certify_infeasible(falling, proof.evidence.replace(status=Status.UNKNOWN))
    assert again.passed


@pytest.mark.parametrize("form", ["primal", pytest.param("dual", marks=pytest.mark.exhaustive)])
def test_conflicting_rules_are_named(form):
    rules = [bounded(0, lower=1.0), nonpositive(0), nonnegative(1)]
    problem = getattr(SoftMargin(), form)(X, Y, constraints=rules)
    with pytest.raises(ConflictingConstraintsError) as caught:
        qpsvm.solve(problem)
    proof = caught.value.certificate
    assert proof.passed
    assert set(proof.rows) == set(caught.value.rows)
    assert len(proof.rows) == 2


def test_the_certificate_survives_pickling():
    with pytest.raises(NotSeparableError) as caught:
        qpsvm.solve(HardMargin().dual(X, Y))
    copy = pickle.loads(pickle.dumps(caught.value))
    assert copy.certificate.passed
    assert copy.certificate.violation == caught.value.certificate.violation


def test_other_arguments_are_refused():
    with pytest.raises(InvalidParameterError, match="QPSolution as evidence"):
        qpsvm.certify_infeasible(HardMargin().dual(X, Y), "evidence")
    with pytest.raises(InvalidParameterError, match="SVMProblem"):
        qpsvm.certify_infeasible("problem", QPSolution(Status.UNKNOWN))


@pytest.mark.parametrize("intercept", ["free", "none"])
def test_the_width_that_no_margin_exceeds_is_that_of_the_widest(intercept):
    """The weights of the widest margin prove that there is no wider one: ``2 / |w|``."""
    samples, labels = np.array([[2.0, 1.0], [3.0, -1.0], [-1.0, 0.5], [-2.0, 2.0]]), [1, 1, -1, -1]
    problem = HardMargin(intercept=intercept).dual(samples, labels)
    solution = qpsvm.solve(problem)
    proof = inseparability(problem, solution.qp)
    width = 2.0 / np.linalg.norm(solution.coef)
    assert proof.distance * (2.0 if intercept == "none" else 1.0) == pytest.approx(width, rel=1e-6)
    assert f"a margin wider than {width:.2g} (" in str(not_separable(problem, proof))


@pytest.mark.parametrize("offset", [0.0, 1e3, -1e9, 2.0**40])
def test_an_offset_that_all_samples_share_proves_nothing(offset: float) -> None:
    """How close two classes are is relative to the samples' spread, sparse or dense."""
    apart = np.array([[0.0, 0.0], [0.0, 2.0], [1.0, 0.5], [2.0, 1.0]]) + offset
    mixed = np.array([[0.0, 0.0], [2.0, 2.0], [1.0, 1.0], [3.0, 0.0]]) + offset
    evidence = QPSolution(Status.PRIMAL_INFEASIBLE, z=np.array([0.5, 0.5, 1.0, 0.0]))
    for samples, are_apart in ((apart, True), (mixed, False)):
        for given in (samples, sp.csr_array(samples)):
            problem = HardMargin().primal(given, [-1, -1, 1, 1])
            proof = inseparability(problem, evidence)
            centred = samples - np.mean(samples, axis=0)
            radius = np.max(np.linalg.norm(centred, axis=1))
            assert proof.radius == pytest.approx(radius, rel=1e-6)
            assert proof.is_proof is not are_apart
            assert qpsvm.certify_infeasible(problem, evidence).passed is not are_apart


@pytest.mark.parametrize("far", [1e3, 1e10, 1e14])
@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_classes_with_a_gap_are_not_called_inseparable(storage, intercept, far):
    """However small the gap is beside a sample far out on its own side."""
    sides = np.array([[-1.0, 0.5], [-2.0, -3.0], [1.0, 0.5], [3.0, 1.0], [far, 0.0]])
    problem = HardMargin(intercept).primal(storage(sides), [-1, -1, 1, 1, 1])
    for z in ([1.0, 0.0, 1.0, 0.0, 0.0], [0.7, 0.3, 0.9, 0.1, 1e-14]):
        evidence = QPSolution(Status.PRIMAL_INFEASIBLE, z=np.array(z))
        assert not qpsvm.certify_infeasible(problem, evidence).passed


def test_kernel_values_that_underflow_prove_nothing() -> None:
    """The classes are separable; what is computed of them is a matrix of zeros."""
    X, y = np.array([[1e-200, 0.0], [0.0, 1e-200], [1e-200, 2e-200]]), [1, -1, 1]
    kernel = qpsvm.kernels.Polynomial(gamma=0.5, degree=2, coef0=0.0)
    hard = qpsvm.HardMargin(intercept="none")
    with pytest.warns(ToleranceNotReachedWarning, match="scale the features"):
        solution = qpsvm.solve(hard.primal(X, y, kernel=kernel), backend="osqp")
    assert solution.status is not Status.OPTIMAL
    for given, how in ((0.0 * X, kernel), (np.zeros((3, 3)), "precomputed")):  # zeros as data
        with pytest.raises(NotSeparableError, match="cannot be separated"):
            qpsvm.solve(hard.dual(given, y, kernel=how))
