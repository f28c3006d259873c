"""What samples and labels may be, and what bad input is told."""

from __future__ import annotations

import copy
import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import qpsvm
from qpsvm import HardMargin, SoftMargin, kernels
from qpsvm.exceptions import (
    IndefiniteKernelError,
    InvalidDataError,
    InvalidParameterError,
    KernelError,
    MemoryLimitError,
    QPSVMError,
)
from qpsvm.numerics.single_precision import stored_arrays

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [4.0, 1.0]])
y = np.array([-1, -1, 1, 1])
BUILD = [
    pytest.param(SoftMargin().dual, id="dual"),
    pytest.param(SoftMargin().primal, id="primal"),
    pytest.param(HardMargin().dual, id="hard"),
]


def with_entry(value: float, row: int = 2, column: int = 1) -> np.ndarray:
    samples = X.copy()
    samples[row, column] = value
    return samples


def frame(samples: np.ndarray = X) -> pd.DataFrame:
    return pd.DataFrame(samples, columns=["height", "width"])


# --- refusals: what is wrong, the value seen, the remedy ----------------------------------------

BAD_SAMPLES = {
    "nan": (with_entry(np.nan), ["X", "NaN", "row 2", "column 1", "SimpleImputer"]),
    "inf": (with_entry(-np.inf, 3, 0), ["X", "-inf", "row 3", "column 0", "drop the rows"]),
    "nan in a frame": (frame(with_entry(np.nan)), ["row 2", "column 'width'", "impute"]),
    "nan in a sparse X": (
        sp.coo_array(with_entry(np.inf, 1, 1)),
        ["inf", "row 1", "column 1", "(1 such row)"],
    ),
    "NA in a nullable frame": (
        pd.DataFrame({"a": pd.array([1.0, None, 2.0, 3.0], dtype="Float64")}),
        ["NaN", "row 1", "column 'a'"],
    ),
    "None": (np.array([[1, 2], [3, None], [1, 1], [2, 2]], dtype=object), ["NaN", "row 1"]),
    "one dimension": (X[:, 0], ["X", "two dimensions", "(4,)", "X.reshape(-1, 1)"]),
    "sparse, one dimension": (sp.coo_array(X[:, 0]), ["two dimensions", "(4,)", "reshape"]),
    "three dimensions": (X[None], ["X", "two dimensions", "(1, 4, 2)"]),
    "nothing": (None, ["X", "two dimensions", "()"]),
    "no samples": (X[:0], ["X is empty", "(0, 2)", "at least one sample"]),
    "no features": (X[:, :0], ["X is empty", "(4, 0)", "one feature"]),
    "no samples, sparse": (sp.csr_array((0, 2)), ["X is empty", "(0, 2)"]),
    "complex": (X * 1j, ["X", "complex", "real features"]),
    "complex, sparse": (sp.csr_array(X * 1j), ["X", "complex", "real features"]),
    "text": (np.array([["1", "2"]] * 4), ["X", "table of numbers", "<U1", "astype(float)"]),
    "words in objects": (np.array([["a", 2]] * 4, dtype=object), ["X", "numbers", "'a'", "encode"]),
    "dates": (np.full((4, 1), np.datetime64("2020-01-01")), ["X", "datetime64", "encode"]),
    "ragged": ([[1.0, 2.0], [3.0]], ["X", "2 features in row 0", "1 in row 1"]),
    "squares that overflow": (X * 1e200, ["X", "e+200", "row 0", "column 1", "MaxAbsScaler"]),
    "squares that overflow, in a frame": (frame(X * 1e200), ["column 'width'", "scale"]),
    "squares that overflow, sparse": (sp.csr_array(X * 1e200), ["row 0", "column 1", "scale"]),
    "text column": (
        pd.DataFrame({"size": [1, 2, 3, 4], "colour": list("rgbr")}),
        ["X column 'colour'", "not numeric", "OneHotEncoder", "drop it"],
    ),
    "categorical column": (
        pd.DataFrame({"kind": pd.Categorical([1, 2, 1, 2])}),
        ["X column 'kind'", "category", "encode"],
    ),
    "mismatch": (X[:3], ["X has 3 rows", "y has 4 labels", "one label per row"]),
}

