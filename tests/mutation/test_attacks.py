"""Answers that once passed and were wrong, and inputs that once slipped through."""

from __future__ import annotations

import copy
import math
import pickle
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

import qpsvm
from qpsvm.constraints import LinearConstraints, bounded, fixed, nonnegative, sum_of
from qpsvm.exceptions import (
    ConflictingConstraintsError,
    InvalidDataError,
    InvalidParameterError,
    NotSeparableError,
)
from qpsvm.machines import Interval
from qpsvm.qp import Status
from tests.strategies import grid, listed

FOUR = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 5.0]])  # w = (2, 0), b = -1
FOUR_LABELS = [-1, -1, 1, 1]


@pytest.mark.filterwarnings("ignore::qpsvm.exceptions.ToleranceNotReachedWarning")
@grid(
    "size, form, backend",
    product(
        [1e-3, 1.0, 1e3, 1e5],
        ["primal", "dual"],
        ["auto", "cvxopt", "osqp", "cvxpy:CLARABEL"],
    ),
)
def test_large_features_do_not_make_every_classifier_optimal(
    size: float, form: str, backend: str
) -> None:
    # with an absolute gap any small w was "optimal": the optimum itself is 2 / size^2
    problem = getattr(qpsvm.SoftMargin(C=1e3), form)(FOUR * size, FOUR_LABELS)
    solution = qpsvm.solve(problem, backend)
    assert solution.status is Status.OPTIMAL or size > 1.0  # there, refusing is allowed
    if solution.status is Status.OPTIMAL:
        best = qpsvm.solve(qpsvm.SoftMargin(C=1e3 * size**2).dual(FOUR, FOUR_LABELS), eps=1e-10)
        np.testing.assert_allclose(
            solution.decision_function(FOUR * size), best.decision_function(FOUR), atol=1e-3
        )


@pytest.mark.parametrize(("C", "size"), [(1e-7, 1.0), (1e-6, 1.0), (1.0, 1e-6), (1.0, 1e-5)])
def test_minus_the_right_weights_are_refused(C: float, size: float) -> None:
    X, y = make_blobs(40, centers=[[-3, -3], [3, 3]], random_state=0)
    problem = qpsvm.SoftMargin(C=C).dual(X * size, y)
    solution = qpsvm.solve(problem, "cvxopt")
    assert solution.coef is not None
    interval = problem.model.optimal_intercepts(
        problem.model.decision_values(solution.replace(coef=-solution.coef))
    )
    b = interval.midpoint
    decision = -X * size @ solution.coef + b
    flipped = solution.replace(
        coef=-solution.coef,
        intercept=b,
        intercept_interval=interval,
        slack=np.maximum(0.0, 1.0 - problem.data.signs * decision),
    )
    assert qpsvm.verify(problem, solution).passed
    assert not qpsvm.verify(problem, flipped).passed


@pytest.mark.parametrize("C", [1.0, 1e4, 1e6, 1e8])
def test_a_generous_c_does_not_hide_the_support_vectors(C: float) -> None:
    X, y = make_blobs(60, centers=[[-3, -3], [3, 3]], random_state=0)
    generous = qpsvm.solve(qpsvm.SoftMargin(C=C).dual(X, y), "cvxopt")
    hard = qpsvm.solve(qpsvm.HardMargin().dual(X, y), "cvxopt")
    np.testing.assert_array_equal(generous.support, hard.support)


@pytest.mark.parametrize("offset", [1e3, 1e6, 1.6e9])
def test_a_common_offset_does_not_drown_the_distances_of_an_rbf_kernel(offset: float) -> None:
    X = np.round(np.random.default_rng(0).normal(size=(50, 2)) * 64) / 64  # exact beside 1.6e9
    kernel = qpsvm.kernels.RBF(gamma=0.5)
    np.testing.assert_allclose(kernel(X + offset, X + offset), kernel(X, X), atol=1e-14)


