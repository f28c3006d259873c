"""Steps of samples for the machine with one decision function per class."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qpsvm.exceptions import InvalidParameterError
from qpsvm.native import CallStatus, descend_classes
from qpsvm.native.library import core, using
from tests.strategies import examples

seeds = st.integers(0, 2**32 - 1)


def program(seed: int) -> Any:
    """A random program: K, classes, bounds, and the constant of penalised intercepts."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(1, 25)), int(rng.integers(1, 6))
    X = rng.standard_normal((n, int(rng.integers(1, 5)))) * 10.0 ** rng.uniform(-2, 2)
    X[: n // 3] = X[n // 3 : n // 3 * 2]  # equal samples
    codes = rng.integers(0, k, n)
    return X @ X.T, codes, 10.0 ** rng.uniform(-3, 3, n), float(rng.integers(0, 2)), k


def begin(K: Any, codes: Any, k: int) -> Any:
    own = (codes[:, None] == np.arange(k)).astype(float)
    return np.zeros((len(K), k)), -own, own


@settings(max_examples=examples(300))
@given(seeds)
def test_runs_end_at_the_optimum(seed: int) -> None:
    """A feasible point whose duality gap is what its violations allow."""
    K, codes, upper, constant, k = program(seed)
    tau, g, own = begin(K, codes, k)
    run = descend_classes(K, codes, upper, tau, g, constant=constant, tol=1e-6, max_steps=20_000)
    box = own * upper[:, None]
    assert (tau <= box).all()
    sizes = np.sum(np.abs(tau), axis=1)
    assert (np.abs(np.sum(tau, axis=1)) <= 4 * k * np.finfo(float).eps * sizes).all()
    f = (K + constant) @ tau
    size = float(np.max(np.abs(K) + constant)) * float(np.sum(sizes))
    np.testing.assert_allclose(g, f - own, atol=1e-10 * (1.0 + size))
    if run.status is not CallStatus.DONE:
        return
    exact = f - own
    worst = np.max(exact, axis=1, keepdims=True) - exact
    gap = float(np.sum((box - tau) * worst))  # of a sum over a simplex, no term below zero
    assert gap <= (run.violation + 1e-9 * (1.0 + size)) * float(np.sum(upper))


@given(seeds)
def test_every_step_lowers_the_objective(seed: int) -> None:
    K, codes, upper, constant, k = program(seed)
    tau, g, own = begin(K, codes, k)
    last = 0.0
    for _ in range(10):
        descend_classes(K, codes, upper, tau, g, constant=constant, tol=0.0, max_steps=1)
        value = 0.5 * float(np.sum(tau * ((K + constant) @ tau))) - float(np.sum(tau * own))
        assert value <= last + 1e-9 * (1.0 + abs(last))
        last = value


@given(seeds)
def test_a_run_in_parts_has_the_bits_of_one_run_on_every_processor(seed: int) -> None:
    K, codes, upper, constant, k = program(seed)
    whole, g, _ = begin(K, codes, k)
    descend_classes(K, codes, upper, whole, g, constant=constant, tol=1e-9, max_steps=60)
    for variant in core().variants:
        with using(variant):
            tau, g, _ = begin(K, codes, k)
            for _ in range(6):
                descend_classes(K, codes, upper, tau, g, constant=constant, tol=1e-9, max_steps=10)
            assert np.array_equal(tau, whole)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"K": np.eye(3)}, "K has the shape"),
        ({"codes": np.array([0, 2])}, "codes contains 2"),
        ({"codes": np.array([0.0, 1.0])}, "codes has the type float64"),
        ({"upper": np.array([1.0, 0.0])}, "upper has 0.0"),
        ({"upper": np.array([1.0, np.inf])}, r"upper\[1\] is inf"),
        ({"tau": np.full((2, 2), 2.0)}, "tau has a variable above its bound"),
        ({"tau": np.full((2, 2), np.nan)}, "not a number"),
        ({"gradient": np.zeros((2, 3))}, "gradient has the shape"),
        ({"constant": -1.0}, "constant is -1.0"),
        ({"tol": np.nan}, "tol is nan"),
    ],
)
def test_wrong_arguments_are_refused(change: Any, message: str) -> None:
    given_: Any = {
        "K": np.eye(2),
        "codes": np.array([0, 1]),
        "upper": np.ones(2),
        "tau": np.zeros((2, 2)),
        "gradient": -np.eye(2),
        "tol": 1e-9,
        "max_steps": 5,
    }
    with pytest.raises(InvalidParameterError, match=message):
        descend_classes(**(given_ | change))


def test_what_is_not_finite_is_said() -> None:
    K, tau, g = np.eye(2), np.zeros((2, 2)), np.array([[np.nan, 0.0], [0.0, 0.0]])
    given_ = (np.array([0, 1]), np.ones(2), tau, g)
    assert descend_classes(K, *given_, tol=0.0, max_steps=5).status is CallStatus.NOT_FINITE
    bad = np.full((2, 2), np.nan)
    given_ = (np.array([0, 1]), np.ones(2), np.zeros((2, 2)), -np.eye(2))
    assert descend_classes(bad, *given_, tol=0.0, max_steps=5).status is not CallStatus.DONE