BAD_LABELS = {
    "one class": ([1, 1, 1, 1], ["y", "only one class", "1", "samples of two"]),
    "three classes": (list("abca"), ["y has 3 classes", "'a', 'b', 'c'", "one against the rest"]),
    "many classes": ([0, 1, 2, 3], ["y has 4 classes", "select two classes"]),
    "continuous": ([0.1, 0.2, 0.7, 1.3], ["4 classes", "0.1, 0.2", "regression targets"]),
    "None": ([1, None, -1, 1], ["y[1] is None", "(1 missing labels)", "drop those rows"]),
    "nan": ([1, -1, np.nan, np.nan], ["y[2] is nan", "(2 missing labels)", "drop"]),
    "NA": (pd.Series(["a", "b", pd.NA, "a"], dtype="string"), ["y[2]", "missing", "drop"]),
    "mixed kinds": ([1, "a", "a", 1], ["y mixes", "int, str", "one kind"]),
    "mixed kinds in objects": (
        np.array([1, "a", "a", 1], dtype=object),
        ["y mixes", "int, str", "one kind"],
    ),
    "two columns": (np.eye(4)[:, :2], ["y must be one-dimensional", "(4, 2)", "argmax"]),
    "samples": (X, ["y must be one-dimensional", "(4, 2)", "X first and y second"]),
    "a number": (1, ["y must be one-dimensional", "()"]),
    "empty": ([], ["y is empty", "one label per sample"]),
    "complex": ([1j, 1, 1, 1j], ["y", "complex", "two different labels"]),
    "mismatch": ([1, -1, 1], ["X has 4 rows", "y has 3 labels"]),
}


def assert_says(error: BaseException, words: list[str]) -> None:
    for word in words:
        assert word in str(error), f"{word!r} is not in {error}"


@pytest.mark.parametrize("build", BUILD)
@pytest.mark.parametrize(("samples", "words"), BAD_SAMPLES.values(), ids=BAD_SAMPLES.keys())
def test_bad_samples_are_refused_with_the_place_and_a_remedy(build, samples, words):
    with pytest.raises(InvalidDataError) as caught:
        build(samples, y)
    assert_says(caught.value, words)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("build", BUILD)
@pytest.mark.parametrize(("labels", "words"), BAD_LABELS.values(), ids=BAD_LABELS.keys())
def test_bad_labels_are_refused_with_the_value_and_a_remedy(build, labels, words):
    with pytest.raises(InvalidDataError) as caught:
        build(X, labels)
    assert_says(caught.value, words)


def test_one_sample_is_one_class_too_few():
    with pytest.raises(InvalidDataError, match="only one class, 1"):
        SoftMargin().dual(X[:1], [1])


