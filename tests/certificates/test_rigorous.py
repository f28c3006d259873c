"""Rigorous bounds hold in exact arithmetic: thousands of machines beside rational numbers."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm
from benchmarks.soundness.rational import ZERO, dot, exact, gram
from qpsvm import kernels
from qpsvm.certificates.rigorous import decision_enclosure, enclose, feature_norms
from qpsvm.certificates.rigorous.feasible import feasible_ball, move_bounds
from qpsvm.certificates.rigorous.kernels import (
    larger,
    required,
    smaller,
    squares,
    upper_bound_error,
)
from qpsvm.certificates.rigorous.objectives import constraints_hold, one_sided_loss
from qpsvm.constraints import LinearConstraints
from qpsvm.exceptions import InvalidParameterError
from qpsvm.kernels.errors import entry_errors
from qpsvm.machines import Interval
from qpsvm.numerics.balls import (
    Ball,
    gamma,
    product,
    row_squares,
    sum_lower,
    sum_upper,
    transposed_product,
)
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.sample_gram import SampleGram
from tests.certificates.textbook import (
    FAMILIES,
    KERNELS,
    SAMPLES,
    class_options,
    class_prices,
    drawn,
    instance,
)
from tests.strategies import in_full, listed
from tests.tolerances import ENCLOSED

ANY = [*FAMILIES, "L1 norm", "Crammer-Singer"]

# --- both objectives ------------------------------------------------------------------------------


def cases(name):
    """(samples, kernel, with constraints, how many machines)."""
    for samples in SAMPLES:
        if samples == "tiny":  # numbers of a thousand bits
            yield samples, "linear", False, 3
        else:
            yield samples, "linear", False, 30
            yield samples, "polynomial", False, 15
    yield "plain", "precomputed", False, 30
    if name in FAMILIES:
        for samples in ("plain", "short", "columns", "repeated"):
            yield samples, "linear", True, 12


@in_full
@pytest.mark.parametrize("name", ANY)
def test_bounds_hold_beside_the_exact_optimum(name, share):
    rng = np.random.default_rng(ANY.index(name))
    seen = bounded = feasible = 0
    for samples, kernel, rules, count in cases(name):
        for _ in range(math.ceil(share * count)):
            machine = instance(rng, name, samples, kernel, rules=rules)
            if machine is None:  # classes that cannot be separated
                continue
            for size in (0.0, 10.0 ** rng.uniform(-16, 0)):
                solution = machine.near(rng, size)
                bounds = enclose(machine.problem.model, solution)
                cost = machine.cost(solution)  # infinite where a rule is broken
                assert bounds.primal_upper >= cost, (samples, kernel, rules, size)
                assert bounds.dual_lower <= machine.optimum.value, (samples, kernel, rules, size)
                if bounds.gap_upper < math.inf:
                    assert Fraction(bounds.gap_upper) >= cost - machine.optimum.value
                seen += 1
                bounded += bounds.dual_lower > -math.inf
                feasible += cost == math.inf or bounds.primal_upper < math.inf
    assert seen >= 450 * share
    # and they say something; a hard margin of tiny samples has weights beyond the range
    assert bounded >= 0.96 * seen
    assert feasible >= 0.9 * seen


@listed("count", [5, 15], quick=1)
@pytest.mark.parametrize("name", ANY)
def test_bounds_hold_for_a_kernel_that_is_no_rational_number(name, count):
    rng = np.random.default_rng(100 + ANY.index(name))
    for _ in range(count):
        machine = instance(rng, name, "plain", "rbf")
        if machine is None:
            continue
        rounding = abs(machine.optimum.value) / 10**40  # the oracle's exp has 60 digits
        for size in (0.0, 10.0 ** rng.uniform(-16, 0)):
            solution = machine.near(rng, size)
            bounds = enclose(machine.problem.model, solution)
            assert bounds.primal_upper >= machine.cost(solution) - rounding
            assert bounds.dual_lower <= machine.optimum.value + rounding


@listed("each", [1, 4], quick=1)
@pytest.mark.parametrize("name", FAMILIES)
def test_at_the_optimum_bounds_are_a_few_roundings_apart(name, each):
    rng = np.random.default_rng(200)
    for kernel in (*KERNELS, "rbf"):
        for samples in ("plain", "short"):
            for _ in range(each):
                machine = instance(rng, name, samples, kernel)
                if machine is None:
                    continue
                solution = machine.near(rng, 0.0)
                bounds = enclose(machine.problem.model, solution)
                gap = bounds.objective_upper - bounds.dual_lower
                size = terms(machine.problem.model, solution)
                assert gap <= ENCLOSED * size + 1e-290


def terms(model, solution):
    """The sizes of what the objectives are sums of, which may cancel."""
    c, K = model.conditions, np.abs(model.gram.to_dense())
    if solution.coef is not None:
        scores = np.abs(model.data.X) @ np.abs(solution.coef)
    else:
        scores = K @ np.abs(solution.expansion)
    rows = abs(c.rows) @ (scores + abs(solution.intercept)) + np.abs(c.required) + solution.width
    box = np.maximum(np.abs(c.lower), c.upper)
    v = model.violations(model.decision_values(solution).scores, solution.intercept, solution.width)
    # what is just met costs the rounding of its terms
    pays = np.isfinite(box) & ((solution.alpha != 0.0) | (v >= -ENCLOSED * rows))
    steepest = np.where(pays, box, np.abs(solution.alpha))
    beta = abs(c.rows).T @ np.abs(solution.alpha)
    return float(steepest @ rows + beta @ K @ beta)


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_bounds_agree_with_the_floating_point_certificate(kernel, is_sparse):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(700, 4)) * (rng.random((700, 4)) < 0.7)  # more than one chunk of a sum
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=700) > 0.0, 1, -1)
    data = sp.csr_array(X) if is_sparse else X
    for family in (qpsvm.SoftMargin(2.0), qpsvm.SoftMargin(2.0, loss="squared_hinge")):
        problem = family.dual(data, y, kernel=kernel)
        solution = qpsvm.solve(problem, eps=1e-10)
        proof = qpsvm.certify(problem, solution)
        near = ENCLOSED * terms(problem.model, solution)  # which keeps K
        for model in (problem.model, family.dual(data, y, kernel=kernel).model):
            bounds = enclose(model, solution)
            assert 0.0 <= bounds.primal_upper - proof.primal_objective <= near
            assert 0.0 <= proof.dual_objective - bounds.dual_lower <= near


def test_a_linear_machine_may_be_known_by_its_coefficients_alone():
    rng = np.random.default_rng(4)
    for name in FAMILIES:
        machine = None
        while machine is None:
            machine = instance(rng, name, "plain", "linear")
        solution = machine.near(rng, 0.0)
        beta = np.array([float(value) for value in machine.optimum.beta])
        solution = solution.replace(coef=None, expansion=beta)
        bounds = enclose(machine.problem.model, solution)
        assert machine.cost(solution) <= bounds.primal_upper
        assert bounds.primal_upper < math.inf


def test_the_margin_of_a_hard_margin_is_bounded_from_below():
    rng = np.random.default_rng(20)
    for _ in range(40):
        machine = instance(rng, "hard margin", "plain", "linear")
        if machine is None:
            continue
        solution = machine.near(rng, 10.0 ** rng.uniform(-16, -1))
        data, b = machine.problem.data, Fraction(solution.intercept)
        scores = [dot(x, exact(solution.coef)) for x in exact(data.X)]
        margins = [s * (g + b) for s, g in zip(exact(data.signs), scores, strict=True)]
        smallest = min(1, *margins)
        margin = enclose(machine.problem.model, solution).margin
        if smallest > 0:
            assert smallest - Fraction(ENCLOSED) * 10 <= Fraction(margin) <= smallest
        else:
            assert margin == 0.0


def test_a_matrix_with_a_negative_diagonal_bounds_nothing():
    problem = qpsvm.SoftMargin(1.0).dual(np.eye(3), [1, -1, 1], kernel="precomputed")
    solution, model = qpsvm.solve(problem), problem.model
    assert enclose(model, solution).gap_upper < 1e-6
    other = KernelQuadratic(SampleGram.of_matrix(np.diag([1.0, 1.0, -1.0])))
    assert enclose(replace(model, gram=other), solution).dual_lower == -math.inf


# --- what fails closed ----------------------------------------------------------------------------


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("kernel", ["linear", "polynomial"])
@pytest.mark.parametrize("name", ANY)
def test_nan_and_infinity_give_no_bound(name, kernel, value):
    rng = np.random.default_rng(5)
    machine = None
    while machine is None:
        machine = instance(rng, name, "plain", kernel)
    model, solution = machine.problem.model, machine.near(rng, 0.0)

    def poisoned(array):
        broken = np.array(array, dtype=float)
        broken.flat[0] = value
        return broken

    weights = "expansion" if solution.coef is None else "coef"
    for field in (
        weights,
        "intercept",
        "alpha",
        *(["width"] if hasattr(solution, "width") else []),
    ):
        whole = getattr(solution, field)
        changed = value if np.ndim(whole) == 0 else poisoned(whole)
        bounds = enclose(model, solution.replace(**{field: changed}))
        if field == "alpha":
            assert not bounds.dual_lower > machine.optimum.value  # an infinite one is clipped
            if math.isnan(value):
                assert bounds.dual_lower == -math.inf
        else:
            assert bounds.primal_upper == math.inf
        if field != "alpha" or math.isnan(value):
            assert bounds.gap_upper == math.inf


def test_an_intercept_or_width_the_program_does_not_have_is_no_machine():
    problem = qpsvm.SoftMargin(1.0, "none").dual([[0.0], [2.0]], [-1, 1])
    solution = qpsvm.solve(problem)
    assert enclose(problem.model, solution).primal_upper < math.inf
    for change in ({"intercept": 1e-300}, {"width": 1e-300}):
        assert enclose(problem.model, solution.replace(**change)).primal_upper == math.inf


def test_a_box_without_room_gives_no_lower_bound():
    # nu = 1 leaves one dual point, alpha = 1/3 for all; float64 has no such number
    problem = qpsvm.OneClass(nu=1.0).dual([[1.0], [2.0], [4.0]])
    assert enclose(problem.model, qpsvm.solve(problem)).dual_lower == -math.inf


def test_samples_beyond_the_range_give_no_bound():
    X = np.array([[1e150, 1.0], [-1e150, 2.0]])
    problem = qpsvm.SoftMargin(1.0).dual(X, [-1, 1])
    best = qpsvm.SoftMargin(1.0).dual(np.eye(2), [-1, 1]).recover
    solution = best(qpsvm.qp.QPSolution(qpsvm.qp.Status.UNKNOWN, x=np.ones(2)))
    solution = solution.replace(data=problem.data, coef=np.array([1e200, 0.0]))
    assert enclose(problem.model, solution).gap_upper == math.inf


# --- constraints ----------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [np.array, sp.csr_array])
def test_a_constraint_holds_or_not_to_the_last_bit(make):
    point = np.array([0.1, 0.2, 0.0])  # their sum, exactly, lies between 0.3 and the next float64
    assert Fraction(0.1) + Fraction(0.2) > Fraction(0.3)
    above = math.nextafter(0.3, 1.0)
    row = make(np.array([[1.0, 1.0, 0.0]]))
    assert not constraints_hold(LinearConstraints(G=row, h=[0.3]), point)
    assert constraints_hold(LinearConstraints(G=row, h=[above]), point)
    difference = make(np.array([[2.0, -1.0, 1.0]]))  # 2 x 0.1 and 0.2 are the same float64
    assert constraints_hold(LinearConstraints(A=difference, b=[0.0]), point)
    assert not constraints_hold(LinearConstraints(A=difference, b=[5e-324]), point)
    assert not constraints_hold(LinearConstraints(G=row, h=[above]), np.full(3, math.nan))


# --- decision values ------------------------------------------------------------------------------

FUNCTIONS = {
    "linear": ({}, kernels.Linear()),
    "polynomial": ({"gamma": 0.7, "p": 3, "c": 0.3}, kernels.Polynomial(0.7, 3, 0.3)),
    "rbf": ({"gamma": 0.8}, kernels.RBF(0.8)),
    "sigmoid": ({"gamma": 0.2, "c": -0.4}, kernels.Sigmoid(0.2, -0.4)),
}


@pytest.mark.parametrize("samples", ["plain", "columns", "rows", "offset", "repeated"])
@pytest.mark.parametrize("kernel", FUNCTIONS)
def test_kernel_values_are_within_their_errors(kernel, samples):
    parameters, function = FUNCTIONS[kernel]
    rng = np.random.default_rng(7)
    for _ in range(6):
        X, Z = SAMPLES[samples](rng, 3, 3), SAMPLES[samples](rng, 4, 3)
        for left, right in ((X, Z), (sp.csr_array(X), sp.csr_array(Z)), (X, X)):
            with np.errstate(all="ignore"):
                errors = entry_errors(function, left, right)
                block = function(left, right)
                growth = np.multiply.outer(1.0 + errors.rows, 1.0 + errors.columns) - 1.0
                allowed = growth * np.abs(block) + np.multiply.outer(errors.left, errors.right)
            other = X if right is X else Z
            truth = gram(kernel, exact(X), exact(other), **parameters)
            for i, row in enumerate(truth):
                for j, value in enumerate(row):
                    if math.isfinite(allowed[i, j]):
                        off = abs(Fraction(block[i, j]) - value)
                        assert off <= Fraction(allowed[i, j] * 1.001) + Fraction(2.0**-900)


@pytest.mark.parametrize("samples", ["plain", "columns", "offset", "repeated"])
@pytest.mark.parametrize("kernel", FUNCTIONS)
def test_decision_values_are_within_their_errors(kernel, samples):
    parameters, function = FUNCTIONS[kernel]
    rng = np.random.default_rng(8)
    for number in range(8):
        X, new = SAMPLES[samples](rng, 4, 2), SAMPLES[samples](rng, 3, 2)
        if kernel == "sigmoid":
            solution = indefinite_machine(rng, X, function)
        else:
            solution = any_machine(rng, X, function, number)
        values, errors = decision_enclosure(solution, new)
        K = gram(kernel, exact(new), exact(X), **parameters)
        for i, row in enumerate(K):
            if solution.coef is not None:
                truth = dot(exact(new[i]), exact(solution.coef))
            else:
                truth = dot(row, exact_coefficients(solution))
            truth += Fraction(solution.intercept)
            if solution.conditions.minus_self_similarity:
                truth -= gram(kernel, exact(new[i : i + 1]), exact(new[i : i + 1]), **parameters)[
                    0
                ][0]
            if math.isfinite(errors[i]):
                assert abs(truth - Fraction(values[i])) <= Fraction(errors[i])
        if samples == "plain":
            size = np.abs(exact_sizes(K, solution)) + abs(solution.intercept) + 1.0
            assert (errors <= ENCLOSED * size).all()


def any_machine(rng, X, function, number):
    """A machine with coefficients of any size, now and then of a family with k(x, x) in it."""
    family = qpsvm.DataDescription(2.0) if number % 2 else qpsvm.OneClass(0.5)
    problem = family.dual(X, kernel=function)
    start = problem.recover(qpsvm.qp.QPSolution(qpsvm.qp.Status.UNKNOWN, x=np.full(4, 0.25)))
    changes = {"expansion": rng.normal(size=4) * 10.0 ** rng.uniform(-3, 3)}
    if start.coef is not None:
        changes["coef"] = rng.normal(size=2)
    return start.replace(**changes, intercept=float(rng.normal()))


def indefinite_machine(rng, X, function):
    policy = str(rng.choice(["clip", "flip", "shift"]))
    problem = qpsvm.OneClass(0.5).dual(X, kernel=function, indefinite=policy)
    start = problem.recover(qpsvm.qp.QPSolution(qpsvm.qp.Status.UNKNOWN, x=np.full(4, 0.25)))
    return start.replace(expansion=rng.normal(size=4), intercept=float(rng.normal()))


def exact_coefficients(solution):
    """``beta - factor V V'beta`` for a repaired kernel."""
    beta = exact(solution.expansion)
    if solution.repair is None:
        return beta
    factor = {"clip": 1, "flip": 2, "shift": 0}[solution.repair.policy]
    for vector in exact(solution.repair.negative_vectors.T):
        along = dot(vector, exact(solution.expansion))
        beta = [b - factor * along * v for b, v in zip(beta, vector, strict=True)]
    return beta


