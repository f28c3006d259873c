"""Numbers of twice the precision, beside rational numbers and decimals of 60 digits."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from qpsvm.numerics import precision
from qpsvm.numerics.precision import DoubleDouble, FixedPoint, centred


def numbers(seed: int, size: int = 200) -> DoubleDouble:
    rng = np.random.default_rng(seed)
    hi = rng.normal(size=size) * 10.0 ** rng.uniform(-20.0, 20.0, size)
    return precision.two_sum(hi, hi * rng.uniform(-1.0, 1.0, size) * 2.0**-54)


def exact(x: DoubleDouble) -> list[Fraction]:
    pairs = zip(np.ravel(x.hi).tolist(), np.ravel(x.lo).tolist(), strict=True)
    return [Fraction(hi) + Fraction(lo) for hi, lo in pairs]


def worst(found: DoubleDouble, expected: list[Fraction]) -> Fraction:
    pairs = zip(exact(found), expected, strict=True)
    return max(abs(a - b) / abs(b) if b else abs(a) for a, b in pairs)


@pytest.mark.parametrize("degree", [1, 2, 3, 5, 8, 9])
def test_powers_keep_a_hundred_bits(degree: int) -> None:
    x = numbers(degree)
    x = DoubleDouble(*(part / np.abs(x.hi) ** 0.9 for part in x))
    expected = [a**degree for a in exact(x)]
    assert worst(precision.power(x, degree), expected) < degree * Fraction(2) ** -100


def test_products_and_factors_keep_a_hundred_bits() -> None:
    x, y, factor = numbers(1), numbers(2), 0.1
    products = [a * b for a, b in zip(exact(x), exact(y), strict=True)]
    assert worst(precision.times(x, y), products) < Fraction(2) ** -100
    multiples = [a * Fraction(factor) for a in exact(x)]
    assert worst(precision.scaled(x, factor), multiples) < Fraction(2) ** -100


def test_the_exponential_is_as_accurate_as_it_says() -> None:
    rng = np.random.default_rng(0)
    hi = -np.concatenate([rng.uniform(0.0, 50.0, 300), 10.0 ** rng.uniform(-20.0, 2.8, 300), [0.0]])
    x = DoubleDouble(hi, hi * rng.uniform(-1.0, 1.0, len(hi)) * 2.0**-54)
    with localcontext() as context:
        context.prec = 60
        expected = [Fraction((Decimal(h) + Decimal(e)).exp()) for h, e in zip(*x, strict=True)]
    assert worst(precision.exp(x), expected) < Fraction(precision.EXP_ERROR)


def test_exponents_beyond_all_doubles_leave_next_to_nothing() -> None:
    x = DoubleDouble(np.array([-1e300, -np.inf, -701.0]), np.array([1e280, 0.0, 0.0]))
    found = precision.exp(x)
    assert (np.abs(found.hi) + np.abs(found.lo) < 1e-300).all()
    assert np.isnan(precision.exp(DoubleDouble(np.full(1, np.nan), np.zeros(1))).hi).all()


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e9, 1e15])
@pytest.mark.parametrize("outlier", [0.0, 1e12])
def test_products_and_distances_have_the_accuracy_that_is_asked_for(
    offset: float, outlier: float
) -> None:
    rng = np.random.default_rng(3)
    X = offset + rng.normal(size=(4, 5))
    Z = np.vstack([X[:1], offset + rng.normal(size=(5, 5))])
    Z[1, 2] += outlier
    centre = np.full(5, 0.3 * offset)
    smallest = 1e-18
    pairs = [centred(S, centre) for S in (X, Z)]
    scale = FixedPoint.of(max(float(np.max(np.abs(p.hi))) for p in pairs), 5, smallest, 24)
    assert scale is not None
    assert scale.error <= smallest
    x, z = (scale.digits(pair) for pair in pairs)
    moved = [
        [[Fraction(v) - Fraction(c) for v, c in zip(row, centre, strict=True)] for row in S]
        for S in (X, Z)
    ]
    products = [sum(a * b for a, b in zip(r, s, strict=True)) for r in moved[0] for s in moved[1]]
    distances = [
        sum((a - b) ** 2 for a, b in zip(r, s, strict=True)) for r in moved[0] for s in moved[1]
    ]
    for found, expected in (
        (scale.products(x, z), products),
        (scale.squared_distances(x, z), distances),
    ):
        for a, b in zip(exact(found), expected, strict=True):
            assert abs(a - b) <= Fraction(smallest) + abs(b) * Fraction(2) ** -95


def test_a_scale_that_needs_too_many_digits_is_refused() -> None:
    assert FixedPoint.of(1e200, 3, 1e-10, 24) is None
    assert FixedPoint.of(np.inf, 3, 1e-10, 24) is None
    assert FixedPoint.of(1.0, 3, 0.0, 24) is None