C_MESSAGE = "must be a finite number above 0"
BAD_PARAMETERS = {
    "C=0": (lambda: SoftMargin(C=0.0), ["C is 0.0", C_MESSAGE]),
    "C<0": (lambda: SoftMargin(C=-1), ["C is -1", C_MESSAGE]),
    "C=nan": (lambda: SoftMargin(C=np.nan), ["C is nan", C_MESSAGE]),
    "C=inf": (lambda: SoftMargin(C=np.inf), ["C is inf", C_MESSAGE, "use HardMargin"]),
    "C=text": (lambda: SoftMargin(C="1"), ["C is '1'", C_MESSAGE]),
    "C=bool": (lambda: SoftMargin(C=True), ["C is True", C_MESSAGE]),
    "C=None": (lambda: SoftMargin(C=None), ["C is None", C_MESSAGE]),
    "C=array": (lambda: SoftMargin(C=np.ones(3)), ["C is array", C_MESSAGE]),
    "soft intercept": (
        lambda: SoftMargin(intercept="yes"),
        ["intercept is 'yes'", "'free', 'penalized'", "'none'"],
    ),
    "hard intercept": (lambda: HardMargin(intercept=None), ["intercept is None", "'free'"]),
    "kernel name": (
        lambda: SoftMargin().dual(X, y, kernel="gaussian"),
        ["kernel is 'gaussian'", "linear", "rbf", "callable"],
    ),
    "kernel class": (
        lambda: SoftMargin().dual(X, y, kernel=kernels.RBF),
        ["class RBF", "RBF()"],
    ),
    "kernel number": (lambda: SoftMargin().dual(X, y, kernel=3), ["kernel is 3", "callable"]),
    "gamma name": (lambda: kernels.RBF(gamma="fit"), ["gamma is 'fit'", "'scale', 'auto'"]),
    "gamma=0": (lambda: kernels.RBF(gamma=0), ["gamma is 0", "above 0"]),
    "gamma<0": (lambda: kernels.Sigmoid(gamma=-1.5), ["gamma is -1.5", "above 0"]),
    "gamma=nan": (lambda: kernels.Polynomial(gamma=np.nan), ["gamma is nan", "above 0"]),
    "gamma=bool": (lambda: kernels.RBF(gamma=True), ["gamma is True", "above 0"]),
    "gamma unresolved": (
        lambda: kernels.RBF()(X, X),
        ["gamma='scale'", "depends on the training data", "kernel.resolve(X)"],
    ),
    "degree=0": (lambda: kernels.Polynomial(degree=0), ["degree is 0", "whole number from 1"]),
    "degree=2.5": (lambda: kernels.Polynomial(degree=2.5), ["degree is 2.5", "whole number"]),
    "degree=text": (lambda: kernels.Polynomial(degree="3"), ["degree is '3'", "whole number"]),
    "coef0=inf": (lambda: kernels.Polynomial(coef0=np.inf), ["coef0 is inf", "finite number"]),
    "coef0=None": (lambda: kernels.Sigmoid(coef0=None), ["coef0 is None", "finite number"]),
    "storage": (
        lambda: SoftMargin().dual(X, y).canonical("csr"),
        ["storage is 'csr'", "'natural', 'dense', 'sparse' or 'cvxopt'"],
    ),
}


@pytest.mark.parametrize(("build", "words"), BAD_PARAMETERS.values(), ids=BAD_PARAMETERS.keys())
def test_a_parameter_outside_its_domain_is_named_with_its_value(build, words):
    with pytest.raises((InvalidParameterError, QPSVMError)) as caught:
        build()
    assert_says(caught.value, words)
    assert isinstance(caught.value, ValueError)


INDEFINITE = np.array([[1.0, 2.0], [2.0, 1.0]])  # eigenvalues 3 and -1
BAD_KERNELS = {
    "not square": (X, "precomputed", InvalidDataError, ["kernel matrix", "square", "(4, 2)"]),
    "not symmetric": (
        np.arange(16.0).reshape(4, 4),
        "precomputed",
        KernelError,
        ["not symmetric", "max|K - K'| is 9", "k(x, z) = k(z, x)"],
    ),
    "indefinite": (
        np.kron(np.eye(2), INDEFINITE),
        "precomputed",
        IndefiniteKernelError,
        ["indefinite", "smallest eigenvalue is -1 ", "add 1 to its diagonal", "precomputed"],
    ),
    "sigmoid": (
        X,
        kernels.Sigmoid(gamma=1.0, coef0=-2.0),
        IndefiniteKernelError,
        ["sigmoid(gamma=1, coef0=-2)", "indefinite", "smallest eigenvalue is -", "RBF"],
    ),
    "negative coef0": (
        X,
        kernels.Polynomial(gamma=1.0, degree=2, coef0=-5.0),
        IndefiniteKernelError,
        ["polynomial", "smallest eigenvalue is -", "coef0 >= 0"],
    ),
    "callable, wrong shape": (
        X,
        lambda *pair: np.ones(len(pair[0])),
        KernelError,
        ["returned shape (4,)", "one number per pair", "(4, 4)"],
    ),
    "callable, NaN": (
        X,
        lambda *_: np.where(np.eye(4) > 0, np.nan, 1.0),
        KernelError,
        ["returned nan", "pair (0, 0)", "finite"],
    ),
    "callable, text": (
        X,
        lambda *_: np.full((4, 4), "k"),
        KernelError,
        ["kernel function", "real numbers"],
    ),
    "callable, asymmetric": (
        X,
        lambda A, B: A @ B.T + np.arange(4.0),
        KernelError,
        ["not symmetric", "max|K - K'| is 3"],
    ),
}


