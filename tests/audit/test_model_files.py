"""Model files of other libraries: read to the last bit, and refused where anything is wrong."""

from __future__ import annotations

import io
import json
import math
import os
import pickle
import re
import time
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.svm import SVC, SVR

import qpsvm
from qpsvm.audit.files import ArrayModel, LiblinearModel, LibsvmModel, match_rows, read_model
from qpsvm.audit.files.digits import EXACT, as_printed
from qpsvm.exceptions import ModelFileError, QPSVMError
from tests.audit.foreign_models.data import (
    CLASSES,
    LIBLINEAR,
    LIBSVM,
    N_DECISIONS,
    TARGETS,
    TWO,
    X,
)
from tests.audit.writers import liblinear_text, libsvm_text, of_svc
from tests.tolerances import EIGHT_DIGITS, ROUNDING, SINGLE_PRECISION

FOLDER = Path(__file__).parent / "foreign_models"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
EXAMPLES = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

SMALL = libsvm_text(
    [[0.75], [0.25], [-1.0]],
    [[0.25, 0.0, 1.0], [0.0, 0.5, 0.0], [2.0, 0.125, 0.0]],
    [0.1],
    kernel=("kernel_type rbf", "gamma 0.5"),
    labels=(1, -1),
    n_sv=(2, 1),
)
LINEAR = liblinear_text(
    [[0.5], [-0.25], [0.125]], "L2R_L1LOSS_SVC_DUAL", n_features=2, bias=1.0, labels=(1, -1)
)
PLAIN = {
    "formulation": {"name": "SoftMargin", "C": 1.0, "intercept": "free"},
    "kernel": {"name": "rbf", "gamma": 0.5},
    "classes": ["no", "yes"],
    "alpha": [0.5, 0.25, 0.25],
    "intercept": 0.1,
}


@pytest.fixture
def written(tmp_path):
    """Writes a file and reads it as a model."""

    def write(content: str | bytes) -> Any:
        path = tmp_path / "model"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read_model(path)

    return write


def refused(written: Any, content: str | bytes, words: str) -> None:
    with pytest.raises(ModelFileError, match=words) as caught:
        written(content)
    message = str(caught.value)
    assert "model" in message
    assert message.endswith(".")
    assert len(message) < 1000


# --- what the libraries wrote -----------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in EXPECTED if not n.startswith("liblinear")])
def test_libsvm_files_predict_what_their_library_predicts(name: str) -> None:
    model = read_model(FOLDER / f"{name}.model")
    assert isinstance(model, LibsvmModel)
    single = name.startswith("thundersvm")
    assert model.written_by == ("ThunderSVM" if single else "LIBSVM")
    assert model.sv_digits == 8
    assert model.parameter_digits == (6 if single else 17 if model.rho.any() else 6)
    require_sound(model)
    found = decisions_of(model, X[:N_DECISIONS])
    for values in [EXPECTED[name]["decisions"]] if "decisions" in EXPECTED[name] else []:
        tolerance = SINGLE_PRECISION if single else EIGHT_DIGITS
        assert np.allclose(found, values, rtol=tolerance, atol=tolerance)


def decisions_of(model: LibsvmModel, samples: Any) -> Any:
    """``sum_i c_i k(x_i, x) - rho`` for every pair of classes."""
    if model.serials is not None:
        K = samples @ X[model.serials - 1].T
    else:
        vectors = np.zeros((model.total_sv, samples.shape[1]))
        vectors[:, : model.support_vectors.shape[1]] = model.support_vectors.toarray()
        K = model.kernel(samples, vectors) if model.total_sv else np.zeros((len(samples), 0))
    ends = np.cumsum([0, *(model.n_sv if model.n_sv is not None else [model.total_sv, 0])])
    values = []
    for i in range(model.n_classes):
        for j in range(i + 1, model.n_classes):
            c = np.zeros(model.total_sv)
            own, other = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
            c[own] = model.coefficients[own, j - 1]
            c[other] = model.coefficients[other, i]
            values.append(K @ c - model.rho[len(values)])
    return np.column_stack(values)


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


@pytest.mark.parametrize("name", [n for n in EXPECTED if n.startswith("liblinear")])
def test_liblinear_files_predict_what_their_library_predicts(name: str) -> None:
    model = read_model(FOLDER / f"{name}.model")
    assert isinstance(model, LiblinearModel)
    assert f"liblinear_{model.solver_type}" == name
    require_sound(model)
    values = X[:N_DECISIONS] @ model.coef.T + model.intercept
    expected = np.array(EXPECTED[name]["decisions"])
    values = values[:, : expected.shape[1]]  # the library leaves out the second of two
    assert np.allclose(values, expected, rtol=ROUNDING, atol=ROUNDING)


def test_the_libraries_themselves(tmp_path: Path) -> None:
    svmutil = pytest.importorskip(
        "libsvm.svmutil", reason="libsvm-official is built from source, which takes a compiler"
    )
    data, y = load_breast_cancer(return_X_y=True)
    problem = svmutil.svm_problem(y.astype(float), data)
    model = svmutil.svm_train(problem, svmutil.svm_parameter("-t 2 -g 1e-4 -c 3 -q"))
    svmutil.svm_save_model(str(tmp_path / "m"), model)
    found = read_model(tmp_path / "m")
    assert found.rho[0] == model.rho[0]
    assert found.gamma == model.param.gamma
    assert found.coefficients[:, 0].tolist() == [c[0] for c in model.get_sv_coef()]
    assert (found.training_rows(data, y) + 1).tolist() == model.get_sv_indices()


