"""Coordinate descent against optima in exact arithmetic, in every format, however it is divided."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from qpsvm.exceptions import InvalidParameterError
from qpsvm.native import CallStatus, CoordinateDescent
from qpsvm.native.library import core, using
from tests.native.oracles import box_minimum, exact, objective
from tests.native.programs import FORMATS, box, integers, stored
from tests.strategies import examples

seeds = st.integers(0, 2**32 - 1)


def program(rng: Any, n: int, m: int, d: int) -> tuple[Any, dict[str, Any]]:
    """Samples and the arguments of a run: rows are drawn, so that some occur more than once."""
    lower, upper = box(rng, n)
    return integers(rng, m, d), {
        "linear": integers(rng, n),
        "lower": lower,
        "upper": upper,
        "signs": rng.choice([-1.0, 1.0], n),
        "added": rng.integers(1, 4, n) / 2.0,
        "rows": rng.integers(0, m, n),
        "constant": float(rng.integers(0, 3)),
    }


def hessian(X: Any, p: dict[str, Any]) -> Any:
    """``Z Z' + diag(D)`` of small integers, without rounding."""
    Z = p["signs"][:, None] * np.column_stack([X, np.full(len(X), p["constant"])])[p["rows"]]
    return Z @ Z.T + np.diag(p["added"])


