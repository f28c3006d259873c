"""Reader of scikit-learn's ``LinearSVC`` and ``LinearSVR``, which use LIBLINEAR.

===============================  ====================================================
LinearSVC, ``loss="hinge"``      ``SoftMargin(C)``
... ``loss="squared_hinge"``     ``SoftMargin(C, loss="squared_hinge")``
... ``"crammer_singer"``         ``CrammerSinger(C)``; for two classes, of which scikit-learn keeps
                                 the difference, ``SoftMargin(2 C)``
... ``penalty="l1"``             ``L1Norm(C, loss="squared_hinge")``
LinearSVR                        ``EpsilonRegression(C, epsilon)`` with either loss
===============================  ====================================================

Source: Fan, Chang, Hsieh, Wang and Lin, "LIBLINEAR: a library for large linear classification",
*JMLR* 9 (2008); Ho and Lin, "Large-scale linear support vector regression", *JMLR* 13 (2012).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qpsvm.audits.claims import Library, Reading
from qpsvm.audits.readers import attributes
from qpsvm.audits.readers.attributes import Estimator
from qpsvm.audits.readers.inputs import Inputs
from qpsvm.audits.readers.linear import Weights, class_weight, weights_and_offset
from qpsvm.exceptions import AuditRefusedError
from qpsvm.formulations import CrammerSinger, EpsilonRegression, L1Norm, SoftMargin
from qpsvm.formulations.family import Classifier
from qpsvm.machines.joint.primal_dual import JointIntercept

NORMS: Mapping[str, Any] = {"l2": SoftMargin, "l1": L1Norm}
"""The formulation of each penalty on the weights."""


def linear_svc(model: Estimator, inputs: Inputs) -> Reading:
    """Read a ``LinearSVC``."""
    found, intercept = _weights(model, inputs)
    classes = attributes.classes(model)
    codes = inputs.codes(classes, found.weights)
    factors = class_weight(model, inputs, classes, inputs.weights(len(codes)))
    C = attributes.number(model, "C")
    n_machines = 1 if len(classes) == 2 else len(classes)
    why = f"{len(classes)} classes"
    attributes.require_shape(model, "coef_", found.coef, (n_machines, found.coef.shape[1]), why)
    if model.multi_class == "crammer_singer":
        if len(classes) > 2:
            return found.joint(CrammerSinger(C, intercept), codes, classes, factors)
        program: Classifier = SoftMargin(2.0 * C, intercept)
    else:
        program = NORMS[model.penalty](C, intercept, loss=model.loss)
    return found.classifier(program, codes, classes, class_weight=factors)


def linear_svr(model: Estimator, inputs: Inputs) -> Reading:
    """Read a ``LinearSVR``."""
    found, intercept = _weights(model, inputs)
    C, epsilon = (attributes.number(model, name) for name in ("C", "epsilon"))
    formulation = EpsilonRegression(C, epsilon, intercept=intercept, loss=model.loss)
    return found.machine(formulation, inputs.y)


# --- small pieces -----------------------------------------------------------------------------


def _weights(model: Estimator, inputs: Inputs) -> tuple[Weights, JointIntercept]:
    """Read the weights, and the kind of intercept of their program."""
    name = type(model).__name__
    inputs.require_only((), name)
    if not hasattr(model, "coef_"):
        raise AuditRefusedError(f"This {name} is not fitted; call fit(X, y) first.")
    coef, offset = weights_and_offset(model, "intercept_")
    samples = inputs.samples(coef.shape[1])
    stopped_at = f"stopping tolerance of {attributes.number(model, 'tol'):g}"
    limit = attributes.number(model, "max_iter")
    if attributes.numbers(model, "n_iter_").max(initial=0.0) >= limit:
        stopped_at = f"iteration limit of {limit:g}"
    found = Weights(
        model=name,
        library=Library("LIBLINEAR", stopped_at),
        samples=samples,
        weights=inputs.weights(samples.shape[0]),
        coef=coef,
        intercept=offset,
    )
    if not attributes.attribute(model, "fit_intercept"):
        return found, "none"
    bias = attributes.number(model, "intercept_scaling")
    return (found, "penalized") if bias == 1.0 else (found.with_bias_column(bias), "none")
