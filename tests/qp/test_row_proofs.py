"""Rows that hold by rounding only: what is claimed of them is true in exact arithmetic."""

import warnings
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm
from qpsvm.numerics.independence import (
    is_prime,
    null_space,
    primes_for,
    proven_independence,
    rank,
    residues,
)
from qpsvm.qp import QPSolution, QuadraticProgram
from qpsvm.qp.bounds import bound
from qpsvm.qp.solution import Status
from tests.strategies import grid, listed, numbered

U = 2.0**-52
FREE = np.inf


def passes(program: QuadraticProgram, x: Any, y: Any = None, z: Any = None) -> bool:
    nothing = np.zeros(program.n_variables)
    y = np.zeros(program.n_equalities) if y is None else y
    z = np.zeros(program.n_inequalities) if z is None else z
    answer = QPSolution(Status.UNKNOWN, x=np.asarray(x), z=z, y=y, z_lower=nothing, z_upper=nothing)
    return bool(qpsvm.verify(program, answer).passed)


def has_bound(program: QuadraticProgram, x: Any) -> bool:
    """Return whether a point is said to be within a finite distance from the optimum."""
    z, y = np.zeros(program.n_inequalities), np.zeros(program.n_equalities)
    return bool(np.isfinite(bound(program, np.asarray(x), z, y)[0].gap_upper))


def solved(program: QuadraticProgram) -> QPSolution:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", qpsvm.exceptions.ToleranceNotReachedWarning)
        return qpsvm.solve(program)


# --- rows that depend on each other but for rounding ----------------------------------------------


@grid(
    "far, kind, storage",
    product(
        [(1.0, 1.0), (100.0, 2.0**10), (1e8, 1.0)],
        ["equalities", "inequalities"],
        [np.array, sp.csr_array],
    ),
)
def test_rows_that_nearly_repeat_each_other_have_a_far_solution(far, kind, storage) -> None:
    """``x_1 + x_2 = 1`` and ``x_1 + (1 + a u) x_2 = 1 + k u`` hold at ``x_2 = k / a`` alone.

    (As inequalities: for all ``x_2 >= k / a``.) The point (1, 0) misses one by rounding.
    """
    steps, apart = far
    rows, right = [[1.0, 1.0], [1.0, 1.0 + apart * U]], [1.0, 1.0 + steps * U]
    if kind == "equalities":
        given = {"A": storage(rows), "b": right}
    else:
        given = {"G": storage([rows[0], [-v for v in rows[1]]]), "h": [right[0], -right[1]]}
    program = QuadraticProgram(np.diag([1.0, 0.0]), [-1.0, 0.0], **given)
    assert not passes(program, [1.0, 0.0])
    found = solved(program)
    assert found.status is not Status.PRIMAL_INFEASIBLE
    if found.status is Status.OPTIMAL:
        exact = 1.0 - steps / apart
        assert program.objective(found.x) == pytest.approx(0.5 * exact**2 - exact, rel=1e-7)


@listed("power", [72, 60, 68, 100], quick=1)
def test_what_a_row_is_missed_by_counts_however_little_it_is(power: int) -> None:
    """The rows determine ``x_2 = -t / u``, and t is far below the rounding of their terms."""
    t = 2.0**-power
    size = 2.0 / (t / U) ** 2  # the optimum is 1
    held = [-FREE, -FREE, 1.0, 1.0], [FREE, FREE, 1.0, 1.0]
    program = QuadraticProgram(
        np.diag([size, 0.0, 0.0, 0.0]), np.zeros(4), A=[[1, 1, 0, 1], [1, 1 + U, t, 1]], b=[1, 1],
        lb=held[0], ub=held[1],
    )  # fmt: skip
    assert not passes(program, [0.0, 0.0, 1.0, 1.0])
    found = solved(program)
    if found.status is Status.OPTIMAL:
        assert program.objective(found.x) == pytest.approx(1.0, rel=1e-7)