@pytest.mark.parametrize("build", BUILD)
@pytest.mark.parametrize(
    ("samples", "kernel", "error", "words"), BAD_KERNELS.values(), ids=BAD_KERNELS.keys()
)
def test_what_is_not_a_kernel_matrix_is_refused_with_the_numbers(
    build, samples, kernel, error, words
):
    with pytest.raises(error) as caught:
        build(samples, y, kernel=kernel)
    assert_says(caught.value, words)


@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
def test_the_constant_of_a_penalised_intercept_does_not_hide_an_indefinite_kernel(intercept):
    K = np.eye(2) - 0.6  # K + 1 is positive semidefinite, K is not
    with pytest.raises(IndefiniteKernelError) as caught:
        SoftMargin(intercept=intercept).dual(K, [0, 1], kernel="precomputed")
    assert caught.value.smallest_eigenvalue == pytest.approx(-0.2)


def test_a_matrix_too_large_for_memory_is_refused_with_its_bytes_and_another_way():
    problem = SoftMargin().dual(X, y, kernel="rbf")
    with pytest.raises(MemoryLimitError) as caught:
        problem.canonical("dense", memory_limit=100)
    assert_says(caught.value, ["4 x 4", "128 bytes", "limit is 100 bytes", "fewer samples"])
    assert (caught.value.required_bytes, caught.value.limit_bytes) == (128, 100)


@pytest.mark.parametrize(
    ("build", "remedy"),
    [
        (partial(SoftMargin().primal, kernel="rbf"), "use the dual form"),
        (partial(SoftMargin().dual, kernel=lambda A, B: A @ B.T), "fewer samples"),
    ],
    ids=["kernel primal", "check of a callable"],
)
def test_building_a_program_never_exceeds_the_memory_limit(monkeypatch, build, remedy):
    monkeypatch.setattr("qpsvm.numerics.arrays.default_memory_limit", lambda: 100)
    with pytest.raises(MemoryLimitError) as caught:
        build(X, y)
    assert_says(caught.value, ["128 bytes", "100 bytes", remedy])


def test_a_dual_too_large_for_memory_is_still_built_and_multiplied(monkeypatch):
    reference = SoftMargin().dual(X, y, kernel="rbf").qp.P.to_dense()
    monkeypatch.setattr("qpsvm.qp.sample_gram.KEPT_BYTES", 100)
    P = SoftMargin().dual(X, y, kernel="rbf").qp.P
    np.testing.assert_allclose(P @ np.arange(4.0), reference @ np.arange(4.0), rtol=1e-14)
    assert not P.gram.is_kept


# --- what is accepted, and is all the same ------------------------------------------------------


def solved(samples, labels=y, **kwargs):
    return qpsvm.solve(SoftMargin(C=2.0).dual(samples, labels, **kwargs), "cvxopt")


SAME_SAMPLES = {
    "list": X.tolist(),
    "int": X.astype(int),
    "float32": X.astype(np.float32),
    "float16": X.astype(np.float16),
    "Fortran": np.asfortranarray(X),
    "strided": np.repeat(X, 2, axis=0)[::2],
    "objects": X.astype(object),
    "frame": frame(),
    "frame of ints": frame(X.astype(int)),
    "nullable frame": frame().astype("Float64"),
    "csr": sp.csr_array(X),
    "csr matrix": sp.csr_matrix(X),
    "csc": sp.csc_array(X),
    "coo": sp.coo_array(X),
    "coo with duplicates": sp.coo_array(
        (np.tile(X.ravel() / 2, 2), (np.repeat(range(4), 2).tolist() * 2, [0, 1] * 8))
    ),
    "sparse ints": sp.csr_array(X.astype(np.int32)),
}


