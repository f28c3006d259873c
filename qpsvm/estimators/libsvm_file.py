"""Writing of fitted estimators in the text format of LIBSVM's model files.

The layout is that of ``svm_save_model``; ``audits/libsvm_model.py`` shows a file. Numbers are
written with as many digits as it takes to read the same double again. Of a pair of classes i < j
decision values are positive for i, the first of ``label``; rho is minus the intercept.

Source: ``svm_save_model`` and ``svm_load_model`` in LIBSVM 3.37 (svm.cpp).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.exceptions import ModelFileError
from qpsvm.io import files
from qpsvm.kernels import Kernel, Linear, Polynomial, Precomputed, Sigmoid
from qpsvm.numerics.arguments import Samples
from qpsvm.numerics.arrays import Array, Dense, Index

TYPES = {
    "SVC": "c_svc",
    "NuSVC": "nu_svc",
    "OneClassSVM": "one_class",
    "SVR": "epsilon_svr",
    "NuSVR": "nu_svr",
}
"""Estimators that LIBSVM has, with the names of their programs there."""

_LABELS = np.iinfo(np.int32)


def write(estimator: object, vectors: Any, path: str | os.PathLike[str]) -> None:
    """Write a model file, completely or not at all.

    Raises
    ------
    ModelFileError
        A program, kernel, label or combination of classes that LIBSVM does not have; a path that
        cannot be written.
    """
    text = "\n".join(lines(estimator, vectors)) + "\n"
    with files.writing(path, "model", ModelFileError) as stream:
        stream.write(text.encode())


def lines(estimator: Any, vectors: Any) -> Iterator[str]:
    """Yield the lines of a model file, without line ends.

    Raises
    ------
    ModelFileError
        As ``write``.
    """
    name = type(estimator).__name__
    if name not in TYPES:
        raise ModelFileError(
            f"LIBSVM has no {name}; it has {', '.join(TYPES)}. Use save() or to_onnx()."
        )
    if estimator.constraints is not None:
        raise ModelFileError(
            f"This {name} has constraints, which add to the weights what is no combination of "
            "support vectors; LIBSVM has no such models: use save() or to_onnx()."
        )
    classes = getattr(estimator, "classes_", None)
    k = 2 if classes is None else len(classes)
    labels = None if classes is None else _labels(classes)
    coefficients, intercepts = vectors.dual_coef, vectors.intercept
    if len(coefficients) != k - 1:
        raise ModelFileError(
            f"LIBSVM has a machine for every pair of classes, this {name} has "
            f"multi_class={estimator.multi_class!r}; fit with multi_class='ovo', or use save() or "
            "to_onnx()."
        )
    if labels is not None and k == 2:  # ours is positive for the second class
        coefficients, intercepts = -coefficients, -intercepts
    kernel = vectors.machines[0].kernel
    yield f"svm_type {TYPES[name]}"
    yield from _kernel(kernel)
    yield f"nr_class {k}"
    yield f"total_sv {len(vectors.support)}"
    yield f"rho {_numbers(-intercepts)}"
    if labels is not None:
        counts = np.bincount(vectors.codes[vectors.support], minlength=k)
        yield f"label {' '.join(map(str, labels))}"
        yield f"nr_sv {' '.join(map(str, counts.tolist()))}"
    yield "SV"
    first = 0 if getattr(estimator, "zero_based_", False) else 1
    yield from _support_vectors(kernel, vectors.support, vectors.samples, coefficients, first)


def _labels(classes: Array) -> list[int]:
    numbers = classes.dtype.kind in "iu" or (
        classes.dtype.kind == "f" and bool((classes == np.round(classes)).all())
    )
    if not numbers or classes.min() < _LABELS.min or classes.max() > _LABELS.max:
        raise ModelFileError(
            f"The labels are {', '.join(map(repr, classes[:3].tolist()))}; LIBSVM's are whole "
            "numbers of 32 bits: fit with such labels, numpy.unique(y, return_inverse=True)[1]."
        )
    return [int(label) for label in classes]


def _kernel(kernel: Kernel) -> Iterator[str]:
    """Yield the lines on the kernel."""
    known = {"linear", "polynomial", "rbf", "sigmoid", "precomputed"}
    if kernel.name not in known:
        raise ModelFileError(
            f"LIBSVM has no kernel {kernel}: it is code. Compute the matrix and fit with "
            "kernel='precomputed'."
        )
    yield f"kernel_type {kernel.name}"
    if isinstance(kernel, Polynomial):
        yield f"degree {int(kernel.degree)}"
    if not isinstance(kernel, Linear | Precomputed):
        yield f"gamma {float(kernel.gamma)!r}"  # type: ignore[attr-defined]
    if isinstance(kernel, Polynomial | Sigmoid):
        yield f"coef0 {float(kernel.coef0)!r}"


def _support_vectors(
    kernel: Kernel, support: Index, samples: Samples, coefficients: Dense, first: int
) -> Iterator[str]:
    """Yield a line for each support vector: coefficients, then index:value from ``first`` on."""
    columns = coefficients.T
    if isinstance(kernel, Precomputed):
        for own, row in zip(columns, support.tolist(), strict=True):
            yield f"{_numbers(own)} 0:{row + 1}"
        return
    matrix = sp.csr_array(samples)
    matrix.eliminate_zeros()
    for i, own in enumerate(columns):
        entries = slice(matrix.indptr[i], matrix.indptr[i + 1])
        places, values = matrix.indices[entries].tolist(), matrix.data[entries].tolist()
        pairs = (f"{j + first}:{float(v)!r}" for j, v in zip(places, values, strict=True))
        yield " ".join([_numbers(own), *pairs])


def _numbers(values: Dense) -> str:
    # adding zero makes -0.0 the other zero
    return " ".join(repr(float(value) + 0.0) for value in values)
