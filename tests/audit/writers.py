"""Plain arrays as model files: what LIBSVM's svm_save_model and LIBLINEAR's save_model write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np


def libsvm_text(
    coefficients: Any,
    vectors: Any,
    rho: Sequence[float],
    *,
    svm_type: str = "c_svc",
    kernel: Sequence[str] = ("kernel_type linear",),
    labels: Sequence[int] = (),
    n_sv: Sequence[int] = (),
    more: Sequence[str] = (),
    digits: int = 8,
    first: int = 1,
) -> str:
    """``vectors``: dense rows, or one integer each with a precomputed kernel.

    ``first`` is the index of the first feature: LIBSVM takes 0 as well.
    """
    coefficients, vectors = np.asarray(coefficients), np.asarray(vectors)
    lines = [
        f"svm_type {svm_type}",
        *kernel,
        f"nr_class {coefficients.shape[1] + 1}",
        f"total_sv {len(coefficients)}",
        "rho" + _listed(rho),
    ]
    if len(labels):
        lines.append("label" + "".join(f" {label:d}" for label in labels))
    lines += more
    if len(n_sv):
        lines.append("nr_sv" + "".join(f" {count:d}" for count in n_sv))
    lines.append("SV")
    for own, vector in zip(coefficients, vectors, strict=True):
        pairs = (
            f"0:{vector:d}"
            if vector.ndim == 0
            else " ".join(f"{j}:{v:.{digits}g}" for j, v in enumerate(vector, first) if v != 0.0)
        )
        lines.append("".join(f"{c:.17g} " for c in own) + pairs + " ")
    return "\n".join(lines) + "\n"


def of_svc(model: Any, kernel: Sequence[str], first: int = 1) -> str:
    """A fitted ``SVC`` of scikit-learn, which keeps LIBSVM's numbers; labels are class numbers.

    For two classes it turns their signs around.
    """
    sign = -1.0 if len(model.classes_) == 2 else 1.0
    return libsvm_text(
        sign * model.dual_coef_.T,
        model.support_vectors_,
        -sign * model.intercept_,
        kernel=kernel,
        labels=range(len(model.classes_)),
        n_sv=model.n_support_,
        first=first,
    )


def liblinear_text(
    weights: Any, solver_type: str, *, n_features: int, bias: float, labels: Sequence[int] = ()
) -> str:
    """``weights``: one row per feature (and one for the bias), one column per class."""
    weights = np.asarray(weights)
    lines = [f"solver_type {solver_type}", f"nr_class {max(2, weights.shape[1])}"]
    if len(labels):
        lines.append("label" + "".join(f" {label:d}" for label in labels))
    lines += [f"nr_feature {n_features}", f"bias {bias:.17g}", "w"]
    lines += ["".join(f"{w:.17g} " for w in row) for row in weights]
    return "\n".join(lines) + "\n"


def _listed(values: Iterable[float]) -> str:
    return "".join(f" {value:.17g}" for value in values)
