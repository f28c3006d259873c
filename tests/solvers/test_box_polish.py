"""The polish over a box: its parts against brute force, and the whole from anywhere."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qpsvm
from qpsvm.qp import (
    KernelQuadratic,
    LowRankQuadratic,
    QPSolution,
    QuadraticProgram,
    SampleGram,
    Status,
    residuals,
)
from qpsvm.solvers.box.curvature import DenseCurvature, FactorCurvature
from qpsvm.solvers.box.program import Boxed, BoxProgram, row_multipliers, satisfying, step_length
from qpsvm.solvers.box.proximal_newton import ProximalProgram
from qpsvm.solvers.box.working_sets import polish_box, working_set_method
from qpsvm.solvers.budget import Point, WorkBudget
from qpsvm.solvers.polish import polish
from tests.strategies import examples, manufactured_program
from tests.tolerances import POLISHED, ROUNDING

PLENTY = 2**30


def box(seed: int, n: int = 30, p: int = 2, rank: int = 4) -> BoxProgram:
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(n, rank))
    inside = rng.uniform(size=n)
    A = np.sign(rng.normal(size=(p, n)))
    q = rng.normal(size=n)
    P, lower, upper = F @ F.T, np.zeros(n), np.ones(n)
    return BoxProgram(
        DenseCurvature(P), q, A, A @ inside, lower, upper, P.diagonal(), float(np.max(F * F))
    )


# --- the parts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_the_line_search_finds_the_highest_point(seed: int) -> None:
    program, rng = box(seed), np.random.default_rng(seed)
    n, sigma = program.size, 10.0 ** rng.uniform(-6, 1)
    c, r = rng.uniform(size=n), rng.normal(size=n)
    dr = rng.normal(size=n) * 10.0 ** rng.uniform(-3, 3)
    falling = float(rng.uniform(0.0, 1.0)) * float(dr @ dr)
    fixed = float(dr @ program.clip(c - r / sigma)) - float(rng.uniform(0.1, 1.0))
    t = step_length(program, c, sigma, r, dr, fixed=fixed, falling=falling)

    def height(t: float) -> float:
        x = program.clip(c - (r + t * dr) / sigma)
        inner = float(x @ (r + t * dr)) + 0.5 * sigma * float(np.sum((x - c) ** 2))
        return inner - t * fixed - 0.5 * t * t * falling

    assert t is not None
    highest = height(t) if t != 1.0 else np.inf  # a full step is taken where it is good enough
    scale = abs(fixed) + float(np.sum(np.abs(r))) + 1.0
    for other in (*np.linspace(0.0, 2.0, 41) * t, 0.0):
        assert height(float(other)) <= highest + ROUNDING * scale * max(1.0, float(other))
    assert height(t) > height(0.0)


@pytest.mark.parametrize("n_free", [0, 3, 20, 90])
@pytest.mark.parametrize("sparse", [False, True])
def test_long_and_square_factorisations_solve_the_same_equations(n_free: int, sparse: bool) -> None:
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    F, d = rng.normal(size=(100, 6)), rng.uniform(size=100)
    P = LowRankQuadratic(sp.csr_array(F) if sparse else F, d)
    curvature = FactorCurvature(P, 2)  # the last two are slack variables
    free = np.sort(rng.choice(102, n_free, replace=False))
    full = np.zeros((102, 102))
    full[:100, :100] = F @ F.T + np.diag(d)
    r = rng.normal(size=(n_free, 3))
    u = curvature.factor(free, 0.1)(r)
    shifted = full[np.ix_(free, free)] + 0.1 * np.eye(n_free)
    np.testing.assert_allclose(shifted @ u, r, atol=1e-11)
    assert curvature.work(5000) < 5000.0**3 / 1000  # what a square one would take


@pytest.mark.parametrize("seed", range(20))
def test_row_multipliers_make_a_gradient_step_feasible(seed: int) -> None:
    program, rng = box(seed), np.random.default_rng(seed)
    x = rng.uniform(size=program.size)
    Px = program.P.product(x)
    y = row_multipliers(program, x, Px, np.zeros(2))
    step = program.clip(x - program.gradient(Px, y) / program.unit)
    np.testing.assert_allclose(program.A @ step, program.b, atol=1e-11)


@pytest.mark.parametrize("seed", range(20))
def test_rows_are_satisfied_without_moving_what_is_at_a_bound(seed: int) -> None:
    program, rng = box(seed), np.random.default_rng(seed)
    x = rng.uniform(size=program.size)
    x[:10], x[10:15] = 0.0, 1.0
    program = replace(program, b=program.A @ x)
    inside = slice(15, None)
    nearby = x.copy()
    nearby[inside] = np.clip(x[inside] + 0.05 * rng.normal(size=15), 0.01, 0.99)
    moved = satisfying(program, nearby)
    np.testing.assert_allclose(program.A @ moved, program.b, atol=1e-12)
    np.testing.assert_array_equal(moved[:15], x[:15])
    # with nothing inside the box, everything has to move
    np.testing.assert_allclose(program.A @ satisfying(program, np.zeros(30)), program.b, atol=1e-12)


def test_slack_variables_turn_inequalities_into_rows() -> None:
    G, h = np.array([[4.0, -2.0], [1.0, 1.0]]), np.array([2.0, np.inf])
    program = QuadraticProgram(np.eye(2), [1.0, 1.0], G=G, h=h, lb=-5.0, ub=5.0)
    boxed = Boxed.of(program, PLENTY)
    start = boxed.start(np.array([0.5, 0.5]))
    assert len(start) == 3  # an infinite row has none
    np.testing.assert_allclose(boxed.box.A @ start, boxed.box.b)
    zeros = boxed.box.P.product(start)
    solution = boxed.solution(Point(start, zeros, np.array([8.0])), QPSolution(Status.UNKNOWN))
    np.testing.assert_allclose(np.asarray(solution.z), [2.0, 0.0])  # in the units of G


def test_what_is_within_rounding_of_its_bound_is_there() -> None:
    program = QuadraticProgram(np.eye(2), [1.0, -3.0], lb=0.0, ub=[np.inf, 2.0])
    boxed = Boxed.of(program, PLENTY)
    near = np.array([1e-16, 2.0 - 2e-16])
    x = boxed.box.at_bounds(Point(near, near, np.zeros(0)))
    found = boxed.solution(Point(x, near, np.zeros(0)), QPSolution(Status.UNKNOWN))
    np.testing.assert_array_equal(found.x, [0.0, 2.0])
    np.testing.assert_allclose(found.z_lower, [1.0, 0.0])
    np.testing.assert_allclose(found.z_upper, [0.0, 1.0])


class Recorded(ProximalProgram):
    """Keeps the dual objective of every point that a Newton step begins at."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.heights: list[float] = []

    def newton(self, point: Point, target: Any) -> Any:
        program, c = self.program, self.centre.x
        r = program.gradient(point.Px, point.y)
        x = program.clip(c - r / self.sigma)
        inner = float(x @ r) + 0.5 * self.sigma * float(np.sum((x - c) ** 2))
        height = inner - 0.5 * float(point.x @ point.Px) - float(program.b @ point.y)
        self.heights.append(height)
        return super().newton(point, target)


