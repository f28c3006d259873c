"""Numbers are the same whatever layout they have in memory: byte order, alignment, index width."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from numpy.testing import assert_array_equal

import qpsvm
from qpsvm.backends import get
from qpsvm.data.samples import as_samples
from qpsvm.exceptions import InvalidDataError, InvalidProgramError
from qpsvm.numerics.conversion import NARROW, WIDE, index_width, plain, plain_sparse
from qpsvm.qp import QuadraticProgram
from qpsvm.solvers.linear import descent
from qpsvm.solvers.linear.translate import translation
from tests.conformance.backends import QUADRATIC

Layout = Callable[[Any], Any]
LITTLE = np.dtype(np.float64).newbyteorder("<")


def unaligned(values: Any) -> Any:
    """The same numbers one byte behind an address that is a multiple of 8."""
    memory = np.empty(values.nbytes + 1, dtype=np.uint8)
    array = memory[1:].view(np.float64).reshape(values.shape)
    array[...] = values
    assert not array.flags.aligned
    return array


def strided(values: Any) -> Any:
    """Every second number of a longer array."""
    return np.repeat(values, 2, axis=-1)[..., ::2]


def read_only(values: Any) -> Any:
    array = np.array(values)
    array.flags.writeable = False
    return array


def read_only_view(values: Any) -> Any:
    """An explicit byte order, in memory that need not be copied."""
    return read_only(values).view(LITTLE)


DENSE: dict[str, Layout] = {
    "little-endian": lambda a: a.astype(LITTLE),
    "big-endian": lambda a: a.astype(">f8"),
    "Fortran": np.asfortranarray,
    "unaligned": unaligned,
    "strided": strided,
    "read-only": read_only,
    "read-only Fortran": lambda a: read_only(np.asfortranarray(a)),
    "read-only little-endian": read_only_view,
}


def with_parts(matrix: Any, data: Layout, index: Any) -> Any:
    """A matrix with other arrays inside, as SciPy's constructors would not let them be."""
    result = matrix.copy()
    result.data = data(matrix.data)
    result.indices, result.indptr = (part.astype(index) for part in (result.indices, result.indptr))
    return result


SPARSE: dict[str, Layout] = {
    "sparse int64": lambda M: with_parts(M, np.array, np.int64),
    "sparse big-endian int64": lambda M: with_parts(M, np.array, ">i8"),
    "sparse little-endian": lambda M: with_parts(M, DENSE["little-endian"], np.int32),
    "sparse big-endian": lambda M: with_parts(M, DENSE["big-endian"], np.int32),
    "sparse unaligned": lambda M: with_parts(M, unaligned, np.int32),
    "sparse read-only": lambda M: with_parts(M, read_only, np.int32),
    "csc": sp.csc_array,
    "csr": sp.csr_array,
    "coo": sp.coo_array,
    "old csr": sp.csr_matrix,
}


def samples(n: int = 24, d: int = 3) -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    X = np.round(rng.standard_normal((n, d)), 2)
    X[rng.random((n, d)) < 0.3] = 0.0
    return X, np.where(X[:, 0] + 0.4 * rng.standard_normal(n) > 0.0, 1.0, -1.0)


def assert_plain(array: Any, dtype: Any = np.float64) -> None:
    assert array.dtype.str == np.dtype(dtype).str
    assert array.dtype.byteorder == "="  # the name, which CVXOPT reads, and not only the bytes
    assert array.flags.aligned
    assert array.flags.c_contiguous
    assert not array.flags.writeable


def assert_plain_sparse(matrix: Any) -> None:
    assert_plain(matrix.data)
    assert_plain(matrix.indices, np.int32)
    assert_plain(matrix.indptr, np.int32)


# --- data ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", DENSE)
def test_dense_samples_come_in_one_layout(layout: str) -> None:
    X = samples()[0]
    given = DENSE[layout](X)
    taken = as_samples(given)
    assert_plain(taken)
    assert_array_equal(taken, X)
    assert not np.shares_memory(taken, given)
    assert as_samples(taken) is taken or np.shares_memory(as_samples(taken), taken)


@pytest.mark.parametrize("layout", SPARSE)
def test_sparse_samples_come_in_one_layout(layout: str) -> None:
    X = sp.csr_array(samples()[0])
    given = SPARSE[layout](X)
    taken = as_samples(given)
    assert_plain_sparse(taken)
    assert_array_equal(taken.toarray(), X.toarray())
    assert not np.shares_memory(taken.data, given.data)
    again = as_samples(taken)
    for name in ("data", "indices", "indptr"):
        assert np.shares_memory(getattr(again, name), getattr(taken, name))


