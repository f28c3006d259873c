"""Kernel columns: those of the matrix, each evaluated once where there is room for it."""

from __future__ import annotations

import numpy as np
import pytest

from qpsvm.kernels import RBF
from qpsvm.qp import KernelQuadratic, SampleGram, sample_gram
from qpsvm.solvers.box.curvature import KernelColumns
from tests.tolerances import ROUNDING


def hessian(n=40, seed=0, *, doubled=False, diag=0.0, constant=0.0, features=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, features))
    gram = SampleGram(RBF(1.2 / features), X, positive_semidefinite=True)
    signs = np.where(rng.random(2 * n if doubled else n) < 0.5, -1.0, 1.0)
    index = np.tile(np.arange(n), 2) if doubled else None
    return KernelQuadratic(gram, signs, index, np.full(len(signs), diag), constant=constant)


@pytest.mark.parametrize("doubled", [False, True])
@pytest.mark.parametrize("slack", [0, 2])
@pytest.mark.parametrize("capacity", [1, 7, 15, 40])
@pytest.mark.parametrize("is_kept", [False, True])
def test_columns_are_those_of_the_matrix(doubled, slack, capacity, is_kept) -> None:
    more = {"diag": 0.3, "constant": 1.0, "features": 65}  # columns soon stay
    P, same = (hessian(doubled=doubled, **more) for _ in range(2))
    dense = np.zeros((P.size + slack, P.size + slack))
    dense[: P.size, : P.size] = (P if is_kept else same).to_dense()
    assert P.gram.is_kept == is_kept
    columns, rng = KernelColumns(P, slack, 8 * 40 * capacity), np.random.default_rng(1)
    assert columns.capacity == capacity
    for _ in range(12):  # columns come and go
        index = np.sort(rng.choice(P.size, int(rng.integers(1, 20)), replace=False))
        with_slack = np.append(index, P.size) if slack else index
        np.testing.assert_allclose(
            columns.block(with_slack), dense[np.ix_(with_slack, with_slack)], atol=ROUNDING
        )
        d = rng.standard_normal(P.size + slack) * (rng.random(P.size + slack) < 0.4)
        np.testing.assert_allclose(columns.product(d), dense @ d, atol=100 * ROUNDING)


@pytest.mark.parametrize("capacity", [10, 40])
def test_columns_that_are_kept_are_evaluated_no_more(capacity) -> None:
    P = hessian(features=3)
    columns, evaluated = KernelColumns(P, 0, 8 * 40 * capacity), []
    original = P.gram.rows
    P.gram.rows = lambda samples, out: (evaluated.append(len(samples)), original(samples, out))
    d = np.zeros(40)
    d[:8] = 1.0
    for _ in range(4):
        columns.product(d)
    assert sum(evaluated) == 8
    np.testing.assert_allclose(columns.matvec_compensated(d), columns.product(d), atol=ROUNDING)
    d[:] = 1.0
    before = sum(evaluated)
    for _ in range(4):  # who only looks keeps none
        columns.matvec_compensated(d)
    assert sum(evaluated) == before + 4 * 32
    before = sum(evaluated)
    for _ in range(4):  # more than there is room for: the others pass every time
        columns.product(d)
    assert sum(evaluated) - before == 32 + 3 * (40 - capacity)


@pytest.mark.parametrize("n_known", [0, 3, 12, 20])
def test_a_square_is_that_of_the_matrix_whatever_is_kept(n_known) -> None:
    P = hessian()
    columns, rng = KernelColumns(P, 0, 8 * 40 * 40), np.random.default_rng(2)
    d = np.zeros(40)
    d[rng.permutation(40)[:n_known]] = 1.0
    columns.product(d)
    samples = np.sort(rng.permutation(40)[:25])
    expected = hessian().gram.dense[np.ix_(samples, samples)]
    np.testing.assert_allclose(columns.square(samples), expected, atol=ROUNDING)


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
