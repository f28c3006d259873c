"""Kernel functions against scikit-learn's, dense and sparse."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import pairwise
from sklearn.svm import SVC

from qpsvm import kernels
from qpsvm.exceptions import InvalidDataError, InvalidParameterError, KernelError
from tests.tolerances import KERNEL

rng = np.random.default_rng(0)
X, Z = rng.normal(size=(70, 7)), rng.normal(size=(33, 7))
X[X < -0.5] = 0.0
Z[Z < -0.5] = 0.0

PAIRS = {
    "linear": (kernels.Linear(), pairwise.linear_kernel),
    "rbf": (kernels.RBF(0.3), lambda A, B: pairwise.rbf_kernel(A, B, gamma=0.3)),
    "wide rbf": (kernels.RBF(1e-6), lambda A, B: pairwise.rbf_kernel(A, B, gamma=1e-6)),
    "narrow rbf": (kernels.RBF(50.0), lambda A, B: pairwise.rbf_kernel(A, B, gamma=50.0)),
    "polynomial": (
        kernels.Polynomial(0.2, 3, 1.0),
        lambda A, B: pairwise.polynomial_kernel(A, B, 3, 0.2, 1.0),
    ),
    "quadratic": (
        kernels.Polynomial(0.2, 2),
        lambda A, B: pairwise.polynomial_kernel(A, B, 2, 0.2, 0.0),
    ),
    "sigmoid": (
        kernels.Sigmoid(0.1, -0.5),
        lambda A, B: pairwise.sigmoid_kernel(A, B, 0.1, -0.5),
    ),
    "callable": (kernels.Custom(pairwise.cosine_similarity), pairwise.cosine_similarity),
}
EVERY = pytest.mark.parametrize(("kernel", "reference"), PAIRS.values(), ids=PAIRS.keys())
SEMIDEFINITE = [n for n in PAIRS if n not in ("sigmoid", "callable")]


@EVERY
@pytest.mark.parametrize("left", [np.array, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("right", [np.array, sp.csr_array], ids=["dense", "csr"])
def test_a_block_equals_scikit_learns(kernel, reference, left, right):
    expected = reference(X, Z)
    block = kernel(left(X), right(Z))
    assert isinstance(block, np.ndarray)
    np.testing.assert_allclose(block, expected, rtol=100 * KERNEL, atol=KERNEL)


@EVERY
@pytest.mark.parametrize("container", [np.array, sp.csr_array], ids=["dense", "csr"])
def test_a_gram_matrix_is_symmetric_to_the_last_bit(kernel, reference, container):
    del reference
    samples = container(X)
    gram = kernel(samples, samples)
    np.testing.assert_array_equal(gram, gram.T)


@EVERY
@pytest.mark.parametrize("n", [1, 63, 64, 65, 130, 600])
def test_a_matrix_in_pieces_is_that_of_blocks(kernel, reference, n):
    del reference
    samples = np.random.default_rng(n).standard_normal((n, X.shape[1]))
    gram = kernel(samples, samples)
    np.testing.assert_array_equal(gram, gram.T)
    np.testing.assert_allclose(
        gram, kernel(samples, samples.copy()), rtol=100 * KERNEL, atol=100 * KERNEL
    )


def test_no_samples_make_an_empty_matrix():
    none = np.empty((0, 3))
    for kernel in (
        kernels.Linear(),
        kernels.RBF(1.0),
        kernels.Polynomial(1.0),
        kernels.Sigmoid(1.0),
    ):
        assert kernel(none, none).shape == (0, 0)


@EVERY
def test_inputs_stay_as_they_were_and_the_block_is_the_callers(kernel, reference):
    del reference
    samples, others = X.copy(), Z.copy()
    kernel(samples, others)[:] = 7.0
    np.testing.assert_array_equal(samples, X)
    np.testing.assert_array_equal(others, Z)
    assert not (kernel(samples, others) == 7.0).any()


def test_rbf_of_a_sample_with_itself_is_exactly_one():
    for samples in (X, sp.csr_array(X), 1e6 + X):
        np.testing.assert_array_equal(np.diagonal(kernels.RBF(3.0)(samples, samples)), 1.0)


def test_rbf_never_exceeds_one_even_far_from_the_origin():
    assert kernels.RBF(0.5)(1e4 + X, 1e4 + X.copy()).max() <= 1.0


@pytest.mark.parametrize("gamma", [0.05, 0.3, 20.0])
def test_a_row_has_the_same_bits_beside_a_sample_far_away(gamma):
    rng = np.random.default_rng(0)
    Z, X = rng.normal(size=(50, 5)), rng.normal(size=(20, 5))
    values = kernels.RBF(gamma).beside(Z)
    alone, beside = values(X), values(np.vstack([X, X + 100.0, X + 1e9]))[: len(X)]
    np.testing.assert_array_equal(alone, beside)


@pytest.mark.parametrize("container", [np.array, sp.csr_array], ids=["dense", "csr"])
def test_equal_samples_have_a_value_of_one_where_squares_all_but_overflow(container):
    """Norms may overflow where the products of equal samples, added up otherwise, do not."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        x = rng.normal(size=11)
        length = np.sqrt(np.finfo(np.float64).max) / np.linalg.norm(x)
        for k in range(-2, 3):
            own = x * (length * (1.0 + k * 2.0**-53))
            X = container(np.vstack([own, -own]))
            with np.errstate(over="ignore"):
                K = kernels.RBF(0.5)(X, X.copy())
            np.testing.assert_array_equal(K, np.eye(2))


