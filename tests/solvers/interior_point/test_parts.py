"""The parts of the interior-point solver against dense formulas."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from qpsvm.numerics.rows import row_squares
from qpsvm.numerics.single_precision import SinglePrecision
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.solvers.interior_point.factor import Factor, feature_pairs, of_pairs, pairs_pay
from qpsvm.solvers.interior_point.newton import NewtonSystem, OfBoth, OfVariables, OfWeights
from qpsvm.solvers.interior_point.settings import DEFAULTS
from qpsvm.solvers.interior_point.smoothing import above, between
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
        found["gram"] = (factor.gram, F @ F.T)
        found["columns"] = (factor.column_sizes, np.linalg.norm(F, axis=0))
        found["rows"] = (factor.diagonal(), np.linalg.norm(F, axis=1) ** 2)
        V, A, W = (rng.standard_normal(s) for s in ((F.shape[1], 3), (2, len(F)), (2, 3)))
        products = np.linalg.norm(F @ V + A.T @ W, axis=1) ** 2
        found["products"] = (factor.squared_products(V, A, W), products)
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


@given(seeds, st.sampled_from([0, 1, 2]), st.sampled_from([OfWeights, OfVariables, OfBoth]))
def test_a_direction_solves_the_whole_system(seed, p, system: type[NewtonSystem]) -> None:
    rng = np.random.default_rng(seed)
    for factor, F in factors(seed):
        n = len(F)
        A, theta = rng.standard_normal((p, n)), rng.uniform(0.5, 2.0, n)
        r, e = rng.standard_normal(n), rng.standard_normal(p)
        whole = np.block([[F @ F.T + np.diag(theta), A.T], [A, np.zeros((p, p))]])
        expected = np.linalg.solve(whole, np.concatenate([r, e]))
        D = 1.0 / theta
        dw, dy = system(factor, A, D).solve(F.T @ (D * r), A @ (D * r) - e)
        dx = (r - F @ dw - A.T @ dy) / theta
        scale = 1.0 + np.max(np.abs(expected))
        np.testing.assert_allclose(np.concatenate([dx, dy]), expected, atol=1e-10 * scale)
        np.testing.assert_allclose(dw, F.T @ dx, atol=1e-10 * scale)


@given(seeds)
@settings(max_examples=examples(40))
def test_how_far_a_step_changes_each_gradient(seed) -> None:
    """To within the spread of projections, whatever the unknowns are."""
    for factor, F in factors(seed):
        rng = np.random.default_rng(seed)
        D, A = rng.uniform(0.5, 2.0, len(F)), rng.standard_normal((1, len(F)))
        for rows in (A[:0], A):
            f = np.hstack([F, rows.T])
            K = f.T @ (D[:, None] * f)
            K[: F.shape[1], : F.shape[1]] += np.eye(F.shape[1])
            exact = np.sqrt(np.einsum("ij,ij->i", f @ np.linalg.inv(K), f))
            for system in (OfWeights, OfVariables, OfBoth):
                found = system(factor, rows, D).sizes()
                assert (found <= 3.0 * exact + tolerances.ROUNDING).all()
                assert np.median(found[exact > 0.0] / exact[exact > 0.0]) > 0.5


@pytest.mark.parametrize("mu", [1e-12, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("u", [1e-8, 1.0, 1e8])
def test_where_the_central_path_has_a_variable(mu, u) -> None:
    r = np.array([-1e6, -1.0, -1e-9, 0.0, 1e-9, 1.0, 1e6])
    s, t = between(r, np.full(len(r), u), mu)
    assert (s > 0.0).all()
    assert (t > 0.0).all()
    np.testing.assert_allclose(s + t, u, rtol=1e-12)
    # mu/s - mu/t = r, multiplied out: nothing is divided by a difference that rounds
    terms = mu * (t + s) + np.abs(r) * s * t
    assert (np.abs(mu * (t - s) - r * s * t) <= 1e-12 * terms).all()


@pytest.mark.parametrize("mu", [1e-12, 1e-3, 1.0])
@pytest.mark.parametrize("d", [1e-3, 1.0, 1e3])
def test_where_it_has_one_with_curvature(mu, d) -> None:
    G = np.array([-1e3, -1.0, 0.0, 1.0, 1e3])
    s = above(G, np.full(len(G), d), mu)
    assert (s > 0.0).all()
    terms = mu + np.abs(G) * s + d * s * s
    assert (np.abs(mu - G * s - d * s * s) <= 1e-12 * terms).all()