# --- round trips ------------------------------------------------------------------------------

numbers = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def libsvm_models(draw: Any) -> Any:
    k = draw(st.integers(2, 4))
    n_sv = draw(st.lists(st.integers(0, 3), min_size=k, max_size=k))
    total, d = sum(n_sv), draw(st.integers(1, 4))
    table = st.lists(numbers, min_size=total * (k - 1), max_size=total * (k - 1))
    return {
        "coefficients": np.array(draw(table)).reshape(total, k - 1),
        "vectors": np.array(
            draw(st.lists(numbers, min_size=total * d, max_size=total * d))
        ).reshape(total, d),
        "rho": draw(st.lists(numbers, min_size=k * (k - 1) // 2, max_size=k * (k - 1) // 2)),
        "labels": draw(
            st.lists(st.integers(-(2**31), 2**31 - 1), min_size=k, max_size=k, unique=True)
        ),
        "n_sv": n_sv,
    }


@EXAMPLES
@given(made=libsvm_models(), line_end=st.sampled_from(["\n", "\r\n"]))
def test_everything_a_libsvm_file_says_is_kept(written: Any, made: Any, line_end: str) -> None:
    model = written(libsvm_text(**made).replace("\n", line_end))
    require_sound(model)
    assert np.array_equal(model.coefficients, made["coefficients"])
    assert model.rho.tolist() == made["rho"]
    assert model.labels.tolist() == made["labels"]
    assert model.n_sv.tolist() == made["n_sv"]
    d = model.support_vectors.shape[1]
    expected = [[float(f"{v:.8g}") for v in row] for row in made["vectors"].tolist()]
    expected = np.array(expected).reshape(made["vectors"].shape)
    assert np.array_equal(model.support_vectors.toarray()[:, : expected.shape[1]], expected[:, :d])
    assert not expected[:, d:].any()


@EXAMPLES
@given(data=st.data(), d=st.integers(1, 4), m=st.integers(1, 4), bias=st.sampled_from([-1.0, 0, 2]))
def test_everything_a_liblinear_file_says_is_kept(
    written: Any, data: Any, d: int, m: int, bias: float
) -> None:
    n = d + (bias >= 0)
    entries = st.floats(-1e300, 1e300)  # times bias they are finite
    weights = np.array(data.draw(st.lists(entries, min_size=n * m, max_size=n * m)))
    weights, labels = weights.reshape(n, m), range(max(2, m))
    solver = "MCSVM_CS" if m == 2 else "L2R_LR"
    model = written(liblinear_text(weights, solver, n_features=d, bias=bias, labels=labels))
    require_sound(model)
    assert np.array_equal(model.coef, weights[:d].T)
    assert (model.bias_weights is None) == (bias < 0)
    assert bias < 0 or np.array_equal(model.bias_weights, weights[d])


@pytest.mark.parametrize("two", [True, False])
def test_files_of_models_that_scikit_learn_fitted(written: Any, two: bool) -> None:
    data, y = load_iris(return_X_y=True)
    data, y = (data[50:] / 3, y[50:] - 1) if two else (data / 3, y)
    fitted = SVC(gamma=0.3, C=5.0).fit(data, y)
    model = written(of_svc(fitted, ("kernel_type rbf", "gamma 0.3")))
    values = decisions_of(model, data)
    expected = SVC(gamma=0.3, C=5.0, decision_function_shape="ovo").fit(data, y)
    expected = expected.decision_function(data)
    assert np.allclose(values, -expected[:, None] if two else expected, atol=EIGHT_DIGITS)
    assert np.array_equal(data[model.training_rows(data, y)], data[fitted.support_])


# --- rows -------------------------------------------------------------------------------------


@EXAMPLES
@given(value=numbers, digits=st.integers(1, 18))
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


def test_zeros_that_are_written_are_zeros(written: Any) -> None:
    model = written(SMALL.replace("2:0.5", "1:-0 2:0.5 3:0"))
    stored = sp.csr_array(
        ([2.0, 0.125, 0.0, 0.5, -0.0, 0.25, 1.0], [0, 1, 2, 1, 2, 0, 2], [0, 3, 5, 7])
    )
    assert stored.nnz == 7
    assert model.training_rows(stored).tolist() == [2, 1, 0]
    assert model.training_rows(stored.toarray()).tolist() == [2, 1, 0]


def test_the_rows_of_a_regression_with_repeated_samples(written: Any) -> None:
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
    rows = written(text).training_rows(data, t)
    assert np.array_equal(data[rows], data[fitted.support_])
    coefficients = fitted.dual_coef_[0]
    assert coefficients @ t[rows] >= coefficients @ t[fitted.support_] * (1 - ROUNDING)


def test_what_is_no_row_is_named(written: Any) -> None:
    model = written(SMALL)
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
    with pytest.raises(ModelFileError, match=r"than there are such rows \(1\)"):
        match_rows([[1.0], [1.0]], [[1.0], [2.0]])
    with pytest.raises(ModelFileError, match="numbers LIBSVM was given"):
        model.training_rows(data, ["a", "b", "c", "d"])


def test_serials_of_a_precomputed_kernel_are_rows() -> None:
    model = read_model(FOLDER / "libsvm_precomputed.model")
    with pytest.raises(ModelFileError, match=r"sample 50 .* the data have 40 rows"):
        model.training_rows(np.eye(40))


# --- what is wrong in a text file -------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("gamma 0.5", "gamma 0.5\nepsilon 0.1", "line 4: 'epsilon' is not one of"),
        ("gamma 0.5", "gamma 0.5\ngamma 0.5", "line 4: gamma was already given in line 3"),
        ("gamma 0.5\n", "", "line 8: the header ends here and has no gamma"),
        ("gamma 0.5", "gamma 0.5\ncoef0 1", "line 4: coef0 does not belong to a c_svc model with"),
        ("rbf", "laplace", "line 2: kernel_type is 'laplace', not one of linear, polynomial"),
        ("gamma 0.5", "gamma -0.5", "line 3: gamma is -0.5, below 0"),
        ("gamma 0.5", "gamma 0.5 0.5", "line 3: gamma has 2 values, this model has 1"),
        ("gamma 0.5", "gamma", "line 3: gamma has 0 values"),
        ("gamma 0.5", "gamma nan", "line 3: gamma value 1 is 'nan', not a finite decimal number"),
        ("gamma 0.5", "gamma 1e400", "line 3: gamma value 1 is '1e400'"),
        ("gamma 0.5", "gamma 1_0", "line 3: gamma value 1 is '1_0'"),
        ("gamma 0.5", "gamma 0x10", "line 3: gamma value 1 is '0x10'"),
        ("gamma 0.5", "gamma １２", "line 3: the byte 0xef is not plain text"),
        ("gamma 0.5", "gamma 0.5\0", "line 3: the byte 0x00 is not plain text"),
        ("gamma 0.5", "gamma 0.5\r5", "line 3: the byte 0x0d is not plain text"),
        ("nr_class 2", "nr_class 3", "line 6: rho has 1 values, this model has 3"),
        ("nr_class 2", "nr_class 1", "line 4: nr_class is 1: .* train on samples of two classes"),
        ("nr_class 2", "nr_class 2.0", "line 4: nr_class is '2.0', not a whole number"),
        ("nr_class 2", "nr_class 2147483648", "line 4: nr_class is '2147483648', not a whole"),
        ("total_sv 3", "total_sv -3", "line 5: total_sv is '-3', not a whole number"),
        ("total_sv 3", "total_sv 4", "line 8: nr_sv adds up to 3, total_sv is 4"),
        ("label 1 -1", "label 1 1", "line 7: a label is repeated"),
        ("label 1 -1", "label 1", "line 7: label has 1 values, this model has 2"),
        ("label 1 -1", "label 1 -1.5", "line 7: label is '-1.5', not a whole number"),
        ("nr_sv 2 1", "nr_sv 4 -1", "line 8: nr_sv is '-1'"),
        ("c_svc", "epsilon_svr", "line 7: label does not belong to a epsilon_svr model"),
        ("SV\n", "SV 3\n", "line 9: SV is followed by '3'"),
        ("0.75 1", "0.75 0", "line 10: index 0 is no feature"),
        ("1:0.25 3:1", "3:1 1:0.25", "line 10: index 1 comes after 3"),
        ("1:0.25 3:1", "1:0.25 1:1", "line 10: index 1 comes after 1"),
        ("1:0.25", "-1:0.25", "line 10: '-1:0.25' is not index:value"),
        ("1:0.25 3", "1:0.25 2147483648", "line 10: index 2147483648 is beyond 2147483647"),
        ("1:0.25", "1:inf", "line 10: '1:inf' is not index:value"),
        ("1:0.25", "1:-1e999", "line 10: '1:-1e999' is not index:value"),
        ("1:0.25", "1 0.25", "line 10: '1' is not index:value"),
        ("1:0.25", "1: 0.25", "line 10: '1:' is not index:value"),
        ("0.25 2", "NaN 2", "line 11: coefficient 1 is 'NaN', not a finite decimal number"),
        ("0.25 2", "2", "line 11: coefficient 1 is '2:0.5'"),
        ("0.25 2:0.5 ", "", "line 11: it has 0 of 1 coefficients"),
        ("-1 1:2 2:0.125 \n", "", "line 12: total_sv is 3, and the file ends after 2"),
        ("-1 1:2 2:0.125 \n", "-1 1:2 2:0.125 \n1 1:1\n", "line 13: total_sv is 3, and here is"),
        ("-1 1:2 2:0.125 \n", "-1 1:2 2:0.125 \n\n", "line 13: total_sv is 3, and here is"),
        ("2:0.125 \n", "2:0.12", "line 12: the file ends in the middle of this line"),
        ("\nSV\n", "\n", "line 9: '0.75' is not one of"),
    ],
    ids=range(44),
)
def test_what_is_wrong_in_a_libsvm_file_is_named_with_its_line(
    written: Any, old: str, new: str, words: str
) -> None:
    assert old in SMALL
    refused(written, SMALL.replace(old, new, 1), words)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("L2R_L1LOSS_SVC_DUAL", "", "line 1: solver_type is '', not one of L2R_LR"),
        (
            "bias 1",
            "bias 1\nrho 2",
            "line 6: rho does not belong to a model of L2R_L1LOSS_SVC_DUAL",
        ),
        ("bias 1", "bias 1\nC 2", "line 6: 'C' is not one of"),
        ("nr_feature 2", "nr_feature 3", "line 10: the file ends after 3 of 4 lines"),
        ("nr_feature 2", "nr_feature 1", "line 9: 2 lines of weights end before this line"),
        ("bias 1", "bias -1", "line 9: 2 lines of weights end before this line"),
        ("-0.25", "-0.25 1", "line 8: it has 2 weights, this model has 1"),
        ("-0.25", "", "line 8: it has 0 weights, this model has 1"),
        ("-0.25", "inf", "line 8: weight 1 is 'inf', not a finite decimal number"),
        ("-0.25", "1e999", "line 8: weight 1 is '1e999'"),
        ("nr_class 2", "nr_class 3", "line 3: label has 2 values, this model has 3"),
        ("label 1 -1\n", "", "line 5: the header ends here and has no label"),
        ("0.125 \n", "0.125 ", "line 9: the file ends in the middle of this line"),
        (
            "1\nw\n0.5 \n-0.25 \n0.125",
            "9\nw\n1\n1\n1e308",
            "line 5: bias is 9, and times its weight",
        ),
    ],
    ids=range(14),
)
def test_what_is_wrong_in_a_liblinear_file_is_named_with_its_line(
    written: Any, old: str, new: str, words: str
) -> None:
    assert old in LINEAR
    refused(written, LINEAR.replace(old, new, 1), words)


