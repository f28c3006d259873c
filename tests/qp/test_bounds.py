"""Bounds on the optimum of any program, from any point and any multipliers."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import qpsvm
from qpsvm.backends import Settings, get
from qpsvm.numerics.compensated import row_residuals
from qpsvm.qp import QPSolution, QuadraticProgram, Status
from qpsvm.qp.bounds import bound, repaired
from qpsvm.qp.hidden_curvature import implied_bounds
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.quadratic import RepeatedQuadratic
from tests.strategies import examples, grid, listed, manufactured_program, numbered
from tests.tolerances import EXACT

Made = tuple[QuadraticProgram, QPSolution]

HELD = QuadraticProgram(np.eye(2), [0.0, -50.0], G=[[1e10, 1.0]], h=[1.0], A=[[1.0, 0.0]], b=[0.0])
"""The first column is held at zero by one row, and is large in another: the optimum is (0, 1)."""


def answer(x: Any, z: Any = (), y: Any = ()) -> QPSolution:
    """A solution with these vectors and no multipliers of bounds."""
    n = len(x)
    return QPSolution(
        Status.UNKNOWN, x=x, z=list(z), y=list(y), z_lower=np.zeros(n), z_upper=np.zeros(n)
    )


@settings(max_examples=examples(150), derandomize=True)
@given(made=manufactured_program(strict=False, definite=True))
def test_the_optimum_is_within_the_bounds_and_they_meet_there(made: Made) -> None:
    program, exact = made
    found, _ = bound(program, exact.x, exact.z, exact.y)
    size = max(1.0, abs(found.objective))
    assert found.gap_upper <= 1e-10 * size, found
    assert (
        found.lower - found.rounding
        <= found.objective
        <= found.upper + found.rounding + EXACT * size
    )


@settings(max_examples=examples(300), derandomize=True)
@given(
    made=manufactured_program(strict=False, definite=True),
    seed=st.integers(0, 2**32 - 1),
    exponent=st.integers(-12, 1),
)
def test_no_point_and_no_multipliers_give_a_bound_that_excludes_the_optimum(
    made: Made, seed: int, exponent: int
) -> None:
    program, exact = made
    rng = np.random.default_rng(seed)
    moved = [
        np.asarray(v) + 10.0**exponent * rng.normal(size=len(v)) * (rng.random(len(v)) < 0.7)
        for v in (exact.x, exact.z, exact.y)
    ]
    best = program.objective(exact.x)
    found, _ = bound(program, *moved)
    noise = found.rounding + 1e-11 * max(1.0, abs(best))
    assert found.lower <= best + noise
    assert best <= found.upper + noise
    assert abs(program.objective(moved[0]) - best) <= found.gap_upper + noise


@pytest.mark.parametrize("x", [(0.0, 50.0), (0.0, 2.0), (1e-17, 50.0), (-4.9e-9, 50.0)])
@pytest.mark.parametrize("z", [0.0, 49.0])
def test_a_large_entry_that_multiplies_nothing_hides_no_miss(x: Any, z: float) -> None:
    report = qpsvm.verify(HELD, answer(x, [z], [-1e10 * z]))
    assert not report.passed
    assert report.relative_gap > 1e-2


def test_the_optimum_beside_a_large_entry_passes() -> None:
    assert qpsvm.verify(HELD, answer((0.0, 1.0), [49.0], [-49e10])).passed


@pytest.mark.parametrize("backend", ["auto", "cvxopt", "osqp", "cvxpy:CLARABEL", "ipm", "slsqp"])
@pytest.mark.filterwarnings("ignore::qpsvm.exceptions.ToleranceNotReachedWarning")
def test_no_backend_calls_a_wrong_answer_optimal(backend: str) -> None:
    solution = qpsvm.solve(HELD, backend)
    if solution.status is Status.OPTIMAL:
        assert solution.x[0] == 0.0
        assert abs(solution.x[1] - 1.0) <= 1e-7


@settings(max_examples=examples(100), derandomize=True)
@given(
    made=manufactured_program(strict=False, definite=True),
    seed=st.integers(0, 2**32 - 1),
)
def test_a_repaired_point_satisfies_rows_and_bounds(made: Made, seed: int) -> None:
    program, exact = made
    rng = np.random.default_rng(seed)
    x = np.asarray(exact.x) + 1e-9 * rng.normal(size=program.n_variables)
    found, pair = bound(program, x, exact.z, exact.y)
    assert math.isfinite(found.gap_upper), found.reason
    assert (program.lb <= pair.x).all()
    assert (pair.x <= program.ub).all()
    left = np.split(pair.left, [program.n_inequalities])  # of rows that contradict each other
    for rows, right, is_equality, allowed in (
        (program.G, program.h, False, left[0]),
        (program.A, program.b, True, left[1]),
    ):
        binding = np.isfinite(right)
        value, size, _ = row_residuals(np.asarray(rows)[binding], pair.x, right[binding])
        missed = np.abs(value) if is_equality else np.maximum(value, 0.0)
        assert (missed <= 1e-14 * size + 2.0 * allowed[binding]).all()
        assert (allowed[binding] <= 1e-12 * size).all()


def test_multipliers_of_free_variables_are_moved_until_they_are_stationary() -> None:
    # a linear program: x free, 3 <= x; any z but 1 leaves the dual infeasible
    program = QuadraticProgram(None, [1.0], G=[[-1.0]], h=[-3.0])
    found, pair = bound(program, np.array([3.0]), np.array([1.0 + 1e-9]), np.zeros(0))
    assert found.gap_upper <= EXACT
    assert pair.z[0] == 1.0


def test_without_rows_to_hold_a_free_variable_there_is_no_bound() -> None:
    program = QuadraticProgram(None, [1e-9, 0.0], G=[[0.0, 1.0]], h=[0.0])
    found, _ = bound(program, np.zeros(2), np.zeros(1), np.zeros(0))
    assert found.gap_upper == math.inf
    assert "x[0]" in found.reason


@pytest.mark.parametrize("slope", [1e-6, 1e-10, 1e-12])
def test_a_program_that_is_barely_unbounded_does_not_pass(slope: float) -> None:
    # along (-1, 1) the objective falls by slope, for ever
    program = QuadraticProgram(None, [1.0 + slope, 1.0], A=[[1.0, 1.0]], b=[0.0])
    assert not qpsvm.verify(program, answer((0.0, 0.0), y=[-1.0])).passed


def test_a_row_that_cannot_hold_is_named() -> None:
    program = QuadraticProgram([[1.0]], [0.0], G=[[1.0], [-1.0]], h=[0.0, -1.0])
    report = qpsvm.verify(program, answer((0.5,), [1.0, 1.0]))
    assert not report.passed
    assert any("of Gx <= h" in note for note in report.notes)


@pytest.mark.parametrize("size", [1e-300, 1e150, 1e300])
def test_numbers_at_the_ends_of_the_range_give_no_bound_rather_than_an_error(size: float) -> None:
    program = QuadraticProgram(
        np.eye(2),
        [size, -size],
        G=[[size, 1.0]],
        h=[1.0],
        A=[[1.0, size]],
        b=[size],
        lb=[0.0, -1.0],
    )
    report = qpsvm.verify(program, answer((size, 1.0), [size], [-size]))
    assert not report.passed or size < 1.0


STORAGES = {
    "dense": lambda v: np.outer(v, v),
    "sparse": lambda v: sp.csc_array(np.outer(v, v)),
    "factor": lambda v: LowRankQuadratic(v[:, None].copy()),
    "factors": lambda v: RepeatedQuadratic(LowRankQuadratic(v[:, None].copy()), 2),
}


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("end", [1.0, 1e5, 1e20, 1e30, math.inf])
@pytest.mark.parametrize("size", [0.1, 0.3, 0.7, 1e-9, 0.125])
def test_a_slope_that_rounding_hides_costs_as_much_as_bounds_allow(
    storage: str, end: float, size: float
) -> None:
    """``1/2 (x_1 + 3 x_2)^2 - s x_1 - (3 s) x_2`` with a rounded 3 s falls along (3, -1)."""
    P, q = STORAGES[storage](np.array([1.0, 3.0])), -np.array([size, 3.0 * size])
    slope = abs(3 * Fraction(float(q[0])) - Fraction(float(q[1])))
    x, times = np.array([size, 0.0]), P.shape[0] // 2
    program = QuadraticProgram(P, np.tile(q, times), lb=-end, ub=end)
    found, _ = bound(program, np.tile(x, times), np.zeros(0), np.zeros(0))
    falls_by = times * slope * (Fraction(end) - Fraction(size)) / 3 if end < math.inf else slope
    assert found.gap_upper >= falls_by
    if end == math.inf:
        assert math.isfinite(found.gap_upper) == (slope == 0)
        assert (found.reason == "") == (slope == 0)


@pytest.mark.parametrize("far", [1.0, 1e8, 1e13, 1e16])
def test_the_objective_of_a_point_that_is_moved_counts_with_its_rounding(far: float) -> None:
    """Far beyond its bounds an objective of 0.1 is a difference of numbers of the size of x."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        q = np.append(rng.normal(size=3), 0.1)
        x = far * np.cross(q[:3], rng.normal(size=3)) + rng.normal(size=3)
        program = QuadraticProgram(None, q, lb=0.0, ub=1.0)
        found, _pair = bound(program, np.append(x, 1.0), np.zeros(0), np.zeros(0))
        terms = zip(q.tolist(), [*x.tolist(), 1.0], strict=True)
        objective = sum((Fraction(a) * Fraction(b) for a, b in terms), Fraction(0))
        best = sum(Fraction(a) for a in np.minimum(q, 0.0).tolist())
        assert found.gap_upper >= objective - best


