"""Model files: exact round trips, and nothing in them is believed."""

from __future__ import annotations

import io
import os
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris

import qpsvm
from qpsvm import models
from qpsvm.exceptions import InvalidDataError, ModelFileError, QPSVMError
from qpsvm.qp import Status
from tests.models.sealing import change_metadata, members, reseal, rewrite
from tests.strategies import examples, listed

EPS = 1e-8
CASES = [
    (form, kernel)
    for form in ("dual", "primal")
    for kernel in (
        "linear",
        qpsvm.kernels.RBF(gamma=0.05),
        qpsvm.kernels.Polynomial(gamma=0.1, degree=2, coef0=1.0),
        "precomputed",
    )
]


def name_of(value):
    return value if isinstance(value, str) else str(value).partition("(")[0]


def training_data(n=100):
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:n]
    return (X - X.mean(axis=0)) / X.std(axis=0), np.array(["malignant", "benign"])[y[:n]]


def train(form="dual", kernel="linear", *, X=None, y=None, C=1.0, backend="osqp", **options):
    if X is None:
        X, y = training_data()
    if kernel == "precomputed":
        X = X @ X.T / X.shape[1]
    problem = getattr(qpsvm.SoftMargin(C=C, **options), form)(X, y, kernel=kernel)
    solution = qpsvm.solve(problem, backend, eps=EPS)
    return X, y, problem, solution, qpsvm.verify(problem, solution, eps=EPS)


@pytest.fixture
def saved(tmp_path):
    X, y, problem, solution, report = train(kernel=qpsvm.kernels.RBF(gamma=0.05))
    path = tmp_path / "model.npz"
    models.save(path, problem, solution, report)
    return path, X, y


# --- round trips -----------------------------------------------------------------------------


@pytest.mark.parametrize(("form", "kernel"), CASES, ids=name_of)
def test_round_trip_is_bit_exact(tmp_path, form, kernel):
    X, y, problem, solution, report = train(form, kernel)
    path = tmp_path / "model.npz"
    models.save(path, problem, solution, report)
    model = models.load(path)
    assert os.listdir(tmp_path) == ["model.npz"]
    assert model.formulation == problem.formulation
    assert model.kernel == problem.kernel
    assert model.form == form
    assert model.classes.tolist() == ["benign", "malignant"]
    again = model.solution(model.problem(X, y))
    for name in ("alpha", "expansion", "coef", "slack"):
        expected, found = getattr(solution, name), getattr(again, name)
        assert (expected is None) == (found is None), name
        assert expected is None or np.array_equal(expected, found), name
    for name in ("x", "z", "y", "z_lower", "z_upper"):
        assert np.array_equal(getattr(solution.qp, name), getattr(again.qp, name)), name
    assert again.intercept == solution.intercept
    assert again.intercept_interval == solution.intercept_interval
    assert again.qp.status is Status.UNKNOWN  # until it is verified
    assert model.programs[0].status is solution.qp.status
    assert again.qp.native_status == solution.qp.native_status
    assert again.qp.statistics.iterations == solution.qp.statistics.iterations
    verified = model.verify(X, y, eps=EPS)
    assert verified.passed
    assert qpsvm.verify(problem, again, eps=EPS).to_dict() == report.to_dict()
    assert np.array_equal(model.decision_function(X), solution.decision_function(X))
    assert np.array_equal(model.predict(X), solution.predict(X))


@pytest.mark.parametrize(
    "labels",
    [
        ["no", "yes"],
        [0, 1],
        [-1.5, 2.5],
        [False, True],
        np.array(["a", "b"], dtype=object),
        np.array([3, 7], dtype=np.uint8),
    ],
    ids=str,
)
def test_labels_keep_their_kind(tmp_path, labels):
    X, y = load_iris(return_X_y=True)
    y = np.asarray(labels)[y[:100]]
    X, y, problem, solution, report = train(X=X[:100], y=y)
    models.save(tmp_path / "m.npz", problem, solution, report)
    model = models.load(tmp_path / "m.npz")
    assert model.classes.dtype == problem.data.classes.dtype
    assert model.predict(X).tolist() == y.tolist()
    assert model.verify(X, y).passed


@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
@pytest.mark.parametrize("form", ["dual", "primal"])
def test_every_intercept(tmp_path, form, intercept):
    X, y, problem, solution, report = train(form, intercept=intercept)
    models.save(tmp_path / "m.npz", problem, solution, report)
    assert models.load(tmp_path / "m.npz").verify(X, y).passed


