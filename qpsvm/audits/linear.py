"""Linear models with weights and no multipliers: LIBLINEAR's, also of files, and SGD's.

**LIBLINEAR** treats its intercept as the weight of one more feature, the constant ``bias``, and
penalises it like the others: ``1/2 |w|^2 + 1/2 (b / bias)^2``. For ``bias = 1`` that is
``intercept="penalized"``; for any other the constant is made a column of X.

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

**SGD**: ``SGDClassifier`` minimises ``alpha/2 |w|^2 + 1/n sum_i u_i loss(1 - s_i f(x_i))`` with a
free intercept and n the number of rows: divided by alpha that is ``SoftMargin(C = 1 / (alpha n))``.
``SGDOneClassSVM`` minimises, with ``f(x) = w'x - rho``::

    nu/2 |w|^2 - nu rho + 1/n sum_i u_i max(0, rho - w'x_i)

Divided by nu that is ``OneClass(nu n / sum_i u_i)``, whose weights add up to 1. Before version 1.9
scikit-learn had ``nu/4 |w|^2`` there: w and rho were twice those of the program.

Sources: Fan, Chang, Hsieh, Wang and Lin, "LIBLINEAR: a library for large linear classification",
*JMLR* 9 (2008); Ho and Lin, "Large-scale linear support vector regression", *JMLR* 13 (2012).
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.audits import inputs as checked
from qpsvm.audits.claims import Claim, FittedMachines, Library, Reading
from qpsvm.audits.inputs import Estimator, Inputs
from qpsvm.audits.liblinear_model import JOINT, NOVELTY, REGRESSIONS, LiblinearModel
from qpsvm.exceptions import AuditRefusedError
from qpsvm.formulations import (
    CrammerSinger,
    EpsilonRegression,
    L1Norm,
    OneClass,
    OneVsRest,
    SoftMargin,
)
from qpsvm.formulations.family import Classifier, Family
from qpsvm.machines.conditions import InterceptKind
from qpsvm.machines.joint.model import JointIntercept
from qpsvm.machines.problem import SVMProblem
from qpsvm.numerics.arguments import Targets
from qpsvm.numerics.arrays import Dense, Vector

NORMS: Mapping[str, Any] = {"l2": SoftMargin, "l1": L1Norm}
"""The formulation of each penalty on the weights."""

SQUARED_HINGE = partial(SoftMargin, loss="squared_hinge")
SQUARED_TUBE = partial(EpsilonRegression, loss="squared_epsilon_insensitive")

PROGRAMS: Mapping[str, Any] = {
    "L2R_L2LOSS_SVC_DUAL": SQUARED_HINGE,
    "L2R_L2LOSS_SVC": SQUARED_HINGE,
    "L2R_L1LOSS_SVC_DUAL": SoftMargin,
    JOINT: CrammerSinger,  # one weight vector per class, also for two of them
    "L1R_L2LOSS_SVC": partial(L1Norm, loss="squared_hinge"),
    "L2R_L2LOSS_SVR": SQUARED_TUBE,
    "L2R_L2LOSS_SVR_DUAL": SQUARED_TUBE,
    "L2R_L1LOSS_SVR_DUAL": EpsilonRegression,
    NOVELTY: OneClass,
}
"""Type of solver in a file -> the formulation; a logistic regression has none."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Weights(FittedMachines):
    """The weights of a linear model on its training data.

    Attributes
    ----------
    coef : array of shape (m, d)
        One row per machine; for all classes in one program one row per class.
    intercept : array of shape (m,)
    factor : float
        The model's own decision values are so many times those of the program.
    """

    coef: Dense
    intercept: Vector
    factor: float = 1.0

    def __post_init__(self) -> None:
        if self.coef.shape[1:] != self.samples.shape[1:]:
            raise AuditRefusedError(
                f"X has {self.samples.shape[1]} columns, this {self.model} has weights for "
                f"{self.coef.shape[1]}; pass the training data."
            )

    def with_bias(self, bias: float) -> tuple[Weights, JointIntercept]:
        """The machines and the kind of their intercept, for LIBLINEAR's constant feature."""
        if bias == 1.0:
            return self, "penalized"
        column = np.full((self.samples.shape[0], 1), bias)
        if sp.issparse(self.samples):
            samples = sp.csr_array(sp.hstack([self.samples, column]))
        else:
            samples = np.hstack([self.samples, column])
        remark = f"the intercept is the weight of a constant feature of {bias:g}, as in LIBLINEAR"
        found = replace(
            self,
            samples=samples,
            coef=np.hstack([self.coef, self.intercept[:, None] / bias]),
            intercept=np.zeros(len(self.intercept)),
            remarks=(*self.remarks, remark),
        )
        return found, "none"

    def against_rest(self, formulation: Classifier) -> Reading:
        """Read a classifier: one machine for two classes, else one per class against the rest.

        With more than two classes the rest has weight 1 whatever its classes' weights are: that is
        what LIBLINEAR and SGD do.
        """
        return self.classifier(OneVsRest(formulation, weigh_rest=False))

    def joint(self, formulation: CrammerSinger) -> Reading:
        """Read a classifier with all classes in one program."""
        weights, classes = self.weights_of_classes(), np.asarray(self.classes)
        problem = formulation.primal(self.samples, classes[self.codes], sample_weight=weights)
        data: Any = problem.data
        order = [list(classes).index(label) for label in data.classes]
        claim = Claim("", problem, self.intercept[order], coef=self.coef[order])
        return replace(self, claims=(claim,))

    def problem(self, formulation: Family, y: Targets | None, weights: Vector) -> SVMProblem:
        """Build the primal program that one of the machines claims to solve."""
        return formulation.primal(self.samples, y, sample_weight=weights)

    def claim(self, name: str, problem: SVMProblem, m: int, sign: float) -> Claim:
        """Read weights and intercept in the scale of the program."""
        factor = sign * self.factor
        coef, b = self.coef[m] / factor, float(self.intercept[m]) / factor
        return Claim(name, problem, b, coef=coef, factor=factor)


