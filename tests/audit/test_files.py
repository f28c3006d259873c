"""Models that LIBSVM, LIBLINEAR and ThunderSVM wrote, and plain numbers, against their programs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn import datasets
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC

import qpsvm
from qpsvm import models
from qpsvm.audits.files import read_model
from qpsvm.exceptions import AuditRefusedError, ModelFileError
from tests.audit.foreign_models.data import CLASSES, N_DECISIONS, TARGETS, TWO, X
from tests.audit.writers import liblinear_text, libsvm_text, of_svc
from tests.tolerances import AUDITED, EIGHT_DIGITS, SINGLE_PRECISION

FOLDER = Path(__file__).parent / "foreign_models"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))

# file: (X, labels or targets, what the file does not say, the largest gap its tolerance leaves)
FILES = {
    "libsvm_linear": (X, TWO, {"C": 0.7}, 1e-3),
    "libsvm_rbf": (X, CLASSES, {}, 1e-2),
    "libsvm_polynomial": (X, CLASSES, {}, 1e-2),
    "libsvm_precomputed": (X @ X.T, TWO, {"C": 1.0}, 1e-3),
    "libsvm_probability": (X, CLASSES, {}, 1e-2),
    "libsvm_nu_svc": (X, TWO, {}, 1e-2),
    "libsvm_one_class": (X, None, {}, 1e-2),
    "libsvm_epsilon_svr": (X, TARGETS, {"epsilon": 0.05}, 1e-2),
    "libsvm_nu_svr": (X, TARGETS, {}, 1e-2),
    "libsvm_no_support_vectors": (X, TARGETS, {"C": 1.0, "epsilon": 100.0}, 1e-8),
    "liblinear_L2R_L2LOSS_SVC_DUAL": (X, TWO, {"C": 1.0}, 0.05),
    "liblinear_L2R_L2LOSS_SVC": (X, CLASSES, {"C": 1.0}, 1e-3),
    "liblinear_L1R_L2LOSS_SVC": (X, TWO, {"C": 1.0}, 0.2),
    "liblinear_L2R_L1LOSS_SVC_DUAL": (X, TWO, {"C": 1.0}, 0.05),
    "liblinear_MCSVM_CS": (X, TWO, {"C": 1.0}, 0.4),
    "liblinear_L2R_L2LOSS_SVR": (X, TARGETS, {"C": 1.0, "epsilon": 0.1}, 1e-2),
    "liblinear_L2R_L2LOSS_SVR_DUAL": (X, TARGETS, {"C": 1.0, "epsilon": 0.1}, 0.05),
    "liblinear_L2R_L1LOSS_SVR_DUAL": (X, TARGETS, {"C": 1.0, "epsilon": 0.1}, 0.3),
    "liblinear_ONECLASS_SVM": (X, None, {"nu": 0.5}, 0.05),
    "thundersvm_rbf": (X, CLASSES, {}, 1e-2),
    "thundersvm_linear": (X, (CLASSES > 0).astype(int), {"C": 1.0}, 1e-2),
    "thundersvm_svr": (X, TARGETS, {"C": 1.0, "epsilon": 0.1}, 1e-2),
}
EVERY = pytest.mark.parametrize("name", FILES)


def audited(name, eps=1e-6, **changes):
    samples, y, more, _ = FILES[name]
    return qpsvm.audit(FOLDER / f"{name}.model", samples, y, eps=eps, **more | changes)


@pytest.mark.parametrize("name", [name for name in FILES if "decisions" in EXPECTED[name]])
def test_the_machines_of_a_file_decide_as_its_library_does(name):
    theirs = np.array(EXPECTED[name]["decisions"], dtype=float).reshape(N_DECISIONS, -1)
    size = max(1.0, np.abs(theirs).max())
    tolerance = size * (SINGLE_PRECISION if name.startswith("thundersvm") else EIGHT_DIGITS)
    found = audited(name)
    columns = theirs.T[:1] if "MCSVM" in name else theirs.T
    for machine, values in zip(found.machines, columns, strict=True):
        data = machine.problem.data
        ours = machine.factor * machine.solution.decision_function(data.X)
        ours = ours[:, 1] if ours.ndim == 2 else ours  # the library reports its first label, 1
        rows = np.flatnonzero(data.kept < N_DECISIONS)
        np.testing.assert_allclose(ours[rows], values[data.kept[rows]], rtol=0, atol=tolerance)


@EVERY
def test_its_gap_is_what_the_tolerance_of_the_library_leaves(name):
    found, allowed = audited(name), FILES[name][3]
    assert found.relative_gap <= allowed  # of another program it would be of order 1
    assert found.predictions_differ in (0, None)


@pytest.mark.parametrize("wrong", [0.3, 2.0])
@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        ("libsvm_rbf", "C"),
        ("libsvm_nu_svc", "nu"),
        ("libsvm_one_class", "nu"),
        ("libsvm_epsilon_svr", "epsilon"),
        ("liblinear_L2R_L2LOSS_SVC", "C"),
        ("liblinear_ONECLASS_SVM", "nu"),
    ],
)
def test_with_another_parameter_it_is_not_optimal(name, parameter, wrong):
    right = {"libsvm_rbf": 10.0, "libsvm_nu_svc": 0.3, "libsvm_one_class": 0.2}
    value = FILES[name][2].get(parameter, right.get(name))
    own, other = audited(name), audited(name, **{parameter: wrong * value})
    assert not other.passed
    assert other.relative_gap > 3 * own.relative_gap


def test_parameters_of_the_training_are_told_from_the_coefficients():
    for name, parameter, value in (
        ("libsvm_rbf", "C", 10.0),
        ("libsvm_nu_svc", "nu", 0.3),
        ("libsvm_nu_svr", "nu", 0.4),
        ("thundersvm_rbf", "C", 10.0),
    ):
        found = audited(name)
        formulation = found.machines[0].problem.formulation
        assert getattr(formulation, parameter) == pytest.approx(value, rel=1e-6)
        assert any(f"{parameter} = " in remark and "inferred" in remark for remark in found.remarks)


def test_where_they_cannot_be_told_they_are_asked_for():
    with pytest.raises(AuditRefusedError, match=r"does not store its C.*pass C"):
        audited("libsvm_linear", C=None)
    with pytest.raises(AuditRefusedError, match=r"does not store the epsilon.*pass epsilon"):
        audited("libsvm_epsilon_svr", epsilon=None)
    with pytest.raises(AuditRefusedError, match=r"does not store the C"):
        audited("liblinear_MCSVM_CS", C=None)
    with pytest.raises(AuditRefusedError, match=r"nu was given"):
        audited("libsvm_rbf", nu=0.5)


def test_two_equal_coefficients_of_different_sides_are_no_bound(tmp_path):
    # two support vectors, one of each side: their alphas are the same at every C
    far, y = np.array([[0.0], [0.1], [5.0], [5.1]]), [0, 0, 1, 1]
    model = SVC(C=1000.0, kernel="linear", tol=1e-10).fit(far, y)
    assert len(model.support_) == 2
    path = tmp_path / "far.model"
    path.write_text(of_svc(model, ("kernel_type linear",)))
    with pytest.raises(AuditRefusedError, match="pass C"):
        qpsvm.audit(path, far, y)
    assert qpsvm.audit(path, far, y, C=1000.0, eps=1e-6).passed


@pytest.mark.parametrize("name", ["L2R_LR", "L1R_LR", "L2R_LR_DUAL"])
def test_what_is_no_program_of_an_svm_is_refused(name):
    y = CLASSES if name in ("L2R_LR", "L2R_LR_DUAL") else TWO
    with pytest.raises(AuditRefusedError, match=f"{name}.*no|no program for {name} model"):
        qpsvm.audit(FOLDER / f"liblinear_{name}.model", X, y, C=1.0)


@pytest.mark.parametrize("name", ["libsvm_sigmoid", "thundersvm_one_class"])
def test_an_indefinite_kernel_is_refused_with_its_eigenvalue(name):
    y = CLASSES if name == "libsvm_sigmoid" else None
    with pytest.raises(AuditRefusedError, match=r"eigenvalue -\d.*not convex"):
        qpsvm.audit(FOLDER / f"{name}.model", X, y, **({"C": 1.0} if y is not None else {}))


def test_other_data_and_labels_are_refused():
    with pytest.raises(ModelFileError, match="no row of X"):
        qpsvm.audit(FOLDER / "libsvm_rbf.model", X + 1e-3, CLASSES)
    with pytest.raises(AuditRefusedError, match=r"classes 0, 1, 2, y has 1, 2, 3"):
        qpsvm.audit(FOLDER / "libsvm_rbf.model", X, CLASSES + 1)
    with pytest.raises(AuditRefusedError, match=r"X has 3 columns, .* has weights for 4"):
        qpsvm.audit(FOLDER / "liblinear_L2R_L2LOSS_SVC.model", X[:, :3], CLASSES, C=1.0)


# --- a file says what the model in memory says ----------------------------------------------------


@pytest.fixture
def wine():
    X, y = datasets.load_wine(return_X_y=True)
    return np.round((X - X.mean(axis=0)) / X.std(axis=0), 5), y  # five digits fit into eight


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", [SVC, NuSVC])
def test_a_libsvm_file_gives_the_same_audit_as_the_estimator(wine, tmp_path, kind, classes):
    X, y = (part[wine[1] < classes] for part in wine)
    options = {"C": 2.0} if kind is SVC else {"nu": 0.2}
    model = kind(gamma=0.1, **options).fit(X, y)
    path = tmp_path / "wine.model"
    kernel = ("kernel_type rbf", "gamma 0.1")
    text = of_svc(model, kernel)
    path.write_text(text.replace("c_svc", "c_svc" if kind is SVC else "nu_svc"))
    own, read = qpsvm.audit(model, X, y), qpsvm.audit(path, X, y, **options)
    assert read.remarks == ()
    for mine, theirs in zip(own.machines, read.machines, strict=True):
        np.testing.assert_allclose(mine.solution.alpha, theirs.solution.alpha, rtol=AUDITED)
        assert mine.solution.intercept == pytest.approx(theirs.solution.intercept, rel=AUDITED)
        assert mine.relative_gap == pytest.approx(theirs.relative_gap, rel=1e-6)
    assert own.predictions_differ == read.predictions_differ


@pytest.mark.parametrize("first_column", ["used", "zero"])
def test_a_model_of_data_counted_from_0_gives_the_same_audit(wine, tmp_path, first_column):
    """A file without an index 0 is counted as its support vectors are rows of X."""
    X, y = wine[0] * np.where(np.arange(13) == 0, first_column == "used", 1.0), wine[1]
    model, kernel = SVC(C=2.0, gamma=0.1).fit(X, y), ("kernel_type rbf", "gamma 0.1")
    found = []
    for first in (0, 1):
        path = tmp_path / f"wine{first}.model"
        path.write_text(of_svc(model, kernel, first))
        assert read_model(path).zero_based == (first == 0 and first_column == "used")
        found.append(qpsvm.audit(path, X, y, C=2.0))
    zero, one = found
    assert zero.remarks == one.remarks == ()
    assert zero.relative_gap == one.relative_gap
    for mine, theirs in zip(zero.machines, one.machines, strict=True):
        assert np.array_equal(mine.solution.alpha, theirs.solution.alpha)
    with pytest.raises(ModelFileError, match="does not match the data"):
        qpsvm.audit(tmp_path / "wine0.model", X[:, ::-1], y)


def test_a_liblinear_file_gives_the_same_audit_as_the_estimator(wine, tmp_path):
    X, y = wine
    for scaling in (1.0, 2.5):
        model = LinearSVC(C=0.3, intercept_scaling=scaling, random_state=0).fit(X, y)
        weights = np.vstack([model.coef_.T, model.intercept_ / scaling])
        text = liblinear_text(
            weights, "L2R_L2LOSS_SVC", n_features=13, bias=scaling, labels=[0, 1, 2]
        )
        path = tmp_path / "wine.model"
        path.write_text(text)
        own, read = qpsvm.audit(model, X, y), qpsvm.audit(path, X, y, C=0.3)
        for mine, theirs in zip(own.machines, read.machines, strict=True):
            assert mine.optimum.excess == pytest.approx(theirs.optimum.excess, rel=1e-3)


def test_rounded_support_vectors_are_told_and_the_rows_are_audited(wine, tmp_path):
    X, y = wine[0] / 3.0, wine[1] > 0  # more digits than the file has
    model = SVC(C=2.0, gamma=0.1).fit(X, y.astype(int))
    path = tmp_path / "wine.model"
    path.write_text(of_svc(model, ("kernel_type rbf", "gamma 0.1")))
    read = qpsvm.audit(path, X, y.astype(int), C=2.0)
    assert any("8 digits" in remark for remark in read.remarks)
    own = qpsvm.audit(model, X, y.astype(int))
    assert read.relative_gap == pytest.approx(own.relative_gap, rel=1e-6)


def test_a_support_vector_regression_as_a_file(wine, tmp_path):
    X, t = wine[0][:, 1:], wine[0][:, 0]
    model = SVR(gamma=0.1, epsilon=0.2).fit(X, t)
    text = libsvm_text(
        model.dual_coef_.T,
        model.support_vectors_,
        -model.intercept_,
        svm_type="epsilon_svr",
        kernel=("kernel_type rbf", "gamma 0.1"),
    )
    path = tmp_path / "wine.model"
    path.write_text(text)
    own, read = qpsvm.audit(model, X, t), qpsvm.audit(path, X, t, epsilon=0.2)
    assert read.relative_gap == pytest.approx(own.relative_gap, rel=1e-6)


def test_plain_arrays_as_json_and_in_any_order_of_classes(tmp_path):
    X = np.array([[0.0], [1.0], [2.0], [3.5]])
    y = np.array(["no", "no", "yes", "yes"])
    solution = qpsvm.solve(qpsvm.SoftMargin(C=5.0).dual(X, y), eps=1e-10)
    path = tmp_path / "model.json"
    content = {
        "formulation": {"name": "SoftMargin", "C": 5.0},
        "alpha": solution.alpha.tolist(),
        "coef": solution.coef.tolist(),
        "intercept": solution.intercept,
        "classes": ["no", "yes"],
    }
    path.write_text(json.dumps(content))
    assert qpsvm.audit(path, X, y).passed
    turned = content | {
        "classes": ["yes", "no"],
        "coef": (-solution.coef).tolist(),
        "intercept": -solution.intercept,
    }
    path.write_text(json.dumps(turned))
    assert qpsvm.audit(path, X, y).passed
    path.write_text(json.dumps(turned | {"classes": ["no", "yes"]}))
    assert not qpsvm.audit(path, X, y).passed
    path.write_text(json.dumps({"coef": [1.0], "intercept": 0.0}))
    with pytest.raises(AuditRefusedError, match="does not name the program"):
        qpsvm.audit(path, X, y)


def test_a_model_file_of_our_own(tmp_path):
    X, y = datasets.load_iris(return_X_y=True)
    X, y = X[y > 0], y[y > 0]
    problem = qpsvm.SoftMargin(C=3.0).dual(X, y, kernel="rbf")
    solution = qpsvm.solve(problem)
    path = tmp_path / "model.npz"
    models.save(path, problem, solution, qpsvm.verify(problem, solution))
    found = qpsvm.audit(path, X, y)
    assert found.passed
    assert found.predictions_differ == 0
    changed = read_model(path)
    machine = changed.machine.replace(expansion=changed.machine.expansion * 1.01)
    object.__setattr__(changed, "machine", machine)
    with pytest.raises(AuditRefusedError, match="predicts with other numbers"):
        qpsvm.audit(changed, X, y)
    with pytest.raises(ModelFileError, match="other"):
        qpsvm.audit(path, X[::-1], y)
    with pytest.raises(AuditRefusedError, match="leave sample_weight out"):
        qpsvm.audit(path, X, y, sample_weight=np.ones(len(y)))
