"""All classes in one program: its matrices, the way back, the certificate, and mutations."""

from __future__ import annotations

import dataclasses
import itertools
import pickle
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import qpsvm
from qpsvm import SoftMargin, kernels
from qpsvm.backends.base import Backend, Capabilities
from qpsvm.exceptions import InvalidDataError, InvalidParameterError
from qpsvm.formulations.crammer_singer import CrammerSinger
from qpsvm.machines.joint.solution import JointSolution
from qpsvm.machines.repair import nearest_rows
from qpsvm.qp import DenseQuadratic, QPSolution, Status
from qpsvm.qp.quadratic import RepeatedQuadratic
from tests.strategies import examples, grid, listed
from tests.tolerances import (
    DESCENT,
    DESCENT_OBJECTIVE,
    ROUNDING,
    SAME_DECISION,
    SAME_OBJECTIVE,
    TIGHT,
)

EPS = 1e-8
INTERCEPTS = ("none", "penalized")
FORMS = ("primal", "dual")
KERNELS = {
    "linear": kernels.Linear(),
    "rbf": kernels.RBF(0.4),
    "polynomial": kernels.Polynomial(0.5, 2, 1.0),
}
# the dual first, so that it has the polynomial kernel in the quick run: a primal program of so low
# a rank takes a hundred times as long
CASES = list(itertools.product(FORMS[::-1], KERNELS, INTERCEPTS))
EVERY = grid("form, kernel, intercept", CASES)


def clouds(n=36, k=3, seed=3):
    """Overlapping clouds of k classes, whose labels are in no order."""
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % k
    centres = 1.2 * rng.normal(size=(k, 3))
    labels = np.array(["pear", "apple", "fig", "date"])[codes]
    return rng.normal(size=(n, 3)) + centres[codes], labels


def solved(problem, backend="auto", eps=EPS):
    """A solution whose certificate holds, with its objective."""
    solution = qpsvm.solve(problem, backend, eps=eps)
    assert qpsvm.verify(problem, solution, eps=eps).passed
    return solution, qpsvm.certify(problem, solution).primal_objective


@cache
def base(form, kernel, intercept):
    """The problem on ``clouds()`` and its solution."""
    problem = getattr(CrammerSinger(0.7, intercept), form)(*clouds(), kernel=KERNELS[kernel])
    return problem, solved(problem, eps=EPS / 100)[0]


# --- the canonical six, by hand -------------------------------------------------------------------

# three samples whose products can be done in the head, and three classes out of order
X3 = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0]])
Y3 = np.array(["a", "c", "b"])
K3 = np.array([[1.0, 0.0, 3.0], [0.0, 4.0, 2.0], [3.0, 2.0, 10.0]])
ZERO3, I3 = np.zeros((3, 3)), np.eye(3)


@pytest.mark.parametrize("storage", ["dense", "sparse", "natural"])
@pytest.mark.parametrize("samples", [X3, sp.csr_array(X3)], ids=["dense", "csr"])
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_the_dual_is_the_textbook_program(intercept, samples, storage):
    six = CrammerSinger(10.0, intercept).dual(samples, Y3).canonical(storage)
    P, q, G, h, A, b = (m.toarray() if sp.issparse(m) else m for m in six)
    K = K3 + (intercept == "penalized")
    np.testing.assert_array_equal(
        P, np.block([[K, ZERO3, ZERO3], [ZERO3, K, ZERO3], [ZERO3, ZERO3, K]])
    )
    # class a: sample 0; class b: sample 2; class c: sample 1
    np.testing.assert_array_equal(q, [-1, 0, 0, 0, 0, -1, 0, -1, 0])
    np.testing.assert_array_equal(G, np.eye(9))
    np.testing.assert_array_equal(h, [10, 0, 0, 0, 0, 10, 0, 10, 0])
    np.testing.assert_array_equal(A, np.hstack([I3, I3, I3]))
    np.testing.assert_array_equal(b, [0, 0, 0])


@pytest.mark.parametrize("samples", [X3, sp.csr_array(X3)], ids=["dense", "csr"])
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_the_primal_is_the_textbook_program(intercept, samples):
    six = CrammerSinger(10.0, intercept).primal(samples, Y3).canonical("dense")
    W = np.array(
        # w_a        w_b      w_c
        [
            [-1, 0, 1, 0, 0, 0],  # sample 0 is of class a, against b
            [-1, 0, 0, 0, 1, 0],  # and against c
            [0, 2, 0, 0, 0, -2],  # sample 1 is of class c, against a
            [0, 0, 0, 2, 0, -2],
            [3, 1, -3, -1, 0, 0],  # sample 2 is of class b, against a
            [0, 0, -3, -1, 3, 1],
        ]
    )
    B = np.array([[-1, 1, 0], [-1, 0, 1], [1, 0, -1], [0, 1, -1], [1, -1, 0], [0, -1, 1]])
    xi = np.array([[-1, 0, 0], [-1, 0, 0], [0, -1, 0], [0, -1, 0], [0, 0, -1], [0, 0, -1]])
    columns = [W, B, xi] if intercept == "penalized" else [W, xi]
    margins = np.hstack(columns)
    size = margins.shape[1]
    np.testing.assert_array_equal(six.P, np.diag([1.0] * (size - 3) + [0.0] * 3))
    np.testing.assert_array_equal(six.q, [0.0] * (size - 3) + [10.0] * 3)
    np.testing.assert_array_equal(six.G, np.vstack([margins, -np.eye(size)[-3:]]))
    np.testing.assert_array_equal(six.h, [-1.0] * 6 + [0.0] * 3)
    assert six.A.shape == (0, size)


def test_the_kernel_primal_has_k_in_the_place_of_the_samples():
    primal = CrammerSinger(10.0).primal(K3, Y3, kernel="precomputed").canonical("dense")
    linear = CrammerSinger(10.0).primal(K3, Y3).canonical("dense")
    for name in ("q", "G", "h", "A", "b"):
        np.testing.assert_array_equal(getattr(primal, name), getattr(linear, name))
    expected = np.zeros((12, 12))
    for m in range(3):
        expected[3 * m : 3 * m + 3, 3 * m : 3 * m + 3] = K3
    np.testing.assert_array_equal(primal.P, expected)