def test_hard_margin(tmp_path):
    X, y = load_iris(return_X_y=True)
    problem = qpsvm.HardMargin().dual(X[:100], y[:100])
    solution = qpsvm.solve(problem)
    models.save(tmp_path / "m.npz", problem, solution, qpsvm.verify(problem, solution))
    model = models.load(tmp_path / "m.npz")
    assert isinstance(model.formulation, qpsvm.HardMargin)
    assert model.verify(X[:100], y[:100]).passed


def test_sparse_data_may_come_back_dense(tmp_path):
    X, y = training_data()
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    _, _, problem, solution, report = train("dual", qpsvm.kernels.RBF(0.05), X=sp.csr_array(X), y=y)
    models.save(tmp_path / "m.npz", problem, solution, report)
    model = models.load(tmp_path / "m.npz")
    assert sp.issparse(model.machine.data.X)
    assert model.verify(sp.csr_matrix(X), y).passed
    assert model.verify(X, y).passed


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_scaling_travels_with_the_model(tmp_path, storage):
    X, y = load_breast_cancer(return_X_y=True)
    X, y = storage(X[:100]), y[:100]
    scaling = models.Scaling.fit(X)
    _, _, problem, solution, report = train(X=scaling(X), y=y)
    models.save(tmp_path / "m.npz", problem, solution, report, scaling=scaling)
    model = models.load(tmp_path / "m.npz")
    assert model.verify(X, y).passed
    assert np.array_equal(model.decision_function(X), solution.decision_function(scaling(X)))


def test_scaling_leaves_constant_columns_alone():
    X = np.column_stack([np.full(50, 0.1), np.arange(50.0)])
    scaling = models.Scaling.fit(X)
    assert scaling.scale[0] == 1.0
    assert np.allclose(scaling(X).std(axis=0), [0.0, 1.0])
    assert models.Scaling.fit(sp.csr_array(X)).scale[0] == 1.0


def test_feature_names_from_a_data_frame(tmp_path):
    import pandas

    X, y = load_iris(return_X_y=True)
    frame = pandas.DataFrame(X[:100], columns=["a", "b", "c", "d"])
    _, _, problem, solution, report = train(X=frame, y=y[:100])
    models.save(tmp_path / "m.npz", problem, solution, report)
    model = models.load(tmp_path / "m.npz")
    assert model.feature_names == ("a", "b", "c", "d")
    assert model.verify(frame, y[:100]).passed
    with pytest.raises(ModelFileError, match=r"Column 0 .* 'd'"):
        model.predict(frame[["d", "c", "b", "a"]])


# --- tampering -------------------------------------------------------------------------------


def is_accepted(path, X, y):
    """Whether a file is read and passes its verification."""
    try:
        return models.load(path).verify(X, y, eps=EPS).passed
    except ModelFileError:
        return False


@listed("form, kernel", CASES, quick=2)
def test_a_change_in_any_array_is_found(tmp_path, form, kernel):
    X, y, problem, solution, report = train(form, kernel)
    path = tmp_path / "model.npz"
    models.save(path, problem, solution, report)
    original = members(path)
    assert models.load(path).verify(X, y, eps=EPS).passed
    for name, array in original.items():
        if name.startswith("metadata") or array.size == 0:
            continue
        changed = array.copy()
        entry = np.unravel_index(np.argmax(np.abs(array)), array.shape)
        step = 1 if array.dtype.kind == "i" else 0.5 * max(1.0, abs(changed[entry]))
        changed[entry] -= step
        rewrite(path, original | {name: changed})
        with pytest.raises(ModelFileError, match=rf"{name}.*SHA-256"):
            models.load(path)
        reseal(path, original | {name: changed})
        assert not is_accepted(path, X, y), name


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_a_change_in_any_support_vector_is_found(tmp_path, storage):
    # an interior-point solver leaves weights of 1e-10: such rows hardly move a prediction
    X, y = training_data()
    X, y, problem, solution, report = train(
        "dual", qpsvm.kernels.RBF(0.05), X=storage(X), y=y, backend="cvxopt"
    )
    path = tmp_path / "model.npz"
    models.save(path, problem, solution, report)
    original = members(path)
    assert models.load(path).verify(X, y).passed
    name = "support_vectors_data" if sp.issparse(X) else "support_vectors"
    for at in range(0, original[name].size, 97):
        changed = original[name].copy()
        changed.flat[at] = np.nextafter(changed.flat[at], 10.0)
        reseal(path, original | {name: changed})
        assert not models.load(path).verify(X, y).passed


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["formulation"]["parameters"].update(C=2.0),
        lambda d: d["kernel"]["parameters"].update(gamma=0.06),
        lambda d: d["formulation"]["parameters"].update(intercept="penalized"),
    ],
)
def test_a_change_of_the_problem_is_found(saved, change):
    path, X, y = saved
    change_metadata(path, change)
    assert not models.load(path).verify(X, y, eps=EPS).passed