@pytest.mark.parametrize(
    "changes",
    [
        {"intercept": np.zeros(4)},
        {"intercept": None},
        {"data": None},
        {"qp": None},
        {"kernel": None},
        {"alpha": np.zeros(4) + 1j},
        {"slack": None},
        {"coef": np.zeros((2, 1))},
    ],
)
def test_what_cannot_be_measured_fails_without_raising(changes: dict[str, Any]) -> None:
    problem = qpsvm.SoftMargin().dual(FOUR, FOUR_LABELS)
    broken = qpsvm.solve(problem).replace(**changes)
    assert not qpsvm.verify(problem, broken).passed


def test_masks_are_not_dropped() -> None:
    X = np.ma.masked_array(FOUR, mask=[[0, 0], [0, 1], [0, 0], [0, 0]])
    with pytest.raises(InvalidDataError, match="X is a masked array with 1 hidden"):
        qpsvm.SoftMargin().dual(X, FOUR_LABELS)
    y = np.ma.masked_array(FOUR_LABELS, mask=[0, 0, 0, 1])
    with pytest.raises(InvalidDataError, match="y is a masked array with 1 hidden"):
        qpsvm.SoftMargin().dual(FOUR, y)


def test_numbers_beyond_float64_are_refused() -> None:
    with pytest.raises(InvalidDataError, match="table of numbers"):
        qpsvm.SoftMargin().dual([[10**400], [0]], [0, 1])
    with pytest.raises(InvalidParameterError, match="finite number"):
        qpsvm.SoftMargin(C=10**400)


def test_score_takes_a_column_and_refuses_other_shapes() -> None:
    solution = qpsvm.solve(qpsvm.SoftMargin(C=100.0).dual(FOUR, FOUR_LABELS))
    assert solution.score(FOUR, np.array(FOUR_LABELS)[:, None]) == 1.0
    with pytest.raises(InvalidDataError, match=r"y has shape \(3,\) for 4 rows"):
        solution.score(FOUR, FOUR_LABELS[:3])


def test_column_names_belong_to_the_data() -> None:
    import pandas

    frame = pandas.DataFrame(FOUR, columns=["u", "v"])
    problem = qpsvm.SoftMargin().dual(frame, FOUR_LABELS)
    swapped = qpsvm.SoftMargin().dual(frame.set_axis(["v", "u"], axis=1), FOUR_LABELS)
    assert not qpsvm.verify(problem, qpsvm.solve(swapped)).passed


@pytest.mark.parametrize("again", [lambda s: pickle.loads(pickle.dumps(s)), copy.deepcopy])
def test_copies_stay_read_only(again: Any) -> None:
    problem = qpsvm.SoftMargin().dual(FOUR, FOUR_LABELS)
    solution = again(qpsvm.solve(problem))
    for array in (
        solution.alpha, solution.slack, solution.qp.x, solution.data.X, solution.support,
    ):  # fmt: skip
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    assert qpsvm.verify(problem, solution).passed


def test_a_misspelt_option_is_noticed() -> None:
    problem = qpsvm.SoftMargin().dual(FOUR, FOUR_LABELS)
    with pytest.raises(InvalidParameterError, match="no option 'abstoll'; did you mean 'abstol'"):
        qpsvm.solve(problem, "cvxopt", options={"abstoll": 1e-3})


def test_a_warm_start_must_be_a_point() -> None:
    problem = qpsvm.SoftMargin().dual(FOUR, FOUR_LABELS)
    nowhere = qpsvm.solve(problem).qp.replace(x=np.full(4, np.nan))
    with pytest.raises(InvalidParameterError, match="warm_start has no x, or NaN"):
        qpsvm.solve(problem, "osqp", warm_start=nowhere)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_fields_in_another_precision_are_measured_as_they_predict(dtype: Any) -> None:
    k = 14
    x = 1.0 / np.sqrt(1.0 + 2.0 * k / 1024.0)
    problem = qpsvm.HardMargin().dual([[-x], [x]], [-1, 1])
    solution = qpsvm.solve(problem, "cvxopt")
    rounded = solution.replace(coef=np.array([1.0 + k / 1024.0], dtype), slack=np.zeros(2))
    assert rounded.coef is not None
    assert rounded.coef.dtype == np.float64
    assert not qpsvm.verify(problem, rounded).passed


