"""Saving and loading of fitted estimators, and certificates of loaded ones.

What a file and what ``skops`` stores are the arrays of a model file (``qpsvm.models``), with the
estimator's class, parameters and fitted attributes in the metadata.

A fit succeeds completely, or leaves an estimator as it was: it works on an unfitted copy of the
estimator, whose attributes take the place of all others in a single step, when nothing can fail any
more. An error, a warning that is raised as one or Ctrl-C before that has no effect: after it, the
estimator is what its last successful fit made it.
"""

from __future__ import annotations

import copyreg
import os
from collections.abc import Collection
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from qpsvm.certificates import Certificate, certify
from qpsvm.certificates.reduced import ReducedCertificate
from qpsvm.data.training_sets import TrainingSet
from qpsvm.device.on_cuda import NAMES as DEVICES
from qpsvm.estimators import inputs
from qpsvm.estimators.inputs import WITHOUT_EFFECT, accuracy
from qpsvm.exceptions import ModelFileError
from qpsvm.io.npz import Arrays
from qpsvm.models import SavedModel
from qpsvm.models.files import contents_of, with_estimator
from qpsvm.models.plain import from_value, to_value
from qpsvm.models.reading import model_of
from qpsvm.models.record import MODEL
from qpsvm.models.saved import predictions_check
from qpsvm.numerics.arguments import Samples, Targets
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.single_precision import Stored
from qpsvm.tables import Preparation

_Estimator = TypeVar("_Estimator")

FITTED = (
    "n_features_in_",
    "feature_names_in_",
    "classes_",
    "class_weight_",
    "_scales",
    "_radius",
)
"""Fitted attributes that do not follow from the solution."""

LEARNED = (
    *FITTED,
    "_codes",
    "_contents",
    "_predictor",
    "_proof",
    "_vectors",
    "preparation_",
    "zero_based_",
)
"""All attributes that ``fit``, or a file, sets."""


def unfitted(estimator: _Estimator, learned: Collection[str]) -> _Estimator:
    """Copy an estimator without the attributes that an earlier fit set.

    Its parameters and settings stay, and what the ``fit`` of a subclass sets before it calls ours.
    """
    copy = object.__new__(type(estimator))
    kept = {name: value for name, value in vars(estimator).items() if name not in learned}
    vars(copy).update(kept)
    return copy


def replaced(estimator: _Estimator, complete: _Estimator) -> _Estimator:
    """Give an estimator all attributes of a complete copy, in one step, and return it."""
    estimator.__dict__ = vars(complete)
    return estimator


@dataclass(frozen=True, eq=False)
class Proof:
    """The certificate of a solution, computed when it is first asked for."""

    problem: Any
    solution: Any

    @cached_property
    def certificate(self) -> Certificate | ReducedCertificate:
        """Certificate, or ReducedCertificate with one for every program."""
        proof: Certificate | ReducedCertificate = certify(self.problem, self.solution)
        return proof


