"""Hard and soft margin: the programs written out, and the way back from their solutions."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm
from qpsvm import HardMargin, SoftMargin, kernels
from qpsvm.qp import QPSolution, Status
from tests.tolerances import ROUNDING, SAME_DECISION, SAME_OBJECTIVE, TIGHT

# three samples whose products can be done in the head
X = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0]])
y = np.array([-1, -1, 1])
K = np.array([[1.0, 0.0, 3.0], [0.0, 4.0, 2.0], [3.0, 2.0, 10.0]])
SS = np.array([[1.0, 1.0, -1.0], [1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]])
I3, ZERO3 = np.eye(3), np.zeros((3, 3))

INTERCEPTS = ("free", "penalized", "none")
SAMPLES = {"dense": X, "csr": sp.csr_array(X)}


def formulation(C, intercept):
    return HardMargin(intercept) if C is None else SoftMargin(C, intercept)


def by_parts(n=40, seed=3):
    """Two overlapping clouds."""
    rng = np.random.default_rng(seed)
    labels = np.where(np.arange(n) % 2, 1, -1)
    return rng.normal(size=(n, 3)) + 0.7 * labels[:, None], labels


def affine_kernel(A, B):
    """A module-level callable can be pickled."""
    return A @ B.T + 1.0


# --- the canonical six, by hand -------------------------------------------------------------------


@pytest.mark.parametrize("storage", ["dense", "sparse", "natural"])
@pytest.mark.parametrize("samples", SAMPLES.values(), ids=SAMPLES.keys())
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("C", [None, 10.0], ids=["hard", "soft"])
def test_the_dual_is_the_textbook_program(C, intercept, samples, storage):
    six = formulation(C, intercept).dual(samples, y).canonical(storage)
    P, q, G, h, A, b = (m.toarray() if sp.issparse(m) else m for m in six)
    np.testing.assert_array_equal(P, SS * (K + (intercept == "penalized")))
    np.testing.assert_array_equal(q, [-1.0, -1.0, -1.0])
    np.testing.assert_array_equal(G, -I3 if C is None else np.vstack([-I3, I3]))
    np.testing.assert_array_equal(h, [0.0] * 3 if C is None else [0.0] * 3 + [C] * 3)
    if intercept == "free":
        np.testing.assert_array_equal(A, [[-1.0, -1.0, 1.0]])
        np.testing.assert_array_equal(b, [0.0])
    else:
        assert A.shape == (0, 3)
        assert b.shape == (0,)


@pytest.mark.parametrize("samples", SAMPLES.values(), ids=SAMPLES.keys())
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("C", [None, 10.0], ids=["hard", "soft"])
@pytest.mark.parametrize("kernel", ["linear", "precomputed"])
def test_the_primal_is_the_textbook_program(kernel, C, intercept, samples):
    linear = kernel == "linear"
    features, weights = (X, np.eye(2)) if linear else (K, K)
    data = samples if linear else (sp.csr_array(K) if sp.issparse(samples) else K)
    six = formulation(C, intercept).primal(data, y, kernel=kernel).canonical("dense")
    d, has_b = features.shape[1], intercept != "none"
    size = d + has_b + (0 if C is None else 3)

    P = np.zeros((size, size))
    P[:d, :d] = weights
    P[d : d + has_b, d : d + has_b] = intercept == "penalized"
    # -s_i (w'x_i + b) - xi_i <= -1
    blocks = [-y[:, None] * features] + [-y[:, None]] * has_b + ([] if C is None else [-I3])
    G = np.hstack(blocks)
    if C is not None:  # -xi_i <= 0
        G = np.vstack([G, np.hstack([np.zeros((3, d + has_b)), -I3])])
    np.testing.assert_array_equal(six.P, P)
    np.testing.assert_array_equal(six.q, [0.0] * (d + has_b) + ([] if C is None else [C] * 3))
    np.testing.assert_array_equal(six.G, G)
    np.testing.assert_array_equal(six.h, [-1.0] * 3 if C is None else [-1.0] * 3 + [0.0] * 3)
    assert six.A.shape == (0, size)
    assert six.b.shape == (0,)


def test_variables_have_names():
    assert SoftMargin().primal(X, y).qp.names["x"] == "w, b, xi"
    assert HardMargin("none").primal(X, y, kernel="rbf").qp.names["x"] == "beta"
    assert SoftMargin().dual(X, y).qp.names["x"] == "alpha"


def test_a_problem_says_what_it_is():
    text = repr(SoftMargin(C=10.0).dual(sp.csr_array(X), y, kernel=kernels.RBF(0.5)))
    for word in ("SoftMargin(C=10.0", "dual", "rbf(gamma=0.5)", "3 samples x 2", "sparse"):
        assert word in text


def test_a_formulation_rebuilds_its_problem():
    problem = SoftMargin(C=3.0).dual(X, y)
    assert problem.formulation == SoftMargin(C=3.0)
    again = getattr(problem.formulation, problem.form)(X, y)
    assert again.qp.fingerprint() == problem.qp.fingerprint()


# --- the way back ------------------------------------------------------------------------------


def test_recovery_of_a_hand_computed_dual_optimum():
    # x = 0 (negative) and x = 2 (positive): w = 1, b = -1, alpha = (1/2, 1/2)
    problem = SoftMargin(C=10.0).dual([[0.0], [2.0]], ["no", "yes"])
    qp = QPSolution(Status.UNKNOWN, x=[0.5, 0.5], z=[], y=[-1.0], z_lower=[0, 0], z_upper=[0, 0])
    solution = problem.recover(qp)
    assert solution.coef == pytest.approx([1.0])
    assert solution.intercept == pytest.approx(-1.0)
    assert solution.slack == pytest.approx([0.0, 0.0])
    assert solution.expansion == pytest.approx([-0.5, 0.5])
    assert solution.support.tolist() == [0, 1]
    assert solution.predict([[0.9], [1.1]]).tolist() == ["no", "yes"]
    assert qpsvm.verify(problem, solution).passed


def test_recovery_of_a_hand_computed_primal_optimum():
    problem = SoftMargin(C=10.0).primal([[0.0], [2.0]], [-1, 1])
    qp = QPSolution(
        Status.UNKNOWN,
        x=[1.0, -1.0, 0.0, 0.0],
        z=[0.5, 0.5],
        y=[],
        z_lower=[0.0, 0.0, 9.5, 9.5],
        z_upper=np.zeros(4),
    )
    solution = problem.recover(qp)
    assert solution.coef == pytest.approx([1.0])
    assert solution.intercept == pytest.approx(-1.0)
    assert solution.alpha == pytest.approx([0.5, 0.5])
    assert solution.expansion is None
    assert qpsvm.verify(problem, solution).passed


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("missing", ["x", "z", "everything", "wrong length"])
def test_a_solver_that_returns_nothing_gives_nan_and_fails(form, missing):
    problem = getattr(SoftMargin(), form)(X, y)
    complete = qpsvm.solve(problem, "cvxopt").qp
    broken = {
        "x": complete.replace(x=None),
        "z": complete.replace(z=None),
        "everything": QPSolution(Status.OPTIMAL),
        "wrong length": complete.replace(x=np.ones(17)),
    }[missing]
    assert not qpsvm.verify(problem, problem.recover(broken)).passed


CASES = [
    pytest.param(C, intercept, kernel, id=f"{'hard' if C is None else 'soft'}-{intercept}-{kernel}")
    for C in (None, 0.5)
    for intercept in INTERCEPTS
    for kernel in ("linear", "rbf", "polynomial")
    if not (C is None and kernel == "linear")
]


@pytest.mark.parametrize(("C", "intercept", "kernel"), CASES)
def test_primal_and_dual_recover_the_same_classifier(C, intercept, kernel):
    samples, labels = by_parts()
    family = formulation(C, intercept)
    options = {"kernel": kernels.Polynomial(coef0=1.0) if kernel == "polynomial" else kernel}
    primal_problem = family.primal(samples, labels, **options)
    dual_problem = family.dual(samples, labels, **options)
    primal = qpsvm.solve(primal_problem, "cvxpy:CLARABEL")
    dual = qpsvm.solve(dual_problem, "cvxopt")

    proofs = [qpsvm.certify(primal_problem, primal), qpsvm.certify(dual_problem, dual)]
    scale = max(1.0, proofs[0].primal_objective)
    assert abs(proofs[0].primal_objective - proofs[1].primal_objective) < SAME_OBJECTIVE * scale
    tolerance = SAME_DECISION * max(1.0, np.sqrt(scale))
    for name in ("slack", "alpha") if C is not None else ("slack",):
        np.testing.assert_allclose(getattr(primal, name), getattr(dual, name), atol=tolerance)
    np.testing.assert_allclose(
        primal.decision_function(samples), dual.decision_function(samples), atol=tolerance
    )
    assert primal.intercept == pytest.approx(dual.intercept, abs=tolerance)
    if kernel == "linear":
        np.testing.assert_allclose(primal.coef, dual.coef, atol=tolerance)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_intercept_and_slack_are_multipliers_of_the_dual(kernel):
    samples, labels = by_parts()
    problem = SoftMargin(C=0.5).dual(samples, labels, kernel=kernel)
    solution = qpsvm.solve(problem, "cvxopt", eps=TIGHT)
    assert solution.qp.y[0] == pytest.approx(solution.intercept, abs=1e-6)
    np.testing.assert_allclose(solution.qp.z_upper, solution.slack, atol=1e-6)
    assert solution.slack.max() > 0.1  # otherwise this compared zeros


def test_alpha_is_the_multiplier_of_the_primal_margin_rows():
    samples, labels = by_parts()
    problem = SoftMargin(C=0.5).primal(samples, labels)
    solution = qpsvm.solve(problem, "cvxpy:CLARABEL", eps=TIGHT)
    np.testing.assert_array_equal(solution.alpha, solution.qp.z)
    np.testing.assert_allclose(samples.T @ (labels * solution.alpha), solution.coef, atol=1e-6)
    assert labels @ solution.alpha == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize(("C", "intercept", "kernel"), CASES)
def test_to_qp_and_recover_are_inverse_and_keep_the_optimum(form, C, intercept, kernel):
    samples, labels = by_parts()
    options = {"kernel": kernels.Polynomial(coef0=1.0) if kernel == "polynomial" else kernel}
    problem = getattr(formulation(C, intercept), form)(samples, labels, **options)
    backend = "cvxopt" if form == "dual" else "cvxpy:CLARABEL"
    solution = qpsvm.solve(problem, backend)
    back = problem.recover(problem.to_qp(solution))
    scale = max(1.0, np.abs(solution.alpha).max())
    np.testing.assert_allclose(back.alpha, solution.alpha, atol=ROUNDING * scale)
    np.testing.assert_allclose(back.slack, solution.slack, atol=1e-9)
    assert back.intercept == pytest.approx(solution.intercept, abs=1e-9)
    assert qpsvm.verify(problem, back, eps=1e-6).passed


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_a_penalised_intercept_is_an_extra_column_of_ones(form):
    samples, labels = by_parts()
    extended = np.column_stack([samples, np.ones(len(samples))])
    one_problem = getattr(SoftMargin(0.5, "penalized"), form)(samples, labels)
    other_problem = getattr(SoftMargin(0.5, "none"), form)(extended, labels)
    one, other = qpsvm.solve(one_problem), qpsvm.solve(other_problem)
    if form == "dual":
        np.testing.assert_allclose(
            one_problem.qp.P.to_dense(), other_problem.qp.P.to_dense(), rtol=ROUNDING
        )
    np.testing.assert_allclose([*one.coef, one.intercept], other.coef, atol=SAME_DECISION)
    assert other.intercept == 0.0
    assert qpsvm.certify(one_problem, one).primal_objective == pytest.approx(
        qpsvm.certify(other_problem, other).primal_objective, rel=SAME_OBJECTIVE
    )


def test_the_three_intercepts_are_three_programs():
    samples, labels = by_parts()
    objectives = [
        qpsvm.certify(p, qpsvm.solve(p)).primal_objective
        for p in (SoftMargin(0.5, kind).dual(samples + 1.0, labels) for kind in INTERCEPTS)
    ]
    # each allows less than the one before
    assert objectives[0] + 1e-3 < objectives[1] < objectives[2] - 1e-3


# --- values, not objects that change --------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel", ["linear", kernels.RBF(0.5), affine_kernel], ids=["linear", "rbf", "callable"]
)
@pytest.mark.parametrize("form", ["primal", "dual"])
def test_problem_recovery_and_solution_survive_pickling(form, kernel):
    samples, labels = by_parts()
    problem = getattr(SoftMargin(0.5), form)(samples, labels, kernel=kernel)
    solution = qpsvm.solve(problem, "cvxopt" if form == "dual" else "cvxpy:CLARABEL")
    recovery = pickle.loads(pickle.dumps(problem.recovery))
    recovered = recovery.recover(solution.qp).solution
    np.testing.assert_array_equal(recovered.alpha, solution.alpha)
    assert recovered.intercept == solution.intercept
    copy = pickle.loads(pickle.dumps(solution))
    np.testing.assert_array_equal(
        copy.decision_function(samples), solution.decision_function(samples)
    )
    copied_problem = pickle.loads(pickle.dumps(problem))
    assert copied_problem.qp.fingerprint() == problem.qp.fingerprint()
    assert qpsvm.verify(copied_problem, copy).passed


def test_nothing_can_be_assigned():
    problem = SoftMargin().dual(X, y)
    solution = qpsvm.solve(problem)
    proof = qpsvm.certify(problem, solution)
    for thing, name in (
        (SoftMargin(), "C"),
        (HardMargin(), "intercept"),
        (kernels.RBF(), "gamma"),
        (problem, "qp"),
        (problem.model, "conditions"),
        (problem.data, "X"),
        (problem.recovery, "model"),
        (solution, "intercept"),
        (proof, "dual_objective"),
    ):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(thing, name, None)
    with pytest.raises(AttributeError, match="immutable"):
        problem.qp.q = None


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_every_array_of_a_solution_is_read_only(form):
    solution = qpsvm.solve(getattr(SoftMargin(), form)(X, y))
    for name in ("alpha", "coef", "slack", "upper"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(solution, name)[0] = 1.0
    for array in (solution.qp.x, solution.qp.z_lower):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_replace_leaves_the_original_alone():
    solution = qpsvm.solve(SoftMargin().dual(X, y))
    before = solution.intercept
    assert solution.replace(intercept=7.0).intercept == 7.0
    assert solution.intercept == before