def test_read_only_float32_stays_in_single_precision() -> None:
    X = samples()[0].astype(np.float32)
    X.flags.writeable = False
    given = X.view(X.dtype.newbyteorder("<"))
    taken = as_samples(given, keep_single=True)
    assert_array_equal(taken.values, X)
    assert_plain(taken.values, np.float32)


@pytest.mark.parametrize("layout", DENSE)
def test_borrowed_samples_are_not_made_read_only(layout: str) -> None:
    given = DENSE[layout](samples()[0])
    before = given.flags.writeable
    taken = as_samples(given, borrow=True)
    assert_plain(taken)
    assert_array_equal(taken, given)
    assert given.flags.writeable is before


def test_wide_indices_stay_where_they_are_needed() -> None:
    most = np.iinfo(np.int32).max
    assert index_width(most, (most, most)) == NARROW
    assert index_width(most + 1, (5, 5)) == WIDE
    assert index_width(3, (2, most + 1)) == WIDE
    far = sp.csr_array(([1.0, 2.0], ([0, 1], [5, 2**40])), shape=(2, 2**40 + 1))
    taken = plain_sparse(far, sp.csr_array)
    assert taken.indices.dtype == np.int64
    assert taken.indices.tolist() == [5, 2**40]


def test_an_index_beyond_the_matrix_is_refused() -> None:
    """A narrow copy of 2^32 + 1 would be 1: another matrix, and no error."""
    X = sp.csr_array(np.eye(3)).astype(np.float64)
    X.indices = X.indices.astype(np.int64)
    X.indptr = X.indptr.astype(np.int64)
    X.indices[1] = 2**32 + 1
    with pytest.raises(InvalidDataError, match="not a usable sparse matrix"):
        qpsvm.SoftMargin().dual(X, [1, -1, 1])
    X = sp.csc_array(X.T)
    with pytest.raises(InvalidProgramError, match="G is not a sparse matrix"):
        QuadraticProgram(np.eye(3), np.ones(3), G=X, h=np.ones(3))


def test_repeated_entries_are_added_and_the_given_matrix_is_not_changed() -> None:
    given = sp.csr_array((np.ones(3), np.array([1, 0, 1]), np.array([0, 3])), shape=(1, 2))
    assert plain_sparse(given, sp.csr_array).toarray().tolist() == [[1.0, 2.0]]
    assert given.indices.tolist() == [1, 0, 1]


def test_plain_is_a_view_where_only_the_name_of_the_order_differs() -> None:
    given = np.ones(4).astype(LITTLE)
    assert np.shares_memory(plain(given), given)
    assert plain(given).dtype.byteorder == "="
    assert plain(np.float64(2.0)).shape == ()


# --- machines ------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["dual", "primal"])
@pytest.mark.parametrize("layout", [*DENSE, *SPARSE])
def test_the_machine_is_the_same_to_the_last_bit(layout: str, form: str) -> None:
    X, y = samples()
    matrix, layouts = (X, DENSE) if layout in DENSE else (sp.csr_array(X), SPARSE)
    build = getattr(qpsvm.SoftMargin(C=0.7), form)
    weights = np.linspace(0.5, 1.5, len(y))
    expected = qpsvm.solve(build(matrix, y, sample_weight=weights))
    vector = layouts[layout] if layouts is DENSE else np.array
    given = build(layouts[layout](matrix), vector(y), sample_weight=vector(weights))
    found = qpsvm.solve(given)
    assert_array_equal(found.coef, expected.coef)
    assert_array_equal(found.alpha, expected.alpha)
    assert found.intercept == expected.intercept
    again = found.decision_function(layouts[layout](matrix))
    assert_array_equal(again, expected.decision_function(matrix))


@pytest.mark.parametrize("layout", DENSE)
@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_the_kernel_machine_is_the_same_to_the_last_bit(layout: str, kernel: str) -> None:
    X, y = samples()
    X = X @ X.T if kernel == "precomputed" else X
    build = qpsvm.SoftMargin(C=0.7).dual
    expected = qpsvm.solve(build(X, y, kernel=kernel))
    found = qpsvm.solve(build(DENSE[layout](X), y, kernel=kernel))
    assert_array_equal(found.alpha, expected.alpha)


