"""Repairs of indefinite kernel matrices: laws, on spectra known by construction."""

from __future__ import annotations

import math
import pickle
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import qpsvm
from qpsvm import kernels
from qpsvm.exceptions import (
    IndefiniteKernelError,
    InvalidParameterError,
    KernelError,
    MemoryLimitError,
)
from qpsvm.kernels.kernel_repair import (
    KernelRepair,
    repair,
    require_policy,
    require_symmetric,
    smallest_eigenvalue,
)
from qpsvm.numerics.arrays import EIGENVALUE_SIZE
from qpsvm.qp import DenseQuadratic, KernelQuadratic, LowRankQuadratic
from qpsvm.qp.quadratic import PSD_RTOL
from qpsvm.qp.sample_gram import SampleGram
from tests.strategies import grid, listed
from tests.tolerances import ROUNDING

REPAIRS = ["clip", "flip", "shift"]
SPECTRAL = ["clip", "flip"]


def with_spectrum(values, seed=0):
    """K = V diag(values) V' with random orthonormal V, symmetric to the last bit."""
    V, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(values), len(values))))
    K = (V * values) @ V.T
    return 0.5 * (K + K.T)


@st.composite
def indefinite_matrix(draw: Any) -> tuple[Any, Any]:
    """(K, its eigenvalues): some negative, some zero, some positive, of any common scale."""
    negative = draw(st.integers(1, 4))
    zero, positive = draw(st.integers(0, 3)), draw(st.integers(0, 5))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    sizes = rng.uniform(0.1, 2.0, negative + positive)
    values = np.concatenate([-sizes[:negative], np.zeros(zero), sizes[negative:]])
    scale = draw(st.sampled_from([1.0, 1e-150, 1e150]))
    return scale * with_spectrum(values, seed), scale * np.sort(values)


def repaired(K, policy):
    found = repair(DenseQuadratic(K), policy)
    assert found is not None
    matrix, report = found
    np.testing.assert_array_equal(matrix, matrix.T)
    return matrix, report


def assert_close(actual, desired, size):
    """Equal up to the rounding of an eigendecomposition of matrices of this size."""
    np.testing.assert_allclose(actual, desired, rtol=0.0, atol=ROUNDING * size)


def reserve(K):
    return PSD_RTOL * math.sqrt(len(K)) * np.abs(K).max()


# --- what K' is ----------------------------------------------------------------------------------


@given(indefinite_matrix(), st.sampled_from(REPAIRS))
def test_the_repaired_matrix_is_semidefinite_and_needs_no_second_repair(case, policy):
    K, values = case
    matrix, _ = repaired(K, policy)
    size = np.abs(values).max()
    assert np.linalg.eigvalsh(matrix)[0] >= -ROUNDING * size
    assert DenseQuadratic(matrix).is_positive_semidefinite()
    assert repair(DenseQuadratic(matrix), policy) is None


@given(indefinite_matrix())
def test_every_policy_changes_the_spectrum_as_it_says(case):
    K, values = case
    size = np.abs(values).max()
    for policy, expected in [("clip", np.maximum(values, 0.0)), ("flip", np.abs(values))]:
        matrix, _ = repaired(K, policy)
        assert_close(np.linalg.eigvalsh(matrix), np.sort(expected), size)
        assert_close(matrix @ (K / size), K @ (matrix / size), size)  # same eigenvectors


@given(indefinite_matrix())
def test_clip_and_flip_are_the_positive_part_and_the_absolute_value(case):
    K, values = case
    size = np.abs(values).max()
    clipped, flipped = repaired(K, "clip")[0], repaired(K, "flip")[0]
    assert_close(flipped + K, 2 * clipped, size)
    assert_close((flipped / size) @ (flipped / size), (K / size) @ (K / size), 1.0)
    assert_close((clipped / size) @ ((clipped - K) / size), np.zeros(K.shape), 1.0)