def exact_sizes(K, solution):
    weights = solution.expansion if solution.coef is None else np.zeros(len(K[0]))
    return np.abs(np.array([[float(value) for value in row] for row in K])) @ np.abs(weights)


def test_decision_values_of_several_classes_and_of_precomputed_kernels():
    rng = np.random.default_rng(9)
    X, new = rng.normal(size=(6, 2)), rng.normal(size=(4, 2))
    for kernel in ("linear", "polynomial"):
        parameters, function = FUNCTIONS[kernel]
        problem = qpsvm.CrammerSinger(1.0, "penalized").dual(X, [0, 1, 2] * 2, kernel=function)
        solution = qpsvm.solve(problem)
        values, errors = decision_enclosure(solution, new)
        assert values.shape == errors.shape == (4, 3)
        K = gram(kernel, exact(new), exact(X), **parameters)
        for i, m in np.ndindex(4, 3):
            if solution.coef is not None:
                truth = dot(exact(new[i]), exact(solution.coef[m]))
            else:
                truth = dot(K[i], exact(solution.expansion[:, m]))
            assert (
                abs(truth + Fraction(solution.intercept[m]) - Fraction(values[i, m]))
                <= errors[i, m]
            )
    K = X @ X.T
    problem = qpsvm.OneClass(0.5).dual(K, kernel="precomputed")
    solution = qpsvm.solve(problem)
    rows = new @ X.T
    values, errors = decision_enclosure(solution, rows)
    for i in range(4):
        truth = dot(exact(rows[i]), exact(solution.expansion)) + Fraction(solution.intercept)
        assert abs(truth - Fraction(values[i])) <= errors[i]


