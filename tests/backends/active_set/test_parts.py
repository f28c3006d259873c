"""The parts of the kernel engine: columns, levels, and Newton's method on the smoothed program."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from qpsvm.backends.active_set import smoothed
from qpsvm.backends.active_set.columns import KernelColumns
from qpsvm.backends.active_set.levels import _level
from qpsvm.backends.active_set.smoothed import Smooth, smoothed_newton, widths
from qpsvm.kernels import RBF
from qpsvm.qp import KernelQuadratic, QuadraticProgram, SampleGram, sample_gram
from qpsvm.qp.box_polish import settle
from qpsvm.qp.box_program import Boxed
from qpsvm.qp.effort import Effort
from tests.tolerances import ROUNDING, SAME_OBJECTIVE

PLENTY = 2**30


def hessian(n=40, seed=0, *, doubled=False, diag=0.0, constant=0.0):
    rng = np.random.default_rng(seed)
    gram = SampleGram(RBF(0.4), rng.standard_normal((n, 3)), positive_semidefinite=True)
    signs = np.where(rng.random(2 * n if doubled else n) < 0.5, -1.0, 1.0)
    index = np.tile(np.arange(n), 2) if doubled else None
    return KernelQuadratic(gram, signs, index, np.full(len(signs), diag), constant=constant)


@pytest.mark.parametrize("doubled", [False, True])
@pytest.mark.parametrize("slack", [0, 2])
@pytest.mark.parametrize("capacity", [1, 7, 15, 40])
@pytest.mark.parametrize("is_kept", [False, True])
def test_columns_are_those_of_the_matrix(doubled, slack, capacity, is_kept) -> None:
    P, same = (hessian(doubled=doubled, diag=0.3, constant=1.0) for _ in range(2))
    dense = np.zeros((P.size + slack, P.size + slack))
    dense[: P.size, : P.size] = (P if is_kept else same).to_dense()
    assert P.gram.is_kept == is_kept
    columns, rng = KernelColumns(P, slack, 8 * 40 * capacity), np.random.default_rng(1)
    assert columns.capacity == capacity
    for _ in range(12):  # columns come and go
        index = np.sort(rng.choice(P.size, int(rng.integers(1, 20)), replace=False))
        fits = is_kept or len(np.unique(index % 40)) <= capacity
        assert columns.keep(index) == fits
        with_slack = np.append(index, P.size) if slack else index
        np.testing.assert_allclose(
            columns.block(with_slack), dense[np.ix_(with_slack, with_slack)], atol=ROUNDING
        )
        d = rng.standard_normal(P.size + slack) * (rng.random(P.size + slack) < 0.4)
        np.testing.assert_allclose(columns.product(d), dense @ d, atol=100 * ROUNDING)


def program_of(P, C=1.0):
    ones = P.selection.signs
    program = QuadraticProgram(P, -np.ones(P.size), A=ones[None], b=[0.0], lb=0.0, ub=C)
    columns = KernelColumns(P, 0, PLENTY)
    return replace(Boxed.of(program, PLENTY).box, P=columns), columns


def optimum(program):
    found = settle(program, np.zeros(program.size), largest=5000, effort=Effort())
    return program.objective(found)


@pytest.mark.parametrize("diag", [0.0, 0.5])
def test_half_of_samples_that_all_come_twice_is_the_same_problem(diag) -> None:
    once = hessian(60, diag=diag)
    X, signs = np.tile(once.gram.X, (2, 1)), np.tile(once.selection.signs, 2)
    gram = SampleGram(RBF(0.4), X, positive_semidefinite=True)
    twice = KernelQuadratic(gram, signs, None, np.full(120, diag))
    program, columns = program_of(twice)
    half = _level(program, columns, np.arange(120), 0, 60, PLENTY)
    assert optimum(half.program) == pytest.approx(optimum(program), rel=SAME_OBJECTIVE)
    np.testing.assert_allclose(half.program.diagonal, half.columns.P.diagonal(), atol=ROUNDING)
    assert half.is_new.all()
    assert _level(program, columns, np.arange(120), 60, 120, PLENTY).is_new.sum() == 60


@pytest.mark.parametrize("band", [0.05, 0.3, 2.0])
@pytest.mark.parametrize("seed", range(4))
def test_where_it_settles_the_smoothed_program_is_solved(band, seed, monkeypatch) -> None:
    program, columns = program_of(hessian(200, seed), C=5.0)
    rng = np.random.default_rng(seed)
    v = rng.uniform(0.0, 5.0, 200)  # not feasible, and far off
    Pv = program.P.product(v)
    monkeypatch.setattr(smoothed, "STEPS", 200)
    monkeypatch.setattr(smoothed, "SETTLED", 0.0)
    at = Smooth(v, Pv, v, Pv, np.zeros(1))
    for _ in range(10):  # it ends after a whole step from which nothing is far
        at = smoothed_newton(program, columns, at, band, lambda: True)
    sigma = 2.0 * band / float(np.median(widths(program)))
    np.testing.assert_allclose(at.Pv, program.P.product(at.v), atol=1e-9)
    x = program.clip(2.5 - program.gradient(at.Pv, at.y) / sigma)
    np.testing.assert_allclose(at.v, x, atol=1e-7)  # v is x(r): the gradient of D vanishes
    np.testing.assert_allclose(program.A @ x, program.b, atol=1e-7)


def test_the_band_shrinks_where_it_holds_too_many(monkeypatch) -> None:
    program, columns = program_of(hessian(200))
    monkeypatch.setattr(smoothed, "MOST_FREE", 20)
    seen = []
    original = smoothed.Equations

    def recorded(program, free, sigma):
        seen.append(len(free))
        return original(program, free, sigma)

    monkeypatch.setattr(smoothed, "Equations", recorded)
    zero = np.zeros(200)
    smoothed_newton(
        program, columns, Smooth(zero, zero, zero, zero, np.zeros(1)), 5.0, lambda: True
    )
    assert seen
    assert max(seen) <= 20


@pytest.mark.parametrize("kept", [0, 2**29])
@pytest.mark.parametrize("is_matrix", [False, True])
def test_some_samples_of_a_matrix(kept, is_matrix, monkeypatch) -> None:
    monkeypatch.setattr(sample_gram, "KEPT_BYTES", kept)  # none of it is copied, or all
    whole = hessian(50).gram
    K, some = whole.dense, np.array([3, 4, 17, 40])
    gram = SampleGram.of_matrix(K) if is_matrix else whole
    part, out = gram.of_samples(some), np.empty((2, 4))
    part.rows(np.array([1, 3]), out)
    np.testing.assert_allclose(out, K[np.ix_([4, 40], some)], atol=ROUNDING)
    assert part.is_kept == bool(kept)
