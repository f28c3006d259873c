"""Samples by name are what the name says, and the same ones every time."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm

import qpsvm
from benchmarks.cells import Call, Cell, Instance
from benchmarks.contestants.estimators import narrow
from benchmarks.data import load_samples
from benchmarks.programs import formulation_of, kernel_of
from benchmarks.runner import run
from benchmarks.sets import BUNDLED
from benchmarks.suite import Suite
from qpsvm.exceptions import SuiteError
from tests.realdata.folder import loader, needs_data
from tests.tolerances import SAME_OBJECTIVE

STORED = ("a9a", "kddcup99_10pct", "usps", "cadata", "cpusmall", "splice", "farm_ads")


def dense(X: Any) -> Any:
    return X.toarray() if sp.issparse(X) else X


@pytest.mark.parametrize("name", sorted(BUNDLED))
def test_sets_of_scikit_learn_are_standardised(name: str) -> None:
    samples = load_samples(name)
    varies = samples.X.std(axis=0) > 0
    np.testing.assert_allclose(samples.X.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(samples.X[:, varies].std(axis=0), 1.0, rtol=1e-12)
    if name == "diabetes":
        np.testing.assert_allclose([samples.y.mean(), samples.y.std()], [0.0, 1.0], atol=1e-12)
    else:
        assert set(samples.y) == {-1.0, 1.0}


def test_classes_are_split_or_kept() -> None:
    all_of_them = load_samples("digits(classes=True)").y
    assert set(all_of_them) == set(range(10))
    np.testing.assert_array_equal(load_samples("digits").y, np.where(all_of_them % 2, -1.0, 1.0))


@pytest.mark.parametrize(
    "name",
    [
        "synthetic(d=4, n=60, seed=3)",
        "synthetic_targets(d=4, n=60, seed=3)",
        "digits(n=60, seed=3)",
    ],
)
def test_the_seed_decides(name: str) -> None:
    first, again = load_samples(name), load_samples(name)
    other = load_samples(name.replace("seed=3", "seed=4"))
    assert first.name == name
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.y, again.y)
    assert first.X.shape == other.X.shape
    assert not np.array_equal(first.X, other.X)


def test_text_is_of_counted_words_and_the_seed_decides() -> None:
    name = "synthetic_text(d=300, flipped=0.0, n=200, seed=3)"
    first, again = load_samples(name), load_samples(name)
    other = load_samples(name.replace("seed=3", "seed=4"))
    np.testing.assert_array_equal(dense(first.X), dense(again.X))
    np.testing.assert_array_equal(first.y, again.y)
    assert not np.array_equal(dense(first.X), dense(other.X))
    np.testing.assert_allclose(np.linalg.norm(dense(first.X), axis=1), 1.0, rtol=1e-12)
    # log(1 + count) up to the norm: the counts of a row add up to its words
    X = dense(first.X)
    smallest = np.log(2.0) / np.where(X > 0.0, X, np.inf).min(axis=1, keepdims=True)
    np.testing.assert_allclose(np.expm1(X * smallest).sum(axis=1), 80.0, rtol=1e-9)
    per_word = (X > 0.0).mean(axis=0)
    assert per_word[0] == 1.0
    assert per_word[:10].mean() > 5.0 * per_word[-100:].mean()
    assert np.mean(first.y) == 0.0


def test_a_part_is_of_different_samples_of_the_set() -> None:
    whole, part = load_samples("wine"), load_samples("wine(n=178, seed=5)")
    for X, y in ((whole.X, whole.y), (part.X, part.y)):
        assert X.shape == (178, 13)
        assert y.shape == (178,)
    rows = [sorted(map(tuple, np.column_stack([s.X, s.y]))) for s in (whole, part)]
    assert rows[0] == rows[1]
    assert not np.array_equal(whole.X, part.X)


def test_repeated_samples_go_and_come() -> None:
    once = load_samples("synthetic(d=3, n=40)")
    thrice = load_samples("synthetic(copies=3, d=3, n=40)")
    np.testing.assert_array_equal(thrice.X[::3], once.X)
    np.testing.assert_array_equal(thrice.X[2::3], once.X)
    np.testing.assert_array_equal(thrice.y, np.repeat(once.y, 3))
    irises, distinct = load_samples("iris"), load_samples("iris(distinct=True)")
    assert len(irises.y) == 150
    assert len({tuple(row) for row in irises.X}) == len(distinct.y) == 149


def test_columns_are_nearly_dependent_and_of_any_scale() -> None:
    plain = load_samples("wine").X
    doubled = load_samples("wine(collinear=1e-6)").X
    np.testing.assert_array_equal(doubled[:, :13], plain)
    off = np.std(doubled[:, 13:] - plain, axis=0)
    assert np.all((off > 0.5e-6) & (off < 2e-6))
    sizes = load_samples("wine(scale=1e-3, spread=1e8)").X.std(axis=0)
    np.testing.assert_allclose(sizes[[0, -1]], [1e-7, 1e1], rtol=1e-9)
    np.testing.assert_allclose(np.diff(np.log(sizes)), np.log(1e8) / 12, rtol=1e-9)


def test_the_margin_of_a_strip_is_known() -> None:
    samples = load_samples("strip(d=3, margin=0.25, n=40, seed=1)")
    problem = qpsvm.HardMargin().dual(samples.X, samples.y)
    solution = qpsvm.solve(problem)
    off = np.linalg.norm(solution.coef - [4.0, 0.0, 0.0])
    assert off <= np.sqrt(2.0 * qpsvm.certify(problem, solution).gap_upper)
    assert abs(solution.coef @ solution.coef / 2 - 8.0) <= 8.0 * SAME_OBJECTIVE


@pytest.mark.parametrize("margin", [0.0, -0.5])
def test_a_strip_without_width_cannot_be_separated(margin: float) -> None:
    """Even in more dimensions than samples."""
    samples = load_samples(f"strip(d=60, margin={margin}, n=20, seed=1)")
    with pytest.raises(qpsvm.exceptions.NotSeparableError):
        qpsvm.solve(qpsvm.HardMargin().dual(samples.X, samples.y))


def _stored_samples(name: str) -> Any:
    """As the folder's own loader reads them."""
    return loader().binary(name)[0]