def test_nothing_is_known_of_decision_values_that_are_not_numbers():
    problem = qpsvm.SoftMargin(1.0).dual([[0.0], [2.0]], [-1, 1])
    solution = qpsvm.solve(problem)
    for broken in (
        solution.replace(coef=np.array([math.nan])),
        solution.replace(intercept=math.inf),
    ):
        values, errors = decision_enclosure(broken, [[1.0]])
        assert (values == 0.0).all()
        assert (errors == math.inf).all()


@pytest.mark.parametrize("samples", ["plain", "columns", "offset"])
@pytest.mark.parametrize("kernel", ["linear", "polynomial", "rbf"])
def test_norms_in_feature_space_are_bounded_from_above(kernel, samples):
    parameters, function = FUNCTIONS[kernel]
    rng = np.random.default_rng(10)
    X = SAMPLES[samples](rng, 5, 3)
    norms, ball = feature_norms(function, X), squares(function, X)
    for i in range(5):
        row = exact(X[i : i + 1])
        truth = gram(kernel, row, row, **parameters)[0][0]
        assert Fraction(norms[i]) ** 2 >= truth
        assert Fraction(norms[i]) ** 2 <= truth * (1 + Fraction(ENCLOSED))
        assert abs(truth - Fraction(ball.mid[i])) <= Fraction(ball.rad[i])


