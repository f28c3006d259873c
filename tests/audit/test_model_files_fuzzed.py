"""Model files with random changes: an error, or a model in which everything fits."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from qpsvm.audits.files import LiblinearModel, LibsvmModel, read_model
from qpsvm.exceptions import ModelFileError
from tests.audit.model_files import (
    EXAMPLES,
    FOLDER,
    LINEAR,
    PLAIN,
    SMALL,
    load_or_error,
    npz_of,
    require_sound,
)
from tests.audit.writers import liblinear_text, libsvm_text
from tests.strategies import examples

VALID = {
    **{
        name: (FOLDER / f"{name}.model").read_bytes()
        for name in (
            "libsvm_rbf",
            "libsvm_one_class",
            "libsvm_precomputed",
            "thundersvm_probability",
            "liblinear_L2R_LR",
            "liblinear_ONECLASS_SVM",
        )
    },
    "small": SMALL.encode(),
    "linear": LINEAR.encode(),
    "json": json.dumps(PLAIN).encode(),
    "npz": npz_of(PLAIN),
}
NASTY = [
    *("nan", "inf", "-inf", "-1", "0", "1e400", "-1e400", "1e-400", "9" * 40, "9" * 400),
    *("2147483647", "2147483648", "4294967296", "18446744073709551616", "1_0", "0x10", "1e5", ""),
    *("1:1", ":", "1:", "NaN", "+1", "--1", "1.", ".5", "1e", "True", "null", "[]", "{}", '""'),
]


@st.composite
def mutations(draw: Any) -> bytes:
    content = draw(st.sampled_from(sorted(VALID.items())))[1]
    for _ in range(draw(st.integers(1, 3))):
        content = draw(st.sampled_from(MUTATIONS))(draw, content)
    return content


def _truncate(draw: Any, content: bytes) -> bytes:
    return content[: draw(st.integers(0, len(content)))]


def _change_byte(draw: Any, content: bytes) -> bytes:
    at = draw(st.integers(0, len(content)))
    return content[:at] + draw(st.binary(min_size=1, max_size=2)) + content[at + 1 :]


def _insert(draw: Any, content: bytes) -> bytes:
    at = draw(st.integers(0, len(content)))
    new = draw(
        st.sampled_from([b"\xff\xfe", b"\0", b"\xc3", "１".encode(), b"\n", b"\r", b"\t", b" "])
    )
    return content[:at] + new + content[at:]


def _change_lines(draw: Any, content: bytes) -> bytes:
    lines = content.split(b"\n")
    i, j = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
    kind = draw(st.sampled_from(["repeat", "delete", "swap", "blank"]))
    if kind == "repeat":
        lines.insert(i, lines[j])
    elif kind == "delete":
        del lines[i]
    elif kind == "swap":
        lines[i], lines[j] = lines[j], lines[i]
    else:
        lines.insert(i, b"")
    return b"\n".join(lines)


def _change_word(draw: Any, content: bytes) -> bytes:
    words = content.split(b" ")
    i = draw(st.integers(0, len(words) - 1))
    words[i] = draw(st.sampled_from(NASTY)).encode()
    return b" ".join(words)


def _change_value(draw: Any, content: bytes) -> bytes:
    parts = content.split(b":")
    i = draw(st.integers(0, len(parts) - 1))
    parts[i] = draw(st.sampled_from(NASTY)).encode() + parts[i].lstrip(b"0123456789.")
    return b":".join(parts)


MUTATIONS = [_truncate, _change_byte, _insert, _change_lines, _change_word, _change_value]


@settings(EXAMPLES, max_examples=examples(1500))
@given(content=mutations())
def test_changed_files_are_refused_or_still_sound(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "fuzz"
    path.write_bytes(content)
    model, error = load_or_error(path)
    if model is None:
        assert isinstance(error, ModelFileError)
        assert repr(os.fspath(path)) in str(error)
        assert len(str(error)) < 2000
    else:
        require_sound(model)
        require_same_when_written_again(path, model)


@EXAMPLES
@given(content=st.binary(max_size=200), beginning=st.sampled_from(["", "svm_type ", "{", "PK\3\4"]))
def test_random_bytes_are_refused(tmp_path: Path, content: bytes, beginning: str) -> None:
    path = tmp_path / "fuzz"
    path.write_bytes(beginning.encode() + content)
    model, error = load_or_error(path)
    assert model is None
    assert isinstance(error, ModelFileError)


def require_same_when_written_again(path: Path, model: Any) -> None:
    if isinstance(model, LibsvmModel) and model.kernel_type != "precomputed":
        if model.support_vectors.shape[1] > 1000:
            return
        kernel = [f"kernel_type {model.kernel_type}"]
        for name in ("degree", "gamma", "coef0"):
            if getattr(model, name) is not None:
                kernel.append(f"{name} {getattr(model, name):.17g}")
        text = libsvm_text(
            model.coefficients,
            model.support_vectors.toarray(),
            model.rho,
            svm_type=model.svm_type,
            kernel=kernel,
            labels=() if model.labels is None else model.labels,
            n_sv=() if model.n_sv is None else model.n_sv,
            digits=17,
        )
        path.write_text(text)
        again = read_model(path)
        assert np.array_equal(again.coefficients, model.coefficients)
        assert np.array_equal(again.rho, model.rho)
        assert again.kernel_type == model.kernel_type
        d = min(again.support_vectors.shape[1], model.support_vectors.shape[1])
        first, second = (m.support_vectors.toarray()[:, :d] for m in (again, model))
        assert np.array_equal(first, second)
    if isinstance(model, LiblinearModel) and model.rho is None:
        weights = model.coef.T
        if model.bias_weights is not None:
            weights = np.vstack([weights, model.bias_weights])
        labels = () if model.labels is None else model.labels
        path.write_text(
            liblinear_text(
                weights,
                model.solver_type,
                n_features=model.coef.shape[1],
                bias=model.bias,
                labels=labels,
            )
        )
        again = read_model(path)
        assert np.array_equal(again.coef, model.coef)
        assert np.array_equal(again.intercept, model.intercept)