@needs_data
@pytest.mark.parametrize("name", STORED)
def test_stored_sets_are_ready_to_use(name: str) -> None:
    loader()  # skips without the folder
    samples = load_samples(name)
    X, y = samples.X, samples.y
    assert X.dtype == y.dtype == np.float64
    assert X.shape[0] == len(y)
    if name in ("cadata", "cpusmall"):
        np.testing.assert_allclose([y.mean(), y.std()], [0.0, 1.0], atol=1e-9)
        np.testing.assert_allclose(X.std(axis=0), 1.0, rtol=1e-9)
    else:
        assert set(y) == {-1.0, 1.0}
    assert sp.issparse(X) == (name in ("a9a", "farm_ads"))
    if sp.issparse(X):
        stored = _stored_samples(name)
        assert X.indices.dtype == stored.indices.dtype  # as a user has them, of 64 bits or not


@needs_data
def test_peers_are_given_the_indices_they_take() -> None:
    X, y = sp.csr_array(_stored_samples("a9a"))[:100], load_samples("a9a").y[:100]
    assert X.indices.dtype == np.int64  # what svmlight files are read with
    sklearn.svm.LinearSVC().fit(narrow(X), y)
    assert (narrow(X) != X).nnz == 0


@needs_data
def test_skin_without_its_repetitions() -> None:
    loader()  # skips without the folder
    assert load_samples("skin_nonskin(distinct=True)").X.shape == (51444, 3)


@needs_data
def test_parts_and_scales_of_sparse_sets() -> None:
    loader()  # skips without the folder
    whole = load_samples("a9a").X
    part = load_samples("a9a(copies=2, n=50, scale=2.0, seed=0)").X
    assert sp.issparse(part)
    rows = {tuple(row) for row in 2.0 * whole.toarray()}
    assert part.shape == (100, 123)
    assert {tuple(row) for row in part.toarray()} <= rows
    spread = load_samples("a9a(n=50, spread=1e4)").X
    assert sp.issparse(spread)
    assert dense(spread).max() > 10.0


def test_the_folder_is_named_when_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QPSVM_DATA", str(tmp_path))
    with pytest.raises(SuiteError, match=r"a9a.*set QPSVM_DATA to the folder"):
        load_samples("a9a")
    assert load_samples("wine").X.shape == (178, 13)


