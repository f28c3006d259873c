"""Offsets taken out of programs: the same optimum, both ways, and nothing where there is none."""

from __future__ import annotations

import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from qpsvm.numerics.rows import common_offset, sum_of_rows
from qpsvm.numerics.single_precision import SinglePrecision
from qpsvm.qp import LowRankQuadratic, QPSolution, QuadraticProgram, Status, residuals
from qpsvm.qp.reductions import centre
from tests.strategies import examples
from tests.tolerances import TRANSFORMED

STORAGES = ("dense", "sparse", "single")


def stored(X: Any, storage: str) -> Any:
    if storage == "sparse":
        return sp.csr_array(X)
    return SinglePrecision(X.astype(np.float32)) if storage == "single" else X.copy()


def dual(seed: int, offset: float, storage: str = "dense", *, pairs: bool = False) -> Any:
    """A program with ``P = F F' + diag(d)`` and one equality row, and its exact solution.

    Whole numbers, so that nothing rounds: point, multipliers and samples come first, q and b follow
    from stationarity and feasibility.
    """
    rng = np.random.default_rng(seed)
    n, r = int(rng.integers(3, 9)), int(rng.integers(1, 4))
    X = rng.integers(-4, 5, size=(n, r)) + offset
    index = np.concatenate([np.arange(n), np.arange(n)]) if pairs else None
    signs = np.repeat([1.0, -1.0], n) if pairs else rng.choice([-1.0, 1.0], n)
    N = len(signs)
    P = LowRankQuadratic(stored(X, storage), rng.integers(0, 3, N) * 1.0, signs=signs, index=index)
    x = rng.integers(0, 4, N) * 1.0
    y = rng.integers(-3, 4, 1) * 1.0
    z_lower = np.where(x == 0.0, rng.integers(0, 3, N), 0.0)
    z_upper = np.where(x == 3.0, rng.integers(0, 3, N), 0.0)
    q = -(P.matvec(x) + signs * y[0] - z_lower + z_upper)
    A = signs[None, :]
    program = QuadraticProgram(P, q, A=A, b=A @ x, lb=np.zeros(N), ub=np.full(N, 3.0))
    none = np.zeros(0)
    return program, QPSolution(Status.OPTIMAL, x, none, y, z_lower, z_upper)


def primal(seed: int, offset: float, storage: str = "dense") -> Any:
    """A program with a free variable without curvature, and its exact solution."""
    rng = np.random.default_rng(seed)
    m, r = int(rng.integers(3, 9)), int(rng.integers(1, 4))
    signs = rng.choice([-1.0, 1.0], m)
    X = rng.integers(-4, 5, size=(m, r)) + offset
    rows = -signs[:, None] * np.hstack([X, np.ones((m, 1))])
    P = np.diag([1.0] * r + [0.0])
    x, z = rng.integers(-3, 4, r + 1) * 1.0, rng.integers(0, 3, m) * 1.0
    slack = np.where(z > 0.0, 0.0, rng.integers(0, 3, m))
    G = sp.csc_array(rows) if storage == "sparse" else rows
    q, h = -(P @ x + rows.T @ z), rows @ x + slack
    P = sp.csc_array(P) if storage == "sparse" else P
    none = np.zeros(r + 1)
    return QuadraticProgram(P, q, G, h), QPSolution(Status.OPTIMAL, x, z, np.zeros(0), none, none)


def agree(first: QPSolution, second: QPSolution, offset: float) -> None:
    for name in ("x", "z", "y", "z_lower", "z_upper"):
        np.testing.assert_allclose(
            getattr(first, name), getattr(second, name), rtol=0.0, atol=TRANSFORMED * offset**2
        )


@given(st.integers(0, 2**32 - 1), st.sampled_from(STORAGES), st.booleans())
@settings(max_examples=examples(60))
def test_a_dual_program_without_its_offset_has_the_same_optimum(
    seed: int, storage: str, pairs: bool
) -> None:
    program, exact = dual(seed, 256.0, storage, pairs=pairs)
    centred, inverse = centre(program)
    assert centred is not program
    assert residuals(program, exact).worst < TRANSFORMED
    there = inverse.forward(exact)
    assert residuals(centred, there).worst < TRANSFORMED
    assert residuals(program, inverse(there)).worst < TRANSFORMED
    agree(inverse(there), exact, 256.0)
    np.testing.assert_array_equal(inverse(there).x, exact.x)


