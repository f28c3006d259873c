"""The smallest eigenvalue by Lanczos, on matrices whose spectrum is known by construction."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from qpsvm.numerics.arrays import EIGENVALUE_SIZE
from qpsvm.qp import DenseQuadratic, SparseQuadratic
from tests.tolerances import ROUNDING

SIZE = EIGENVALUE_SIZE + 100
HALF = SIZE // 2


def mirror_symmetric(odd):
    """P = [[A, B], [B, A]] with diagonal A, B: eigenvalues a + b (even vectors), a - b (odd)."""
    a = np.linspace(1.0, 2.0, HALF)
    A, B = sp.diags_array(a), sp.diags_array(a - odd)
    return sp.csc_array(sp.block_array([[A, B], [B, A]]))


@pytest.mark.parametrize("negative", [-1.0, -1e-3, -1e-5])
@pytest.mark.parametrize("structure", [SparseQuadratic, DenseQuadratic])
def test_an_eigenvector_orthogonal_to_ones_is_found(structure, negative):
    odd = np.zeros(HALF)
    odd[7] = negative
    matrix = mirror_symmetric(odd)
    P = structure(matrix if structure is SparseQuadratic else matrix.toarray())
    assert P.smallest_eigenvalue() == pytest.approx(negative, abs=10 * ROUNDING)
    assert not P.is_positive_semidefinite()


@pytest.mark.parametrize("structure", [SparseQuadratic, DenseQuadratic])
def test_ones_in_the_null_space_are_no_obstacle(structure):
    # a graph Laplacian of disjoint pairs, one of them with a negative weight
    weights = np.ones(HALF)
    weights[3] = -0.25
    pairs = [w * np.array([[1.0, -1.0], [-1.0, 1.0]]) for w in weights]
    matrix = sp.block_diag(pairs, format="csc")
    assert not (matrix @ np.ones(SIZE)).any()
    P = structure(matrix if structure is SparseQuadratic else matrix.toarray())
    assert P.smallest_eigenvalue() == pytest.approx(-0.5, abs=ROUNDING)


@pytest.mark.parametrize("factor", [-2.0, 0.0, 3.0])
def test_multiples_of_the_identity(factor):
    P = DenseQuadratic(factor * np.eye(SIZE))
    assert P.smallest_eigenvalue() == pytest.approx(factor, abs=ROUNDING)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_the_unit_of_p_does_not_matter(scale):
    values = np.ones(SIZE)
    values[[5, 9]] = -0.25, 4.0
    P = SparseQuadratic(sp.diags_array(scale * values))
    assert P.smallest_eigenvalue() == pytest.approx(-0.25 * scale, rel=ROUNDING * 10)


def test_a_cluster_at_zero_is_not_mistaken_for_a_negative_eigenvalue():
    values = np.concatenate([np.zeros(HALF), np.linspace(0.0, 1.0, SIZE - HALF) ** 4])
    P = SparseQuadratic(sp.diags_array(values))
    assert -ROUNDING <= P.smallest_eigenvalue() <= 1e-6


def test_the_same_bits_twice():
    factor = np.random.default_rng(2).normal(size=(SIZE, 5))
    for matrix in (factor @ factor.T, np.eye(SIZE) - factor @ factor.T):
        P = DenseQuadratic(matrix)
        assert P.smallest_eigenvalue() == P.smallest_eigenvalue()