@pytest.mark.parametrize("sigma", [1e-1, 1e-3, 1e-5])
@pytest.mark.parametrize("seed", range(5))
def test_searched_steps_climb_to_the_proximal_point(seed: int, sigma: float) -> None:
    program, rng = box(seed, n=80, rank=10), np.random.default_rng(seed)
    centre = satisfying(program, rng.uniform(size=80))
    start = Point(centre, program.P.product(centre), 10.0 * rng.normal(size=2))
    proximal = Recorded(program, start, sigma * program.unit, WorkBudget())
    found = proximal.searched_steps()
    assert found is not None
    heights = proximal.heights
    assert all(b >= a - 1e-9 * abs(a) for a, b in itertools.pairwise(heights))
    # the gradient of the proximal program is in the normal cone
    r = program.gradient(found.Px, found.y) + sigma * program.unit * (found.x - centre)
    natural = found.x - program.clip(found.x - r / program.unit)
    assert float(np.max(np.abs(natural))) < POLISHED
    np.testing.assert_allclose(program.A @ found.x, program.b, atol=1e-11)


# --- the whole ------------------------------------------------------------------------------------


@given(manufactured_program(strict=False), st.floats(1e-6, 10.0), st.integers(0, 2**32 - 1))
@settings(max_examples=examples(300), derandomize=True)
def test_it_arrives_from_anywhere(
    made: tuple[QuadraticProgram, QPSolution], size: float, seed: int
) -> None:
    """Up to ten units away, infeasible, with multipliers of either sign; P may be zero."""
    program, exact = made
    rng = np.random.default_rng(seed)
    vectors = {
        name: getattr(exact, name) + size * rng.uniform(-1, 1, getattr(exact, name).shape)
        for name in ("x", "z", "y", "z_lower", "z_upper")
    }
    assert residuals(program, polish(program, exact.replace(**vectors))).worst < POLISHED