@given(st.integers(0, 2**32 - 1), st.sampled_from(("dense", "sparse")))
@settings(max_examples=examples(60))
def test_a_primal_program_without_its_offset_has_the_same_optimum(seed: int, storage: str) -> None:
    program, exact = primal(seed, 256.0, storage)
    centred, inverse = centre(program)
    assert centred is not program
    assert residuals(program, exact).worst < TRANSFORMED
    there = inverse.forward(exact)
    assert residuals(centred, there).worst < TRANSFORMED
    assert residuals(program, inverse(there)).worst < TRANSFORMED
    agree(inverse(there), exact, 256.0)
    assert centred.objective(there.x) == pytest.approx(program.objective(exact.x), rel=TRANSFORMED)


def test_rows_of_constraints_keep_no_offset_where_the_equality_has_no_entry() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) + 1e5
    factor = np.vstack([X, [[1.0, -1.0, 0.0]]])
    a = np.append(np.ones(40), 0.0)
    program = QuadraticProgram(
        LowRankQuadratic(factor), np.zeros(41), A=a[None, :], b=[1.0], lb=0.0
    )
    centred = centre(program)[0]
    np.testing.assert_array_equal(centred.P.factor[-1], factor[-1])  # type: ignore[attr-defined]
    assert abs(centred.P.factor[:-1]).max() < 10.0  # type: ignore[attr-defined]


def test_the_centred_factor_is_exact() -> None:
    program, _ = dual(3, 2.0**30)
    centred, inverse = centre(program)
    c = inverse.c  # type: ignore[attr-defined]
    X, Y = program.P.samples, centred.P.samples  # type: ignore[attr-defined]
    for row, left in zip(X, Y, strict=True):
        for entry, mean, value in zip(row, c, left, strict=True):
            assert Fraction(entry) - Fraction(mean) == Fraction(value)


@pytest.mark.parametrize("offset", [0.0, 5.0])
def test_ordinary_programs_stay_the_very_object(offset: float) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 3)) + offset
    a = np.ones((1, 50))
    program = QuadraticProgram(LowRankQuadratic(X), np.zeros(50), A=a, b=[0.0])
    assert centre(program)[0] is program
    rows = QuadraticProgram(np.diag([1.0, 1.0, 1.0, 0.0]), np.ones(4), np.hstack([X, a.T]), a[0])
    assert centre(rows)[0] is rows


def test_sparse_columns_stay_sparse() -> None:
    X = sp.random_array((200, 30), density=0.05, rng=np.random.default_rng(2), format="csr")
    X = sp.csr_array(sp.hstack([X + 0.0, np.full((200, 1), 1e4)]))
    program = QuadraticProgram(LowRankQuadratic(X), np.zeros(200), A=np.ones((1, 200)), b=[0.0])
    centred = centre(program)[0]
    assert centred is not program
    assert centred.P.samples.nnz <= X.nnz  # type: ignore[attr-defined]


@pytest.mark.parametrize("status", [Status.PRIMAL_INFEASIBLE, Status.DUAL_INFEASIBLE])
def test_evidence_of_no_optimum_is_the_same_in_both_programs(status: Status) -> None:
    program, exact = dual(4, 1000.0)
    inverse = centre(program)[1]
    certificate = exact.replace(status=status)
    np.testing.assert_array_equal(inverse(certificate).y, certificate.y)


def test_missing_and_misshapen_vectors_come_back_missing() -> None:
    program, exact = dual(5, 1000.0)
    inverse = centre(program)[1]
    assert inverse(exact.replace(x=None)).y is None
    assert inverse(exact.replace(x=np.zeros(1))).y is None
    assert inverse(exact.replace(y=None)).y is None
    program, exact = primal(5, 1000.0)
    assert centre(program)[1](exact.replace(x=None)).x is None


def test_the_way_back_can_be_pickled() -> None:
    for program, exact in (dual(6, 1000.0), primal(6, 1000.0)):
        inverse = centre(program)[1]
        copy = pickle.loads(pickle.dumps(inverse))
        agree(copy(exact), inverse(exact), 1.0)


def test_sums_of_rows_keep_their_digits_under_an_offset() -> None:
    rng = np.random.default_rng(7)
    X, v = rng.normal(size=(500, 2)) + 1e8, rng.normal(size=500)
    v[-1] -= float(np.sum(v))
    exact = [sum(Fraction(a) * Fraction(b) for a, b in zip(c, v, strict=True)) for c in X.T]
    offset = common_offset(X)
    assert offset is not None
    errors = np.array(
        [float(Fraction(s) - e) for s, e in zip(sum_of_rows(X, v, offset), exact, strict=True)]
    )
    plain = np.array([float(Fraction(s) - e) for s, e in zip(X.T @ v, exact, strict=True)])
    assert np.max(np.abs(errors)) < 1e-3 * np.max(np.abs(plain))
    assert common_offset(X - 1e8) is None
    assert common_offset(sp.csr_array(X)) is None
