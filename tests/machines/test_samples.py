"""Every sample and its KKT case; the figures of the textbooks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import qpsvm
from qpsvm import HardMargin, SoftMargin
from qpsvm.machines.samples import CASES
from tests.tolerances import ROUNDING

# On a line, C = 1/2: the middle four are free or bounded, the outer two are not needed.
X = np.array([[-5.0], [-1.0], [0.5], [-0.5], [1.0], [5.0]])
y = np.array([-1, -1, -1, 1, 1, 1])


def three_cases():
    """w = 1, b = 0: alpha of -1 and 1 follows from w = sum s a x; those at 1/2 are at C."""
    # w = a1 + a4 - C/2 - C/2 with a1 = a4 by symmetry: a1 = (1 + C)/2 must not exceed C
    C = 2.0
    problem = SoftMargin(C).dual(X, y)
    alpha = np.array([0.0, 1.5, C, C, 1.5, 0.0])
    return problem, problem.recover(qpsvm.qp.QPSolution(qpsvm.qp.Status.UNKNOWN, x=alpha))


def test_the_three_cases_by_hand():
    problem, solution = three_cases()
    assert solution.coef == pytest.approx([1.0])
    assert solution.intercept == pytest.approx(0.0)
    table = problem.model.sample_table(problem.model.evaluate(solution))
    assert [CASES[c] for c in table.case] == ["zero", "free", "bound", "bound", "free", "zero"]
    np.testing.assert_allclose(table.decision, X[:, 0])
    np.testing.assert_allclose(table.margin, [5.0, 1.0, -0.5, -0.5, 1.0, 5.0])
    np.testing.assert_allclose(table.slack, [0.0, 0.0, 1.5, 1.5, 0.0, 0.0])
    np.testing.assert_allclose(table.violation, 0.0, atol=ROUNDING)
    np.testing.assert_array_equal(table.label, y)
    assert len(table) == 6
    assert table.row(2) == {
        "sample": 2,
        "label": -1,
        "decision": 0.5,
        "margin": -0.5,
        "required": 1.0,
        "alpha": 2.0,
        "C": 2.0,
        "slack": 1.5,
        "case": "bound",
        "violation": 0.0,
    }


@pytest.mark.parametrize(
    ("sample", "alpha", "violation"),
    [
        # |a/C - clip(a/C - (m - 1), 0, 1)|: a sample with margin 5 must have alpha 0
        pytest.param(0, 1.0, 0.5, id="zero sample with alpha"),
        pytest.param(2, 1.0, 0.5, id="sample inside the margin below C"),
        pytest.param(2, 0.0, 1.0, id="sample inside the margin with alpha 0"),
        pytest.param(1, 1.0, 0.0, id="free sample: any alpha within the box"),
        pytest.param(1, -0.5, 0.25, id="negative alpha"),
        pytest.param(1, 2.5, 0.25, id="alpha above C"),
        pytest.param(0, math.nan, math.inf, id="NaN"),
    ],
)
def test_a_sample_in_no_case_is_found_by_its_violation(sample, alpha, violation):
    problem, solution = three_cases()
    changed = solution.alpha.copy()
    changed[sample] = alpha
    table = problem.model.sample_table(problem.model.evaluate(solution.replace(alpha=changed)))
    assert table.violation[sample] == pytest.approx(violation, abs=ROUNDING)
    others = np.delete(table.violation, sample)
    np.testing.assert_allclose(others, 0.0, atol=ROUNDING)
    assert table.worst_violation == pytest.approx(violation, abs=ROUNDING)
    if violation:
        assert table.worst_first()[0] == sample


def test_a_moved_boundary_is_a_violation_of_the_samples_on_the_margin():
    problem, solution = three_cases()
    table = problem.model.sample_table(problem.model.evaluate(solution.replace(intercept=0.125)))
    # only the free samples have a margin that must be exactly 1; residual: a/C = 3/4, shift 1/8
    np.testing.assert_allclose(table.violation, [0, 0.125, 0, 0, 0.125, 0], atol=ROUNDING)


@given(seed=st.integers(0, 10_000), C=st.floats(0.01, 50.0), intercept=st.floats(-2.0, 2.0))
def test_the_contributions_of_the_samples_add_up_to_the_duality_gap(seed, C, intercept):
    rng = np.random.default_rng(seed)
    samples = rng.normal(size=(12, 3))
    labels = np.where(np.arange(12) % 3, 1, -1)
    problem = SoftMargin(C).dual(samples, labels, kernel="rbf" if seed % 2 else "linear")
    # any alpha with s'alpha = 0, far from optimal, and any intercept
    alpha = problem.model.feasible_dual(rng.uniform(0, C, size=12)).alpha
    solution = problem.recover(qpsvm.qp.QPSolution(qpsvm.qp.Status.UNKNOWN, x=alpha))
    solution = solution.replace(intercept=intercept)
    table = problem.model.sample_table(problem.model.evaluate(solution))
    over = np.maximum(0.0, table.margin - 1.0)
    contributions = (C - alpha) * table.slack + alpha * over
    proof = qpsvm.certify(problem, solution)
    assert (contributions >= 0.0).all()
    assert contributions.sum() == pytest.approx(proof.gap, rel=1e-9)


@pytest.mark.parametrize("C", [None, 10.0], ids=["hard", "soft"])
def test_summary_of_two_points_by_hand(C):
    # x = 0 and x = 2: w = 1, the margin hyperplanes are the points, 2 apart
    problem = (HardMargin() if C is None else SoftMargin(C)).dual([[0.0], [2.0]], [-1, 1])
    qp = qpsvm.qp.QPSolution(qpsvm.qp.Status.UNKNOWN, x=[0.5, 0.5])
    solution = problem.recover(qp)
    summary = qpsvm.verify(problem, solution).summary
    assert summary.margin_width == pytest.approx(2.0)
    assert (summary.n_support, summary.n_free, summary.n_bound) == (2, 2, 0)
    assert summary.training_errors == 0
    assert summary.leave_one_out_bound == 1.0  # both samples are needed: no promise at all


def test_summary_counts_bounds_and_errors():
    problem, solution = three_cases()
    summary = qpsvm.verify(problem, solution).summary
    assert (summary.n_support, summary.n_free, summary.n_bound) == (4, 2, 2)
    assert summary.training_errors == 2
    assert summary.leave_one_out_bound == pytest.approx(4 / 5)
    assert summary.margin_width == pytest.approx(2.0)


def test_no_weights_have_an_infinite_margin():
    problem, solution = three_cases()
    nothing = solution.replace(alpha=np.zeros(6), expansion=np.zeros(6), coef=np.zeros(1))
    summary = qpsvm.verify(problem, nothing).summary
    assert summary.margin_width == math.inf
    assert summary.n_support == 0


@pytest.mark.parametrize("far", [1.0, 1e4, 1e8])
@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("family", [qpsvm.HardMargin(), qpsvm.SoftMargin(C=10.0)], ids=str)
def test_a_support_vector_with_a_tiny_alpha_counts_in_the_bound(family, form, far):
    """(0, far) has an alpha of 2 / far, and without it the optimum is another one."""
    rng = np.random.default_rng(0)
    others = np.column_stack([-5.0 - rng.random(8), rng.normal(size=8)])
    X, y = np.vstack([[[0.0, 0.0], [0.0, 1.0 + far], [1.0, 1.0]], others]), [1, 1, -1, *[1] * 8]
    problem = getattr(family, form)(X, y)
    report = qpsvm.verify(problem, qpsvm.solve(problem))
    assert report.passed
    bound = report.summary.leave_one_out_bound
    assert bound >= 3 / 10
    if far < 1e8:  # else more digits than there are would be needed to leave the others out
        assert bound == pytest.approx(3 / 10)