def test_variables_have_names():
    assert CrammerSinger().dual(X3, Y3).qp.names["x"] == "tau (class by class)"
    assert CrammerSinger().primal(X3, Y3).qp.names["x"] == "w_1, w_2, w_3, xi"
    problem = CrammerSinger(1.0, "penalized").primal(X3, Y3, kernel="rbf")
    assert problem.qp.names["x"] == "beta_1, beta_2, beta_3, b, xi"


def test_a_problem_says_what_it_is_and_can_be_built_again():
    problem = CrammerSinger(C=3.0).dual(sp.csr_array(X3), Y3, kernel=kernels.RBF(0.5))
    for word in ("JointProblem(CrammerSinger(C=3.0)", "dual", "rbf(gamma=0.5)", "sparse", "9 var"):
        assert word in " ".join(repr(problem).split())
    again = getattr(problem.formulation, problem.form)(sp.csr_array(X3), Y3, kernel=problem.kernel)
    assert again.qp.fingerprint() == problem.qp.fingerprint()
    other = problem.formulation.dual(sp.csr_array(X3), Y3, kernel=kernels.RBF(0.6))
    assert other.qp.fingerprint() != problem.qp.fingerprint()


# --- the structured Hessian -----------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_every_view_of_the_hessian_is_the_kronecker_product(kernel, intercept):
    samples, labels = clouds(12)
    K = KERNELS[kernel](samples, samples) + (intercept == "penalized")
    P = CrammerSinger(1.0, intercept).dual(samples, labels, kernel=KERNELS[kernel]).qp.P
    expected = np.kron(np.eye(3), K)
    rng = np.random.default_rng(0)
    x, rows, columns = rng.normal(size=36), rng.integers(0, 36, 7), rng.integers(0, 36, 9)
    close = {"atol": ROUNDING * np.abs(K).max(), "rtol": 0}
    np.testing.assert_allclose(P @ x, expected @ x, **close)
    np.testing.assert_allclose(P.block(rows, columns), expected[np.ix_(rows, columns)], **close)
    np.testing.assert_allclose(P.diagonal(), np.diag(expected), **close)
    np.testing.assert_allclose(P.to_dense(), expected, **close)
    np.testing.assert_allclose(P.to_sparse().toarray(), expected, **close)
    assert P.to_sparse().nnz <= 3 * 12 * 12
    assert P.shape == (36, 36)
    assert P.is_positive_semidefinite()
    assert P.smallest_eigenvalue() == pytest.approx(np.linalg.eigvalsh(K)[0], abs=1e-9)


def test_an_indefinite_part_makes_an_indefinite_whole():
    P = RepeatedQuadratic(DenseQuadratic([[1.0, 2.0], [2.0, 1.0]]), 3)
    assert not P.is_psd_by_construction
    assert not P.is_positive_semidefinite()
    assert P.smallest_eigenvalue() == pytest.approx(-1.0)
    semi = RepeatedQuadratic(DenseQuadratic([[1.0, 1.0], [1.0, 1.0]]), 2)
    assert semi.null_violation(np.array([1.0, -1.0, 2.0, -2.0])) == 0.0
    assert semi.null_violation(np.array([1.0, -1.0, 2.0, 2.0])) == 1.0


# --- the projection -------------------------------------------------------------------------------


@st.composite
def rows_with_bounds(draw):
    k = draw(st.integers(2, 6))
    number = st.floats(-5, 5, allow_nan=False)
    V = np.array(draw(st.lists(st.lists(number, min_size=k, max_size=k), min_size=1, max_size=4)))
    budget = np.array(draw(st.lists(st.floats(0.01, 4.0), min_size=len(V), max_size=len(V))))
    own = np.array(draw(st.lists(st.integers(0, k - 1), min_size=len(V), max_size=len(V))))
    scale = 10.0 ** draw(st.integers(-6, 6))
    return scale * V, scale * np.where(own[:, None] == np.arange(k), budget[:, None], 0.0), scale


@given(rows_with_bounds(), st.integers(0, 2**32 - 1))
@settings(max_examples=examples(300))
def test_the_nearest_row_is_feasible_and_the_nearest(case, seed):
    V, upper, scale = case
    T = nearest_rows(V, upper)
    assert np.abs(T.sum(axis=1)).max() <= 1e-13 * scale
    assert (upper >= T).all()
    # the way to any other feasible row turns away from V: (V - T)'(Z - T) <= 0
    budget = upper.sum(axis=1, keepdims=True)
    for shares in np.random.default_rng(seed).dirichlet(np.ones(V.shape[1]), size=20):
        Z = upper - budget * shares
        assert (np.sum((V - T) * (Z - T), axis=1) <= 1e-12 * scale**2).all()
    np.testing.assert_allclose(nearest_rows(T, upper), T, atol=1e-13 * scale, rtol=0)


def test_a_large_budget_does_not_cost_digits():
    tau = np.array([[1e-3, -4e-4, -6e-4]])
    np.testing.assert_allclose(nearest_rows(tau, np.array([[1e12, 0.0, 0.0]])), tau, rtol=1e-15)


def test_nan_stays_in_its_row():
    T = nearest_rows(np.array([[1.0, np.nan, 0.0], [1.0, -1.0, 0.0]]), np.array([[2.0, 0, 0]] * 2))
    assert np.isnan(T[0]).any()
    np.testing.assert_array_equal(T[1], [1.0, -1.0, 0.0])


# --- optima known by hand -------------------------------------------------------------------------

# x = -1 of class a and x = 1 of class b: a margin of 1 needs w_b - w_a = 1, so -1/2 and 1/2, and
# w_b = sum_i tau_ib x_i gives tau = 1/4; the objective is 1/4 on both sides
HAND_X, HAND_Y = [[-1.0], [1.0]], ["a", "b"]
HAND_TAU = [[0.25, -0.25], [-0.25, 0.25]]