def test_regression_and_novelty_have_two_classes_and_no_labels(written: Any) -> None:
    text = libsvm_text([[1.0]], [[1.0]], [0.0], svm_type="nu_svr")
    assert written(text).labels is None
    refused(written, text.replace("nr_class 2", "nr_class 3"), "nr_class is 3; for regression")
    novelty = libsvm_text(
        [[1.0]],
        [[1.0]],
        [0.0],
        svm_type="one_class",
        more=["prob_density_marks" + " 0.5" * 10],
    )
    assert written(novelty).total_sv == 1
    refused(written, novelty.replace(" 0.5", "", 1), "prob_density_marks has 9 values")
    refused(written, novelty.replace("one_class", "nu_svr"), "prob_density_marks does not belong")


def test_weights_beside_the_support_vectors(written: Any) -> None:
    """ThunderSVM writes them for linear kernels, in a line of their own."""
    text = libsvm_text(
        [[0.5], [-0.5]], [[1.0, 2.0], [3.0, 0.0]], [0.25], labels=(0, 1), n_sv=(1, 1)
    )
    text = text.replace("SV\n", "coef \n-1 1 \nSV \n")
    model = written(text)
    assert model.written_by == "ThunderSVM"
    assert model.first_sv_line == 11
    refused(written, text.replace("-1 1 \n", "-1 nan \n"), "line 9: coef value 2 is 'nan'")
    refused(written, text.replace("-1 1 \n", "\n"), "line 9: coef has 0 values")
    refused(written, text.replace("linear", "rbf"), "coef does not belong to a c_svc model")


