"""Reader of LIBLINEAR's model files; ``readers.linear`` has the programs.

These files contain neither training parameters nor multipliers from which to infer them.

LIBLINEAR multiplies its one-class dual by ``nu n``, as LIBSVM does: its w and rho are ``nu n``
times those of ``OneClass(nu)``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from qpsvm.audits.claims import Library, Reading
from qpsvm.audits.files import LiblinearModel
from qpsvm.audits.readers.inputs import Inputs
from qpsvm.audits.readers.linear import Weights
from qpsvm.exceptions import AuditRefusedError
from qpsvm.formulations import CrammerSinger, EpsilonRegression, L1Norm, OneClass, SoftMargin
from qpsvm.machines.joint.primal_dual import JointIntercept

JOINT, NOVELTY = "MCSVM_CS", "ONECLASS_SVM"

LOSSES: Mapping[str, Any] = {
    "L2R_L2LOSS_SVC_DUAL": "squared_hinge",
    "L2R_L2LOSS_SVC": "squared_hinge",
    "L2R_L1LOSS_SVC_DUAL": "hinge",
    "L1R_L2LOSS_SVC": "squared_hinge",
    "L2R_L2LOSS_SVR": "squared_epsilon_insensitive",
    "L2R_L2LOSS_SVR_DUAL": "squared_epsilon_insensitive",
    "L2R_L1LOSS_SVR_DUAL": "epsilon_insensitive",
}


def read(model: LiblinearModel, inputs: Inputs) -> Reading:
    """Read the weights of a model file, and the program they minimise.

    Raises
    ------
    AuditRefusedError
        A program that is none of an SVM here, or whose parameters were not given.
    """
    kind, name = model.solver_type, f"{model.solver_type} model {os.path.basename(model.source)!r}"
    if kind not in (JOINT, NOVELTY, *LOSSES):
        raise AuditRefusedError(
            f"qpsvm has no program for {name}; it has programs for "
            f"{', '.join((*LOSSES, JOINT, NOVELTY))}."
        )
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
    C, intercept = inputs.required("C", name), _intercept(model)
    if model.bias > 0.0 and intercept == "none":
        found = found.with_bias_column(model.bias)
    if regression:
        epsilon = inputs.required("epsilon", name)
        return found.machine(EpsilonRegression(C, epsilon, intercept, loss=LOSSES[kind]), inputs.y)
    labels = np.asarray(model.labels)
    codes = inputs.codes(labels, found.weights)
    if kind == JOINT:
        return found.joint(CrammerSinger(C, intercept), codes, labels, np.ones(len(labels)))
    norm = L1Norm if kind.startswith("L1R") else SoftMargin
    formulation = norm(C, intercept, loss=LOSSES[kind])
    return found.classifier(formulation, codes, labels, second_is_positive=False)


def _intercept(model: LiblinearModel) -> JointIntercept:
    """Kind of intercept: penalised if the constant feature is 1; otherwise none (it is in X)."""
    return "penalized" if model.bias == 1.0 else "none"
