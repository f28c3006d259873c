"""Sums whose terms cancel, against exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qpsvm.kernels import Polynomial
from qpsvm.numerics import compensated
from qpsvm.numerics.compensated import sums_of_groups
from qpsvm.qp import SampleGram, sample_gram
from tests.tolerances import FINER

U = 2.0**-53


def dot(a, v):
    return sum((Fraction(x) * Fraction(y) for x, y in zip(a, v, strict=True)), Fraction(0))


def exactly(A, V):
    """``A V`` in rational arithmetic, and the sums of absolute terms."""
    return [[dot(row, column) for column in V.T] for row in A], np.abs(A) @ np.abs(V)


def errors(found, exact):
    """Of every entry, without rounding."""
    entries = [entry for row in exact for entry in row]
    pairs = zip(found.ravel().tolist(), entries, strict=True)
    return np.array([float(abs(Fraction(f) - e)) for f, e in pairs]).reshape(found.shape)


def cancelling_matrices(seed, spread=2.0):
    """Rows whose last term takes off nearly all that the others add up to."""
    rng = np.random.default_rng(seed)
    m, k, p = rng.integers(1, 5), rng.integers(2, 200), rng.integers(1, 4)
    A = rng.standard_normal((m, k)) * 10.0 ** rng.uniform(-spread, spread, (m, k))
    V = rng.standard_normal((k, p)) * 10.0 ** rng.uniform(-spread, spread, (k, p))
    V[-1] = 1.0
    A[:, -1] = -(A[:, :-1] @ V[:-1, 0])
    return A, V


def terms_at_most(A, V):
    """Upper bounds on the sums of absolute terms: every term as large as the largest."""
    return np.max(np.abs(A), axis=1)[:, None] * np.max(np.abs(V), axis=0) * A.shape[1]


@pytest.mark.parametrize("order", ["C", "F"])
@given(seed=st.integers(0, 2**32))
def test_many_more_digits_than_a_product_has(order, seed) -> None:
    A, V = cancelling_matrices(seed)
    exact, _ = exactly(A, V)
    found = compensated.product(np.asarray(A, order=order), V)
    assert (errors(found, exact) <= U * (FINER * terms_at_most(A, V) + np.abs(found))).all()


@given(st.integers(0, 2**32))
def test_never_fewer_digits_than_a_product_has(seed) -> None:
    """Whatever the range of the numbers: 80 orders of magnitude here."""
    A, V = cancelling_matrices(seed, spread=40.0)
    exact, terms = exactly(A, V)
    assert (errors(compensated.product(A, V), exact) <= A.shape[1] * U * terms).all()


@given(st.integers(0, 2**32))
def test_a_sum_in_parts_is_the_sum(seed) -> None:
    A, V = cancelling_matrices(seed)
    exact, _ = exactly(A, V)
    cut = A.shape[1] // 2
    total = compensated.Total((len(A), V.shape[1]))
    total.add(A[:, :cut], V[:cut])
    total.add(A[:, cut:], V[cut:])
    allowed = U * (FINER * terms_at_most(A, V) + np.abs(total.value))
    assert (errors(total.value, exact) <= allowed).all()


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_product_has_the_same_bits_whatever_it_is_computed_beside(order) -> None:
    A = np.asarray(np.random.default_rng(0).standard_normal((300, 700)), order=order)
    V = np.random.default_rng(1).standard_normal((700, 5)) * 10.0 ** np.arange(5)
    alone = [compensated.product(A, v[:, None])[:, 0] for v in V.T]
    np.testing.assert_array_equal(compensated.product(A, V), np.column_stack(alone))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_makes_no_other(bad) -> None:
    A, V = np.ones((3, 4)), np.ones((4, 2))
    A[1, 2] = bad
    found = compensated.product(A, V)
    assert not np.isfinite(found[1]).any()
    assert (found[[0, 2]] == 4.0).all()
    V[0, 1] = bad
    assert not np.isfinite(compensated.product(A, V)[:, 1]).any()


@pytest.mark.parametrize("size", [1e-310, 1e-160, 1e150, 1e300])
def test_numbers_at_the_end_of_the_range(size) -> None:
    A, V = np.full((2, 3), size), np.array([[1.0], [2.0], [-1.0]])
    np.testing.assert_allclose(compensated.product(A, V), 2.0 * A[:, :1], rtol=4 * U)


@pytest.mark.parametrize("shape", [(0, 3, 1), (3, 0, 2), (3, 2, 0)])
def test_nothing_to_add(shape) -> None:
    m, k, p = shape
    assert compensated.product(np.ones((m, k)), np.ones((k, p))).shape == (m, p)


@pytest.mark.parametrize("is_kept", [True, False])
def test_decision_values_have_the_digits_of_their_sums(is_kept, monkeypatch) -> None:
    """Kernel values that are exact, multiplied by weights of 10,000 that nearly cancel."""
    if not is_kept:
        monkeypatch.setattr(sample_gram, "KEPT_BYTES", 0)
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (60, 8))
    kernel = Polynomial(gamma=0.125, degree=3, coef0=1.0)
    v = 1e4 * rng.random(60)
    v[1::2] = -v[::2]
    X[1::2] = X[::2]
    v[1::2] += 1e-9 * rng.standard_normal(30)
    gram = SampleGram(kernel, X)
    exact, terms = exactly(kernel(X, X), v[:, None])
    assert gram.is_kept is False
    found = gram.product(v)[:, None]
    assert np.max(terms) > 1e12 * np.max(np.abs(found))
    assert (errors(found, exact) <= U * (FINER * terms + np.abs(found))).all()


@given(st.integers(0, 2**32))
def test_sums_of_groups_to_the_last_bit(seed) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 3000))
    group = rng.integers(0, 5, n)
    x = rng.random(5)[group] * 10.0 ** rng.uniform(-3.0, 3.0, 5)[group]  # thousands of equal ones
    found = sums_of_groups(group, x, 5)
    exact = np.array([math.fsum(x[group == g]) for g in range(5)])
    np.testing.assert_allclose(found, exact, rtol=2 * U)


def test_a_sum_of_one_is_that_one() -> None:
    x = np.array([np.inf, 0.1, 1e-300, -np.inf, 1e308])
    np.testing.assert_array_equal(sums_of_groups(np.arange(5), x, 5), x)
