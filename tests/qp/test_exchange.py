"""Programs written and read back: every number to the bit, and nothing believed on the way in."""

from __future__ import annotations

import bz2
import gzip
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import highspy
import numpy as np
import pytest
import qpbenchmark
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import qpsvm
from qpsvm import SoftMargin, kernels
from qpsvm.exceptions import (
    DataFileError,
    InvalidParameterError,
    MemoryLimitError,
    MissingPackageError,
)
from qpsvm.qp import LowRankQuadratic, QPSolution, Quadratic, QuadraticProgram, drop_infinite_rows
from qpsvm.qp.exchange import (
    latex,
    read_npz,
    read_parquet,
    read_qps,
    write_npz,
    write_parquet,
    write_qps,
)
from tests.processes import run
from tests.strategies import examples, manufactured_program
from tests.tolerances import MANUFACTURED_OBJECTIVE, SAME_OBJECTIVE

FINITE = st.floats(allow_nan=False, allow_infinity=False)
"""With -0.0, subnormal numbers and the largest."""

MANY = settings(
    max_examples=examples(150),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@st.composite
def any_program(draw: Any) -> QuadraticProgram:
    """Numbers of every size, in every storage, with every kind of bound and without."""
    n = draw(st.integers(1, 4))

    def numbers(count: int, elements: Any = FINITE) -> np.ndarray:
        return np.array(draw(st.lists(elements, min_size=count, max_size=count)), dtype=float)

    def stored(matrix: np.ndarray) -> Any:
        return sp.csc_array(matrix) if draw(st.booleans()) else matrix

    def rows(elements: Any) -> tuple[Any, Any]:
        count = draw(st.integers(0, 3))
        if count == 0 and draw(st.booleans()):
            return None, None
        coefficients = numbers(count * n, st.one_of(st.just(0.0), FINITE)).reshape(count, n)
        return stored(coefficients), numbers(count, elements)

    lower = np.tril(numbers(n * n).reshape(n, n))
    P = draw(st.sampled_from([None, stored(lower + np.tril(lower, -1).T)]))
    G, h = rows(st.one_of(FINITE, st.just(np.inf)))
    A, b = rows(FINITE)
    first, second = numbers(n), numbers(n)
    lb, ub = np.minimum(first, second), np.maximum(first, second)
    kind = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    lb[[k in (0, 1) for k in kind]] = -np.inf
    ub[[k in (0, 2) for k in kind]] = np.inf
    fixed = np.array([k == 3 for k in kind])
    ub[fixed] = lb[fixed]
    names = draw(st.dictionaries(st.text(max_size=3), st.text(max_size=9), max_size=2))
    return QuadraticProgram(P, numbers(n), G, h, A, b, lb, ub, names=names)


def dense(matrix: Any) -> np.ndarray:
    if isinstance(matrix, Quadratic):
        return matrix.to_dense()
    return matrix.toarray() if sp.issparse(matrix) else matrix


def bits(array: Any) -> bytes:
    return np.ascontiguousarray(dense(array)).tobytes()


def values(array: Any) -> bytes:
    """Every bit but the sign of zeros: a file of non-zeros has none."""
    return bits(dense(array) + 0.0)


VECTORS = ("q", "h", "b", "lb", "ub")
MATRICES = ("P", "G", "A")


def assert_same(got: QuadraticProgram, expected: QuadraticProgram, of_matrices: Any = bits) -> None:
    for name in VECTORS:
        assert bits(getattr(got, name)) == bits(getattr(expected, name)), name
    for name in MATRICES:
        one, other = getattr(got, name), getattr(expected, name)
        assert one.shape == other.shape
        assert of_matrices(one) == of_matrices(other), name


# --- what is written comes back ----------------------------------------------------------------


@given(any_program())
@MANY
def test_npz_keeps_every_bit_the_storage_and_the_names(
    tmp_path: Path, program: QuadraticProgram
) -> None:
    write_npz(program, tmp_path / "p.npz")
    again = read_npz(tmp_path / "p.npz")
    assert_same(again, program)
    assert again.names == program.names
    assert type(again.P) is type(program.P)
    for name in ("G", "A"):
        assert sp.issparse(getattr(again, name)) == sp.issparse(getattr(program, name))
    assert again.fingerprint() == program.fingerprint()


@given(any_program())
@MANY
def test_qps_keeps_every_bit(tmp_path: Path, program: QuadraticProgram) -> None:
    write_qps(program, tmp_path / "p.qps")
    assert_same(read_qps(tmp_path / "p.qps"), program, of_matrices=values)


@given(st.lists(any_program(), max_size=3))
@MANY
def test_parquet_keeps_every_bit_but_rows_that_never_bind(
    tmp_path: Path, programs: list[QuadraticProgram]
) -> None:
    named = {f"p{i}": program for i, program in enumerate(programs)}
    write_parquet(named, tmp_path / "p.parquet")
    again = read_parquet(tmp_path / "p.parquet")
    assert list(again) == list(named)
    for name, program in named.items():
        assert_same(again[name], drop_infinite_rows(program)[0])


def test_bounds_of_opposite_zeros_keep_their_signs(tmp_path: Path) -> None:
    program = QuadraticProgram([[1.0]], [1.0], lb=[-0.0], ub=[0.0])
    write_qps(program, tmp_path / "p.qps")
    assert_same(read_qps(tmp_path / "p.qps"), program)


def test_qps_chooses_the_smaller_storage(tmp_path: Path) -> None:
    program = QuadraticProgram(np.ones((3, 3)), np.zeros(3), np.eye(3), np.ones(3))
    write_qps(program, tmp_path / "p.qps")
    again = read_qps(tmp_path / "p.qps")
    assert isinstance(again.P.to_dense(), np.ndarray)
    assert not again.P.prefers_sparse
    assert sp.issparse(again.G)


@pytest.mark.parametrize(("suffix", "opener"), [(".gz", gzip.open), (".bz2", bz2.open)])
def test_qps_files_are_compressed_by_their_suffix(tmp_path: Path, suffix: str, opener: Any) -> None:
    program = QuadraticProgram([[1.0]], [-3.0], ub=0.1)
    path = tmp_path / f"p.qps{suffix}"
    write_qps(program, path)
    with opener(path, "rt") as stream:
        assert stream.readline() == "NAME QP\n"
    assert_same(read_qps(path), program)


# --- a solver gives the same answer ------------------------------------------------------------


def through(program: QuadraticProgram, folder: Path, kind: str) -> QuadraticProgram:
    path = folder / f"p.{kind}"
    if kind == "parquet":
        write_parquet({"p": program}, path)
        return read_parquet(path)["p"]
    writer, reader = {"npz": (write_npz, read_npz), "qps": (write_qps, read_qps)}[kind]
    writer(program, path)
    return reader(path)


@pytest.mark.parametrize("kind", ["npz", "qps", "parquet"])
@given(made=manufactured_program(definite=True))
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_optimum_survives(
    tmp_path: Path, kind: str, made: tuple[QuadraticProgram, QPSolution]
) -> None:
    program, exact = made
    solution = qpsvm.solve(through(program, tmp_path, kind), "cvxopt")
    assert program.objective(solution.x) == pytest.approx(
        program.objective(exact.x), rel=MANUFACTURED_OBJECTIVE, abs=MANUFACTURED_OBJECTIVE
    )


def support_vector_machine(kernel: Any, form: str = "dual") -> Any:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    return getattr(SoftMargin(C=10.0), form)(X, X[:, 0] > X[:, 1], kernel=kernel)


@pytest.mark.parametrize("kind", ["npz", "qps", "parquet"])
@pytest.mark.parametrize(
    ("kernel", "form"),
    [(kernels.RBF(gamma=1.0), "dual"), (kernels.Linear(), "dual"), (kernels.Linear(), "primal")],
    ids=str,
)
def test_a_support_vector_machine_survives(
    tmp_path: Path, kind: str, kernel: Any, form: str
) -> None:
    program = support_vector_machine(kernel, form).qp
    again = through(program, tmp_path, kind)
    assert values(again.P) == values(program.P)
    solution, reference = qpsvm.solve(again, "cvxopt"), qpsvm.solve(program, "cvxopt")
    assert program.objective(solution.x) == pytest.approx(
        program.objective(reference.x), rel=SAME_OBJECTIVE
    )


def test_a_low_rank_hessian_is_stored_as_its_factor(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    for factor in (rng.normal(size=(9, 2)), sp.csr_array(np.eye(9, 3))):
        program = QuadraticProgram(LowRankQuadratic(factor, rng.random(9)), np.ones(9))
        write_npz(program, tmp_path / "p.npz")
        again = read_npz(tmp_path / "p.npz")
        assert isinstance(again.P, LowRankQuadratic)
        assert bits(again.P.factor) == bits(factor)
        assert sp.issparse(again.P.factor) == sp.issparse(factor)
        assert bits(again.P.diag) == bits(program.P.diag)


class Lopsided(LowRankQuadratic):
    """A matrix that misses its own transpose by rounding, as kernels do."""

    def to_dense(self, memory_limit: int | None = None) -> np.ndarray:
        return super().to_dense(memory_limit) * (1 + 1e-15 * np.tri(self.size))


def test_a_hessian_that_is_symmetric_up_to_rounding_is_written_symmetric(tmp_path: Path) -> None:
    program = QuadraticProgram(Lopsided(np.array([[1.0], [3.0]])), [1.0, 1.0])
    assert not np.array_equal(program.P.to_dense(), program.P.to_dense().T)
    write_qps(program, tmp_path / "p.qps")
    P = read_qps(tmp_path / "p.qps").P.to_dense()
    np.testing.assert_array_equal(P, P.T)
    write_parquet({"p": program}, tmp_path / "p.parquet")
    np.testing.assert_array_equal(read_parquet(tmp_path / "p.parquet")["p"].P.to_dense(), P)


# --- other readers -----------------------------------------------------------------------------


def highs(path: Path) -> Any:
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    # HiGHS drops smaller coefficients than this, silently but for a line in its log
    solver.setOptionValue("small_matrix_value", 1e-12)
    assert solver.readModel(str(path)) == highspy.HighsStatus.kOk
    return solver


@given(manufactured_program(), st.booleans())
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_highs_reads_the_same_program(
    tmp_path: Path, made: tuple[QuadraticProgram, QPSolution], never_binding: bool
) -> None:
    program, _ = made
    if never_binding:  # a free row must not shift the others
        G = np.vstack([np.ones(program.n_variables), dense(program.G)])
        h = np.concatenate([[np.inf], program.h])
        P, q, A, b, lb, ub = (getattr(program, k) for k in ("P", "q", "A", "b", "lb", "ub"))
        program = QuadraticProgram(P, q, G, h, A, b, lb, ub)
    write_qps(program, tmp_path / "p.mps")
    model = highs(tmp_path / "p.mps").getModel()
    lp, Q = model.lp_, model.hessian_
    assert values(np.array(lp.col_cost_)) == values(program.q)  # HiGHS knows no -0.0
    assert bits(np.array(lp.col_lower_)) == bits(program.lb)
    assert bits(np.array(lp.col_upper_)) == bits(program.ub)
    binding = np.isfinite(program.h)
    rows = np.vstack([dense(program.G)[binding], dense(program.A)])
    assert bits(np.array(lp.row_upper_)) == bits(np.concatenate([program.h[binding], program.b]))
    below = np.concatenate([np.full(binding.sum(), -np.inf), program.b])
    assert bits(np.array(lp.row_lower_)) == bits(below)
    columns = lp.a_matrix_
    read = sp.csc_array((columns.value_, columns.index_, columns.start_), shape=rows.shape)
    np.testing.assert_array_equal(read.toarray(), rows)
    triangle = np.zeros(program.P.shape)
    if Q.value_:
        triangle = sp.csc_array((Q.value_, Q.index_, Q.start_), shape=program.P.shape).toarray()
    np.testing.assert_array_equal(triangle, np.tril(program.P.to_dense()))


@pytest.mark.parametrize(
    ("kernel", "form"),
    [(kernels.RBF(gamma=1.0), "dual"), (kernels.Linear(), "primal")],
    ids=str,
)
def test_highs_finds_the_same_optimum_in_the_file(tmp_path: Path, kernel: Any, form: str) -> None:
    program = support_vector_machine(kernel, form).qp
    write_qps(program, tmp_path / "p.mps")
    solver = highs(tmp_path / "p.mps")
    solver.setOptionValue("qp_iteration_limit", 10_000)  # its active-set method may not end
    solver.setOptionValue("qp_regularization_value", 1e-12)
    solver.run()
    assert solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    ours = qpsvm.solve(program, "cvxopt")
    assert solver.getInfo().objective_function_value == pytest.approx(
        program.objective(ours.x), rel=MANUFACTURED_OBJECTIVE
    )


def test_what_highs_loses_is_in_the_file(tmp_path: Path) -> None:
    """The measurement behind decision 4: why reading QPS is not left to HiGHS."""
    tiny = QuadraticProgram([[1e-10]], [1.0], [[1e-10], [1.0]], [1e-10, 1e21], lb=0.0)
    write_qps(tiny, tmp_path / "p.mps")
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.readModel(str(tmp_path / "p.mps"))
    model = solver.getModel()
    assert not any(model.hessian_.value_)
    assert list(model.lp_.a_matrix_.value_) == [1.0]
    assert np.isinf(model.lp_.row_upper_).any()
    assert_same(read_qps(tmp_path / "p.mps"), tiny)


def test_qpbenchmark_reads_the_same_problems(tmp_path: Path) -> None:
    class Exported(qpbenchmark.ParquetTestSet):
        title = description = "Exported"
        sparse_only = False

    programs = {
        "full": QuadraticProgram(
            [[2.0, 0.5], [0.5, 1.0]], [1.0, -1.0], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],
            [1.0, np.inf, 2.0], [[1.0, 1.0]], [0.1], lb=[-np.inf, 0.0], ub=5.0,
        ),
        "bare": QuadraticProgram(sp.eye_array(3), np.zeros(3)),
        "linear": QuadraticProgram(None, [1.0], lb=0.0),
        "machine": support_vector_machine(kernels.RBF(gamma=1.0)).qp,
    }  # fmt: skip
    write_parquet(programs, tmp_path / "set.parquet")
    problems = {problem.name: problem for problem in Exported(tmp_path / "set.parquet")}
    assert list(problems) == list(programs)
    for name, problem in problems.items():
        program = drop_infinite_rows(programs[name])[0]
        assert bits(problem.P) == bits(program.P)
        assert bits(problem.q) == bits(program.q)
        problem.check_constraints()
        for key in ("G", "h", "A", "b", "lb", "ub"):
            ours, theirs = getattr(program, key), getattr(problem, key)
            if theirs is None:
                assert ours.shape[0] == 0 or np.isinf(ours).all()
            else:
                assert theirs.shape == ours.shape
                assert bits(theirs) == bits(ours)


def test_test_sets_of_qpbenchmark_are_read(tmp_path: Path) -> None:
    problems = qpbenchmark.ProblemList()
    G, ub = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, np.inf])
    problems.append(
        qpbenchmark.Problem(np.eye(2), np.ones(2), G, np.ones(2), None, None, None, ub, "a")
    )
    problems.append(
        qpbenchmark.Problem(np.eye(1), np.ones(1), None, None, None, None, None, None, "b")
    )
    problems.to_parquet(str(tmp_path / "set.parquet"))
    programs = read_parquet(tmp_path / "set.parquet")
    assert_same(programs["a"], QuadraticProgram(np.eye(2), np.ones(2), G, np.ones(2), ub=ub))
    assert_same(programs["b"], QuadraticProgram(np.eye(1), np.ones(1)))