@pytest.mark.parametrize("intercept", [1e-9j, 100j])
def test_half_an_intercept_is_none(intercept: complex) -> None:
    problem = qpsvm.SoftMargin(C=0.01).dual(FOUR, FOUR_LABELS)
    solution = qpsvm.solve(problem)
    assert not qpsvm.verify(
        problem, solution.replace(intercept=solution.intercept + intercept)
    ).passed


@pytest.mark.parametrize("kernel", ["polynomial", "precomputed"])
def test_a_penalised_intercept_does_not_swallow_a_small_kernel(kernel: str) -> None:
    # K is of the order 1e-12 beside the 1 that a penalised intercept adds to it
    X = 1e-3 * np.random.default_rng(0).normal(size=(12, 2))
    K = (X @ X.T) ** 2
    v = np.linspace(-1.0, 1.0, 12)
    formulation = qpsvm.SoftMargin(intercept="penalized")
    chosen: Any = qpsvm.kernels.Polynomial(gamma=1.0, degree=2)
    if kernel == "precomputed":
        problem = formulation.dual(K, [0, 1] * 6, kernel="precomputed")
    else:
        problem = formulation.dual(X, [0, 1] * 6, kernel=chosen)
    np.testing.assert_allclose(problem.model.kernel_product(v), K @ v, rtol=1e-10, atol=0)
    np.testing.assert_allclose(np.abs(problem.qp.P.to_dense()), 1.0 + K)


@listed("backend", ["cvxopt", "auto"], quick=1)
def test_below_the_rounding_of_plain_evaluation_the_verdict_is_the_exact_one(backend: str) -> None:
    x, C = 89607.7, 1e6  # the optimum is 1/(2 x^2) = 6e-11; C times one rounding of a margin 1e-10
    problem = qpsvm.SoftMargin(C=C).primal([[-x], [x]], [-1, 1])
    solution = qpsvm.solve(problem, backend)
    optimum, refused = 1 / (2 * Fraction(x) ** 2), 0
    for steps in range(-4, 5):
        w = float(solution.coef[0]) + steps * math.ulp(float(solution.coef[0]))
        moved = solution.replace(coef=np.array([w]))
        margins = [Fraction(w) * Fraction(x) + s * Fraction(solution.intercept) for s in (-1, 1)]
        hinge = sum(max(Fraction(0), 1 - margin) for margin in margins)
        excess = Fraction(w) ** 2 / 2 + Fraction(C) * hinge - optimum
        report = qpsvm.verify(problem, moved)
        assert report.certificate.gap_upper >= excess
        refused += not report.passed
        assert report.passed == (excess <= Fraction(1e-8) * optimum)
    assert 0 < refused < 9


@pytest.mark.parametrize("backend", ["cvxopt", "osqp"])
def test_weights_that_cancel_to_zero_are_an_optimum_too(backend: str) -> None:
    # the same points in both classes: w = 0
    X = np.array([[1.0, 2.0], [-1.0, 0.5], [1.0, 2.0], [-1.0, 0.5]])
    for form in ("primal", "dual"):
        problem = getattr(qpsvm.SoftMargin(C=1.0), form)(X, [-1, -1, 1, 1])
        assert qpsvm.solve(problem, backend).status is Status.OPTIMAL


def test_a_primal_machine_states_no_expansion() -> None:
    problem = qpsvm.SoftMargin().primal(FOUR, FOUR_LABELS)
    solution = qpsvm.solve(problem)
    assert not qpsvm.verify(problem, solution.replace(expansion=np.full(4, 1e9))).passed


@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("size", [1e100, 1e160, 1e200, 1e300])
def test_multipliers_that_overflow_fail_without_raising(
    intercept: Any, form: str, size: float
) -> None:
    # what an interior-point method leaves of a hard margin that does not exist
    centred = 2.0 * FOUR - 1.0  # separable through the origin, too
    problem = getattr(qpsvm.HardMargin(intercept=intercept), form)(centred, FOUR_LABELS)
    solution = qpsvm.solve(problem, "cvxopt")
    for name in ("alpha", "coef"):
        diverged = solution.replace(**{name: size * getattr(solution, name)})
        assert not qpsvm.verify(problem, diverged).passed
    assert not qpsvm.verify(problem, solution.replace(intercept=size)).passed


