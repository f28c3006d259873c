"""Steps of pairs against optima in exact arithmetic, on blocks wherever they lie."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qpsvm.exceptions import InvalidParameterError
from qpsvm.native import CallStatus, descend_pairs
from qpsvm.native.library import core, using
from tests.native.oracles import box_minimum, exact, objective
from tests.native.programs import box, integers
from tests.strategies import examples

seeds = st.integers(0, 2**32 - 1)
KEPT = ("none", "sum", "sums")


def program(rng: Any, n: int, kept: str) -> tuple[Any, Any, dict[str, Any]]:
    """A kernel block of small integers, q, and the arguments of a run, with exact curvature."""
    factor = integers(rng, n, max(1, n - 1))
    lower, upper = box(rng, n)
    v = np.where(rng.random(n) < 0.5, lower, np.minimum(upper, lower + 1.0))
    arguments = {
        "lower": lower,
        "upper": upper,
        "v": v,
        "added": rng.integers(1, 4, n) / 2.0,
        "constant": float(rng.integers(0, 3)),
        "groups": rng.integers(0, 2, n).astype(np.int8),
        "kept": kept,
    }
    return factor @ factor.T, integers(rng, n), arguments


def hessian(K: Any, p: dict[str, Any]) -> Any:
    return K + p["constant"] + np.diag(p["added"])


def rows_of(p: dict[str, Any]) -> list[Any]:
    """The equality rows as arrays."""
    n = len(p["v"])
    is_second = p["groups"] == 1
    every = {"none": [], "sum": [np.ones(n)], "sums": [1.0 - is_second, 1.0 * is_second]}
    return every[p["kept"]]


def solve(K: Any, q: Any, p: dict[str, Any], **options: Any) -> tuple[Any, Any, Any]:
    """The end of a run with the point and gradient that it wrote."""
    v = p["v"].copy()
    g = hessian(K, p) @ v + q
    others = {name: value for name, value in p.items() if name not in ("v", "lower", "upper")}
    options = {"tol": 1e-10, "max_steps": 100_000} | others | options
    return descend_pairs(K, v, g, p["lower"], p["upper"], **options), v, g


@settings(max_examples=examples(200))
@given(seeds, st.integers(1, 4), st.sampled_from(KEPT))
def test_the_optimum_is_the_exact_one(seed: int, n: int, kept: str) -> None:
    rng = np.random.default_rng(seed)
    K, q, p = program(rng, n, kept)
    end, v, g = solve(K, q, p)
    assert end.status is CallStatus.DONE
    assert end.violation <= 1e-10
    Q = exact(hessian(K, p))
    A, b = exact(np.array(rows_of(p))), [Fraction(float(row @ p["v"])) for row in rows_of(p)]
    best = box_minimum(Q, exact(q), exact(p["lower"]), exact(p["upper"]), A, b)
    excess = objective(Q, exact(q), exact(v)) - best
    assert abs(excess) <= Fraction(1e-9) * (1 + abs(best))  # sums are kept but for rounding
    np.testing.assert_allclose(g, hessian(K, p) @ v + q, atol=1e-9)


@settings(max_examples=examples(200))
@given(seeds, st.integers(0, 60), st.sampled_from(KEPT))
def test_the_conditions_hold_and_sums_are_kept(seed: int, n: int, kept: str) -> None:
    rng = np.random.default_rng(seed)
    K, q, p = program(rng, n, kept)
    end, v, _ = solve(K, q, p, tol=1e-8)
    assert end.status is CallStatus.DONE
    assert np.all((p["lower"] <= v) & (v <= p["upper"]))
    g = hessian(K, p) @ v + q
    rises, falls = v < p["upper"], v > p["lower"]
    if kept == "none":
        assert np.all(g[rises] >= -1e-7)
        assert np.all(g[falls] <= 1e-7)
    for row in rows_of(p):
        some = row > 0.0
        np.testing.assert_allclose(row @ v, row @ p["v"], atol=1e-9)
        if (rises & some).any() and (falls & some).any():
            assert np.max(g[falls & some]) - np.min(g[rises & some]) <= 1e-7


@settings(max_examples=examples(100))
@given(seeds, st.integers(1, 40), st.sampled_from(KEPT))
def test_variants_and_divided_runs_have_the_same_bits(seed: int, n: int, kept: str) -> None:
    rng = np.random.default_rng(seed)
    K, q, p = program(rng, n, kept)
    found = []
    for variant in core().variants:
        with using(variant):
            end, v, g = solve(K, q, p, max_steps=23)
            found.append((end, v.tobytes(), g.tobytes()))
    assert len(set(found)) == 1
    v, total, end = p["v"].copy(), 0, None
    g = hessian(K, p) @ v + q
    others = {name: value for name, value in p.items() if name not in ("v", "lower", "upper")}
    for steps in (1, 2, 20):
        end = descend_pairs(K, v, g, p["lower"], p["upper"], tol=1e-10, max_steps=steps, **others)
        total += end.steps
        if end.status is not CallStatus.LIMIT:
            break
    assert end is not None
    assert (end._replace(steps=total), v.tobytes(), g.tobytes()) == found[0]


@settings(max_examples=examples(100))
@given(seeds, st.integers(1, 30), st.sampled_from(KEPT))
def test_rows_are_read_where_they_lie(seed: int, n: int, kept: str) -> None:
    rng = np.random.default_rng(seed)
    K, q, p = program(rng, n, kept)
    expected = [part.tobytes() for part in solve(K, q, p)[1:]]

    def equals(block: Any, **places: Any) -> bool:
        v = p["v"].copy()
        g = hessian(K, p) @ v + q
        others = {name: x for name, x in p.items() if name not in ("v", "lower", "upper")}
        descend_pairs(
            block, v, g, p["lower"], p["upper"], tol=1e-10, max_steps=10**5, **places, **others
        )
        return [v.tobytes(), g.tobytes()] == expected

    wide = np.full((n, n + 5), np.nan)
    wide[:, 2 : n + 2] = K
    assert equals(wide[:, 2 : n + 2])
    # columns of more samples than take part, in an order of their own, in any places of a cache
    places = rng.permutation(n + 7)[:n]
    slots = rng.permutation(2 * n + 1)[:n]
    cache = np.full((2 * n + 1, n + 7), np.nan)
    cache[slots[:, None], places] = K
    where = slots.astype(np.int64) * (n + 7)
    assert equals(cache.ravel(), offsets=where, columns=places.astype(np.int64))
    assert equals(np.ascontiguousarray(K).ravel(), offsets=np.arange(n, dtype=np.int64) * n)


@settings(max_examples=examples(60))
@given(seeds, st.integers(1, 12))
def test_two_variables_of_a_sample_share_its_row(seed: int, n: int) -> None:
    """A regression: the rows of n samples serve 2n variables."""
    rng = np.random.default_rng(seed)
    K, t = program(rng, n, "sum")[0], integers(rng, n)
    twice = np.concatenate([np.arange(n), np.arange(n)])
    big, q = K[np.ix_(twice, twice)].copy(), np.concatenate([0.5 - t, -0.5 - t])
    lower, upper = np.repeat([0.0, -2.0], n), np.repeat([2.0, 0.0], n)
    ends = []
    for block, places in (
        (big, {}),
        (K.ravel().copy(), {"offsets": n * twice, "columns": twice}),
    ):
        v, g = np.zeros(2 * n), q.copy()
        end = descend_pairs(block, v, g, lower, upper, tol=1e-9, max_steps=10**5, **places)
        ends.append((end, v.tobytes(), g.tobytes()))
    assert ends[0] == ends[1]


def test_threads_have_the_same_bits() -> None:
    rng = np.random.default_rng(1)
    K, q, p = program(rng, 80, "sum")
    with ThreadPoolExecutor(4) as pool:
        ends = list(pool.map(lambda _: [x.tobytes() for x in solve(K, q, p)[1:]], range(12)))
    assert all(end == ends[0] for end in ends)


@pytest.mark.parametrize("upper", [3.0, np.inf])
def test_flat_directions_end_at_a_bound_or_are_unbounded(upper: float) -> None:
    K, v, g = np.ones((2, 2)), np.zeros(2), np.array([-1.0, 1.0])
    end = descend_pairs(
        K, v, g, np.array([0.0, -upper]), np.array([upper, 0.0]), tol=1e-9, max_steps=100
    )
    if upper == 3.0:
        assert end.status is CallStatus.DONE
        assert v.tolist() == [3.0, -3.0]
    else:
        assert end.status is CallStatus.UNBOUNDED


@pytest.mark.parametrize("upper", [3.0, np.inf])
def test_single_variables_without_curvature(upper: float) -> None:
    K, v, g = np.zeros((2, 2)), np.zeros(2), np.array([-1.0, 1.0])
    bounds = np.zeros(2), np.full(2, upper)
    end = descend_pairs(K, v, g, *bounds, kept="none", tol=1e-9, max_steps=100)
    assert end.status is (CallStatus.DONE if upper == 3.0 else CallStatus.UNBOUNDED)
    assert v.tolist() == ([3.0, 0.0] if upper == 3.0 else [0.0, 0.0])


def test_an_indefinite_block_ends() -> None:
    rng = np.random.default_rng(2)
    K = integers(rng, 20, 20)
    K, v = K + K.T, np.zeros(20)
    end = descend_pairs(
        K, v, integers(rng, 20), np.full(20, -1.0), np.ones(20), tol=1e-9, max_steps=10_000
    )
    assert np.all(np.abs(v) <= 1.0)
    assert end.steps <= 10_000


@pytest.mark.parametrize("kept", KEPT)
def test_an_infinite_tolerance_and_no_steps_change_nothing(kept: str) -> None:
    rng = np.random.default_rng(3)
    K, q, p = program(rng, 20, kept)
    for limit in ({"tol": np.inf}, {"max_steps": 0}):
        end, v, _ = solve(K, q, p, **limit)
        assert end.steps == 0
        np.testing.assert_array_equal(v, p["v"])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_kernel_values_that_are_not_finite_end_the_run(bad: float) -> None:
    K = np.eye(4)
    K[1, 2] = K[2, 1] = bad
    v, g = np.zeros(4), np.array([-1.0, -2.0, 1.0, 2.0])
    bounds = np.array([0.0, 0.0, -1.0, -1.0]), np.array([1.0, 1.0, 0.0, 0.0])
    end = descend_pairs(K, v, g, *bounds, tol=1e-9, max_steps=1000)
    assert end.steps <= 1000
    assert np.all((bounds[0] <= v) & (v <= bounds[1]))


# --- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"block": np.eye(3)}, r"block has the shape \(3, 3\)"),
        ({"block": np.eye(2, dtype=np.float32)}, "block is float32"),
        ({"block": np.ones((2, 4))[:, ::2]}, "block has the strides"),
        ({"v": np.zeros((2, 1))}, "v has the shape"),
        ({"v": np.full(2, 5.0)}, r"v\[0\] = 5.0 is outside"),
        ({"v": np.array([np.nan, 0.0])}, r"v\[0\] is nan"),
        ({"gradient": np.array([np.nan, 0.0])}, r"gradient\[0\] is nan"),
        ({"gradient": np.zeros(3)}, "gradient has the shape"),
        ({"lower": np.full(2, np.nan)}, r"lower\[0\] = nan"),
        ({"kept": "both"}, "kept"),
        ({"kept": "sums"}, "groups is None"),
        ({"kept": "sums", "groups": np.array([0, 2], np.int8)}, "groups contains 2"),
        ({"kept": "sums", "groups": np.array([0, 1])}, "groups has the type int64"),
        ({"added": np.array([-1.0, 0.0])}, "the smallest of added"),
        ({"constant": -1.0}, "constant is -1.0"),
        ({"tol": np.nan}, "tol is nan"),
        ({"columns": np.array([0, 2])}, "columns contains 2"),
        ({"columns": np.array([0, -1])}, "columns contains -1"),
        ({"offsets": np.array([0, 2])}, r"block has the shape \(2, 2\): it must be \(any\)"),
        ({"block": np.zeros(4), "offsets": np.array([0, 3])}, "offsets contains 3.*below 3"),
        ({"block": np.zeros(4), "offsets": np.array([-1, 2])}, "offsets contains -1"),
        (
            {"block": np.zeros(4), "offsets": np.array([0, 2]), "columns": np.array([0, 2])},
            "offsets contains 2.*below 2",
        ),
        ({"block": np.zeros(1), "offsets": np.array([0, 0])}, "offsets contains 0.*below 0"),
    ],
)
def test_wrong_arguments_are_refused(change: Any, message: str) -> None:
    arguments: dict[str, Any] = {
        "block": np.eye(2),
        "v": np.zeros(2),
        "gradient": np.zeros(2),
        "lower": np.zeros(2),
        "upper": np.ones(2),
        "tol": 0.1,
        "max_steps": 5,
    }
    with pytest.raises(InvalidParameterError, match=message):
        descend_pairs(**(arguments | change))


def test_overlapping_and_read_only_arrays_are_refused() -> None:
    v, bounds = np.zeros(2), (np.zeros(2), np.ones(2))
    with pytest.raises(InvalidParameterError, match="v and gradient share memory"):
        descend_pairs(np.eye(2), v, v, *bounds, tol=0.1, max_steps=1)
    block = np.eye(2)
    with pytest.raises(InvalidParameterError, match="gradient and block share memory"):
        descend_pairs(block, v, block[0], *bounds, tol=0.1, max_steps=1)
    v.flags.writeable = False
    with pytest.raises(InvalidParameterError, match="v is read-only"):
        descend_pairs(np.eye(2), v, np.zeros(2), *bounds, tol=0.1, max_steps=1)