@pytest.mark.parametrize("make", [np.array, sp.csr_array])
def test_distances_from_a_centre(make):
    rng = np.random.default_rng(11)
    X, centre = 1e8 + rng.normal(size=(4, 3)), 1e8 + rng.normal(size=3)
    norms = feature_norms(kernels.Linear(), make(X), centre)
    for x, norm in zip(exact(X), norms, strict=True):
        truth = sum((a - c) ** 2 for a, c in zip(x, exact(centre), strict=True))
        assert truth <= Fraction(norm) ** 2 <= truth * (1 + Fraction(ENCLOSED))
    with pytest.raises(InvalidParameterError, match="centre"):
        feature_norms(kernels.RBF(1.0), X, centre)
    assert (feature_norms(kernels.Precomputed(), X) == math.inf).all()


# --- the pieces -----------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [np.array, sp.csr_array])
def test_products_of_balls_contain_every_product_of_their_points(make):
    rng = np.random.default_rng(12)
    for m, n in ((3, 2), (5, 300)):  # with and without chunks
        A = rng.normal(size=(m, n)) * 10.0 ** rng.uniform(-8, 8, (m, n))
        mid, rad = rng.normal(size=n), np.where(rng.random(n) < 0.5, 0.0, 1e-9)
        point = exact(mid)
        point = [
            x + Fraction(r) * Fraction(rng.uniform(-1, 1)) for x, r in zip(point, rad, strict=True)
        ]
        for ball, matrix in (
            (product(make(A), Ball(mid, rad)), A),
            (transposed_product(make(np.ascontiguousarray(A.T)), Ball(mid, rad)), A),
        ):
            for row, value, error in zip(exact(matrix), ball.mid, ball.rad, strict=True):
                assert abs(dot(row, point) - Fraction(value)) <= Fraction(error)
        for row, value, error in zip(exact(A), *vars(row_squares(make(A))).values(), strict=True):
            assert abs(dot(row, row) - Fraction(value)) <= Fraction(error)


