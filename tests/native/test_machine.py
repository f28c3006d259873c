"""Small machines of the compiled core against exact arithmetic and the optimality conditions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qpsvm.exceptions import InvalidParameterError
from qpsvm.native import (
    CallStatus,
    NewtonNumbers,
    RunNumbers,
    SmallMachine,
    ValueErrors,
    products_by_row,
)
from qpsvm.native.library import core, using
from tests.native.oracles import exact
from tests.native.oracles import slope as exact_slope
from tests.strategies import examples

seeds = st.integers(0, 2**32 - 1)
sides = st.sampled_from([0.0, -1.0, 1.0])
NUMBERS = RunNumbers()
NUMBERS_OF_NEWTON = NewtonNumbers()


def machine(
    rng: Any, n: int, *, tube: bool, squared: bool, free: bool, side: float = 0.0
) -> tuple[SmallMachine, Any]:
    """A random machine with its samples; a tube has two conditions for each of them."""
    X = rng.standard_normal((n, 3))
    size = 2 * n if tube else n
    C = 10.0 ** rng.uniform(-2, 2, size)
    signs = np.repeat([1.0, -1.0], n) if tube else rng.choice([-1.0, 1.0], n)
    side = side if free and len(set(signs.tolist())) == 2 else 0.0  # two sums
    made = SmallMachine(
        X @ X.T,
        signs,
        rng.standard_normal(size) if tube else np.ones(size),
        np.zeros(size),
        np.full(size, np.inf) if squared else C,
        curved=0.5 / C if squared else None,
        rows=np.tile(np.arange(n), 2) if tube else None,
        is_free=free,
        constant=0.0 if free else float(rng.integers(0, 2)),
        side=side,
        total=_total(rng, signs, C) if side else 0.0,
    )
    return made, X


def _total(rng: Any, signs: Any, upper: Any) -> float:
    """A sum of dual variables that the boxes of either sign have room for."""
    most = 2.0 * min(float(np.sum(upper[signs == s])) for s in (1.0, -1.0))
    return most * float(rng.random())


def none(n: int) -> ValueErrors:
    """Errors of zero."""
    return ValueErrors(np.outer([0.0, 1.0, 0.0, 0.0], np.ones(n)))


@settings(max_examples=examples(300))
@given(seeds, st.integers(1, 30), st.booleans(), st.booleans(), st.booleans(), sides)
def test_runs_end_at_the_optimum(
    seed: int, n: int, tube: bool, squared: bool, free: bool, side: float
) -> None:
    """Every variable is at the end of its box, or its gradient is that of the free ones."""
    rng = np.random.default_rng(seed)
    made, _ = machine(rng, n, tube=tube, squared=squared, free=free, side=side)
    run = made.run(1e-9, NUMBERS)
    if run.status is not CallStatus.DONE:
        return  # more steps than are worth it; whoever certifies sees it
    rows = np.arange(n) if made.rows is None else made.rows
    K = made.K
    assert K is not None
    beta = np.bincount(rows, made.signs * run.alpha, n)
    g = made.signs * (K @ beta)[rows] - made.required
    g += made.signs * made.constant * np.sum(beta)
    if made.curved is not None:
        g += made.curved * run.alpha
    size = 1e-9 + 1e-11 * float(np.max(np.abs(K))) * float(np.sum(np.abs(run.alpha)))
    g = made.signs * g  # of v = s a
    rises = made.signs * run.alpha < np.where(made.signs > 0, made.upper, -made.lower)
    falls = made.signs * run.alpha > np.where(made.signs > 0, made.lower, -made.upper)
    groups = [made.signs == 1.0, made.signs == -1.0] if made.side else [np.full(len(g), True)]
    if free:
        assert abs(float(made.signs @ run.alpha)) <= size
        assert not made.side or abs(float(np.sum(run.alpha)) - made.total) <= size
        for own in groups:  # whose sums are kept
            most = np.max(g[falls & own], initial=-np.inf)
            assert most - np.min(g[rises & own], initial=np.inf) <= 2 * size
    else:
        assert np.all(g[rises] >= -2 * size)
        assert np.all(g[falls] <= 2 * size)


@settings(max_examples=examples(200))
@given(
    seeds,
    st.integers(1, 12),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    sides,
    st.sampled_from(["kernel", "linear", "given weights"]),
)
def test_bounds_are_no_smaller_than_the_exact_sums(
    seed: int, n: int, tube: bool, squared: bool, free: bool, side: float, kind: str
) -> None:
    """The gap of any values within their errors is at most the bound."""
    rng = np.random.default_rng(seed)
    made, X = machine(rng, n, tube=tube, squared=squared, free=free, side=side)
    top = np.minimum(made.upper, 10.0)
    alpha = top * rng.choice([0.0, 1.0, rng.random()], len(top))
    relative, left, right = 1e-3 * rng.random((3, n))
    errors = ValueErrors(np.array([relative, 1.0 + rng.random(n), left, right]))
    weights = None
    if kind == "given weights":
        weights = rng.standard_normal(X.shape[1] + (made.constant > 0.0))
    found = made.bounds(alpha, errors, X=None if kind == "kernel" else X, weights=weights)
    assert found is not None
    if weights is not None:
        np.testing.assert_allclose(found.values, X @ weights[: X.shape[1]], atol=1e-12)
        np.testing.assert_allclose(found.coef, X.T @ found.expansion, atol=1e-12)
        assert made.is_free or found.first == (weights[-1] if made.constant else 0.0)
    b = found.first + 0.5 * (found.last - found.first)
    if not np.isfinite(b):
        b = found.last if np.isinf(found.first) else found.first
    rows = np.arange(n) if made.rows is None else made.rows
    np.testing.assert_allclose(found.expansion, np.bincount(rows, made.signs * alpha, n))
    off = rng.uniform(-1.0, 1.0, n) * found.errors  # decision values as they may be
    d = np.zeros(len(top)) if made.curved is None else made.curved
    total = Fraction(0)
    columns = (made.signs, made.required, made.lower, made.upper, d, alpha, rows)
    for s, p, low, high, curve, a, row in zip(*map(np.ndarray.tolist, columns), strict=True):
        f = Fraction(found.values[row]) + Fraction(off[row])
        v = Fraction(p) - Fraction(s) * (f + Fraction(b)) - Fraction(made.side * found.width)
        most = exact_slope(v, *exact(np.array([low, high, curve])), right=True)
        most = most if curve or v else Fraction(0)
        assert isinstance(most, Fraction)
        total += most * v - Fraction(curve) * most * most / 2
        total += Fraction(curve) * Fraction(a) ** 2 / 2 - Fraction(a) * v
    assert total <= Fraction(found.gap) * (1 + Fraction(1, 10**12)) + Fraction(1e-300)
    product = sum(b * f for b, f in zip(exact(found.expansion), exact(found.values), strict=True))
    assert abs(Fraction(found.product) - product) <= Fraction(found.product_error)
    assert found.error == np.max(found.errors)
    np.testing.assert_allclose(found.weight, np.sum(np.abs(alpha)))


@settings(max_examples=examples(100))
@given(seeds, st.booleans(), st.booleans(), st.booleans(), sides)
def test_machines_solved_in_one_call_have_the_bits_of_each_by_itself(
    seed: int, linear: bool, squared: bool, free: bool, side: float
) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 25))
    errors = ValueErrors(np.abs(rng.standard_normal((4, n))) + np.eye(4)[:, 1:2])
    machines, pieces, X = list[SmallMachine](), list[list[int]](), rng.standard_normal((n, 3))
    K = X @ X.T
    kind: dict[str, Any] = {"is_free": free, "constant": float(not free), "side": side * free}
    kind["total"] = float(rng.random()) if kind["side"] else 0.0
    for _ in range(3):
        first, middle, last, end = np.sort(rng.integers(0, n + 1, 4)).tolist()
        pieces.append([first, middle - first, last, end - last])
        place = np.r_[first:middle, last:end]
        m = len(place)
        own = rng.choice([-1.0, 1.0], m), rng.standard_normal(m), np.zeros(m)
        C = 10.0 ** rng.uniform(-2, 2, m)
        upper, curved = (np.full(m, np.inf), 0.5 / C) if squared else (C, None)
        block = np.ascontiguousarray(K[np.ix_(place, place)])
        machines.append(SmallMachine(block, *own, upper, curved, **kind))
    names = "signs", "required", "lower", "upper"
    whole = [np.concatenate([getattr(one, name) for one in machines]) for name in names]
    curves = [one.curved for one in machines if one.curved is not None]
    together = SmallMachine(None, *whole, np.concatenate(curves) if curves else None, **kind)
    limits = np.array([[1e-9, 0.1, 1e4, 0.5 + rng.random(), rng.integers(2)] for _ in machines])
    given = np.array(pieces), limits, RunNumbers(most=9), errors
    found = together.solve_together(K, X if linear else None, *given)
    for one, (a, k, b, m), limit, block in zip(machines, pieces, limits, found, strict=True):
        place = np.r_[a : a + k, b : b + m]
        steps = replace(one, required=one.required + limit[4])
        run = steps.run(limit[0], RunNumbers(most=9, work=limit[2]))
        assert np.array_equal(block.alpha, run.alpha, equal_nan=True)
        samples = np.ascontiguousarray(X[place]) if linear else None
        if not np.isfinite(run.alpha).all():
            assert block.status not in (CallStatus.DONE, CallStatus.STALLED)
            continue
        bounds = one.bounds(run.alpha, errors.of(place), X=samples, unit=limit[3])
        assert block.status is (run.status if bounds is not None else CallStatus.NOT_FINITE)
        if bounds is not None:
            assert all(map(np.array_equal, block.bounds, bounds))


@settings(max_examples=examples(50))
@given(seeds, st.sampled_from(["free", "penalized", "none"]))
def test_machines_by_newtons_method_in_one_call_have_the_bits_of_each_by_itself(
    seed: int, intercept: str
) -> None:
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 25)), int(rng.integers(1, 5))
    X, C = rng.standard_normal((n, d)), 10.0 ** rng.uniform(-2, 2, 2 * n)
    signs, zero = rng.choice([-1.0, 1.0], 2 * n), np.zeros(2 * n)
    conditions = signs, np.ones(2 * n), zero, zero + np.inf, 0.5 / C
    kind: dict[str, Any] = {"is_free": intercept == "free"}
    kind["constant"] = float(intercept == "penalized")
    both = SmallMachine(None, *conditions, **kind)
    k = int(rng.integers(0, n))
    pieces = np.array([[0, n, 0, 0], [k, n - k, 0, k]])
    errors, limits = none(n), np.array([[0.0, 0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 2.0, 0.0]])
    found = both.solve_together(None, X, pieces, limits, NUMBERS_OF_NEWTON, errors)
    for block, place, part, unit in zip(
        found,
        (np.arange(n), np.r_[k:n, 0:k]),
        (slice(0, n), slice(n, 2 * n)),
        (1.0, 2.0),
        strict=True,
    ):
        one = SmallMachine(None, *(each[part] for each in conditions), **kind)
        own = np.ascontiguousarray(X[place])
        run = one.newton(own, NUMBERS_OF_NEWTON)
        weights = run.weights[:d] if one.is_free else run.weights
        bounds = one.bounds(run.alpha, errors, X=own, weights=weights, unit=unit)
        assert block.status is run.status
        assert np.array_equal(block.alpha, run.alpha)
        assert np.array_equal(block.weights, weights)
        assert bounds is not None
        assert all(map(np.array_equal, block.bounds, bounds))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pieces": np.array([[0, 2, 2, 1]])}, "pieces have 3 rows for 2 conditions"),
        ({"pieces": np.array([[2, 2, 0, 0]])}, "reach beyond 3 samples"),
        ({"pieces": np.array([[-1, 2, 0, 0]])}, "reach beyond 3 samples"),
        ({"pieces": np.array([[0, 2, 0]])}, "pieces has the shape"),
        ({"K": np.eye(4)[:3]}, "whose shape is"),
        ({"limits": np.ones((1, 3))}, "limits has the shape"),
        ({"errors": none(4)}, "whose shape is"),
        ({"X": np.ones((4, 1))}, "X has the shape"),
        ({"K": None}, "steps need K"),
        ({"numbers": NUMBERS_OF_NEWTON}, "Newton's method X alone"),
        ({"K": None, "X": np.ones((3, 1)), "numbers": NUMBERS_OF_NEWTON}, "and curved > 0"),
    ],
)
def test_wrong_calls_for_several_machines_are_refused(change: Any, message: str) -> None:
    given: Any = {
        "K": np.eye(3),
        "X": None,
        "pieces": np.array([[0, 1, 2, 1]]),
        "limits": np.array([[1e-6, 0.1, np.inf, 1.0, 0.0]]),
        "numbers": NUMBERS,
        "errors": none(3),
    }
    conditions = np.array([1.0, -1.0]), np.ones(2), np.zeros(2), np.ones(2)
    SmallMachine(None, *conditions).solve_together(**given)
    with pytest.raises(InvalidParameterError, match=message):
        SmallMachine(None, *conditions).solve_together(**(given | change))
    with pytest.raises(InvalidParameterError, match="must be None"):
        SmallMachine(np.eye(2), *conditions).solve_together(**given)


def test_errors_cover_the_rounding_of_values() -> None:
    """Large terms that cancel: what is computed is within its bound of the exact value."""
    rng = np.random.default_rng(5)
    for _ in range(50):
        n = int(rng.integers(2, 40))
        X = 1e6 + rng.standard_normal((n, 4))
        signs = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
        one = SmallMachine(X @ X.T, signs, np.ones(n), np.zeros(n), np.full(n, 1e3))
        found = one.bounds(1e3 * rng.random(n), none(n))
        assert found is not None
        K, beta = exact(one.K), exact(found.expansion)
        for row, value, error in zip(K, found.values, found.errors, strict=True):
            true = sum((k * c for k, c in zip(row, beta, strict=True)), Fraction(0))
            assert abs(Fraction(value) - true) <= Fraction(error)


def test_errors_cover_the_rounding_of_products_with_weights() -> None:
    rng = np.random.default_rng(6)
    for d in (1, 7, 8, 9, 63, 200):
        X = 1e3 + rng.standard_normal((9, d))
        signs = np.where(np.arange(9) % 2 == 0, 1.0, -1.0)
        one = SmallMachine(None, signs, np.ones(9), np.zeros(9), np.full(9, 1e3))
        found = one.bounds(1e3 * rng.random(9), none(9), X=X)
        assert found is not None
        w = exact(found.coef)
        for row, value, error in zip(exact(X), found.values, found.errors, strict=True):
            true = sum((x * c for x, c in zip(row, w, strict=True)), Fraction(0))
            assert abs(Fraction(value) - true) <= Fraction(error)


def test_what_overflows_is_not_bounded() -> None:
    n = 3
    big = np.full((n, n), 1e308)
    one = SmallMachine(big, np.ones(n), np.ones(n), np.zeros(n), np.full(n, 1e3))
    assert one.bounds(np.full(n, 1e3), none(n)) is None
    signs = np.array([1.0, -1.0, 1.0])
    nan = SmallMachine(np.full((n, n), np.nan), signs, np.ones(n), np.zeros(n), np.ones(n))
    assert nan.bounds(np.ones(n), none(n)) is None
    assert nan.run(1e-6, NUMBERS).status is not CallStatus.DONE


@settings(max_examples=examples(300))
@given(seeds, st.integers(1, 40), st.integers(1, 12), st.booleans(), st.booleans(), st.booleans())
def test_newtons_method_ends_where_the_gradient_vanishes(
    seed: int, n: int, d: int, free: bool, shared: bool, squared: bool
) -> None:
    """Weights are the sums of the slopes that they have, to the last digits."""
    rng = np.random.default_rng(seed)
    X, C = rng.standard_normal((n, d)), 10.0 ** rng.uniform(-3, 3, n)
    rows = rng.integers(0, n, n) if shared else None  # conditions on the same sample
    signs = rng.choice([-1.0, 1.0], n)
    end = np.inf if squared and rng.random() < 0.5 else 1.0
    constant = 0.0 if free else float(rng.integers(0, 2))
    side = float(rng.integers(-1, 2)) if free and len(set(signs.tolist())) == 2 else 0.0
    made = SmallMachine(
        None,
        signs,
        rng.standard_normal(n),
        np.full(n, 0.0 if side or rng.random() < 0.5 else -end),
        np.full(n, end),
        curved=0.5 / C if squared else None,
        rows=rows,
        is_free=free,
        constant=constant,
        cost=float(rng.integers(-1, 2)) if free and end == 1.0 and not side else 0.0,
        side=side,
        total=_total(rng, signs, np.ones(n)) if side else 0.0,
    )
    first = (0.0, 0.0) if squared else (float(rng.uniform(0.1, 10.0)), 1e-9)
    run = made.newton(X, NUMBERS_OF_NEWTON, *first)
    if run.status is not CallStatus.DONE:
        assert free or run.status is CallStatus.LIMIT  # a free intercept may have no minimiser
        return
    again = run.delta, first[1], 0.0, (run.weights, run.alpha)  # from there: without rounding
    _, u, alpha, _, _ = made.newton(X, NUMBERS_OF_NEWTON, *again)
    given = X if rows is None else X[rows]
    Z = signs[:, None] * np.column_stack([given, np.ones(n), side * signs])[:, : len(u)]
    v = made.required - Z @ u
    linear = np.append(np.zeros(d), [made.cost, side * made.total])[: len(u)]
    weights = u * np.append(np.ones(d), [constant, 0.0])[: len(u)] + linear
    if made.curved is not None:
        slopes = np.clip(v / made.curved, made.lower, made.upper)
        size = 1e-9 * (1.0 + float(np.max(np.abs(u))) / float(np.min(made.curved)))
        np.testing.assert_allclose(alpha, slopes, atol=size)
        np.testing.assert_allclose(weights, Z.T @ alpha, atol=size * n)
    else:
        losses = np.maximum(made.lower * v, made.upper * v)
        size = 0.5 * float(u @ (weights - linear)) + float(np.sum(losses) + linear @ u)
        size = abs(size)
        assert np.all((made.lower <= alpha) & (alpha <= made.upper))
        assert float(np.sum(losses - alpha * v)) <= 2e-9 * size + 1e-12
        np.testing.assert_allclose(weights, Z.T @ alpha, atol=1e-9 * n * (1.0 + size))
    last = made.newton(X, NUMBERS_OF_NEWTON, *again).alpha
    for variant in core().variants:
        with using(variant):
            assert np.array_equal(made.newton(X, NUMBERS_OF_NEWTON, *again).alpha, last)


def test_no_slope_inside_its_ends_says_nothing_about_a_free_intercept() -> None:
    """Then the Hessian has no entry for it: the step is as long as one such slope makes it."""
    X = np.array([[1.0], [3.0], [-2.0]])
    one = SmallMachine(None, np.array([1.0, 1.0, -1.0]), np.ones(3), np.zeros(3), np.full(3, 1e-6))
    run = one.newton(X, NUMBERS_OF_NEWTON, 1e-3, 1e-9)
    assert run.status is CallStatus.DONE
    assert abs(float(one.signs @ run.alpha)) <= 1e-18


@settings(max_examples=examples(100))
@given(seeds, st.integers(0, 20), st.integers(0, 20), st.integers(0, 20))
def test_a_row_of_a_product_does_not_depend_on_the_others(
    seed: int, m: int, n: int, d: int
) -> None:
    rng = np.random.default_rng(seed)
    X, Z = rng.standard_normal((m, d)), rng.standard_normal((d, n))
    whole = products_by_row(X, Z)
    np.testing.assert_allclose(whole, X @ Z, rtol=1e-12, atol=1e-12)
    for i in range(m):
        alone = products_by_row(X[i : i + 1], Z)
        assert np.array_equal(alone[0], whole[i])
    for variant in core().variants:
        with using(variant):
            assert np.array_equal(products_by_row(X, Z), whole)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"signs": np.array([1.0, 0.5])}, r"signs\[1\] is 0.5"),
        ({"required": np.array([1.0, np.nan])}, r"required\[1\] is nan"),
        ({"lower": np.array([0.5, 0.0])}, r"zero\[0\] = 0.0 is outside"),
        ({"K": np.eye(3)}, "K has the shape"),
        ({"K": np.ones((2, 3))}, "K has the shape"),
        ({"K": np.eye(2, dtype=np.float32)}, "K is float32"),
        ({"rows": np.array([0, 2])}, "rows contains 2"),
        ({"curved": np.array([-1.0, 0.0])}, "the smallest of curved"),
        ({"constant": -1.0}, "constant is -1.0"),
        ({"cost": np.nan}, "cost is nan"),
        ({"side": 0.5}, "side is 0.5"),
        ({"side": 1.0, "is_free": False}, "0 without a free intercept"),
        ({"total": -1.0}, "total is -1.0"),
    ],
)
def test_wrong_machines_are_refused(change: Any, message: str) -> None:
    given: Any = {
        "K": np.eye(2),
        "signs": np.array([1.0, -1.0]),
        "required": np.ones(2),
        "lower": np.zeros(2),
        "upper": np.ones(2),
    }
    with pytest.raises(InvalidParameterError, match=message):
        SmallMachine(**(given | change))


def test_wrong_points_are_refused() -> None:
    signs = np.array([1.0, -1.0])
    one = SmallMachine(np.eye(2), signs, np.ones(2), np.zeros(2), np.ones(2))
    with pytest.raises(InvalidParameterError, match=r"alpha\[0\] = 2.0 is outside"):
        one.bounds(np.full(2, 2.0), none(2))
    with pytest.raises(InvalidParameterError, match="another size than the errors"):
        one.bounds(np.ones(2), none(3))
    with pytest.raises(InvalidParameterError, match="X has the shape"):
        one.bounds(np.ones(2), none(2), X=np.ones((3, 1)))
    with pytest.raises(InvalidParameterError, match="newton needs curved or delta above 0"):
        one.newton(np.ones((2, 1)), NUMBERS_OF_NEWTON)
    with pytest.raises(InvalidParameterError, match=r"delta is -1\.0"):
        one.newton(np.ones((2, 1)), NUMBERS_OF_NEWTON, -1.0)
    start = np.zeros(2), np.full(2, 2.0)
    with pytest.raises(InvalidParameterError, match=r"alpha\[0\] = 2.0 is outside"):
        one.newton(np.ones((2, 1)), NUMBERS_OF_NEWTON, 1.0, start=start)
    without = SmallMachine(None, signs, np.ones(2), np.zeros(2), np.ones(2))
    with pytest.raises(InvalidParameterError, match="a run needs the kernel matrix"):
        without.run(1e-6, NUMBERS)