@pytest.mark.parametrize("dtype", [np.float32, np.int8])
@pytest.mark.parametrize("name", [name for name in PAIRS if name != "callable"])
def test_sparse_samples_of_other_types_are_float64(name, dtype):
    kernel, _ = PAIRS[name]
    rng = np.random.default_rng(0)
    values = (rng.random((9, 60)) < 0.05) * rng.uniform(-99.0, 99.0, (9, 60))
    X = sp.csr_array(values.astype(dtype))
    Z = X.astype(np.float64)
    np.testing.assert_array_equal(kernel(X, X), kernel(Z, Z))
    np.testing.assert_array_equal(kernel(X[:3], X), kernel(Z[:3], Z))


def test_a_block_with_no_rows_is_empty():
    for kernel, _ in PAIRS.values():
        if not isinstance(kernel, kernels.Custom):
            assert kernel(X[:0], Z).shape == (0, 33)
            assert kernel(X, Z[:0]).shape == (70, 0)


@pytest.mark.parametrize("name", SEMIDEFINITE)
def test_kernels_that_say_so_are_positive_semidefinite(name):
    kernel, _ = PAIRS[name]
    assert kernel.is_positive_semidefinite
    gram = kernel(X, X)
    assert np.linalg.eigvalsh(gram)[0] >= -1e-13 * len(X) * np.abs(gram).max()


def test_kernels_that_may_be_indefinite_do_not_say_otherwise():
    for kernel in (
        kernels.Sigmoid(),
        kernels.Polynomial(coef0=-1.0),
        kernels.Precomputed(),
        kernels.Custom(pairwise.cosine_similarity),
    ):
        assert not kernel.is_positive_semidefinite


# --- gamma ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("container", [np.array, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("gamma", ["scale", "auto"])
@pytest.mark.parametrize("make", [kernels.RBF, kernels.Polynomial, kernels.Sigmoid])
def test_gamma_means_what_it_means_in_scikit_learn(make, gamma, container):
    labels = np.arange(70) % 2
    theirs = SVC(gamma=gamma).fit(container(X), labels)._gamma
    resolved = make(gamma=gamma).resolve(container(X))
    assert resolved.gamma == pytest.approx(theirs, rel=1e-12)
    assert type(resolved) is make


@pytest.mark.parametrize("value", [0.0, 0.1, 1e8, -3.7])
@pytest.mark.parametrize("container", [np.array, sp.csr_array], ids=["dense", "csr"])
def test_gamma_scale_of_constant_samples_is_one_over_the_features(container, value):
    constant = container(np.full((70, 3), value))
    assert kernels.RBF().resolve(constant).gamma == pytest.approx(1 / 3)


def test_gamma_scale_keeps_its_digits_far_from_the_origin():
    # E[x^2] - mean^2 would have none left, and may even be negative
    far = sp.csr_array(1e8 + X)
    expected = 1.0 / (7 * np.var(1e8 + X))
    assert kernels.RBF().resolve(far).gamma == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("container", [np.array, sp.csr_array], ids=["dense", "csr"])
