"""Random calls of the core with numbers and shapes of every kind, for a time.

Usage: ``.ci/sanitize PYTHON fuzz SECONDS [SEED]``: with memory accesses and arithmetic checked.

Values are ordinary, tiny, denormal, huge, infinite or NaN, indices now and then out of range. A
call may refuse its arguments; else what it writes must be within its box. Prints every fiftieth
seed before its round, so that a crash can be repeated from there, and at the end how many calls
were refused and answered.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import Any

import numpy as np

from qpsvm.exceptions import InvalidParameterError
from qpsvm.native import (
    CoordinateDescent,
    Losses,
    NewtonNumbers,
    RunNumbers,
    SmallMachine,
    ValueErrors,
    descend_classes,
    descend_pairs,
    exponent_tile,
    products_by_row,
)
from qpsvm.native.library import core, using
from tests.native.programs import FORMATS, box, integers, stored

ODD = np.array([0.0, -0.0, 5e-324, -1e-310, 1e-200, 1e200, -1e300, 1e308, np.inf, -np.inf, np.nan])


def numbers(rng: Any, *shape: int) -> Any:
    """Ordinary numbers; in one call of three with odd ones among them."""
    values = rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 4)
    if rng.random() < 1 / 3:
        is_odd = rng.random(shape) < 0.1
        values = np.where(is_odd, rng.choice(ODD, shape), values)
    return np.ascontiguousarray(values)


def places(rng: Any, n: int, end: int) -> Any:
    """Indices, in one call of twenty out of range."""
    wrong = int(rng.random() < 0.05)
    return rng.integers(-wrong, end + wrong, n) if end or not n else np.zeros(n, np.int64)


def descent(rng: Any) -> None:
    """A run of coordinate descent, in calls of any length."""
    n, m, d = (int(k) for k in rng.integers(0, 40, 3))
    kind = FORMATS[rng.integers(len(FORMATS))]
    X = stored(numbers(rng, m, d) * (rng.random((m, d)) < 0.7), kind)
    if kind.startswith("csr") and X.nnz and rng.random() < 0.1:
        X.indices[rng.integers(X.nnz)] = rng.integers(-2, d + 2)
        X.indptr[rng.integers(m + 1)] += rng.integers(-2, 3)
    lower, upper = box(rng, n)
    run = CoordinateDescent(
        X,
        linear=numbers(rng, n),
        lower=lower,
        upper=upper,
        signs=rng.choice([-1.0, 1.0], n) if rng.random() < 0.5 else None,
        added=np.abs(numbers(rng, n)) if rng.random() < 0.5 else None,
        rows=places(rng, n, m),
        constant=float(rng.integers(0, 2)),
        seed=int(rng.integers(2**62)),
    )
    for _ in range(3):
        run.run(int(rng.integers(0, 20)), float(rng.choice([0.0, 1e-9, 1e-3])), work=997)
    assert np.all((lower <= run.a) & (run.a <= upper))


def pairs(rng: Any) -> None:
    """Steps on a block or on columns of a cache."""
    n = int(rng.integers(0, 40))
    factor = numbers(rng, n, int(rng.integers(1, 20)))
    with np.errstate(all="ignore"):
        K = factor @ factor.T
    lower, upper = box(rng, n)
    v = np.clip(integers(rng, n), lower, upper)
    block, where = K, {}
    if rng.random() < 0.5:
        block = np.concatenate([numbers(rng, 3), K.ravel(), numbers(rng, 2)])
        where = {"offsets": places(rng, n, n) * n + 3, "columns": places(rng, n, n)}
    descend_pairs(
        block,
        v,
        numbers(rng, n),
        lower,
        upper,
        kept=("none", "sum", "sums")[rng.integers(3)],
        tol=float(rng.choice([0.0, 1e-9, 1e-3])),
        max_steps=int(rng.integers(0, 300)),
        groups=places(rng, n, 2).astype(np.int8),
        added=np.abs(numbers(rng, n)) if rng.random() < 0.5 else None,
        constant=float(rng.integers(0, 2)),
        **where,
    )
    assert np.all((lower <= v) & (v <= upper))


def tile(rng: Any) -> None:
    """A tile inside a larger array."""
    m, n = (int(k) for k in rng.integers(0, 60, 2))
    whole = np.full((m + 2, n + 3), 7.0)
    whole[1 : m + 1, 2 : n + 2] = numbers(rng, m, n)
    gamma = float(np.abs(numbers(rng, 1))[0])
    exponent_tile(whole[1 : m + 1, 2 : n + 2], numbers(rng, m), numbers(rng, n), gamma)
    values = whole[1 : m + 1, 2 : n + 2]
    assert np.all((values >= 0.0) & (values <= 1.0) | np.isnan(values))
    whole[1 : m + 1, 2 : n + 2] = 7.0
    assert np.all(whole == 7.0)


def intercepts(rng: Any) -> None:
    """Best intercepts of random losses."""
    n, m = (int(k) for k in rng.integers(0, 40, 2))
    lower, upper = box(rng, n)
    if rng.random() < 0.3:
        lower = np.where(rng.random(n) < 0.3, -np.inf, lower)
    signs = rng.choice([-1.0, 1.0], n)
    curved = np.abs(numbers(rng, n)) * (rng.random(n) < rng.choice([0.0, 0.5, 1.0]))
    values, rows = numbers(rng, m), places(rng, n, m)
    losses = Losses(numbers(rng, n), lower, upper, signs=signs, curved=curved, rows=rows)
    first, last = losses.optimal_intercepts(values, cost=float(rng.integers(-5, 6)))
    assert first <= last


def machines(rng: Any) -> None:
    """Small machines, solved and bounded from a matrix or from samples."""
    n, d = int(rng.integers(0, 40)), int(rng.integers(0, 20))
    size = n if rng.random() < 0.5 else int(rng.integers(0, 60))
    X = numbers(rng, n, d)
    with np.errstate(all="ignore"):
        K = X @ X.T
    lower, upper = box(rng, size)
    lower, upper = np.minimum(lower, 0.0), np.maximum(upper, 0.0)
    is_free = bool(rng.random() < 0.6)
    side = float(rng.integers(-1, 2)) if is_free else 0.0
    machine = SmallMachine(
        K if rng.random() < 0.9 else None,
        rng.choice([-1.0, 1.0], size),
        numbers(rng, size),
        lower,
        upper,
        curved=np.abs(numbers(rng, size)) if rng.random() < 0.5 else None,
        rows=places(rng, size, n) if size != n or rng.random() < 0.5 else None,
        is_free=is_free,
        constant=float(rng.integers(0, 2)),
        cost=float(rng.integers(-2, 3)) if rng.random() < 0.5 else 0.0,
        side=side,
        total=float(rng.integers(0, 5)) if rng.random() < 0.5 else 1e300 * rng.random(),
    )
    some = RunNumbers(most=int(rng.integers(0, 30)), turns=int(rng.integers(0, 5)))
    run = machine.run(float(rng.choice([0.0, 1e-9, 1e-3])), some)
    assert np.all((lower <= run.alpha) & (run.alpha <= upper) | np.isnan(run.alpha))
    machine.run(1e-12, some, run)
    errors = ValueErrors(
        np.abs(numbers(rng, 4, n)) + np.array([[0], [rng.integers(0, 2)], [0], [0]])
    )
    given = np.clip(integers(rng, size), lower, upper)
    machine.bounds(given, errors, X=X if rng.random() < 0.5 else None)
    delta = 10.0 ** rng.uniform(-300, 300)
    if machine.rows is not None or size == n:
        limits = [int(rng.integers(0, most)) for most in (30, 9, 5)]
        numbers_ = NewtonNumbers(*limits, float(rng.choice([0.1, 1e-9])))
        run = machine.newton(X, numbers_, delta, float(rng.choice([0.0, 1e-9])))
        finite = np.all(np.isfinite(run.weights)) and run.delta > 0.0
        if finite and np.all((lower <= run.alpha) & (run.alpha <= upper)):
            machine.newton(X, numbers_, run.delta, 0.0, 1e-9, (run.weights, run.alpha))


def blocks(rng: Any) -> None:
    """Several machines in pieces of one matrix, now and then out of range."""
    n, d, count = int(rng.integers(0, 40)), int(rng.integers(0, 9)), int(rng.integers(0, 4))
    X = numbers(rng, n, d)
    with np.errstate(all="ignore"):
        K = X @ X.T
    lengths = rng.integers(0, n // 2 + 1, (count, 2))
    pieces = np.zeros((count, 4), np.int64)
    pieces[:, 1::2] = lengths
    wrong = int(rng.random() < 0.05)
    pieces[:, ::2] = rng.integers(-wrong, n - lengths + 1 + wrong)
    size = int(lengths.sum())
    lower, upper = box(rng, size)
    conditions = SmallMachine(
        None,
        rng.choice([-1.0, 1.0], size),
        numbers(rng, size),
        np.minimum(lower, 0.0),
        np.maximum(upper, 0.0),
        curved=np.abs(numbers(rng, size)) if rng.random() < 0.5 else None,
        is_free=bool(rng.random() < 0.6),
        constant=float(rng.integers(0, 2)),
    )
    limits = np.abs(numbers(rng, count, 5))
    limits[:, 2] = rng.integers(0, 10_000, count)
    errors = ValueErrors(np.abs(numbers(rng, 4, n)) + np.array([[0], [1], [0], [0]]))
    if rng.random() < 0.5:
        some: Any = RunNumbers(most=int(rng.integers(0, 30)), turns=int(rng.integers(0, 5)))
        given = K, X if rng.random() < 0.5 else None
    else:
        some = NewtonNumbers(*(int(rng.integers(0, most)) for most in (30, 9, 5)))
        given = None, X
    found = conditions.solve_together(*given, pieces, limits, some, errors)
    alpha = np.concatenate([np.zeros(0), *(one.alpha for one in found)])
    inside = (conditions.lower <= alpha) & (alpha <= conditions.upper)
    assert np.all(inside | np.isnan(alpha))


def classes(rng: Any) -> None:
    """Steps of samples on any matrix, continued once."""
    n, k = int(rng.integers(0, 30)), int(rng.integers(0, 6))
    X = numbers(rng, n, 4)
    with np.errstate(all="ignore"):
        K = X @ X.T if rng.random() < 0.8 else numbers(rng, n, n)
    codes = rng.integers(0, max(k, 1), n)
    upper, tau = np.abs(numbers(rng, n)), np.zeros((n, k))
    g = -(codes[:, None] == np.arange(k)).astype(float)
    for _ in range(2):
        steps = int(rng.integers(0, 50))
        tol, constant = float(rng.choice([0.0, 1e-6])), float(rng.integers(0, 2))
        given = (K, codes, upper, tau, g)
        descend_classes(*given, constant=constant, tol=tol, max_steps=steps)
        g = numbers(rng, n, k) if rng.random() < 0.5 else g


def products(rng: Any) -> None:
    """Products into a part of a larger array."""
    m, n, d = (int(k) for k in rng.integers(0, 40, 3))
    whole = np.full((m + 2, n + 3), 7.0)
    with np.errstate(all="ignore"):
        products_by_row(numbers(rng, m, d), numbers(rng, d, n), whole[1 : m + 1, 2 : n + 2])
    whole[1 : m + 1, 2 : n + 2] = 7.0
    assert np.all(whole == 7.0)


def main() -> None:
    """Make calls until the time is over."""
    seconds, seed = float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    ends, counts = time.monotonic() + seconds, Counter[str]()
    while time.monotonic() < ends:
        if seed % 50 == 0:
            print(f"\rseed {seed}", end="", file=sys.stderr, flush=True)
        rng = np.random.default_rng(seed)
        with using(core().variants[seed % len(core().variants)]):
            for call in (descent, pairs, tile, intercepts, machines, blocks, classes, products):
                try:
                    with np.errstate(all="ignore"):
                        call(rng)
                    counts[f"{call.__name__} answered"] += 1
                except InvalidParameterError:
                    counts[f"{call.__name__} refused"] += 1
        seed += 1
    print(file=sys.stderr)
    print(f"{core().path.name}, last seed {seed - 1}: {dict(sorted(counts.items()))}")


if __name__ == "__main__":
    main()