# --- every family ---------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [1e3, 1e6, 1e9])
def test_a_large_c_does_not_hide_a_suboptimal_tube(C: float) -> None:
    # the optimum is tiny beside C: a gap relative to what C could cost said nothing
    X, y = np.array([[-1.0], [1.0], [0.0]]), np.array([-0.5, 0.5, 0.0])
    problem = qpsvm.EpsilonRegression(C=C, epsilon=0.4995).dual(X, y)
    best = qpsvm.solve(problem, eps=1e-11)  # a little inside the tube
    assert qpsvm.verify(problem, best).passed
    larger = {n: 1.02 * getattr(best, n) for n in ("alpha", "expansion", "coef")}
    wrong = problem.recover(problem.to_qp(best.replace(**larger)))
    assert not qpsvm.verify(problem, wrong).passed


@pytest.mark.parametrize("factor", [-1.0, 0.0, 1.005])
def test_a_wrong_expansion_is_seen_whatever_the_unit_of_the_decision_values(factor: float) -> None:
    X = np.random.default_rng(0).normal(size=(12, 2))
    for problem in (
        qpsvm.DataDescription(0.2).dual(3e4 * X),
        qpsvm.EpsilonRegression(C=1e6).dual(X, 1e6 * X[:, 0]),
    ):
        solution = qpsvm.solve(problem, "cvxopt")
        wrong = solution.replace(expansion=factor * solution.expansion)
        assert not qpsvm.verify(problem, wrong).passed


def test_other_rows_of_a_precomputed_kernel_are_seen() -> None:
    X = np.random.default_rng(0).normal(size=(10, 2))
    weights = np.ones(10)
    weights[3] = 0.0
    problem = qpsvm.SoftMargin(1.0).dual(
        X @ X.T, [0, 1] * 5, kernel="precomputed", sample_weight=weights
    )
    solution = qpsvm.solve(problem, "cvxopt")
    kept = solution.data.kept.copy()
    kept[3:] = np.arange(3, 9)  # predictions would read the wrong columns
    wrong = solution.replace(data=replace(solution.data, kept=kept))
    assert qpsvm.verify(problem, solution).passed
    assert not qpsvm.verify(problem, wrong).passed


def test_a_constant_part_of_the_kernel_does_not_make_every_alpha_optimal() -> None:
    X = 1e-5 * np.random.default_rng(1).normal(size=(20, 2))
    problem = qpsvm.OneClass(0.35).dual(X, kernel=qpsvm.kernels.RBF(0.4))
    best = qpsvm.solve(problem, "cvxopt")
    alpha = np.where(np.arange(20) < 7, 1 / 7, 0.0)
    other = problem.model.recovered(best.qp, alpha, expansion=alpha).solution
    other = other.replace(qp=problem.to_qp(other))
    assert not qpsvm.verify(problem, other).passed


def test_a_sample_in_no_pair_is_no_obstacle() -> None:
    problem = qpsvm.Ranking(1.0).dual([[0.0], [1.0], [3.0]], [0, 1, 2], groups=[0, 0, 1])
    assert qpsvm.solve(problem, "cvxopt").status is Status.OPTIMAL