def test_a_precomputed_kernel_has_one_serial_per_line(written: Any) -> None:
    text = libsvm_text(
        [[0.5], [-0.5]],
        [3, 1],
        [0.0],
        kernel=("kernel_type precomputed",),
        labels=(0, 1),
        n_sv=(1, 1),
    )
    model = written(text)
    assert model.support_vectors is None
    assert model.training_rows(np.eye(3), [1, 0, 0]).tolist() == [2, 0]
    for new, words in [
        ("0:0", "'0:0' is not 0:serial"),
        ("0:1.5", "'0:1.5' is not 0:serial"),
        ("1:3", "'1:3' is not 0:serial"),
        ("0:3e10", "'0:3e.10' is not 0:serial"),
        ("0:3 1:1", "it has 2 pairs"),
        ("", "it has 0 pairs"),
    ]:
        refused(written, text.replace("0:3", new), f"line 9: {words}")
    with pytest.raises(ModelFileError, match="another support vector has it too"):
        written(text.replace("0:3", "0:1")).training_rows(np.eye(3))


def test_how_many_digits_were_printed(written: Any) -> None:
    for vectors, digits in [
        ([[0.5], [0.25]], 8),
        ([[0.123456789], [0.25]], 9),
        ([[100.000000001], [0.25]], 12),
        ([[2 / 3], [0.25]], 17),
    ]:
        text = libsvm_text([[1.0], [-1.0]], vectors, [0.5], labels=(0, 1), n_sv=(1, 1), digits=17)
        text = text.replace(f"{vectors[0][0]:.17g}", repr(vectors[0][0]))
        model = written(text)
        assert model.sv_digits == (EXACT if digits == 17 else digits)
        assert model.training_rows([[0.25], vectors[0]], [1, 0]).tolist() == [1, 0]
        assert model.parameter_digits == 6
    assert written(SMALL).parameter_digits == EXACT  # rho is 0.10000000000000001


