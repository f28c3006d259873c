"""Residuals that are rounded once, against rational numbers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from qpsvm.numerics.compensated import row_residuals
from qpsvm.numerics.precision import product_parts

NUMBERS = st.floats(-1e12, 1e12).filter(lambda v: v == 0.0 or abs(v) > 1e-12)


@given(a=NUMBERS, b=NUMBERS)
def test_a_product_and_its_error_add_up_exactly(a: float, b: float) -> None:
    p, e = product_parts(np.array([a]), np.array([b]))
    assert Fraction(float(p[0])) + Fraction(float(e[0])) == Fraction(a) * Fraction(b)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array, sp.csc_array])
@given(
    rows=st.lists(st.lists(NUMBERS, min_size=4, max_size=4), min_size=1, max_size=3), data=st.data()
)
def test_residuals_are_the_exact_ones_rounded(storage: Any, rows: Any, data: st.DataObject) -> None:
    x = data.draw(st.lists(NUMBERS, min_size=4, max_size=4))
    right = data.draw(st.lists(NUMBERS, min_size=len(rows), max_size=len(rows)))
    found = row_residuals(storage(np.array(rows)), np.array(x), np.array(right))
    for row, r, value in zip(rows, right, found.value, strict=True):
        exact = sum((Fraction(a) * Fraction(v) for a, v in zip(row, x, strict=True)), -Fraction(r))
        assert float(value) == float(exact)


def test_what_overflows_is_not_a_number() -> None:
    assert np.isnan(row_residuals(np.array([[1e300]]), np.array([1e300]), np.zeros(1)).value[0])


TINY = st.floats(-1.0, 1.0).map(lambda v: v * 2.0**-520)


@given(row=st.lists(TINY, min_size=4, max_size=4), x=st.lists(TINY, min_size=4, max_size=4))
def test_residuals_whose_products_underflow_are_within_their_error(row: Any, x: Any) -> None:
    found = row_residuals(np.array([row]), np.array(x), np.zeros(1))
    exact = sum(Fraction(a) * Fraction(v) for a, v in zip(row, x, strict=True))
    assert abs(Fraction(float(found.value[0])) - exact) <= Fraction(float(found.error[0]))