def test_sums_differences_and_products_of_balls():
    rng = np.random.default_rng(13)
    for _ in range(200):
        a, b = (rng.normal() * 10.0 ** rng.uniform(-170, 150) for _ in range(2))
        ra, rb = (abs(x) * rng.choice([0.0, 1e-16, 1e-3]) for x in (a, b))
        x, y = Ball(a, ra), Ball(b, rb)
        signs = rng.choice([-1, 0, 1], 2).tolist()
        p, q = Fraction(a) + signs[0] * Fraction(ra), Fraction(b) + signs[1] * Fraction(rb)
        for ball, truth in ((x + y, p + q), (x - y, p - q), (x * y, p * q), (-x, -p)):
            assert Fraction(float(ball.lower)) <= truth <= Fraction(float(ball.upper))
            assert abs(truth) <= Fraction(float(ball.magnitude))
    assert gamma(2**53) == math.inf


def test_sums_are_bounded_by_the_neighbouring_numbers():
    rng = np.random.default_rng(14)
    for _ in range(50):
        values = rng.normal(size=20) * 10.0 ** rng.uniform(-20, 20, 20)
        truth = sum(exact(values), start=ZERO)
        low, high = sum_lower(values), sum_upper(values)
        assert Fraction(low) <= truth <= Fraction(high)
        assert math.nextafter(math.nextafter(low, math.inf), math.inf) >= high
    for bad in (math.nan, math.inf, -math.inf):
        assert sum_upper([1.0, bad]) == math.inf
        assert sum_lower([1.0, bad]) == -math.inf
    assert sum_upper([1.7e308, 1.7e308]) == math.inf