def test_recovery_of_a_hand_computed_dual_optimum():
    problem = CrammerSinger(C=10.0).dual(HAND_X, HAND_Y)
    zeros = np.zeros(4)
    qp = QPSolution(
        Status.UNKNOWN,
        x=np.array([0.25, -0.25, -0.25, 0.25]),
        z=np.zeros(0),
        y=np.array([0.5, 0.5]),
        z_lower=zeros,
        z_upper=zeros,
    )
    solution = problem.recover(qp)
    np.testing.assert_array_equal(solution.alpha, HAND_TAU)
    np.testing.assert_array_equal(solution.coef, [[-0.5], [0.5]])
    np.testing.assert_array_equal(solution.intercept, [0.0, 0.0])
    np.testing.assert_array_equal(solution.slack, [0.0, 0.0])
    assert solution.support.tolist() == [0, 1]
    assert solution.predict([[-0.1], [0.1]]).tolist() == ["a", "b"]
    proof = qpsvm.certify(problem, solution)
    assert (proof.primal_objective, proof.dual_objective) == (0.25, 0.25)
    assert proof.intercept_interval is None
    assert proof.to_dict()["intercept_interval"] is None
    assert qpsvm.verify(problem, solution).passed


def test_recovery_of_a_hand_computed_primal_optimum():
    problem = CrammerSinger(C=10.0).primal(HAND_X, HAND_Y)
    qp = QPSolution(
        Status.UNKNOWN,
        x=np.array([-0.5, 0.5, 0.0, 0.0]),
        z=np.array([0.25, 0.25]),
        y=np.zeros(0),
        z_lower=np.array([0.0, 0.0, 9.75, 9.75]),
        z_upper=np.zeros(4),
    )
    solution = problem.recover(qp)
    np.testing.assert_array_equal(solution.alpha, HAND_TAU)
    np.testing.assert_array_equal(solution.coef, [[-0.5], [0.5]])
    assert solution.expansion is None
    assert qpsvm.verify(problem, solution).passed


def test_the_sample_table_says_which_class_a_sample_is_told_from():
    problem = CrammerSinger(C=0.1, intercept="none").dual(HAND_X, HAND_Y)
    # C is below 1/4: tau = C, w = -+2C, both samples at their bound with slack 1 - 4C
    solution, objective = solved(problem, eps=TIGHT)
    assert objective == pytest.approx(2 * 0.1 - 4 * 0.1**2)
    table = problem.model.sample_table(problem.model.evaluate(solution))
    assert table.sample.tolist() == [0, 0, 1, 1]
    assert table.label.tolist() == ["a", "a", "b", "b"]
    assert table.against.tolist() == ["a", "b", "a", "b"]
    np.testing.assert_allclose(table.alpha, [0.1, -0.1, -0.1, 0.1], atol=1e-9)
    np.testing.assert_allclose(table.upper, [0.1, 0.0, 0.0, 0.1])
    np.testing.assert_allclose(table.lower, [0.0, -0.1, -0.1, 0.0])
    np.testing.assert_allclose(table.margin, 0.4, atol=1e-8)
    np.testing.assert_allclose(table.slack, 0.6, atol=1e-8)
    np.testing.assert_allclose(table.decision, [0.2, -0.2, -0.2, 0.2], atol=1e-8)
    row = table.row(1)
    assert (row["sample"], row["label"], row["against"], row["case"]) == (0, "a", "b", "bound")
    summary = qpsvm.verify(problem, solution).summary
    assert (summary.n_support, summary.n_bound, summary.training_errors) == (2, 2, 0)


def test_a_sample_beyond_its_margin_has_no_alpha():
    X = [[-1.0], [1.0], [5.0]]
    formulation = CrammerSinger(C=10.0, intercept="penalized")  # which makes alpha unique
    problem = formulation.dual(X, ["a", "b", "b"])
    solution, _ = solved(problem, eps=TIGHT)
    assert solution.support.tolist() == [0, 1]
    table = problem.model.sample_table(problem.model.evaluate(solution))
    assert table.case.tolist() == [1, 1, 1, 1, 0, 0]
    assert table.margin[-1] == pytest.approx(5.0)
    assert "2 support vectors (2 free, 0 at a bound)" in str(qpsvm.verify(problem, solution))


# --- primal and dual ------------------------------------------------------------------------------


@grid("kernel, intercept, k", itertools.product(KERNELS, INTERCEPTS, [2, 4]))
def test_primal_and_dual_of_different_solvers_agree(kernel, intercept, k):
    samples, labels = clouds(32, k)
    family, options = CrammerSinger(0.5, intercept), {"kernel": KERNELS[kernel]}
    results = [
        solved(getattr(family, form)(samples, labels, **options), backend)
        for form, backend in (
            ("dual", "cvxopt"),
            ("primal", "cvxpy:CLARABEL"),
            ("dual", "qpsolvers:piqp"),
            ("primal", "qpsolvers:piqp"),
        )
    ]
    first, objective = results[0]
    size = max(1.0, np.sqrt(objective))
    for other, value in results[1:]:
        assert value == pytest.approx(objective, rel=SAME_OBJECTIVE)
        for name in ("slack", "intercept"):
            ours, theirs = getattr(first, name), getattr(other, name)
            np.testing.assert_allclose(theirs, ours, atol=SAME_DECISION * size)
        np.testing.assert_allclose(
            other.decision_function(samples),
            first.decision_function(samples),
            atol=SAME_DECISION * size,
        )
    assert first.slack.max() > 0.1  # otherwise this compared zeros