# --- what is refused, with the file, the reason and the remedy ---------------------------------

SMALL = QuadraticProgram(
    [[2.0, 0.5], [0.5, 1.0]], [1.0, -1.0], sp.csc_array([[1.0, 2.0]]), [1.0], lb=0.0,
    names={"x": "w, b"},
)  # fmt: skip


def only(path: Path) -> QuadraticProgram:
    """The one program of a Parquet file, whatever its name."""
    (program,) = read_parquet(path).values()
    return program


def test_integers_of_a_parquet_file_are_exact_or_refused(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "p.parquet"
    write_parquet({"p": QuadraticProgram(np.eye(2), [1.0, 2.0])}, path)
    for number in (2**53, 2**53 + 1):
        table = pq.read_table(path)
        at = table.column_names.index("q")
        pq.write_table(table.set_column(at, "q", pa.array([[number, 1]])), path)
        if number % 2:
            with pytest.raises(DataFileError, match=rf"q\[0\] is {number}, an integer"):
                read_parquet(path)
        else:
            assert read_parquet(path)["p"].q.tolist() == [number, 1.0]


@pytest.mark.parametrize("kind", ["npz", "qps", "parquet"])
def test_a_damaged_file_is_refused_or_harmless(tmp_path: Path, kind: str) -> None:
    """One byte changed at a time: the same program, or an error of qpsvm, and never a crash."""
    path = tmp_path / f"p.{kind}"
    assert through(SMALL, tmp_path, kind).q.size == 2
    content = path.read_bytes()
    reader = {"npz": read_npz, "qps": read_qps, "parquet": only}[kind]
    rng = np.random.default_rng(2)
    messages = []
    for place in rng.integers(0, len(content), 300):
        damaged = bytearray(content)
        damaged[place] ^= 1 << rng.integers(0, 8)
        path.write_bytes(damaged)
        try:
            again = reader(path)
        except DataFileError as error:
            messages.append(str(error))
        else:
            if kind != "qps":  # text without a checksum: another digit is another number
                assert_same(again, SMALL)
    assert len(messages) > 50
    assert all(str(path) in message for message in messages)


@pytest.mark.parametrize("kind", ["npz", "qps", "parquet"])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_truncated_file_is_refused(tmp_path: Path, kind: str, share: float) -> None:
    through(SMALL, tmp_path, kind)
    path = tmp_path / f"p.{kind}"
    content = path.read_bytes()
    path.write_bytes(content[: int(share * (len(content) - 3))])
    with pytest.raises(DataFileError, match="p." + kind):
        {"npz": read_npz, "qps": read_qps, "parquet": read_parquet}[kind](path)


@pytest.mark.parametrize("reader", [read_npz, read_qps, read_parquet])
def test_a_missing_file_is_refused(tmp_path: Path, reader: Any) -> None:
    with pytest.raises(DataFileError, match="nowhere"):
        reader(tmp_path / "nowhere")


@pytest.mark.parametrize("kind", ["npz", "qps", "parquet"])
def test_a_failed_writing_leaves_what_was_there(tmp_path: Path, kind: str) -> None:
    through(SMALL, tmp_path, kind)
    path = tmp_path / f"p.{kind}"
    before = path.read_bytes()
    program = support_vector_machine(kernels.RBF(gamma=1.0)).qp
    writer = {
        "npz": write_npz,
        "qps": write_qps,
        "parquet": lambda program, path, **options: write_parquet({"a": program}, path, **options),
    }[kind]
    with pytest.raises(MemoryLimitError):
        writer(program, path, memory_limit=100)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(DataFileError, match=r"Cannot write .*nowhere.*choose another path"):
        writer(SMALL, tmp_path / "nowhere" / "p")


def edited(folder: Path, **changes: Any) -> Path:
    """The file of ``SMALL`` with arrays replaced, added, or removed (None)."""
    write_npz(SMALL, folder / "p.npz")
    with np.load(folder / "p.npz") as file:
        arrays = {**file, **changes}
    np.savez(folder / "p.npz", **{k: v for k, v in arrays.items() if v is not None})
    return folder / "p.npz"


def header(**changes: Any) -> np.ndarray:
    fields = {"format": "qpsvm program", "format_version": 1, "names": {}, **changes}
    return np.frombuffer(json.dumps(fields).encode(), np.uint8)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"metadata": None}, "no metadata; write programs with .*write_npz"),
        ({"metadata": np.zeros(3)}, "no metadata"),
        ({"metadata": np.frombuffer(b"{", np.uint8)}, "metadata is not JSON"),
        ({"metadata": np.frombuffer(b"\xff", np.uint8)}, "metadata is not JSON"),
        ({"metadata": np.frombuffer(b"[" * 100_000, np.uint8)}, "metadata is not JSON"),
        ({"metadata": np.frombuffer(b"[]", np.uint8)}, "does not say 'qpsvm program'"),
        ({"metadata": header(format="qpsvm model")}, "does not say 'qpsvm program'"),
        ({"metadata": header(format_version=2)}, "version 2, this qpsvm reads 1; update"),
        ({"metadata": header(names=["x"])}, "names are not texts"),
        ({"metadata": header(names={"x": 1})}, "names are not texts"),
        ({"q": None}, "array 'q' is missing"),
        ({"P": None}, "array 'P_data' is missing"),
        ({"G_indptr": None}, "array 'G_indptr' is missing"),
        ({"q": np.array([1.0, -1.0], np.float32)}, "'q' has dtype float32 instead of float64"),
        ({"q": np.array(["a", "b"])}, "'q' has dtype <U1 instead of float64"),
        ({"q": np.ones((2, 1))}, r"'q' has shape \(2, 1\), not one dimension"),
        ({"q": np.array([1.0, np.nan])}, r"q\[1\] is nan"),
        ({"q": np.zeros(0), "P": np.zeros((0, 0))}, "G' has shape"),
        ({"q": np.ones(3)}, r"'P' has shape \(2, 2\) instead of \(3, 3\)"),
        ({"P": np.ones(4)}, r"'P' has shape \(4,\) instead of \(2, 2\)"),
        ({"P": np.array([[1.0, 2.0], [3.0, 4.0]])}, "P must be symmetric"),
        ({"P": np.full((2, 2), np.nan)}, "P contains 4 NaN"),
        ({"h": np.ones(2)}, r"'G' has shape \(1, 2\) instead of \(2, 2\)"),
        ({"lb": np.ones(3)}, "lb has 3 entries, the program needs 2"),
        ({"lb": np.full(2, 2.0), "ub": np.ones(2)}, "lb > ub"),
        ({"G_indices": np.array([0, 7], np.int32)}, "'G' is not a matrix in compressed columns"),
        ({"G_indices": np.array([0, -1], np.int32)}, "'G' is not a matrix in compressed columns"),
        ({"G_indptr": np.array([0, 2, 1], np.int32)}, "'G' is not a matrix in compressed columns"),
        ({"G_indptr": np.zeros(0, np.int32)}, "'G' is not a matrix in compressed columns"),
        ({"G_indptr": np.array([0, 2, 2], np.int32)}, "'G' has unsorted or repeated entries"),
        ({"G_shape": None}, "array 'G_shape' is missing"),
        ({"G_shape": np.array([1, 2, 3])}, "'G' is not a matrix in compressed columns"),
        ({"G_shape": np.array([-1, 2])}, "'G' is not a matrix in compressed columns"),
        ({"G_shape": np.array([2**62, 2])}, r"'G' has shape"),
        ({"G_data": np.ones(2, np.int64)}, "'G_data' has dtype int64 instead of float64"),
        ({"G_indices": np.zeros(2)}, "has dtype float64 instead of int32 or int64"),
        ({"F": np.ones((2, 1)), "d": np.ones(2)}, "unknown arrays: P"),
        ({"F": np.ones((2, 1)), "d": -np.ones(2), "P": None}, "diag must be non-negative"),
        ({"F": np.ones((2, 1)), "d": np.ones(3), "P": None}, r"'F' has shape \(2, 1\)"),
        ({"F": np.ones(2), "d": np.ones(2), "P": None}, r"'F' has shape \(2,\)"),
        ({"extra": np.ones(1)}, "unknown arrays: extra"),
        ({"q": np.array([{}, {}])}, "Python objects are never loaded"),
    ],
)
def test_npz_files_that_are_no_programs_are_refused(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(DataFileError, match=rf"(?s)p\.npz.*{words}"):
        read_npz(edited(tmp_path, **changes))


QPS = """NAME test
* a comment
ROWS
 N cost
 L first
 G second
 E third
 N free
COLUMNS
 x cost 1.5 first 2
 x second 3.0
 y free 7 third -1e-30

RHS
 RHS first 4 second 5
BOUNDS
 UP BND y 6
 MI BND x
QUADOBJ
 x x 2
 x y -0.5
ENDATA
"""


def qps(folder: Path, text: str) -> Path:
    (folder / "p.qps").write_text(text, encoding="utf-8", newline="")
    return folder / "p.qps"


def test_qps_of_others_is_read(tmp_path: Path) -> None:
    expected = QuadraticProgram(
        [[2.0, -0.5], [-0.5, 0.0]], [1.5, 0.0],
        [[2.0, 0.0], [-3.0, 0.0], [0.0, 7.0]], [4.0, -5.0, np.inf],
        [[0.0, -1e-30]], [0.0], lb=[-np.inf, 0.0], ub=[np.inf, 6.0],
    )  # fmt: skip
    same = QPS.replace(" x y -0.5", " y x -0.5"), QPS.replace("RHS first", "first")
    whole = QPS.replace("QUADOBJ", "QMATRIX").replace(" x y -0.5", " x y -0.5\n y x -0.5")
    same += QPS.replace("QUADOBJ", "QSECTION"), QPS.replace("QUADOBJ", "QSECTION      cost")
    for text in (QPS, *same, whole, QPS.replace("\n", "\r\n"), QPS.replace(" BND", "")):
        assert_same(read_qps(qps(tmp_path, text)), expected, of_matrices=values)


@pytest.mark.parametrize(
    ("kind", "width", "low", "high"),
    [
        ("L", 3.0, 1.0, 4.0),
        ("L", -3.0, 1.0, 4.0),
        ("G", 3.0, 4.0, 7.0),
        ("G", -3.0, 4.0, 7.0),
        ("E", 3.0, 4.0, 7.0),
        ("E", -3.0, 1.0, 4.0),
        ("E", 0.0, 4.0, 4.0),
        ("L", 0.0, 4.0, 4.0),
    ],
)
@pytest.mark.parametrize("ranges_first", [False, True])
def test_ranges_are_rows(
    tmp_path: Path, kind: str, width: float, low: float, high: float, ranges_first: bool
) -> None:
    """The rows of a file with a range are those of a file with a row for each of its sides."""
    columns = "COLUMNS\n x f 1 a 1\n x r 2 z 3\n y r -5\n"
    sections = ["RHS\n r 4 a 9 z 8\n", f"RANGES\n RNG r {width}\n"]
    text = "".join(sections[::-1] if ranges_first else sections)
    found = read_qps(qps(tmp_path, f"ROWS\n N f\n L a\n {kind} r\n E z\n{columns}{text}ENDATA\n"))
    both = "L r\n G s" if low < high else "E r"
    more = " x s 2\n y s -5\n" if low < high else ""
    sides = f"RHS\n r {high} a 9 z 8\n" + (f" s {low}\n" if low < high else "")
    split = f"ROWS\n N f\n L a\n {both}\n E z\n{columns}{more}{sides}ENDATA\n"
    assert_same(found, read_qps(qps(tmp_path, split)), of_matrices=values)


RANGED = """ROWS
 N f
 L a
 L b
 G c
 G d
 E e
 E g
COLUMNS
 x f 1 a 1
 x b 2 c 3
 x d 4 e 5
 y g 6 a 7
 y e 8
RHS
 RHS a 1 b 2
 RHS c 3 d -4
 RHS e 5 g 6
RANGES
 RNG a 0.5 b -0.25
 RNG c 2 d -8
 RNG e 1.5 g -3
ENDATA
"""


def test_ranges_mean_what_they_mean_to_highs(tmp_path: Path) -> None:
    path = tmp_path / "p.mps"
    path.write_text(RANGED)
    program, theirs = read_qps(path), highs(path).getLp()
    matrix = theirs.a_matrix_
    rows = sp.csc_array((matrix.value_, matrix.index_, matrix.start_), (6, 2)).toarray()
    above = np.column_stack([rows, theirs.row_upper_])
    below = np.column_stack([-rows, -np.array(theirs.row_lower_)])
    ours = np.column_stack([dense(program.G), program.h])
    assert program.A.shape[0] == 0
    assert sorted(ours.tolist()) == sorted([*above.tolist(), *below.tolist()])


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("ENDATA", "", "ends without ENDATA"),
        ("ENDATA", "ENDATA\n x", "line 23: 'x' has no meaning in section 'ENDATA'"),
        ("ENDATA", "ENDATA\nROWS", "line 23: section 'ROWS' comes again or too late"),
        ("ENDATA", "QMATRIX\nENDATA", "line 22: section 'QMATRIX' comes again"),
        ("BOUNDS", "SOS", "line 16: section 'SOS'; only NAME, ROWS, .* are read"),
        ("BOUNDS", "RANGES\n free 1\nBOUNDS", "line 17: a range for the row 'free', which has no"),
        ("BOUNDS", "RANGES\n cost 1\nBOUNDS", "line 17: a range for the row 'cost', which has no"),
        ("BOUNDS", "RANGES\n other 1\nBOUNDS", "line 17: row 'other' is not declared"),
        ("BOUNDS", "RANGES\n first 1 first 1\nBOUNDS", "line 17: the range of 'first' is given"),
        ("BOUNDS", "RANGES\n first inf\nBOUNDS", "line 17: 'inf' is not a number"),
        ("BOUNDS", "RANGES\n first 1e-30\nBOUNDS", "row 'first': float64 loses its range 1e-30"),
        ("BOUNDS", "RANGES\n R first 1\n S third 1\nBOUNDS", "line 18: a second set 'S'"),
        ("QUADOBJ", "QSECTION first", "line 19: QSECTION 'first' is no quadratic term of the obj"),
        ("QUADOBJ", "QSECTION\nQUADOBJ", "line 20: section 'QUADOBJ' comes again"),
        ("NAME test", "NAME test\nOBJSENSE\n MAX", "line 2: section 'OBJSENSE'"),
        (" N cost\n", "", "line 9: row 'cost' is not declared"),
        (" N cost\n L", " N other\n L", "row 'cost' is not declared"),
        (" L first", " D first", "line 5: row type 'D'; N, L, G and E are known"),
        (" E third", " E first", "line 7: row 'first' is given twice"),
        (" L first", " L first more", "line 5: 'L first more' has no meaning"),
        (" x cost", " m 'MARKER' 'INTORG'\n x cost", "line 10: integer variables"),
        (" x cost 1.5 first 2", " x cost 1.5 first", "line 10: 'cost 1.5 first' is not a list"),
        ("first 2", "first 2\n x first 3", "G has 1 repeated entries"),
        ("cost 1.5", "cost 1.5 cost 1", "line 10: the cost of 'x' is given twice"),
        ("cost 1.5", "cost nan", "line 10: 'nan' is not a number a program can hold"),
        ("cost 1.5", "cost inf", "'inf' is not a number"),
        ("cost 1.5", "cost 1e999", "'1e999' is not a number"),
        ("cost 1.5", "cost 1_0", "'1_0' is not a number"),
        ("cost 1.5", "cost 1,5", "'1,5' is not a number"),
        ("cost 1.5", "price 1.5", "row 'price' is not declared"),
        ("RHS first 4", "RHS first 4 first 4", "line 15: the right-hand side of 'first'"),
        ("RHS first 4", "RHS cost 4 first 4", "constant -4.0, .* add it to the optimum"),
        ("RHS first 4", "RHS free 4 first 4", "right-hand side for the free row 'free'"),
        ("second 5", "second 5\n OTHER third 5", "line 16: a second set 'OTHER' beside 'RHS'"),
        (" UP BND y 6", " UP BND z 6", "line 17: column 'z' is not declared"),
        (" UP BND y 6", " UP BND y", "line 17"),
        (" UP BND y 6", " BV BND y", "line 17"),
        (" UP BND y 6", " UP y", "line 17: a bound needs one of"),
        (" UP BND y 6", " FR BND y 6", "line 17: a bound needs one of"),
        (" UP BND y 6", " UI BND y 6", "line 17: a bound needs one of LO, UP"),
        (" UP BND y 6", " UP BND y 6\n FX BND y 6", "line 18: the upper bound of 'y'"),
        (" UP BND y 6", " UP BND y -6", "'y' has the upper bound -6.0 and no lower one"),
        (" UP BND y 6", " UP BND y 0", "'y' has the upper bound 0.0 and no lower one"),
        (" UP BND y 6", " LO BND y inf", r"lb\[1\] is inf"),
        (" UP BND y 6", " LO BND y 7\n UP BND y 6", "lb > ub"),
        (" x y -0.5", " x z -0.5", "line 21: column 'z' is not declared"),
        (" x y -0.5", " x y -0.5\n y x -0.5", "P has 1 repeated entries"),
        (" x y -0.5", " x y 9007199254740993", "line 21: '9007199254740993' is an integer that"),
        (" UP BND y 6", " UP BND y 9007199254740993.0", "line 17: .* is an integer that float64"),
        ("QUADOBJ", "QMATRIX", "P must be symmetric"),
        ("NAME test", "NAME " + 10_000 * "t", "line 1: too long"),
    ],
)
def test_qps_files_with_no_meaning_or_two_are_refused(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    assert old in QPS
    with pytest.raises(DataFileError, match=rf"p\.qps.*{words}"):
        read_qps(qps(tmp_path, QPS.replace(old, new, 1)))


def test_qps_without_an_objective_or_without_columns_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match="the objective is missing"):
        read_qps(qps(tmp_path, "ROWS\n L r\nCOLUMNS\n x r 1\nENDATA\n"))
    with pytest.raises(DataFileError, match="q is empty"):
        read_qps(qps(tmp_path, "ROWS\n N r\nENDATA\n"))


