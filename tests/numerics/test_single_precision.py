"""A float32 matrix that nobody can write to: the answers of its float64 copy, without the copy."""

from __future__ import annotations

import pickle
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import qpsvm
from qpsvm import reports
from qpsvm.backends import Settings, get
from qpsvm.data.fingerprints import fingerprint
from qpsvm.data.samples import as_samples
from qpsvm.exceptions import InvalidDataError, NotSeparableError
from qpsvm.numerics.single_precision import SinglePrecision, rows_of
from tests.tolerances import ROUNDING, SAME_OBJECTIVE

FAMILIES = [
    qpsvm.SoftMargin(C=1.0),
    qpsvm.SoftMargin(C=1.0, intercept="penalized"),
    qpsvm.SoftMargin(C=1.0, loss="squared_hinge"),
    qpsvm.NuClassification(nu=0.3),
    qpsvm.OneClass(nu=0.3),
]


def matrix(n: int = 400, d: int = 6, seed: int = 0) -> Any:
    X = np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32)
    X.flags.writeable = False
    return X


def labels(X: Any) -> Any:
    noise = np.random.default_rng(1).standard_normal(len(X))
    return np.where(X.astype(np.float64).sum(axis=1) + noise > 0.0, 1, -1)


@pytest.mark.parametrize(("n", "d"), [(1, 1), (7, 3), (70_000, 5)])
def test_products_are_those_of_the_copy(n: int, d: int) -> None:
    values = matrix(n, d)
    X, copy = SinglePrecision(values), values.astype(np.float64)
    rng = np.random.default_rng(2)
    for tail in ((), (2,)):
        v, u = rng.standard_normal((d, *tail)), rng.standard_normal((n, *tail))
        assert_allclose(X @ v, copy @ v, rtol=0.0, atol=ROUNDING * d)
        assert_allclose(X.T @ u, copy.T @ u, rtol=0.0, atol=ROUNDING * n)
        assert_allclose(abs(X) @ v, abs(copy) @ v, rtol=0.0, atol=ROUNDING * d)
        assert_allclose(abs(X).T @ u, abs(copy).T @ u, rtol=0.0, atol=ROUNDING * n)
    u = rng.standard_normal((3, n))
    assert_allclose(u @ X, u @ copy, rtol=0.0, atol=ROUNDING * n)


def test_nothing_is_computed_in_single_precision() -> None:
    values = matrix()
    X, copy = SinglePrecision(values), values.astype(np.float64)
    assert_array_equal(np.asarray(X), copy)
    assert_array_equal(X[3:9], copy[3:9])
    assert_array_equal(np.asarray(X.taken([5, 1])), copy[[5, 1]])
    assert_array_equal(np.asarray(rows_of(X, [5, 1])), rows_of(copy, [5, 1]))
    for result, expected in (
        (X - copy[0], copy - copy[0]),
        (copy[0] - X, copy[0] - copy),
        (X * 3, copy * 3),
        (copy / X, copy / copy),
        (X**2, copy**2),
        (X @ X.T, copy @ copy.T),
        (X.T @ X, copy.T @ copy),
        (sp.csr_array(copy).T @ X, copy.T @ copy),
        (X @ sp.csr_array(copy).T, copy @ copy.T),
        (np.mean(X, axis=0), copy.mean(axis=0)),
        (np.sum(X), copy.sum()),
        (np.exp(X), np.exp(copy)),
        (np.einsum("ij,ij->i", X, X), np.einsum("ij,ij->i", copy, copy)),
    ):
        assert np.asarray(result).dtype == np.float64
        assert_allclose(result, expected, rtol=0.0, atol=ROUNDING * len(X))
    assert (copy == X).all()
    assert (copy == X).all()
    with pytest.raises(TypeError):
        X += copy
    with pytest.raises(ValueError, match="only by a copy"):
        np.array(X, copy=False)


def test_it_is_read_only_and_survives_pickling() -> None:
    again = pickle.loads(pickle.dumps(SinglePrecision(matrix())))
    for X in (SinglePrecision(matrix()), again):
        with pytest.raises(ValueError, match="read-only"):
            X.values[0, 0] = 1.0
    assert_array_equal(np.asarray(again), matrix().astype(np.float64))


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_a_machine_is_that_of_the_copy(family: Any, kernel: str) -> None:
    X = matrix()
    y = None if isinstance(family, qpsvm.OneClass) else labels(X)
    own = family.dual(X, y, kernel=kernel)
    assert isinstance(own.data.X, SinglePrecision)
    other = family.dual(X.astype(np.float64), y, kernel=kernel)
    assert fingerprint(own.data) == fingerprint(other.data)
    assert own.data.equals(other.data)
    found, expected = qpsvm.solve(own), qpsvm.solve(other)
    assert qpsvm.verify(other, found).passed
    assert qpsvm.verify(own, expected).passed
    inputs = matrix(50, seed=3)
    assert_allclose(
        found.decision_function(inputs),
        found.decision_function(inputs.astype(np.float64)),
        rtol=0.0,
        atol=ROUNDING * len(X),
    )