@EVERY
def test_to_qp_and_recover_are_inverse_and_keep_the_optimum(form, kernel, intercept):
    problem, solution = base(form, kernel, intercept)
    back = problem.recover(problem.to_qp(solution))
    for name in ("alpha", "intercept", "slack"):
        np.testing.assert_allclose(getattr(back, name), getattr(solution, name), atol=1e-9)
    assert qpsvm.verify(problem, back, eps=1e-7).passed


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_a_solvers_noise_in_rows_of_zeros_is_moved_and_not_forgiven(intercept):
    """All entries of the row of a sample beyond its margins are zero at the optimum."""
    problem, solution = base("dual", "linear", intercept)
    x, rng = solution.qp.x, np.random.default_rng(7)
    noise = 1e-12 * rng.uniform(-1.0, 1.0, x.size)
    noisy = solution.qp.replace(x=np.where(np.abs(x) < 1e-12, noise, x))
    missed = np.abs(problem.qp.A @ noisy.x - problem.qp.b) / (abs(problem.qp.A) @ np.abs(noisy.x))
    assert np.max(missed) > 0.1
    assert not qpsvm.verify(problem, solution.replace(qp=noisy), eps=EPS).passed
    assert qpsvm.verify(problem, problem.recover(noisy), eps=EPS).passed


@pytest.mark.parametrize("size", [1e3, 1e9, 1e15])
def test_no_dual_variables_bound_the_optimum_from_above(size):
    """Shifts of a row are projected away, whose rounding grows with them."""
    problem, solution = base("dual", "linear", "none")
    optimum, rng = qpsvm.certify(problem, solution).primal_objective, np.random.default_rng(3)
    for _ in range(40):
        shift = size * rng.uniform(-1.5, 1.5, size=(len(solution.alpha), 1))
        shifted = solution.replace(alpha=solution.alpha + shift)
        assert qpsvm.certify(problem, shifted).dual_objective <= optimum * (1.0 + 1e-12)


@pytest.mark.parametrize("change", ["missing", "nan", "inf", "far"])
def test_an_answer_that_is_none_is_not_repaired(change):
    problem, solution = base("dual", "linear", "none")
    qp, shifts = solution.qp, np.tile(np.arange(1.0, 37.0), 3)
    mutants = {
        "missing": qp.replace(x=qp.x + 1e-12 * shifts, y=None),
        "nan": qp.replace(x=qp.x + 1e-12 * shifts, z_upper=np.full(len(qp.x), np.nan)),
        "inf": qp.replace(x=np.where(shifts == 3.0, np.inf, qp.x)),
        "far": qp.replace(x=qp.x + shifts),
    }
    assert not qpsvm.verify(problem, problem.recover(mutants[change]), eps=EPS).passed


def test_multipliers_of_the_dual_are_what_the_docstring_says():
    problem, solution = base("dual", "linear", "none")
    own = problem.model.own
    np.testing.assert_allclose(solution.qp.z_upper.reshape(3, -1).T[own], solution.slack, atol=1e-6)
    best = np.max(solution.decision_function(problem.data.X) - own, axis=1)
    np.testing.assert_allclose(solution.qp.y, -best, atol=1e-6)


# --- what is known about it from elsewhere --------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_two_classes_are_a_soft_margin_at_twice_the_price(form, kernel, intercept):
    """With ``w_2 = -w_1 = w/2``: 1/4 |w|^2 + C sum xi is half of 1/2 |w|^2 + 2 C sum xi."""
    samples, labels = clouds(30, 2)
    options = {"kernel": KERNELS[kernel]}
    joint, objective = solved(
        getattr(CrammerSinger(0.7, intercept), form)(samples, labels, **options)
    )
    binary_problem = getattr(SoftMargin(1.4, intercept), form)(samples, labels, **options)
    binary = qpsvm.solve(binary_problem)
    expected = qpsvm.certify(binary_problem, binary).primal_objective
    assert objective == pytest.approx(expected / 2, rel=SAME_OBJECTIVE)
    decision = joint.decision_function(samples)
    np.testing.assert_allclose(decision[:, 0], -decision[:, 1], atol=SAME_DECISION)
    np.testing.assert_allclose(
        2 * decision[:, 1], binary.decision_function(samples), atol=SAME_DECISION
    )
    np.testing.assert_allclose(joint.slack, binary.slack, atol=SAME_DECISION)
    np.testing.assert_array_equal(joint.predict(samples), binary.predict(samples))


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("C", [0.01, 0.3])
def test_it_is_what_liblinear_solves(intercept, C):
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    theirs = LinearSVC(
        multi_class="crammer_singer",
        C=C,
        fit_intercept=intercept == "penalized",
        tol=1e-10,
        max_iter=100_000,
        random_state=0,
    ).fit(X, y)
    problem = CrammerSinger(C, intercept).primal(X, y)
    ours, objective = solved(problem)
    np.testing.assert_allclose(ours.coef, theirs.coef_, atol=DESCENT)
    np.testing.assert_allclose(ours.intercept, np.broadcast_to(theirs.intercept_, 3), atol=DESCENT)
    as_ours = ours.replace(coef=theirs.coef_, intercept=np.broadcast_to(theirs.intercept_, 3))
    bound = qpsvm.certify(problem, as_ours).primal_objective
    assert bound == pytest.approx(objective, rel=DESCENT_OBJECTIVE)


# --- the certificate, for anything ----------------------------------------------------------------


@EVERY
def test_any_weights_are_above_and_any_tau_is_below_the_optimum(form, kernel, intercept):
    problem, solution = base(form, kernel, intercept)
    optimum = qpsvm.certify(problem, solution).primal_objective
    rng = np.random.default_rng(1)
    for size in (1e-6, 1e-3, 1.0, 1e3):
        change = {"alpha": solution.alpha + size * rng.normal(size=solution.alpha.shape)}
        name = "coef" if solution.coef is not None else "expansion"
        weights = getattr(solution, name)
        change[name] = weights + size * rng.normal(size=weights.shape)
        if intercept == "penalized":
            change["intercept"] = solution.intercept + size * rng.normal(size=3)
        proof = qpsvm.certify(problem, solution.replace(**change))
        assert proof.dual_objective <= optimum * (1 + EPS)
        assert proof.primal_objective >= optimum * (1 - EPS)
        assert proof.gap > 0.0
        assert proof.infeasibility == 0.0
        assert proof.repair > 0.0