@pytest.mark.parametrize("C", [1e-6, 1.0, 1e6])
def test_a_sample_in_no_pair_has_no_part_in_the_expansion(C: float) -> None:
    kernel = qpsvm.kernels.RBF(1.0)
    problem = qpsvm.Ranking(C).dual(
        [[0.0], [1.0], [3.0]], [0, 1, 2], groups=[0, 0, 1], kernel=kernel
    )
    solution = qpsvm.solve(problem, "cvxopt")
    assert solution.expansion is not None
    assert solution.expansion[2] == 0.0
    wrong = solution.expansion.copy()
    wrong[2] = 1e-7 * np.max(np.abs(wrong))
    assert qpsvm.verify(problem, solution).passed
    assert not qpsvm.verify(problem, solution.replace(expansion=wrong)).passed


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_targets_that_need_no_weights_are_solved(form: str, kernel: str) -> None:
    X = np.random.default_rng(0).normal(size=(12, 2))
    for family in (qpsvm.NuRegression(0.4), qpsvm.EpsilonRegression(), qpsvm.QuantileRegression()):
        for y in (np.zeros(12), np.full(12, 0.5)):
            problem = getattr(family, form)(X, y, kernel=kernel)
            solution = qpsvm.solve(problem)
            assert solution.status is Status.OPTIMAL
            np.testing.assert_allclose(solution.decision_function(X), y, atol=0.1 + 1e-6)


@pytest.mark.parametrize("weight", [1e308, 1e-320])
def test_a_price_beyond_double_precision_is_refused(weight: float) -> None:
    X = np.random.default_rng(0).normal(size=(12, 2))
    with pytest.raises(InvalidDataError, match="beyond the range of double precision"):
        qpsvm.QuantileRegression(0.3, 10.0).dual(X, X[:, 0], sample_weight=np.full(12, weight))


@grid(
    "form, kernel, intercept",
    product(["primal", "dual"], ["linear", "rbf"], ["free", "penalized", "none"]),
)
def test_the_same_point_in_both_classes_is_not_separable(form, kernel, intercept) -> None:
    problem = getattr(qpsvm.HardMargin(intercept), form)(
        np.zeros((4, 1)), [0, 1, 0, 1], kernel=kernel
    )
    with pytest.raises(NotSeparableError):
        qpsvm.solve(problem)


def test_class_weights_are_the_formulations_own() -> None:
    weights = {0: 1.0, 1: 2.0}
    family = qpsvm.SoftMargin(class_weight=weights)
    weights[1] = -5.0
    assert family == qpsvm.SoftMargin(class_weight={0: 1.0, 1: 2.0})
    assert hash(family) == hash(qpsvm.SoftMargin(class_weight={0: 1.0, 1: 2.0}))


@pytest.mark.parametrize("scale", [1e2, 1e4, 1e5])
@pytest.mark.parametrize("C", [1.0, 1e5])
def test_copies_far_from_the_centre_are_not_told_apart_by_rounding(scale: float, C: float) -> None:
    # every point is in both classes, so the optimum is w = 0 at a cost of C n; with a kernel of
    # 1 - 3e-5 between copies a machine that "separates" them passed at five sixths of that
    X = np.round(scale * np.random.default_rng(0).normal(size=(20, 7)))
    X[10:] = X[:10]
    for samples in (X, sp.csr_array(X)):
        problem = qpsvm.SoftMargin(C).dual(
            samples, np.repeat([-1, 1], 10), kernel=qpsvm.kernels.RBF(1.0)
        )
        report = qpsvm.verify(problem, qpsvm.solve(problem, "cvxopt"))
        assert report.objective == pytest.approx(20 * C, rel=1e-8)


def test_a_label_is_proven_only_if_it_is_the_one_predicted() -> None:
    # the gap bounds the weights, and these bound the best intercept: another one is proven wrong
    X, y = make_blobs(40, centers=[[-3, -3], [3, 3]], random_state=0)
    problem = qpsvm.SoftMargin(1e-4, loss="squared_hinge").dual(X, y)
    true = qpsvm.solve(problem)
    far = true.replace(intercept=true.intercept + 0.1)
    new = np.linspace(-3.0, 3.0, 200)[:, None] * np.ones(2)
    found = qpsvm.certify(problem, far).predict_certified(new)
    assert found.decided.any()
    assert (found.labels != true.predict(new)).any()
    assert (found.labels == true.predict(new))[found.decided].all()


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_a_machine_without_support_vectors_has_bounds_like_any_other(form: str) -> None:
    X = np.random.default_rng(0).normal(size=(12, 2))
    problem = getattr(qpsvm.EpsilonRegression(1.0, 0.5), form)(X, 0.1 * X[:, 0], kernel="rbf")
    solution = qpsvm.solve(problem)
    solution = solution.replace(expansion=np.zeros(12))
    bounds = qpsvm.certify(problem, solution).decision_bounds(X)
    assert (bounds.lower <= 1e-3).all()
    assert (bounds.upper >= -1e-3).all()


