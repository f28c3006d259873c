"""Leverages: the quadratic form of an inverse Hessian."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from qpsvm.chunked.machine import Leverage


def hessian(d: int, seed: int = 0) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(3 * d, d))
    rows[:, 0] *= 1e4
    return np.asarray(rows.T @ rows)


@pytest.mark.parametrize("has_intercept", [True, False])
@pytest.mark.parametrize("as_matrix", [np.asarray, sp.csr_array])
def test_roots_are_those_of_the_inverse(has_intercept: bool, as_matrix: type) -> None:
    H, X = hessian(5), np.random.default_rng(1).normal(size=(20, 4))
    leverage = Leverage.of_hessian(H, 0.0, has_intercept=has_intercept)
    assert leverage is not None
    rows = np.column_stack([X, np.ones(20)]) if has_intercept else X
    used = rows.shape[1]
    expected = np.einsum("ij,jk,ik->i", rows, np.linalg.inv(H[:used, :used]), rows)
    np.testing.assert_allclose(leverage.roots(as_matrix(X)) ** 2, expected, rtol=1e-10)
    np.testing.assert_allclose(leverage.divided(3.0).roots(X), np.sqrt(expected) / 3.0, rtol=1e-10)


def test_roots_do_not_depend_on_the_units_of_features() -> None:
    H, X = hessian(5), np.random.default_rng(1).normal(size=(20, 4))
    units = np.array([1e-6, 1e3, 1.0, 7.0, 1.0])
    one = Leverage.of_hessian(H, 1e-10, has_intercept=True)
    other = Leverage.of_hessian(H * units * units[:, None], 1e-10, has_intercept=True)
    assert one is not None
    assert other is not None
    np.testing.assert_allclose(other.roots(X * units[:-1]), one.roots(X), rtol=1e-8)


@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0, 0.0])
def test_a_matrix_that_is_no_hessian_has_no_leverages(value: float) -> None:
    H = np.eye(3)
    H[1, 1] = value
    assert Leverage.of_hessian(H, 0.0, has_intercept=True) is None


def test_equal_leverages_are_one() -> None:
    assert (Leverage.equal().roots(np.ones((3, 2))) == 1.0).all()
