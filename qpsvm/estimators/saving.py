"""Fitted estimators as arrays of numbers and one JSON text, and back.

The arrays are those of a model file (``qpsvm.models``), with the estimator's class, parameters and
fitted attributes in the metadata. What a file and what ``skops`` stores is the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm.device.on_cuda import NAMES as DEVICES
from qpsvm.estimators.parameters import WITHOUT_EFFECT, accuracy
from qpsvm.exceptions import ModelFileError
from qpsvm.files.npz import Arrays
from qpsvm.models.comparison import predictions_check
from qpsvm.models.contents import contents_of, with_estimator
from qpsvm.models.plain import from_value, to_value
from qpsvm.models.reading import model_of
from qpsvm.models.saved import SavedModel
from qpsvm.numerics.arguments import Samples
from qpsvm.tables import Preparation

FITTED = (
    "n_features_in_",
    "feature_names_in_",
    "classes_",
    "class_weight_",
    "_scales",
    "_radius",
)
"""Fitted attributes that do not follow from the solution."""


def contents(estimator: Any, preparation: Preparation | None = None) -> Arrays:
    """The arrays of a fitted estimator.

    Parameters
    ----------
    estimator : fitted estimator
    preparation : Preparation, optional
        The way from the columns of a table to its samples. By default ``preparation_``, which an
        estimator from a file has.

    Raises
    ------
    ModelFileError
        A parameter that is code, such as a kernel function of the caller's.
    """
    description = _description(estimator)
    proof = estimator._proof
    if preparation is None:
        preparation = vars(estimator).get("preparation_")
    if proof is None:
        return with_estimator(estimator._contents, description, preparation)
    # attributes like support_vectors_ belong to estimators with a kernel
    keeps_support = hasattr(estimator, "_scales")
    return contents_of(
        proof.problem,
        proof.solution,
        preparation=preparation,
        zero_based=vars(estimator).get("zero_based_"),
        estimator=description,
        support=keeps_support,
    )


def _description(estimator: Any) -> dict[str, object]:
    name = type(estimator).__name__
    parameters = estimator.get_params(deep=False)
    parameters = {k: v for k, v in parameters.items() if k not in WITHOUT_EFFECT}
    fitted = {key: vars(estimator)[key] for key in FITTED if key in vars(estimator)}
    return {
        "name": name,
        "parameters": {k: from_value(v, f"{k} of {name}") for k, v in parameters.items()},
        "fitted": {k: from_value(v, f"{k} of {name}") for k, v in fitted.items()},
    }


def restore(estimator: Any, arrays: Arrays, model: SavedModel | None = None) -> None:
    """Fill a new estimator with the parameters and numbers of a saved one.

    Parameters
    ----------
    estimator : QPEstimator
    arrays : mapping of str to array
        What ``contents`` returned.
    model : SavedModel, optional
        The model in them, if it was read already.

    Raises
    ------
    ModelFileError
        Arrays of something else, or of another class of estimators.
    """
    model = model_of(arrays) if model is None else model
    kind = type(estimator)
    given = model.estimator or {}
    if given.get("name") != kind.__name__:
        raise ModelFileError(
            f"it holds {given.get('name') or 'a model without an estimator'}, not {kind.__name__}."
        )
    try:
        kind.__init__(estimator, **_values(given, "parameters"))
    except TypeError as error:
        raise ModelFileError(
            f"its parameters are not those of {kind.__name__} ({error})."
        ) from error
    device = vars(estimator).get("device", DEVICES[0])
    if not isinstance(device, str) or device not in DEVICES:
        raise ModelFileError(f"its device is {device!r}, none of {', '.join(DEVICES)}.")
    fitted = _values(given, "fitted")
    if not set(fitted) <= set(FITTED) or ("classes_" in fitted) != (model.classes is not None):
        raise ModelFileError(f"its attributes {sorted(fitted)} are not those of {kind.__name__}.")
    _require_fitted(fitted, model)
    vars(estimator).update(fitted)
    if model.preparation is not None:
        estimator.preparation_ = model.preparation
    if model.zero_based is not None:
        estimator.zero_based_ = model.zero_based
    if model.classes is not None:
        weights = np.ones(model.n_given) if model.sample_weight is None else model.sample_weight
        estimator._codes = np.zeros(model.n_given, dtype=np.intp)
        estimator._codes[weights > 0.0] = model.targets
    estimator._contents = dict(arrays)
    estimator._predictor, estimator._proof = model.machine, None
    try:
        estimator._arrange()
    except (AttributeError, ValueError, TypeError, IndexError) as error:
        raise ModelFileError(
            f"its attributes are not those of {kind.__name__} ({error})."
        ) from error


def _require_fitted(fitted: dict[str, Any], model: SavedModel) -> None:
    """Refuse fitted attributes that contradict the model, or are of another kind."""
    columns, classes = fitted.get("n_features_in_"), fitted.get("classes_")
    if type(columns) is not int or columns not in (model.n_features, model.n_given):
        raise ModelFileError(f"n_features_in_ is {columns!r} for {model.n_features} features.")
    if model.classes is not None and not (
        isinstance(classes, np.ndarray) and np.array_equal(classes, model.classes)
    ):
        raise ModelFileError(f"classes_ are {classes!r}, those of the model {model.classes}.")
    scales, radius = fitted.get("_scales", ()), fitted.get("_radius")
    figures = [*scales, 0.0 if radius is None else radius] if isinstance(scales, tuple) else [""]
    if not all(type(figure) is float for figure in figures):
        raise ModelFileError(f"its scales {scales!r} and radius {radius!r} are no numbers.")


def proven(estimator: Any, X: Samples, y: Any, **groups: Any) -> tuple[Any, object]:
    """Problem and verified solution of a loaded estimator, rebuilt from its training data.

    Raises
    ------
    ModelFileError
        Other data; or the file predicts with other numbers than those of its solution.
    """
    model = model_of(estimator._contents)
    problem = model.problem(X, y, **groups)
    eps = accuracy(estimator)
    solution, _ = model.verified(problem, eps)
    check = predictions_check(model.machine, model.targets, problem, solution, eps)
    if not check.passed:
        raise ModelFileError(
            "The file predicts with other numbers than those of its solution and the training "
            f"data (they differ by {check.absolute:.2g}); it was changed: fit again."
        )
    return problem, solution


def _values(given: Any, name: str) -> dict[str, object]:
    entries = given.get(name)
    if not isinstance(entries, dict):
        raise ModelFileError(f"its {name} are {type(entries).__name__}, not an object.")
    return {key: to_value(value, key) for key, value in entries.items()}