def test_a_file_that_unpacks_to_more_than_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "p.qps.gz"
    path.write_bytes(gzip.compress(b"*\n" * 1_000_000))
    monkeypatch.setattr("qpsvm.qp.exchange.qps.default_memory_limit", lambda: 1000)
    with pytest.raises(DataFileError, match="line 501: too long"):
        read_qps(path)
    write_parquet({"p": QuadraticProgram(None, np.zeros(40))}, tmp_path / "p.parquet")
    monkeypatch.setattr("qpsvm.qp.exchange.parquet.default_memory_limit", lambda: 8 * 1600)
    with pytest.raises(DataFileError, match=r"declares .* numbers, more than fit into the limit"):
        read_parquet(tmp_path / "p.parquet")


@pytest.mark.parametrize("name", ["", "two words", "line\nbreak", "é", 201 * "x"])
def test_names_that_qps_cannot_hold_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidParameterError, match="printable ASCII characters without spaces"):
        write_qps(SMALL, tmp_path / "p.qps", name=name)
    assert not list(tmp_path.iterdir())


def test_names_of_variables_cannot_become_lines_of_the_file(tmp_path: Path) -> None:
    names = {"x": "alpha\nENDATA", "é\r": "\ud800"}
    program = QuadraticProgram([[1.0]], [1.0], names=names)
    write_qps(program, tmp_path / "p.qps")
    assert_same(read_qps(tmp_path / "p.qps"), program)
    lines = (tmp_path / "p.qps").read_text("ascii").splitlines()
    assert lines[1] == r'* "x": "alpha\nENDATA"'