def test_bounds_on_an_intercept_that_there_is_not() -> None:
    problem = qpsvm.SoftMargin(1.0, intercept="none").dual(FOUR - 0.5, FOUR_LABELS)
    wrong = qpsvm.solve(problem).replace(intercept=2.0)
    assert qpsvm.certify(problem, wrong).intercept_bounds == Interval(0.0, 0.0)
    problem = qpsvm.SoftMargin(1.0).dual(FOUR, FOUR_LABELS)
    for number in (np.nan, np.inf):
        wrong = qpsvm.solve(problem).replace(intercept=number)
        assert qpsvm.certify(problem, wrong).intercept_bounds == Interval(-np.inf, np.inf)


@pytest.mark.filterwarnings("ignore::qpsvm.exceptions.ToleranceNotReachedWarning")
@pytest.mark.parametrize("off", [0.0, 1e-6, 0.5])
def test_an_answer_passes_at_the_eps_that_a_note_says(off: float) -> None:
    """Where rounding hides the gap, other checks may fail as well."""
    rng = np.random.default_rng(0)
    X = 100.0 * rng.standard_normal((12, 2)) + 1000.0
    y = np.where(rng.random(12) < 0.5, 1, -1)
    problem = qpsvm.SoftMargin(C=1.0).dual(X @ X.T, y, kernel="precomputed")
    machine = qpsvm.solve(problem)
    machine = machine.replace(slack=machine.slack + off)
    (note,) = qpsvm.verify(problem, machine).notes
    assert "rounding may hide" in note
    said = float(note.split("passes at eps = ")[1])
    assert qpsvm.verify(problem, machine, eps=said).passed
    assert said >= off


# --- constraints ----------------------------------------------------------------------------------


def with_own_offsets(problem: Any, machine: Any) -> Any:
    """The machine with the intercept and slack that its weights imply."""
    scores = problem.model.decision_values(machine).scores
    best = problem.model.optimal_intercepts(problem.model.decision_values(machine))
    interval = best if best.upper > best.lower else Interval(best.midpoint, best.midpoint)
    slack = problem.model.slack(problem.model.violations(scores, best.midpoint, 0.0))
    return machine.replace(intercept=best.midpoint, intercept_interval=interval, slack=slack)


@pytest.mark.parametrize(
    "family", [qpsvm.SoftMargin(1.0), qpsvm.LeastSquares(1.0), qpsvm.NuClassification(0.5)]
)
def test_weights_that_are_not_there_do_not_satisfy_constraints(family: Any) -> None:
    X, y = np.array([[1.0, 0.2], [0.5, -1.0], [-1.0, 0.3], [-0.4, 1.0]]), [1, 1, -1, -1]
    problem = family.dual(X, y, constraints=fixed(0, -1.0))
    true, free = qpsvm.solve(problem), qpsvm.solve(family.dual(X, y))
    fake = free.replace(coef=None, qp=true.qp, constraint_multipliers=np.zeros(1))
    assert qpsvm.verify(problem, true).passed
    assert not qpsvm.verify(problem, fake).passed


def test_multipliers_the_box_cannot_answer_prove_nothing() -> None:
    X, s = np.array([[-2.0], [-1.5], [0.1], [0.2]]), np.array([-1.0, -1.0, 1.0, 1.0])
    problem = qpsvm.SoftMargin(0.5).dual(X, s, constraints=LinearConstraints(G=[0.0, 1.0], h=-1.0))
    true = qpsvm.solve(problem)
    alpha, w, b = np.array([0.0, 0.0, 0.5, 0.5]), np.array([0.15]), -2.0
    fake = true.replace(
        alpha=alpha,
        expansion=s * alpha,
        coef=w,
        intercept=b,
        intercept_interval=Interval(b, b),
        slack=np.maximum(0.0, 1.0 - s * (X @ w + b)),
        constraint_multipliers=np.array([2.0]),
    )
    assert qpsvm.verify(problem, true).passed
    assert qpsvm.certify(problem, fake).relative_gap == np.inf