def test_what_is_shared_out_suffices_and_stays_in_the_box():
    rng = np.random.default_rng(15)
    refused = 0
    for _ in range(1500):
        n = int(rng.integers(1, 6))
        upper = np.where(rng.random(n) < 0.2, np.inf, 10.0 ** rng.uniform(-18, 3, n))
        lower = -upper * rng.integers(0, 2, n) if np.isfinite(upper).all() else np.zeros(n)
        a = lower + np.minimum(upper - lower, 2.0) * rng.choice([0.0, 1.0, rng.random()], n)
        a, signs = np.clip(a, lower, upper), rng.choice([-1.0, 0.0, 1.0], n)
        total = float(signs @ a) + rng.choice([0.0, 1.0, -1.0]) * 10.0 ** rng.uniform(-20, 1)
        width = rng.choice([0.0, 10.0 ** rng.uniform(-20, -10)])
        shares = move_bounds(a, signs, lower, upper, Interval(total - width, total + width))
        if shares is None:
            refused += 1
            continue
        for goal in (total - width, total + width):
            missing = Fraction(goal) - dot(exact(signs), exact(a))
            reach = ZERO
            for x, s, low, high, share in zip(a, signs, lower, upper, shares, strict=True):
                up = (missing > 0) == (s > 0)
                end = high if up else low
                room = abs(Fraction(end) - Fraction(x)) if math.isfinite(end) else Fraction(share)
                reach += min(Fraction(share), room) * bool(s)
            assert reach >= abs(missing)
    assert 100 < refused < 1300


