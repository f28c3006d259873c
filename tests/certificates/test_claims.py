"""What certificates say of the optimum is true of it, in rational numbers.

For the program of the parameters and for that of the prices as they are rounded: see ``claims``.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import qpsvm
from benchmarks.soundness.rational import ZERO, dot, exact, gram
from qpsvm import kernels
from qpsvm.certificates.rigorous.feasible import feasible_ball
from qpsvm.certificates.rigorous.kernels import upper_bound_error
from qpsvm.certificates.screening import STATUSES, _entry_rounding
from qpsvm.exceptions import InvalidDataError, QPSVMError
from qpsvm.formulations.parameters import per_sample_C
from qpsvm.machines.intercept import enclosing_intercepts, optimal_intercepts
from qpsvm.machines.upper_bounds import scaled_product
from qpsvm.qp import QPSolution, Status
from tests.certificates.claims import (
    count_claims,
    false_claims,
    gap_is_missed,
    readings,
    rounded,
    solutions,
)
from tests.certificates.textbook import FAMILIES, class_options, class_prices, drawn, of_data
from tests.strategies import in_full, listed

# --- random problems ------------------------------------------------------------------------------


@in_full
@pytest.mark.parametrize("scales", ["prices", "underflow"])
@pytest.mark.parametrize("name", FAMILIES)
def test_no_claim_is_false_in_either_reading(name, scales, share):
    rng = np.random.default_rng([list(FAMILIES).index(name), len(scales)])
    claims = problems = 0
    while problems < 8 * share:
        kernel = str(rng.choice(["linear", "polynomial"]))
        with np.errstate(all="ignore"):
            try:
                machine = of_data(name, rounded(rng, kernel, FAMILIES[name][1], scales))
            except QPSVMError:  # beyond the range of double precision
                continue
            if machine is None:  # classes that cannot be separated
                continue
            problems += 1
            claims += held_against_the_truth(machine, rng)
    assert claims > 50 * share  # and something is claimed


def held_against_the_truth(machine, rng):
    """Every certificate of machines near either optimum; how much they claim."""
    claims, truths = 0, list(readings(machine))
    size = 10.0 ** rng.uniform(-16, 0)
    for near in truths:
        for solution in (*solutions(machine, near, rng, 0.0), *solutions(machine, near, rng, size)):
            for rigorous in (False, True):
                proof = qpsvm.certify(machine.problem, solution, rigorous=rigorous)
                claims += count_claims(proof)
                for truth in truths:
                    wrong = list(false_claims(truth, machine, solution, proof))
                    assert not wrong, (truth.name, rigorous, wrong)
                    if rigorous:
                        assert not gap_is_missed(truth, solution, machine, proof)
    return claims


# --- an intercept that is the only one, or not ----------------------------------------------------


def certificates(problem, alpha):
    """Of the machine that belongs to dual variables."""
    alpha = np.array(alpha, dtype=float)
    expansion = problem.model.expansion(alpha)
    solution = problem.model.recovered(
        QPSolution(Status.UNKNOWN), alpha, expansion=expansion, coef=problem.model.coef(expansion)
    ).solution
    return [qpsvm.certify(problem, solution, rigorous=rigorous) for rigorous in (False, True)]


LINE, LABELS = [[-2.0], [0.0], [1.0], [2.0]], [1, -1, 1, 1]


def test_three_thirds_are_a_whole_in_double_precision_only():
    # the prices add up to zero as they are rounded; three times the float64 1/3 is less than 1
    C, weights = 3.0 / 1024.0, np.array([1 / 3, 1.0, 1 / 3, 1 / 3])
    problem = qpsvm.SoftMargin(C).dual(LINE, LABELS, sample_weight=weights)
    stored = problem.model.conditions.upper
    assert math.fsum(stored * LABELS) == 0.0
    assert dot(exact(weights), exact(LABELS)) != 0
    for proof in certificates(problem, stored):
        assert proof.intercept_is_unique is None
    # and a quarter, a quarter and a half are one in rational numbers, too
    weights = np.array([0.25, 1.0, 0.25, 0.5])
    problem = qpsvm.SoftMargin(C).dual(LINE, LABELS, sample_weight=weights)
    for proof in certificates(problem, problem.model.conditions.upper):
        assert proof.intercept_is_unique is False


def test_class_weights_that_round_to_one_price_are_two():
    low, high = math.nextafter(2.0, 0.0) - 2.0**-52, math.nextafter(2.0, 0.0)
    C = 1.1 / 1024.0
    assert C * low == C * high
    X, y = [[-2.0], [-1.0], [1.0], [2.0]], [1, -1, 1, -1]
    for weights, answer in (({-1: low, 1: high}, None), ({-1: low, 1: low}, False)):
        problem = qpsvm.SoftMargin(C, class_weight=weights).dual(X, y)
        for proof in certificates(problem, problem.model.conditions.upper):
            assert proof.intercept_is_unique is answer
            if answer is False:
                assert proof.screening.count("bound") == 4


@pytest.mark.parametrize("tenths", range(1, 10))
def test_no_share_of_ten_samples_is_whole_unless_it_is(tenths):
    # 1/(nu n) is rounded: 0.1 x 10 is above 1, and the one sample at its bound does not suffice
    nu, n = tenths / 10, 10
    problem = qpsvm.OneClass(nu).dual([[float(i * i + 1)] for i in range(n)])
    price = problem.model.conditions.upper[0]
    alpha = np.zeros(n)
    alpha[:tenths] = price
    is_whole = Fraction(nu) * n == tenths and Fraction(price) * tenths == 1
    for proof in certificates(problem, alpha):
        assert proof.intercept_is_unique is (False if is_whole else None)
    assert not is_whole  # of these only 0.5 is a float64, and 5 times the float64 0.2 is above 1
    eight = qpsvm.OneClass(0.5).dual([[float(i * i + 1)] for i in range(8)])
    for proof in certificates(eight, [0.25] * 4 + [0.0] * 4):
        assert proof.intercept_is_unique is False


def test_free_samples_of_one_class_do_not_fix_what_a_width_can_make_up_for():
    # nu/2 is the price of one sample: the negative class has none inside its box
    X = np.hstack([[[2.0, 0.5], [2.0, -0.5], [-1.0, 0.0], [-3.0, 0.0]], 0.5 * np.eye(4)])
    problem = qpsvm.NuClassification(0.5).dual(X, [1, 1, -1, -1])
    model, alpha = problem.model, np.array([0.125, 0.125, 0.25, 0.0])
    expansion = model.expansion(alpha)
    draft = model.recovered(
        QPSolution(Status.UNKNOWN), alpha, expansion=expansion, coef=model.coef(expansion)
    ).solution
    objectives = set()
    interval, _ = model.best_offsets(model.decision_values(draft).scores, 0.0)
    assert interval.upper - interval.lower > 0.5
    for b in interval:
        scores = model.decision_values(draft).scores
        width = float(scores[0] + b)  # the positive class stays on its margin
        solution = draft.replace(intercept=b, width=width)
        for rigorous in (False, True):
            proof = qpsvm.certify(problem, solution, rigorous=rigorous)
            assert proof.screening.count("free") == 2
            assert proof.intercept_is_unique is None
            objectives.add(proof.primal_objective)
    assert len(objectives) == 1


def test_slopes_of_the_parameters_are_added_up_without_rounding():
    rng = np.random.default_rng(1)
    for _ in range(60):
        data = drawn(rng, "plain", "linear", 6)
        y = data.signs()
        family = qpsvm.SoftMargin(data.price(), **class_options(data))
        c = family.dual(data.X, y, sample_weight=data.weights).model.conditions
        violated = rng.random(data.n) < 0.7
        C = class_prices(family, data, y, family.average_loss)
        truth = sum((s * p for s, p, over in zip(y, C, violated, strict=True) if over), start=ZERO)
        assert c.exact_upper.sum_of_slopes(c.signs, violated) == truth
    tau, weights = 0.3, [0.1, 0.7]
    quantile = qpsvm.QuantileRegression(tau, 0.9, average_loss=True)
    c = quantile.dual([[1.0], [2.0]], [0.0, 1.0], sample_weight=weights).model.conditions
    share = Fraction(0.9) / sum(exact(weights))
    above, below = Fraction(tau) * Fraction(0.1), (Fraction(tau) - 1) * Fraction(0.7)
    found = c.exact_upper.sum_of_slopes(c.signs, np.array([True, False]))
    assert found == share * (above + below)


@pytest.mark.parametrize("kind", ["steps", "ramps"])
def test_minimisers_for_all_prices_in_reach_are_enclosed(kind):
    rng = np.random.default_rng(2)
    moved_out = 0
    for _ in range(200):
        n = int(rng.integers(2, 7))
        t = rng.integers(-4, 5, n) * 1.0
        lower, upper = -rng.integers(0, 3, n) * 1.0, rng.integers(0, 3, n) * 1.0
        lower[0], upper[1] = -1.0, 1.0
        d = np.zeros(n) if kind == "steps" else rng.uniform(0.1, 2.0, n)
        error = 10.0 ** rng.uniform(-12, -3)
        price = float(rng.integers(-1, 2)) + 0.5 * error * rng.uniform(-1, 1)
        if not lower.sum() < price < upper.sum():
            continue
        whole = enclosing_intercepts(t, np.zeros(n), lower, upper, d, price, error)
        alone = enclosing_intercepts(t, np.zeros(n), lower, upper, d, price)
        for _ in range(5):
            low, high, bent = (x * (1.0 + error * rng.uniform(-1, 1, n)) for x in (lower, upper, d))
            best = optimal_intercepts(t, low, high, bent, price)
            assert whole.lower <= best.lower
            assert best.upper <= whole.upper
            moved_out += not (alone.lower <= best.lower and best.upper <= alone.upper)
    assert moved_out > 10


# --- alphas that are known, and those that make up for them ---------------------------------------


def test_what_is_settled_stays_and_the_others_make_up_for_its_rounding():
    rng = np.random.default_rng(3)
    found = 0
    for _ in range(60):
        data = drawn(rng, "plain", "linear", 6)
        y = data.signs()
        family = qpsvm.SoftMargin(data.price(), **class_options(data))
        problem = family.dual(data.X, y, sample_weight=data.weights)
        model, c = problem.model, problem.model.conditions
        C = class_prices(family, data, y, family.average_loss)
        settled = rng.random(data.n) < 0.5
        at_zero = rng.random(data.n) < 0.5
        alpha = np.where(settled, np.where(at_zero, 0.0, c.upper), rng.random(data.n) * c.upper)
        point = model.feasible_dual(alpha)
        if (point.alpha != alpha)[settled].any():
            continue
        ball = feasible_ball(model, point, settled)
        if ball is None:
            continue
        found += 1
        # the exact ends are in the ball, and the others can bring the exact sum to zero
        total, room = ZERO, [ZERO, ZERO]
        for i, s in enumerate(y):
            middle, reach = Fraction(ball.alpha.mid[i]), Fraction(ball.alpha.rad[i])
            if settled[i]:
                end = ZERO if at_zero[i] else C[i]
                assert abs(end - middle) <= reach
                total += s * end
                continue
            low, high = max(ZERO, middle - reach), min(C[i], middle + reach)
            assert low <= high
            room[0] += s * (low if s > 0 else high)
            room[1] += s * (high if s > 0 else low)
        assert room[0] <= -total <= room[1]
    assert found > 15


@pytest.mark.parametrize("kernel", ["linear", "polynomial"])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_rounding_of_a_block_of_the_dual_is_within_its_bound(kernel, offset):
    rng = np.random.default_rng(4)
    function = kernels.Linear() if kernel == "linear" else kernels.Polynomial(0.5, 2, 1.0)
    parameters = {"gamma": 0.5, "p": 2, "c": 1.0} if kernel == "polynomial" else {}
    X = offset + rng.normal(size=(5, 300))
    K = gram(kernel, exact(X), exact(X), **parameters)
    for problem in (
        qpsvm.SoftMargin().dual(X, [1, -1, 1, -1, 1], kernel=function),
        qpsvm.EpsilonRegression().dual(X, [0.0, 1.0, 2.0, 3.0, 4.0], kernel=function),
        qpsvm.Ranking().dual(X, [0, 1, 1, 0, 2], kernel=function),
    ):
        model = problem.model
        U = np.arange(len(model.conditions))
        rows = exact(model.conditions.rows.toarray())
        computed = model.dual_hessian().block(U, U)
        square = ZERO
        for k, row in enumerate(rows):
            image = [dot(row, column) for column in K]
            for j, other in enumerate(rows):
                square += (Fraction(computed[k, j]) - dot(image, other)) ** 2
        assert 0 < square <= Fraction(_entry_rounding(model, U)) ** 2


# --- underflow ------------------------------------------------------------------------------------


def test_prices_keep_their_digits_where_a_part_of_the_product_underflows():
    with pytest.raises(InvalidDataError, match="range of double precision"):
        qpsvm.QuantileRegression(tau=1e-14, C=1e-308).dual([[1.0], [2.0]], [1.0, -1.0])
    with pytest.raises(InvalidDataError, match="range of double precision"):
        qpsvm.NuRegression(nu=1e-10, C=1e-300).dual([[1.0], [2.0]], [1.0, -1.0])
    X, y, weights = [[1.0], [2.0], [3.0]], [1, -1, 1], np.array([3.3, 1.7, 2.9]) * 1e-160
    for family in (
        qpsvm.SoftMargin(1.3e-160, class_weight={-1: 1.7e300, 1: 1.9e299}),
        qpsvm.SoftMargin(1.3e-160, average_loss=True),
        qpsvm.SoftMargin(1.3e-160, average_loss=True, class_weight="balanced"),
    ):
        data = family.dual(X, y, sample_weight=weights).data
        stored = family.dual(X, y, sample_weight=weights).model.conditions.upper
        factors = per_sample_C(1.0, data, class_weight=family.class_weight).class_factors
        truth = [
            Fraction(family.C) * w * f / (sum(exact(weights)) if family.average_loss else 1)
            for w, f in zip(exact(weights), exact(factors), strict=True)
        ]
        for value, C in zip(stored, truth, strict=True):
            assert abs(Fraction(value) - C) <= Fraction(upper_bound_error(weights, 3)) * C
    pairs = qpsvm.Ranking(1.3e300).dual(X, [0, 1, 2], sample_weight=weights)
    for value, (i, j) in zip(pairs.model.conditions.upper, pairs.data.pairs, strict=True):
        C = Fraction(1.3e300) * Fraction(weights[i]) * Fraction(weights[j])
        assert abs(Fraction(value) - C) <= Fraction(upper_bound_error(weights, 3)) * C


def test_ordinary_prices_are_rounded_as_ever():
    rng = np.random.default_rng(5)
    a, b, c = 10.0 ** rng.uniform(-50, 50, (3, 200))
    W = float(rng.uniform(1, 9))
    np.testing.assert_array_equal(scaled_product([a, b, c], W), a * b * c / W)
    data = qpsvm.SoftMargin().dual([[0.0], [1.0]], [-1, 1], sample_weight=[0.1, 0.7]).data
    np.testing.assert_array_equal(per_sample_C(0.3, data).rounded, 0.3 * np.array([0.1, 0.7]))


def test_nothing_follows_from_a_gap_that_underflowed():
    # |w|^2 is 1e-340: both objectives are zero in double precision, for every w of that size
    X = np.array([[1.0], [2.0], [4.0]]) * 1e-170
    problem = qpsvm.OneClass(0.5).dual(X)
    for alpha in ([2 / 3, 1 / 3, 0.0], [1 / 3, 1 / 3, 1 / 3]):
        plain, rigorous = certificates(problem, alpha)
        assert plain.gap == 0.0
        for proof in (plain, rigorous):
            assert proof.gap_upper > 0.0
            assert proof.weight_error > 1e-151
            assert [STATUSES[k] for k in proof.screening.status] == ["undecided"] * 3
            assert proof.intercept_is_unique is None


@listed("each", [4, 10], quick=1)
@pytest.mark.parametrize("kernel", ["linear", "polynomial"])
def test_statuses_of_several_classes_are_those_of_the_exact_optimum(kernel, each):
    rng = np.random.default_rng(6)
    claims = 0
    for scales in ("prices", "underflow"):
        for _ in range(each):
            with np.errstate(all="ignore"):
                try:
                    machine = of_data("Crammer-Singer", rounded(rng, kernel, 3, scales))
                except QPSVMError:
                    continue
                for size in (0.0, 10.0 ** rng.uniform(-16, -2)):
                    solution = machine.near(rng, size)
                    for rigorous in (False, True):
                        proof = qpsvm.certify(machine.problem, solution, rigorous=rigorous)
                        claims += count_claims(proof)
                        check_classes(machine, proof.screening.status)
    assert claims > 10 * each


def check_classes(machine, status):
    """tau is 0 where it is left out, and C or -C where it is at a bound."""
    model = machine.problem.model
    tau = [list(row) for row in zip(*machine.optimum.alpha, strict=True)]
    for (i, m), found in zip(np.ndindex(*model.own.shape), status, strict=True):
        if STATUSES[found] == "zero":
            assert tau[i][m] == 0
        elif STATUSES[found] == "bound":
            others = [t for k, t in enumerate(tau[i]) if k != model.data.codes[i]]
            assert abs(tau[i][m]) == -sum(others)
            if not model.own[i, m]:
                assert others.count(0) == len(others) - 1


def test_the_width_of_a_margin_is_known_where_its_square_is_not():
    problem = qpsvm.SoftMargin(1.0).dual([[1e-170], [-1e-170]], [1, -1])
    proof, _ = certificates(problem, [1.0, 1.0])
    report = qpsvm.verify(problem, proof.solution)
    assert report.summary is not None
    width = report.summary.margin_width
    assert width == pytest.approx(1e170)


def test_an_alpha_of_zero_is_not_at_a_bound_that_is_small_beside_the_others():
    problem = qpsvm.QuantileRegression(1e-9, 1.0, "none").dual([[1.0], [2.0]], [-2.0, -30.0])
    proof, _ = certificates(problem, [0.0, -1.0 + 1e-9])
    table = problem.model.sample_table(problem.model.evaluate(proof.solution))
    assert [table.row(i)["case"] for i in range(2)] == ["free", "bound"]