@given(indefinite_matrix(), st.integers(0, 2**32 - 1))
def test_clip_is_the_nearest_semidefinite_matrix(case, seed):
    K, values = case
    K = K / np.abs(values).max()
    clipped, _ = repaired(K, "clip")
    distance = np.linalg.norm(K - clipped)
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(len(K), rng.integers(1, len(K) + 1)))
    other = factor @ factor.T
    for candidate in (other, clipped + 1e-3 * other, 0.999 * clipped, 0.0 * other):
        assert distance <= np.linalg.norm(K - candidate) + ROUNDING
    # what characterises a projection onto a convex cone
    assert np.sum((K - clipped) * clipped) == pytest.approx(0.0, abs=ROUNDING)
    assert np.sum((K - clipped) * other) <= ROUNDING * np.linalg.norm(other)


@given(indefinite_matrix())
def test_shift_adds_the_least_multiple_of_the_identity(case):
    K, values = case
    matrix, report = repaired(K, "shift")
    np.testing.assert_array_equal(matrix, K + report.shift * np.eye(len(K)))
    assert_close(report.shift, -values[0] + reserve(K), np.abs(values).max())


@given(indefinite_matrix(), st.sampled_from(SPECTRAL))
def test_raw_rows_with_transformed_coefficients_repeat_the_training_values(case, policy):
    K, values = case
    matrix, report = repaired(K, policy)
    for beta in np.random.default_rng(0).normal(size=(3, len(K))):
        assert_close(K @ report.coefficients(beta), matrix @ beta, np.abs(values).max())


@pytest.mark.parametrize("policy", SPECTRAL)
def test_an_eigenvalue_beyond_rounding_is_repaired_and_predicted_with(policy):
    K = with_spectrum([-1.0, -1e-11, 0.5, 1.0])  # the second alone would pass as rounding
    assert reserve(K) > 1e-11
    matrix, report = repaired(K, policy)
    assert report.n_negative == 2
    beta = report.negative_vectors[:, 1]
    np.testing.assert_allclose(K @ report.coefficients(beta), matrix @ beta, rtol=0, atol=ROUNDING)


def test_raw_rows_miss_the_shift_of_a_training_sample():
    K, beta = np.diag([2.0, -1.0]), np.array([3.0, 5.0])
    matrix, report = repaired(K, "shift")
    np.testing.assert_array_equal(report.coefficients(beta), beta)
    np.testing.assert_allclose(matrix @ beta - K @ beta, report.shift * beta)


@given(indefinite_matrix())
def test_clipped_coefficients_are_clipped_once_and_flipped_ones_flip_back(case):
    K, _ = case
    beta = np.random.default_rng(0).normal(size=len(K))
    clip, flip = repaired(K, "clip")[1], repaired(K, "flip")[1]
    once = clip.coefficients(beta)
    assert_close(clip.coefficients(once), once, 1.0)
    assert_close(flip.coefficients(flip.coefficients(beta)), beta, 1.0)


# --- symmetries ----------------------------------------------------------------------------------


@given(indefinite_matrix(), st.sampled_from(REPAIRS), st.integers(0, 2**32 - 1))
def test_the_order_of_the_samples_does_not_matter(case, policy, seed):
    K, values = case
    size = np.abs(values).max()
    order = np.random.default_rng(seed).permutation(len(K))
    rows = np.ix_(order, order)
    beta = np.random.default_rng(0).normal(size=len(K))
    (matrix, report), (permuted, other) = repaired(K, policy), repaired(K[rows], policy)
    assert_close(permuted, matrix[rows], size)
    assert_close(
        K[rows] @ other.coefficients(beta[order]), (K @ report.coefficients(beta))[order], size
    )


@given(indefinite_matrix(), st.sampled_from(SPECTRAL))
def test_duplicate_samples_stay_duplicates(case, policy):
    K, values = case
    size = np.abs(values).max()
    twice = np.append(np.arange(len(K)), 0)
    matrix, report = repaired(K[np.ix_(twice, twice)], policy)
    assert_close(matrix[0], matrix[-1], size)
    # and it does not matter which of the two carries the coefficient
    assert_close(report.negative_vectors[0], report.negative_vectors[-1], 1.0)