def kernel_program(n: int, C: float = 1.0, gamma: float = 0.5) -> QuadraticProgram:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 2))
    signs = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    P = KernelQuadratic(SampleGram(qpsvm.kernels.RBF(gamma), X, positive_semidefinite=True), signs)
    return QuadraticProgram(P, -np.ones(n), A=signs[None], b=[0.0], lb=0.0, ub=C)


def from_zero(program: QuadraticProgram) -> QPSolution:
    return QPSolution(Status.UNKNOWN, x=np.zeros(program.n_variables))


@pytest.mark.parametrize("largest", [40, 120, 5000])
def test_small_working_sets_arrive_at_the_same_optimum(largest: int) -> None:
    program = kernel_program(300)
    memory = 8 * 3 * largest**2
    found = polish_box(program, from_zero(program), memory_limit=memory, budget=WorkBudget())
    measured = residuals(program, found)
    assert measured.worst < POLISHED
    whole = polish_box(program, from_zero(program), memory_limit=PLENTY, budget=WorkBudget())
    assert measured.primal_objective == pytest.approx(program.objective(whole.x), rel=POLISHED)


def test_every_working_set_lowers_the_objective() -> None:
    program, heights, limit = kernel_program(300), [], 0.0
    for _ in range(12):
        limit += 5e6
        found = polish_box(
            program, from_zero(program), memory_limit=8 * 3 * 20**2, budget=WorkBudget(limit=limit)
        )
        heights.append(program.objective(found.x))
        assert residuals(program, found).equality.scaled < ROUNDING
    assert heights[0] < 0.0
    assert len(set(heights)) > 3  # the limits did cut the search short
    assert all(b <= a + ROUNDING * abs(a) for a, b in itertools.pairwise(heights))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("far", [1.0, 1e8])
def test_what_sums_lose_is_within_the_drift_and_no_claim_leaves_it_out(
    seed: int, far: float
) -> None:
    program, n, wide = box(seed, n=60, p=1), 60, np.full(60, far)
    P = DenseCurvature(program.P.matrix + np.eye(n))
    program = replace(program, P=P, diagonal=np.diagonal(P.matrix), b=np.zeros(1))
    program = replace(program, lower=-wide, upper=wide, unit=float(np.max(program.diagonal)))
    start = wide * np.sign(np.random.default_rng(seed).normal(size=n))
    found = working_set_method(program, start, WorkBudget(largest=30))
    exact = np.asarray(program.P.matrix, dtype=np.longdouble) @ found.x
    assert np.max(np.abs(found.Px - exact)) <= found.drift + np.max(program.rounding(found.x))
    fresh = replace(found, Px=program.P.product(found.x), drift=0.0)
    eps = 1e-6
    if far > 1.0:
        assert found.drift > eps * program.scale(found)
        assert not program.is_optimal(found, eps)
        return
    assert program.is_optimal(fresh, eps)
    assert program.is_optimal(found, eps)
    for lost in (2.0 * eps * program.scale(fresh), np.inf, np.nan):
        assert not program.is_optimal(replace(fresh, drift=lost), eps)


def test_whoever_watches_can_stop_it() -> None:
    program, seen = kernel_program(300), []

    def watch(budget: WorkBudget) -> bool:
        seen.append((budget.factorisations, budget.residual))
        return len(seen) < 3

    polish_box(program, from_zero(program), memory_limit=PLENTY, budget=WorkBudget(watch=watch))
    assert len(seen) == 3
    assert all(np.isfinite(residual) for _, residual in seen)


