"""Bounds on the gap where the digits of a machine, of its dual point or of its kernel are lost.

Each problem is made so that double precision computes something else than what is true, and each
machine so that what is computed looks like an optimum. Excesses are exact: rational numbers, and
exponentials with seventy digits.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm
from qpsvm import kernels
from qpsvm.numerics.compensated import product, summation_errors

BEYOND = 2.0**44
"""Features whose products cancel: sums of a hundred of them are rounded by about 1."""


def clusters(seed: int) -> tuple[Any, Any]:
    """Samples far from the origin on both sides, half of each class on either, and their signs."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(4, 30))
    centres, y = BEYOND * np.repeat([1, -1, 1, -1], m), np.repeat([1, 1, -1, -1], m)
    steps = 2.0**-8 * rng.choice([1, 2, 4, 8])
    return centres[:, None] + steps * rng.integers(-40, 41, size=(4 * m, 2)), y


def exact_sums(X: Any, y: Any) -> list[Fraction]:
    return [sum(Fraction(x) * int(s) for x, s in zip(c, y, strict=True)) for c in X.T.tolist()]


@cache
def vanishing(signed_sum: Callable[[Any, Any], Any] = lambda X, y: X.T @ y) -> tuple[Any, Any]:
    """Clusters whose signed sum is computed as zero and is not, the worst of many."""
    found = []
    for seed in range(300):
        X, y = clusters(seed)
        for _ in range(6):
            if not signed_sum(X, y).any():
                break
            X[-1] -= signed_sum(X, y) * y[-1]
        if not signed_sum(X, y).any():
            found.append((apart(X, y), seed, X, y))
    worst = max(found)
    assert worst[0] > 0.0
    return worst[2], worst[3]


def apart(X: Any, y: Any) -> float:
    """How far the two signed sums are from each other: along (1, -1) a machine gains that."""
    sums = exact_sums(X, y)
    return abs(float(sums[0] - sums[1])) / float(np.max(np.abs(X[:, 0] - X[:, 1])))


def cost(X: Any, y: Any, w: Any, size: Fraction) -> Fraction:
    """``size`` plus the hinge losses of decision values w'x, exact."""
    margins = [
        int(s) * sum(Fraction(a) * Fraction(v) for a, v in zip(x, w, strict=True))
        for x, s in zip(X.tolist(), y, strict=True)
    ]
    return size + sum((max(Fraction(0), 1 - m) for m in margins), Fraction(0))


def stated(problem: Any, **fields: Any) -> Any:
    """A machine with numbers of our own, as a solver could have left it."""
    solution = qpsvm.solve(problem, "osqp", max_iterations=1).replace(**fields)
    return solution.replace(qp=problem.to_qp(solution))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", ["dual", "primal"])
@pytest.mark.parametrize("intercept", ["none", "free", "penalized"])
def test_weights_that_cancel_prove_nothing(intercept: str, form: str) -> None:
    X, y = vanishing()
    problem = getattr(qpsvm.SoftMargin(C=1.0, intercept=intercept), form)(X, y)
    n = len(y)
    fields = {"coef": np.zeros(2), "alpha": np.ones(n), "slack": np.ones(n), "intercept": 0.0}
    fields["expansion"] = 1.0 * y if form == "dual" else None
    fields["intercept_interval"] = (-1.0, 1.0) if intercept == "free" else (0.0, 0.0)
    report = qpsvm.verify(problem, stated(problem, **fields), eps=1e-8)
    steps = [Fraction(k, 20) for k in range(-20, 21)]
    best = min(cost(X, y, (t, -t), t * t) for t in steps)
    assert n - best > 1e-6 * n
    assert report.certificate.gap_upper >= n - best
    assert not report.passed


@pytest.mark.filterwarnings("ignore")
def test_a_1_norm_pays_for_what_its_dual_constraint_may_be_missed_by() -> None:
    X, y = vanishing()
    X, n = 16.0 * X, len(y)  # the constraint is about X'y itself
    problem = qpsvm.L1Norm(C=1.0).dual(X, y)
    fields = {"coef": np.zeros(2), "alpha": np.ones(n), "slack": np.ones(n), "intercept": 0.0}
    report = qpsvm.verify(problem, stated(problem, **fields, intercept_interval=(-1.0, 1.0)))
    span = float(np.max(np.abs(X[:, 0] - X[:, 1])))
    steps = [Fraction(k / (10.0 * span)) for k in range(-20, 21)]
    best = min(cost(X, y, (t, -t), 2 * abs(t)) for t in steps)
    assert n - best > 1e-6 * n
    assert report.certificate.gap_upper >= n - best
    assert not report.passed


