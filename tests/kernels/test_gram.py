"""The dual Hessian in the structure its kernel has, against the dense formula."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from qpsvm import kernels
from qpsvm.exceptions import IndefiniteKernelError, KernelError
from qpsvm.kernels import gram
from qpsvm.qp import KernelQuadratic, LowRankQuadratic, SampleGram
from tests.tolerances import ROUNDING

rng = np.random.default_rng(1)
X = rng.normal(size=(30, 4)) * (rng.random((30, 4)) < 0.7)
SIGNS = np.where(np.arange(30) % 3, 1.0, -1.0)
KERNELS = {
    "linear": (kernels.Linear(), LowRankQuadratic),
    "rbf": (kernels.RBF(0.5), KernelQuadratic),
    "polynomial": (kernels.Polynomial(0.5, 2, 1.0), KernelQuadratic),
    "callable": (kernels.Custom(kernels.Polynomial(1.0, 2)), KernelQuadratic),
    "precomputed": (kernels.Precomputed(), KernelQuadratic),
}


def signed_gram(kernel, samples, signs, constant=0.0):
    return gram(kernel, samples)[0].select(signs, constant=constant)


@pytest.mark.parametrize("container", [np.array, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("constant", [0.0, 1.0, 2.5])
@pytest.mark.parametrize(("kernel", "structure"), KERNELS.values(), ids=KERNELS.keys())
def test_every_view_of_the_hessian_agrees_with_the_dense_formula(
    kernel, structure, constant, container
):
    samples = container(X)
    if isinstance(kernel, kernels.Precomputed):
        samples = X @ X.T  # a kernel matrix is always dense
        K = samples
    else:
        K = kernel(X, X)
    expected = SIGNS[:, None] * SIGNS * (K + constant)
    P = signed_gram(kernel, samples, SIGNS, constant=constant)
    assert isinstance(P, structure)
    close = {"rtol": ROUNDING, "atol": ROUNDING * np.abs(expected).max()}
    rows, columns = np.array([3, 0, 29]), np.array([5, 3])
    v = rng.normal(size=30)
    # the product first: once the matrix is stored, the other path is taken
    np.testing.assert_allclose(P.block(rows, columns), expected[np.ix_(rows, columns)], **close)
    np.testing.assert_allclose(P.diagonal(), np.diagonal(expected), **close)
    np.testing.assert_allclose(P @ v, expected @ v, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(P.to_dense(), expected, **close)
    np.testing.assert_allclose(P.to_sparse().toarray(), expected, **close)
    np.testing.assert_allclose(P.block(rows, columns), expected[np.ix_(rows, columns)], **close)
    assert P.value(v) == pytest.approx(0.5 * v @ expected @ v, rel=1e-10)
    np.testing.assert_array_equal(P.to_dense(), P.to_dense().T)


def test_a_linear_hessian_never_forms_the_square():
    wide = LowRankQuadratic(np.ones((2_000_000, 1)))
    assert (wide @ np.ones(2_000_000))[0] == 2_000_000
    P = signed_gram(kernels.Linear(), sp.csr_array(X), SIGNS, constant=1.0)
    assert P.factor.shape == (30, 5)
    assert sp.issparse(P.factor)


@pytest.mark.parametrize("constant", [0.0, 1.0])
def test_an_indefinite_matrix_carries_its_eigenvalue(constant):
    K = np.diag([1.0, -0.25, 2.0])
    with pytest.raises(IndefiniteKernelError) as caught:
        signed_gram(kernels.Precomputed(), K, np.ones(3), constant=constant)
    assert caught.value.smallest_eigenvalue == pytest.approx(-0.25)
    assert "-0.25" in str(caught.value)


def test_rounding_noise_is_neither_asymmetric_nor_indefinite():
    K = X @ X.T  # rank 4: 26 eigenvalues are zero up to rounding, of either sign
    K[0, 1] *= 1 + 1e-15
    assert np.linalg.eigvalsh(K)[0] < 0
    P = signed_gram(kernels.Precomputed(), K, SIGNS)
    np.testing.assert_allclose(P.to_dense(), SIGNS[:, None] * SIGNS * K)


def test_asymmetry_is_refused_with_its_size():
    K = np.eye(3)
    K[0, 2] = 0.5
    with pytest.raises(KernelError, match=r"max\|K - K'\| is 0\.5"):
        signed_gram(kernels.Precomputed(), K, np.ones(3))


def test_the_callers_kernel_matrix_is_not_touched():
    K = X @ X.T
    before = K.copy()
    signed_gram(kernels.Precomputed(), K, SIGNS, constant=1.0)
    np.testing.assert_array_equal(K, before)
    K[0, 0] = 5.0  # still writable


@pytest.mark.parametrize("n_used", [0, 1, 5, 30])
def test_products_with_few_entries_are_those_of_the_whole_matrix(n_used) -> None:
    X = np.random.default_rng(0).normal(size=(30, 3))
    samples = SampleGram(kernels.RBF(gamma=0.5), X, positive_semidefinite=True)
    V = np.zeros((30, 2))
    V[:n_used] = np.random.default_rng(1).normal(size=(n_used, 2))
    expected = kernels.RBF(gamma=0.5)(X, X) @ V
    np.testing.assert_allclose(samples.products(V), expected, rtol=0.0, atol=ROUNDING)


@pytest.mark.parametrize("kernel", [kernels.RBF(gamma=0.3), kernels.Polynomial(gamma=0.5, coef0=1)])
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("size", [1, 7, 400])
def test_a_square_has_the_values_of_the_kernel_and_is_symmetric(kernel, is_sparse, size):
    rng = np.random.default_rng(size)
    X = rng.normal(size=(500, 6)) * (rng.random((500, 6)) < 0.5)
    samples = rng.permutation(500)[:size]
    gram = SampleGram(kernel, sp.csr_array(X) if is_sparse else X)
    out = np.full((size, size), np.nan)
    gram.write_square(samples, out)
    np.testing.assert_array_equal(out, out.T)
    np.testing.assert_allclose(out, kernel(X, X)[np.ix_(samples, samples)], rtol=1e-12)


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("n_used", [1, 40, 600])
def test_sizes_beside_products_are_those_of_ordinary_products(is_sparse, n_used):
    rng = np.random.default_rng(n_used)
    X = rng.normal(size=(600, 9)) * (rng.random((600, 9)) < 0.3)
    kernel = kernels.RBF(gamma=0.2)
    gram = SampleGram(kernel, sp.csr_array(X) if is_sparse else X)
    V, W = np.zeros((600, 2)), np.zeros((600, 1))
    V[:n_used], W[:n_used] = rng.normal(size=(n_used, 2)), rng.random((n_used, 1))
    sums, sizes = gram.products_and_sizes(V, W)
    K = kernel(X, X)
    np.testing.assert_allclose(sums, K @ V, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(sizes, K @ W, rtol=1e-12)
    np.testing.assert_array_equal(sums, gram.products(V))
