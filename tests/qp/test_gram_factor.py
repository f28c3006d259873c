"""A Gram matrix up to rounding has a factor, and a shift that makes it semidefinite."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from qpsvm.qp.convexity import gram_factor, is_semidefinite_exactly, of_matrix


@pytest.mark.parametrize("seed", range(10))
def test_the_shifted_matrix_is_semidefinite_in_rational_numbers(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((12, 3)) * 10.0 ** rng.integers(-2, 3, 3)
    P = X @ X.T
    P = np.tril(P) + np.tril(P, -1).T
    found = gram_factor(P)
    assert found is not None
    assert found.F.shape == (12, 3)
    exact = [[Fraction(v) for v in row] for row in P.tolist()]
    for i in range(12):
        exact[i][i] += Fraction(found.shift)
    shifted = np.array(exact, dtype=object)
    assert is_semidefinite_exactly(shifted)


def test_the_shift_is_smaller_than_that_of_a_cholesky_factorisation():
    X = np.random.default_rng(0).standard_normal((60, 4))
    P = X @ X.T
    found = of_matrix(np.tril(P) + np.tril(P, -1).T)
    assert found.factor is not None
    assert 0.0 < found.shift.max() < 8.0 * 2.0**-53 * np.linalg.norm(P)


@pytest.mark.parametrize("exponent", [-300, -100, 102, 300])
def test_the_factor_has_the_unit_of_the_matrix(exponent):
    X = np.random.default_rng(1).standard_normal((40, 3))
    P = X @ X.T
    P = np.tril(P) + np.tril(P, -1).T
    unit, scaled = of_matrix(P), of_matrix(np.ldexp(P, exponent))
    assert unit.factor is not None
    assert scaled.factor is not None
    np.testing.assert_allclose(np.ldexp(scaled.shift, -exponent), unit.shift, rtol=1e-6)
    np.testing.assert_allclose(
        scaled.factor @ scaled.factor.T, np.ldexp(P, exponent), rtol=1e-9, atol=0.0
    )