def test_claims_of_the_file_do_not_matter(saved):
    path, X, y = saved
    change_metadata(path, lambda d: d["machines"][0]["program"].update(status="failed"))
    assert models.load(path).verify(X, y, eps=EPS).passed


# --- other data ------------------------------------------------------------------------------


def test_other_data_are_refused(saved):
    path, X, y = saved
    model = models.load(path)
    changed = X.copy()
    changed[3, 4] += 1e-12
    order = np.arange(len(y))[::-1]
    labels = np.where(y == "benign", "good", "bad")
    for data, words in [
        ((X[:-1], y[:-1]), "99"),
        ((X[:, :-1], y), "29"),
        ((changed, y), "other values"),
        ((X[order], y[order]), "another order"),
        ((X, labels), "'bad' and 'good'"),
        ((X, np.where(y == "benign", 0, 1)), "labels 0 and 1"),
    ]:
        with pytest.raises(ModelFileError, match=words):
            model.problem(*data)
    with pytest.raises(InvalidDataError, match="rows"):
        model.problem(X, y[:-1])
    other = qpsvm.SoftMargin().dual(X[:50], y[:50])
    with pytest.raises(ModelFileError, match="50"):
        model.solution(other)


# --- what cannot be saved --------------------------------------------------------------------


def test_kernels_made_of_code_cannot_be_saved(tmp_path):
    _, _, problem, solution, report = train(kernel=lambda X, Z: X @ Z.T)
    with pytest.raises(ModelFileError, match="precomputed"):
        models.save(tmp_path / "m.npz", problem, solution, report)
    assert os.listdir(tmp_path) == []


def test_nan_cannot_be_saved(tmp_path):
    _, _, problem, solution, report = train()
    with pytest.raises(ModelFileError, match="intercept holds NaN"):
        models.save(tmp_path / "m.npz", problem, solution.replace(intercept=np.nan), report)


def test_dates_cannot_be_saved(tmp_path):
    X, y = load_iris(return_X_y=True)
    y = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")[y[:100]]
    try:
        _, _, problem, solution, report = train(X=X[:100], y=y)
    except InvalidDataError:
        return  # such labels do not even train
    with pytest.raises(ModelFileError, match="labels"):
        models.save(tmp_path / "m.npz", problem, solution, report)


def test_unwritable_path(tmp_path):
    _, _, problem, solution, report = train()
    with pytest.raises(ModelFileError, match="choose another path"):
        models.save(tmp_path / "no" / "m.npz", problem, solution, report)


def test_an_interrupted_write_leaves_the_old_file(saved, monkeypatch):
    path, _, _ = saved
    before = path.read_bytes()

    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    _, _, problem, solution, report = train()
    with pytest.raises(KeyboardInterrupt):
        models.save(path, problem, solution, report)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["model.npz"]


# --- broken and malicious files --------------------------------------------------------------


def test_missing_and_foreign_files(tmp_path):
    with pytest.raises(ModelFileError, match="No such file"):
        models.load(tmp_path / "no.npz")
    with pytest.raises(ModelFileError, match="directory"):
        models.load(tmp_path)
    np.savez(tmp_path / "other.npz", X=np.ones(3))
    with pytest.raises(ModelFileError, match="no metadata"):
        models.load(tmp_path / "other.npz")
    np.save(tmp_path / "array.npz.npy", np.ones(3))
    with pytest.raises(ModelFileError, match="not a readable NPZ"):
        models.load(tmp_path / "array.npz.npy")