def test_gamma_scale_of_samples_whose_squares_overflow_says_so(container):
    with pytest.raises(InvalidDataError, match="variance of X"):
        kernels.RBF().resolve(container(1e200 * X))


def test_a_number_for_gamma_is_kept():
    assert kernels.RBF(0.25).resolve(X) == kernels.RBF(0.25)


# --- names and values ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("linear", kernels.Linear()),
        ("poly", kernels.Polynomial()),
        ("polynomial", kernels.Polynomial()),
        ("rbf", kernels.RBF()),
        ("sigmoid", kernels.Sigmoid()),
        ("precomputed", kernels.Precomputed()),
        (kernels.RBF(2.0), kernels.RBF(2.0)),
        (pairwise.chi2_kernel, kernels.Custom(pairwise.chi2_kernel)),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_as_kernel_takes_names_objects_and_callables(given, expected):
    assert kernels.as_kernel(given) == expected


def test_as_kernel_refuses_the_rest():
    for given in (None, 3, "Linear ", ["rbf"]):
        with pytest.raises(InvalidParameterError, match="pass one of linear"):
            kernels.as_kernel(given)


def test_kernels_describe_themselves():
    assert str(kernels.Polynomial(0.5, 2, 1.0)) == "polynomial(gamma=0.5, degree=2, coef0=1)"
    assert str(kernels.Linear()) == "linear"
    assert str(kernels.Custom(pairwise.chi2_kernel)) == "custom(chi2_kernel)"


def test_a_callables_own_array_is_not_overwritten():
    mine = np.ones((70, 70))
    kernels.Custom(lambda *_: mine)(X, X)[0, 0] = 6.0
    assert mine[0, 0] == 1.0


def test_a_precomputed_block_needs_one_column_per_training_sample():
    with pytest.raises(KernelError, match="got 3 columns for 70 training samples"):
        kernels.Precomputed()(np.ones((2, 3)), X)


@pytest.mark.parametrize("kernel", [kernels.RBF, kernels.Polynomial])
def test_rows_of_a_subclass_have_its_own_values(kernel):
    class Doubled(kernel):
        def __call__(self, X, Z):
            return 2.0 * super().__call__(X, Z)

    out = np.empty((2, len(X)))
    Doubled(0.3).against(X)(np.array([1, 2]), out)
    np.testing.assert_allclose(out, Doubled(0.3)(X, X)[1:3], rtol=1e3 * KERNEL, atol=KERNEL)


@EVERY
@pytest.mark.parametrize("container", [np.array, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("offset", [0.0, 100.0])
def test_rows_against_all_are_those_of_the_matrix(kernel, reference, container, offset):
    del reference
    samples = container(X + offset * (np.arange(len(X)) < 3)[:, None])  # some are far out
    rows, chosen = kernel.against(samples), np.array([5, 0, 60, 1])
    out = np.full((4, len(X)), np.nan)
    rows(chosen, out)
    np.testing.assert_allclose(
        out, kernel(samples, samples)[chosen], rtol=1e3 * KERNEL, atol=KERNEL
    )


class Doubling:
    """Doubles the values of the kernel that it is mixed into."""

    def __call__(self, X, Z):
        return 2.0 * super().__call__(X, Z)


class DoubledByMixing(Doubling, kernels.RBF):
    pass


class OwnDiagonal(DoubledByMixing):
    def diagonal(self, X):
        return np.full(len(X), 2.0)


class Inherited(OwnDiagonal):
    pass


@pytest.mark.parametrize("kind", [DoubledByMixing, OwnDiagonal, Inherited])
def test_values_of_ones_own_are_those_of_every_way_to_evaluate_them(kind):
    kernel, doubled, out = kind(0.3), 2.0 * kernels.RBF(0.3)(X, X), np.empty((len(X), len(X)))
    kernel.write_square(X, out)
    for values in (out, kernel.beside(X)(X), kernel.within(X)(X, X)):
        np.testing.assert_array_equal(values, doubled)
    np.testing.assert_array_equal(kernel.diagonal(X), 2.0)
    assert kernel.product_form() is None
    assert not kernel.runs_in_threads
