"""Points that miss degenerate rows by rounding are proven beside an interior point."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm
from qpsvm.numerics.arrays import Vector
from qpsvm.qp import QPSolution, QuadraticProgram, Status
from qpsvm.qp.bounds import bound
from qpsvm.qp.restrictions import NearestPoint, Restrictions
from qpsvm.qp.row_proofs import prove_rows
from tests.strategies import listed


def violations(rows: np.ndarray, right: Vector, point: NearestPoint) -> list[Fraction]:
    """``R (x + change) - r`` in rational numbers."""
    x = [
        Fraction(a) + Fraction(b)
        for a, b in zip(point.point.tolist(), point.change.tolist(), strict=True)
    ]
    return [
        sum((Fraction(a) * v for a, v in zip(row, x, strict=True)), start=-Fraction(r))
        for row, r in zip(rows.tolist(), right.tolist(), strict=True)
    ]


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e9])
@pytest.mark.parametrize("seed", range(5))
def test_where_the_search_gave_up_an_interior_point_helps(seed: int, scale: float) -> None:
    """A degenerate vertex of 60 rows, missed by rounding; one column differs in size."""
    random = np.random.default_rng(seed)
    vertex = random.normal(size=20)
    rows = random.normal(size=(60, 20))
    rows[:, 0] *= scale
    vertex[0] /= scale
    rows *= np.where(rows @ (random.normal(size=20) * np.abs(vertex)) > 0.0, 1.0, -1.0)[:, None]
    right, free = rows @ vertex, np.full(20, np.inf)
    given = Restrictions(rows, right, np.zeros(60, dtype=bool), -free, free)
    off = NearestPoint(vertex, np.zeros(20), np.zeros(60), blocked=0)
    proven = prove_rows(given, off)
    assert proven.blocked is None
    assert max(violations(rows, right, proven)) <= 0
    assert (
        np.abs(proven.change) <= 1e-11 * np.abs(vertex).max() * np.array([1 / scale] + 19 * [1])
    ).all()


@pytest.mark.parametrize("power", [-20, -60, -200])
@pytest.mark.parametrize("seed", range(3))
def test_rows_that_contradict_each_other_have_no_interior(seed: int, power: int) -> None:
    """``g'x <= 0`` and ``-g'x <= -2^power``, among rows that have room."""
    random = np.random.default_rng(seed)
    x, rows = random.integers(-8, 9, 6).astype(float), random.integers(-8, 9, (10, 6)).astype(float)
    rows[0, 0] = 8.0
    x[0] -= rows[0] @ x / 8.0  # exactly on both rows, but for the second one's right-hand side
    rows, right = np.vstack([rows, -rows[0]]), rows @ x + 1.0
    right[0], free = 0.0, np.full(6, np.inf)
    binds = np.zeros(11, dtype=bool)
    given = Restrictions(rows, np.append(right, -(2.0**power)), binds, -free, free)
    for blocked in (None, 0):
        off = NearestPoint(x, np.zeros(6), np.zeros(11), blocked=blocked)
        proven = prove_rows(given, off)
        assert proven.blocked is not None or proven.left.any(), blocked


@pytest.mark.parametrize("seed", range(12))
def test_multipliers_of_rows_that_the_point_misses_have_their_price(seed: int) -> None:
    """``t + v = 1`` is missed by 5e-7 at (0, 1 + 5e-7), and its multiplier is -1e4.

    The other variables have a thin set of feasible values, near which the search gives up.
    """
    miss, price, slope, curvature = 5e-7, 1e4, 4.0, 1e4
    random = np.random.default_rng(seed)
    k, m = int(random.integers(2, 4)), int(random.integers(4, 9))
    R, d = random.normal(size=(m, k)), random.normal(size=k)
    R *= np.where(R @ d > 0.0, 1.0, -1.0)[:, None]
    w, off = random.normal(size=k), 4e-9 * random.random(m)
    x = np.concatenate([[0.0, 1.0 + miss, 1e-310, 0.5], w, [1.0]])
    n = len(x)
    G, h, A = np.zeros((4 + m, n)), np.zeros(4 + m), np.zeros((1, n))
    G[0, :2], h[0] = [1.0 - slope / price, 1.0], 1.0 + miss
    G[1, 2], h[1] = 1.0, 1e-310
    G[2, 2:4], h[2] = 1.0, 1.0
    G[3:-1, 4:-1], h[3:-1] = R, R @ w - off
    G[-1], h[-1] = -G[3], -h[3] + 8e-9
    A[0, :2], P, q = 1.0, np.zeros((n, n)), np.zeros(n)
    P[1, 1], q[0], q[1] = curvature, slope, -curvature * (1.0 + miss)
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    lower[-1] = upper[-1] = 1.0
    upper[0] = [0.0, 1e-9, 1e-8][seed % 3]
    program = QuadraticProgram(P, q, G, h, A, [1.0], lower, upper)
    z, at = np.zeros(4 + m), slope / curvature + miss
    z[0] = 1.0 / (miss / slope + 1.0 / price)
    found = bound(program, x, z, np.array([-z[0] * (1.0 + miss)]))[0]
    better = -slope * at + 0.5 * curvature * ((1.0 + at) ** 2 - 2.0 * (1.0 + at) * (1.0 + miss))
    assert found.lower - found.rounding <= better + 1e-9


@pytest.mark.exhaustive
def test_a_convex_curve_of_many_points_has_a_certified_fit() -> None:
    """Thousands of dependent rows are active at the optimum, and no basis of them is tried."""
    n = 700
    t = np.linspace(-1.0, 1.0, n)
    bends = sp.diags_array([-1e3, 2e3, -1e3], offsets=[0, 1, 2], shape=(n - 2, n))
    steep = sp.diags_array([-1e3, 1e3], offsets=[0, 1], shape=(n - 1, n))
    G = sp.vstack([bends, steep, -steep], format="csr")
    h = np.concatenate([np.zeros(n - 2), np.full(2 * (n - 1), 2.4e4)])
    program = QuadraticProgram(sp.eye_array(n, format="csr"), -1e4 * np.sin(5.0 * t), G, h)
    solution = qpsvm.solve(program, backend="cvxpy:CLARABEL", eps=1e-6)
    assert solution.status is Status.OPTIMAL


@listed("n_rows", [300, 450], quick=1)
def test_repeated_rows_without_curvature_are_no_obstacle(n_rows: int) -> None:
    """More conditions on y than y has entries, which hold exactly; the rest has curvature."""
    random = np.random.default_rng(0)
    flat = n_rows + n_rows // 4
    ends = random.integers(0, n_rows, (flat, 2))
    columns = np.arange(flat)
    A = sp.csr_array(
        (
            np.concatenate([np.ones(flat), -np.ones(flat)]),
            (ends.T.ravel(), np.concatenate([columns, columns])),
        ),
        shape=(n_rows, flat),
    )
    curved = sp.random_array((n_rows, 500), density=0.01, rng=random, format="csr")
    A = sp.hstack([A, curved], format="csr")
    diagonal = np.concatenate([np.zeros(flat), np.ones(500)])
    x, y = random.integers(-9, 9, flat + 500) / 8.0, random.integers(1, 9, n_rows) / 8.0
    q = -(diagonal * x) - A.T @ y
    q[:flat] = -(A[:, :flat].T @ y)
    program = QuadraticProgram(sp.diags_array(diagonal, format="csr"), q, A=A, b=A @ x)
    moved, none = x + 1e-12 * random.normal(size=len(x)), np.zeros(len(x))
    given = QPSolution(Status.UNKNOWN, moved, none[:0], y + 1e-13, none, none)
    report = qpsvm.verify(program, given, eps=1e-9)
    assert report.passed, report
