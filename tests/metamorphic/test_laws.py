"""Laws that relate the solutions of two problems, whatever the right answer is.

Each law changes the data and says how objective and decision values must follow.
"""

from __future__ import annotations

import numpy as np
import pytest

import qpsvm
from qpsvm import HardMargin, SoftMargin, kernels
from tests.tolerances import SAME_DECISION, SAME_OBJECTIVE

N, D, C = 30, 3, 2.0
KERNELS = {
    "linear": kernels.Linear(),
    "rbf": kernels.RBF(0.4),
    "polynomial": kernels.Polynomial(0.5, 2, 1.0),
}
CASES = [
    pytest.param(margin, form, kernel, intercept, id=f"{margin}-{form}-{kernel}-{intercept}")
    for margin in ("hard", "soft")
    for form in ("primal", "dual")
    for kernel in KERNELS
    for intercept in ("free", "penalized", "none")
]
EVERY = pytest.mark.parametrize(("margin", "form", "kernel", "intercept"), CASES)


class Setting:
    """One combination of the suite: the data it can be solved on, and how to solve it."""

    def __init__(self, margin, form, kernel, intercept):
        self.margin, self.form, self.intercept = margin, form, intercept
        self.kernel = KERNELS[kernel]
        rng = np.random.default_rng(11)
        self.y = np.where(np.arange(N) % 3, 1, -1)
        # hard margins need a gap, and without an intercept one around the origin
        spread, distance = (0.4, 1.5) if margin == "hard" else (1.0, 0.5)
        self.X = spread * rng.normal(size=(N, D)) + distance * self.y[:, None]
        self.new = 2.0 * rng.normal(size=(25, D))

    def solve(self, X=None, y=None, *, C=C, kernel=None):
        family = HardMargin(self.intercept)
        if self.margin == "soft":
            family = SoftMargin(C, self.intercept)
        build = getattr(family, self.form)
        X, y = (self.X if X is None else X), (self.y if y is None else y)
        problem = build(X, y, kernel=kernel or self.kernel)
        # Clarabel for the sparse primal, CVXOPT for the dense dual
        solution = qpsvm.solve(problem, "cvxopt" if self.form == "dual" else "cvxpy:CLARABEL")
        return Solved(problem, solution)


class Solved:
    """A solution with its certified objective."""

    def __init__(self, problem, solution):
        self.solution = solution
        self.objective = qpsvm.certify(problem, solution).primal_objective

    def must_equal(self, other, decision, expected, *, factor=1.0):
        """The objective is ``factor`` times the other's, and the decision values agree."""
        assert self.objective == pytest.approx(factor * other.objective, rel=2 * SAME_OBJECTIVE)
        size = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(decision, expected, atol=SAME_DECISION * size)


_solved: dict[tuple, tuple[Setting, Solved]] = {}


@pytest.fixture
def case(margin, form, kernel, intercept):
    """The setting and the solution of the unchanged data (solved once)."""
    key = (margin, form, kernel, intercept)
    if key not in _solved:
        setting = Setting(*key)
        _solved[key] = setting, setting.solve()
    return _solved[key]


@EVERY
def test_flipped_labels_negate_everything(case):
    setting, base = case
    flipped = setting.solve(y=-setting.y)
    expected = -base.solution.decision_function(setting.new)
    flipped.must_equal(base, flipped.solution.decision_function(setting.new), expected)
    if setting.kernel == kernels.Linear():
        np.testing.assert_allclose(flipped.solution.coef, -base.solution.coef, atol=SAME_DECISION)
    assert flipped.solution.intercept == pytest.approx(
        -base.solution.intercept, abs=SAME_DECISION * max(1.0, abs(base.solution.intercept))
    )
    if setting.intercept == "none":
        assert flipped.solution.intercept == 0.0


@EVERY
def test_the_order_of_the_rows_does_not_matter(case):
    setting, base = case
    order = np.random.default_rng(0).permutation(N)
    permuted = setting.solve(setting.X[order], setting.y[order])
    expected = base.solution.decision_function(setting.new)
    permuted.must_equal(base, permuted.solution.decision_function(setting.new), expected)
    np.testing.assert_allclose(
        permuted.solution.slack, base.solution.slack[order], atol=SAME_DECISION
    )


@EVERY
def test_the_order_of_the_columns_does_not_matter(case):
    setting, base = case
    order = [2, 0, 1]
    permuted = setting.solve(setting.X[:, order])
    expected = base.solution.decision_function(setting.new)
    permuted.must_equal(base, permuted.solution.decision_function(setting.new[:, order]), expected)


@EVERY
def test_a_column_of_zeros_does_not_matter(case):
    setting, base = case
    wider = setting.solve(np.column_stack([setting.X, np.zeros(N)]))
    decision = wider.solution.decision_function(np.column_stack([setting.new, np.zeros(25)]))
    wider.must_equal(base, decision, base.solution.decision_function(setting.new))


@EVERY
def test_duplicated_rows_at_half_the_price_change_nothing(case):
    setting, base = case
    double = setting.solve(np.tile(setting.X, (2, 1)), np.tile(setting.y, 2), C=C / 2)
    expected = base.solution.decision_function(setting.new)
    double.must_equal(base, double.solution.decision_function(setting.new), expected)