@settings(max_examples=examples(400))
@given(seeds, st.integers(1, 4), st.integers(1, 3), st.integers(0, 5), st.sampled_from(FORMATS))
def test_the_optimum_is_the_exact_one(seed: int, n: int, m: int, d: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    X, p = program(rng, n, m, d)
    run = CoordinateDescent(stored(X, kind), seed=seed % 1000, **p)
    assert run.run(10_000, 1e-12) is CallStatus.DONE
    assert np.all((p["lower"] <= run.a) & (run.a <= p["upper"]))
    Q, q = exact(hessian(X, p)), exact(p["linear"])
    best = box_minimum(Q, q, exact(p["lower"]), exact(p["upper"]))
    excess = objective(Q, q, exact(run.a)) - best
    assert 0 <= excess <= Fraction(1e-11) * (1 + abs(best))


@settings(max_examples=examples(200))
@given(seeds, st.integers(0, 40), st.integers(0, 40), st.sampled_from(FORMATS))
def test_the_conditions_hold_and_w_is_of_a(seed: int, n: int, d: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    X, p = program(rng, n, max(1, n // 2), d)
    run = CoordinateDescent(stored(X, kind), **p)
    assert run.run(100_000, 1e-9) is CallStatus.DONE
    g = hessian(X, p) @ run.a + p["linear"]
    assert np.all(g[run.a < p["upper"]] >= -1e-7)
    assert np.all(g[run.a > p["lower"]] <= 1e-7)
    weights = (p["signs"] * run.a) @ np.column_stack([X, np.full(len(X), p["constant"])])[p["rows"]]
    np.testing.assert_allclose(run.w, weights, atol=1e-9)
    assert run.violation <= 1e-9


@settings(max_examples=examples(100))
@given(seeds, st.sampled_from(FORMATS), st.integers(1, 400))
def test_a_divided_run_has_the_same_bits(seed: int, kind: str, work: int) -> None:
    rng = np.random.default_rng(seed)
    X, p = program(rng, 30, 20, 9)
    X = stored(X, kind)
    whole, parts = CoordinateDescent(X, seed=seed, **p), CoordinateDescent(X, seed=seed, **p)
    status = whole.run(12, 1e-6)
    for passes in (1, 4, 2, 5):
        last = parts.run(passes, 1e-6, work=work)
        if last is CallStatus.DONE:
            break
    assert last is status
    np.testing.assert_array_equal(parts.a, whole.a)
    np.testing.assert_array_equal(parts.w, whole.w)
    assert (parts.passes, parts.violation, parts.n_active) == (
        whole.passes,
        whole.violation,
        whole.n_active,
    )


@settings(max_examples=examples(100))
@given(seeds, st.integers(0, 70), st.sampled_from(FORMATS))
def test_variants_and_formats_have_the_same_bits(seed: int, d: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    _, p = program(rng, 25, 25, 1)
    X = rng.standard_normal((25, d)).astype(np.float32).astype(float)
    found = []
    for variant in core().variants:
        with using(variant):
            run = CoordinateDescent(stored(X, kind), **p)
            run.run(5, 0.0)
            found.append((run.a.tobytes(), run.w.tobytes()))
    assert len(set(found)) == 1


def test_the_random_order_depends_on_the_seed_alone() -> None:
    rng = np.random.default_rng(0)
    X, p = program(rng, 50, 50, 5)

    def after(seed: int) -> bytes:
        run = CoordinateDescent(X, seed=seed, **p)
        run.run(1, 0.0)
        return bytes(run.a.tobytes())

    assert after(3) == after(3) != after(4)


def test_a_start_is_kept_and_continued() -> None:
    rng = np.random.default_rng(5)
    X, p = program(rng, 30, 30, 4)
    first = CoordinateDescent(X, **p)
    first.run(10_000, 1e-11)
    again = CoordinateDescent(X, start=first.a, **p)
    np.testing.assert_allclose(again.w, first.w, atol=1e-10)
    assert again.run(5, 1e-8) is CallStatus.DONE
    assert again.passes == 1


def test_a_tighter_tolerance_goes_on_from_a_looser_one() -> None:
    rng = np.random.default_rng(6)
    X, p = program(rng, 30, 30, 4)
    run = CoordinateDescent(X, **p)
    assert run.run(1000, 1.0) is CallStatus.DONE
    assert run.run(10_000, 1e-10) is CallStatus.DONE
    assert run.violation <= 1e-10


@pytest.mark.parametrize("upper", [1.0, np.inf])
def test_a_variable_without_curvature_goes_to_its_bound_or_is_unbounded(upper: float) -> None:
    X = np.array([[0.0, 0.0], [1.0, 0.0]])
    box = {"lower": np.zeros(2), "upper": np.full(2, upper)}
    run = CoordinateDescent(X, linear=-np.ones(2), **box)
    status = run.run(100, 1e-9)
    assert status is (CallStatus.DONE if upper == 1.0 else CallStatus.UNBOUNDED)
    assert np.isfinite(run.a).all()
    if upper == 1.0:
        assert run.a.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
@pytest.mark.parametrize("kind", ["f64", "csr f64 i64"])
def test_samples_that_are_not_finite_end_the_run(bad: float, kind: str) -> None:
    X = np.ones((3, 2))
    X[1, 1] = bad
    box = {"lower": np.zeros(3), "upper": np.full(3, 1e150)}
    run = CoordinateDescent(stored(X, kind), linear=-np.ones(3), **box)
    assert run.run(50, 1e-9) in (CallStatus.NOT_FINITE, CallStatus.LIMIT, CallStatus.DONE)
    if not np.isfinite(bad):
        assert run.run(50, 1e-9) is CallStatus.NOT_FINITE


def test_denormal_samples_are_no_trouble() -> None:
    X = np.full((4, 3), 5e-324)
    box = {"lower": np.zeros(4), "upper": np.ones(4)}
    run = CoordinateDescent(X, linear=-np.ones(4), **box)
    assert run.run(10, 1e-9) is CallStatus.DONE
    assert run.a.tolist() == [1.0] * 4


@pytest.mark.parametrize(("n", "d"), [(0, 3), (0, 0), (2, 0)])
@pytest.mark.parametrize("kind", FORMATS)
def test_empty_samples(n: int, d: int, kind: str) -> None:
    box = {"lower": np.zeros(n), "upper": np.ones(n)}
    run = CoordinateDescent(stored(np.zeros((n, d)), kind), linear=np.full(n, -1.0), **box)
    assert run.run(5, 1e-9) is CallStatus.DONE
    assert run.a.tolist() == [1.0] * n


# --- what is refused --------------------------------------------------------------------------


def refused(message: str, samples: Any = None, **changes: Any) -> None:
    X = np.eye(2) if samples is None else samples
    box: dict[str, Any] = {"linear": np.zeros(2), "lower": np.zeros(2), "upper": np.ones(2)}
    with pytest.raises(InvalidParameterError, match=message):
        CoordinateDescent(X, **(box | changes))


def test_wrong_samples_are_refused() -> None:
    refused("samples are int64 .*float64 or float32", np.eye(2, dtype=int))
    refused("samples are >f8", np.eye(2, dtype=">f8"))
    refused("samples are a list", [[1.0]])
    refused("strides", np.asfortranarray(np.arange(6.0).reshape(2, 3)))
    refused("strides", np.arange(12.0).reshape(2, 6)[:, ::2])
    refused("strides", np.arange(12.0).reshape(2, 6)[::-1])
    refused("format 'csc'.*tocsr", sp.csc_array(np.eye(2)))
    unaligned = np.zeros(33, np.uint8)[1:].view(np.float64).reshape(2, 2)
    refused("strides", unaligned)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indices": [0, 2]}, "samples.indices contains 2.*below 2"),
        ({"indices": [0, -1]}, "samples.indices contains -1"),
        ({"indptr": [0, 2, 1]}, "samples.indptr decreases"),
        ({"indptr": [0, 1, 3]}, "samples.indptr ends at 3, and there are 2 values"),
        ({"indptr": [-1, 1, 2]}, "samples.indptr decreases"),
        ({"indptr": [0, 2]}, r"samples.indptr has the shape \(2,\)"),
        ({"indices": [0, 0], "indptr": [0, 2, 2]}, "repeated or unsorted"),
        ({"indices": [1, 0], "indptr": [0, 2, 2]}, "repeated or unsorted"),
    ],
)
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_wrong_csr_matrices_are_refused(change: Any, message: str, index: Any) -> None:
    X = sp.csr_array(np.eye(2))
    for name, values in ({"indices": [0, 1], "indptr": [0, 1, 2]} | change).items():
        setattr(X, name, np.array(values, index))
    refused(message, X)


def test_csr_matrices_of_other_types_are_refused() -> None:
    X = sp.csr_array(np.eye(2))
    X.indices = X.indices.astype(np.int16)
    refused("indices of int16", X)
    refused("values of int64", sp.csr_array(np.eye(2, dtype=int)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"linear": np.zeros(3)}, r"linear has the shape \(3,\): it must be \(2\)"),
        ({"linear": np.array([0.0, np.nan])}, r"linear\[1\] is nan"),
        ({"linear": [0.0, 1.0]}, "linear is a list"),
        ({"linear": np.zeros(2, np.float32)}, "linear has the type float32"),
        ({"linear": np.zeros(4)[::2]}, "linear has the strides"),
        ({"lower": np.full(2, 2.0)}, r"lower\[0\] = 2.0 and upper\[0\] = 1.0"),
        ({"upper": np.array([1.0, np.nan])}, r"upper\[1\] = nan"),
        ({"lower": np.array([-np.inf, np.inf]), "upper": np.full(2, np.inf)}, r"lower\[1\] = inf"),
        ({"start": np.full(2, 1.5)}, r"start\[0\] = 1.5 is outside \[0.0, 1.0\]"),
        ({"start": np.array([0.5, np.nan])}, r"start\[1\] is nan"),
        ({"signs": np.array([1.0, 2.0])}, r"signs\[1\] is 2.0"),
        ({"added": np.array([0.0, -1.0])}, "the smallest of added is .*-1.0"),
        ({"rows": np.array([0, 2])}, "rows contains 2.*below 2"),
        ({"rows": np.array([0, -1])}, "rows contains -1"),
        ({"rows": np.array([0, 1], np.int32)}, "rows has the type int32"),
        ({"constant": np.nan}, "constant is nan"),
    ],
)
def test_wrong_arguments_are_refused(change: Any, message: str) -> None:
    refused(message, **change)


def test_wrong_limits_are_refused() -> None:
    box = {"lower": np.zeros(2), "upper": np.ones(2)}
    run = CoordinateDescent(np.eye(2), linear=np.zeros(2), **box)
    with pytest.raises(InvalidParameterError, match="tol is nan"):
        run.run(1, float("nan"))
    with pytest.raises(InvalidParameterError, match="work is 0"):
        run.run(1, 0.1, work=0)
