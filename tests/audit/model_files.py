"""Small model files, and what is true of every model that was read."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from qpsvm.audits import Arrays
from qpsvm.audits.files import LiblinearModel, LibsvmModel, read_model
from qpsvm.exceptions import ModelFileError, QPSVMError
from tests.audit.foreign_models.data import LIBLINEAR
from tests.audit.writers import liblinear_text, libsvm_text
from tests.strategies import examples

FOLDER = Path(__file__).parent / "foreign_models"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
EXAMPLES = settings(
    max_examples=examples(150),
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

SMALL = libsvm_text(
    [[0.75], [0.25], [-1.0]],
    [[0.25, 0.0, 1.0], [0.0, 0.5, 0.0], [2.0, 0.125, 0.0]],
    [0.1],
    kernel=("kernel_type rbf", "gamma 0.5"),
    labels=(1, -1),
    n_sv=(2, 1),
)
LINEAR = liblinear_text(
    [[0.5], [-0.25], [0.125]], "L2R_L1LOSS_SVC_DUAL", n_features=2, bias=1.0, labels=(1, -1)
)
PLAIN = {
    "formulation": {"name": "SoftMargin", "C": 1.0, "intercept": "free"},
    "kernel": {"name": "rbf", "gamma": 0.5},
    "classes": ["no", "yes"],
    "alpha": [0.5, 0.25, 0.25],
    "intercept": 0.1,
}
LIBLINEAR_CLASSIFIERS = [name for name in LIBLINEAR if "SVR" not in name and "ONE" not in name]


def parse(folder: Path, content: str | bytes) -> Any:
    """The model in a file with this content."""
    path = folder / "model"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_model(path)


def load_or_error(path: Path) -> tuple[Any, QPSVMError | None]:
    """The model in a file, or what is wrong with it; other exceptions pass."""
    try:
        return read_model(path), None
    except QPSVMError as error:
        return None, error


def npz_of(entries: dict[str, Any], save: Any = np.savez) -> bytes:
    """Plain numbers as NPZ."""
    stream = io.BytesIO()
    save(
        stream,
        **{
            key: json.dumps(value) if isinstance(value, dict) else value
            for key, value in entries.items()
        },
    )
    return stream.getvalue()


def require_sound(model: Any) -> None:
    """What is true of every model that was read."""
    arrays = [value for value in vars(model).values() if isinstance(value, np.ndarray)]
    if isinstance(model, LibsvmModel):
        require_sound_libsvm(model)
        if model.support_vectors is not None:
            arrays += [
                getattr(model.support_vectors, part) for part in ("data", "indices", "indptr")
            ]
    elif isinstance(model, LiblinearModel):
        m = model.n_classes if model.solver_type == "MCSVM_CS" or model.n_classes > 2 else 1
        assert model.coef.shape[0] == m
        assert (model.labels is None) == (model.solver_type not in LIBLINEAR_CLASSIFIERS)
        assert (model.bias_weights is None) == (model.bias < 0)
        assert model.intercept.shape == (m,)
        assert (model.rho is None) == (model.solver_type != "ONECLASS_SVM")
        assert math.isfinite(model.bias + (model.rho or 0.0))
    else:
        assert isinstance(model, Arrays)
        assert model.alpha is not None or model.coef is not None
        assert np.isfinite(model.intercept).all()
    for array in arrays:
        assert np.isfinite(array).all()
        assert not array.flags.writeable
    with pytest.raises(AttributeError):
        model.source = "elsewhere"


def require_sound_libsvm(model: LibsvmModel) -> None:
    k, n = model.n_classes, model.total_sv
    assert model.rho.shape == (k * (k - 1) // 2,)
    assert model.coefficients.shape == (n, k - 1)
    assert (model.labels is None) == (model.n_sv is None) == (model.svm_type[-3:] != "svc")
    if model.labels is not None:
        assert len(set(model.labels.tolist())) == k == len(model.n_sv)
        assert model.n_sv.min() >= 0
        assert model.n_sv.sum() == n
    parameters = [value for value in (model.degree, model.gamma, model.coef0) if value is not None]
    assert np.isfinite(parameters).all()
    if model.kernel_type == "precomputed":
        assert model.support_vectors is None
        assert model.serials.shape == (n,)
        assert (model.serials >= 1).all()
    else:
        assert model.serials is None
        assert model.support_vectors.shape[0] == n
        model.support_vectors.check_format(full_check=True)
        assert model.support_vectors.has_canonical_format


def refused(folder: Path, content: str | bytes, words: str) -> None:
    """Such a content must be an error that says so, and what to do."""
    with pytest.raises(ModelFileError, match=words) as caught:
        parse(folder, content)
    message = str(caught.value)
    assert "model" in message
    assert message.endswith(".")
    assert len(message) < 1000
