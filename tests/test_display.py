"""Whatever is public fits a screen when it is printed, and says how to see the rest."""

from __future__ import annotations

import dataclasses
import functools
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import SVC

import qpsvm
from qpsvm import display, reports
from qpsvm.exceptions import MissingPackageError

N = 2000
DOCUMENTS = (reports.Report,)
"""Types whose ``str`` is a document of its own, which the caller asked for."""


@functools.cache
def samples():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(N, 6))
    f = X[:, 0] + 0.5 * rng.normal(size=N)
    return X, np.where(f > 0.0, "yes", "no"), f, np.digitize(f, (-0.7, 0.0, 0.7))


@functools.cache
def results():
    """Name and object: what every public function returns for a problem of 2,000 samples."""
    X, y, t, classes = samples()
    found = {}

    def add(name, problem, **options):
        solution = qpsvm.solve(problem, **options)
        report, proof = qpsvm.verify(problem, solution), qpsvm.certify(problem, solution)
        found.update(
            {
                f"{name} problem": problem,
                f"{name} solution": solution,
                f"{name} report": report,
                f"{name} certificate": proof,
            }
        )
        if not isinstance(problem, qpsvm.qp.QuadraticProgram):
            found[f"{name} bounds"] = proof.decision_bounds(X)
        return problem, solution, report, proof

    soft = qpsvm.SoftMargin(C=0.1, class_weight={"yes": 1.25, "no": 0.75})
    problem, solution, report, proof = add("soft margin", soft.dual(X, y))
    found["predictions"] = proof.predict_certified(X)
    found["screening"] = proof.screening
    found["canonical"] = problem.canonical(memory_limit=10**9)
    found["page"] = reports.build(problem, solution, report)
    wrong = solution.replace(coef=None, expansion=np.full(3, np.nan))
    found["failed report"] = qpsvm.verify(problem, wrong)
    add("primal", qpsvm.SoftMargin(C=0.1).primal(sp.csr_array(X), y))
    add("regression", qpsvm.EpsilonRegression(C=0.01, epsilon=0.5).dual(X, t))
    add("one against one", qpsvm.OneVsOne(qpsvm.SoftMargin(C=0.01)).dual(X[:400], classes[:400]))
    add("joint", qpsvm.CrammerSinger(C=0.001).dual(X[:200], classes[:200]))
    found["audit"] = qpsvm.audit(
        SVC(kernel="linear", tol=0.1).fit(X[:300], y[:300]), X[:300], y[:300]
    )
    many = SVC(kernel="linear").fit(X[:200], np.arange(200) % 8)
    found["audit of many"] = qpsvm.audit(many, X[:200], np.arange(200) % 8, optimum=False)
    rows = tuple(
        reports.ComparisonRow("cvxopt", "linear", "dual", 0.1 * i, "FAIL", "no answer " * 20)
        for i in range(50)
    )
    found["comparison"] = reports.Comparison(rows, 1e-8)
    with pytest.raises(qpsvm.exceptions.NotSeparableError) as raised:
        qpsvm.solve(qpsvm.HardMargin().dual(X[:100], y[:100][::-1]))
    found["no optimum"] = raised.value.certificate if hasattr(raised.value, "certificate") else 0
    for kernel in (qpsvm.kernels.Linear(), qpsvm.kernels.RBF(gamma=0.5)):
        found[f"hessian of {kernel}"] = soft.dual(X, y, kernel=kernel).qp.P
    found["dense hessian"] = qpsvm.qp.DenseQuadratic(np.eye(N))
    found["sparse hessian"] = qpsvm.qp.SparseQuadratic(sp.eye_array(N, format="csc"))
    return found


def parts(name, thing, depth=3):
    """The object and what it consists of, with a name each."""
    yield name, thing
    if depth == 0 or not dataclasses.is_dataclass(thing):
        return
    for field in dataclasses.fields(thing):
        value = getattr(thing, field.name)
        pieces = value[:3] if isinstance(value, tuple) else (value,)
        for piece in pieces:
            if type(piece).__module__.startswith("qpsvm."):
                yield from parts(f"{name}.{field.name}", piece, depth - 1)


def test_every_repr_fits_a_screen():
    count = 0
    for name, thing in results().items():
        for where, part in parts(name, thing):
            lines = repr(part).splitlines()
            assert len(lines) <= display.LINES, where
            assert max(map(len, lines)) <= display.COLUMNS, (where, repr(part))
            assert " object at 0x" not in repr(part), where
            count += 1
    assert count > 150