@pytest.mark.parametrize(
    "layout", ["sparse int64", "sparse big-endian int64", "sparse little-endian", "csc", "old csr"]
)
@pytest.mark.parametrize("form", ["dual", "primal"])
def test_the_fast_way_is_taken(layout: str, form: str) -> None:
    """Coordinate descent takes samples in the plain layout: without it the search is longer."""
    X, y = samples()
    problem = getattr(qpsvm.SoftMargin(C=0.7, intercept="penalized"), form)(
        SPARSE[layout](sp.csr_array(X)), y
    )
    for matrix in (problem.data.X, problem.qp.G, problem.qp.A):
        (assert_plain_sparse if sp.issparse(matrix) else assert_plain)(matrix)
    program = translation(problem.qp).structured()
    (assert_plain_sparse if sp.issparse(program.F.samples) else assert_plain)(program.F.samples)
    if form == "dual":
        assert descent.suits(program)


def test_files_of_matlab_can_be_used(tmp_path: Any) -> None:
    X, y = samples()
    scipy.io.savemat(tmp_path / "data.mat", {"X": X, "S": sp.csc_array(X), "y": y})
    read = scipy.io.loadmat(tmp_path / "data.mat")
    expected = qpsvm.solve(qpsvm.SoftMargin().dual(X, y), "cvxopt")
    for name in ("X", "S"):
        problem = qpsvm.SoftMargin().dual(read[name], read["y"].ravel())
        found = qpsvm.solve(problem, "cvxopt")
        np.testing.assert_allclose(found.coef, expected.coef, rtol=1e-6)


# --- programs ------------------------------------------------------------------------------------


def parts() -> dict[str, Any]:
    """A strictly convex program with rows of both kinds, some of which bind."""
    rng = np.random.default_rng(5)
    n = 6
    root = rng.standard_normal((n, n))
    P = root @ root.T + np.eye(n)
    G, A = rng.standard_normal((3, n)), rng.standard_normal((1, n))
    P[np.abs(P) < 0.5] = 0.0
    P += 6.0 * np.eye(n)
    G[np.abs(G) < 0.4] = 0.0
    return {
        **{"P": P, "q": rng.standard_normal(n), "G": G, "h": np.full(3, 0.1)},
        **{"A": A, "b": np.array([0.3]), "lb": np.full(n, -0.5), "ub": np.full(n, 0.5)},
    }


def program_of(layout: str) -> QuadraticProgram:
    """The program with all its parts in that layout."""
    given = parts()
    if layout in DENSE:
        return QuadraticProgram(**{name: DENSE[layout](part) for name, part in given.items()})
    matrices = {name: SPARSE[layout](sp.csc_array(given[name])) for name in ("P", "G", "A")}
    return QuadraticProgram(**{**given, **matrices})


@pytest.mark.parametrize("layout", [*DENSE, *SPARSE])
def test_programs_come_in_one_layout(layout: str) -> None:
    program = program_of(layout)
    for vector in (program.q, program.h, program.b, program.lb, program.ub):
        assert_plain(vector)
    for matrix in (program.P.matrix, program.G, program.A):
        (assert_plain if layout in DENSE else assert_plain_sparse)(matrix)
    stored_so = "read-only" if layout in DENSE else "csc"
    assert program.fingerprint() == program_of(stored_so).fingerprint()
    plain_program = QuadraticProgram(**parts())
    for name in ("G", "A"):
        stored = getattr(program, name)
        dense = stored.toarray() if sp.issparse(stored) else stored
        assert_array_equal(dense, getattr(plain_program, name))


def answer(program: QuadraticProgram, backend: str) -> Any:
    return get(backend).solve(program, qpsvm.backends.Settings(max_iterations=2000)).x


@pytest.mark.parametrize("backend", QUADRATIC)
@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_every_backend_gives_the_same_answer(backend: str, storage: str) -> None:
    layouts = DENSE if storage == "dense" else SPARSE
    try:
        expected = answer(program_of("read-only" if storage == "dense" else "csc"), backend)
    except qpsvm.exceptions.UnsupportedProgramError:
        for layout in layouts:
            with pytest.raises(qpsvm.exceptions.UnsupportedProgramError):
                answer(program_of(layout), backend)
        return
    for layout in layouts:
        assert_array_equal(answer(program_of(layout), backend), expected, err_msg=layout)
