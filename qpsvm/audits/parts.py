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

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qpsvm.audits.own_estimators import is_own
from qpsvm.audits.own_predictions import OwnPredictions
from qpsvm.audits.readers.attributes import Estimator
from qpsvm.audits.readers.pipelines import transformed
from qpsvm.audits.result import Audit
from qpsvm.exceptions import AuditRefusedError
from qpsvm.numerics.arrays import Index


@dataclass(frozen=True, eq=False)
class Data:
    """Training data as they were handed to ``fit``."""

    X: Any
    y: Any
    sample_weight: Any

    def rows(self, rows: Index) -> Data:
        """Some of the samples."""
        from sklearn.utils import _safe_indexing

        return Data(*(None if v is None else _safe_indexing(v, rows) for v in vars(self).values()))


@dataclass(frozen=True, eq=False)
class Part:
    """A fitted machine inside a model, with a name and the data of its own fit."""

    name: str
    model: Estimator
    data: Data


def parts_of(model: Estimator, data: Data) -> tuple[Part, ...] | None:
    """The fitted machines inside a model, or None if the model is one machine itself.

    Raises
    ------
    AuditRefusedError
        The model is not fitted, or was fitted to other data.
    """
    if _name(model) == "Pipeline" and model.steps:
        last = model.steps[-1][1]
        if not (is_own(last) or _name(last) in WRAPPERS or hasattr(last, "best_estimator_")):
            return None  # the reader of pipelines also asks the pipeline for its predictions
        inside = replace(data, X=transformed(model, data.X))
        return parts_of(last, inside) or (Part("", last, inside),)
    if _name(model) in WRAPPERS:
        try:
            return WRAPPERS[_name(model)](model, data)
        except (AttributeError, ValueError, TypeError, IndexError) as error:
            raise AuditRefusedError(
                f"The machines of this {_name(model)} cannot be told ({error}); pass a fitted one, "
                "with X and y as they were handed to its fit."
            ) from error
    if _is_from_sklearn(model) and hasattr(model, "best_estimator_"):
        return (Part("", model.best_estimator_, data),)
    return None


def joined(model: Estimator, parts: tuple[Part, ...], audits: list[Audit]) -> Audit:
    """One audit of all machines of a model."""
    name, first = type(model).__name__, audits[0]
    if len(audits) == 1:
        return replace(first, model=f"{first.model} in a {name}")
    machines = tuple(
        replace(machine, name=f"{part.name}: {machine.name}" if machine.name else part.name)
        for part, audit in zip(parts, audits, strict=True)
        for machine in audit.machines
    )
    remark = (
        f"each machine of the {name} was audited on the samples that it was fitted to; how the "
        "model combines their answers was not"
    )
    return replace(
        first,
        model=f"{name} of {len(audits)} models ({first.model})",
        machines=machines,
        combined=None,
        remarks=tuple(dict.fromkeys([remark, *(r for audit in audits for r in audit.remarks)])),
        own_predictions=_all([a.own_predictions for a in audits]),
    )


def _all(found: list[OwnPredictions | None]) -> OwnPredictions | None:
    """The comparisons of all machines as one; None if no model was asked."""
    asked = [own for own in found if own is not None]
    if not asked:
        return None
    return OwnPredictions(
        n_compared=sum(own.n_compared for own in asked),
        n_undecided=sum(own.n_undecided for own in asked),
        n_differ=sum(own.n_differ for own in asked),
        largest_difference=float(np.max([own.largest_difference for own in asked])),
        worst=float(np.max([own.worst for own in asked])),
    )


def _name(model: Estimator) -> str:
    """Class name of a model of scikit-learn, or of a class derived from one; else empty."""
    for kind in type(model).__mro__:
        known = kind.__name__ == "Pipeline" or kind.__name__ in WRAPPERS
        if known and kind.__module__.partition(".")[0] == "sklearn":
            return kind.__name__
    return ""


def _is_from_sklearn(model: Estimator) -> bool:
    return any(kind.__module__.partition(".")[0] == "sklearn" for kind in type(model).__mro__)


# --- the wrappers ----------------------------------------------------------------------------


def _calibrated(model: Estimator, data: Data) -> tuple[Part, ...]:
    """The machines of ``CalibratedClassifierCV``: its folds are split again."""
    from sklearn.model_selection import check_cv

    fitted = [calibrated.estimator for calibrated in model.calibrated_classifiers_]
    frozen = _name(model.estimator) == "FrozenEstimator"
    if model.ensemble is False or (model.ensemble == "auto" and frozen):
        return (Part("", fitted[0], data),)
    folds = [train for train, _ in check_cv(model.cv, data.y, classifier=True).split(*_pair(data))]
    if len(folds) != len(fitted):
        raise ValueError(f"it has {len(fitted)} machines, and cv splits into {len(folds)} folds")
    return tuple(
        Part(f"without fold {i}", machine, data.rows(train))
        for i, (machine, train) in enumerate(zip(fitted, folds, strict=True))
    )


def _one_vs_rest(model: Estimator, data: Data) -> tuple[Part, ...]:
    """The machines of ``OneVsRestClassifier``, without those of classes that all samples have."""
    columns = model.label_binarizer_.transform(data.y)
    columns = columns.toarray() if hasattr(columns, "toarray") else np.asarray(columns)
    classes = np.asarray(model.classes_).tolist()
    names = [f"{label!r} against the rest" for label in classes]
    if columns.shape[1] == 1:
        names = [f"{classes[-1]!r} against {classes[0]!r}"]
    return tuple(
        Part(name, machine, replace(data, y=column))
        for name, machine, column in zip(names, model.estimators_, columns.T, strict=True)
        if type(machine).__name__ != "_ConstantPredictor"
    )


def _one_vs_one(model: Estimator, data: Data) -> tuple[Part, ...]:
    """The machines of ``OneVsOneClassifier``, in its order of pairs."""
    from sklearn.utils.metaestimators import _safe_split

    labels, classes, parts = np.asarray(data.y), np.asarray(model.classes_), list[Part]()
    pairs = [(a, b) for i, a in enumerate(classes.tolist()) for b in classes.tolist()[i + 1 :]]
    for (a, b), machine in zip(pairs, model.estimators_, strict=True):
        rows = np.flatnonzero((labels == a) | (labels == b))
        samples = _safe_split(model.estimator, data.X, None, indices=rows)[0]
        own = replace(data.rows(rows), X=samples, y=(labels[rows] == b).astype(int))
        parts.append(Part(f"{a!r} against {b!r}", machine, own))
    return tuple(parts)


def _frozen(model: Estimator, data: Data) -> tuple[Part, ...]:
    return (Part("", model.estimator, data),)


def _pair(data: Data) -> tuple[Any, Any]:
    return data.X, data.y


WRAPPERS: Mapping[str, Callable[[Estimator, Data], tuple[Part, ...]]] = {
    "CalibratedClassifierCV": _calibrated,
    "OneVsRestClassifier": _one_vs_rest,
    "OneVsOneClassifier": _one_vs_one,
    "FrozenEstimator": _frozen,
}
"""Models of scikit-learn that contain fitted machines."""