def is_numeric(value):
    return value is None or value.dtype != object


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("alpha", None, "missing"),
        ("alpha", np.full(100, np.nan), "NaN"),
        ("alpha", np.ones(99), r"\(99,\)"),
        ("alpha", np.ones((100, 1)), "shape"),
        ("alpha", np.ones(100, dtype=np.float32), "float32"),
        ("alpha", np.array(["x"] * 100), "dtype"),
        ("alpha", np.array([1, "x"], dtype=object), "never loaded"),
        ("intercept", np.array([np.inf]), "NaN or infinite"),
        ("support_vectors", np.ones((3, 7)), "columns"),
        ("extra", np.ones(1), "unknown arrays: extra"),
        ("metadata", np.ones(4), "JSON"),
        ("metadata", np.frombuffer(b"{", dtype=np.uint8), "JSON"),
        ("metadata", np.frombuffer(b'{"a": NaN}', dtype=np.uint8), "NaN"),
        ("metadata", np.frombuffer(b"[" * 100_000, dtype=np.uint8), "JSON"),
        ("metadata", np.frombuffer(b'{"a": 1}', dtype=np.uint8), "something else"),
    ],
)
def test_wrong_members(saved, name, value, words):
    path, _, _ = saved
    arrays = members(path) | {name: value}
    arrays = {key: array for key, array in arrays.items() if array is not None}
    reseal(path, arrays) if name != "metadata" and is_numeric(value) else rewrite(path, arrays)
    with pytest.raises(ModelFileError, match=words):
        models.load(path)


def test_support_vectors_in_another_order_are_refused(saved):
    """Coefficients belong to rows in order: those of two samples would change places."""
    path, _, _ = saved
    arrays = members(path)
    for name in ("rows", "support_vectors"):
        arrays[name][[0, 1]] = arrays[name][[1, 0]]
    reseal(path, arrays)
    with pytest.raises(ModelFileError, match="no training samples in order"):
        models.load(path)


def test_targets_beyond_the_classes_are_refused(saved):
    path, _, _ = saved
    arrays = members(path)
    reseal(path, arrays | {"targets": arrays["targets"] + 1})
    with pytest.raises(ModelFileError, match="no places among the classes"):
        models.load(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d.update(format_version=99), "upgrade"),
        (lambda d: d.update(format_version=1), "version 1 .* save the model again"),
        (lambda d: d.update(n_samples=-1), "n_samples"),
        (lambda d: d.update(n_samples=10**30), "n_samples"),
        (lambda d: d.update(n_samples=True), "n_samples"),
        (lambda d: d.update(form="other"), "form"),
        (lambda d: d["kernel"].update(name="custom"), "unknown"),
        (lambda d: d["kernel"]["parameters"].update(gamma="scale"), "not a number"),
        (lambda d: d["kernel"]["parameters"].update(gamma=-1.0), "cannot be built"),
        (lambda d: d["kernel"]["parameters"].update(wrong=1), "cannot be built"),
        (lambda d: d["formulation"].update(name="SVMProblem"), "unknown"),
        (lambda d: d["formulation"]["parameters"].update(C=[1]), "C of SoftMargin"),
        (lambda d: d["formulation"]["parameters"].update(C={"name": "print"}), "not usable"),
        (lambda d: d["classes"].update(array=["b", "a"]), "order"),
        (lambda d: d["classes"].update(array=[1]), "classes"),
        (lambda d: d["classes"].update(dtype="<U99999999"), "classes"),
        (lambda d: d["classes"].update(dtype="nonsense"), "classes"),
        (lambda d: d.update(classes=None), "classes"),
        (lambda d: d["machines"][0]["program"].update(status="perfect"), "status"),
        (lambda d: d["machines"].append(d["machines"][0]), "instead"),
        (lambda d: d["machines"].clear(), "machines"),
        (lambda d: d["machines"][0]["shapes"].update(alpha=[-1]), "shapes"),
        (lambda d: d["machines"][0]["shapes"].update(alpha=[10, 10, 1]), "shapes"),
        (lambda d: d["machines"][0]["shapes"].pop("expansion"), "neither coef nor"),
        (lambda d: d.update(indefinite="maybe"), "indefinite"),
        (lambda d: d.update(constraints=3), "LinearConstraints"),
        (lambda d: d.update(sha256=3), "sha256"),
        (lambda d: d.update(feature_names=["a"]), "feature_names"),
        (lambda d: d.pop("fingerprint"), "fingerprint"),
    ],
)
def test_wrong_metadata(saved, change, words):
    path, _, _ = saved
    change_metadata(path, change)
    with pytest.raises(ModelFileError, match=words):
        models.load(path)