@pytest.mark.parametrize("samples", ["plain", "columns"])
def test_dual_points_are_feasible_somewhere_in_their_ball(samples):
    # soft margin: every exactly feasible point in ball and box would do; there must be one
    rng = np.random.default_rng(16)
    for _ in range(100):
        data = drawn(rng, samples, "linear", 5)
        family = qpsvm.SoftMargin(data.price())
        problem = family.dual(data.X, data.signs(), sample_weight=data.weights)
        model, signs = problem.model, exact(problem.data.signs)
        point = model.feasible_dual(rng.normal(size=data.n) * family.C)
        found = feasible_ball(model, point)
        box = [Fraction(family.C) * w for w in data.u]
        ends = [
            (max(ZERO, Fraction(x) - Fraction(r)), min(C, Fraction(x) + Fraction(r)))
            for x, r, C in zip(found.alpha.mid, found.alpha.rad, box, strict=True)
        ]
        assert all(low <= high for low, high in ends)
        lowest = sum(
            s * (low if s > 0 else high) for s, (low, high) in zip(signs, ends, strict=True)
        )
        highest = sum(
            s * (high if s > 0 else low) for s, (low, high) in zip(signs, ends, strict=True)
        )
        assert lowest <= 0 <= highest


def test_losses_are_bounded_from_above():
    rng = np.random.default_rng(19)
    for _ in range(500):
        v, d, bound = 10.0 ** rng.uniform([-160, -150, -150], [100, 150, 150])
        d, bound = d * rng.integers(2), rng.choice([0.0, bound, math.inf if d else bound])
        bound = float(bound) if d or math.isfinite(bound) else 1.0
        with np.errstate(all="ignore"):
            upper = float(one_sided_loss(*(np.array([number]) for number in (v, bound, d)))[0])
        # max { a v - d/2 a^2 : 0 <= a <= bound } is at a = v/d, or at the bound
        a = Fraction(v) / Fraction(d) if d else None
        if a is None or (math.isfinite(bound) and a > Fraction(bound)):
            a = Fraction(bound)
        truth = a * Fraction(v) - Fraction(d) / 2 * a * a
        if math.isfinite(upper):
            assert truth <= Fraction(upper) <= truth * (1 + Fraction(ENCLOSED)) + Fraction(1e-300)


def test_prices_are_within_their_error():
    rng = np.random.default_rng(17)
    wrong = 0
    for _ in range(300):
        data = drawn(rng, "plain", "linear", 6)
        y = data.signs()
        squared = data.flag()
        loss = "squared_hinge" if squared else "hinge"
        family = qpsvm.SoftMargin(data.price(), loss=loss, **class_options(data))
        c = family.dual(data.X, y, sample_weight=data.weights).model.conditions
        error = upper_bound_error(np.ones(1) if data.weights is None else data.weights, data.n)
        stored = c.curvature if squared else c.upper
        for value, C in zip(
            stored, class_prices(family, data, y, family.average_loss), strict=True
        ):
            truth = 1 / (2 * C) if squared else C
            assert abs(truth - Fraction(value)) <= Fraction(error) * Fraction(value)
            assert Fraction(smaller(value, error)) <= truth <= Fraction(float(larger(value, error)))
            wrong += truth != Fraction(value)
    assert wrong > 100  # there was something to bound
    assert upper_bound_error(np.array([2.0, 3.0]), 2) < upper_bound_error(np.array([0.2, 0.3]), 2)


def test_what_is_required_is_within_its_error():
    rng = np.random.default_rng(18)
    wrong = 0
    for _ in range(100):
        t, epsilon = rng.normal(size=3) * 10.0 ** rng.uniform(-5, 5), float(rng.random())
        X = rng.normal(size=(3, 2)) * 1e4
        p = required(qpsvm.EpsilonRegression(1.0, epsilon).dual(X, t).model)
        truth = [side * Fraction(a) - Fraction(epsilon) for side in (1, -1) for a in t]
        ball = required(qpsvm.DataDescription(1.0).dual(X).model)
        truth += [dot(x, x) for x in exact(X)]
        mid, rad = (
            np.concatenate([getattr(b, part) for b in (p, ball)]) for part in ("mid", "rad")
        )
        for value, error, exactly in zip(mid, rad, truth, strict=True):
            assert abs(exactly - Fraction(value)) <= Fraction(error)
            wrong += exactly != Fraction(value)
    assert wrong > 100