@needs_data
def test_unknown_sets_are_refused_with_the_known_ones() -> None:
    loader()  # skips without the folder
    with pytest.raises(SuiteError, match=r"no data 'a9b'. Did you mean 'a9a'\? There are a9a, "):
        load_samples("a9b")


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("wine(m=3)", "'m'"),
        ("wine(n=179)", "the set has 178 samples"),
        ("wine(seed=3)", "'n'"),
        ("wine(scale='big')", "big"),
        ("synthetic(n=10)", "'d'"),
        ("synthetic(d=5, n='many')", "many"),
        ("strip(d=2, margin=1.0, n=3)", "takes 4 samples"),
        ("wine(n)", "by name"),
    ],
)
def test_calls_that_cannot_be_made(call: str, reason: str) -> None:
    with pytest.raises(SuiteError, match=reason):
        load_samples(call)


# --- formulations and kernels --------------------------------------------------------------------


def test_formulations_and_kernels_by_name() -> None:
    family = formulation_of("SoftMargin(C=10.0, class_weight={1: 2.0}, intercept='penalized')")
    assert family == qpsvm.SoftMargin(10.0, intercept="penalized", class_weight={1: 2.0})
    assert formulation_of("OneClass") == qpsvm.OneClass()
    kernel = kernel_of("polynomial(coef0=1.0, degree=2, gamma='auto')")
    assert kernel == qpsvm.kernels.Polynomial("auto", 2, 1.0)
    assert kernel_of("linear") == qpsvm.kernels.Linear()


@pytest.mark.parametrize(
    "text", ["softmargin", "SoftMargin(c=1.0)", "SoftMargin(C=-1.0)", "OneVsRest", "solve(x=1)"]
)
def test_formulations_that_do_not_exist(text: str) -> None:
    with pytest.raises(SuiteError, match=text.partition("(")[0]):
        formulation_of(text)


@pytest.mark.parametrize("text", ["precomputed", "rbf(gamma=-1.0)", "linear(gamma=1.0)", "RBF"])
def test_kernels_that_do_not_exist(text: str) -> None:
    with pytest.raises(SuiteError, match=text.partition("(")[0]):
        kernel_of(text)


# --- unknown data, and files of one's own --------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("irs", "Did you mean 'iris'"),
        ("nothing", "There are no data 'nothing'"),
        ("iris(colour=1)", "'colour'; they take"),
        ("synthetic(d=2, n=10, sed=0)", "'sed'"),
        ("missing.csv", "No such file"),
    ],
)
def test_unknown_data_are_refused_before_anything_is_measured(
    name: str, words: str, tmp_path: Path
) -> None:
    cell = Cell(Instance("SoftMargin(C=1.0)", name), "cvxopt", 1e-6)
    store = tmp_path / "s.jsonl"
    with pytest.raises(SuiteError, match=re.escape(words)):
        run(Suite("one", "", (cell,)), store)
    assert not store.exists()


def test_a_csv_of_one_s_own_is_read_standardised_with_two_classes(tmp_path: Path) -> None:
    rows = ["a,kind,b", "1,no,10", "2,yes,30", "3,no,20", "6,yes,40"]
    path = tmp_path / "own data.csv"
    path.write_text("\n".join(rows) + "\n")
    samples = load_samples(Call("file", {"path": str(path), "label": "kind"}))
    np.testing.assert_array_equal(samples.y, [-1.0, 1.0, -1.0, 1.0])
    np.testing.assert_allclose(samples.X.mean(axis=0), 0.0, atol=1e-12)
    part = load_samples(Call("file", {"path": str(path), "label": "kind", "n": 2, "seed": 0}))
    assert part.X.shape == (2, 2)


def test_numbers_of_many_kinds_are_targets(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("a,t\n" + "".join(f"{k % 7},{k / 3.0}\n" for k in range(30)))
    samples = load_samples(Call("file", {"path": str(path)}))
    np.testing.assert_allclose([samples.y.mean(), samples.y.std()], [0.0, 1.0], atol=1e-12)


def test_a_suite_with_other_data_has_every_program_on_them() -> None:
    cells = [
        Cell(Instance("SoftMargin(C=1.0)", data, kernel), "cvxopt", eps)
        for data in ("iris", "wine")
        for kernel in ("linear", "rbf")
        for eps in (1e-2, 1e-4)
    ]
    suite = Suite("some", "", tuple(cells)).with_data(["digits", "heart.csv"])
    assert {cell.instance.data for cell in suite.cells} == {"digits", "heart.csv"}
    assert len(suite.cells) == len(cells)
    assert [len(sweep) for sweep in suite.sweeps()] == [2] * 4