def test_every_text_fits_a_screen():
    for name, thing in results().items():
        for where, part in parts(name, thing):
            if not isinstance(part, DOCUMENTS):
                assert len(str(part).splitlines()) <= display.LINES, where


def test_what_is_left_out_can_be_reached_the_way_that_is_named():
    table = results()["soft margin report"].samples
    assert ".to_frame()" in repr(table)
    assert len(table.to_frame()) == N
    proof = results()["soft margin certificate"]
    assert ".to_dict()" in repr(proof)
    assert proof.to_dict()["relative_gap"] == proof.relative_gap


def test_a_certificate_prints_its_relative_gap_first():
    found = results()
    for name in ("soft margin", "primal", "regression", "one against one", "joint"):
        proof = found[f"{name} certificate"]
        assert str(proof).splitlines()[0].startswith(f"relative gap {proof.relative_gap:.2e}")
        assert f"relative gap {proof.relative_gap:.2e}" in repr(proof)
    proof = found["soft margin certificate"]
    assert f"{proof.dual_objective:.12g}" in str(proof)
    assert f"{proof.weight_error:.1e}" in str(proof)


def test_hessians_print_their_type_and_shape():
    for name in ("hessian of linear", "dense hessian", "sparse hessian"):
        P = results()[name]
        assert repr(P).startswith(f"{type(P).__name__}({N} x {N}")
    assert any(repr(P).startswith("KernelQuadratic(2000 x 2000") for P in results().values())


# --- tables ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["soft margin", "joint", "regression"])
def test_a_frame_of_samples_has_the_rows_of_the_table(name):
    table = results()[f"{name} report"].samples
    frame = table.to_frame()
    assert len(frame) == len(table)
    for i in (0, 7, len(table) - 1):
        assert frame.iloc[i].to_dict() == table.row(i)


def test_the_worst_rows_are_printed_first():
    table = results()["soft margin report"].samples
    second = repr(table).splitlines()[2].split()
    worst = table.row(int(table.worst_first()[0]))
    assert second[0] == str(worst["sample"])
    assert second[-1] == f"{worst['violation']:.4g}"


def test_other_tables_become_frames_of_their_length():
    found = results()
    assert list(found["soft margin bounds"].to_frame()) == ["values", "lower", "upper"]
    assert found["joint bounds"].to_frame().shape == (N, 3 * 4)
    assert found["predictions"].to_frame()["decided"].sum() == found["predictions"].decided.sum()
    statuses = found["screening"].to_frame()["status"].value_counts().to_dict()
    assert statuses == {k: v for k, v in found["screening"].counts.items() if v}
    report = found["soft margin report"]
    assert report.to_frame()["passed"].all() == report.passed
    assert found["comparison"].to_frame().shape == (50, 11)


def test_without_pandas_the_error_says_what_to_install(monkeypatch):
    table = results()["soft margin report"].samples
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingPackageError, match=r'pip install "qpsvm\[pandas\]"'):
        table.to_frame()
    assert "2000 rows" in repr(table)


# --- the pieces ------------------------------------------------------------------------------


def test_values_of_any_kind_are_one_short_line():
    values = [
        np.zeros((5, 5)), np.arange(3), np.array(["a" * 500] * 9), "x\n" * 900, b"y" * 900,
        sp.eye_array(9), {i: i for i in range(900)}, [[1] * 900] * 900, ("z" * 900,), None,
        object(),
    ]  # fmt: skip
    for value in values:
        for width in (100, 40):
            text = display.brief(value, width)
            assert len(text) <= width
            assert "\n" not in text


def test_many_fields_are_cut_and_counted():
    kind = dataclasses.make_dataclass("Wide", [(f"field_{i}", float, i) for i in range(60)])
    text = repr(display.short_repr(kind)())
    assert len(text.splitlines()) <= display.LINES
    assert "... 39 further fields" in text


def test_columns_that_do_not_fit_are_named():
    class Wide(display.ColumnTable):
        def columns(self):
            return {f"column_{i}": np.full(3, 1.0 / 3.0) for i in range(20)}

    text = repr(Wide())
    assert max(map(len, text.splitlines())) <= display.COLUMNS
    assert "further columns: column_" in text
