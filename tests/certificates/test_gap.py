"""The certificate: what it proves must be true, whatever it is given."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import qpsvm
from qpsvm import HardMargin, SoftMargin, kernels
from qpsvm.exceptions import InvalidDataError
from qpsvm.qp import QPSolution, Status
from tests.strategies import examples
from tests.tolerances import TIGHT

N, D = 14, 3
rng = np.random.default_rng(5)
Y = np.where(np.arange(N) % 2, 1, -1)
OVERLAPPING = rng.normal(size=(N, D)) + 0.5 * Y[:, None]
SEPARABLE = rng.normal(size=(N, D)) * 0.4 + 1.5 * Y[:, None]

FORMULATIONS = {
    "soft free": SoftMargin(1.5),
    "soft penalized": SoftMargin(1.5, "penalized"),
    "soft none": SoftMargin(1.5, "none"),
    "soft large C": SoftMargin(1e3),  # at 1e4 rounding alone is above the 1e-11 asked for
    "hard free": HardMargin(),
    "hard penalized": HardMargin("penalized"),
    "hard none": HardMargin("none"),
}
_cache: dict[tuple[str, str], tuple] = {}


def optimum(name, kernel):
    """Problem, tight solution, and both of its objectives."""
    if (name, kernel) not in _cache:
        family = FORMULATIONS[name]
        X = SEPARABLE if isinstance(family, HardMargin) else OVERLAPPING
        problem = family.dual(X, Y, kernel=kernels.RBF(0.3) if kernel == "rbf" else kernel)
        solution = qpsvm.solve(problem, "cvxopt", eps=TIGHT)
        _cache[name, kernel] = problem, solution, qpsvm.certify(problem, solution)
    return _cache[name, kernel]


ANY = pytest.mark.parametrize("name", FORMULATIONS)
KERNELS = pytest.mark.parametrize("kernel", ["linear", "rbf"])
numbers = st.floats(-10, 10)
vectors = arrays(np.float64, N, elements=numbers)


def rounding(*objectives):
    """1e-12 of the sums that an objective consists of."""
    return 1e-12 * max(1.0, *(abs(o) for o in objectives if math.isfinite(o)))


@ANY
@KERNELS
@settings(max_examples=examples(60))
@given(weights=vectors, alpha=vectors, intercept=numbers, near=st.floats(0, 1))
def test_the_bounds_hold_for_any_weights_and_any_alpha(
    name, kernel, weights, alpha, intercept, near
):
    problem, best, exact = optimum(name, kernel)
    if problem.model.intercept == "none":
        intercept = 0.0
    # anything between a random candidate (near=0) and the optimum (near=1)
    expansion = near * best.expansion + (1 - near) * weights
    candidate = best.replace(
        alpha=near * best.alpha + (1 - near) * alpha,
        expansion=expansion,
        coef=problem.model.coef(expansion),
        intercept=near * best.intercept + (1 - near) * intercept,
    )
    proof = qpsvm.certify(problem, candidate)
    slack = rounding(proof.dual_objective, exact.primal_objective)
    # the exact optimum is between the two objectives of the tight solution
    assert proof.primal_objective >= exact.dual_objective - slack
    assert proof.dual_objective <= exact.primal_objective + slack
    suboptimality = proof.primal_objective - exact.primal_objective
    assert proof.gap >= suboptimality - slack
    # |w - w*| in feature space
    difference = expansion - best.expansion
    distance = math.sqrt(max(0.0, difference @ problem.model.kernel_product(difference)))
    assert distance <= proof.weight_error + exact.weight_error + 1e-6


@ANY
@KERNELS
def test_the_bounds_meet_at_the_optimum(name, kernel):
    _, _, exact = optimum(name, kernel)
    assert exact.relative_gap < 1e-10
    assert exact.passed(1e-10)
    assert exact.infeasibility < 1e-10
    assert exact.repair < 1e-8


@ANY
@settings(max_examples=examples(150))
@given(
    alpha=arrays(
        np.float64,
        N,
        elements=st.floats(-1e6, 1e6) | st.floats(0, 2) | st.sampled_from([0.0, 1.5, 1e-300]),
    )
)
@example(alpha=np.array([0.94, 9e-29, 0.0, 0.0, 1.83, 0.0, 1.53, *[0.0] * 7]))  # all but one side
def test_the_repaired_alpha_is_feasible_for_any_alpha(name, alpha):
    problem, _, _ = optimum(name, "linear")
    model = problem.model
    repaired = model.feasible_dual(alpha).alpha
    assert (repaired >= 0.0).all()
    assert (repaired <= model.conditions.upper).all()
    if model.intercept == "free":
        assert abs(model.data.signs @ repaired) <= 1e-14 * N * max(repaired.sum(), 1e-280)


@ANY
@settings(max_examples=examples(50))
@given(noise=arrays(np.float64, N, elements=st.floats(-1e-9, 1e-9)))
def test_repairing_costs_no_more_than_the_error_repaired(name, noise):
    problem, best, exact = optimum(name, "linear")
    proof = qpsvm.certify(problem, best.replace(alpha=best.alpha + noise))
    scale = max(1.0, exact.primal_objective)
    assert proof.relative_gap <= 1e-7 * scale
    assert proof.repair <= 1e-7


def test_a_feasible_alpha_is_not_touched():
    model = optimum("soft free", "linear")[0].model
    alpha = np.tile([0.5, 0.5], N // 2)
    np.testing.assert_array_equal(model.feasible_dual(alpha).alpha, alpha)


@pytest.mark.parametrize("factor", [0.5, 0.9, 2.0])
@pytest.mark.parametrize("name", ["hard free", "hard penalized", "hard none"])
def test_the_weight_error_covers_infeasible_hard_margins(name, factor):
    # scaled weights have a certified gap of zero once scaled back: the distance must still count
    problem, best, _ = optimum(name, "linear")
    scaled = best.replace(
        expansion=factor * best.expansion,
        coef=factor * best.coef,
        intercept=factor * best.intercept,
    )
    proof = qpsvm.certify(problem, scaled)
    assert np.linalg.norm(scaled.coef - best.coef) <= proof.weight_error + 1e-6
    if factor < 1:
        assert proof.infeasibility == pytest.approx(1 - factor, abs=1e-8)
        assert not proof.passed(1e-3)


def test_the_gap_by_hand():
    # x = 0 and x = 2, C = 1; w = 1, b = 0: objective 1/2 + 1; alpha = (1/4, 1/4): 1/2 - 1/8
    problem = SoftMargin(1.0).dual([[0.0], [2.0]], [-1, 1])
    start = problem.recover(QPSolution(Status.UNKNOWN, x=[0.25, 0.25]))
    proof = qpsvm.certify(problem, start.replace(coef=np.array([1.0]), intercept=0.0))
    assert proof.primal_objective == pytest.approx(1.5)
    assert proof.dual_objective == pytest.approx(0.375)
    assert proof.gap == pytest.approx(1.125)
    assert proof.relative_gap == pytest.approx(0.75)
    assert proof.weight_error == pytest.approx(1.5)
    assert proof.repair == 0.0
    assert proof.to_dict()["gap"] == proof.gap
    # the best intercept for w = 1 makes both margins 1
    assert proof.intercept_interval == pytest.approx((-1.0, -1.0))


# --- what fails closed -------------------------------------------------------------------------


def poisoned(vector, value):
    changed = np.array(vector)
    changed[3] = value
    return changed


@ANY
@KERNELS
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("field", ["alpha", "expansion", "coef", "intercept"])
def test_nan_and_infinity_never_pass(name, kernel, field, value):
    problem, best, _ = optimum(name, kernel)
    if field == "coef":
        if kernel != "linear":
            return
        changes = {"coef": np.array([value, *best.coef[1:]])}
    elif field == "intercept":
        changes = {"intercept": value}
    else:
        changes = {field: poisoned(getattr(best, field), value)}
        if field == "expansion":
            changes["coef"] = None
    broken = best.replace(**changes)
    assert not qpsvm.verify(problem, broken).passed
    proof = qpsvm.certify(problem, broken)
    if math.isnan(value) or field != "alpha":  # an infinite alpha is clipped: a valid bound
        assert proof.relative_gap == math.inf
        assert proof.weight_error == math.inf
        assert not proof.passed(0.5)
    elif field == "alpha":
        assert proof.dual_objective <= proof.primal_objective or math.isnan(proof.gap)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"alpha": np.zeros(N - 1)}, "alpha has shape (13,), the problem needs (14,)"),
        ({"expansion": np.zeros((N, 1))}, "expansion has shape (14, 1)"),
        ({"coef": np.zeros(D + 1)}, "coef has shape (4,), the problem needs (3,)"),
        ({"coef": None, "expansion": None}, "neither coef nor expansion"),
        ({"alpha": None}, "no alpha"),
        ({"kernel": kernels.RBF(0.3)}, "rbf(gamma=0.3)"),
    ],
    ids=lambda v: next(iter(v)) if isinstance(v, dict) else "",
)
def test_a_solution_of_another_shape_is_refused(changes, words):
    problem, best, _ = optimum("soft free", "linear")
    broken = best.replace(**changes)
    with pytest.raises(InvalidDataError) as caught:
        qpsvm.certify(problem, broken)
    assert words in str(caught.value)
    assert not qpsvm.verify(problem, broken).passed


def test_weights_without_a_place_in_the_kernels_space_are_refused():
    problem, best, _ = optimum("soft free", "rbf")
    broken = best.replace(coef=np.ones(D))
    with pytest.raises(InvalidDataError, match="coef"):
        qpsvm.certify(problem, broken)
    assert not qpsvm.verify(problem, broken).passed


def test_a_solution_that_predicts_from_other_data_is_refused():
    problem, best, _ = optimum("soft free", "linear")
    for X, y in ((OVERLAPPING + 1e-9, Y), (OVERLAPPING, -Y), (OVERLAPPING, Y * 2)):
        other = SoftMargin(1.5).dual(X, y).data
        with pytest.raises(InvalidDataError, match="other training data"):
            qpsvm.certify(problem, best.replace(data=other))


@pytest.mark.parametrize("name", ["soft none", "hard none"])
def test_an_intercept_the_program_does_not_have_never_passes(name):
    problem, best, _ = optimum(name, "linear")
    assert best.intercept == 0.0
    broken = best.replace(intercept=1e-3)
    proof = qpsvm.certify(problem, broken)
    assert proof.relative_gap == math.inf
    assert not proof.passed(0.5)
    assert not qpsvm.verify(problem, broken, eps=0.5).passed


@pytest.mark.parametrize("scale", [1e-120, 1e-161, 1e-200, 1e-300])
@pytest.mark.parametrize("name", ["hard free", "hard penalized", "hard none"])
def test_tiny_weights_and_multipliers_do_not_underflow_to_a_false_bound(name, scale):
    problem, best, exact = optimum(name, "linear")
    tiny = best.replace(
        alpha=scale * best.alpha, coef=scale * best.coef, intercept=scale * best.intercept
    )
    proof = qpsvm.certify(problem, tiny)
    assert proof.primal_objective == math.inf
    assert not proof.dual_objective > exact.primal_objective * (1 + 1e-12)
    assert not proof.passed(0.5)


@pytest.mark.parametrize("name", ["hard free", "hard none"])
def test_weights_that_do_not_separate_have_an_infinite_objective(name):
    problem, best, _ = optimum(name, "linear")
    proof = qpsvm.certify(problem, best.replace(coef=-best.coef))
    assert proof.primal_objective == math.inf
    assert not proof.passed(0.5)
    assert proof.infeasibility > 1.0


def test_a_kernel_that_is_not_stored_is_evaluated_once(monkeypatch):
    monkeypatch.setattr("qpsvm.qp.sample_gram.KEPT_BYTES", 0)
    evaluated = []

    class Counted(kernels.RBF):
        def __call__(self, X, Z):
            evaluated.append(len(X) * len(Z))
            return super().__call__(X, Z)

    problem = SoftMargin(1.5).dual(OVERLAPPING, Y, kernel=Counted(0.3))
    tight = qpsvm.solve(problem, "cvxopt")
    solution = problem.recover(tight.qp)
    solution = solution.replace(qp=problem.to_qp(solution))
    # another problem of the same data: nothing is remembered
    again = SoftMargin(1.5).dual(OVERLAPPING, Y, kernel=Counted(0.3))
    evaluated.clear()
    assert qpsvm.verify(again, solution).passed
    diagonal = N * N  # evaluated in a block of its own
    assert sum(evaluated) <= N * N + diagonal


def test_a_certificate_prints_whatever_the_program_s_solution_is() -> None:
    problem = qpsvm.SoftMargin(C=1.0).dual([[0.0], [2.0]], [-1, 1])
    without = qpsvm.solve(problem).replace(qp=None)
    assert without.status is qpsvm.qp.Status.UNKNOWN
    assert "Certificate" in repr(qpsvm.certify(problem, without))