@pytest.mark.parametrize("kernel", ["linear", kernels.RBF(gamma=0.3)], ids=str)
@pytest.mark.parametrize("samples", SAME_SAMPLES.values(), ids=SAME_SAMPLES.keys())
def test_every_container_of_the_same_numbers_gives_the_same_solution(samples, kernel):
    expected, got = solved(X, kernel=kernel), solved(samples, kernel=kernel)
    np.testing.assert_allclose(got.alpha, expected.alpha, atol=1e-9)
    np.testing.assert_allclose(
        got.decision_function(samples), expected.decision_function(X), atol=1e-9
    )
    assert got.data.equals(expected.data)


def test_a_sparse_x_stays_sparse_and_a_dense_one_dense():
    assert sp.issparse(SoftMargin().dual(sp.coo_array(X), y).data.X)
    assert isinstance(SoftMargin().dual(frame(), y).data.X, np.ndarray)


SAME_LABELS = {
    "int": [-1, -1, 1, 1],
    "zero-one": [0, 0, 1, 1],
    "other ints": [3, 3, 7, 7],
    "float": [0.0, 0.0, 2.5, 2.5],
    "bool": [False, False, True, True],
    "str": ["ham", "ham", "spam", "spam"],
    "bytes": [b"a", b"a", b"b", b"b"],
    "objects": np.array(["ham", "ham", "spam", "spam"], dtype=object),
    "object ints": np.array([3, 3, 7, 7], dtype=object),
    "series": pd.Series([3, 3, 7, 7], index=[9, 8, 7, 6]),
    "string series": pd.Series(["ham", "ham", "spam", "spam"], dtype="string"),
    "nullable": pd.Series([3, 3, 7, 7], dtype="Int64"),
    "categorical": pd.Categorical(["ham", "ham", "spam", "spam"]),
    "categorical series": pd.Series([3, 3, 7, 7], dtype="category"),
    "dates": np.array(["2020", "2020", "2021", "2021"], dtype="datetime64[Y]"),
    "column": np.array([[3], [3], [7], [7]]),
    "frame": pd.DataFrame({"label": [3, 3, 7, 7]}),
}


@pytest.mark.parametrize("labels", SAME_LABELS.values(), ids=SAME_LABELS.keys())
def test_any_two_labels_give_the_same_solution_and_come_back_from_predict(labels):
    expected, got = solved(X), solved(X, labels)
    np.testing.assert_array_equal(got.alpha, expected.alpha)
    predicted = np.asarray(got.predict(X)).tolist()
    assert predicted == np.asarray(labels).ravel().tolist()
    assert got.score(X, np.asarray(labels).ravel()) == 1.0


def test_the_larger_label_is_the_positive_class():
    solution = solved(X, ["b", "b", "a", "a"])
    assert solution.classes.tolist() == ["a", "b"]
    assert (solution.decision_function(X[:2]) > 0).all()
    np.testing.assert_array_equal(solution.data.signs, [1, 1, -1, -1])


# --- predict -------------------------------------------------------------------------------------

BAD_QUERIES = {
    "columns": (X[:, :1], ["X has 1 columns", "trained on 2"]),
    "names": (frame()[["width", "height"]], ["column 0 is 'width'", "'height'", "reorder"]),
    "nan": (with_entry(np.nan), ["NaN", "row 2", "column 1"]),
    "one dimension": (X[0], ["two dimensions", "X.reshape(1, -1)"]),
}


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize(("query", "words"), BAD_QUERIES.values(), ids=BAD_QUERIES.keys())
def test_predict_refuses_other_columns_than_in_training(query, words, kernel):
    solution = solved(frame(), kernel=kernel)
    for method in (solution.decision_function, solution.predict):
        with pytest.raises(InvalidDataError) as caught:
            method(query)
        assert_says(caught.value, words)


def test_predict_takes_an_array_after_training_on_a_frame_and_the_other_way_round():
    on_frame, on_array = solved(frame()), solved(X)
    np.testing.assert_array_equal(
        on_frame.decision_function(X), on_frame.decision_function(frame())
    )
    np.testing.assert_array_equal(
        on_array.decision_function(X), on_array.decision_function(frame())
    )


