"""Support vectors are found among the training data, whatever their digits and repetitions."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes
from sklearn.svm import SVR

from qpsvm.audits.files import match_rows, read_model
from qpsvm.audits.rows import as_printed
from qpsvm.exceptions import ModelFileError
from tests.audit.foreign_models.data import (
    CLASSES,
    LIBSVM,
    TARGETS,
    X,
)
from tests.audit.model_files import (
    EXAMPLES,
    EXPECTED,
    FOLDER,
    SMALL,
    parse,
)
from tests.audit.writers import libsvm_text
from tests.tolerances import ROUNDING


@pytest.mark.parametrize("name", [n for n in EXPECTED if "rows" in EXPECTED[n]])
def test_support_vectors_are_the_rows_the_library_names(name: str) -> None:
    model = read_model(FOLDER / f"{name}.model")
    y = LIBSVM[name.partition("_")[2]][1]
    samples = X @ X.T if name == "libsvm_precomputed" else X
    rows = model.training_rows(samples, y)
    assert len(set(rows.tolist())) == len(rows)
    # a row that occurs twice may be either
    assert np.array_equal(X[rows], X[EXPECTED[name]["rows"]])
    assert np.array_equal(np.asarray(y)[rows], np.asarray(y)[EXPECTED[name]["rows"]])


@pytest.mark.parametrize("name", [n for n in EXPECTED if n.startswith("thundersvm")])
def test_rows_of_a_library_in_single_precision(name: str) -> None:
    model = read_model(FOLDER / f"{name}.model")
    y = {"linear": CLASSES > 0, "svr": TARGETS}.get(name.partition("_")[2], CLASSES)
    rows = model.training_rows(X, y)
    assert np.array_equal(
        as_printed(X[rows].astype(np.float32).astype(float).ravel(), 8),
        model.support_vectors.toarray().ravel(),
    )
    if model.labels is not None:
        assert np.array_equal(y[rows], np.repeat(model.labels, model.n_sv))


# --- rows -------------------------------------------------------------------------------------


@EXAMPLES
@given(value=st.floats(allow_nan=False, allow_infinity=False), digits=st.integers(1, 18))
def test_printing_rounds_as_printf_does(value: float, digits: int) -> None:
    assert as_printed(np.array([value]), digits)[0] == float(f"{value:.{digits}g}")


@EXAMPLES
@given(
    mantissa=st.integers(1, 10**10),
    exponent=st.integers(-30, 30),
    steps=st.integers(-2, 2),
    digits=st.integers(1, 16),
)
def test_printing_rounds_short_decimals_and_their_neighbours(
    mantissa: int, exponent: int, steps: int, digits: int
) -> None:
    """Halfway cases: 0.123456785 to 8 digits is up or down by the last bit."""
    value = float(f"{mantissa}e{exponent}")
    for _ in range(abs(steps)):
        value = math.nextafter(value, math.copysign(math.inf, steps))
    assert as_printed(np.array([-value]), digits)[0] == float(f"{-value:.{digits}g}")


@EXAMPLES
@given(data=st.data(), sparse=st.booleans(), digits=st.sampled_from([3, 8, 17]))
def test_printed_rows_are_found_wherever_they_are(data: Any, sparse: bool, digits: int) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    samples = rng.integers(0, 3, (12, 2)) * rng.normal(size=2)  # some rows several times
    chosen = data.draw(st.permutations(range(12)))[: data.draw(st.integers(1, 12))]
    vectors = as_printed(samples[chosen].ravel(), digits).reshape(-1, 2)
    rows = match_rows(vectors, sp.csr_array(samples) if sparse else samples, digits)
    assert len(set(rows.tolist())) == len(chosen)
    assert np.array_equal(samples[rows], samples[chosen])


def test_equal_rows_are_told_apart_by_label_and_target() -> None:
    samples = np.array([[1.0], [1.0], [2.0], [1.0], [1.0]])
    assert match_rows([[1.0], [1.0]], samples).tolist() == [0, 1]
    labels = (np.array([1, -1]), np.array([-1, 1, 1, -1, 1]))
    assert match_rows([[1.0], [1.0]], samples, labels=labels).tolist() == [1, 0]
    # below the tube the smallest targets, above it the largest
    targets = (np.array([0.5, -1.0, 1.0]), np.array([3.0, 1.0, 9.0, 2.0, 4.0]))
    assert match_rows([[1.0]] * 3, samples, targets=targets).tolist() == [0, 1, 4]


def test_zeros_that_are_written_are_zeros(tmp_path: Path) -> None:
    model = parse(tmp_path, SMALL.replace("2:0.5", "1:-0 2:0.5 3:0"))
    stored = sp.csr_array(
        ([2.0, 0.125, 0.0, 0.5, -0.0, 0.25, 1.0], [0, 1, 2, 1, 2, 0, 2], [0, 3, 5, 7])
    )
    assert stored.nnz == 7
    assert model.training_rows(stored).tolist() == [2, 1, 0]
    assert model.training_rows(stored.toarray()).tolist() == [2, 1, 0]


def test_the_rows_of_a_regression_with_repeated_samples(tmp_path: Path) -> None:
    """Which of equal samples is inside of the tube matters: coefficients times targets."""
    data, t = load_diabetes(return_X_y=True)
    data, t = np.round(data[:150, 2:4] * 40), t[:150]
    fitted = SVR(C=10.0, epsilon=20.0, gamma=0.1).fit(data, t)
    text = libsvm_text(
        fitted.dual_coef_.T,
        fitted.support_vectors_,
        -fitted.intercept_,
        svm_type="epsilon_svr",
        kernel=("kernel_type rbf", "gamma 0.1"),
    )
    rows = parse(tmp_path, text).training_rows(data, t)
    assert np.array_equal(data[rows], data[fitted.support_])
    coefficients = fitted.dual_coef_[0]
    assert coefficients @ t[rows] >= coefficients @ t[fitted.support_] * (1 - ROUNDING)


def test_what_is_no_row_is_named(tmp_path: Path) -> None:
    model = parse(tmp_path, SMALL)
    data = np.array([[2.0, 0.125, 0.0], [0.0, 0.5, 0.0], [0.25, 0.0, 1.0], [9.0, 9.0, 9.0]])
    y = np.array([-1, 1, 1, 1])
    assert model.training_rows(data, y).tolist() == [2, 1, 0]
    assert model.training_rows(sp.csc_array(data), y).tolist() == [2, 1, 0]
    assert model.training_rows(data.tolist()).tolist() == [2, 1, 0]
    changed = data.copy()
    changed[1, 1] = 0.5001
    for samples, labels, words in [
        (
            changed,
            y,
            r"vector 1 \(line 11\) is no row .* row 1, .* column 1 .* 0\.5 against 0\.5001",
        ),
        (data[:, :2], y, r"vector 0 \(line 10\) has a value in column 2 .* X has 2 columns"),
        (data, -y, "row 2 of X, which has another label"),
        (data[[0, 1, 1, 3]], y, "vector 0 .* no row of X"),
    ]:
        with pytest.raises(ModelFileError, match=words):
            model.training_rows(samples, labels)
    with pytest.raises(ModelFileError, match=r"than rows do \(1\)"):
        match_rows([[1.0], [1.0]], [[1.0], [2.0]])
    with pytest.raises(ModelFileError, match="numbers LIBSVM was given"):
        model.training_rows(data, ["a", "b", "c", "d"])


def test_serials_of_a_precomputed_kernel_are_rows() -> None:
    model = read_model(FOLDER / "libsvm_precomputed.model")
    with pytest.raises(ModelFileError, match=r"sample 50 .* the data have 40 rows"):
        model.training_rows(np.eye(40))
    rows = model.training_rows(np.eye(50))
    as_lists = np.eye(50).tolist()
    assert np.array_equal(model.training_rows(as_lists), rows)
    assert np.array_equal(model.training_rows(tuple(as_lists)), rows)