# --- estimators of scikit-learn ---------------------------------------------------------------


def linear_svc(model: Estimator, inputs: Inputs) -> Reading:
    """Read a ``LinearSVC``."""
    found, intercept = _of_liblinear(model, inputs)
    found = _with_classes(model, inputs, found, found.weights)
    C = checked.number(model, "C")
    if model.multi_class != "crammer_singer":
        return found.against_rest(NORMS[model.penalty](C, intercept, loss=model.loss))
    if len(np.asarray(found.classes)) > 2:
        return found.joint(CrammerSinger(C, intercept))
    return found.against_rest(SoftMargin(2.0 * C, intercept))


def linear_svr(model: Estimator, inputs: Inputs) -> Reading:
    """Read a ``LinearSVR``."""
    found, intercept = _of_liblinear(model, inputs)
    C, epsilon = (checked.number(model, name) for name in ("C", "epsilon"))
    return found.machine(EpsilonRegression(C, epsilon, intercept, loss=model.loss), inputs.y)


def sgd_classifier(model: Estimator, inputs: Inputs) -> Reading:
    """Read an ``SGDClassifier`` with the hinge or squared hinge loss."""
    if model.loss not in ("hinge", "squared_hinge"):
        raise AuditRefusedError(
            f"This SGDClassifier has loss={model.loss!r}; only 'hinge' and 'squared_hinge' are "
            "losses of a support vector machine."
        )
    mixture = getattr(model, "l1_ratio", None)
    if model.penalty != "l2" and not (model.penalty == "elasticnet" and mixture == 0):
        raise AuditRefusedError(
            f"This SGDClassifier has penalty={model.penalty!r}; only 'l2' is the |w|^2 of a "
            "support vector machine."
        )
    found = _with_classes(model, inputs, _of_sgd(model, inputs))
    strength = checked.number(model, "alpha")
    if not strength > 0.0:
        checked.refuse(model, f"has alpha = {strength:g}, which must be above 0")
    intercept: InterceptKind = "free" if checked.attribute(model, "fit_intercept") else "none"
    C = 1.0 / (strength * len(found.codes))
    return found.against_rest(SoftMargin(C, intercept, loss=model.loss))


def sgd_one_class(model: Estimator, inputs: Inputs) -> Reading:
    """Read an ``SGDOneClassSVM``."""
    import sklearn

    if not model.fit_intercept:
        raise AuditRefusedError(
            "This SGDOneClassSVM has fit_intercept=False: its rho is not learned, and qpsvm has no "
            "such program."
        )
    found = _of_sgd(model, inputs, "offset_")
    n, total = len(found.weights), float(np.sum(found.weights))
    nu = checked.number(model, "nu") * n / total
    if nu > 1.0:
        raise AuditRefusedError(
            f"With nu={model.nu:g} and sample weights that add up to {total:g} for {n} samples "
            "this SGDOneClassSVM has no optimum: rho is unbounded."
        )
    major, minor = (int(part) for part in sklearn.__version__.split(".")[:2])
    factor = 1.0 if (major, minor) >= (1, 9) else 2.0
    return replace(found, intercept=-found.intercept, factor=factor).machine(OneClass(nu))