@pytest.mark.filterwarnings("ignore")
def test_weights_of_several_classes_that_cancel_prove_nothing() -> None:
    X, y = vanishing(lambda X, y: (X.T @ np.column_stack([-y, y]).astype(float))[:, 1])
    problem, n = qpsvm.CrammerSinger(C=1.0, intercept="none").dual(X, y), len(y)
    tau = np.column_stack([-y, y]).astype(float)
    fields = {"coef": np.zeros((2, 2)), "alpha": tau, "expansion": tau, "slack": np.ones(n)}
    report = qpsvm.verify(problem, stated(problem, **fields, intercept=np.zeros(2)))
    # two decision functions t x_1 - t x_2 and their opposites: twice the margin, twice the square
    best = min(
        cost(X, y, (2 * t, -2 * t), 2 * t * t) for t in [Fraction(k, 40) for k in range(-20, 21)]
    )
    assert n - best > 1e-6 * n
    assert report.certificate.gap_upper >= n - best
    assert not report.passed


# --- kernel values that are rounded around another centre ----------------------------------------


def exponential(X: Any) -> Decimal:
    """``exp(-|x_0 - x_1|^2)`` with seventy digits."""
    square = sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(*X[:2].tolist(), strict=True))
    with localcontext() as context:
        context.prec = 70
        return (-Decimal(square.numerator) / Decimal(square.denominator)).exp()


def pair_excess(a: float, k: Decimal, C: float) -> tuple[float, float]:
    """Excess over the optimum of ``alpha = (a, a)`` for two samples of two classes; its share."""
    with localcontext() as context:
        context.prec = 70
        own, best = Decimal(a), 1 / (1 - k)
        value = own * own * (1 - k) + 2 * Decimal(C) * max(Decimal(0), 1 - own * (1 - k))
        return float(value - best), float((value - best) / value)


def close_pair(rng: Any, d: int, square: float) -> tuple[Any, Any]:
    """A unit vector, and a vector across it with this squared length."""
    u = rng.normal(size=d)
    u /= np.linalg.norm(u)
    e = rng.normal(size=d)
    e -= u * (e @ u)
    return u, e * (np.sqrt(square) / np.linalg.norm(e))


@pytest.mark.filterwarnings("ignore")
def test_pairs_of_classes_know_the_errors_of_the_matrix_of_all_classes() -> None:
    C, d, kernel, found = 1e6, 200, kernels.RBF(gamma=1.0), []
    for seed in range(40):
        u, e = close_pair(np.random.default_rng(seed), d, 1e-5)
        X = np.vstack([e / 2, -e / 2, *[5.7 * u] * 100])
        K = kernel(X, X)
        a = 2.0 / (K[0, 0] + K[1, 1] - 2.0 * K[0, 1])
        found.append((*pair_excess(a, exponential(X), C)[::-1], seed, a, X))
    share, excess, _, a, X = max(found, key=lambda each: each[0])
    assert share > 2e-8
    whole = qpsvm.OneVsOne(qpsvm.SoftMargin(C=C)).dual(X, [1, 0] + [2] * 100, kernel=kernel)
    part = next(p for p in whole.problems if p.data.n_samples == 2)
    signs, alpha = part.model.conditions.signs, np.array([a, a])
    f = part.model.kernel_product(signs * alpha)
    b = -0.5 * float(f[0] + f[1])
    slack = np.maximum(0.0, 1.0 - signs * (f + b))
    fields = {"alpha": alpha, "expansion": signs * alpha, "intercept": b, "slack": slack}
    report = qpsvm.verify(part, stated(part, **fields, intercept_interval=(b, b)), eps=1e-8)
    assert report.certificate.gap_upper >= excess
    assert not report.passed
    assert qpsvm.certify(part, stated(part, **fields), rigorous=True).gap_upper >= excess