def among_others(m: int, *, connected: bool, near: bool) -> QuadraticProgram:
    """m independent rows, and before them two that determine a far point (``near``), or none."""
    t = 2.0**-68
    A = sp.lil_array((m + 2, m + 4))
    A[0, [0, 1, 3]], A[1, [0, 1, 2, 3]] = 1.0, [1.0, 1.0 + U if near else 2.0, t, 1.0]
    for k in range(m):
        A[2 + k, 4 + k] = 1.0
        if connected:
            A[2 + k, 4 + (k - 1) % m] = -0.5
    if connected:
        A[2, 0] = 1.0
    lb, ub = np.full(m + 4, -FREE), np.full(m + 4, FREE)
    lb[2:4] = ub[2:4] = 1.0
    curvature = np.zeros(m + 4)
    curvature[0] = 2.0 / (t / U) ** 2 if near else 1.0  # of the first kind the optimum is 1
    b = np.full(m + 2, 0.5 if connected else 1.0)
    b[:2] = 1.0
    return QuadraticProgram(
        sp.diags_array(curvature), np.zeros(m + 4), A=sp.csr_array(A), b=b, lb=lb, ub=ub
    )


@pytest.mark.parametrize("connected", [False, True])
@pytest.mark.parametrize("m", [3, 500, 1700])
def test_a_row_that_nearly_repeats_another_is_found_among_many(m: int, connected: bool) -> None:
    x = np.ones(m + 4)
    x[:2] = 0.0
    assert not passes(among_others(m, connected=connected, near=True), x)


@pytest.mark.parametrize("connected", [False, True])
@pytest.mark.parametrize("m", [3, 500, 1700])
def test_many_independent_rows_are_no_obstacle(m: int, connected: bool) -> None:
    x = np.ones(m + 4)
    x[1] = -(2.0**-68)  # what the second row asks for is no double beside 1: x_1 makes up for it
    x[0] = 0.0
    assert passes(among_others(m, connected=connected, near=False), x)


@pytest.mark.parametrize("m", [5, 40, 400])
def test_bounds_on_singular_values_are_below_them(m: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # of more rows the products stay sparse
    monkeypatch.setattr("qpsvm.numerics.independence.EIGENVALUE_SIZE", 200)
    rows = sp.random_array((m, 2 * m), density=3.0 / m, rng=np.random.default_rng(m), format="csr")
    rows = sp.csr_array(rows + sp.eye_array(m, 2 * m))
    lengths = np.sqrt(np.asarray((rows * rows).sum(axis=1)).ravel())
    rows = sp.csr_array(sp.diags_array(1.0 / lengths) @ rows)
    found = proven_independence(rows)
    assert found is not None
    assert found <= np.linalg.svd(rows.toarray(), compute_uv=False)[-1]
    dependent = sp.csr_array(sp.vstack([rows, rows[[0]]]))
    assert proven_independence(dependent) is None


@pytest.mark.parametrize("factor", [1.0, 3.0, 0.1])
def test_rows_that_follow_from_others_exactly_are_no_obstacle(factor: float) -> None:
    rows = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 2.0, 1.0]]) * factor
    right = np.array([1.0, 2.0, 3.0]) * factor
    if factor == 0.1:  # 0.1 + 0.2 is not 0.3: exactly the third row cannot follow
        rows, right = rows * 2.0**52 // 1 / 2.0**52, right * 2.0**52 // 1 / 2.0**52
        rows[2], right[2] = rows[0] + rows[1], right[0] + right[1]
    program = QuadraticProgram(np.eye(3), [0.3, -0.7, 0.1], A=rows, b=right)
    assert solved(program).status is Status.OPTIMAL


@pytest.mark.parametrize("by", [1.0, -1.0, 3.0])
def test_rows_that_contradict_each_other_by_rounding_have_the_answer_of_one(by: float) -> None:
    """No point satisfies both; the optimum of either is taken."""
    row = np.array([[1.0, 2.0]])
    right = np.array([0.1, by * 0.1 * (1.0 + 4.0 * U)])
    program = QuadraticProgram(np.eye(2), [0.0, 0.0], A=np.vstack([row, by * row]), b=right)
    found = solved(program)
    assert found.status is Status.OPTIMAL
    assert found.x == pytest.approx([0.02, 0.04], rel=1e-9)


@pytest.mark.parametrize("n", [3, 7, 49])
def test_bounds_that_a_sum_exceeds_by_rounding_have_an_answer(n: int) -> None:
    """n numbers of at most 1/n each, rounded, whose sum is one or a rounding of one."""
    program = QuadraticProgram(np.eye(n), np.zeros(n), A=np.ones((1, n)), b=[1.0], lb=0.0, ub=1 / n)
    found = solved(program)
    assert found.status is Status.OPTIMAL
    assert found.x == pytest.approx(np.full(n, 1.0 / n), rel=1e-9)


