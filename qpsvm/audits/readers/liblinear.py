"""Readers of LIBLINEAR: scikit-learn's ``LinearSVC`` and ``LinearSVR``, and model files.

===============================  ====================================================
LinearSVC, ``loss="hinge"``      ``SoftMargin(C)``
... ``loss="squared_hinge"``     ``SoftMargin(C, loss="squared_hinge")``
... ``"crammer_singer"``         ``CrammerSinger(C)``; for two classes, of which scikit-learn keeps
                                 the difference, ``SoftMargin(2 C)``
... ``penalty="l1"``             ``L1Norm(C, loss="squared_hinge")``
LinearSVR                        ``EpsilonRegression(C, epsilon)`` with either loss
===============================  ====================================================

Files contain neither training parameters nor multipliers from which to infer them. LIBLINEAR
multiplies its one-class dual by ``nu n``, as LIBSVM does: its w and rho are ``nu n`` times those of
``OneClass(nu)``.

Source: Fan, Chang, Hsieh, Wang and Lin, "LIBLINEAR: a library for large linear classification",
*JMLR* 9 (2008); Ho and Lin, "Large-scale linear support vector regression", *JMLR* 13 (2012).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from qpsvm.audits.claims import Library, Reading
from qpsvm.audits.files.liblinear import JOINT, NOVELTY, LiblinearModel
from qpsvm.audits.readers import attributes
from qpsvm.audits.readers.attributes import Estimator
from qpsvm.audits.readers.inputs import Inputs
from qpsvm.audits.readers.linear import Weights, class_weight, fitted_classes, fitted_weights
from qpsvm.exceptions import AuditRefusedError
from qpsvm.formulations import CrammerSinger, EpsilonRegression, L1Norm, OneClass, SoftMargin
from qpsvm.formulations.family import Classifier
from qpsvm.machines.joint.model import JointIntercept

NORMS: Mapping[str, Any] = {"l2": SoftMargin, "l1": L1Norm}
"""The formulation of each penalty on the weights."""

LOSSES: Mapping[str, Any] = {
    "L2R_L2LOSS_SVC_DUAL": "squared_hinge",
    "L2R_L2LOSS_SVC": "squared_hinge",
    "L2R_L1LOSS_SVC_DUAL": "hinge",
    "L1R_L2LOSS_SVC": "squared_hinge",
    "L2R_L2LOSS_SVR": "squared_epsilon_insensitive",
    "L2R_L2LOSS_SVR_DUAL": "squared_epsilon_insensitive",
    "L2R_L1LOSS_SVR_DUAL": "epsilon_insensitive",
}
"""The loss of each solver type of a file."""


def linear_svc(model: Estimator, inputs: Inputs) -> Reading:
    """Read a ``LinearSVC``."""
    found, intercept = _fitted(model, inputs)
    codes, classes = fitted_classes(model, inputs, found)
    factors = class_weight(model, inputs, classes, inputs.weights(len(codes)))
    C = attributes.number(model, "C")
    if model.multi_class == "crammer_singer":
        if len(classes) > 2:
            return found.joint(CrammerSinger(C, intercept), codes, classes, factors)
        program: Classifier = SoftMargin(2.0 * C, intercept)
    else:
        program = NORMS[model.penalty](C, intercept, loss=model.loss)
    return found.classifier(program, codes, classes, class_weight=factors)


def linear_svr(model: Estimator, inputs: Inputs) -> Reading:
    """Read a ``LinearSVR``."""
    found, intercept = _fitted(model, inputs)
    C, epsilon = (attributes.number(model, name) for name in ("C", "epsilon"))
    formulation = EpsilonRegression(C, epsilon, intercept=intercept, loss=model.loss)
    return found.machine(formulation, inputs.y)


def _fitted(model: Estimator, inputs: Inputs) -> tuple[Weights, JointIntercept]:
    """Read the weights, and the kind of intercept of their program."""
    found = fitted_weights(model, inputs, "LIBLINEAR", attributes.number(model, "tol"))
    if not attributes.attribute(model, "fit_intercept"):
        return found, "none"
    bias = attributes.number(model, "intercept_scaling")
    return (found, "penalized") if bias == 1.0 else (found.with_bias_column(bias), "none")


def read_file(model: LiblinearModel, inputs: Inputs) -> Reading:
    """Read the weights of a model file, and the program they minimise.

    Raises
    ------
    AuditRefusedError
        A program that is none of an SVM here, or whose parameters were not given.
    """
    kind, name = model.solver_type, f"{model.solver_type} model {os.path.basename(model.source)!r}"
    if kind not in (JOINT, NOVELTY, *LOSSES):
        known = ", ".join((*LOSSES, JOINT, NOVELTY))
        raise AuditRefusedError(f"qpsvm has no program for {name}; it has programs for {known}.")
    regression = "SVR" in kind
    takes = ("nu",) if kind == NOVELTY else ("C", "epsilon") if regression else ("C",)
    inputs.require_only(takes, kind)
    samples = inputs.samples()
    found = Weights(
        model=name,
        library=Library("LIBLINEAR"),
        samples=samples,
        weights=inputs.weights(samples.shape[0]),
        coef=model.coef,
        intercept=model.intercept,
    )
    if kind == NOVELTY:
        nu = inputs.required("nu", name)
        return found.machine(OneClass(nu), factor=nu * float(np.sum(found.weights)))
    C = inputs.required("C", name)
    # the constant feature is an intercept if it is 1, and otherwise a column of X
    intercept: JointIntercept = "penalized" if model.bias == 1.0 else "none"
    if model.bias > 0.0 and intercept == "none":
        found = found.with_bias_column(model.bias)
    if regression:
        epsilon = inputs.required("epsilon", name)
        return found.machine(EpsilonRegression(C, epsilon, intercept, loss=LOSSES[kind]), inputs.y)
    labels = np.asarray(model.labels)
    codes = inputs.codes(labels, found.weights)
    if kind == JOINT:
        return found.joint(CrammerSinger(C, intercept), codes, labels, np.ones(len(labels)))
    norm = NORMS[kind[:2].lower()]
    formulation = norm(C, intercept, loss=LOSSES[kind])
    return found.classifier(formulation, codes, labels, second_is_positive=False)
