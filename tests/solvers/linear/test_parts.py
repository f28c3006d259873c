"""The parts of the solver of linear machines against dense formulas."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from qpsvm.numerics.rows import row_squares
from qpsvm.numerics.single_precision import SinglePrecision
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.solvers.linear.factor import Factor, feature_pairs, of_pairs, pairs_pay
from qpsvm.solvers.linear.newton import NormalMatrix, OfVariables, OfWeights
from qpsvm.solvers.linear.program import FactorProgram
from qpsvm.solvers.linear.settings import DEFAULTS
from tests import tolerances
from tests.strategies import examples

seeds = st.integers(0, 10**6)


def draw(seed, n=30, r=6, density=0.4):
    """Samples with a row and a column of zeros, and two equal rows."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, r)) * (rng.random((n, r)) < density)
    X[0], X[:, 0], X[1] = 0.0, 0.0, X[2]
    return rng, X


def factors(seed):
    """The same F in every storage: plain, shared rows, with slack variables; and dense."""
    rng, X = draw(seed)
    n = len(X)
    signs, index = rng.choice([-1.0, 1.0], n), rng.integers(0, n, 2 * n)
    both = np.concatenate([signs, -signs])
    for storage in (np.asarray, sp.csr_array):
        yield Factor(storage(X), signs=signs), signs[:, None] * X
        yield Factor(storage(X), signs=both, index=index), both[:, None] * X[index]
        plain = LowRankQuadratic(storage(X), signs=signs)
        yield Factor.of(plain, 2), np.vstack([signs[:, None] * X, 0 * X[:2]])
        with_constant = np.hstack([X, np.full((n, 1), 1.5)])
        yield Factor(storage(X), signs=signs, constant=2.25), signs[:, None] * with_constant
    single = X.astype(np.float32)
    dense = both[:, None] * np.float64(single)[index]
    yield Factor(SinglePrecision(single), signs=both, index=index), dense


@given(seeds)
def test_products_are_those_of_the_dense_matrix(seed) -> None:
    rng = np.random.default_rng(seed)
    for factor, F in factors(seed):
        c, v, D = rng.standard_normal(F.shape[1]), rng.standard_normal(len(F)), rng.random(len(F))
        found = {
            "F c": (factor.times(c, np.empty(len(F))), F @ c),
            "F'v": (factor.transposed(v), F.T @ v),
            "F'DF": (np.triu(factor.normal(D)), np.triu(F.T @ (D[:, None] * F))),
        }
        kept = np.flatnonzero(rng.random(len(F)) < 0.6)
        for share in (0.0, 0.5, 1.0):
            part = factor.restricted(kept, copied_below=share)
            found[f"restricted {share}"] = (part.times(c, np.empty(len(kept))), F[kept] @ c)
        found["block"] = (factor.block(kept, kept), F[kept] @ F[kept].T)
        found["rows"] = (factor.diagonal(), np.linalg.norm(F, axis=1) ** 2)
        for name, (own, dense) in found.items():
            np.testing.assert_allclose(own, dense, atol=tolerances.ROUNDING, err_msg=name)


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array, sp.coo_array, np.asarray])
def test_sizes_of_rows(form) -> None:
    X = np.array([[1.0, 2.0], [0.0, 0.0], [-3.0, 0.0]])
    np.testing.assert_array_equal(row_squares(form(X)), [5.0, 0.0, 9.0])


def test_sizes_of_rows_with_entries_in_two_parts() -> None:
    X = sp.csr_array(([1.0, 2.0], [0, 0], [0, 2]), shape=(1, 1))
    assert row_squares(X) == [9.0]
    assert X.nnz == 2


