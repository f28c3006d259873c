"""Reader of scikit-learn's ``SGDClassifier`` and ``SGDOneClassSVM``.

``SGDClassifier`` minimises ``alpha/2 |w|^2 + 1/n sum_i u_i loss(1 - s_i f(x_i))`` with a free
intercept and n the number of rows: divided by alpha that is ``SoftMargin(C = 1 / (alpha n))``.

``SGDOneClassSVM`` minimises, with ``f(x) = w'x - rho``::

    nu/2 |w|^2 - nu rho + 1/n sum_i u_i max(0, rho - w'x_i)

Divided by nu that is ``OneClass(nu n / sum_i u_i)``, whose weights add up to 1. Before version 1.9
scikit-learn had ``nu/4 |w|^2`` there: w and rho were twice those of the program.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from qpsvm.audits.claims import Reading
from qpsvm.audits.readers import attributes
from qpsvm.audits.readers.attributes import Estimator
from qpsvm.audits.readers.inputs import Inputs
from qpsvm.audits.readers.linear import Weights, class_weight, fitted_classes, fitted_weights
from qpsvm.exceptions import AuditRefusedError
from qpsvm.formulations import OneClass, SoftMargin

LOSSES = ("hinge", "squared_hinge")


def classifier(model: Estimator, inputs: Inputs) -> Reading:
    """Read an ``SGDClassifier`` with the hinge or squared hinge loss."""
    if model.loss not in LOSSES:
        raise AuditRefusedError(
            f"This SGDClassifier has loss={model.loss!r}; only {' and '.join(map(repr, LOSSES))} "
            "are losses of a support vector machine."
        )
    mixture = getattr(model, "l1_ratio", None)
    if model.penalty != "l2" and not (model.penalty == "elasticnet" and mixture == 0):
        raise AuditRefusedError(
            f"This SGDClassifier has penalty={model.penalty!r}; only 'l2' is the |w|^2 of a "
            "support vector machine."
        )
    found = _fitted(model, inputs)
    codes, classes = fitted_classes(model, inputs, found)
    strength = attributes.number(model, "alpha")
    if not strength > 0.0:
        attributes.refuse(model, f"has alpha = {strength:g}, which must be above 0")
    formulation = SoftMargin(
        1.0 / (strength * len(codes)),
        "free" if attributes.attribute(model, "fit_intercept") else "none",
        loss=model.loss,
    )
    factors = class_weight(model, inputs, classes)
    return found.classifier(formulation, codes, classes, class_weight=factors)


def one_class(model: Estimator, inputs: Inputs) -> Reading:
    """Read an ``SGDOneClassSVM``."""
    if not model.fit_intercept:
        raise AuditRefusedError(
            "This SGDOneClassSVM has fit_intercept=False: its rho is not learned, and qpsvm has no "
            "such program."
        )
    found = _fitted(model, inputs, "offset_")
    n, total = len(found.weights), float(np.sum(found.weights))
    nu = attributes.number(model, "nu") * n / total
    if nu > 1.0:
        raise AuditRefusedError(
            f"With nu={model.nu:g} and sample weights that add up to {total:g} for {n} samples "
            "this SGDOneClassSVM has no optimum: rho is unbounded."
        )
    found = replace(found, intercept=-found.intercept)
    return found.machine(OneClass(nu), factor=_one_class_factor())


# --- small pieces -----------------------------------------------------------------------------


def _fitted(model: Estimator, inputs: Inputs, offset: str = "intercept_") -> Weights:
    if getattr(model, "early_stopping", False):
        raise AuditRefusedError(
            f"This {type(model).__name__} has early_stopping=True: it held out some of the "
            "samples, and does not record which; fit it without early stopping."
        )
    stops = attributes.attribute(model, "tol") is not None
    tolerance = attributes.number(model, "tol") if stops else None
    return fitted_weights(model, inputs, "scikit-learn's SGD", tolerance, offset)


def _one_class_factor() -> float:
    import sklearn

    major, minor = (int(part) for part in sklearn.__version__.split(".")[:2])
    return 1.0 if (major, minor) >= (1, 9) else 2.0
