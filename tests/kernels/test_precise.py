"""Kernel values and expansions beside exact ones, on samples that lose digits."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from qpsvm import kernels
from qpsvm.kernels.errors import diagonal_errors, entry_errors, precise_expansion
from qpsvm.numerics import compensated
from qpsvm.numerics.arrays import as_dense
from qpsvm.numerics.balls import U
from qpsvm.numerics.compensated import FEW_TERMS, precise_product, summation_errors
from qpsvm.numerics.threads import one_blas_thread
from tests.strategies import grid

DIGITS = 80


def fractions(X: Any) -> list[list[Fraction]]:
    return [[Fraction(float(v)) for v in row] for row in np.asarray(X)]


def decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def exact_value(kernel: Any, x: list[Fraction], z: list[Fraction]) -> Fraction:
    """The kernel function of two samples, to 80 digits."""
    if isinstance(kernel, kernels.RBF):
        square = sum((a - b) ** 2 for a, b in zip(x, z, strict=True))
        exponent = -Fraction(kernel.gamma) * square
        with localcontext() as context:
            context.prec = DIGITS
            return Fraction(decimal(exponent).exp()) if exponent > -2000 else Fraction(0)
    value = sum(a * b for a, b in zip(x, z, strict=True))
    if isinstance(kernel, kernels.Linear):
        return value
    argument = Fraction(kernel.gamma) * value + Fraction(kernel.coef0)
    return argument ** int(kernel.degree)


def samples(seed: int, kind: str) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(int(rng.integers(2, 9)), int(rng.integers(1, 5))))
    if kind.startswith("offset"):
        X += float(kind.split()[1])
    if kind.startswith("outlier"):
        X[0, 0] = float(kind.split()[1])
    if kind == "near copies":
        X[1:] = np.nextafter(1e3 * X[:1], np.inf) + 1e-9 * X[1:]
    if kind == "sizes":
        X *= 10.0 ** rng.uniform(-8.0, 8.0, X.shape[0])[:, None]
    return X


KINDS = [
    "plain",
    *(f"offset {offset:g}" for offset in (1e3, 1e6, 1e9)),
    *(f"outlier {outlier:g}" for outlier in (1e6, 1e12, 1e15)),
    "near copies",
    "sizes",
]

ANY = [
    *(kernels.RBF(gamma) for gamma in (1e-6, 0.3, 40.0, 1e6)),
    *(kernels.Polynomial(gamma, degree, 1.0) for gamma, degree in ((1e-3, 2), (0.5, 3), (0.2, 9))),
]


@grid("kind, kernel, seed", product(KINDS, ANY, range(4)))
def test_every_value_is_within_its_error_bound(kind: str, kernel: Any, seed: int) -> None:
    X = samples(seed, kind)
    rows = fractions(X)
    exact = [[exact_value(kernel, x, z) for z in rows] for x in rows]
    for given in (X, sp.csr_array(X)):
        K, errors = kernel(given, given), entry_errors(kernel, given, given)
        relative = np.add.outer(errors.rows, errors.columns) + np.outer(errors.rows, errors.columns)
        allowed = relative * np.abs(K) + np.outer(errors.left, errors.right) + 1e-300
        for i, j in np.ndindex(K.shape):
            assert abs(Fraction(float(K[i, j])) - exact[i][j]) <= Fraction(float(allowed[i, j]))
        if isinstance(kernel, kernels.RBF):
            assert relative.max() < 1e-12  # bounds that are worth something, whatever the samples
    values = np.diagonal(kernel(X, X))
    for i, error in enumerate(diagonal_errors(kernel, X, values)):
        assert abs(Fraction(float(values[i])) - exact[i][i]) <= Fraction(float(error)) + Fraction(
            1, 10**300
        )


@grid("kind, kernel, seed", product(KINDS, [*ANY, kernels.Linear()], range(4)))
def test_precise_sums_are_within_their_bounds(kind: str, kernel: Any, seed: int) -> None:
    Z = samples(seed, kind)
    rng = np.random.default_rng(seed)
    X = np.vstack([Z[:1], Z[-1:] + rng.normal(size=(2, Z.shape[1]))])
    beta = rng.normal(size=len(Z)) * 10.0 ** rng.uniform(-3.0, 3.0, len(Z))
    left, right, weights = fractions(X), fractions(Z), [Fraction(float(b)) for b in beta]
    if isinstance(kernel, kernels.Linear):
        w = Z.T @ beta
        found = precise_product(as_dense(X), w)
        exact = [sum(a * Fraction(float(b)) for a, b in zip(x, w, strict=True)) for x in left]
    else:
        sums = precise_expansion(kernel, X, Z, beta)
        assert sums is not None
        found = sums
        exact = [
            sum(exact_value(kernel, x, z) * b for z, b in zip(right, weights, strict=True))
            for x in left
        ]
    for hi, lo, error, value in zip(*found, exact, strict=True):
        assert abs(Fraction(float(hi)) + Fraction(float(lo)) - value) <= Fraction(float(error))
        size = float(
            sum(
                abs(exact_value(kernel, left[0], z) * b)
                for z, b in zip(right, weights, strict=True)
            )
        )
        assert not isinstance(kernel, kernels.RBF) or error <= 1e-15 * max(
            size, np.sum(np.abs(beta))
        )


@pytest.mark.parametrize("pieces", [1, 3, 16, 64])
def test_precise_sums_of_many_pieces_are_within_their_bounds(pieces: int) -> None:
    """One large term in each piece, and many equal ones below its leading digits."""
    small = 0.999 * 2.0**-21
    weights = np.full(FEW_TERMS * pieces, small)
    weights[::FEW_TERMS] = 1.0
    found = precise_product(np.ones((1, len(weights))), weights)
    exact = pieces + (len(weights) - pieces) * Fraction(small)
    assert abs(Fraction(found.hi[0]) + Fraction(found.lo[0]) - exact) <= Fraction(found.error[0])
    assert found.error[0] <= 1e-17 * pieces * float(exact)


@pytest.mark.parametrize("size", [1e-150, 1e-160, 1e-161, 1e-162, 1e-320])
def test_sums_of_terms_that_underflow_are_within_their_bounds(size: float) -> None:
    rng = np.random.default_rng(0)
    A, weights = size * rng.normal(size=(20, 7)), 1e-161 * rng.normal(size=7)
    found, sizes = compensated.product(A, weights[:, None])[:, 0], np.abs(A) @ np.abs(weights)
    bounds = summation_errors(sizes, np.abs(weights), np.max(np.abs(A), axis=1))
    bounds += U * np.abs(found)
    precise = precise_product(A, weights)
    for i, row in enumerate(fractions(A)):
        exact = sum(a * Fraction(float(b)) for a, b in zip(row, weights, strict=True))
        assert abs(Fraction(float(found[i])) - exact) <= Fraction(float(bounds[i]))
        value = Fraction(float(precise.hi[i])) + Fraction(float(precise.lo[i]))
        assert abs(value - exact) <= Fraction(float(precise.error[i]))


@pytest.mark.parametrize("kernel", [kernels.RBF(1e-3), kernels.Polynomial(1e-310, 1)])
def test_precise_values_that_underflow_are_within_their_bounds(kernel: Any) -> None:
    rng = np.random.default_rng(0)
    X, beta = rng.normal(size=(6, 2)), rng.normal(size=6)
    if isinstance(kernel, kernels.RBF):
        X, beta = 700.0 * X, 1e-200 * beta
    sums = precise_expansion(kernel, X, X, beta)
    assert sums is not None
    rows, weights = fractions(X), [Fraction(float(b)) for b in beta]
    for x, hi, lo, error in zip(rows, *sums, strict=True):
        terms = (exact_value(kernel, x, z) * b for z, b in zip(rows, weights, strict=True))
        exact = sum(terms, Fraction(0))
        assert abs(Fraction(float(hi)) + Fraction(float(lo)) - exact) <= Fraction(float(error))


def test_precise_sums_have_the_same_bits_with_any_number_of_threads() -> None:
    rng = np.random.default_rng(0)
    X, Z, beta = rng.normal(size=(70, 6)), rng.normal(size=(1300, 6)), rng.normal(size=1300)
    for kernel in (kernels.RBF(0.2), kernels.Polynomial(0.3, 3, 1.0)):
        whole = precise_expansion(kernel, X, Z, beta)
        with one_blas_thread():
            again = precise_expansion(kernel, X, Z, beta)
        assert whole is not None
        assert again is not None
        np.testing.assert_array_equal(whole.hi, again.hi)
        np.testing.assert_array_equal(whole.lo, again.lo)


def test_a_kernel_without_further_digits_says_so() -> None:
    class Own(kernels.RBF):
        """Its values are what they are."""

    X = np.zeros((2, 1))
    for kernel in (Own(1.0), kernels.Sigmoid(1.0), kernels.Precomputed()):
        assert precise_expansion(kernel, X, X, np.ones(2)) is None
    for kernel in (kernels.RBF(1e-300), kernels.Polynomial(1e-300)):
        assert precise_expansion(kernel, X + 1e200, X, np.ones(2)) is None