def test_the_objectives_are_those_of_the_source():
    samples, labels = clouds()
    problem = CrammerSinger(0.3, "penalized").dual(samples, labels, kernel=KERNELS["rbf"])
    rng = np.random.default_rng(2)
    n, k, codes = 36, 3, problem.data.codes
    beta, b = rng.normal(size=(n, k)), rng.normal(size=k)
    tau = nearest_rows(rng.normal(size=(n, k)), problem.model.upper)
    K = KERNELS["rbf"](samples, samples)
    f = K @ beta + b
    loss = sum(max(f[i, m] + (m != codes[i]) for m in range(k)) - f[i, codes[i]] for i in range(n))
    primal = sum(beta[:, m] @ K @ beta[:, m] / 2 + b[m] ** 2 / 2 for m in range(k)) + 0.3 * loss
    dual = sum(tau[i, codes[i]] for i in range(n)) - sum(
        tau[:, m] @ (K + 1) @ tau[:, m] / 2 for m in range(k)
    )
    _, solution = base("dual", "rbf", "penalized")
    given_ = replace(
        solution, alpha=tau, expansion=beta, intercept=b, upper=np.full(n, 0.3), data=problem.data
    )
    proof = qpsvm.certify(problem, given_)
    assert proof.primal_objective == pytest.approx(primal, rel=1e-12)
    assert proof.dual_objective == pytest.approx(dual, rel=1e-12)
    assert proof.repair <= ROUNDING


@pytest.mark.parametrize("form", FORMS)
def test_the_certificate_bounds_the_weights(form):
    problem, best = base(form, "linear", "none")
    rough = qpsvm.solve(problem, "cvxopt", eps=1e-3)
    bound = qpsvm.certify(problem, rough).weight_error
    assert np.linalg.norm(rough.coef - best.coef) <= bound + 1e-6


# --- laws -----------------------------------------------------------------------------------------


def build(form, kernel, intercept, samples, labels, family=None, **options):
    family = family or CrammerSinger(0.7, intercept)
    return getattr(family, form)(samples, labels, kernel=KERNELS[kernel], **options)


def assert_same(problem, other_problem, columns=slice(None), family_factor=1.0):
    """Two problems with one optimum: same objective, same decision values."""
    (one, objective), (other, value) = solved(problem), solved(other_problem)
    assert value == pytest.approx(family_factor * objective, rel=SAME_OBJECTIVE)
    new = 2.0 * np.random.default_rng(5).normal(size=(20, 3))
    np.testing.assert_allclose(
        other.decision_function(new)[:, columns], one.decision_function(new), atol=SAME_DECISION
    )
    return one, other


@EVERY
def test_a_weight_of_two_is_a_repeated_row(form, kernel, intercept):
    samples, labels = clouds()
    weights = np.where(np.arange(36) % 5 == 0, 2.0, 1.0)
    rows = np.repeat(np.arange(36), weights.astype(int))
    assert_same(
        build(form, kernel, intercept, samples, labels, sample_weight=weights),
        build(form, kernel, intercept, samples[rows], labels[rows]),
    )


@EVERY
def test_a_weight_of_zero_is_a_missing_row(form, kernel, intercept):
    samples, labels = clouds()
    weights = np.where(np.arange(36) % 7 == 0, 0.0, 1.5)
    kept = np.flatnonzero(weights)
    problem = build(form, kernel, intercept, samples, labels, sample_weight=weights)
    one, _ = assert_same(
        problem,
        build(form, kernel, intercept, samples[kept], labels[kept], sample_weight=weights[kept]),
    )
    assert problem.data.n_samples == len(kept)
    assert set(problem.model.sample_table(problem.model.evaluate(one)).sample.tolist()) == set(
        kept.tolist()
    )


@EVERY
def test_other_names_for_the_classes_permute_the_columns(form, kernel, intercept):
    samples, labels = clouds()
    renamed = np.array([{"apple": 30, "fig": 10, "pear": 20}[label] for label in labels])
    problem = build(form, kernel, intercept, samples, labels)
    other = build(form, kernel, intercept, samples, renamed)
    assert (problem.data.classes.tolist(), other.data.classes.tolist()) == (
        ["apple", "fig", "pear"],
        [10, 20, 30],
    )
    one, two = assert_same(problem, other, columns=[2, 0, 1])
    np.testing.assert_allclose(two.alpha[:, [2, 0, 1]], one.alpha, atol=1e-2)


@EVERY
def test_the_order_of_the_rows_does_not_matter(form, kernel, intercept):
    samples, labels = clouds()
    order = np.random.default_rng(0).permutation(36)
    one, two = assert_same(
        build(form, kernel, intercept, samples, labels),
        build(form, kernel, intercept, samples[order], labels[order]),
    )
    np.testing.assert_allclose(two.slack, one.slack[order], atol=SAME_DECISION)


@pytest.mark.parametrize("form", FORMS)
def test_class_weights_and_averages_are_prices(form):
    samples, labels = clouds(30)
    kept = np.concatenate([np.arange(20), np.flatnonzero(labels[20:] == "fig") + 20])
    samples, labels = samples[kept], labels[kept]
    factors = np.where(labels == "fig", 3.0, 1.0)
    plain = build(form, "linear", "none", samples, labels, sample_weight=factors)
    assert_same(
        plain,
        build(
            form, "linear", "none", samples, labels, CrammerSinger(0.7, class_weight={"fig": 3.0})
        ),
    )
    n = len(labels)
    counts = {label: int(np.sum(labels == label)) for label in np.unique(labels)}
    balanced = {label: n / (3 * count) for label, count in counts.items()}
    assert_same(
        build(form, "linear", "none", samples, labels, CrammerSinger(0.7, class_weight=balanced)),
        build(form, "linear", "none", samples, labels, CrammerSinger(0.7, class_weight="balanced")),
    )
    assert_same(
        build(form, "linear", "none", samples, labels, CrammerSinger(0.7)),
        build(form, "linear", "none", samples, labels, CrammerSinger(0.7 * n, average_loss=True)),
    )


