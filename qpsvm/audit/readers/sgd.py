"""Scikit-learn's ``SGDClassifier`` and ``SGDOneClassSVM``: stochastic gradient descent.

``SGDClassifier`` minimises ``alpha/2 |w|^2 + 1/n sum_i u_i loss(1 - s_i f(x_i))`` with a free
intercept and n the number of rows: divided by alpha that is ``SoftMargin(C = 1 / (alpha n))``.

``SGDOneClassSVM`` minimises, with ``f(x) = w'x - rho``::

    nu/2 |w|^2 - nu rho + 1/n sum_i u_i max(0, rho - w'x_i)

Divided by nu that is ``OneClass(nu n / sum_i u_i)``, whose weights add up to 1. Before version 1.9
scikit-learn had ``nu/4 |w|^2`` there: w and rho were twice those of the program.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm.audit.claims import Library, Reading
from qpsvm.audit.readers.inputs import Inputs
from qpsvm.audit.readers.linear import Weights
from qpsvm.exceptions import AuditRefusedError
from qpsvm.formulations import OneClass, SoftMargin

LOSSES = ("hinge", "squared_hinge")


def classifier(model: Any, inputs: Inputs) -> Reading:
    """``SGDClassifier`` with the hinge or squared hinge loss."""
    from sklearn.utils.class_weight import compute_class_weight

    if model.loss not in LOSSES:
        raise AuditRefusedError(
            f"This SGDClassifier has loss={model.loss!r}; only {' and '.join(map(repr, LOSSES))} "
            "are those of a support vector machine."
        )
    if model.penalty != "l2" and not (model.penalty == "elasticnet" and model.l1_ratio == 0):
        raise AuditRefusedError(
            f"This SGDClassifier has penalty={model.penalty!r}; only 'l2' is the |w|^2 of a "
            "support vector machine."
        )
    found = _weights(model, inputs, "intercept_")
    codes, classes = inputs.codes(model.classes_, len(found.weights)), model.classes_
    y = np.asarray(inputs.y).ravel()
    formulation = SoftMargin(
        1.0 / (float(model.alpha) * len(codes)),
        "free" if model.fit_intercept else "none",
        loss=model.loss,
    )
    factors = compute_class_weight(model.class_weight, classes=classes, y=y)
    return found.classifier(
        formulation, codes, classes, class_weight=np.asarray(factors, dtype=np.float64)
    )


def one_class(model: Any, inputs: Inputs) -> Reading:
    """``SGDOneClassSVM``."""
    if not model.fit_intercept:
        raise AuditRefusedError(
            "This SGDOneClassSVM has fit_intercept=False: its rho is not learned, and qpsvm has no "
            "such program."
        )
    found = _weights(model, inputs, "offset_")
    n, total = len(found.weights), float(np.sum(found.weights))
    nu = float(model.nu) * n / total
    if nu > 1.0:
        raise AuditRefusedError(
            f"With nu={model.nu:g} and sample weights that add up to {total:g} for {n} samples "
            "this SGDOneClassSVM has no optimum: rho grows without end."
        )
    return found.machine(OneClass(nu), factor=_one_class_factor())


# --- small pieces -----------------------------------------------------------------------------


def _weights(model: Any, inputs: Inputs, offset: str) -> Weights:
    name = type(model).__name__
    inputs.require_only((), name)
    if not hasattr(model, "coef_"):
        raise AuditRefusedError(f"This {name} is not fitted; call fit(X, y) first.")
    if getattr(model, "early_stopping", False):
        raise AuditRefusedError(
            f"This {name} has early_stopping=True: it held out some of the samples, and nothing "
            "says which; fit it without."
        )
    coef = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    samples = inputs.samples(coef.shape[1])
    sign = -1.0 if offset == "offset_" else 1.0
    intercept = sign * np.asarray(getattr(model, offset), dtype=np.float64).ravel()
    stopped_at = f"stopping tolerance of {model.tol:g}" if model.tol is not None else ""
    if not stopped_at or model.n_iter_ >= model.max_iter:
        stopped_at = f"iteration limit of {model.max_iter}"
    return Weights(
        model=name,
        library=Library("scikit-learn's SGD", stopped_at),
        samples=samples,
        weights=inputs.weights(samples.shape[0]),
        coef=coef,
        intercept=np.broadcast_to(intercept, len(coef)),
    )


def _one_class_factor() -> float:
    import sklearn

    major, minor = (int(part) for part in sklearn.__version__.split(".")[:2])
    return 1.0 if (major, minor) >= (1, 9) else 2.0