@pytest.mark.parametrize("factor", [1.1, 1.5, 3.0, -1.0])
def test_a_weight_that_is_fixed_to_be_huge_does_not_hide_the_others(factor: float) -> None:
    X = np.array([[-1e-6, 0.0], [1e-6, 0.0], [0.0, 1.0], [0.0, -1.0]])
    problem = qpsvm.SoftMargin(0.01).dual(X, [-1, 1, 1, -1], constraints=fixed(0, 1e6))
    true = qpsvm.solve(problem)
    wrong = with_own_offsets(problem, true.replace(coef=true.coef * [1.0, factor]))
    assert qpsvm.verify(problem, true).passed
    assert not qpsvm.verify(problem, wrong).passed


def test_a_penalised_intercept_is_the_one_alpha_implies() -> None:
    X, s = np.array([[-1.0], [1.0], [0.0], [0.0]]), np.array([-1, 1, -1, 1])
    family = qpsvm.SoftMargin(1.0, intercept="penalized")
    problem = family.dual(X, s, sample_weight=[0.01, 0.02, 1e7, 1e7])
    true = qpsvm.solve(problem)
    b = 0.3
    slack = np.maximum(0.0, 1.0 - s * (X @ true.coef + b))
    wrong = true.replace(intercept=b, intercept_interval=Interval(b, b), slack=slack)
    assert qpsvm.verify(problem, true).passed
    assert not qpsvm.verify(problem, wrong).passed


@pytest.mark.parametrize("seed", [3, 4, 5])
def test_a_large_intercept_is_no_excuse_for_missing_a_constraint_on_the_weights(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(20) % 2, 1, -1)
    X = rng.normal(size=(20, 2))
    X[:, 1] = y + 0.1 * rng.normal(size=20) + 1e4
    problem = qpsvm.SoftMargin(1.0).primal(X, y, constraints=fixed(0, 0.0))
    true = qpsvm.solve(problem)
    wrong = with_own_offsets(problem, true.replace(coef=true.coef + np.array([1e-4, 0.0])))
    assert not qpsvm.verify(problem, wrong).passed


def test_constraints_set_the_scale_of_a_machine_that_has_none() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(15, 2)) * 1e6 + 3e6, 1e-3 * rng.normal(size=15)])
    rules = [sum_of(0, 1, equals=1.0), nonnegative(0, 1)]
    problem = qpsvm.OneClass(0.3).dual(X, constraints=rules)
    true = qpsvm.solve(problem)
    b = true.intercept
    for wrong in (
        true.replace(slack=true.slack + 1e4),
        true.replace(intercept_interval=Interval(b - 1e4, b + 1e4)),
    ):
        assert not qpsvm.verify(problem, wrong).passed


def test_a_shifted_kernel_predicts_the_same_from_either_form() -> None:
    """What costs nothing in the primal, because the shift hides it, is not left to the solver."""
    K = np.array([[1.0, 0.2, 0.9], [0.2, 1.0, -0.8], [0.9, -0.8, 1.0]])
    decisions = []
    for form in ("primal", "dual"):
        problem = getattr(qpsvm.LeastSquares(1.0), form)(
            K, [-1, 1, 1], kernel="precomputed", indefinite="shift"
        )
        solution = qpsvm.solve(problem)
        assert solution.status is Status.OPTIMAL
        decisions.append(solution.decision_function(K))
        wrong = solution.replace(expansion=solution.expansion + np.array([0.5, -0.5, -0.5]))
        assert not qpsvm.verify(problem, wrong).passed
    np.testing.assert_allclose(*decisions, atol=1e-6)


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_what_a_missed_margin_saves_is_part_of_the_gap(form: str) -> None:
    # a multiplier on a sample beyond the margin: margins of 1 - 6e-9, and both objectives agree on
    # a value 1.2e-8 below the optimum
    X = np.array([[-1.0, 0.0], [-2.0, 1.0], [1.0, 0.0], [2.0, 1.0]])
    problem = getattr(qpsvm.HardMargin("none"), form)(X, [-1, -1, 1, 1], constraints=nonnegative(1))
    true = qpsvm.solve(problem, eps=1e-12)
    d, model = 0.6e-8, problem.model
    moved = np.array([(1.0 - 3.0 * d) / 2.0, 0.0, (1.0 - 3.0 * d) / 2.0, d])
    alpha = model.feasible_dual(moved, np.zeros(1)).alpha
    beta = model.expansion(alpha)
    wrong = model.recovered(
        true.qp,
        alpha,
        expansion=beta if form == "dual" else None,
        coef=model.coef(beta),
        multipliers=np.zeros(1),
    ).solution
    wrong = wrong.replace(qp=problem.to_qp(wrong))
    assert qpsvm.verify(problem, true).passed
    assert not qpsvm.verify(problem, wrong).passed
    assert not qpsvm.certify(problem, wrong).passed(1e-8)