@pytest.mark.parametrize("apart", [1e-12, 1e-9, 1e-3, 1.0])
@pytest.mark.parametrize("far", [1.0, 1e6, 1e10, 1e14, 1e16, 1e17, 1e20])
@pytest.mark.parametrize("equal", [False, True])
def test_a_point_far_out_does_not_round_a_contradiction_away(
    apart: float, far: float, equal: bool
) -> None:
    """``x_1 - x_2 <= -apart`` and ``x_1 - x_2 >= 0``: no point satisfies both."""
    rows, right = np.array([[1.0, -1.0], [-1.0, 1.0]]), np.array([-apart, 0.0])
    free = {"A": rows[:1], "b": right[:1], "G": rows[1:], "h": right[1:]}
    program = QuadraticProgram(None, np.zeros(2), **(free if equal else {"G": rows, "h": right}))
    for second in (far, far + apart, far + 0.5 * apart):
        for z in (0.0, 1.0):
            kept = {"z": [z], "y": [z]} if equal else {"z": [z, z], "y": []}
            assert not verdict(program, [far, second], **kept)


# --- curvature -----------------------------------------------------------------------------------


@pytest.mark.parametrize("curvature", [-1e-6, -1e-10, -1e-14, -1e-17, -1e-300])
def test_an_unbounded_direction_of_negative_curvature_has_no_optimum(curvature: float) -> None:
    program = QuadraticProgram(np.diag([curvature, 1.0]), [0.0, 0.0])
    assert not qpsvm.verify(program, answer((0.0, 0.0))).passed
    with pytest.raises(qpsvm.exceptions.NotPositiveSemidefiniteError):
        qpsvm.solve(program)


