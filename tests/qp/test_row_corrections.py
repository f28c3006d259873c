"""Corrections of linear rows: their bounds hold, and what is proven of rows is true."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qpsvm.numerics.compensated import row_residuals
from qpsvm.qp.nearest_point import NearestPoint
from qpsvm.qp.restrictions import MatrixRows, Restrictions
from qpsvm.qp.row_corrections import basic_correction
from qpsvm.qp.row_proofs import prove_rows


@pytest.mark.parametrize("seed", range(20))
def test_the_correction_in_the_basis_is_within_its_bounds(seed: int) -> None:
    random = np.random.default_rng(seed)
    k, m = int(random.integers(1, 12)), int(random.integers(12, 30))
    rows = random.normal(size=(k, m)) * 10.0 ** random.integers(-2, 3, size=m)
    missed, unit = random.random(k), 10.0 ** random.integers(-3, 4, size=m).astype(float)
    found = basic_correction(rows, missed, unit, 10.0 ** random.integers(-30, 3, size=m))
    assert found is not None
    assert len(found.columns) == k
    for _ in range(20):
        exact = np.linalg.solve(rows[:, found.columns], missed * random.choice([-1.0, 1.0], k))
        assert (np.abs(exact) <= found.size * (1.0 + 1e-6)).all()


def test_variables_with_room_are_moved_before_others() -> None:
    random = np.random.default_rng(0)
    rows, room = random.normal(size=(4, 10)), np.full(10, 1e-20)
    room[[2, 3, 5, 7]] = 1.0
    found = basic_correction(rows, np.ones(4), np.ones(10), room)
    assert found is not None
    assert sorted(found.columns) == [2, 3, 5, 7]


def test_a_variable_with_little_room_is_moved_where_no_other_can() -> None:
    """Two rows that depend on each other but for ``x_3``, which may move by 1e-28 only."""
    rows = np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 1.0]])
    found = basic_correction(rows, np.array([1e-40, 2e-40]), np.ones(3), np.array([1, 1, 1e-28]))
    assert found is not None
    assert 2 in found.columns
    assert found.size.max() < 1e-38


@pytest.mark.parametrize("at", [1.0, 3.0, 2.0**-6])
def test_a_change_that_cancels_the_rounded_residual_proves_nothing(at: float) -> None:
    """``x_1 + x_2 + 1e-30 x_3 = 0`` and ``x_1 + x_2 + 2e-30 x_3 = 1e-28``: ``x_3`` is 100.

    At ``x = (at, 0, 0)`` both residuals are ``at`` in doubles, and the change cancels them.
    """
    rows, free = MatrixRows(np.array([[1.0, 1.0, 1e-30], [1.0, 1.0, 2e-30]])), np.full(3, np.inf)
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
