"""Factors that are used again for another set of variables, against factors made anew."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qpsvm.numerics.cholesky import UNDIVIDED, Bordered, Cholesky, Memory, factored_in_place
from qpsvm.solvers.box.curvature import DenseCurvature
from qpsvm.solvers.box.settings import BOX
from tests.strategies import listed
from tests.tolerances import ROUNDING

UPDATED = BOX.changes_per_update
HALF = 200
N = 2 * HALF


def matrix(seed: int, rank: int = 40) -> np.ndarray:
    F = np.random.default_rng(seed).normal(size=(N, rank)) / np.sqrt(rank)
    return F @ F.T


@given(
    st.integers(0, 10**6),
    st.integers(0, HALF // UPDATED // 2),
    st.integers(0, HALF // UPDATED // 2),
    st.sampled_from([1.0, 1e-2, 1e-5]),
    st.sampled_from([(), (1,), (3,)]),
)
def test_a_few_variables_more_and_a_few_less(seed, n_added, n_removed, sigma, shape) -> None:
    """What both find leaves the same residual: rounding in terms of the condition number."""
    rng, P = np.random.default_rng(seed), matrix(seed)
    order = rng.permutation(N)
    factored = np.sort(order[: HALF + 20])
    free = np.sort(np.concatenate([order[n_removed : HALF + 20], order[-n_added or N :]]))
    curvature = DenseCurvature(P)
    assert isinstance(curvature.factor(factored, sigma), Cholesky)
    solve = curvature.factor(free, sigma)
    assert isinstance(solve, Bordered if n_added + n_removed else Cholesky)
    r = rng.normal(size=(len(free), *shape))
    system = P[np.ix_(free, free)] + sigma * np.eye(len(free))
    x = solve(r)
    assert x.shape == r.shape
    assert np.abs(system @ x - r).max() <= ROUNDING * np.abs(x).max() * len(free)


def test_after_many_changes_or_another_sigma_the_factor_is_new() -> None:
    curvature, every = DenseCurvature(matrix(0)), np.arange(N)
    curvature.factor(every, 1.0)
    assert isinstance(curvature.factor(every[: -N // UPDATED], 1.0), Bordered)
    assert isinstance(curvature.factor(every[: N - N // UPDATED - 1], 1.0), Cholesky)
    assert isinstance(curvature.factor(every[:-1], 0.1), Cholesky)


def test_where_the_complement_is_singular_the_factor_is_new() -> None:
    P = np.zeros((N, N))
    P[:HALF, :HALF] = np.eye(HALF)
    curvature = DenseCurvature(P)
    first = np.arange(HALF + 1)
    curvature.factor(first[:-1], 0.0)
    with pytest.raises(np.linalg.LinAlgError):
        curvature.factor(first, 0.0)


def test_nothing_to_factor() -> None:
    assert Cholesky(np.empty((0, 0)), 1.0)(np.empty(0)).shape == (0,)


def test_memory_is_written_to_again_and_grows() -> None:
    memory = Memory()
    one = memory.matrix("one", 4, 5)
    one[:] = 1.0
    assert np.shares_memory(memory.matrix("one", 2, 3), one)
    assert not np.shares_memory(memory.matrix("two", 2, 3), one)
    assert memory.matrix("one", 10, 10).shape == (10, 10)


@listed("n", [UNDIVIDED, UNDIVIDED + 1, UNDIVIDED + 700], quick=2)
def test_blocks_make_the_same_factor(n: int) -> None:
    rng = np.random.default_rng(n)
    F = rng.standard_normal((n, 30))
    matrix = F @ F.T + np.eye(n)
    upper = np.triu(factored_in_place(matrix.copy()))
    assert np.abs(upper.T @ upper - matrix).max() <= 1e-12 * np.abs(matrix).max()
    factor, right = Cholesky(matrix.copy(), 0.0), rng.standard_normal((n, 700))
    half = factor.half(np.asfortranarray(right))
    assert np.abs(upper.T @ half - right).max() <= 1e-10


def test_large_matrices_that_are_not_definite_are_refused() -> None:
    matrix = np.eye(UNDIVIDED + 100)
    matrix[-1, -1] = -1.0
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        factored_in_place(matrix)