@dataclass(frozen=True)
class Counted(qpsvm.kernels.RBF):
    """Counts the kernel values that are asked for."""

    values: ClassVar[list[int]] = []

    def __call__(self, X: Any, Z: Any) -> Any:
        self.values.append(len(X) * len(Z))
        return super().__call__(X, Z)


def test_a_large_kernel_is_touched_by_columns_only() -> None:
    """9000 samples, 648 MB: near the optimum a few passes over some hundred columns do."""
    rng = np.random.default_rng(0)
    n = 9000
    signs = np.repeat([-1.0, 1.0], n // 2)
    X = rng.normal(size=(n, 2)) + 1.5 * signs[:, None]
    kernel = Counted(0.2)
    gram = SampleGram(kernel, X, positive_semidefinite=True)
    program = QuadraticProgram(
        KernelQuadratic(gram, signs), -np.ones(n), A=signs[None], b=[0.0], lb=0.0, ub=1.0
    )
    from sklearn.svm import SVC

    rough = SVC(C=1.0, gamma=0.2, tol=0.1).fit(X, signs)
    alpha = np.zeros(n)
    alpha[rough.support_] = np.abs(rough.dual_coef_[0])
    kernel.values.clear()
    start = QPSolution(Status.UNKNOWN, x=alpha)
    found = polish_box(program, start, memory_limit=PLENTY, budget=WorkBudget())
    used = int(np.count_nonzero(alpha)) + int(np.count_nonzero(found.x != alpha))
    assert sum(kernel.values) < n * (used + 256) + 2000**2  # columns, the diagonal, one block
    assert not gram.is_kept
    assert residuals(program, found).worst < POLISHED


@pytest.mark.parametrize(("seed", "n"), [(9, 4), (14, 3)])
def test_an_optimum_at_zero_is_not_approached_for_ever(seed: int, n: int) -> None:
    # a tolerance relative to x is never met there, and every round gains a share of what is left
    rng = np.random.default_rng(seed)
    assert rng.integers(3, 7) == n
    X = rng.normal(size=(n, 3))
    X[rng.random((n, 3)) < 0.5] = 0.0
    C, budget = np.append(np.ones(n - 1), 1e6), WorkBudget()
    P = (np.round(X, 2) @ np.round(X, 2).T + 1.0) ** 3
    program = QuadraticProgram(P, np.zeros(n), A=np.ones((1, n)), b=[0.0], lb=-0.7 * C, ub=0.3 * C)
    start = QPSolution(Status.UNKNOWN, x=1e-3 * rng.normal(size=n))
    found = polish_box(program, start, memory_limit=PLENTY, budget=budget)
    assert budget.factorisations < 500
    assert np.abs(found.x).max() < 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_what_is_far_out_and_what_weighs_much_are_not_taken_for_one(seed: int) -> None:
    """The largest curvature belongs to one sample, and the largest x to others."""
    rng = np.random.default_rng(seed)
    n, free = 400, slice(0, 12)
    w, F = rng.normal(size=15), rng.normal(size=(n, 15))
    signs = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    x, upper = np.zeros(n), np.full(n, 100.0)
    x[free], x[12:40] = rng.uniform(1.0, 99.0, 12), 100.0
    F[0] *= 1000.0 / np.linalg.norm(F[0])
    x[0], x[1:3], upper[1:3] = 2.0, 1800.0, 2000.0
    F[4] = F[3] + 0.003 * rng.normal(size=15)
    F[2] += (w - F.T @ x) / x[2]
    outwards = rng.uniform(0.1, 10.0, n) * np.where(x > 0.0, -1.0, 1.0)
    outwards[free] = 0.0
    q = outwards - F @ (F.T @ x) - 0.3 * signs
    P = LowRankQuadratic(F)
    program = QuadraticProgram(P, q, A=signs[None], b=[float(signs @ x)], lb=0.0, ub=upper)
    nearby = np.clip(x + np.where(outwards == 0.0, 1e-6 * rng.normal(size=n), 0.0), 0.0, upper)
    start = QPSolution(Status.UNKNOWN, x=nearby)
    found = polish_box(program, start, memory_limit=PLENTY, budget=WorkBudget())
    r = P.matvec(found.x) + q + found.y[0] * signs
    gap = float(np.sum(np.maximum(r * found.x, r * (found.x - upper))))
    assert 0.0 <= gap < POLISHED * abs(program.objective(found.x))
