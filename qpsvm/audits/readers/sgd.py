"""Reader of scikit-learn's ``SGDClassifier`` and ``SGDOneClassSVM``.

``SGDClassifier`` minimises ``alpha/2 |w|^2 + 1/n sum_i u_i loss(1 - s_i f(x_i))`` with a free
intercept and n the number of rows: divided by alpha that is ``SoftMargin(C = 1 / (alpha n))``.

``SGDOneClassSVM`` minimises, with ``f(x) = w'x - rho``::

    nu/2 |w|^2 - nu rho + 1/n sum_i u_i max(0, rho - w'x_i)

Divided by nu that is ``OneClass(nu n / sum_i u_i)``, whose weights add up to 1. Before version 1.9
scikit-learn had ``nu/4 |w|^2`` there: w and rho were twice those of the program.
"""

from __future__ import annotations

import numpy as np

from qpsvm.audits.claims import Library, Reading
from qpsvm.audits.readers import attributes
from qpsvm.audits.readers.attributes import Estimator
from qpsvm.audits.readers.inputs import Inputs
from qpsvm.audits.readers.linear import Weights, class_weight, weights_and_offset
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
    found = _weights(model, inputs, "intercept_")
    classes = attributes.classes(model)
    codes = inputs.codes(classes, found.weights)
    n_machines = 1 if len(classes) == 2 else len(classes)
    why = f"{len(classes)} classes"
    attributes.require_shape(model, "coef_", found.coef, (n_machines, found.coef.shape[1]), why)
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
    found = _weights(model, inputs, "offset_")
    n, total = len(found.weights), float(np.sum(found.weights))
    nu = attributes.number(model, "nu") * n / total
    if nu > 1.0:
        raise AuditRefusedError(
            f"With nu={model.nu:g} and sample weights that add up to {total:g} for {n} samples "
            "this SGDOneClassSVM has no optimum: rho is unbounded."
        )
    return found.machine(OneClass(nu), factor=_one_class_factor())


# --- small pieces -----------------------------------------------------------------------------


def _weights(model: Estimator, inputs: Inputs, offset: str) -> Weights:
    name = type(model).__name__
    inputs.require_only((), name)
    if not hasattr(model, "coef_"):
        raise AuditRefusedError(f"This {name} is not fitted; call fit(X, y) first.")
    if getattr(model, "early_stopping", False):
        raise AuditRefusedError(
            f"This {name} has early_stopping=True: it held out some of the samples, and does "
            "not record which; fit it without early stopping."
        )
    coef, b = weights_and_offset(model, offset)
    samples = inputs.samples(coef.shape[1])
    sign = -1.0 if offset == "offset_" else 1.0
    stopped_at = ""
    if attributes.attribute(model, "tol") is not None:
        stopped_at = f"stopping tolerance of {attributes.number(model, 'tol'):g}"
    limit = attributes.number(model, "max_iter")
    if not stopped_at or attributes.number(model, "n_iter_") >= limit:
        stopped_at = f"iteration limit of {limit:g}"
    return Weights(
        model=name,
        library=Library("scikit-learn's SGD", stopped_at),
        samples=samples,
        weights=inputs.weights(samples.shape[0]),
        coef=coef,
        intercept=sign * b,
    )


def _one_class_factor() -> float:
    import sklearn

    major, minor = (int(part) for part in sklearn.__version__.split(".")[:2])
    return 1.0 if (major, minor) >= (1, 9) else 2.0
