"""The exponential of kernel tiles against exact arithmetic."""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qpsvm.exceptions import InvalidParameterError
from qpsvm.native import exponent_tile, products_by_row
from qpsvm.native.library import core, using
from qpsvm.native.loops import EXP_ULPS
from tests.strategies import examples, listed

LEAST = 5e-324


def exponential(x: Any) -> Any:
    """The core's exp of non-positive numbers: a tile with zero norms, products x / 2, gamma 1."""
    tile = np.ascontiguousarray(0.5 * x)[None, :]
    exponent_tile(tile, np.zeros(1), np.zeros(len(x)), gamma=1.0)
    return tile[0]


def ulps(x: Any) -> Any:
    """Errors of the core's exp in units of the last place of the exact value."""
    found = exponential(x)
    with localcontext() as context:
        context.prec, context.Emin = 40, -2000
        exact = [Decimal(float(v)).exp() for v in x]
        near = np.array([float(e) for e in exact])
        rest = np.array([float(e - Decimal(n)) for e, n in zip(exact, near.tolist(), strict=True)])
    return np.abs((found - near) - rest) / np.spacing(np.maximum(near, LEAST))


def points(count: int) -> Any:
    """Exponents of the usual range, near zero and multiples of log 2, with denormal results."""
    rng = np.random.default_rng(count)
    each = count // 5
    k = rng.integers(0, 1076, each)
    steps = -(k + 0.5 * rng.integers(0, 2, each)) * np.log(2.0)
    return np.concatenate(
        [
            -745.0 * rng.random(each),
            -rng.exponential(1.0, each),
            -(10.0 ** rng.uniform(-320.0, 3.0, each)),
            np.minimum(steps * (1.0 + 2.0**-52 * rng.integers(-4, 5, each)), 0.0),
            -rng.uniform(708.0, 746.0, each),
        ]
    )


@listed("count", [20_000, 1_000_000], quick=1)
def test_exp_is_within_its_bound(count: int) -> None:
    assert np.max(ulps(points(count))) <= EXP_ULPS


def test_exp_at_the_ends_of_its_range() -> None:
    x = -np.array([0.0, LEAST, 1e-300, 744.0, 745.1332191019411, 745.2, 746.0, 1e5, 1e308, np.inf])
    expected = [1.0, 1.0, 1.0, np.exp(-744.0), LEAST, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert exponential(x).tolist() == expected


@settings(max_examples=examples(100))
@given(st.integers(0, 2**32 - 1), st.integers(0, 40), st.integers(0, 40))
def test_tiles_are_kernel_values(seed: int, m: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    X, Z = rng.standard_normal((m, 3)), rng.standard_normal((n, 3))
    gamma = float(rng.exponential())
    rows, columns = np.sum(X * X, axis=1), np.sum(Z * Z, axis=1)
    distance = np.sum((X[:, None] - Z) ** 2, axis=2)
    whole = np.full((m + 2, n + 3), 7.0)
    tile = whole[1 : m + 1, 2 : n + 2]
    products = X @ Z.T
    found = []
    for variant in core().variants:
        tile[:] = products
        with using(variant):
            exponent_tile(tile, rows, columns, gamma)
        found.append(tile.tobytes())
    assert len(set(found)) == 1
    np.testing.assert_allclose(tile, np.exp(-gamma * distance), rtol=1e-11)
    outside = np.ones(whole.shape, bool)
    outside[1 : m + 1, 2 : n + 2] = False
    assert np.all(whole[outside] == 7.0)


def test_values_that_are_no_numbers_stay_so_and_distances_are_not_negative() -> None:
    tile = np.array([[np.nan, 2.0, -np.inf, np.inf, 0.0]])
    exponent_tile(tile, np.ones(1), np.array([1.0, 1.0, 1.0, 1.0, np.nan]), gamma=1.0)
    assert np.isnan(tile[0, [0, 4]]).all()
    assert tile[0, 1:4].tolist() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tile": np.zeros((2, 2), np.float32)}, "tile is float32"),
        ({"tile": np.zeros(2)}, r"tile is float64 of shape \(2,\)"),
        ({"tile": np.zeros((2, 4))[:, ::2]}, "tile has the strides"),
        ({"tile": np.asfortranarray(np.zeros((2, 2)))}, "tile has the strides"),
        ({"rows": np.zeros(3)}, "rows has the shape"),
        ({"columns": np.zeros(1)}, "columns has the shape"),
        ({"gamma": -1.0}, "gamma is -1.0"),
        ({"gamma": np.nan}, "gamma is nan"),
        ({"gamma": np.inf}, "gamma is inf"),
    ],
)
def test_wrong_arguments_are_refused(change: Any, message: str) -> None:
    arguments: dict[str, Any] = {
        "tile": np.zeros((2, 2)),
        "rows": np.zeros(2),
        "columns": np.zeros(2),
        "gamma": 1.0,
    }
    with pytest.raises(InvalidParameterError, match=message):
        exponent_tile(**(arguments | change))


def test_overlapping_and_read_only_tiles_are_refused() -> None:
    tile = np.zeros((2, 2))
    with pytest.raises(InvalidParameterError, match="tile and rows share memory"):
        exponent_tile(tile, tile[0], np.zeros(2), 1.0)
    tile.flags.writeable = False
    with pytest.raises(InvalidParameterError, match="tile is read-only"):
        exponent_tile(tile, np.zeros(2), np.zeros(2), 1.0)


def test_memory_that_is_not_aligned_is_refused() -> None:
    memory = np.zeros(8 * 12 + 1, np.uint8)
    X = np.frombuffer(memory, np.float64, 12, offset=1).reshape(3, 4)
    assert X.flags.c_contiguous
    with pytest.raises(InvalidParameterError, match=r"not aligned.*X\.copy\(\)"):
        products_by_row(X, np.ones((4, 2)))
    assert products_by_row(X.copy(), np.ones((4, 2))).shape == (3, 2)