class PersistentEstimator(BaseEstimator):
    """Base class of estimators that can be written to a file.

    A fitted estimator has a machine that predicts (``_predictor``): the solution, or as much of it
    as a file has. What is proven of it (``_proof``) needs the training data.
    """

    _predictor: Any
    _proof: Proof | None

    def _arrange(self) -> None:
        """Arrange support vectors and coefficients of the solution as scikit-learn does."""

    def _fitted(self, weights: Vector) -> None:
        """Set the fitted attributes that are computed from the sample weights, such as a scale."""

    def _needs_names(self, X: Stored) -> bool:
        """Return whether constraints may refer to columns by name."""
        return getattr(self, "constraints", None) is not None and hasattr(X, "columns")

    # --- the fit ----------------------------------------------------------------------------------
    def __sklearn_is_fitted__(self) -> bool:
        return "_predictor" in vars(self)

    @property
    def _proven(self) -> Proof:
        check_is_fitted(self)
        if self._proof is None:
            raise AttributeError(
                f"This {type(self).__name__} was loaded from a file, which does not have the "
                "training data: it predicts, but has no problem_, solution_, certificate_, "
                "fit_status_ and report(). Pass the data: estimator.restore(X, y)."
            )
        return self._proof

    @property
    def problem_(self) -> Any:
        """The program that was solved."""
        return self._proven.problem

    @property
    def solution_(self) -> Any:
        """The verified solution of ``problem_``."""
        return self._proven.solution

    # --- files ------------------------------------------------------------------------------------
    def save(self, path: str | os.PathLike[str], *, preparation: Preparation | None = None) -> None:
        """Write the fitted estimator to a file, completely or not at all; ``qpsvm.load`` reads it.

        Parameters
        ----------
        path : path
            By custom ``something.npz``; an existing file is replaced. It holds numbers and JSON
            text, and of the training data the samples that predictions need.
        preparation : Preparation, optional
            The way from the columns of a table to X, ``DataFile.preparation``; the estimator that
            ``qpsvm.load`` returns has it as ``preparation_``.

        Raises
        ------
        NotFittedError
            Before ``fit``.
        ModelFileError
            A parameter that is code, such as a kernel function; a path that cannot be written.
        InvalidParameterError
            A preparation with another number of features.
        """
        check_is_fitted(self)
        MODEL.write(path, contents(self, preparation))

    def restore(self, X: Samples, y: Targets | None = None, **groups: object) -> Self:
        """Give an estimator that was loaded from a file its training data again.

        After that it has ``problem_``, ``solution_`` with the status of its verification,
        ``certificate_``, ``fit_status_`` and ``report()``.

        Parameters
        ----------
        X, y
            As in ``fit``. Sample weights are in the file.
        **groups
            ``groups=...`` of an ``SVMRanker``.

        Returns
        -------
        self

        Raises
        ------
        NotFittedError
            Before ``fit``.
        ModelFileError
            Other data than those of ``fit``; or the file predicts with other numbers than those of
            its solution.
        """
        check_is_fitted(self)
        if self._proof is None:
            samples = X if self._needs_names(X) else inputs.samples(self, X)
            problem, solution = proven(self, samples, y, **groups)
            complete = copy(self)
            complete._require_figures(problem.data, solution)
            complete._predictor, complete._proof = solution, Proof(problem, solution)
            complete._arrange()
            del complete._contents
            replaced(self, complete)
        return self

    def _require_figures(self, data: TrainingSet, solution: Any) -> None:
        """Refuse figures in a file that do not follow from the solution and the parameters."""
        weights = np.zeros(data.n_given)
        weights[data.kept] = data.weights
        fresh = copy(self)
        fresh._predictor = solution
        try:
            fresh._fitted(weights)
        except (TypeError, ValueError) as error:
            raise ModelFileError(f"The parameters of {self} are not those of a fit.") from error
        for name in ("_scales", "_radius"):
            stated, found = (np.asarray(vars(e).get(name), dtype=np.float64) for e in (self, fresh))
            if stated.shape != found.shape or not np.allclose(
                stated, found, rtol=accuracy(self), atol=0.0, equal_nan=True
            ):
                raise ModelFileError(
                    f"The file states the figures {stated} ({name}), and solution and parameters "
                    f"give {found}: it was changed, or the parameters were, after the fit; fit "
                    "again."
                )

    def __getstate__(self) -> dict[str, object]:
        """The state that skops stores: arrays and plain values, without objects of qpsvm."""
        if not self.__sklearn_is_fitted__():
            return dict(vars(self))
        return {"contents": contents(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if set(state) == {"contents"}:
            restore(self, state["contents"])
        else:
            self.__dict__.update(state)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """State for pickle and copy: all attributes, with problem and certificate."""
        del protocol
        return copyreg.__newobj__, (type(self),), dict(vars(self))  # type: ignore[attr-defined]


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
