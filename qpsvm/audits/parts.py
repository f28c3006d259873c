"""Models that contain fitted machines: the machines, with the data that each was fitted to.

=====================================  ===========================================================
``CalibratedClassifierCV``             one machine per fold, fitted to the rest of the samples; a
                                       single one with ``ensemble=False``
``OneVsRestClassifier``                one per class, fitted to "is it this class?"
``OneVsOneClassifier``                 one per pair of classes, fitted to their samples
``GridSearchCV`` and other searches    ``best_estimator_``, fitted to all samples
``FrozenEstimator``                    the estimator inside
a ``Pipeline`` that ends in one        the same, on the transformed samples
=====================================  ===========================================================

How a wrapper combines the answers of its machines is not audited.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from qpsvm.audits.own_predictions import OwnPredictions
from qpsvm.audits.readers.attributes import Estimator
from qpsvm.audits.readers.inputs import Inputs
from qpsvm.audits.readers.own import is_own
from qpsvm.audits.result import Audit
from qpsvm.exceptions import AuditRefusedError

Part: TypeAlias = tuple[str, Estimator, Inputs]
"""A fitted machine inside a model: its name, the machine, and the inputs of its own fit."""


def parts_of(model: Estimator, inputs: Inputs) -> tuple[Part, ...]:
    """The fitted machines inside a model; none if the model is one machine itself.

    Raises
    ------
    AuditRefusedError
        The model is not fitted, or was fitted to other data.
    """
    name = _name(model)
    if name == "Pipeline" and model.steps:
        last = model.steps[-1][1]
        if not (is_own(last) or _name(last) in WRAPPERS or hasattr(last, "best_estimator_")):
            return ()  # the reader of pipelines also asks the pipeline for its predictions
        inside = inputs.in_pipeline(model)
        return parts_of(last, inside) or (("", last, inside),)
    if name in WRAPPERS:
        try:
            return WRAPPERS[name](model, inputs)
        except (AttributeError, ValueError, TypeError, IndexError) as error:
            raise AuditRefusedError(
                f"The machines of this {name} cannot be told ({error}); pass a fitted one, "
                "with X and y as they were handed to its fit."
            ) from error
    is_from_sklearn = any(kind.__module__.startswith("sklearn.") for kind in type(model).__mro__)
    if is_from_sklearn and hasattr(model, "best_estimator_"):
        return (("", model.best_estimator_, inputs),)
    return ()


def joined(model: Estimator, names: list[str], audits: list[Audit]) -> Audit:
    """One audit of all machines of a model."""
    kind, first = type(model).__name__, audits[0]
    if len(audits) == 1:
        return replace(first, model=f"{first.model} in a {kind}")
    machines = tuple(
        replace(machine, name=f"{name}: {machine.name}" if machine.name else name)
        for name, audit in zip(names, audits, strict=True)
        for machine in audit.machines
    )
    remark = (
        f"each machine of the {kind} was audited on the samples that it was fitted to; how the "
        "model combines their answers was not"
    )
    asked = [audit.own_predictions for audit in audits if audit.own_predictions is not None]
    return replace(
        first,
        model=f"{kind} of {len(audits)} models ({first.model})",
        machines=machines,
        combined=None,
        remarks=tuple(dict.fromkeys([remark, *(r for audit in audits for r in audit.remarks)])),
        own_predictions=OwnPredictions.together(asked) if asked else None,
    )


def _name(model: Estimator) -> str:
    """Class name of a model of scikit-learn, or of a class derived from one; else empty."""
    for kind in type(model).__mro__:
        known = kind.__name__ == "Pipeline" or kind.__name__ in WRAPPERS
        if known and kind.__module__.startswith("sklearn."):
            return kind.__name__
    return ""


# --- the wrappers ----------------------------------------------------------------------------


def _calibrated(model: Estimator, inputs: Inputs) -> tuple[Part, ...]:
    """The machines of ``CalibratedClassifierCV``: its folds are split again."""
    from sklearn.model_selection import check_cv

    fitted = [calibrated.estimator for calibrated in model.calibrated_classifiers_]
    frozen = _name(model.estimator) == "FrozenEstimator"
    if model.ensemble is False or (model.ensemble == "auto" and frozen):
        return (("", fitted[0], inputs),)
    splits = check_cv(model.cv, inputs.y, classifier=True).split(inputs.X, inputs.y)
    folds = [train for train, _ in splits]
    if len(folds) != len(fitted):
        raise ValueError(f"it has {len(fitted)} machines, and cv splits into {len(folds)} folds")
    return tuple(
        (f"without fold {i}", machine, inputs.rows(train))
        for i, (machine, train) in enumerate(zip(fitted, folds, strict=True))
    )


def _one_vs_rest(model: Estimator, inputs: Inputs) -> tuple[Part, ...]:
    """The machines of ``OneVsRestClassifier``, without those of classes that all samples have."""
    columns = model.label_binarizer_.transform(inputs.y)
    columns = columns.toarray() if hasattr(columns, "toarray") else np.asarray(columns)
    classes = np.asarray(model.classes_).tolist()
    names = [f"{label!r} against the rest" for label in classes]
    if columns.shape[1] == 1:
        names = [f"{classes[-1]!r} against {classes[0]!r}"]
    return tuple(
        (name, machine, replace(inputs, y=column))
        for name, machine, column in zip(names, model.estimators_, columns.T, strict=True)
        if type(machine).__name__ != "_ConstantPredictor"
    )


def _one_vs_one(model: Estimator, inputs: Inputs) -> tuple[Part, ...]:
    """The machines of ``OneVsOneClassifier``, in its order of pairs."""
    from sklearn.utils.metaestimators import _safe_split

    labels, parts = np.asarray(inputs.y), list[Part]()
    pairs = itertools.combinations(np.asarray(model.classes_).tolist(), 2)
    for (a, b), machine in zip(pairs, model.estimators_, strict=True):
        rows = np.flatnonzero((labels == a) | (labels == b))
        samples = _safe_split(model.estimator, inputs.X, None, indices=rows)[0]
        own = replace(inputs.rows(rows), X=samples, y=(labels[rows] == b).astype(int))
        parts.append((f"{a!r} against {b!r}", machine, own))
    return tuple(parts)


def _frozen(model: Estimator, inputs: Inputs) -> tuple[Part, ...]:
    return (("", model.estimator, inputs),)


WRAPPERS: Mapping[str, Callable[[Estimator, Inputs], tuple[Part, ...]]] = {
    "CalibratedClassifierCV": _calibrated,
    "OneVsRestClassifier": _one_vs_rest,
    "OneVsOneClassifier": _one_vs_one,
    "FrozenEstimator": _frozen,
}
"""Models of scikit-learn that contain fitted machines."""
