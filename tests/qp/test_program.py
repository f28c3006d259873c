"""QuadraticProgram: what it accepts, what it refuses and with which words, what it computes."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from qpsvm.exceptions import InvalidProgramError, MemoryLimitError, NotPositiveSemidefiniteError
from qpsvm.qp import (
    DenseQuadratic,
    KernelQuadratic,
    LowRankQuadratic,
    QuadraticProgram,
    SampleGram,
    SparseQuadratic,
)

SIX = dict(P=np.diag([2.0, 4.0]), q=[1.0, -1.0], G=[[1.0, 2.0]], h=[3.0], A=[[1.0, 1.0]], b=[1.0])


def test_objective_is_half_xpx_plus_qx() -> None:
    assert QuadraticProgram(**SIX).objective([1.0, 2.0]) == 0.5 * (2 + 16) + 1 - 2


def test_dual_objective_equals_the_primal_at_a_known_optimum() -> None:
    # min 1/2 x^2 with x >= 2: x = 2, z_lower = 2
    program = QuadraticProgram([[1.0]], [0.0], lb=2.0)
    assert program.objective([2.0]) == 2.0
    assert program.dual_objective([2.0], [], [], [2.0], [0.0]) == 2.0


def test_infinite_bounds_do_not_enter_the_dual_objective() -> None:
    program = QuadraticProgram([[1.0]], [1.0], G=[[1.0]], h=[np.inf])
    assert program.dual_objective([-1.0], [0.0], [], [0.0], [0.0]) == -0.5


def test_canonical_folds_bounds_in_the_documented_order() -> None:
    program = QuadraticProgram(**SIX, lb=[0.0, -np.inf], ub=[5.0, 6.0])
    P, q, G, h, A, b = program.canonical("dense")
    np.testing.assert_array_equal(P, SIX["P"])
    np.testing.assert_array_equal(q, SIX["q"])
    np.testing.assert_array_equal(G, [[1, 2], [-1, 0], [1, 0], [0, 1]])
    np.testing.assert_array_equal(h, [3, 0, 5, 6])
    np.testing.assert_array_equal(A, [[1, 1]])
    np.testing.assert_array_equal(b, [1])


def test_canonical_leaves_out_rows_that_do_not_bind() -> None:
    form = QuadraticProgram([[1.0]], [0.0], G=[[1.0], [2.0]], h=[np.inf, 3.0]).canonical("dense")
    np.testing.assert_array_equal(form.G, [[2.0]])
    np.testing.assert_array_equal(form.h, [3.0])


@pytest.mark.parametrize("storage", ["natural", "dense", "sparse"])
@pytest.mark.parametrize("sparse_input", [False, True])
def test_storage_changes_nothing_but_the_type(storage: str, sparse_input: bool) -> None:
    P = sp.csc_array(SIX["P"]) if sparse_input else SIX["P"]
    G = sp.csr_array([[1.0, 2.0]]) if sparse_input else SIX["G"]
    program = QuadraticProgram(P, SIX["q"], G, SIX["h"], SIX["A"], SIX["b"], lb=0.0)
    form = program.canonical(storage)  # type: ignore[arg-type]
    reference = QuadraticProgram(**SIX, lb=0.0).canonical("dense")
    for got, expected in zip(form, reference, strict=True):
        assert sp.issparse(got) <= (storage != "dense")
        np.testing.assert_array_equal(got.toarray() if sp.issparse(got) else got, expected)
    if storage == "sparse":
        assert all(sp.issparse(m) for m in (form.P, form.G, form.A))


def test_unknown_storage_is_refused() -> None:
    with pytest.raises(InvalidProgramError, match="'dense', 'sparse' or 'cvxopt'"):
        QuadraticProgram(**SIX).canonical("csr")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"q": None}, "q is missing"),
        ({"q": []}, "q is empty"),
        ({"q": [[1.0, 2.0], [3.0, 4.0]]}, r"q must be a vector, got shape \(2, 2\)"),
        ({"q": [np.nan, 1.0]}, r"q\[0\] is nan"),
        ({"q": ["a", "b"]}, "q must hold real numbers"),
        ({"P": np.ones((2, 3))}, r"P must be square, got shape \(2, 3\)"),
        ({"P": np.eye(3)}, r"P has shape \(3, 3\), the program has 2 variables"),
        ({"P": [[1.0, 2.0], [0.0, 1.0]]}, r"P must be symmetric, max\|P - P'\| is 2"),
        ({"P": sp.csc_array([[1.0, 2.0], [0.0, 1.0]])}, "P must be symmetric"),
        ({"P": [[np.inf, 0.0], [0.0, 1.0]]}, "P contains 1 NaN or infinite"),
        ({"P": [[1j, 0.0], [0.0, 1.0]]}, "P must hold real numbers"),
        ({"G": [[1.0, 2.0, 3.0]]}, "G has 3 columns, the program has 2 variables"),
        ({"G": [[np.nan, 2.0]]}, "G contains 1 NaN or infinite"),
        ({"G": None}, "G and h belong together, but G is missing"),
        ({"h": None}, "G and h belong together, but h is missing"),
        ({"h": [1.0, 2.0]}, "h has 2 entries, the program needs 1"),
        ({"h": [np.nan]}, r"h\[0\] is nan"),
        ({"h": [-np.inf]}, r"h\[0\] is -inf .* leave a bound out with inf"),
        ({"A": [[1.0]]}, "A has 1 columns"),
        ({"b": [np.inf]}, r"b\[0\] is inf"),
        ({"lb": [0.0]}, "lb has 1 entries, the program needs 2"),
        ({"lb": np.inf}, r"lb\[0\] is inf .* leave a bound out with -inf"),
        ({"ub": [np.nan, 1.0]}, r"ub\[0\] is nan"),
        ({"lb": [0.0, 2.0], "ub": [1.0, 1.0]}, r"lb > ub for 1 variables, first for x\[1\]: 2.0 >"),
    ],
)
def test_inconsistent_pieces_are_refused_by_name(changes: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidProgramError, match=words):
        QuadraticProgram(**{**SIX, **changes})


def test_indefinite_p_is_refused_on_request_with_its_eigenvalue() -> None:
    P = np.diag([1.0, -0.25])
    QuadraticProgram(P, [0.0, 0.0])
    with pytest.raises(
        NotPositiveSemidefiniteError, match=r"smallest eigenvalue is -0\.25"
    ) as error:
        QuadraticProgram(P, [0.0, 0.0], check_psd=True)
    assert error.value.smallest_eigenvalue == pytest.approx(-0.25)


def test_a_singular_p_is_not_called_indefinite() -> None:
    v = np.random.default_rng(0).normal(size=(200, 3))
    QuadraticProgram(v @ v.T, np.zeros(200), check_psd=True)


def test_lanczos_finds_the_eigenvalue_that_lapack_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    Q, _ = np.linalg.qr(rng.normal(size=(60, 60)))
    eigenvalues = np.concatenate([[-0.5], np.zeros(30), rng.uniform(0, 3, 29)])
    quadratic = DenseQuadratic((Q * eigenvalues) @ Q.T)
    monkeypatch.setattr("qpsvm.qp.quadratic.EIGENVALUE_SIZE", 1)
    assert quadratic.smallest_eigenvalue() == pytest.approx(-0.5, abs=1e-5)


def test_a_program_is_immutable_and_owes_nothing_to_its_inputs() -> None:
    q, G = np.array([1.0, -1.0]), np.array([[1.0, 2.0]])
    program = QuadraticProgram(SIX["P"], q, G, [3.0])
    q[0], G[0, 0] = 99.0, 99.0
    assert program.q[0] == 1.0
    assert program.G[0, 0] == 1.0
    with pytest.raises(AttributeError, match="immutable"):
        program.q = q
    with pytest.raises(AttributeError, match="immutable"):
        del program.q
    for array in (program.q, program.G, program.h, program.lb, program.P.to_dense()):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0


def test_pickling_keeps_the_program() -> None:
    program = QuadraticProgram(**SIX, lb=0.0)
    again = pickle.loads(pickle.dumps(program))
    assert again.fingerprint() == program.fingerprint()
    assert repr(again) == repr(program)


def test_other_parts_in_place_of_some() -> None:
    program = QuadraticProgram(**SIX, lb=0.0, names={"x": "a, b"})
    changed = program.replace(G=None, h=None, ub=5.0)
    without = {name: part for name, part in SIX.items() if name not in "Gh"}
    expected = QuadraticProgram(**without, lb=0.0, ub=5.0, names={"x": "a, b"})
    assert changed.fingerprint() == expected.fingerprint()
    assert changed.names == program.names
    assert program.replace().fingerprint() == program.fingerprint()
    with pytest.raises(InvalidProgramError, match="lb > ub"):
        program.replace(ub=-1.0)


def test_fingerprint_tells_programs_apart() -> None:
    base = QuadraticProgram(**SIX)
    assert base.fingerprint() == QuadraticProgram(**SIX).fingerprint()
    for changes in ({"q": [1.0, -1.5]}, {"h": [4.0]}, {"P": np.diag([2.0, 5.0])}, {"lb": 0.0}):
        assert QuadraticProgram(**{**SIX, **changes}).fingerprint() != base.fingerprint()


def test_repr_says_what_it_is_in_one_line() -> None:
    text = repr(QuadraticProgram(sp.eye_array(2), [0.0, 0.0], lb=0.0))
    assert (
        text
        == "QuadraticProgram(2 variables, 0 inequalities, 0 equalities, 2 finite bounds, P sparse)"
    )


# --- structured Hessians -------------------------------------------------------------------------


def _linear(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    return np.asarray(X @ Z.T)


def _structured(kind: str) -> tuple[object, np.ndarray]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(7, 3))
    s = np.where(rng.random(7) < 0.5, -1.0, 1.0)
    d = rng.random(7)
    dense = (X @ X.T) * np.outer(s, s) + np.diag(d)
    if kind == "dense":
        return DenseQuadratic(dense), dense
    if kind == "sparse":
        thinned = np.where(np.abs(dense) > 1, dense, 0.0) + np.diag(d)
        return SparseQuadratic(sp.csr_array(thinned)), thinned
    if kind == "low-rank":
        return LowRankQuadratic(s[:, None] * X, d), dense
    if kind == "low-rank sparse":
        return LowRankQuadratic(sp.csr_array(s[:, None] * X), d), dense
    if kind == "kernel":
        return KernelQuadratic(SampleGram(_linear, X), s, diag=d), dense
    index = np.array([0, 1, 2, 3, 0, 1, 2])  # variables that share samples, as in regression
    if kind == "low-rank shared":
        expected = (X @ X.T + 2.0)[np.ix_(index, index)] * np.outer(s, s) + np.diag(d)
        return LowRankQuadratic(X, d, signs=s, index=index, constant=2.0), expected
    expected = (X @ X.T)[np.ix_(index, index)] * np.outer(s, s) + np.diag(d)
    return KernelQuadratic(SampleGram(_linear, X), s, index, d), expected


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("kept", [[0, 4], [1, 2, 3], [0, 1, 2, 4, 5, 6], [5], list(range(7))])
@pytest.mark.parametrize("order", ["own", "shared", "permuted"])
@pytest.mark.parametrize("kind", ["low-rank", "kernel"])
def test_some_variables_have_their_part_of_the_matrix(
    kind: str, order: str, kept: list[int], share: float
) -> None:
    rng = np.random.default_rng(5)
    X, s, d = rng.normal(size=(7, 3)), rng.choice([-1.0, 1.0], 7), rng.random(7)
    index = {"own": None, "shared": np.array([0, 1, 2, 3, 0, 1, 2]), "permuted": rng.permutation(7)}
    whole = LowRankQuadratic(X, d, signs=s, index=index[order], constant=0.5)
    if kind == "kernel":
        whole = KernelQuadratic(SampleGram(_linear, X), s, index[order], d, constant=0.5)
    part = whole.restricted(np.array(kept), copied_below=share)
    np.testing.assert_allclose(part.to_dense(), whole.to_dense()[np.ix_(kept, kept)])
    np.testing.assert_allclose(part.diagonal(), whole.diagonal()[kept])
    assert part.selection.n_samples <= (7 if share < 1.0 else len(kept))


KINDS = ["dense", "sparse", "low-rank", "low-rank sparse", "low-rank shared"]
KINDS += ["kernel", "kernel shared"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_structure_is_the_matrix_it_stands_for(kind: str) -> None:
    quadratic, dense = _structured(kind)
    x = np.linspace(-1, 2, 7)
    rows, columns = np.array([5, 0, 2]), np.array([2, 3, 5, 6])
    np.testing.assert_allclose(quadratic.block(rows, columns), dense[np.ix_(rows, columns)])
    np.testing.assert_allclose(quadratic.diagonal(), np.diagonal(dense))
    np.testing.assert_allclose(quadratic @ x, dense @ x)
    np.testing.assert_allclose(quadratic.to_dense(), dense)
    np.testing.assert_allclose(quadratic.to_sparse().toarray(), dense)
    np.testing.assert_allclose(np.asarray(quadratic), dense)
    # and again, now that a dense copy may have been kept
    np.testing.assert_allclose(quadratic.block(rows, columns), dense[np.ix_(rows, columns)])
    np.testing.assert_allclose(quadratic.diagonal(), np.diagonal(dense))
    assert quadratic.value(x) == pytest.approx(0.5 * x @ dense @ x)
    assert quadratic.shape == (7, 7)


@pytest.mark.parametrize("kind", ["kernel", "kernel shared"])
def test_kernel_products_without_a_stored_matrix(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    quadratic, dense = _structured(kind)
    monkeypatch.setattr("qpsvm.qp.sample_gram.KEPT_BYTES", 0)
    x = np.linspace(-1, 2, 7)
    np.testing.assert_allclose(quadratic @ x, dense @ x)
    assert not quadratic.gram.is_kept


def test_a_product_is_evaluated_in_one_pass_and_only_where_the_vector_is_not_zero(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("qpsvm.qp.sample_gram.KEPT_BYTES", 0)
    X = np.linspace(-1.0, 1.0, 12).reshape(6, 2)
    evaluated: list[tuple[int, int]] = []

    def kernel(A: Any, B: Any) -> Any:
        evaluated.append((len(A), len(B)))
        return A @ B.T

    gram = SampleGram(kernel, X)
    v = np.array([0.0, 1.0, 0.0, -2.0, 0.0, 0.0])
    first = gram.product(v)
    np.testing.assert_allclose(first, X @ (X.T @ v))
    assert evaluated == [(6, 2)]
    assert (gram.product(np.where(v == 0.0, -0.0, v)) == first).all()  # zeros have no sign
    assert evaluated[1:] == [(6, 2)]
    both = gram.products(np.column_stack([v, np.ones(6), np.full(6, np.nan)]))
    assert evaluated[2:] == [(6, 6)]
    np.testing.assert_allclose(both[:, :2], X @ (X.T @ np.column_stack([v, np.ones(6)])))
    assert np.isnan(both[:, 2]).all()


@pytest.mark.parametrize("kind", ["sparse", "low-rank", "kernel"])
def test_a_dense_copy_beyond_the_limit_is_refused_with_its_bytes(kind: str) -> None:
    quadratic, _ = _structured(kind)
    with pytest.raises(MemoryLimitError, match=r"7 x 7 matrix needs 392 bytes.*limit is 100") as e:
        quadratic.to_dense(memory_limit=100)
    assert (e.value.required_bytes, e.value.limit_bytes) == (392, 100)


@pytest.mark.parametrize(
    ("factor", "diag", "words"),
    [
        ([[np.nan]], None, "NaN or inf"),
        ([[1.0]], [-1.0], "non-negative, its smallest entry is -1"),
        ([[1.0]], [1.0, 2.0], "diag has 2 entries, the program needs 1"),
    ],
)
def test_low_rank_checks_its_parts(factor: object, diag: object, words: str) -> None:
    with pytest.raises(InvalidProgramError, match=words):
        LowRankQuadratic(np.array(factor), diag)  # type: ignore[arg-type]


@pytest.mark.parametrize("constant", [-1.0, np.nan, np.inf])
def test_a_constant_that_is_no_product_is_refused(constant: float) -> None:
    with pytest.raises(InvalidProgramError, match=f"constant is {constant}"):
        LowRankQuadratic(np.ones((2, 1)), constant=constant)


def test_a_constant_is_kept_by_what_is_made_of_it() -> None:
    X = np.arange(6.0).reshape(3, 2)
    P = LowRankQuadratic(X, constant=2.0)
    K = X @ X.T + 2.0
    assert P.rank == 3
    np.testing.assert_allclose(P.factor @ P.factor.T, K)
    np.testing.assert_allclose(P.select(-np.ones(3), constant=1.0).to_dense(), K + 1.0)
    R = sp.csr_array([[1.0, -1.0, 0.0], [0.0, 0.5, 0.5]])
    np.testing.assert_allclose(P.combine(R).to_dense(), R @ K @ R.T)
    assert P.null_violation(np.array([1.0, -2.0, 1.0])) == 0.0
    assert P.null_violation(np.ones(3)) == 1.0


def test_large_numbers_are_finite_though_their_sum_is_not() -> None:
    LowRankQuadratic(np.full((2, 1), 1e308))
    with pytest.raises(InvalidProgramError, match="NaN or inf"):
        LowRankQuadratic(np.array([[np.inf], [-np.inf]]))


def test_kernel_quadratic_checks_its_lengths() -> None:
    with pytest.raises(InvalidProgramError, match="signs has 2 entries for 3 variables"):
        KernelQuadratic(SampleGram(_linear, np.ones((3, 1))), np.ones(2))


@pytest.mark.parametrize("names", [3, 0, "x", ["x"], np.zeros(0)])
def test_names_that_are_no_mapping_are_refused(names: Any) -> None:
    with pytest.raises(InvalidProgramError, match="names is"):
        QuadraticProgram(None, [1.0], names=names)


@pytest.mark.parametrize("storage", ["csr", np.zeros(0), ["dense"]])
def test_a_storage_that_does_not_exist_is_refused(storage: Any) -> None:
    with pytest.raises(InvalidProgramError, match="storage is"):
        QuadraticProgram(None, [1.0]).canonical(storage)
