"""Model files of other libraries are read to the last bit."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.svm import SVC

import qpsvm
from qpsvm.audits.files import LiblinearModel, LibsvmModel, read_model
from qpsvm.audits.rows import EXACT
from qpsvm.exceptions import ModelFileError
from tests.audit.foreign_models.data import N_DECISIONS, TWO, X
from tests.audit.model_files import (
    EXAMPLES,
    EXPECTED,
    FOLDER,
    LINEAR,
    PLAIN,
    SMALL,
    npz_of,
    parse,
    refused,
    require_sound,
)
from tests.audit.writers import liblinear_text, libsvm_text, of_svc
from tests.tolerances import EIGHT_DIGITS, ROUNDING, SINGLE_PRECISION

# --- what LIBSVM takes, too ---


def test_indices_count_from_0_where_one_of_them_is_0(tmp_path: Path) -> None:
    rows = {"coefficients": [[1.0], [-1.0]], "vectors": [[0.5, 2.0], [0.0, 3.0]], "rho": [0.0]}
    for first in (0, 1):
        model = parse(tmp_path, libsvm_text(**rows, svm_type="epsilon_svr", first=first))
        assert model.zero_based == (first == 0)
        assert model.support_vectors.toarray().tolist() == rows["vectors"]
        require_sound(model)
    other = model.counted_from_zero()
    assert other.zero_based
    assert other.support_vectors.toarray().tolist() == [[0.0, 0.5, 2.0], [0.0, 0.0, 3.0]]
    require_sound(other)
    assert other.counted_from_zero() is other


@pytest.mark.parametrize("text", [SMALL, LINEAR, json.dumps(PLAIN)], ids=["1", "2", "JSON"])
def test_a_byte_order_mark_is_no_part_of_a_model(tmp_path: Path, text: str) -> None:
    plain, marked = parse(tmp_path, text), parse(tmp_path, "\ufeff" + text)
    require_sound(marked)
    assert repr(vars(marked)) == repr(vars(plain))


@pytest.mark.parametrize(
    "comment",
    ["# scaled\n", "#\n\n  # 80 °C\n", "\n \t\n", "#" * 5000 + "\r\n", "\ufeff# scaled\n"],
)
@pytest.mark.parametrize("text", [SMALL, LINEAR], ids=["LIBSVM", "LIBLINEAR"])
def test_comments_and_empty_lines_come_before_a_model(
    tmp_path: Path, comment: str, text: str
) -> None:
    plain, read = parse(tmp_path, text), parse(tmp_path, comment + text.replace("\nrho", "\n\nrho"))
    require_sound(read)
    assert repr(read.kernel if hasattr(read, "kernel") else read.coef) == repr(
        plain.kernel if hasattr(plain, "kernel") else plain.coef
    )
    line = comment.count("\n") + 2
    wrong = text.replace("nr_class", "nr_klass").replace("kernel_type", "kernel_typ")
    refused(tmp_path, comment + wrong, f"line {line}: 'kernel_typ'|line {line}: 'nr_klass'")


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
def test_everything_a_libsvm_file_says_is_kept(tmp_path: Path, made: Any, line_end: str) -> None:
    model = parse(tmp_path, libsvm_text(**made).replace("\n", line_end))
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
    tmp_path: Path, data: Any, d: int, m: int, bias: float
) -> None:
    n = d + (bias >= 0)
    entries = st.floats(-1e300, 1e300)  # times bias they are finite
    weights = np.array(data.draw(st.lists(entries, min_size=n * m, max_size=n * m)))
    weights, labels = weights.reshape(n, m), range(max(2, m))
    solver = "MCSVM_CS" if m == 2 else "L2R_LR"
    model = parse(tmp_path, liblinear_text(weights, solver, n_features=d, bias=bias, labels=labels))
    require_sound(model)
    assert np.array_equal(model.coef, weights[:d].T)
    assert (model.bias_weights is None) == (bias < 0)
    assert bias < 0 or np.array_equal(model.bias_weights, weights[d])


@pytest.mark.parametrize("two", [True, False])
def test_files_of_models_that_scikit_learn_fitted(tmp_path: Path, two: bool) -> None:
    data, y = load_iris(return_X_y=True)
    data, y = (data[50:] / 3, y[50:] - 1) if two else (data / 3, y)
    fitted = SVC(gamma=0.3, C=5.0).fit(data, y)
    model = parse(tmp_path, of_svc(fitted, ("kernel_type rbf", "gamma 0.3")))
    values = decisions_of(model, data)
    expected = SVC(gamma=0.3, C=5.0, decision_function_shape="ovo").fit(data, y)
    expected = expected.decision_function(data)
    assert np.allclose(values, -expected[:, None] if two else expected, atol=EIGHT_DIGITS)
    assert np.array_equal(data[model.training_rows(data, y)], data[fitted.support_])


def test_weights_beside_the_support_vectors(tmp_path: Path) -> None:
    """ThunderSVM writes them for linear kernels, in a line of their own."""
    text = libsvm_text(
        [[0.5], [-0.5]], [[1.0, 2.0], [3.0, 0.0]], [0.25], labels=(0, 1), n_sv=(1, 1)
    )
    text = text.replace("SV\n", "coef \n-1 1 \nSV \n")
    model = parse(tmp_path, text)
    assert model.written_by == "ThunderSVM"
    assert model.first_sv_line == 11
    refused(tmp_path, text.replace("-1 1 \n", "-1 nan \n"), "line 9: coef value 2 is 'nan'")
    refused(tmp_path, text.replace("-1 1 \n", "\n"), "line 9: coef has 0 values")
    refused(tmp_path, text.replace("linear", "rbf"), "coef does not belong to a c_svc model")


def test_a_precomputed_kernel_has_one_serial_per_line(tmp_path: Path) -> None:
    text = libsvm_text(
        [[0.5], [-0.5]],
        [3, 1],
        [0.0],
        kernel=("kernel_type precomputed",),
        labels=(0, 1),
        n_sv=(1, 1),
    )
    model = parse(tmp_path, text)
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
        refused(tmp_path, text.replace("0:3", new), f"line 9: {words}")
    with pytest.raises(ModelFileError, match="another support vector has it too"):
        parse(tmp_path, text.replace("0:3", "0:1")).training_rows(np.eye(3))


def test_how_many_digits_were_printed(tmp_path: Path) -> None:
    for vectors, digits in [
        ([[0.5], [0.25]], 8),
        ([[0.123456789], [0.25]], 9),
        ([[100.000000001], [0.25]], 12),
        ([[2 / 3], [0.25]], 17),
    ]:
        text = libsvm_text([[1.0], [-1.0]], vectors, [0.5], labels=(0, 1), n_sv=(1, 1), digits=17)
        text = text.replace(f"{vectors[0][0]:.17g}", repr(vectors[0][0]))
        model = parse(tmp_path, text)
        assert model.sv_digits == (EXACT if digits == 17 else digits)
        assert model.training_rows([[0.25], vectors[0]], [1, 0]).tolist() == [1, 0]
        assert model.parameter_digits == 6
    assert parse(tmp_path, SMALL).parameter_digits == EXACT  # rho is 0.10000000000000001


# --- plain numbers ---


@pytest.mark.parametrize("encode", [json.dumps, npz_of], ids=["json", "npz"])
def test_plain_numbers(tmp_path: Path, encode: Any) -> None:
    model = parse(tmp_path, encode(PLAIN))
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
    model = parse(tmp_path, encode(joint))
    require_sound(model)
    assert model.formulation.class_weight[1] == 2.0
    assert model.coef.shape == (3, 2)
    assert model.intercept.tolist() == [0.0, 0.0, 0.0]


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


# --- the page that describes them -------------------------------------------------------------

PAGE = Path(__file__).resolve().parents[2] / "docs" / "model_files.md"


def test_the_examples_of_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    names: dict[str, object] = {}
    for language, text in blocks:
        if language == "json":
            require_sound(parse(tmp_path, text))
        elif language == "python":
            exec(compile(text, str(PAGE), "exec"), names)
        else:
            assert capsys.readouterr().out == text
    assert [language for language, _ in blocks].count("text") == 4