@given(indefinite_matrix(), st.sampled_from(REPAIRS), st.sampled_from([-150, 150]))
def test_the_unit_of_the_kernel_does_not_matter(case, policy, exponent):
    K, values = case
    K = K / np.abs(values).max()
    unit = 2.0**exponent  # exact
    (matrix, report), (scaled, other) = repaired(K, policy), repaired(unit * K, policy)
    assert_close(scaled / unit, matrix, 1.0)
    assert other.relative_change == pytest.approx(report.relative_change, rel=ROUNDING)
    assert other.shift == pytest.approx(unit * report.shift, rel=ROUNDING)


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150, 1e200])
@pytest.mark.parametrize("policy", REPAIRS)
def test_no_norm_leaves_the_range_of_doubles(policy, scale):
    _, report = repaired(scale * np.diag([4.0, -3.0]), policy)
    change = {"clip": 3.0, "flip": 6.0, "shift": 3.0 * math.sqrt(2.0)}[policy]
    assert report.frobenius_change == pytest.approx(change * scale, rel=1e-9)
    assert report.relative_change == pytest.approx(change / 5.0, rel=1e-9)


# --- the report ----------------------------------------------------------------------------------


@given(indefinite_matrix(), st.sampled_from(REPAIRS))
def test_the_report_measures_what_was_done(case, policy):
    K, values = case
    matrix, report = repaired(K, policy)
    size = np.abs(values).max()
    change = (matrix - K) / size
    assert report.policy == policy
    assert_close(report.smallest_eigenvalue, values[0], size)
    assert_close(report.frobenius_change / size, np.linalg.norm(change), 1.0)
    assert_close(report.spectral_change / size, np.linalg.norm(change, 2), 1.0)
    assert_close(report.relative_change, np.linalg.norm(change) / np.linalg.norm(K / size), 1.0)
    n, V = len(K), report.negative_vectors
    if policy == "shift":
        assert (report.n_negative, V.shape, len(report.negative_values)) == (None, (n, 0), 0)
        assert report.shift > 0.0
    else:
        m = np.count_nonzero(values < 0)
        assert (report.n_negative, V.shape, report.shift) == (m, (n, m), 0.0)
        assert_close(report.negative_values, values[:m], size)
        assert_close(V.T @ V, np.eye(m), 1.0)
        assert_close(K @ V, V * report.negative_values, size)


def test_zeros_that_rounding_made_negative_are_not_counted():
    X = np.random.default_rng(0).normal(size=(40, 3))
    K = X @ np.diag([1.0, 1.0, -1.0]) @ X.T  # 37 eigenvalues are zero, of either sign
    assert np.count_nonzero(np.linalg.eigvalsh(K) < 0) > 1
    assert repaired(0.5 * (K + K.T), "clip")[1].n_negative == 1


@pytest.mark.parametrize("policy", REPAIRS)
def test_a_report_survives_pickling_and_stays_read_only(policy):
    _, report = repaired(with_spectrum([-1.0, -0.5, 0.0, 2.0]), policy)
    copy = pickle.loads(pickle.dumps(report))
    assert isinstance(copy, KernelRepair)
    assert str(copy) == str(report)
    for one in (report, copy):
        for array in (one.negative_values, one.negative_vectors):
            assert not array.flags.writeable
        with pytest.raises(AttributeError):
            one.shift = 1.0
    np.testing.assert_array_equal(copy.coefficients(np.ones(4)), report.coefficients(np.ones(4)))


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        ("clip", "clip: 1 negative eigenvalue down to -3 set to zero; |K' - K| is 0.6 |K|"),
        ("flip", "flip: 1 negative eigenvalue down to -3 made positive; |K' - K| is 1.2 |K|"),
        ("shift", "shift: 3 added to the diagonal for a smallest eigenvalue of -3; |K' - K| is"),
    ],
)
def test_a_report_is_one_line_for_humans(policy, text):
    _, report = repaired(np.diag([4.0, -3.0]), policy)
    assert str(report).startswith(text)
    assert "\n" not in str(report)