def test_a_constraint_on_weights_that_nearly_repeats_another_is_not_ignored() -> None:
    """Both rules hold at ``w = (-99, 100)`` alone."""
    rules = qpsvm.constraints.LinearConstraints(
        A=[[1.0, 1.0, 0.0], [1.0, 1.0 + U, 0.0]], b=[1.0, 1.0 + 100.0 * U]
    )
    problem = qpsvm.SoftMargin(C=1.0).primal([[1.0, 0.0], [-1.0, 0.0]], [1, -1], constraints=rules)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", qpsvm.exceptions.ToleranceNotReachedWarning)
        found = qpsvm.solve(problem, "cvxopt")
    assert found.status is not Status.OPTIMAL or found.coef == pytest.approx([-99.0, 100.0])
    near = found.replace(coef=np.array([1.0, 0.0]), intercept=0.0)
    assert qpsvm.certify(problem, near).gap_upper >= 1e4 - 1.0


# --- exact ranks ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_the_rank_of_a_product_of_whole_numbers_is_its_inner_dimension(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, n, k = rng.integers(3, 9, 3)
    k = min(k, m, n)
    left, right = rng.integers(-9, 10, (m, k)), rng.integers(-9, 10, (k, n))
    exact = min(np.linalg.matrix_rank(left), np.linalg.matrix_rank(right))
    found = (left @ right) * 2.0 ** rng.integers(-300, 300, (m, 1))
    for prime in primes_for(found):
        assert rank(residues(found, prime), prime) == exact


@pytest.mark.parametrize("value", [5e-324, -1e-310, 0.1, -3.0, 1.7e308])
def test_residues_are_those_of_the_exact_number(value: float) -> None:
    for prime in primes_for(np.array([value])):
        number = Fraction(value)
        expected = number.numerator * pow(number.denominator, -1, prime) % prime
        assert residues(np.array([value]), prime)[0] == expected


@pytest.mark.parametrize("number", [2**31 - 1, 2**30 + 3, 2147483629, 2**30 + 1, 46337**2, 2047])
def test_primes_are_prime(number: int) -> None:
    assert is_prime(number) == all(number % k for k in range(2, int(number**0.5) + 1))


def test_no_row_is_made_for_the_primes() -> None:
    """Fixed variables miss a row by the product of three large primes, 2^-71 of its terms."""
    number = 2147483647 * 2147483629 * 2147483587
    high = float(number >> 45 << 45)
    row = [high, float(number - int(high)), 2.0**163, -(2.0**163), 0.0]
    at_one = np.array([1.0, 1.0, 1.0, 1.0, 0.0])
    q, ones = np.eye(5)[4], np.ones(5)
    program = QuadraticProgram(np.zeros((5, 5)), q, A=[row], b=[0.0], lb=at_one, ub=ones)
    assert not has_bound(program, at_one)


@pytest.mark.parametrize("fixed", [False, True])
def test_rows_whose_products_underflow_are_not_met_by_that(fixed: bool) -> None:
    """``x_1 = x_2`` and ``x_1 - x_2 + 2^-70 x_3 = 2^-65 s``: ``x_3`` is 32 s, not zero."""
    c, s = 2.0**-250, 2.0**-780
    q = np.array([0.0, 0.0, 2.0**770, 0.0])
    A = np.array([[c, -c, 0.0, 0.0], [c, -c, c * 2.0**-70, -c * 2.0**-65]])
    upper = np.array([s, s, 0.0, s]) if fixed else np.array([np.inf, np.inf, np.inf, s])
    lower = np.array([s, s, 0.0, s]) if fixed else np.array([0.0, 0.0, 0.0, s])
    program = QuadraticProgram(np.zeros((4, 4)), q, A=A, b=np.zeros(2), lb=lower, ub=upper)
    assert not has_bound(program, np.array([s, s, 0.0, s]))


@pytest.mark.parametrize("low", [-1e308, -1.7e308])
def test_sums_that_overflow_prove_nothing_and_raise_nothing(low: float) -> None:
    A = np.array([[1e154, 1e154], [1e154, -3e153]])
    program = QuadraticProgram(np.eye(2), np.zeros(2), A=A, b=[1e308, 0.7e308], lb=[low, low])
    assert not has_bound(program, np.array([0.7e154, 0.3e154]))