@pytest.mark.parametrize("form", ["primal", pytest.param("dual", marks=pytest.mark.exhaustive)])
def test_what_does_not_conflict_is_not_named(form: str) -> None:
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    inseparable = getattr(qpsvm.HardMargin(), form)(X, y, constraints=bounded(0, -100.0, 100.0))
    with pytest.raises(NotSeparableError):
        qpsvm.solve(inseparable)


@pytest.mark.parametrize("form", ["primal", pytest.param("dual", marks=pytest.mark.exhaustive)])
def test_what_conflicts_with_the_margins_is_named(form: str) -> None:
    far = 1e6 * np.array([[-1.0, 0.0], [-2.0, 1.0], [1.0, 0.0], [2.0, 1.0]])
    rule = bounded(0, upper=0.5e-6)
    tight = getattr(qpsvm.HardMargin(), form)(far, [-1, -1, 1, 1], constraints=rule)
    with pytest.raises(ConflictingConstraintsError, match="together with the margins") as caught:
        qpsvm.solve(tight)
    assert caught.value.rows == ("bounded: column 0",)


def test_no_constraints_are_an_empty_list() -> None:
    problem = qpsvm.SoftMargin().primal([[0.0], [1.0]], [0, 1], constraints=[])
    assert problem.model.constraints is None


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e308, -1e9])
def test_slack_that_is_none_is_not_repaired(value: float) -> None:
    X = np.random.default_rng(0).normal(size=(12, 2))
    problem = qpsvm.SoftMargin().primal(X, X[:, 0] + 0.3 * X[:, 1] > 0.1)
    qp = qpsvm.solve(problem).qp
    assert qp.x is not None
    broken = qp.replace(x=np.where(np.arange(len(qp.x)) < 3, qp.x, value))
    assert not qpsvm.verify(problem, problem.recover(broken)).passed
    nudged = qp.replace(x=np.where(np.arange(len(qp.x)) < 3, qp.x, qp.x - 1e-6))
    assert not qpsvm.verify(problem.qp, nudged).passed
    assert qpsvm.verify(problem, problem.recover(nudged)).passed


@pytest.mark.parametrize("change", [1e-3, -1e-3])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_products_known_of_alpha_hide_no_other_point(change: float, storage: Any) -> None:
    """The residuals of the program's own solution are about its x, equal to alpha or not."""
    X, y = make_blobs(40, centers=[[-1, -1], [1, 1]], random_state=0)
    problem = qpsvm.SoftMargin().dual(storage(X), y)
    solution = qpsvm.solve(problem)
    x = solution.qp.x.copy()
    x[int(np.argmax(x))] += change
    report = qpsvm.verify(problem, solution.replace(qp=solution.qp.replace(x=x)))
    assert not report.passed
    program, qp = problem.qp, solution.qp
    r = program.P.matvec(x) + program.q + program.A.T @ qp.y + qp.z_upper - qp.z_lower
    assert report.residuals.stationarity.absolute == pytest.approx(np.max(np.abs(r)))
