"""Corrections of linear rows: their bounds hold, and what is proven of rows is true."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from qpsvm.numerics.compensated import row_residuals
from qpsvm.qp.restrictions import NearestPoint, Restrictions
from qpsvm.qp.row_proofs import prove_rows


@pytest.mark.parametrize("seed", range(20))
def test_an_exact_solution_lies_within_the_change_that_is_reported(seed: int) -> None:
    """Rows of whole numbers hold at x, and a change of 1e-25 misses them; some variables stay."""
    random = np.random.default_rng(seed)
    k, m = int(random.integers(1, 8)), int(random.integers(12, 20))
    rows, x = random.integers(-9, 10, (k, m)).astype(float), random.integers(1, 9, m).astype(float)
    if seed % 3 == 0:
        rows = np.vstack([rows, 2.0 * rows[0] - rows[-1]])  # follows from the others
    change, lower = 1e-25 * random.normal(size=m), np.where(random.random(m) < 0.5, x, -np.inf)
    change[lower == x] = 0.0
    equal = np.ones(len(rows), dtype=bool)
    given = Restrictions(rows, rows @ x, equal, lower, np.where(lower == x, x, np.inf))
    proven = prove_rows(given, NearestPoint(x, change, np.zeros(len(rows))))
    assert proven.is_exact
    size = (np.abs(proven.change) - np.abs(change)) * 1e25
    assert (size[lower == x] == 0.0).all()
    assert size.max() < 1e6
    box = np.column_stack([-size, size])
    assert linprog(np.zeros(m), A_eq=rows, b_eq=-rows @ (change * 1e25), bounds=box).status == 0


@pytest.mark.parametrize("at", [1.0, 3.0, 2.0**-6])
def test_a_change_that_cancels_the_rounded_residual_proves_nothing(at: float) -> None:
    """``x_1 + x_2 + 1e-30 x_3 = 0`` and ``x_1 + x_2 + 2e-30 x_3 = 1e-28``: ``x_3`` is 100.

    At ``x = (at, 0, 0)`` both residuals are ``at`` in doubles, and the change cancels them.
    """
    rows, free = np.array([[1.0, 1.0, 1e-30], [1.0, 1.0, 2e-30]]), np.full(3, np.inf)
    both = Restrictions(rows, np.array([0.0, 1e-28]), np.ones(2, dtype=bool), -free, free)
    beside = NearestPoint(np.array([at, 0.0, 0.0]), np.array([-at, 0.0, 0.0]), np.zeros(2))
    proven = prove_rows(both, beside)
    assert proven.blocked is not None or abs(proven.change[2]) >= 99.9


@given(
    st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3),
    st.lists(st.floats(-1e-3, 1e-3), min_size=3, max_size=3),
    st.integers(-1060, 0),
)
def test_residuals_are_exact_within_their_error(
    row: list[float], x: list[float], power: int
) -> None:
    scaled = np.ldexp(np.array(x), power)
    found = row_residuals(np.array([row]), scaled, np.array([0.5]))
    exact = sum(
        (Fraction(a) * Fraction(v) for a, v in zip(row, scaled.tolist(), strict=True)),
        start=-Fraction(1, 2),
    )
    assert abs(Fraction(float(found.value[0])) - exact) <= Fraction(float(found.error[0]))