def test_vectors_of_the_null_space_are_mapped_to_zero_exactly() -> None:
    rng = np.random.default_rng(3)
    matrix = [[Fraction(v) for v in row] for row in rng.normal(size=(3, 6)).tolist()]
    matrix.append([a + b for a, b in zip(matrix[0], matrix[1], strict=True)])
    basis = null_space(matrix, 6)
    assert len(basis) == 3
    for vector in basis:
        for row in matrix:
            assert sum(a * b for a, b in zip(row, vector, strict=True)) == 0


# --- against rational numbers ---------------------------------------------------------------------


def exact_optimum(P: Any, q: Any, A: Any, b: Any) -> Fraction | None:
    """The optimal value with equalities only, by elimination in rational numbers."""
    n, m = len(q), len(b)
    K = np.block([[P, A.T, -q[:, None]], [A, np.zeros((m, m)), b[:, None]]])
    rows = [[Fraction(v) for v in row] for row in K.tolist()]
    for c in range(n + m):
        pivot = next((i for i in range(c, n + m) if rows[i][c]), None)
        if pivot is None:
            return None
        rows[c], rows[pivot] = rows[pivot], rows[c]
        rows[c] = [v / rows[c][c] for v in rows[c]]
        for i in range(n + m):
            if i != c and rows[i][c]:
                rows[i] = [v - rows[i][c] * w for v, w in zip(rows[i], rows[c], strict=True)]
    return value_of(P, q, [row[-1] for row in rows[:n]])


def value_of(P: Any, q: Any, x: Any) -> Fraction:
    x = [Fraction(v) for v in x]
    squares = [Fraction(p) * v * v / 2 for p, v in zip(np.diag(P).tolist(), x, strict=True)]
    return sum(squares, sum((Fraction(c) * v for c, v in zip(q.tolist(), x, strict=True)), 0))


@numbered("seed", 40, quick=10)
def test_what_passes_is_the_optimum_in_rational_numbers(seed: int) -> None:
    """The last row is a combination of the others, but for one entry and its right-hand side."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    m = int(rng.integers(2, n + 1))
    A = np.round(rng.normal(size=(m, n)) * 4) / 4 if seed % 2 else rng.normal(size=(m, n))
    A[-1] = rng.integers(-3, 4, m - 1) @ A[:-1]
    A[-1, rng.integers(n)] += 2.0 ** -rng.integers(30, 56)
    b = A @ np.round(rng.normal(size=n) * 4)
    b[-1] *= 1.0 + 2.0 ** -rng.integers(30, 53)
    P, q = np.diag(10.0 ** rng.integers(-2, 6, n)), np.round(rng.normal(size=n) * 4)
    exact = exact_optimum(P, q, A, b)
    program = QuadraticProgram(P, q, A=A, b=b)
    system = np.block([[P, A[:-1].T], [A[:-1], np.zeros((m - 1, m - 1))]])
    found = np.linalg.lstsq(system, np.concatenate([-q, b[:-1]]), rcond=None)[0]
    x, y = found[:n], np.append(found[n:], 0.0)
    if exact is not None and passes(program, x, y):
        claimed = value_of(P, q, x.tolist())
        assert abs(claimed - exact) <= Fraction(101, 10**10) * max(1, abs(exact))


@pytest.mark.parametrize("row", [([1.0, 1.0, 0.0, 0.0], 1e300), ([1e-168, 1.0, 0.0, 0.0], 5.0)])
@pytest.mark.parametrize(("forced", "least"), [(2.5, -np.inf), (-0.5, 0.0)])
def test_tiny_misses_are_not_squared_to_nothing(
    row: tuple[list[float], float], forced: float, least: float
) -> None:
    """Two rows hold at x to a rounding, and force x_2 to be another number, or a forbidden one."""
    d = 2.0**-38
    program = QuadraticProgram(
        np.diag([0.0, 1.0, 0.0, 0.0]),
        [0.0, -1.0, 0.0, 0.0],
        G=[row[0]],
        h=[row[1]],
        A=[[1.0, 1.0, 1.0, 0.0], [1.0, 1.0 + d, 1.0, -forced * d]],
        b=[1e9 + 2.0] * 2,
        lb=[-np.inf, least, 1e9, 1.0],
        ub=[np.inf, np.inf, 1e9, 1.0],
    )
    assert not passes(program, [1.0, 1.0, 1e9, 1.0])
