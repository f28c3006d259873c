"""LIBSVM's model files of our estimators are read back with the same decision values."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm
from qpsvm.audits.files import LibsvmModel, read_model
from qpsvm.constraints import nonnegative
from qpsvm.estimators import SVC, SVDD, SVR, QuantileSVR
from qpsvm.exceptions import ModelFileError
from tests.estimators.saved_cases import ALL, CODES, IRIS, NAMED, PROGRESS, SUGAR, TWO
from tests.strategies import grid
from tests.tolerances import ROUNDING

WRITTEN = ("SVC two", "SVC ovo ties", "NuSVC ovo", "SVR", "NuSVR", "OneClassSVM")


def decisions(model: LibsvmModel, X: Any) -> Any:
    """Decision values as LIBSVM computes them (svm_predict_values), one column per pair."""
    if model.serials is not None:
        K = X[:, model.serials - 1]
    else:
        vectors = np.zeros((model.total_sv, X.shape[1]))
        vectors[:, : model.support_vectors.shape[1]] = model.support_vectors.toarray()
        K = model.kernel(X, vectors)
    if model.n_sv is None:
        return K @ model.coefficients - model.rho
    owner = np.repeat(np.arange(model.n_classes), model.n_sv)
    columns = []
    for i, j in itertools.combinations(range(model.n_classes), 2):
        weights = np.where(owner == i, model.coefficients[:, j - 1], 0.0)
        columns.append(K @ (weights + np.where(owner == j, model.coefficients[:, i], 0.0)))
    return np.column_stack(columns) - model.rho


def own_decisions(estimator: Any, X: Any) -> Any:
    """Our decision values, with LIBSVM's sign: positive for the first of a pair."""
    if not hasattr(estimator, "classes_"):
        return estimator._values(X)[:, None]
    values = estimator.set_params(decision_function_shape="ovo", break_ties=False)
    found = values.decision_function(X)
    return -found[:, None] if found.ndim == 1 else found


@grid(
    "kernel, name",
    [key for key in ALL if key[1] in WRITTEN],
)
def test_round_trips(kernel: str, name: str, tmp_path: Path) -> None:
    case = ALL[kernel, name]
    fitted, path = case.fitted(), tmp_path / "m.model"
    fitted.to_libsvm(path)
    model = read_model(path)
    assert isinstance(model, LibsvmModel)
    expected = own_decisions(fitted, case.new)
    found = decisions(model, case.new)
    assert np.allclose(found, expected, rtol=ROUNDING, atol=ROUNDING * np.abs(expected).max())
    assert np.array_equal(
        model.rho, (-1) ** (len(model.rho) == 1 and name[-3:] == "two") * -fitted.intercept_
    )
    text = path.read_text()
    fitted.save(tmp_path / "m.npz")
    qpsvm.load(tmp_path / "m.npz").to_libsvm(path)
    assert path.read_text() == text


def test_support_vectors_are_exact(tmp_path: Path) -> None:
    X = np.column_stack([IRIS / 3.0, np.zeros(len(IRIS))])
    X[0] = 0.0
    fitted = SVC(C=5.0).fit(X, CODES)
    fitted.to_libsvm(tmp_path / "m.model")
    model = read_model(tmp_path / "m.model")
    rows = model.training_rows(X, CODES)
    assert np.array_equal(rows, fitted._all_coefficients.support)
    assert model.sv_digits == 17
    assert model.gamma == fitted.solution_.solutions[0].kernel.gamma
    sparse = SVC(C=5.0, gamma=model.gamma).fit(sp.csr_array(X), CODES)
    sparse.to_libsvm(tmp_path / "s.model")
    assert np.allclose(
        decisions(read_model(tmp_path / "s.model"), X), decisions(model, X), atol=1e-6
    )


def test_the_header_is_that_of_svm_save_model(tmp_path: Path) -> None:
    fitted = SVC(kernel="poly", degree=2, gamma=0.5, coef0=1.0).fit(IRIS, CODES)
    fitted.to_libsvm(tmp_path / "m.model")
    keys = [line.split(" ")[0] for line in (tmp_path / "m.model").read_text().splitlines()]
    header = "svm_type kernel_type degree gamma coef0 nr_class total_sv rho label nr_sv SV"
    assert keys[:11] == header.split()
    assert re.match(
        r"svm_type c_svc\nkernel_type polynomial\ndegree 2\ngamma 0.5\ncoef0 1.0\n",
        (tmp_path / "m.model").read_text(),
    )


def test_an_audit_of_the_file_passes(tmp_path: Path) -> None:
    SVC(C=3.0).fit(IRIS, CODES).to_libsvm(tmp_path / "m.model")
    assert qpsvm.audit(tmp_path / "m.model", IRIS, CODES, C=3.0).passed


@pytest.mark.parametrize(
    ("fitted", "words"),
    [
        (SVC().fit(IRIS, NAMED), "whole numbers of 32 bits"),
        (SVC().fit(IRIS, TWO > 0), "whole numbers of 32 bits"),
        (SVC().fit(IRIS, TWO + 2**40), "whole numbers of 32 bits"),
        (SVC(multi_class="ovr").fit(IRIS, CODES), "multi_class='ovr'; fit with multi_class='ovo'"),
        (SVC(multi_class="crammer_singer").fit(IRIS, TWO), "multi_class='crammer_singer'"),
        (SVDD().fit(IRIS), "LIBSVM has no SVDD"),
        (QuantileSVR().fit(SUGAR, PROGRESS), "LIBSVM has no QuantileSVR"),
        (SVR(kernel=lambda X, Z: X @ Z.T).fit(SUGAR, PROGRESS), "precomputed"),
        (
            SVC(kernel="linear", constraints=nonnegative(0)).fit(IRIS, TWO),
            "no combination of support vectors",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_refusals(fitted: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=words):
        fitted.to_libsvm(tmp_path / "m.model")
    assert not list(tmp_path.iterdir())
    with pytest.raises(ModelFileError, match="choose another path"):
        SVC().fit(IRIS, TWO).to_libsvm(tmp_path / "no" / "m.model")