# --- plain numbers ----------------------------------------------------------------------------


def npz_of(entries: dict[str, Any], save: Any = np.savez) -> bytes:
    stream = io.BytesIO()
    save(
        stream,
        **{
            key: json.dumps(value) if isinstance(value, dict) else value
            for key, value in entries.items()
        },
    )
    return stream.getvalue()


@pytest.mark.parametrize("encode", [json.dumps, npz_of], ids=["json", "npz"])
def test_plain_numbers(written: Any, encode: Any) -> None:
    model = written(encode(PLAIN))
    require_sound(model)
    assert model.formulation == qpsvm.SoftMargin(C=1.0)
    assert model.kernel == qpsvm.kernels.RBF(gamma=0.5)
    assert model.classes == ("no", "yes")
    assert (model.alpha.tolist(), model.intercept) == ([0.5, 0.25, 0.25], 0.1)
    assert (model.coef, model.width) == (None, None)
    joint = {
        "formulation": {"name": "CrammerSinger", "class_weight": [[0, 1.0], [1, 2.0], [2, 1.0]]},
        "coef": [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]],
        "intercept": [0, 0, 0],
    }
    model = written(encode(joint))
    require_sound(model)
    assert model.formulation.class_weight[1] == 2.0
    assert model.coef.shape == (3, 2)
    assert model.intercept.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"beta": [1.0]}, "'beta' is not one of formulation, kernel"),
        ({"intercept": None}, "intercept is not a number"),
        ({"intercept": "0.5"}, "intercept is not a number"),
        ({"intercept": True}, "intercept is not a number"),
        ({"intercept": [0.5]}, r"intercept has shape \(1,\), beside such a coef it is \(\)"),
        ({"alpha": [0.5, True]}, "alpha is not a list of numbers"),
        ({"alpha": [0.5, "1"]}, "alpha is not a list of numbers"),
        ({"alpha": [[0.5]]}, "alpha is not a list of numbers"),
        ({"alpha": [0.5, [0.5]]}, "alpha is not a list of numbers"),
        ({"alpha": []}, "alpha is empty"),
        ({"alpha": 0.5}, "alpha is not a list of numbers"),
        ({"alpha": [10**400]}, "alpha is not a list of numbers"),
        ({"coef": [[1.0], [1.0, 2.0]]}, "coef is not a list of numbers or a table"),
        ({"coef": [[1.0], [2.0]]}, r"intercept has shape \(\), beside such a coef it is \(2,\)"),
        ({"width": [1.0]}, "width is not a number"),
        ({"classes": ["a"]}, "classes must be the 2 labels"),
        ({"classes": ["a", "a"]}, "write different labels of one kind"),
        ({"classes": ["a", 1]}, "write different labels of one kind"),
        ({"classes": [["a"], ["b"]]}, "write different labels of one kind"),
        ({"kernel": "rbf"}, "kernel is not an object with a name"),
        ({"kernel": {"gamma": 1.0}}, "kernel is not an object with a name"),
        ({"kernel": {"name": "custom"}}, "the kernel 'custom' is unknown; known are linear"),
        ({"kernel": {"name": "rbf", "gamma": 0.0}}, "there is no such rbf .gamma is 0.0"),
        ({"kernel": {"name": "rbf", "sigma": 1.0}}, "there is no such rbf .*sigma"),
        ({"kernel": {"name": "rbf", "gamma": 10**400}}, "are not plain numbers and texts"),
        ({"formulation": {"name": "OneVsOne"}}, "the formulation 'OneVsOne' is unknown"),
        ({"formulation": {"name": "SoftMargin", "C": -1}}, "there is no such SoftMargin"),
        ({"formulation": {"name": "SoftMargin", "C": [1]}}, "are not plain numbers and texts"),
        (
            {"formulation": {"name": "SoftMargin", "class_weight": [["a", 1], ["a", 2]]}},
            "class_weight is not a list of pairs",
        ),
    ],
    ids=range(29),
)
def test_what_is_wrong_in_json_is_named(written: Any, change: Any, words: str) -> None:
    refused(written, json.dumps(PLAIN | change), words)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"alpha": [NaN], "intercept": 0}', "NaN is not JSON"),
        ('{"alpha": [-Infinity], "intercept": 0}', "-Infinity is not JSON"),
        ('{"alpha": [1, 1e400], "intercept": 0}', r"alpha\[1\] is inf"),
        ('{"alpha": [1], "intercept": 0, "alpha": [2]}', "'alpha' is given twice"),
        ('{"kernel": {"name": "rbf", "name": "linear"}}', "'name' is given twice"),
        ('{"alpha": [1]}', "it has no intercept"),
        ('{"intercept": 0}', "neither alpha nor coef"),
        ('{"alpha": [1], "intercept": 0', "not a model in JSON"),
        ('{"alpha": [1], "intercept": 0} x', "not a model in JSON"),
        (
            b'{"alpha": [1], "classes": ["\xff", "a"], "intercept": 0}',
            "not a model in JSON .*utf-8",
        ),
        ('{"alpha": ' + "[" * 9_000, "not a model in JSON"),
        ('{"alpha": ' + "[" * 10**6, "1,000,001 lists and objects"),
        ('{"a":' * 9_000, "not a model in JSON"),
        ('{"alpha": [' + "9" * 5000 + '], "intercept": 0}', "not a model in JSON"),
    ],
    ids=range(14),
)
def test_json_that_readers_disagree_about_is_refused(
    written: Any, content: str | bytes, words: str
) -> None:
    refused(written, content, words)


