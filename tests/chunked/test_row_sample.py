"""The random choice of rows: shares estimate sums without bias, and rare features are seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from qpsvm.chunked.contents import Contents
from qpsvm.chunked.totals import chosen_rows

N = 4000


def contents(X: Any) -> Contents:
    return Contents(X, None, np.ones(X.shape[0]))


def samples() -> np.ndarray:
    """Two common features, one that a row in a thousand has, and a column of zeros."""
    rng = np.random.default_rng(0)
    X = np.zeros((N, 4))
    X[:, :2] = rng.normal(size=(N, 2))
    X[::1000, 2] = 30.0
    return X


@pytest.mark.parametrize("as_matrix", [np.asarray, sp.csr_array])
def test_sums_are_estimated_without_bias(as_matrix: Any) -> None:
    X = as_matrix(samples())
    values = np.abs(samples()).sum(axis=1) + 1.0
    found = []
    for seed in range(400):
        rows, shares = chosen_rows(contents(X), 200, (7, seed))
        assert (np.diff(rows) > 0).all()
        assert np.sum(shares) == pytest.approx(N)
        assert 100 <= len(rows) <= 201
        found.append(values[rows] @ shares)
    error = np.std(found) / np.sqrt(len(found))
    assert abs(np.mean(found) - values.sum()) <= 4.0 * error


def test_rows_with_a_rare_feature_are_chosen_most_of_the_time() -> None:
    X = samples()
    counts = [np.sum(X[chosen_rows(contents(X), 200, (1, k))[0], 2] > 0.0) for k in range(50)]
    assert np.mean(counts) >= 3.5  # of four; 0.2 if all rows had the same chance


def test_few_rows_are_all_chosen() -> None:
    rows, shares = chosen_rows(contents(np.ones((5, 2))), 5, (0, 0))
    assert rows.tolist() == [0, 1, 2, 3, 4]
    assert (shares == 1.0).all()


@pytest.mark.parametrize("value", [0.0, 1e-320, 1e200])
def test_one_row_is_chosen_at_least(value: float) -> None:
    with np.errstate(over="ignore"):
        rows, shares = chosen_rows(contents(np.full((50, 2), value)), 1, (0, 0))
    assert len(rows) == 1
    assert shares.tolist() == [50.0]


def test_a_rare_class_has_a_tenth_of_the_rows_chosen() -> None:
    codes = (np.arange(N) % 1000 == 7).astype(np.intp)
    for seed in range(20):
        rows, shares = chosen_rows(contents(samples()), 200, (7, seed), codes)
        assert np.sum(codes[rows]) == 4
        assert np.sum(shares) == pytest.approx(N)
        assert len(rows) <= 221
    codes = (np.arange(N) % 2).astype(np.intp)  # classes that are not rare change nothing
    without = chosen_rows(contents(samples()), 200, (7, 0))
    assert all(map(np.array_equal, without, chosen_rows(contents(samples()), 200, (7, 0), codes)))