@EVERY
def test_sparse_samples_are_dense_ones(form, kernel, intercept):
    samples, labels = clouds()
    samples = np.where(np.abs(samples) < 0.7, 0.0, samples)
    one, other = assert_same(
        build(form, kernel, intercept, samples, labels),
        build(form, kernel, intercept, sp.csr_array(samples), labels),
    )
    new = sp.csr_array(samples[:5])
    np.testing.assert_allclose(
        other.decision_function(new), one.decision_function(samples[:5]), atol=SAME_DECISION
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_a_precomputed_kernel_is_the_kernel(form, intercept):
    samples, labels = clouds()
    weights = np.where(np.arange(36) % 9 == 0, 0.0, 1.0)
    K = KERNELS["rbf"](samples, samples)
    family = getattr(CrammerSinger(0.7, intercept), form)
    one, objective = solved(family(samples, labels, kernel=KERNELS["rbf"], sample_weight=weights))
    other, value = solved(family(K, labels, kernel="precomputed", sample_weight=weights))
    assert value == pytest.approx(objective, rel=SAME_OBJECTIVE)
    new = clouds(20, seed=8)[0]
    K_new = KERNELS["rbf"](new, samples)
    np.testing.assert_allclose(
        other.decision_function(K_new), one.decision_function(new), atol=SAME_DECISION
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("policy", ["clip", "flip", "shift"])
def test_an_indefinite_kernel_is_repaired_once_for_all_classes(form, policy):
    samples, labels = clouds()
    kernel = kernels.Sigmoid(0.7, -0.5)
    problem = getattr(CrammerSinger(0.5), form)(samples, labels, kernel=kernel, indefinite=policy)
    assert problem.kernel_repair.policy == policy
    solution, _ = solved(problem)
    if policy != "shift":  # training samples that come back get the values they had
        np.testing.assert_allclose(
            solution.decision_function(samples),
            problem.model.decision_values(solution).decisions,
            atol=1e-8,
        )
    assert not qpsvm.verify(problem, solution.replace(repair=None)).passed


@pytest.mark.parametrize(
    "labels", [[3, 1, 2], [0.5, -0.5, 0.0], ["c", "a", "b"], [True, False, True]]
)
def test_labels_of_any_kind(labels):
    X = np.array([[1.0, 0.0], [-1.0, 1.0], [0.0, -2.0]])
    problem = CrammerSinger(100.0).dual(X, labels)
    solution, _ = solved(problem)
    assert solution.predict(X).tolist() == list(labels)
    assert solution.score(X, labels) == 1.0
    assert solution.classes.tolist() == sorted(set(labels))


def test_column_names_are_held_against_the_training_data():
    samples, labels = clouds()
    frame = pd.DataFrame(samples, columns=["x", "y", "z"])
    solution, _ = solved(CrammerSinger().primal(frame, labels))
    np.testing.assert_array_equal(
        solution.decision_function(frame), solution.decision_function(samples)
    )
    with pytest.raises(InvalidDataError, match="X column 0 is 'z'"):
        solution.decision_function(frame[["z", "y", "x"]])
    with pytest.raises(InvalidDataError, match="X has 2 columns, the model was trained on 3"):
        solution.predict(samples[:, :2])


# --- never a false PASS ---------------------------------------------------------------------------


def mutants(solution):
    """(name, solution) with one thing broken."""
    rng = np.random.default_rng(0)
    for name in ("alpha", "expansion", "coef", "intercept", "slack"):
        array = getattr(solution, name)
        if array is None:
            continue
        for _ in range(8):
            index = tuple(rng.integers(0, size) for size in array.shape)
            for change in (1e-2, -1e-2, np.nan, np.inf):
                yield f"{name}{index} + {change}", {name: bumped(array, index, change)}
        for what, other in (
            ("scaled", 1.01 * array),
            ("negated", -array),
            ("rows reversed", array[::-1]),
            ("short", array[:-1]),
            ("transposed", array.T),
            ("complex", array + 0j),
            ("zero", np.zeros_like(array)),
            ("permuted", np.roll(array, 1, axis=-1)),
        ):
            yield f"{name} {what}", {name: other}
        if name not in ("coef", "expansion"):
            yield f"{name} missing", {name: None}
    if solution.expansion is None:
        yield "expansion invented", {"expansion": solution.alpha}
    yield "no weights", {"coef": None, "expansion": None}
    yield "upper", {"upper": 2.0 * solution.upper}
    yield "kernel", {"kernel": kernels.RBF(7.0)}
    data = solution.data
    codes = len(data.classes) - 1 - data.codes
    yield (
        "classes in another order",
        {"data": replace(data, classes=data.classes[::-1], codes=codes)},
    )
    yield "names of the classes", {"data": replace(data, classes=data.classes[[1, 0, 2]])}
    yield "codes", {"data": replace(data, codes=np.roll(data.codes, 1))}
    yield "samples", {"data": replace(data, X=data.X + 1e-3)}
    yield "numbers of the rows", {"data": replace(data, kept=data.kept[::-1])}
    yield "number of rows", {"data": replace(data, n_given=99)}
    for name in ("x", "z", "y", "z_lower", "z_upper"):
        array = getattr(solution.qp, name)
        yield f"qp.{name} missing", {"qp": solution.qp.replace(**{name: None})}
        for i in rng.integers(0, max(1, array.size), 3 if array.size else 0):
            for change in (1e-2, -1e-2, np.nan):
                other = solution.qp.replace(**{name: bumped(array, i, change)})
                yield f"qp.{name}[{i}] + {change}", {"qp": other}
    yield "qp", {"qp": None}


def bumped(array, index, change):
    copy = np.array(array)
    copy[index] += change
    return copy


def is_harmless(change, solution):
    """Negating or permuting zeros, and statements no other than before."""
    return all(
        isinstance(value, np.ndarray)
        and getattr(solution, name) is not None
        and value.shape == getattr(solution, name).shape
        and np.allclose(value, getattr(solution, name), rtol=0, atol=EPS)
        for name, value in change.items()
    )


@grid("form, kernel, intercept", CASES)
def test_every_field_of_a_solution_trips_the_verifier(form, kernel, intercept):
    problem, solution = base(form, kernel, intercept)
    assert qpsvm.verify(problem, solution, eps=EPS).passed
    passed, count = [], 0
    for name, change in mutants(solution):
        count += 1
        verdict = qpsvm.verify(problem, solution.replace(**change), eps=EPS)
        if verdict.passed and not is_harmless(change, solution):
            passed.append(name)
    assert passed == []
    assert count > 150


@listed("form, kernel", [("dual", "rbf"), ("primal", "linear"), ("dual", "linear")], quick=1)
def test_weights_too_small_to_matter_must_still_be_those_of_tau(form, kernel):
    """With a tiny C the loss is all of the objective, and no gap tells weights from twice them."""
    problem = build(form, kernel, "penalized", *clouds(), CrammerSinger(1e-11, "penalized"))
    solution, _ = solved(problem)
    weights = "coef" if kernel == "linear" else "expansion"
    for change in ({weights: 2.0 * getattr(solution, weights)}, {"intercept": np.ones(3) / 1e11}):
        mutant = solution.replace(**change)
        assert qpsvm.certify(problem, mutant).relative_gap < EPS
        assert not qpsvm.verify(problem, mutant, eps=EPS).passed


@pytest.mark.parametrize("form", FORMS)
def test_a_sample_that_hardly_counts_must_still_meet_its_conditions(form):
    """With a weight of 1e-12 its tau moves neither objective nor weights, whatever it is."""
    i = int(np.argmax(base("dual", "linear", "none")[1].slack))
    problem = build(
        form, "linear", "none", *clouds(), sample_weight=np.where(np.arange(36) == i, 1e-12, 1.0)
    )
    solution, _ = solved(problem, eps=TIGHT)
    own = problem.model.own[i]
    to_the_other_class = np.array(solution.alpha[i])
    to_the_other_class[~own] = to_the_other_class[~own][::-1]

    def report(wrong):
        alpha = np.array(solution.alpha)
        alpha[i] = wrong
        mutant = solution.replace(alpha=alpha)
        if form == "dual":
            mutant = mutant.replace(expansion=alpha)
        assert qpsvm.certify(problem, mutant).relative_gap < EPS
        return qpsvm.verify(problem, mutant, eps=EPS)

    for wrong in (np.zeros(3), -solution.alpha[i], solution.alpha[i] + 1e-13):
        assert not report(wrong).passed
    failed = [check.name for check in report(to_the_other_class).checks if not check.passed]
    assert failed == ["sample_kkt"]


def test_decision_values_whose_digits_cancel_do_not_pass():
    # f = w (x + s) - w s is w x in exact arithmetic
    shift, x = 1e10, np.array([-1.0, 1.0])
    problem = CrammerSinger(10.0).primal(np.column_stack([x + shift, 0 * x + shift]), HAND_Y)
    _, plain = base("primal", "linear", "none")
    machine = JointSolution(
        alpha=np.array(HAND_TAU),
        expansion=None,
        coef=np.array([[-0.5, 0.5], [0.5, -0.5]]),
        intercept=np.zeros(2),
        slack=np.zeros(2),
        upper=problem.model.box,
        kernel=problem.kernel,
        data=problem.data,
        qp=plain.qp,
    )
    proof = qpsvm.certify(problem, machine)
    assert proof.rounding > 1e-6
    assert not proof.passed(1e-6)


@given(st.sampled_from(CASES), st.data())
@settings(max_examples=examples(200))
def test_no_change_that_moves_the_gap_beyond_eps_passes(case, data):
    problem, solution = base(*case)
    names = [n for n in ("alpha", "coef", "expansion") if getattr(solution, n) is not None]
    name = data.draw(st.sampled_from(names))
    array = getattr(solution, name)
    index = tuple(data.draw(st.integers(0, size - 1)) for size in array.shape)
    change = data.draw(st.floats(-10, 10)) * 10.0 ** data.draw(st.integers(-9, 0))
    mutant = solution.replace(**{name: bumped(array, index, change)})
    if qpsvm.certify(problem, mutant).relative_gap > EPS:
        assert not qpsvm.verify(problem, mutant, eps=EPS).passed


@EVERY
def test_the_solution_of_another_problem_does_not_pass(form, kernel, intercept):
    problem, _ = base(form, kernel, intercept)
    for other in CASES:
        if other != (form, kernel, intercept):
            _, solution = base(*other)
            assert not qpsvm.verify(problem, solution, eps=EPS).passed


def test_a_solution_of_another_kind_is_refused():
    samples, labels = clouds(20, 2)
    joint, binary = CrammerSinger().dual(samples, labels), SoftMargin().dual(samples, labels)
    for problem, other in ((joint, binary), (binary, joint)):
        stranger = qpsvm.solve(other)
        with pytest.raises(InvalidParameterError, match="verify takes"):
            qpsvm.verify(problem, stranger)
        with pytest.raises(InvalidParameterError, match="pass a solution of such a problem"):
            qpsvm.solve(problem, warm_start=stranger)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alpha": np.zeros((3, 3))}, r"alpha has shape \(3, 3\), the problem needs \(36, 3\)"),
        ({"alpha": None}, r"alpha has shape \(\)"),
        ({"coef": np.zeros((3, 2))}, r"coef has shape \(3, 2\), the problem needs \(3, 3\)"),
        ({"kernel": kernels.RBF(1.0)}, "another kernel"),
        ({"upper": np.ones(36)}, "another C"),
    ],
)
def test_certify_says_what_belongs_to_another_problem(change, message):
    problem, solution = base("dual", "linear", "none")
    with pytest.raises(InvalidDataError, match=message):
        qpsvm.certify(problem, solution.replace(**change))


