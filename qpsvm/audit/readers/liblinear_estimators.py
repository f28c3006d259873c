"""Scikit-learn's ``LinearSVC`` and ``LinearSVR``: LIBLINEAR inside.

===============================  ====================================================
LinearSVC, ``loss="hinge"``      ``SoftMargin(C)``
... ``loss="squared_hinge"``     ``SoftMargin(C, loss="squared_hinge")``
... ``"crammer_singer"``         ``CrammerSinger(C)``; for two classes, of which scikit-learn keeps
                                 the difference, ``SoftMargin(2 C)``
... ``penalty="l1"``             refused: no program here has a squared hinge and ``|w|_1``
LinearSVR                        ``EpsilonRegression(C, epsilon)`` with either loss
===============================  ====================================================

Source: Fan, Chang, Hsieh, Wang and Lin, "LIBLINEAR: a library for large linear classification",
*JMLR* 9 (2008); Ho and Lin, "Large-scale linear support vector regression", *JMLR* 13 (2012).
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from qpsvm.audit.claims import Library, Reading
from qpsvm.audit.readers.inputs import Inputs
from qpsvm.audit.readers.linear import Weights
from qpsvm.exceptions import AuditRefusedError
from qpsvm.formulations import CrammerSinger, EpsilonRegression, SoftMargin
from qpsvm.qp._arrays import Vector


def linear_svc(model: Any, inputs: Inputs) -> Reading:
    """``LinearSVC``."""
    found, intercept = _weights(model, inputs)
    codes, classes = inputs.codes(model.classes_, len(found.weights)), model.classes_
    factors = _class_weight(model, inputs, len(codes))
    C = float(model.C)
    if model.multi_class == "crammer_singer":
        if len(classes) > 2:
            return found.joint(CrammerSinger(C, intercept), codes, classes, factors)
        program = SoftMargin(2.0 * C, intercept)
    elif model.penalty != "l2":
        raise AuditRefusedError(
            f"This LinearSVC minimises |w|_1 and the {model.loss} (penalty={model.penalty!r}): "
            "qpsvm has no such program (L1Norm has the plain hinge); audit one with penalty='l2'."
        )
    else:
        program = SoftMargin(C, intercept, loss=model.loss)
    return found.classifier(program, codes, classes, class_weight=factors)


def linear_svr(model: Any, inputs: Inputs) -> Reading:
    """``LinearSVR``."""
    found, intercept = _weights(model, inputs)
    formulation = EpsilonRegression(
        float(model.C), float(model.epsilon), intercept=intercept, loss=model.loss
    )
    return found.machine(formulation, inputs.y)


# --- small pieces -----------------------------------------------------------------------------


def _weights(model: Any, inputs: Inputs) -> tuple[Weights, Any]:
    """The weights, and how their program treats the intercept."""
    name = type(model).__name__
    inputs.require_only((), name)
    if not hasattr(model, "coef_"):
        raise AuditRefusedError(f"This {name} is not fitted; call fit(X, y) first.")
    coef = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    samples = inputs.samples(coef.shape[1])
    stopped_at = f"stopping tolerance of {model.tol:g}"
    if model.n_iter_ >= model.max_iter:
        stopped_at = f"iteration limit of {model.max_iter}"
    found = Weights(
        model=name,
        library=Library("LIBLINEAR", stopped_at),
        samples=samples,
        weights=inputs.weights(samples.shape[0]),
        coef=coef,
        intercept=np.broadcast_to(np.asarray(model.intercept_, float).ravel(), len(coef)),
    )
    if not model.fit_intercept:
        return found, "none"
    bias = float(model.intercept_scaling)
    return (found, "penalized") if bias == 1.0 else (found.with_bias_column(bias), "none")


def _class_weight(model: Any, inputs: Inputs, n: int) -> Vector:
    """The factor of every class, as scikit-learn hands it to LIBLINEAR."""
    from sklearn.utils.class_weight import compute_class_weight

    options: dict[str, Any] = {}
    if "sample_weight" in inspect.signature(compute_class_weight).parameters:
        options["sample_weight"] = inputs.weights(n)  # older versions count rows
    y = np.asarray(inputs.y).ravel()
    factors = compute_class_weight(model.class_weight, classes=model.classes_, y=y, **options)
    return np.asarray(factors, dtype=np.float64)