@pytest.mark.parametrize("kernel", ["poly", lambda A, B: A @ B.T + A.min() * B.min()])
def test_every_kernel_takes_it(kernel: Any) -> None:
    X = matrix(60)
    own, other = (
        qpsvm.SoftMargin(C=1.0).dual(Z, labels(X), kernel=kernel) for Z in (X, X.astype(np.float64))
    )
    K = own.qp.P.to_dense()
    assert_allclose(K, other.qp.P.to_dense(), rtol=ROUNDING)
    assert (K == K.T).all()
    assert qpsvm.verify(other, qpsvm.solve(own)).passed


def test_the_program_has_the_fingerprint_of_its_copy_and_of_no_other() -> None:
    X = matrix()
    changed = np.array(X)
    changed[200, 3] += 1.0
    changed.flags.writeable = False
    for kernel in ("linear", "rbf"):
        prints = [
            qpsvm.SoftMargin().dual(Z, labels(X), kernel=kernel).qp.fingerprint()
            for Z in (X, X.astype(np.float64), changed)
        ]
        assert prints[0] == prints[1]
        assert prints[0] != prints[2]


def test_reports_draw_it() -> None:
    X = matrix(80, 2)
    problem = qpsvm.SoftMargin().dual(X, labels(X))
    assert reports.build(problem, qpsvm.solve(problem)).pictures


def test_what_is_wrapped_is_not_wrapped_or_copied_again() -> None:
    X = as_samples(matrix(), keep_single=True)
    assert as_samples(X, keep_single=True) is X
    assert_array_equal(as_samples(X), np.asarray(X))


def test_a_wrapped_array_that_may_change_is_copied() -> None:
    values = np.array(matrix())
    view, given = values[:], SinglePrecision(values)
    taken = as_samples(given, keep_single=True)
    view[...] = 0.0
    assert_array_equal(np.asarray(taken), matrix())


@pytest.mark.parametrize("storage", [np.asfortranarray, lambda X: X.astype(">f4")])
def test_other_storage_is_converted(storage: Any) -> None:
    X = storage(matrix())
    X.flags.writeable = False
    problem = qpsvm.SoftMargin().dual(X, labels(matrix()))
    assert isinstance(problem.data.X, np.ndarray)
    assert_array_equal(problem.data.X, matrix().astype(np.float64))


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_proofs_and_both_forms_take_it(form: str) -> None:
    X = matrix()
    y = labels(X)
    problem = getattr(qpsvm.SoftMargin(C=1.0), form)(X, y)
    found = qpsvm.solve(problem)
    proof = qpsvm.certify(problem, found, rigorous=True)
    copy = getattr(qpsvm.SoftMargin(C=1.0), form)(X.astype(np.float64), y)
    expected = qpsvm.certify(copy, found, rigorous=True)
    assert proof.relative_gap == pytest.approx(expected.relative_gap, abs=ROUNDING)


def test_classes_that_cannot_be_separated_are_shown_to_be_so() -> None:
    X = np.array([[0.0], [1.0], [0.5], [2.0]], dtype=np.float32)
    X.flags.writeable = False
    with pytest.raises(NotSeparableError):
        qpsvm.solve(qpsvm.HardMargin().dual(X, [0, 0, 1, 1]))


def test_weights_of_zero_leave_it_as_it_is() -> None:
    X = matrix()
    y, weights = labels(X), np.ones(len(X))
    weights[::3] = 0.0
    problem = qpsvm.SoftMargin().dual(X, y, sample_weight=weights)
    assert isinstance(problem.data.X, SinglePrecision)
    fewer = qpsvm.SoftMargin().dual(X.astype(np.float64)[weights > 0], y[weights > 0])
    objectives = [qpsvm.certify(p, qpsvm.solve(p)).primal_objective for p in (problem, fewer)]
    assert objectives[0] == pytest.approx(objectives[1], rel=SAME_OBJECTIVE)


def test_an_array_that_can_be_written_to_is_copied() -> None:
    X = np.array(matrix())
    assert qpsvm.SoftMargin().dual(X, labels(X)).data.X.dtype == np.float64
    assert isinstance(qpsvm.SoftMargin().dual(X, labels(X)).data.X, np.ndarray)


def test_what_is_not_finite_is_refused_with_its_row() -> None:
    X = np.array(matrix())
    X[7, 2] = np.nan
    X.flags.writeable = False
    with pytest.raises(InvalidDataError, match="row 7, column 2"):
        qpsvm.SoftMargin().dual(X, labels(np.array(matrix())))


@pytest.mark.exhaustive
def test_the_engine_makes_no_float64_copy(tmp_path: Path) -> None:
    n, d = 60_000, 120
    np.save(tmp_path / "X.npy", matrix(n, d))
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    y = labels(X)
    get("ipm").load()
    tracemalloc.start()
    try:
        problem = qpsvm.SoftMargin(C=1.0).dual(X, y)
        own, building = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        found = get("ipm").solve(problem.qp, Settings(eps=1e-6))
        proof = qpsvm.certify(problem, problem.recover(found))
        peak = tracemalloc.get_traced_memory()[1] - own
    finally:
        tracemalloc.stop()
    assert proof.relative_gap <= 1e-6
    assert building < 8 * n * d  # the file may change: one copy, in single precision
    assert peak < 8 * n * d / 2