def _of_liblinear(model: Estimator, inputs: Inputs) -> tuple[Weights, JointIntercept]:
    """Read the weights, and the kind of intercept of their program."""
    found = _fitted(model, inputs, "LIBLINEAR", checked.number(model, "tol"))
    if not checked.attribute(model, "fit_intercept"):
        return found, "none"
    bias = checked.number(model, "intercept_scaling")
    if bias == 0.0:
        checked.refuse(model, "has intercept_scaling = 0, which must be above 0")
    return found.with_bias(bias)


def _of_sgd(model: Estimator, inputs: Inputs, offset: str = "intercept_") -> Weights:
    if getattr(model, "early_stopping", False):
        raise AuditRefusedError(
            f"This {type(model).__name__} has early_stopping=True: it held out some of the "
            "samples, and does not record which; fit it without early stopping."
        )
    stops = checked.attribute(model, "tol") is not None
    tolerance = checked.number(model, "tol") if stops else None
    return _fitted(model, inputs, "scikit-learn's SGD", tolerance, offset)


def _fitted(
    model: Estimator,
    inputs: Inputs,
    library: str,
    tolerance: float | None,
    offset: str = "intercept_",
) -> Weights:
    """Read ``coef_``, with one row per machine (dense), and one intercept per machine."""
    coef = np.atleast_2d(checked.numbers(model, "coef_"))
    checked.require_shape(model, "coef_", coef, (None, None), "its machines")
    b = np.ravel(checked.numbers(model, offset))
    if len(b) not in (1, len(coef)):
        checked.refuse(model, f"has {len(b)} numbers in {offset} for {len(coef)} in coef_")
    samples = inputs.samples(coef.shape[1])
    limit = checked.number(model, "max_iter")
    stopped_at = f"iteration limit of {limit:g}"
    if tolerance is not None and checked.numbers(model, "n_iter_").max(initial=0.0) < limit:
        stopped_at = f"stopping tolerance of {tolerance:g}"
    return Weights(
        model=type(model).__name__,
        library=Library(library, stopped_at),
        samples=samples,
        weights=inputs.weights(samples.shape[0]),
        coef=coef,
        intercept=np.broadcast_to(b, len(coef)),
    )


def _with_classes(
    model: Estimator, inputs: Inputs, found: Weights, sample_weight: Vector | None = None
) -> Weights:
    """Add every sample's class and the weight of every class, computed as scikit-learn does."""
    from sklearn.utils.class_weight import compute_class_weight

    classes = checked.classes_of(model)
    codes = inputs.codes(classes, found.weights)
    n_machines = 1 if len(classes) == 2 else len(classes)
    checked.require_shape(model, "coef_", found.coef, (n_machines, None), "its classes")
    options: dict[str, Vector | None] = {}
    if "sample_weight" in inspect.signature(compute_class_weight).parameters:
        options["sample_weight"] = sample_weight  # older versions count rows
    y, given = np.asarray(inputs.y).ravel(), checked.attribute(model, "class_weight")
    try:
        factors = compute_class_weight(given, classes=classes, y=y, **options)
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise AuditRefusedError(
            f"This {type(model).__name__} has class_weight = {given!r}, which scikit-learn does "
            f"not take ({error}); fit it again."
        ) from error
    own = np.asarray(checked.numbers(model, "class_weight", value=factors))
    return replace(found, codes=codes, classes=classes, class_weight=own)


# --- model files ------------------------------------------------------------------------------


def read_file(model: LiblinearModel, inputs: Inputs) -> Reading:
    """Read the weights of a model file, and the program they minimise.

    Raises
    ------
    AuditRefusedError
        A program that is none of an SVM here, or whose parameters were not given.
    """
    kind, name = model.solver_type, f"{model.solver_type} model {os.path.basename(model.source)!r}"
    if kind not in PROGRAMS:
        known = ", ".join(PROGRAMS)
        raise AuditRefusedError(f"qpsvm has no program for {name}; it has programs for {known}.")
    build, is_regression = PROGRAMS[kind], kind in REGRESSIONS
    takes = ("nu",) if kind == NOVELTY else ("C", "epsilon") if is_regression else ("C",)
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
        return replace(found, factor=nu * float(np.sum(found.weights))).machine(build(nu))
    C = inputs.required("C", name)
    intercept: JointIntercept = "none"
    if model.bias > 0.0:
        found, intercept = found.with_bias(model.bias)
    if is_regression:
        return found.machine(build(C, inputs.required("epsilon", name), intercept), inputs.y)
    labels = np.asarray(model.labels)
    found = replace(found, codes=inputs.codes(labels, found.weights), classes=labels)
    if kind == JOINT:
        return found.joint(build(C, intercept))
    # one weight vector is positive for the first of two labels
    found = replace(found, first_is_positive=len(labels) == 2)
    return found.against_rest(build(C, intercept))
