"""Variables that are the same: found, made one, and shared out again."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from qpsvm.numerics.duplicates import Merged, first_equal
from tests.tolerances import ROUNDING


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_equal_variables_are_found_and_no_others(storage) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, (9000, 3)) * rng.choice([1e-12, 1.0, 1e17], (9000, 1))
    X[:, 0] *= 1e17  # would drown the others in a sum
    first = first_equal(storage(X), None, [np.ones(len(X))])
    _, own, inverse = np.unique(X, axis=0, return_index=True, return_inverse=True)
    np.testing.assert_array_equal(first, own[inverse.ravel()])


def drawn(seed: int):
    """Rows with copies; bounds and d of every kind: none, fixed, endless on either side."""
    rng = np.random.default_rng(seed)
    n = 60
    X = rng.integers(0, 2, (n, 3)).astype(float)
    q = rng.integers(0, 2, n).astype(float)
    lower = rng.choice([0.0, 0.0, -1.0, -np.inf], n)
    upper = rng.choice([1.0, 2.5, np.inf], n)
    fixed = rng.random(n) < 0.1
    lower[fixed] = upper[fixed] = 0.5
    d = rng.choice([0.0, 0.0, 2.0], n)
    endless = rng.random(n) < 0.3
    lower[endless], upper[endless] = 0.0, np.inf
    return rng, X, q, lower, upper, d


@given(st.integers(0, 10**6))
def test_the_program_of_sums_is_the_program(seed) -> None:
    rng, X, q, lower, upper, d = drawn(seed)
    merged = Merged.of(X, None, [q], (lower, upper), d)
    assert merged is not None
    K, group, kept = X @ X.T, merged.group, merged.kept

    def value(x):
        return 0.5 * x @ (K @ x + d * x) + q @ x

    def value_of_sums(S):
        P = K[np.ix_(kept, kept)] + np.diag(merged.diag)
        return 0.5 * S @ P @ S + q[kept] @ S

    low, high = np.maximum(merged.lower, -5.0), np.minimum(merged.upper, 90.0)
    S = low + rng.random(len(kept)) * (high - low)
    x = merged.undone(S)
    assert (x >= lower - ROUNDING).all()
    assert (x <= upper + ROUNDING).all()
    np.testing.assert_allclose(np.bincount(group, x), S, atol=100 * ROUNDING)
    assert value(x) == pytest.approx(value_of_sums(S), rel=ROUNDING, abs=ROUNDING)
    # and no other point with these sums is better
    other = np.clip(lower.clip(-5.0) + rng.random(len(q)) * 3.0, lower, upper)
    sums = np.bincount(group, other)
    assert value_of_sums(sums) <= value(other) * (1.0 + ROUNDING) + ROUNDING


def test_where_hardly_any_are_the_same_nothing_is_merged() -> None:
    X = np.arange(100.0)[:, None]
    X[1] = X[0]
    bounds = np.zeros(100), np.ones(100)
    assert Merged.of(X, None, [np.zeros(100)], bounds, np.zeros(100)) is None


def test_variables_share_samples() -> None:
    X, index = np.arange(10.0)[:, None], np.tile(np.arange(10), 3)
    signs = np.repeat([1.0, -1.0, 1.0], 10)
    merged = Merged.of(X, index, [signs], (np.zeros(30), np.ones(30)), np.zeros(30))
    assert merged is not None
    np.testing.assert_array_equal(merged.kept, np.arange(20))
    np.testing.assert_array_equal(merged.group, np.r_[:20, :10])