@given(seeds)
def test_products_of_features_in_pairs(seed) -> None:
    rng, X = draw(seed, n=40, r=9, density=0.2)
    D = rng.random(40)
    pairs = feature_pairs(sp.csr_array(X))
    some = np.flatnonzero(rng.random(40) < 0.5)
    for found, rows in ((pairs, np.arange(40)), (pairs[some], some)):
        expected = X[rows].T @ (D[rows, None] * X[rows])
        np.testing.assert_allclose(
            np.triu(of_pairs(found, D[rows])), np.triu(expected), atol=tolerances.ROUNDING
        )


def test_pairs_are_counted_before_they_are_made() -> None:
    X = sp.csr_array(np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [3.0, 4.0, 5.0]]))
    assert feature_pairs(X).nnz == 3 + 6
    wide = sp.random_array((2000, 400), density=0.01, rng=0, format="csr")
    assert pairs_pay(wide, DEFAULTS)
    assert not pairs_pay(sp.csr_array(np.ones((50, 8))), DEFAULTS)


def systems(factor, A, free, theta):
    """Both Newton systems of the same free variables."""
    n = factor.size
    zeros, ones = np.zeros(n), np.ones(n)
    program = FactorProgram(factor, zeros, zeros, A, np.zeros(len(A)), -ones, ones, zeros)
    everybody = np.arange(n)
    yield OfWeights(program, free, theta, 0.7, NormalMatrix(factor), everybody)
    yield OfVariables(program, free, theta, 0.7)


@given(seeds, st.sampled_from([0, 1, 2]))
@settings(max_examples=examples(40))
def test_a_direction_solves_the_whole_system(seed, p) -> None:
    rng = np.random.default_rng(seed)
    for factor, F in factors(seed):
        n = len(F)
        free = np.flatnonzero(rng.random(n) < 0.7)
        A, theta = rng.standard_normal((p, n)), rng.uniform(0.5, 2.0, len(free))
        r, e = rng.standard_normal(len(free)), rng.standard_normal(p)
        a, b = rng.standard_normal(F.shape[1]), rng.standard_normal(p)
        own, rows, D = F[free], A[:, free], np.diag(1.0 / theta)
        whole = np.block([[own @ own.T + np.diag(theta), rows.T], [rows, np.zeros((p, p))]])
        K = np.block([[own.T @ D @ own, own.T @ D @ rows.T], [rows @ D @ own, rows @ D @ rows.T]])
        K[: len(a), : len(a)] += np.eye(len(a))
        of_variables = np.linalg.solve(whole, np.concatenate([r, e]))
        of_weights = np.linalg.solve(K, np.concatenate([a, b]))
        for system in systems(factor, A, free, theta):
            for found, expected in (
                (system.of_variables(r, e), of_variables),
                (system.of_weights(a, b), of_weights),
            ):
                scale = 1.0 + np.max(np.abs(expected))
                np.testing.assert_allclose(np.concatenate(found), expected, atol=1e-9 * scale)


@pytest.mark.parametrize("row", [[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]])
def test_rows_without_a_free_variable_move_their_multipliers(row) -> None:
    """Alone, or as a sum of rows: there a step has the sign of what the rows miss."""
    A = np.array([[1.0, 1.0, 1.0, 1.0], row])
    factor = Factor(np.arange(1.0, 5.0)[:, None])
    for system in systems(factor, A, np.array([0, 1]), np.ones(2)):
        missing = system.lone[:, 0]
        dy = system.of_weights(np.zeros(1), missing)[1]
        assert system.misses(missing, np.ones(4))
        assert float(dy @ missing) > 0.0


@given(seeds)
@settings(max_examples=examples(40))
def test_a_matrix_of_changes_is_that_from_the_start(seed) -> None:
    rng = np.random.default_rng(seed)
    for factor, F in factors(seed):
        matrix, D = NormalMatrix(factor), np.zeros(len(F))
        for _ in range(6):
            D = np.where(rng.random(len(F)) < 0.2, rng.random(len(F)) * (rng.random() < 0.8), D)
            np.testing.assert_allclose(
                np.triu(matrix.of(D)), np.triu(F.T @ (D[:, None] * F)), atol=tolerances.ROUNDING
            )