def test_a_precomputed_kernel_predicts_from_one_column_per_training_sample():
    K = X @ X.T
    solution, linear = solved(K, kernel="precomputed"), solved(X)
    new = np.array([[1.0, 5.0]])
    np.testing.assert_allclose(
        solution.decision_function(new @ X.T), linear.decision_function(new), atol=1e-7
    )
    with pytest.raises(InvalidDataError, match=re.escape("X has 2 columns")):
        solution.decision_function(new)


# --- nobody can change it afterwards ------------------------------------------------------------


@pytest.mark.parametrize("make", [np.array, sp.csr_array, pd.DataFrame], ids=lambda m: m.__name__)
def test_changing_x_and_y_afterwards_changes_nothing(make):
    samples, labels = make(X), y.copy()
    problem = SoftMargin().dual(samples, labels)
    before = problem.qp.fingerprint(), problem.data.signs.copy()
    if sp.issparse(samples):
        samples.data[:] = 99.0
    elif isinstance(samples, pd.DataFrame):
        samples.iloc[:, :] = 99.0
    else:
        samples[:] = 99.0
    labels[:] = 1
    assert problem.qp.fingerprint() == before[0]
    np.testing.assert_array_equal(problem.data.signs, before[1])
    np.testing.assert_array_equal(
        problem.data.X.toarray() if sp.issparse(problem.data.X) else problem.data.X, X
    )


