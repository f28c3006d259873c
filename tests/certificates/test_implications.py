"""What follows from a gap must hold for the exact optimum, of every family and from any start.

The exact optimum is not known either, but to a gap of 1e-12: its own bounds are so tight that what
a rough solution's certificate says of the optimum must overlap with them.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

import qpsvm
from qpsvm.certificates.screening import BOUND, FREE, STATUSES, UNDECIDED, ZERO
from qpsvm.exceptions import InvalidDataError, InvalidParameterError
from qpsvm.machines.intercept import Interval, enclosing_intercepts, optimal_intercepts
from tests.families import BY_NAME, KERNELS, NEW, settings
from tests.strategies import grid
from tests.tolerances import TIGHT

SETTINGS = [(name, kernel, b) for name, form, kernel, b in settings() if form == "dual"]
NOISE = (0.0, 1e-9, 1e-6, 1e-3, 0.03, 0.3)


@functools.cache
def optimum(name, kernel, intercept):
    """Problem, tight solution, its certificate."""
    problem = BY_NAME[name].build("dual", KERNELS[kernel], intercept)
    solution = qpsvm.solve(problem, "cvxopt", eps=TIGHT)
    return problem, solution, qpsvm.certify(problem, solution)


def disturbed(problem, solution, size, seed):
    """The solution with noise on everything a certificate is computed from."""
    rng = np.random.default_rng(seed)

    def noisy(v):
        return None if v is None else v + size * np.max(np.abs(v)) * rng.normal(size=np.shape(v))

    alpha = noisy(solution.alpha)
    expansion = noisy(solution.expansion)
    shift = 0.0 if problem.model.intercept == "none" else size * rng.normal()
    return solution.replace(
        alpha=alpha,
        expansion=expansion,
        coef=None if solution.coef is None else problem.model.coef(expansion),
        intercept=solution.intercept + shift,
        width=max(0.0, solution.width * (1.0 + size * rng.normal())),
    )


def overlap(first, second):
    return (first.lower <= second.upper).all() and (second.lower <= first.upper).all()


def interval_overlap(first, second):
    return first.lower <= second.upper and second.lower <= first.upper


@grid("name, kernel, intercept", SETTINGS)
def test_what_a_rough_solution_says_of_the_optimum_is_true(name, kernel, intercept):
    problem, solution, exact = optimum(name, kernel, intercept)
    known = exact.decision_bounds(NEW)
    for seed, size in enumerate(NOISE * 2):
        rough = disturbed(problem, solution, size, seed)
        proof = qpsvm.certify(problem, rough)
        assert proof.gap_upper >= proof.gap
        bounds = proof.decision_bounds(NEW)
        assert (bounds.lower <= bounds.values).all()
        assert (bounds.values <= bounds.upper).all()
        np.testing.assert_allclose(bounds.values, rough.decision_function(NEW), rtol=1e-12)
        assert overlap(bounds, known)
        assert interval_overlap(proof.intercept_bounds, exact.intercept_bounds)
        both = (proof.screening.status != UNDECIDED) & (exact.screening.status != UNDECIDED)
        assert (proof.screening.status == exact.screening.status)[both].all()
        answers = {proof.intercept_is_unique, exact.intercept_is_unique}
        assert not {True, False} <= answers
        optimal = proof.optimum
        assert (optimal.low <= exact.optimum.high).all()
        assert (exact.optimum.low <= optimal.high).all()
        assert interval_overlap(optimal.width, exact.optimum.width)


@grid("name, kernel, intercept", SETTINGS)
def test_in_exact_arithmetic_as_well(name, kernel, intercept):
    problem, solution, exact = optimum(name, kernel, intercept)
    known = exact.decision_bounds(NEW)
    for size in (0.0, 1e-6):
        rough = disturbed(problem, solution, size, 5)
        estimated = qpsvm.certify(problem, rough)
        proof = qpsvm.certify(problem, rough, rigorous=True)
        assert proof.rigorous
        assert proof.gap_upper >= estimated.gap
        # what rounding hides is small beside what the disturbance costs, and beside the objective
        assert proof.gap_upper <= 1.01 * estimated.gap + 1e-10 * abs(proof.primal_objective) + TIGHT
        assert overlap(proof.decision_bounds(NEW), known)
        assert interval_overlap(proof.intercept_bounds, exact.intercept_bounds)
        both = (proof.screening.status != UNDECIDED) & (exact.screening.status != UNDECIDED)
        assert (proof.screening.status == exact.screening.status)[both].all()


@grid("name, kernel, intercept", SETTINGS)
def test_a_proven_status_is_that_of_the_optimal_alpha(name, kernel, intercept):
    problem, solution, exact = optimum(name, kernel, intercept)
    c, status = problem.model.conditions, exact.screening.status
    box = np.minimum(np.maximum(np.abs(c.lower), c.upper), np.max(np.abs(solution.alpha)))
    relative = solution.alpha / box
    assert (np.abs(relative[status == ZERO]) < 1e-4).all()
    at_bound = np.minimum(np.abs(solution.alpha - c.lower), np.abs(solution.alpha - c.upper)) / box
    assert (at_bound[status == BOUND] < 1e-4).all()
    assert (at_bound[status == FREE] > 0.0).all()


@grid("name, kernel, intercept", SETTINGS)
def test_a_tight_certificate_decides_nearly_everything(name, kernel, intercept):
    problem, _, exact = optimum(name, kernel, intercept)
    assert exact.screening.count("undecided") <= max(6, len(problem.model.conditions) // 3)
    if problem.data.targets is not None and BY_NAME[name].is_classifier:
        assert exact.predict_certified(NEW).fraction_decided == 1.0


@pytest.mark.parametrize("name", ["hinge", "hard margin", "nu classification", "one class"])
@pytest.mark.parametrize("size", NOISE)
def test_a_decided_label_is_the_exact_optimums(name, size):
    problem, solution, _ = optimum(name, "rbf", "free" if name != "one class" else "own")
    rough = disturbed(problem, solution, size, 3)
    found = qpsvm.certify(problem, rough).predict_certified(NEW)
    expected = solution.predict(NEW)
    assert (found.labels == rough.predict(NEW)).all()
    assert (found.labels == expected)[found.decided].all()
    words = found.to_list(undecided=None)
    assert [w is None for w in words] == (~found.decided).tolist()
    assert found.fraction_decided == np.mean(found.decided)


def test_the_free_status_follows_from_the_curvature_of_the_dual():
    _, solution, exact = optimum("hinge", "rbf", "free")
    free = exact.screening.status == FREE
    assert free.any()
    inside = (solution.alpha > 1e-3) & (solution.alpha < solution.upper - 1e-3)
    assert (free == inside).all()
    assert exact.intercept_is_unique is True
    assert exact.screening.strictly_complementary is True


def test_identical_samples_leave_their_alphas_undecided():
    # one optimum in w, many in alpha: nothing can be proven about either copy
    X, y = [[0.0], [2.0], [2.0]], [-1, 1, 1]
    problem = qpsvm.SoftMargin(C=10.0).dual(X, y)
    proof = qpsvm.certify(problem, qpsvm.solve(problem, eps=1e-12))
    assert [STATUSES[i] for i in proof.screening.status] == ["free", "undecided", "undecided"]
    assert proof.intercept_is_unique is True


def test_an_intercept_that_can_move_is_proven_to():
    # every alpha at C, every margin violated: b moves between the two inner samples
    X, y = [[-2.0], [-1.0], [1.0], [2.0]], [1, -1, 1, -1]
    problem = qpsvm.SoftMargin(C=0.01).dual(X, y)
    solution = qpsvm.solve(problem, eps=1e-10)
    proof = qpsvm.certify(problem, solution)
    assert proof.intercept_is_unique is False
    assert proof.screening.counts == {"undecided": 0, "zero": 0, "free": 0, "bound": 4}
    assert proof.intercept_bounds.lower <= proof.intercept_interval.lower
    assert proof.intercept_bounds.upper >= proof.intercept_interval.upper


def test_a_degenerate_sample_is_named():
    # the middle sample of the positive class lies on the margin of the other two: alpha = 0
    X, y = [[-1.0, 0.0], [1.0, 1.0], [1.0, 0.0], [1.0, -1.0]], [-1, 1, 1, 1]
    problem = qpsvm.HardMargin().dual(X, y)
    alpha = np.array([0.5, 0.25, 0.0, 0.25])
    solution = problem.model.recovered(
        qpsvm.qp.QPSolution(qpsvm.qp.Status.UNKNOWN),
        alpha,
        expansion=problem.model.expansion(alpha),
        coef=np.array([1.0, 0.0]),
    ).solution
    proof = qpsvm.certify(problem, solution)
    assert proof.gap == 0.0
    assert 2 in proof.screening.degenerate
    assert proof.screening.strictly_complementary is None


def test_numbers_have_bounds_and_no_labels():
    problem, solution, proof = optimum("tube", "linear", "free")
    bounds = proof.decision_bounds(problem.data.X)
    assert (np.abs(bounds.upper - bounds.lower) < 1e-3).all()
    with pytest.raises(InvalidParameterError, match="decision_bounds"):
        proof.predict_certified(problem.data.X)
    del solution


def test_the_one_norm_proves_nothing_about_weights():
    case = BY_NAME["hinge"]
    problem = qpsvm.L1Norm(C=1.0).dual(case.data.X, case.data.y)
    proof = qpsvm.certify(problem, qpsvm.solve(problem))
    assert proof.weight_error == np.inf
    assert proof.predict_certified(NEW).fraction_decided == 0.0
    assert proof.screening.count("undecided") == len(case.data)


def test_a_machine_that_misses_a_constraint_pays_for_the_way_to_one_that_does_not():
    case = BY_NAME["hinge"]
    rule = qpsvm.constraints.nonnegative(0)
    problem = qpsvm.SoftMargin(C=2.0).dual(case.data.X, -case.data.y, constraints=rule)
    solution = qpsvm.solve(problem)
    missed = solution.replace(coef=solution.coef - np.array([1e-9, 0.0, 0.0]))
    assert missed.coef[0] < 0.0
    proof, best = qpsvm.certify(problem, missed), qpsvm.certify(problem, solution)
    assert proof.infeasibility == 1.0
    assert proof.feasible.coef[0] == 0.0
    noise = 1e-13 * best.primal_objective
    assert proof.feasible_objective >= best.dual_objective - noise
    cheaper = best.dual_objective - proof.primal_objective  # than any machine that obeys
    assert cheaper > noise
    assert proof.gap_upper >= cheaper - noise
    assert proof.weight_error >= 1e-9
    # in exact arithmetic it is no machine of the problem at all
    assert qpsvm.certify(problem, missed, rigorous=True).gap_upper == np.inf


def test_a_precomputed_kernel_needs_the_squares():
    case = BY_NAME["hinge"]
    K = KERNELS["rbf"](case.data.X, case.data.X)
    problem = qpsvm.SoftMargin(C=2.0).dual(K, case.data.y, kernel="precomputed")
    proof = qpsvm.certify(problem, qpsvm.solve(problem))
    new = KERNELS["rbf"](NEW, case.data.X)
    with pytest.raises(InvalidDataError, match="squares"):
        proof.predict_certified(new)
    found = proof.predict_certified(new, squares=np.ones(len(NEW)))
    _, _, exact = optimum("hinge", "rbf", "free")
    assert (found.labels == exact.predict_certified(NEW).labels)[found.decided].all()
    assert found.fraction_decided > 0.9


# --- several classes ------------------------------------------------------------------------------


def _three_classes():
    rng = np.random.default_rng(3)
    y = np.repeat(["a", "b", "c"], 12)
    centres = {"a": (0.0, 1.5), "b": (1.5, -0.5), "c": (-1.0, -1.0)}
    X = np.array([centres[label] for label in y]) + rng.normal(size=(36, 2))
    return X, y, 2.0 * rng.normal(size=(40, 2))


@pytest.mark.parametrize(
    "family",
    [
        qpsvm.OneVsRest(qpsvm.SoftMargin(C=3.0)),
        qpsvm.OneVsOne(qpsvm.SoftMargin(C=3.0)),
        qpsvm.CrammerSinger(C=1.0),
        qpsvm.CrammerSinger(C=1.0, intercept="penalized"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_several_classes(family, kernel):
    X, y, new = _three_classes()
    problem = family.dual(X, y, kernel=KERNELS[kernel])
    tight = qpsvm.solve(problem, "cvxopt", eps=1e-11)
    rough = qpsvm.solve(problem, "osqp", eps=1e-3)
    exact, proof = qpsvm.certify(problem, tight), qpsvm.certify(problem, rough)
    assert overlap(proof.decision_bounds(new), exact.decision_bounds(new))
    known, found = exact.predict_certified(new), proof.predict_certified(new)
    assert (found.labels == tight.predict(new))[found.decided].all()
    assert known.fraction_decided >= 0.9
    assert known.fraction_decided >= found.fraction_decided
    if isinstance(family, qpsvm.CrammerSinger):
        both = (proof.screening.status != UNDECIDED) & (exact.screening.status != UNDECIDED)
        assert (proof.screening.status == exact.screening.status)[both].all()
        tau = tight.alpha.ravel() / tight.upper.repeat(3)
        assert (np.abs(tau[exact.screening.status == ZERO]) < 1e-4).all()
        assert (np.abs(tau[exact.screening.status == BOUND]) > 1.0 - 1e-4).all()
        assert exact.screening.count("undecided") < len(tau) / 2


# --- the interval of the intercept ---------------------------------------------------------------


@pytest.mark.parametrize("kind", ["steps", "ramps", "hard"])
def test_minimisers_of_every_target_in_reach_are_enclosed(kind):
    rng = np.random.default_rng(8)
    for trial in range(300):
        n = int(rng.integers(2, 9))
        t = rng.integers(-4, 5, n) * rng.choice([1.0, 0.1])
        radius = rng.uniform(0.0, 1.0, n) * rng.choice([0.0, 1e-12, 0.1, 2.0])
        lower = -rng.integers(0, 3, n).astype(float)
        upper = rng.integers(0, 3, n).astype(float)
        lower[0], upper[1] = -1.0, 1.0
        d = np.zeros(n) if kind != "ramps" else rng.uniform(0.1, 2.0, n)
        if kind == "hard":
            lower, upper = np.where(np.arange(n) % 2, 0.0, -np.inf), np.zeros(n)
            upper[1::2] = np.inf
        price = 0.0 if kind == "hard" else rng.uniform(lower.sum(), upper.sum())
        if trial % 3 == 0 and kind != "hard":
            price = float(np.round(price))
        if not lower.sum() < price < upper.sum() and kind != "hard":
            continue
        whole = enclosing_intercepts(t, radius, lower, upper, d, price)
        for _ in range(5):
            moved = t + radius * rng.uniform(-1.0, 1.0, n)
            best = optimal_intercepts(moved, lower, upper, d, price)
            if kind == "hard" and np.max(moved[1::2]) > np.min(moved[0::2]):
                continue  # no b satisfies them
            assert whole.lower <= best.lower
            assert best.upper <= whole.upper
        if kind == "ramps" and not radius.any():
            assert whole.upper - best.upper < 1e-6
            assert best.lower - whole.lower < 1e-6


def test_nothing_is_known_of_targets_that_are_not():
    ones = np.ones(2)
    everywhere = enclosing_intercepts(np.array([0.0, np.nan]), ones, -ones, ones, 0.0 * ones)
    assert everywhere == Interval(-np.inf, np.inf)


# --- k(x, x) where it is known --------------------------------------------------------------------


@pytest.mark.parametrize("rigorous", [False, True])
@pytest.mark.parametrize("form", ["primal", "dual"])
def test_a_ball_on_a_kernel_matrix_is_screened_as_on_the_kernel(form, rigorous):
    # the diagonal of the training matrix is k(x, x)
    X = np.random.default_rng(3).normal(size=(25, 3))
    kernel = qpsvm.kernels.Polynomial(0.5, 2, 1.0)
    new = np.random.default_rng(4).normal(size=(9, 3))
    proofs = []
    for samples, given in ((X, kernel), (kernel(X, X), "precomputed")):
        problem = getattr(qpsvm.DataDescription(0.2), form)(samples, kernel=given)
        solution = qpsvm.solve(problem, eps=1e-10)
        proofs.append(qpsvm.certify(problem, solution, rigorous=rigorous))
    function, matrix = proofs
    np.testing.assert_array_equal(matrix.screening.status, function.screening.status)
    assert matrix.screening.count("zero") + matrix.screening.count("bound") > 20
    np.testing.assert_allclose(matrix.intercept_bounds, function.intercept_bounds, atol=1e-4)
    assert matrix.to_dict()["rigorous"] == rigorous
    K, squares = kernel(new, X), kernel.diagonal(new)
    bounds = matrix.decision_bounds(K, squares=squares)
    exact = function.solution.decision_function(new)
    assert ((bounds.lower <= exact + 1e-9) & (exact - 1e-9 <= bounds.upper)).all()
    found = matrix.predict_certified(K, squares=squares)
    assert found.decided.any()
    np.testing.assert_array_equal(found.labels, function.solution.predict(new))