def test_what_is_wrong_in_npz_is_named(written: Any) -> None:
    good = {"alpha": np.array([0.5, 0.5]), "intercept": np.float64(0.1)}
    assert written(npz_of(good)).intercept == 0.1
    for change, words in [
        ({"alpha": np.array(["1", "2"])}, "alpha is not a list of numbers"),
        ({"alpha": np.array([True, False])}, "alpha is not a list of numbers"),
        ({"alpha": np.array([0.5, np.nan])}, r"alpha\[1\] is nan"),
        ({"alpha": np.array([0.5, None], dtype=object)}, "never loaded"),
        ({"kernel": np.array(["{}"])}, "'kernel' is not a single JSON text"),
        ({"kernel": np.array("{")}, "'kernel' is not a single JSON text"),
        ({"classes": np.array(1)}, "classes must be the 2 labels"),
        ({"classes": np.array([np.nan, 1.0])}, "write different labels of one kind"),
        ({"C": np.array(1)}, "'C' is not one of"),
    ]:
        refused(written, npz_of(good | change), words)
    refused(written, npz_of(good, np.savez_compressed), "compressed; write it with numpy.savez")


def test_models_of_qpsvm_are_recognised(tmp_path: Path) -> None:
    problem = qpsvm.SoftMargin(C=1.0).dual(X, TWO)
    solution = qpsvm.solve(problem)
    path = tmp_path / "m.model"
    qpsvm.models.save(path, problem, solution, qpsvm.verify(problem, solution))
    model = read_model(path)
    assert isinstance(model, qpsvm.models.SavedModel)
    assert model.verify(X, TWO).passed
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(ModelFileError, match="not a readable NPZ file"):
        read_model(path)


# --- files that are no models, or made to do harm ---------------------------------------------


def test_what_is_no_model_file(tmp_path: Path, written: Any) -> None:
    refused(written, "", "begins with b''")
    refused(written, "gamma 0.5\n", "begins with b'gamma 0.5")
    refused(written, "\ufeffsvm_type c_svc\n", "as no model file known here does")
    refused(written, pickle.dumps(SVC()), "as no model file known here does")
    for path, words in [
        (tmp_path / "none", "No such file"),
        (tmp_path, "is a folder; pass the path of a model file"),
        ("nul\0byte", "Cannot read"),
    ]:
        with pytest.raises(ModelFileError, match=words):
            read_model(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_pipes_and_devices_are_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(ModelFileError, match="not a regular file"):
            read_model(path)


@pytest.mark.parametrize(
    ("beginning", "size"),
    [(SMALL, 2**30 + 1), (json.dumps(PLAIN), 2**28 + 1)],
    ids=["text", "json"],
)
def test_files_beyond_the_limit_are_not_read(tmp_path: Path, beginning: str, size: int) -> None:
    path = tmp_path / "large"
    path.write_text(beginning)
    os.truncate(path, size)  # takes no space on the disk
    peak = measured(lambda: _refuse_file(path, "the limit for model files of its kind is"))
    assert peak < 2**20


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            SMALL.replace("total_sv 3", "total_sv 2147483647").replace("2 1", "2147483646 1"),
            "total_sv asks for 2,147,483,647 lines, and only",
        ),
        (SMALL.replace("nr_class 2", "nr_class 2147483647"), "rho has 1 values"),
        (LINEAR.replace("nr_feature 2", "nr_feature 2147483647"), "nr_feature asks for"),
        (LINEAR.replace("nr_class 2", "nr_class 2147483647"), "label has 2 values"),
    ],
    ids=range(4),
)
def test_huge_declared_sizes_are_refused_before_allocating(
    tmp_path: Path, content: str, words: str
) -> None:
    path = tmp_path / "huge"
    path.write_text(content)
    assert measured(lambda: _refuse_file(path, words)) < 2**20


def test_huge_declared_arrays_are_refused_before_allocating(tmp_path: Path) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (10**15,)}
    )
    path = tmp_path / "huge"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("alpha.npy", header.getvalue() + b"12345678")
    assert measured(lambda: _refuse_file(path, "declares shape")) < 2**20


def _refuse_file(path: Path, words: str) -> None:
    with pytest.raises(ModelFileError, match=words):
        read_model(path)