def test_two_negative_eigenvalues_are_a_plural():
    assert "2 negative eigenvalues down to -3" in str(repaired(np.diag([-2.0, -3.0]), "clip")[1])


# --- when nothing is repaired --------------------------------------------------------------------


SEMIDEFINITE = {
    "zero": np.zeros((3, 3)),
    "1 x 1": np.ones((1, 1)),
    "1 x 1 zero": np.zeros((1, 1)),
    "singular": np.ones((5, 5)),
    "rounding": with_spectrum([-1e-14, 0.0, 1.0, 2.0]),
    "huge": 1e150 * with_spectrum([0.0, 1.0, 2.0]),
    "small": 1e-150 * with_spectrum([0.0, 1.0, 2.0]),
    "duplicates": np.kron(np.ones((2, 2)), with_spectrum([0.5, 1.0, 2.0])),
}


@pytest.mark.parametrize("policy", ["error", *REPAIRS])
@pytest.mark.parametrize("K", SEMIDEFINITE.values(), ids=SEMIDEFINITE.keys())
def test_a_semidefinite_matrix_is_left_alone(K, policy):
    assert repair(DenseQuadratic(K), policy) is None


def test_what_is_semidefinite_by_construction_is_not_even_evaluated():
    def never(*_):
        raise AssertionError

    gram = KernelQuadratic(SampleGram(never, np.ones((4, 1)), positive_semidefinite=True))
    assert repair(gram, "error") is None
    assert repair(LowRankQuadratic(np.ones((100_000, 1))), "error") is None


@pytest.mark.parametrize(
    ("policy", "expected"), [("clip", 0.0), ("flip", 2.0), ("shift", 2 * PSD_RTOL)]
)
def test_a_single_negative_number(policy, expected):
    matrix, report = repaired(np.array([[-2.0]]), policy)
    assert matrix == pytest.approx(np.array([[expected]]), abs=ROUNDING)
    assert report.smallest_eigenvalue == -2.0


def test_a_negative_definite_matrix_is_clipped_to_exactly_zero():
    matrix, _ = repaired(with_spectrum([-3.0, -2.0, -1.0]), "clip")
    np.testing.assert_array_equal(matrix, np.zeros((3, 3)))


def test_an_asymmetry_at_rounding_level_leaves_a_symmetric_repair():
    K = np.array([[1.0, 2.0], [2.0, 1.0]])
    K[0, 1] *= 1 + 1e-14
    for policy in REPAIRS:
        matrix, _ = repair(DenseQuadratic.own(K.copy()), policy)
        np.testing.assert_array_equal(matrix, matrix.T)


def test_the_sigmoid_kernel_is_repaired():
    X = np.random.default_rng(0).normal(size=(60, 4))
    gram = KernelQuadratic(SampleGram(kernels.Sigmoid(gamma=0.5, coef0=-1.0), X))
    assert np.linalg.eigvalsh(gram.to_dense())[0] < -1.0
    for policy in REPAIRS:
        matrix, _ = repair(gram, policy)
        assert DenseQuadratic(matrix).is_positive_semidefinite()


# --- refusals ------------------------------------------------------------------------------------


def test_an_error_has_the_eigenvalue_and_names_the_remedies():
    K = DenseQuadratic(np.diag([1.0, -0.25]))
    with pytest.raises(IndefiniteKernelError) as caught:
        repair(K, "error", "The kernel matrix of mine")
    assert caught.value.smallest_eigenvalue == pytest.approx(-0.25)
    for words in (
        "The kernel matrix of mine is indefinite",
        "smallest eigenvalue is -0.25 beside entries up to 1,",
        *("'error'", "'clip'", "'flip'", "'shift' (add 0.25 to its diagonal)"),
        "RBF",
    ):
        assert words in str(caught.value)
    assert repair(K, "clip") is not None