def rounded_gram(bounded: float) -> QuadraticProgram:
    """A Gram matrix of rank 2 as it is rounded, which has eigenvalues of -1e-16."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    return QuadraticProgram(X @ X.T, np.full(40, -1.0), lb=0.0, ub=bounded)


def test_curvature_that_rounding_hides_is_paid_for_within_bounds() -> None:
    program = rounded_gram(1.0)
    assert 0.0 < np.max(program.convexity.shift) < 1e-12
    solution = qpsvm.solve(program)
    assert solution.status is Status.OPTIMAL


@pytest.mark.filterwarnings("ignore::qpsvm.exceptions.ToleranceNotReachedWarning")
@pytest.mark.parametrize("polished", [False, pytest.param(True, marks=pytest.mark.exhaustive)])
def test_curvature_that_rounding_hides_allows_no_claim_without_bounds(polished: bool) -> None:
    program = rounded_gram(np.inf)
    if polished:  # seconds of attempts
        solution = qpsvm.solve(program, max_iterations=100)
    else:
        solution = get("cvxopt").solve(program, Settings())
    report = qpsvm.verify(program, solution)
    assert not report.passed


def test_bounds_that_rows_imply_count_as_bounds() -> None:
    program = QuadraticProgram(
        np.ones((2, 2)),
        [0.0, 0.0],
        G=[[-1.0, 0.0]],
        h=[0.0],
        A=[[1.0, 2.0]],
        b=[4.0],
        lb=[-9.0, 0.0],
    )
    lower, upper = implied_bounds(program)
    assert lower[0] <= 0.0
    assert lower[0] >= -1e-6
    assert 4.0 <= upper[0] <= 4.5
    assert 2.0 <= upper[1] <= 2.3


@pytest.mark.parametrize("size", [1.0, 1e8, 1e16, 1e20])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_bounds_that_rows_imply_allow_for_their_rounding(size: float, sign: float) -> None:
    """``x_1 + x_2 + x_3 <= s`` with ``x_2 >= s`` and ``x_3 >= -1`` lets x_1 be 1."""
    program = QuadraticProgram(
        None, np.zeros(3), G=[[sign, 1.0, 1.0]], h=[size], lb=[-np.inf, size, -1.0]
    )
    lower, upper = implied_bounds(program)
    assert lower[0] <= sign <= upper[0]


def test_a_factor_is_semidefinite_without_doubt() -> None:
    F = np.random.default_rng(0).normal(size=(40, 2))
    assert not QuadraticProgram(LowRankQuadratic(F), np.ones(40)).convexity.shift.any()


@pytest.mark.parametrize("storage", [np.asarray, sp.csc_array])
def test_blocks_are_looked_at_one_by_one(storage: Any) -> None:
    P = np.zeros((7, 7))
    P[1:4, 1:4] = 1.0  # exactly semidefinite
    P[5, 5] = 2.0
    assert not QuadraticProgram(storage(P), np.zeros(7)).convexity.shift.any()
    P[2, 3] = P[3, 2] = 1.0 + 1e-9
    assert not QuadraticProgram(storage(P), np.zeros(7)).is_convex


# --- repair --------------------------------------------------------------------------------------


def test_a_solution_outside_its_bounds_is_repaired() -> None:
    program = QuadraticProgram([[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0], lb=[0.0, 0.0])
    raw = answer((-1e-10, 1.0))
    moved, fixed = repaired(program, raw)
    assert moved.x.tolist() == fixed.x.tolist() == [0.0, 1.0]
    assert not qpsvm.verify(program, moved).passed  # it has no multiplier of the bound
    assert qpsvm.verify(program, fixed).passed


# --- rows of very different sizes, and numbers at the ends of the range --------------------------


def verdict(program: QuadraticProgram, x: Any, **multipliers: Any) -> bool:
    """Whether a point passes, with multipliers of zero unless given."""
    sizes = {"z": program.n_inequalities, "y": program.n_equalities}
    sizes |= dict.fromkeys(("z_lower", "z_upper"), program.n_variables)
    vectors = {name: np.zeros(size) for name, size in sizes.items()} | multipliers
    return bool(qpsvm.verify(program, QPSolution(Status.UNKNOWN, x=x, **vectors)).passed)


@grid(
    "storage, small, large, apart",
    product(["dense", "sparse"], [1e-9, 1e-6, 1e-12], [1.0, 1e6, 1e9], [2.0, 1e-6, 1e-9, 1e-11]),
)
def test_the_rounding_of_one_row_forgives_no_other(storage, small, large, apart) -> None:
    """``x_2 <= -1`` and ``x_2 >= apart - 1`` contradict each other, whatever a third row says."""
    rows = {"dense": np.array, "sparse": sp.csr_array}[storage](
        [[large, small], [0.0, 1.0], [0.0, -1.0]]
    )
    program = QuadraticProgram(np.diag([1.0, 0.0]), [0.0, 0.0], G=rows, h=[large, -1, 1 - apart])
    for x in ([0.0, 0.0], [0.0, -1.0], [0.0, apart - 1.0]):
        assert not verdict(program, x)


@pytest.mark.parametrize("share", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("slope", [1e-8, 1e-9, 1e-10, 1e-11])
def test_a_small_coefficient_hides_no_descent(share, slope) -> None:
    """Along (0, 1, -1) the objective falls by ``slope`` for ever."""
    free = [0.0, -np.inf, -np.inf]
    program = QuadraticProgram(None, [1, 1, 1 + slope], A=[[share, 1, 1]], b=[0], lb=free)
    y, z_lower = np.array([-1.0 - slope / 2]), np.array([1.0 - share, 0.0, 0.0])
    assert not verdict(program, [0.0, 0.0, 0.0], y=y, z_lower=z_lower)


@pytest.mark.parametrize("storage", [np.array, sp.csr_array])
@pytest.mark.parametrize("size", [1e-200, 1e-310, 5e-324])
@pytest.mark.parametrize("kind", ["inequality", "equality"])
def test_a_row_counts_however_small_its_entries_are(storage, size, kind) -> None:
    rows = {"G": storage([[size]]), "h": [0.0]}
    if kind == "equality":
        rows = {"A": storage([[size]]), "b": [0.0]}
    unit = QuadraticProgram(storage([[1.0]]), [-0.4], **rows)
    assert not verdict(unit, [0.4])
    other = QuadraticProgram(storage([[1e300]]), [-1e150], **rows)
    assert not verdict(other, [1e-150])


@pytest.mark.filterwarnings("ignore::qpsvm.exceptions.ToleranceNotReachedWarning")
@listed(
    "kind, size",
    [
        ("inequality", 1e-200),
        ("equality", 1e-200),
        ("inequality", 5e-324),  # subnormal: solvers try for half a minute
        ("equality", 1e-310),
    ],
    quick=2,
)
def test_solve_sees_a_row_however_small_its_entries_are(kind, size) -> None:
    rows = {"G": [[size]], "h": [0.0]} if kind == "inequality" else {"A": [[size]], "b": [0.0]}
    found = qpsvm.solve(QuadraticProgram([[1.0]], [-0.4], **rows))
    assert found.status is not Status.OPTIMAL or found.x[0] == 0.0


def test_a_row_whose_terms_all_underflow_is_decided_in_rational_numbers() -> None:
    rows = np.array([[1.0, 1e-200]])
    program = QuadraticProgram(np.diag([1.0, 1e300]), [0.0, -1e150], G=rows, h=[0.0])
    assert not verdict(program, [0.0, 1e-150])
    assert verdict(QuadraticProgram([[1.0]], [0.0], G=[[1e-310]], h=[1e-310]), [0.0])


@pytest.mark.parametrize("n", [2, 40])
@pytest.mark.parametrize("storage", [np.array, sp.csc_array])
@pytest.mark.parametrize("size", [1e-200, 1.0, 1e155, 1e200, 1e300])
def test_convexity_does_not_depend_on_the_unit(n, storage, size) -> None:
    definite = np.eye(n) + 0.01
    indefinite = np.eye(n)
    indefinite[0, 1] = indefinite[1, 0] = 2.0
    nothing = np.zeros(n)
    good = QuadraticProgram(storage(size * definite), nothing)
    assert good.is_convex
    assert not good.convexity.shift.any()
    assert not QuadraticProgram(storage(size * indefinite), nothing).is_convex


@numbered("seed", 4, quick=1)
def test_thousands_of_terms_that_round_the_same_way_do_not_turn_a_reduced_cost(seed: int) -> None:
    """x_0 in [0, 1e13] with x_k = -a_k x_0: its exact reduced cost, the slope, is below zero."""
    p, random = 5000, np.random.default_rng(seed)
    a, y = random.uniform(0.5, 1.0, p), random.uniform(0.5, 1.0, p) / p
    A = sp.csr_array(sp.hstack([sp.csr_array(a[:, None]), sp.eye_array(p)]))
    exact = sum(Fraction(s) * Fraction(t) for s, t in zip(a.tolist(), y.tolist(), strict=True))
    first = -float(exact) * (1.0 + 2.0**-52)
    slope = exact + Fraction(first)
    assert slope < 0
    lb, ub = np.full(p + 1, -np.inf), np.full(p + 1, np.inf)
    lb[0], ub[0] = 0.0, 1e13
    program = QuadraticProgram(None, [first, *-y], A=A, b=np.zeros(p), lb=lb, ub=ub)
    found, _ = bound(program, np.zeros(p + 1), np.zeros(0), y)
    assert found.gap_upper >= -slope * 10**13


@pytest.mark.parametrize("ulps", [1, 2, 8])
@pytest.mark.parametrize("end", [1e6, 1e9, 1e13, np.inf])
def test_reduced_costs_that_contradict_each_other_cost_what_they_can_over_the_bounds(
    ulps: int, end: float
) -> None:
    """min (1 - u) x_0 + x_1 with x_0 + x_1 = 0: the slope is -u, and x_1 follows x_0."""
    first = 1.0 - ulps * 2.0**-53
    program = QuadraticProgram(
        None, [first, 1.0], A=[[1.0, 1.0]], b=[0.0], lb=[0.0, -np.inf], ub=[end, np.inf]
    )
    found, _ = bound(program, np.zeros(2), np.zeros(0), np.array([-1.0]))
    assert found.gap_upper >= (1.0 - first) * end