def measured(action: Any) -> int:
    """Bytes of memory that were taken at the same time."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


HEADER = "svm_type epsilon_svr\nkernel_type linear\nnr_class 2\ntotal_sv {}\nrho 0\nSV\n"
COSTLY = {
    "short lines": HEADER.format(400_000) + "1\n" * 400_000,
    "short pairs": HEADER.format(40)
    + ("1 " + " ".join(f"{i}:1" for i in range(1, 4001)) + "\n") * 40,
    "one long line": HEADER.format(1) + "1 " + " ".join(f"{i}:1" for i in range(1, 120_000)) + "\n",
    "a line of digits": HEADER.format(1) + "9" * 10**6 + "\n",
    "a line of blanks": HEADER.format(1) + "1" + " " * 10**6 + "x\n",
    "almost numbers": HEADER.format(1) + "1 " + "1:1 " * 200_000 + "1:\n",
    "long header": HEADER.format(1).replace("rho 0", "rho" + " 0" * 400_000) + "1\n",
    "long key": "svm_type c_svc\n" + "x" * 10**6 + "\n",
    "empty lines": "svm_type c_svc" + "\n" * 10**6,
    "no line end": "svm_type c_svc\n" + "x" * 10**6,
    "names": "{" + ",".join(f'"{i}":0' for i in range(100_000)) + "}",
    "a long integer": '{"intercept": 0, "alpha": [' + "9" * 4000 + "]}",
    "short texts": '{"intercept": 0, "alpha": [' + '"",' * 200_000 + '""]}',
    "short numbers": '{"intercept": 0, "alpha": [' + "0.5," * 200_000 + "0]}",
}


@pytest.mark.parametrize("name", COSTLY)
def test_memory_and_time_are_bounded_by_the_size_of_the_file(tmp_path: Path, name: str) -> None:
    """Far from both bounds; what is quadratic in a megabyte takes minutes."""
    path = tmp_path / "costly"
    path.write_text(COSTLY[name])
    began = time.process_time()
    load_or_error(path)
    assert time.process_time() - began < 10.0
    assert measured(lambda: load_or_error(path)) < 30 * path.stat().st_size + 2**26


# --- fuzzing ----------------------------------------------------------------------------------

VALID = {
    **{
        name: (FOLDER / f"{name}.model").read_bytes()
        for name in (
            "libsvm_rbf",
            "libsvm_one_class",
            "libsvm_precomputed",
            "thundersvm_probability",
            "liblinear_L2R_LR",
            "liblinear_ONECLASS_SVM",
        )
    },
    "small": SMALL.encode(),
    "linear": LINEAR.encode(),
    "json": json.dumps(PLAIN).encode(),
    "npz": npz_of(PLAIN),
}
NASTY = [
    *("nan", "inf", "-inf", "-1", "0", "1e400", "-1e400", "1e-400", "9" * 40, "9" * 400),
    *("2147483647", "2147483648", "4294967296", "18446744073709551616", "1_0", "0x10", "1e5", ""),
    *("1:1", ":", "1:", "NaN", "+1", "--1", "1.", ".5", "1e", "True", "null", "[]", "{}", '""'),
]


def load_or_error(path: Path) -> tuple[Any, QPSVMError | None]:
    try:
        return read_model(path), None
    except QPSVMError as error:
        return None, error


@st.composite
def mutations(draw: Any) -> bytes:
    content = draw(st.sampled_from(sorted(VALID.items())))[1]
    for _ in range(draw(st.integers(1, 3))):
        content = draw(st.sampled_from(MUTATIONS))(draw, content)
    return content


def _truncate(draw: Any, content: bytes) -> bytes:
    return content[: draw(st.integers(0, len(content)))]


def _change_byte(draw: Any, content: bytes) -> bytes:
    at = draw(st.integers(0, len(content)))
    return content[:at] + draw(st.binary(min_size=1, max_size=2)) + content[at + 1 :]


def _insert(draw: Any, content: bytes) -> bytes:
    at = draw(st.integers(0, len(content)))
    new = draw(
        st.sampled_from([b"\xff\xfe", b"\0", b"\xc3", "１".encode(), b"\n", b"\r", b"\t", b" "])
    )
    return content[:at] + new + content[at:]


def _change_lines(draw: Any, content: bytes) -> bytes:
    lines = content.split(b"\n")
    i, j = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
    kind = draw(st.sampled_from(["repeat", "delete", "swap", "blank"]))
    if kind == "repeat":
        lines.insert(i, lines[j])
    elif kind == "delete":
        del lines[i]
    elif kind == "swap":
        lines[i], lines[j] = lines[j], lines[i]
    else:
        lines.insert(i, b"")
    return b"\n".join(lines)


def _change_word(draw: Any, content: bytes) -> bytes:
    words = content.split(b" ")
    i = draw(st.integers(0, len(words) - 1))
    words[i] = draw(st.sampled_from(NASTY)).encode()
    return b" ".join(words)


def _change_value(draw: Any, content: bytes) -> bytes:
    parts = content.split(b":")
    i = draw(st.integers(0, len(parts) - 1))
    parts[i] = draw(st.sampled_from(NASTY)).encode() + parts[i].lstrip(b"0123456789.")
    return b":".join(parts)


MUTATIONS = [_truncate, _change_byte, _insert, _change_lines, _change_word, _change_value]


@settings(EXAMPLES, max_examples=1500)
@given(content=mutations())
def test_changed_files_are_refused_or_still_sound(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "fuzz"
    path.write_bytes(content)
    model, error = load_or_error(path)
    if model is None:
        assert isinstance(error, ModelFileError)
        assert repr(os.fspath(path)) in str(error)
        assert len(str(error)) < 2000
    else:
        require_sound(model)
        require_same_when_written_again(path, model)


@EXAMPLES
@given(content=st.binary(max_size=200), beginning=st.sampled_from(["", "svm_type ", "{", "PK\3\4"]))
def test_random_bytes_are_refused(tmp_path: Path, content: bytes, beginning: str) -> None:
    path = tmp_path / "fuzz"
    path.write_bytes(beginning.encode() + content)
    model, error = load_or_error(path)
    assert model is None
    assert isinstance(error, ModelFileError)


def require_sound(model: Any) -> None:
    """What is true of every model that was read."""
    arrays = [value for value in vars(model).values() if isinstance(value, np.ndarray)]
    if isinstance(model, LibsvmModel):
        require_sound_libsvm(model)
        if model.support_vectors is not None:
            arrays += [
                getattr(model.support_vectors, part) for part in ("data", "indices", "indptr")
            ]
    elif isinstance(model, LiblinearModel):
        m = model.n_classes if model.solver_type == "MCSVM_CS" or model.n_classes > 2 else 1
        assert model.coef.shape[0] == m
        assert (model.labels is None) == (model.solver_type not in LIBLINEAR_CLASSIFIERS)
        assert (model.bias_weights is None) == (model.bias < 0)
        assert model.intercept.shape == (m,)
        assert (model.rho is None) == (model.solver_type != "ONECLASS_SVM")
        assert math.isfinite(model.bias + (model.rho or 0.0))
    else:
        assert isinstance(model, ArrayModel)
        assert model.alpha is not None or model.coef is not None
        assert np.isfinite(model.intercept).all()
    for array in arrays:
        assert np.isfinite(array).all()
        assert not array.flags.writeable
    with pytest.raises(AttributeError):
        model.source = "elsewhere"


LIBLINEAR_CLASSIFIERS = [name for name in LIBLINEAR if "SVR" not in name and "ONE" not in name]


def require_sound_libsvm(model: LibsvmModel) -> None:
    k, n = model.n_classes, model.total_sv
    assert model.rho.shape == (k * (k - 1) // 2,)
    assert model.coefficients.shape == (n, k - 1)
    assert (model.labels is None) == (model.n_sv is None) == (model.svm_type[-3:] != "svc")
    if model.labels is not None:
        assert len(set(model.labels.tolist())) == k == len(model.n_sv)
        assert model.n_sv.min() >= 0
        assert model.n_sv.sum() == n
    parameters = [value for value in (model.degree, model.gamma, model.coef0) if value is not None]
    assert np.isfinite(parameters).all()
    if model.kernel_type == "precomputed":
        assert model.support_vectors is None
        assert model.serials.shape == (n,)
        assert (model.serials >= 1).all()
    else:
        assert model.serials is None
        assert model.support_vectors.shape[0] == n
        model.support_vectors.check_format(full_check=True)
        assert model.support_vectors.has_canonical_format


def require_same_when_written_again(path: Path, model: Any) -> None:
    if isinstance(model, LibsvmModel) and model.kernel_type != "precomputed":
        if model.support_vectors.shape[1] > 1000:
            return
        kernel = [f"kernel_type {model.kernel_type}"]
        for name in ("degree", "gamma", "coef0"):
            if getattr(model, name) is not None:
                kernel.append(f"{name} {getattr(model, name):.17g}")
        text = libsvm_text(
            model.coefficients,
            model.support_vectors.toarray(),
            model.rho,
            svm_type=model.svm_type,
            kernel=kernel,
            labels=() if model.labels is None else model.labels,
            n_sv=() if model.n_sv is None else model.n_sv,
            digits=17,
        )
        path.write_text(text)
        again = read_model(path)
        assert np.array_equal(again.coefficients, model.coefficients)
        assert np.array_equal(again.rho, model.rho)
        assert again.kernel_type == model.kernel_type
        d = min(again.support_vectors.shape[1], model.support_vectors.shape[1])
        first, second = (m.support_vectors.toarray()[:, :d] for m in (again, model))
        assert np.array_equal(first, second)
    if isinstance(model, LiblinearModel) and model.rho is None:
        weights = model.coef.T
        if model.bias_weights is not None:
            weights = np.vstack([weights, model.bias_weights])
        labels = () if model.labels is None else model.labels
        path.write_text(
            liblinear_text(
                weights,
                model.solver_type,
                n_features=model.coef.shape[1],
                bias=model.bias,
                labels=labels,
            )
        )
        again = read_model(path)
        assert np.array_equal(again.coef, model.coef)
        assert np.array_equal(again.intercept, model.intercept)


# --- the page that describes them -------------------------------------------------------------

PAGE = Path(__file__).resolve().parents[2] / "docs" / "model_files.md"


def test_the_examples_of_the_page(
    tmp_path: Path, written: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    names: dict[str, object] = {}
    for language, text in blocks:
        if language == "json":
            require_sound(written(text))
        elif language == "python":
            exec(compile(text, str(PAGE), "exec"), names)
        else:
            assert capsys.readouterr().out == text
    assert [language for language, _ in blocks].count("text") == 2