@pytest.mark.parametrize("make", [np.array, np.float32, sp.csr_array], ids=["", "single", "sparse"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_samples_that_are_read_only_may_change_all_the_same(make, kernel):
    """A view that was taken before can be written to."""
    samples = make(X)
    views = [part[:] for part in stored_arrays(samples)]
    for part in stored_arrays(samples):
        part.flags.writeable = False
    own = SoftMargin().dual(samples, y, kernel=kernel).data.X
    before = own.toarray() if sp.issparse(own) else np.array(own)
    for view in views:
        view[...] = view[::-1].copy()
    assert (before != (samples.toarray() if sp.issparse(samples) else samples)).any()
    np.testing.assert_array_equal(own.toarray() if sp.issparse(own) else np.array(own), before)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("mode", ["r", "r+", "c"])
def test_a_file_that_is_written_again_changes_no_problem(tmp_path, dtype, mode):
    np.save(tmp_path / "X.npy", X.astype(dtype))
    own = SoftMargin().dual(np.load(tmp_path / "X.npy", mmap_mode=mode), y).data.X
    np.load(tmp_path / "X.npy", mmap_mode="r+")[...] = 7.0
    np.testing.assert_array_equal(np.array(own), X)


@pytest.mark.parametrize("make", [np.array, np.float32, sp.csr_array], ids=["", "single", "sparse"])
@pytest.mark.parametrize("again", [lambda data: data, copy.deepcopy], ids=["", "copied"])
def test_samples_of_a_problem_cannot_be_made_writable_and_are_not_copied_again(make, again):
    samples = make(X)
    for part in stored_arrays(samples):
        part.flags.writeable = False  # float32 stays as it is
    own = again(SoftMargin().dual(samples, y).data).X
    for part in stored_arrays(own):
        with pytest.raises(ValueError, match="WRITEABLE"):
            part.flags.writeable = True
    other = SoftMargin().dual(own, y).data.X
    for part, shared in zip(stored_arrays(own), stored_arrays(other), strict=True):
        assert np.shares_memory(part, shared)


@pytest.mark.parametrize("family", [SoftMargin(), qpsvm.CrammerSinger()])
def test_other_arrays_in_sparse_samples_of_a_problem_are_noticed(family):
    problem = family.dual(sp.csr_array(X), y, kernel="rbf")
    solution = qpsvm.solve(problem)
    assert qpsvm.verify(problem, solution).passed
    problem.data.X.data = 2.0 * problem.data.X.data
    with pytest.raises(InvalidDataError, match="changed after the problem was built"):
        qpsvm.certify(problem, solution)
    assert not qpsvm.verify(problem, solution).passed


@pytest.mark.parametrize("samples", [X, sp.csr_array(X)], ids=["dense", "sparse"])
def test_training_data_are_read_only(samples):
    data = SoftMargin().dual(samples, y).data
    arrays = [data.signs, data.classes]
    arrays += [data.X.data, data.X.indices, data.X.indptr] if sp.issparse(data.X) else [data.X]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_a_missing_label_that_has_become_text_is_missing():
    labels = np.array(["a", str(pd.NA), "b", "b"])
    with pytest.raises(InvalidDataError, match=r"y\[1\].*missing labels"):
        SoftMargin().dual(X, labels)


# --- tables and columns of other libraries -----------------------------------------------------


def test_frames_of_polars_are_tables() -> None:
    polars = pytest.importorskip("polars")
    table = {"height": X[:, 0], "width": X[:, 1].astype(int), "tall": X[:, 0] > 1.0}
    problem = SoftMargin().dual(polars.DataFrame(table), polars.Series(y))
    expected = SoftMargin().dual(pd.DataFrame(table), y)
    assert np.array_equal(problem.data.X, expected.data.X)
    assert problem.data.feature_names == ("height", "width", "tall")
    assert np.array_equal(problem.qp.q, expected.qp.q)
    for text, remedy in {"1.5": "astype", "1,5": "decimal=','", "low": "encode"}.items():
        with pytest.raises(InvalidDataError, match=f"column 'a' is not numeric .*{remedy}"):
            SoftMargin().dual(polars.DataFrame({"a": [text] * 4}), y)
    with pytest.raises(InvalidDataError, match=r"9007199254740993 in row 0, column 'a'"):
        SoftMargin().dual(polars.DataFrame({"a": [2**53 + 1, 1, 2, 3], "b": [0.5] * 4}), y)


@pytest.mark.parametrize(
    ("text", "remedy"),
    [("1.5", "astype"), ("1,5", "read the file with decimal=','"), ("low", "OneHotEncoder")],
)
@pytest.mark.parametrize("table", [pd.DataFrame, np.array, list, partial(np.array, dtype=object)])
def test_texts_among_the_features_are_answered_by_what_they_are(table, text, remedy):
    with pytest.raises(InvalidDataError, match=re.escape(remedy)):
        SoftMargin().dual(table([[text]] * 4), y)


UNEVEN = [[1], [1, 2], [1], [2]]


@pytest.mark.parametrize("name", ["y", "sample_weight", "groups"])
def test_lists_of_different_lengths_are_no_column(name):
    values = {"y": [0.0, 1.0, 2.0, 3.0], name: UNEVEN}
    with pytest.raises(InvalidDataError, match=f"{name} is no array with one entry per sample"):
        qpsvm.Ranking().dual(X, **values)


@pytest.mark.parametrize(
    "groups",
    [
        [1, None, 1, 1],
        [1.0, np.nan, 1.0, 1.0],
        pd.Series(["a", None, "a", "a"]),
        pd.Series(pd.array([1, None, 1, 1], dtype="Int64")),
    ],
    ids=str,
)
def test_a_missing_group_is_no_group(groups):
    with pytest.raises(InvalidDataError, match=r"groups\[1\] is .* \(1 missing groups\)"):
        qpsvm.Ranking().dual(X, [0.0, 1.0, 2.0, 3.0], groups=groups)


def test_groups_come_as_a_column_like_labels():
    targets, groups = np.array([0.0, 1.0, 2.0, 3.0]), np.array([0, 0, 1, 1])
    expected = qpsvm.Ranking().dual(X, targets, groups=groups)
    for given in (groups[:, None], pd.DataFrame({"g": groups}), [[g] for g in groups]):
        assert qpsvm.Ranking().dual(X, targets, groups=given).qp.n_variables == 2
        assert expected.qp.n_variables == 2
    with pytest.raises(InvalidDataError, match="groups is a masked array with 1 hidden"):
        qpsvm.Ranking().dual(X, targets, groups=np.ma.array(groups, mask=[1, 0, 0, 0]))