@pytest.mark.filterwarnings("ignore")
def test_support_vectors_that_are_sparser_than_all_samples_share_their_frame() -> None:
    C, d, kernel, found = 1e6, 400, kernels.RBF(gamma=1.0), []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        base, e = np.zeros(d), np.zeros(d)
        base[: d // 13], e[: d // 13] = rng.normal(size=d // 13), rng.normal(size=d // 13)
        base, e = base * (5.6 / np.linalg.norm(base)), e * (1e-5**0.5 / np.linalg.norm(e))
        y = np.concatenate([[1, -1], np.tile([1, -1], 30)])
        noise = 1e-6 / np.sqrt(d) * rng.normal(size=(60, d))
        X = np.vstack([base + e / 2, base - e / 2, base + y[2:, None] * 1.5 * e + noise])
        K = kernel(sp.csr_array(X)[:2], sp.csr_array(X)[[0, 1]])
        a = 2.0 / (K[0, 0] + K[1, 1] - 2.0 * K[0, 1])
        found.append((*pair_excess(a, exponential(X), C)[::-1], seed, a, X, y))
    share, excess, _, a, X, y = max(found, key=lambda each: each[0])
    assert share > 1e-8
    # of the second the kernel matrix is not in memory yet
    solved, problem = (qpsvm.SoftMargin(C=C).dual(sp.csr_array(X), y, kernel=kernel) for _ in "ab")
    alpha = np.zeros(len(y))
    alpha[:2] = a
    f = kernel(sp.csr_array(X), sp.csr_array(X)[[0, 1]]) @ (y * alpha)[:2]
    b = -0.5 * float(f[0] + f[1])
    fields = {"alpha": alpha, "expansion": y * alpha, "intercept": b}
    fields["slack"] = np.maximum(0.0, 1.0 - y * (f + b))
    report = qpsvm.verify(problem, stated(solved, **fields, intercept_interval=(b, b)), eps=1e-8)
    assert report.certificate.gap_upper >= excess
    assert not report.passed


# --- sums, and squares that underflow ------------------------------------------------------------


@pytest.mark.parametrize("kind", ["equal", "mixed", "random"])
@pytest.mark.parametrize("outlier", [1.0, 2.0**21, 2.0**40])
def test_sums_are_within_the_bound_that_knows_only_the_largest_entry(
    outlier: float, kind: str
) -> None:
    rng, k = np.random.default_rng(0), 2001
    rows = {"equal": np.full((3, k), 0.1), "random": rng.uniform(size=(3, k))}
    A = rows.get(kind, 0.1 * np.ones((3, k)) + 1e-3 * rng.uniform(size=(3, k)))
    A[:, 0] = outlier
    v = np.where(rng.random(k) < 0.5, -1.0, 1.0) if kind == "mixed" else np.full(k, 0.3)
    v[0] = 0.0
    found = product(A, v[:, None])[:, 0]
    bound = summation_errors(np.abs(A) @ np.abs(v), np.abs(v), np.max(A, axis=1))
    for row, value, error in zip(A.tolist(), found, bound, strict=True):
        true = sum(Fraction(a) * Fraction(b) for a, b in zip(row, v.tolist(), strict=True))
        assert abs(Fraction(value) - true) <= Fraction(error) + abs(true) * Fraction(2) ** -53


@pytest.mark.parametrize("family", [qpsvm.OneClass(nu=0.5), qpsvm.DataDescription(C=0.4)])
def test_distances_that_underflow_are_not_taken_for_equal_samples(family: Any) -> None:
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 2.0]])
    assert family.dual(np.ones((4, 2))).model.objective_floor > 0.0  # the same sample four times
    for size in (1e-155, 1e-160, 1e-165, 1e-300):
        floor = family.dual(size * X).model.objective_floor
        assert floor <= 4.0 * size * size


# --- dual points that miss the sum of their signs -------------------------------------------------

FAR = [1514138.0, 1513625.0, 1514327.0, 1514042.0, 1514009.0, 1514110.0]


def exact_objective(X: Any, y: Any, prices: Any, w: Any, b: Fraction) -> Fraction:
    """``1/2 |w|^2`` plus the squared hinge losses, exact."""
    total = sum((Fraction(v) ** 2 for v in w), Fraction(0)) / 2
    for x, s, price in zip(X.tolist(), y.tolist(), prices.tolist(), strict=True):
        f = sum((Fraction(a) * Fraction(v) for a, v in zip(x, w, strict=True)), b)
        total += Fraction(price) * max(Fraction(0), 1 - s * f) ** 2
    return total


def test_a_missed_sum_costs_what_the_intercept_of_its_own_weights_says() -> None:
    """Weights that predict may have an intercept of 0, and those of alpha one of 10,000."""
    X = np.column_stack([np.full(13, 965611.0), [*FAR, *FAR, 1514648.0]])
    y = np.array([1, -1, -1, 1, -1, -1, 1, 1, -1, -1, -1, 1, 1])
    small = [0.0044, 0.0073, 0.003, 0.002, 0.0023, 0.0051, 0.0132]
    weights = np.array([683.6, small[0], 257.8, 0.0557, small[1], 0.09, *small[2:5], 49.9])
    weights = np.append(weights, [small[5], 366.1, small[6]])
    for C in np.geomspace(8.0e4, 9.0e4, 40):
        machine = qpsvm.SoftMargin(C=C, loss="squared_hinge")
        problem = machine.dual(X, y, sample_weight=weights)
        solution = qpsvm.solve(problem)
        centre = X.mean(axis=0).round()
        better = qpsvm.solve(machine.dual(X - centre, y, sample_weight=weights), eps=1e-12)
        b = Fraction(better.intercept)
        b -= sum(Fraction(v) * Fraction(c) for v, c in zip(better.coef, centre, strict=True))
        prices = 0.5 / problem.model.conditions.curvature
        own = exact_objective(X, y, prices, solution.coef, Fraction(solution.intercept))
        excess = own - exact_objective(X, y, prices, better.coef, b)
        assert qpsvm.certify(problem, solution).gap_upper >= float(excess)