@pytest.mark.parametrize("policy", ["Clip", "", None, 1, ["clip"], np.array(["clip", "flip"])])
def test_an_unknown_policy_is_refused_by_name(policy):
    with pytest.raises(InvalidParameterError, match="'error', 'clip', 'flip', 'shift'") as caught:
        require_policy(policy)
    assert repr(policy) in str(caught.value)
    with pytest.raises(InvalidParameterError):
        repair(DenseQuadratic(np.eye(2)), policy)


@pytest.mark.parametrize("policy", ["error", *REPAIRS])
def test_the_four_policies_are_accepted(policy):
    require_policy(policy)


@pytest.mark.parametrize("policy", SPECTRAL)
def test_eigenvectors_that_do_not_fit_are_refused_with_bytes_and_another_way(monkeypatch, policy):
    K = DenseQuadratic(with_spectrum([-1.0, 0.5, 1.0, 2.0]))
    monkeypatch.setattr("qpsvm.numerics.arrays.default_memory_limit", lambda: 383)
    with pytest.raises(MemoryLimitError, match=f"'{policy}' .* 384 bytes.* 383 bytes; .*'shift'"):
        repair(K, policy)
    assert repair(K, "shift") is not None


# --- symmetry ------------------------------------------------------------------------------------


@grid(
    "position, kept",
    product([(0, 1), (2, 0), (2047, 2048), (2600, 3), (2599, 2600)], [False, True]),
)
def test_one_asymmetric_pair_is_found_wherever_it_is(monkeypatch, position, kept):
    def kernel(rows, columns):
        there = (rows[:, None, 0] == position[0]) & (columns[:, 0] == position[1])
        return 1.0 + 1e-9 * there

    if not kept:
        monkeypatch.setattr("qpsvm.kernels.kernel_repair.default_memory_limit", lambda: 0)
    gram = KernelQuadratic(SampleGram(kernel, np.arange(2601.0)[:, None]))
    with pytest.raises(KernelError, match=r"max\|K - K'\| is 1e-09 beside entries up to 1;"):
        require_symmetric(gram)
    assert gram.gram.is_kept is kept


@pytest.mark.parametrize("position", [(0, 2), (2, 0), (0, 2600), (2600, 0)])
def test_an_entry_whose_mirror_image_is_zero_counts(position):
    K = np.zeros((2601, 2601))
    K[position] = 1e-200
    with pytest.raises(KernelError, match="1e-200 beside entries up to 1e-200"):
        require_symmetric(DenseQuadratic.own(K))


def test_what_is_not_a_number_is_not_symmetric():
    K = np.eye(3)
    K[0, 1] = K[1, 0] = np.nan
    with pytest.raises(KernelError, match="nan"):
        require_symmetric(DenseQuadratic.own(K))


def test_rounding_is_symmetric_and_so_is_nothing():
    K = with_spectrum([1.0, 2.0, 3.0])
    K[0, 1] *= 1 + 1e-14
    require_symmetric(DenseQuadratic.own(K))
    require_symmetric(DenseQuadratic(np.zeros((2, 2))))


# --- large matrices ------------------------------------------------------------------------------

LARGE = EIGENVALUE_SIZE + 100
HALF = LARGE // 2


def mirror_symmetric(negative):
    """[[A, B], [B, A]], A and B diagonal: the even vectors see a + b, one odd one ``negative``."""
    a = np.linspace(1.0, 2.0, HALF)
    b = a.copy()
    b[7] -= negative
    return np.block([[np.diag(a), np.diag(b)], [np.diag(b), np.diag(a)]])


@listed("negative", [-1e-6, -1.0], quick=1)
def test_an_eigenvector_orthogonal_to_ones_is_seen(negative):
    K = mirror_symmetric(negative)
    assert smallest_eigenvalue(DenseQuadratic(K)) == pytest.approx(negative, abs=2 * reserve(K))
    matrix, report = repaired(K, "shift")
    assert DenseQuadratic(matrix).is_positive_semidefinite()
    assert report.shift == pytest.approx(-negative, abs=3 * reserve(K))