def test_an_intercept_the_program_does_not_have_costs_infinitely_much():
    problem, solution = base("dual", "linear", "none")
    assert qpsvm.certify(problem, solution.replace(intercept=[0, 0, 1e-12])).relative_gap == np.inf


def test_a_kernel_has_no_explicit_weights():
    problem, solution = base("dual", "rbf", "none")
    with pytest.raises(InvalidDataError, match="another kind of weights"):
        qpsvm.certify(problem, solution.replace(coef=np.zeros((3, 3))))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("missing", ["x", "z", "wrong length", "everything"])
def test_a_solver_that_returns_nothing_gives_nan_and_fails(form, missing):
    problem, solution = base(form, "linear", "none")
    broken = {
        "x": solution.qp.replace(x=None),
        "z": solution.qp.replace(z=None),
        "wrong length": solution.qp.replace(x=np.ones(17)),
        "everything": QPSolution(Status.OPTIMAL),
    }[missing]
    report = qpsvm.verify(problem, problem.recover(broken))
    assert not report.passed
    assert report.notes


class Liar(Backend):
    """Claims that there is no optimum, with a point in both convex hulls for evidence."""

    name, licence, distribution, required_modules = "liar", "none", "numpy", ()
    capabilities = Capabilities(sparse=True, bounds=True)

    def _solve(self, program, settings):
        del settings
        return QPSolution(Status.DUAL_INFEASIBLE, x=np.ones(program.n_variables))