def parquet(folder: Path, **changes: Any) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, Any] = {
        "P": [[1.0, 0.0, 0.0, 1.0]], "q": [[1.0, 1.0]], "G": [[1.0, 2.0]], "h": [[1.0]],
        "A": [None], "b": [None], "lb": [None], "ub": [[1.0, 1.0]], "name": ["a"], **changes,
    }  # fmt: skip
    table = pa.table({key: column for key, column in columns.items() if column is not None})
    pq.write_table(table, folder / "p.parquet")
    return folder / "p.parquet"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"P": None}, "0 columns 'P' instead of one"),
        ({"lb": None}, "0 columns 'lb' instead of one"),
        ({"q": [1.0]}, "column 'q' holds double instead of lists of numbers"),
        ({"q": [["a"]]}, "column 'q' holds list.*string.* instead of lists of numbers"),
        ({"name": [1]}, "column 'name' holds int64 instead of text"),
        ({"name": [None]}, "'name' holds null"),
        ({"q": [None]}, "column 'q'|program 'a': q is null"),
        ({"q": [[1.0, None]]}, "program 'a': a list has entries that are null"),
        ({"q": [[1.0, np.nan]]}, r"program 'a': q\[1\] is nan"),
        ({"P": [[1.0, 2.0, 3.0]]}, "P has 3 entries instead of 2 x 2, the lengths of q and q"),
        ({"P": [[1.0, 2.0, 3.0, 4.0]]}, "program 'a': P must be symmetric"),
        ({"h": [[1.0, 2.0]]}, "G has 2 entries instead of 2 x 2, the lengths of h and q"),
        ({"h": [None]}, "G and h belong together, but h is missing"),
        ({"ub": [[1.0]]}, "ub has 1 entries, the program needs 2"),
    ],
)
def test_parquet_files_that_are_no_test_sets_are_refused(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    read_parquet(parquet(tmp_path))
    with pytest.raises(DataFileError, match=rf"p\.parquet.*(?:{words})"):
        read_parquet(parquet(tmp_path, **changes))


def test_parquet_names_are_unique(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    table = pq.read_table(parquet(tmp_path))
    pq.write_table(table.take([0, 0]), tmp_path / "p.parquet")
    with pytest.raises(DataFileError, match="the name 'a' is missing or comes twice"):
        read_parquet(tmp_path / "p.parquet")


def test_parquet_of_other_types_is_read(tmp_path: Path) -> None:
    import pyarrow as pa

    integers = pa.array([[1, 0, 0, 1]], pa.large_list(pa.int32()))
    program = read_parquet(parquet(tmp_path, P=integers, extra=["anything"]))["a"]
    np.testing.assert_array_equal(program.P.to_dense(), np.eye(2))


def test_without_pyarrow_the_error_has_the_pip_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for attempt in (lambda p: write_parquet({}, p), read_parquet):
        with pytest.raises(MissingPackageError, match=r'pip install "qpsvm\[exchange\]"'):
            attempt(tmp_path / "p.parquet")
    through(SMALL, tmp_path, "npz")
    through(SMALL, tmp_path, "qps")


# --- the formula -------------------------------------------------------------------------------

FORMULAS = {
    "everything": QuadraticProgram(
        sp.csc_array([[2.0, 0.5], [0.5, 1.0]]), [1.0, -1.0], [[1.0, 2.0], [3.0, 4.0]],
        [1.0, np.inf], [[1.0, 1.0]], [0.1], lb=[-np.inf, 0.0], ub=[1.0, 2.0],
    ),
    "linear": QuadraticProgram(None, [1.0, 2.0], lb=0.0),
    "nothing": QuadraticProgram(None, [0.0]),
    "upper": QuadraticProgram(np.eye(2), [0.0, 0.0], ub=-1.5e-7),
    "kernel": support_vector_machine(kernels.RBF(gamma=1.0)).qp,
    "low rank": QuadraticProgram(LowRankQuadratic(np.ones((3, 2)), np.ones(3)), np.ones(3)),
    "primal": support_vector_machine(kernels.Linear(), "primal").qp,
    "names": QuadraticProgram(
        np.eye(2), [1.0, 1.0],
        names={"x": r"50% & more_ #1 {~^\}$<>|", "P": "K", "q": "xi, a b, \x00\n", "other": "?"},
    ),
}  # fmt: skip

PREAMBLE = r"\documentclass{article}\usepackage{amsmath,amssymb}\begin{document}"


def test_the_formula_of_a_support_vector_machine() -> None:
    assert (
        latex(FORMULAS["kernel"])
        == r"""\[
\begin{aligned}
\underset{\alpha \in \mathbb{R}^{30}}{\text{minimise}} \quad
  & \tfrac{1}{2} \alpha^\top P \alpha + q^\top \alpha \\
\text{subject to} \quad
  & A \alpha = b \\
  & 0 \le \alpha_i \le 10, \quad i = 1, \dots, 30 \\
\text{where} \quad
  & P \in \mathbb{R}^{30 \times 30} \text{ (kernel matrix, evaluated on demand)} \\
  & q \in \mathbb{R}^{30} \\
  & A \in \mathbb{R}^{1 \times 30} \text{ (dense)}, \quad b \in \mathbb{R}^{1}
\end{aligned}
\]"""
    )


@pytest.mark.parametrize(
    ("name", "there", "absent"),
    [
        ("everything", r"G x \le h", None),
        ("everything", r"h \in (\mathbb{R} \cup \{\infty\})^{2}", None),
        ("everything", r"\ell_i \le x_i \le u_i", None),
        ("everything", r"\ell \in (\mathbb{R} \cup \{-\infty\})^{2}", None),
        ("everything", "(sparse, 4 non-zeros)", None),
        ("linear", r"& q^\top x \\", "P"),
        ("linear", r"x_i \ge 0, \quad i = 1, 2", r"\le"),
        ("nothing", "& 0\n", "text{where}"),
        ("nothing", r"\mathbb{R}^{1}", "subject to"),
        ("upper", r"x_i \le -1.5 \cdot 10^{-7}, \quad i = 1, 2", r"\ge"),
        ("upper", r"\tfrac{1}{2} x^\top P x \\", r"q^\top"),
        ("low rank", "rank at most 2 plus diagonal", "subject to"),
        ("primal", r"x = (w, b, \xi)", "A x"),
        ("names", r"x = \text{50\% \& more\_ \#1 \{", "?"),
        ("names", r"q = (\xi, \text{a b}, \text{})", "\x00"),
        ("names", r"K \in", "P"),
    ],
)
def test_the_formula_has_what_the_program_has(name: str, there: str, absent: str | None) -> None:
    text = latex(FORMULAS[name])
    assert there in text
    assert absent is None or absent not in text


def test_names_given_with_the_call_replace_those_of_the_program() -> None:
    program = QuadraticProgram(np.eye(1), [1.0], names={"x": "alpha"})
    assert r"\beta^\top P \beta" in latex(program, names={"x": "beta"})
    assert r"x^\top P x" in latex(program, names={})


@pytest.mark.parametrize("name", FORMULAS)
def test_the_formula_is_balanced(name: str) -> None:
    text = latex(FORMULAS[name])
    plain = text.replace(r"\\", "").replace(r"\{", "").replace(r"\}", "")
    depth = np.cumsum([(c == "{") - (c == "}") for c in plain])
    assert depth.min() >= 0
    assert depth[-1] == 0
    assert text.count(r"\begin{aligned}") == text.count(r"\end{aligned}") == 1
    assert text.startswith("\\[\n")
    assert text.endswith("\n\\]")


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no pdflatex here")
def test_the_formulas_compile(tmp_path: Path) -> None:
    body = "\n".join(latex(program) for program in FORMULAS.values())
    (tmp_path / "p.tex").write_text(f"{PREAMBLE}\n{body}\n\\end{{document}}\n", encoding="utf-8")
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "p.tex"]
    result = run(command, cwd=tmp_path)
    assert result.returncode == 0, result.stdout[-2000:]


def test_importing_the_package_imports_no_optional_package() -> None:
    code = (
        "import sys, qpsvm.qp.exchange\n"
        "print([m for m in ('pyarrow', 'pandas', 'highspy') if m in sys.modules])"
    )
    result = run([sys.executable, "-c", code], check=True)
    assert result.stdout.strip() == "[]"