@EVERY
def test_duplicated_rows_at_the_same_price_are_worth_twice_the_price(case):
    setting, base = case
    double = setting.solve(np.tile(setting.X, (2, 1)), np.tile(setting.y, 2))
    dearer = setting.solve(C=2 * C)
    expected = dearer.solution.decision_function(setting.new)
    double.must_equal(dearer, double.solution.decision_function(setting.new), expected)
    if setting.margin == "soft":
        assert dearer.objective > base.objective * (1 + 1e-3)  # the law says something


@EVERY
def test_a_sample_far_outside_the_margin_changes_nothing(case):
    setting, base = case
    pool = 1.5 * np.random.default_rng(2).normal(size=(2000, D))
    candidates = pool[np.abs(base.solution.decision_function(pool)) > 1.05][:5]
    assert len(candidates) == 5
    labels = np.sign(base.solution.decision_function(candidates)).astype(int)
    more = setting.solve(np.vstack([setting.X, candidates]), np.append(setting.y, labels))
    expected = base.solution.decision_function(setting.new)
    more.must_equal(base, more.solution.decision_function(setting.new), expected)
    assert (more.solution.support < N).all()


@EVERY
def test_leaving_out_what_is_not_a_support_vector_changes_nothing(case):
    setting, base = case
    margins = setting.y * base.solution.decision_function(setting.X)
    needed = margins < 1.05
    assert 2 <= needed.sum() < N
    fewer = setting.solve(setting.X[needed], setting.y[needed])
    expected = base.solution.decision_function(setting.new)
    fewer.must_equal(base, fewer.solution.decision_function(setting.new), expected)


@EVERY
def test_one_sample_more_never_lowers_the_objective(case):
    setting, base = case
    wrong = setting.X[:1] * 0.3
    more = setting.solve(np.vstack([setting.X, wrong]), np.append(setting.y, setting.y[0]))
    assert more.objective >= base.objective * (1 - SAME_OBJECTIVE)


# --- the linear kernel ------------------------------------------------------------------------


def linear(intercepts):
    chosen = [p for p in CASES if p.values[2] == "linear" and p.values[3] in intercepts]
    return pytest.mark.parametrize(("margin", "form", "kernel", "intercept"), chosen)


@pytest.mark.parametrize("t", [0.25, 3.0, 100.0])
@linear(("free", "none"))  # a penalised intercept would have to be scaled as well
def test_scaled_samples_with_the_price_over_the_square_scale_the_weights_back(case, t):
    setting, base = case
    scaled = setting.solve(t * setting.X, C=C / t**2)
    decision = scaled.solution.decision_function(t * setting.new)
    # 1/2 |w/t|^2 + C/t^2 loss: the whole objective is divided by t^2; the gap is relative to
    # max(1, objective), so a small objective is known to fewer digits
    assert scaled.objective * t**2 == pytest.approx(
        base.objective, rel=2 * SAME_OBJECTIVE, abs=SAME_OBJECTIVE * t**2
    )
    if t <= 3:
        expected = base.solution.decision_function(setting.new)
        size = max(1.0, t) * max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(decision, expected, atol=SAME_DECISION * size)
        np.testing.assert_allclose(
            t * scaled.solution.coef, base.solution.coef, atol=SAME_DECISION * max(1.0, t)
        )


@linear(("free",))
def test_translated_samples_leave_the_weights_of_a_free_intercept_alone(case):
    setting, base = case
    shift = np.array([5.0, -3.0, 1.0])
    moved = setting.solve(setting.X + shift)
    expected = base.solution.decision_function(setting.new)
    moved.must_equal(base, moved.solution.decision_function(setting.new + shift), expected)
    np.testing.assert_allclose(moved.solution.coef, base.solution.coef, atol=SAME_DECISION)
    assert moved.solution.intercept == pytest.approx(
        base.solution.intercept - base.solution.coef @ shift, abs=10 * SAME_DECISION
    )


@linear(("penalized", "none"))
def test_translated_samples_are_another_problem_without_a_free_intercept(case):
    setting, base = case
    moved = setting.solve(setting.X + np.array([5.0, -3.0, 1.0]) / 10)
    assert abs(moved.objective - base.objective) > 1e-4


@linear(("free", "penalized", "none"))
def test_rotated_samples_rotate_the_weights(case):
    setting, base = case
    rotation, _ = np.linalg.qr(np.random.default_rng(4).normal(size=(D, D)))
    turned = setting.solve(setting.X @ rotation)
    expected = base.solution.decision_function(setting.new)
    turned.must_equal(base, turned.solution.decision_function(setting.new @ rotation), expected)
    np.testing.assert_allclose(
        turned.solution.coef, rotation.T @ base.solution.coef, atol=SAME_DECISION
    )


@EVERY
def test_the_kernel_matrix_itself_gives_the_same_classifier(case):
    setting, base = case
    K = setting.kernel(setting.X, setting.X)
    given = setting.solve(K, kernel=kernels.Precomputed())
    block = setting.kernel(setting.new, setting.X)
    expected = base.solution.decision_function(setting.new)
    given.must_equal(base, given.solution.decision_function(block), expected)