@pytest.mark.filterwarnings("ignore::qpsvm.exceptions.ToleranceNotReachedWarning")
@pytest.mark.parametrize("family", [CrammerSinger(), SoftMargin(intercept="none")], ids=repr)
def test_nobody_talks_a_soft_margin_into_having_no_optimum(family):
    X, y = [[1.0], [-1.0], [1.0], [-1.0]], ["a", "a", "b", "b"]
    solution = qpsvm.solve(family.dual(X, y), Liar())
    assert solution.status is not Status.DUAL_INFEASIBLE


# --- values, not objects that change --------------------------------------------------------------


@EVERY
def test_problem_and_solution_survive_pickling(form, kernel, intercept):
    problem, solution = base(form, kernel, intercept)
    again, copy = pickle.loads(pickle.dumps((problem, solution)))
    assert qpsvm.verify(again, copy).passed
    assert qpsvm.verify(problem, copy).passed
    new = clouds(10, seed=9)[0]
    np.testing.assert_array_equal(copy.decision_function(new), solution.decision_function(new))
    with pytest.raises(ValueError, match="read-only"):
        copy.alpha[0, 0] = 1.0


def test_nothing_can_be_assigned():
    problem, solution = base("dual", "linear", "none")
    for instance, name in ((solution, "coef"), (problem, "qp"), (problem.model, "box")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(instance, name, None)
    for name in ("alpha", "expansion", "coef", "intercept", "slack", "upper"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(solution, name)[0] = 1.0


def test_the_sizes_of_everything():
    _, solution = base("dual", "rbf", "penalized")
    assert solution.alpha.shape == solution.expansion.shape == (36, 3)
    assert solution.intercept.shape == (3,)
    assert solution.coef is None
    assert solution.slack.shape == solution.upper.shape == (36,)
    assert solution.decision_function(np.zeros((5, 3))).shape == (5, 3)
    assert solution.n_support == len(solution.support)
    assert "3 classes" in repr(solution)


def test_a_warm_start_leads_to_the_same_optimum():
    problem, solution = base("dual", "rbf", "none")
    again = qpsvm.solve(problem, "osqp", warm_start=solution)
    assert again.status is Status.OPTIMAL
    np.testing.assert_allclose(again.slack, solution.slack, atol=SAME_DECISION)
    other = CrammerSinger().dual(*clouds(20), kernel="rbf")
    with pytest.raises(InvalidParameterError, match="another number of samples"):
        qpsvm.solve(other, warm_start=solution)


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0.0}, "C is 0.0"),
        ({"C": np.inf}, "C is inf"),
        ({"C": "1"}, "C is '1'"),
        ({"intercept": "free"}, "intercept is 'free'; choose 'none' or 'penalized'"),
        ({"class_weight": {"a": -1.0}}, r"class_weight\['a'\] is -1.0"),
    ],
)
def test_parameters_out_of_their_domain_are_refused(parameters, message):
    with pytest.raises(InvalidParameterError, match=message):
        CrammerSinger(**parameters)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        (["a", "a", "a"], {}, "only one class"),
        (["a", "b"], {}, "X has 3 rows and y has 2 labels"),
        (["a", "b", None], {}, r"y\[2\] is None"),
        (["a", "b", "b"], {"sample_weight": [0, 1, 1]}, "Every sample of class 'a' has weight 0"),
        (["a", "b", "c"], {"sample_weight": [1, -1, 1]}, r"sample_weight\[1\] is -1"),
    ],
)
def test_data_it_cannot_learn_from_are_refused(form, labels, options, message):
    with pytest.raises(InvalidDataError, match=message):
        getattr(CrammerSinger(), form)(X3, labels, **options)


# --- data from the world --------------------------------------------------------------------------


def world(name):
    if name == "iris":
        X, y = load_iris(return_X_y=True)
    elif name == "wine":
        X, y = load_wine(return_X_y=True)
    else:
        X, y = load_digits(return_X_y=True)
        X, y = X[:150], y[:150]
    return StandardScaler().fit_transform(X), y


@listed("name", ["iris", "wine", "digits"], quick=2)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_real_data_are_solved_and_verified(name, kernel):
    X, y = world(name)
    problem = CrammerSinger(0.5, "penalized").dual(X, y, kernel=kernel)
    solution = qpsvm.solve(problem)
    report = qpsvm.verify(problem, solution)
    assert report.passed
    assert solution.status is Status.OPTIMAL
    assert solution.score(X, y) > 0.95
    assert report.summary.training_errors == np.sum(solution.predict(X) != y)
    if kernel == "linear":
        other = CrammerSinger(0.5, "penalized").primal(X, y)
        _, objective = solved(other)
        assert objective == pytest.approx(report.objective, rel=SAME_OBJECTIVE)