@listed("missed_by", [1e-6, 1.0, 100.0], quick=1)
def test_an_eigenvalue_that_lanczos_misses_is_not_missed(monkeypatch, missed_by):
    K = mirror_symmetric(-1e-3)
    monkeypatch.setattr(DenseQuadratic, "smallest_eigenvalue", lambda _: -1e-3 + missed_by)
    assert smallest_eigenvalue(DenseQuadratic(K)) == pytest.approx(-1e-3, abs=reserve(K))


def test_an_eigenvalue_that_lanczos_found_is_not_computed_again(monkeypatch):
    K = DenseQuadratic(mirror_symmetric(-1e-3))
    expected = K.smallest_eigenvalue()
    monkeypatch.setattr(np.linalg, "eigvalsh", None)
    assert smallest_eigenvalue(K) == expected


def test_a_semidefinite_matrix_with_a_cluster_at_zero_needs_no_eigenvalue(monkeypatch):
    factor = np.random.default_rng(0).normal(size=(LARGE, 5))
    gram = DenseQuadratic(factor @ factor.T)
    monkeypatch.setattr(DenseQuadratic, "smallest_eigenvalue", None)
    assert repair(gram, "error") is None


@pytest.mark.parametrize("policy", REPAIRS)
def test_the_same_bits_twice(policy):
    size = LARGE if policy == "shift" else 200
    X = np.random.default_rng(0).normal(size=(size, 4))
    K = kernels.Sigmoid(gamma=0.5, coef0=-1.0)(X, X)
    (matrix, report), (again, other) = repaired(K, policy), repaired(K.copy(), policy)
    np.testing.assert_array_equal(matrix, again)
    np.testing.assert_array_equal(report.negative_vectors, other.negative_vectors)
    assert str(report) == str(other)


def barely_indefinite(d: float, e: float) -> np.ndarray:
    """Two samples that are more alike than either is to itself, and one of the other class."""
    return np.array([[1.0, 1.0 + d, 1.0 - e], [1.0 + d, 1.0, 1.0 - e], [1.0 - e, 1.0 - e, 1.0]])


@listed(
    "d, e, C",
    [
        (1e-14, 2.0**-17, 1.0),
        (1e-11, 2.0**-7, 1.0),
        (1.7e-10, 2.0**-17, 1.0),
        (1e-11, 2.0**-7, 2.0**19),  # no solver settles it: seconds
    ],
    quick=3,
)
@pytest.mark.filterwarnings("ignore::qpsvm.exceptions.ToleranceNotReachedWarning")
def test_negative_eigenvalues_within_the_tolerance_are_paid_for(d, e, C):
    """The two forms have different stationary points, and none passes that another improves on."""
    K, y = barely_indefinite(d, e), [1, 1, -1]
    problems = [
        getattr(qpsvm.SoftMargin(C=C), form)(K, y, kernel="precomputed")
        for form in ("dual", "primal")
    ]
    solutions = [qpsvm.solve(problem, eps=1e-8) for problem in problems]
    proofs = [qpsvm.certify(*both, rigorous=True) for both in zip(problems, solutions, strict=True)]
    highest = max(proof.dual_objective for proof in proofs)
    split = 0.5 * (solutions[0].alpha[0] + solutions[0].alpha[1])
    even = solutions[0].replace(
        alpha=np.array([split, split, 2.0 * split]),
        expansion=np.array([split, split, -2.0 * split]),
    )
    checked = [*zip(problems, solutions, strict=True), (problems[0], even)]
    for problem, solution in checked:
        proof = qpsvm.certify(problem, solution)
        if qpsvm.verify(problem, solution, eps=1e-8).passed:
            assert proof.dual_objective >= highest * (1.0 - 2e-8)
    for proof in proofs:
        assert proof.gap_upper >= highest - proof.dual_objective - 1e-15 * highest