def header(shape, dtype="<f8"):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        stream, {"descr": dtype, "fortran_order": False, "shape": shape}
    )
    return stream.getvalue()


def test_huge_declared_sizes_are_refused_before_allocating(tmp_path):
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("alpha.npy", header((10**15,)) + b"12345678")
    with pytest.raises(ModelFileError, match="declares shape"):
        models.load(path)


def test_compressed_bombs_are_refused(tmp_path):
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("alpha.npy", header((2**20,)) + bytes(2**23))
    with pytest.raises(ModelFileError, match="compressed"):
        models.load(path)


def test_more_than_the_memory_limit_is_refused(saved, monkeypatch):
    path, _, _ = saved
    monkeypatch.setattr("qpsvm.io.members.default_memory_limit", lambda: 1000)
    with pytest.raises(ModelFileError, match="limit of 1,000 bytes"):
        models.load(path)


def test_members_twice_or_too_many(tmp_path):
    path = tmp_path / "twice.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for i in range(100):
            archive.writestr(f"a{i}.npy", b"")
    with pytest.raises(ModelFileError, match="100 members"):
        models.load(path)


@pytest.fixture(scope="module")
def file_bytes(tmp_path_factory):
    X, y = load_iris(return_X_y=True)
    _, _, problem, solution, report = train(
        "primal", qpsvm.kernels.RBF(gamma=0.5), X=X[40:60], y=y[40:60]
    )
    path = tmp_path_factory.mktemp("model") / "model.npz"
    models.save(path, problem, solution, report)
    return path.read_bytes(), X[40:60], y[40:60]


def load_or_error(path):
    try:
        return models.load(path), None
    except QPSVMError as error:
        return None, error


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    changes=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=4),
    cut=st.integers(0, 10**6),
    truncate=st.booleans(),
)
def test_changed_and_truncated_files_never_crash(tmp_path, file_bytes, changes, cut, truncate):
    content, X, y = file_bytes
    changed = bytearray(content)
    for at, value in changes:
        changed[at % len(changed)] = value
    if truncate:
        del changed[cut % len(changed) :]
    path = tmp_path / "fuzz.npz"
    path.write_bytes(bytes(changed))
    model, error = load_or_error(path)
    if model is None:
        assert isinstance(error, ModelFileError)
    else:  # the change hit padding, or a byte that was the same before
        assert model.verify(X, y, eps=EPS).passed


@settings(max_examples=examples(80), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=300))
def test_random_bytes_never_crash(tmp_path, content):
    path = tmp_path / "fuzz.npz"
    path.write_bytes(content)
    model, error = load_or_error(path)
    assert model is None
    assert isinstance(error, ModelFileError)


@pytest.mark.parametrize("name", ["n_samples", "n_given", "n_features", "both"])
@pytest.mark.parametrize("n", [2**40, 2**61])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
@pytest.mark.parametrize("is_classifier", [True, False])
def test_a_size_that_no_array_has_takes_no_memory(tmp_path, name, n, kernel, is_classifier):
    X, y = training_data(30)
    X = X @ X.T if kernel == "precomputed" else X
    family = qpsvm.SoftMargin() if is_classifier else qpsvm.OneClass(0.5)
    problem = family.dual(*((X, y) if is_classifier else (X,)), kernel=kernel)
    path = tmp_path / "m.npz"
    models.save(path, problem, qpsvm.solve(problem))
    sizes = {"n_samples": n, "n_given": n} if name == "both" else {name: n}
    change_metadata(path, lambda fields: fields.update(sizes))
    with pytest.raises(ModelFileError):
        models.load(path)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@settings(max_examples=examples(120), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), value=json_values)
def test_any_json_in_any_place_never_crashes(tmp_path, file_bytes, data, value):
    content, X, y = file_bytes
    path = tmp_path / "fuzz.npz"
    path.write_bytes(content)

    def change(fields):
        where = fields
        key = data.draw(st.sampled_from(sorted(fields)))
        while isinstance(where[key], dict) and where[key] and data.draw(st.booleans()):
            where = where[key]
            key = data.draw(st.sampled_from(sorted(where)))
        where[key] = value

    change_metadata(path, change)
    model, error = load_or_error(path)
    assert model is not None or isinstance(error, ModelFileError)
    if model is not None:
        try:
            model.verify(X, y, eps=EPS)
        except QPSVMError:
            return
