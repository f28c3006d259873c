"""Kernel values and expansions beside exact ones, on samples that lose digits."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm import kernels
from qpsvm.kernels.errors import diagonal_errors, entry_errors, precise_expansion
from qpsvm.numerics.arrays import as_dense
from qpsvm.numerics.compensated import precise_product
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
