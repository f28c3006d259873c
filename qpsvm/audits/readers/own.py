"""Models of this package: its estimators, by the numbers of their files, and its model files."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from qpsvm.audits.claims import Claim, Library, Reading
from qpsvm.audits.readers.attributes import Estimator
from qpsvm.audits.readers.inputs import Inputs
from qpsvm.data.samples import as_samples
from qpsvm.data.targets import as_weights
from qpsvm.display import one_line
from qpsvm.exceptions import AuditRefusedError, ModelFileError
from qpsvm.formulations import NuClassification, Ranking
from qpsvm.machines.reduced import ReducedProblem
from qpsvm.models import SavedModel
from qpsvm.models.reading import model_of

OWN = Library("qpsvm")
"""This package as the library of a model."""

SAME_PREDICTIONS = 1e-9
"""Difference of decision values relative to the largest: two ways of adding them up."""


def is_own(model: Estimator) -> bool:
    """Return whether a model is an estimator of this package, or derived from one."""
    return any(kind.__module__.startswith("qpsvm.estimators.") for kind in type(model).__mro__)


def read_estimator(model: Estimator, inputs: Inputs) -> Reading:
    """Read an estimator of this package.

    Raises
    ------
    AuditRefusedError
        An estimator that is not fitted, one with a kernel function of the caller's, other data or
        sample weights than those of its fit, or one whose ``predict`` says something else than the
        machine.
    """
    name = type(model).__name__
    if not model.__sklearn_is_fitted__():
        raise AuditRefusedError(f"This {name} is not fitted; call fit(X, y) first.")
    try:
        found = model_of(model.__getstate__()["contents"])
        if isinstance(found.formulation, Ranking):
            raise ModelFileError("query groups are no argument of an audit.")
        if inputs.sample_weight is not None:
            given = as_weights(inputs.sample_weight, found.n_given)
            weights: Any = found.sample_weight
            if not np.array_equal(given, np.ones(found.n_given) if weights is None else weights):
                raise AuditRefusedError(
                    f"This {name} was fitted with other sample weights; pass those of its fit."
                )
        _require_same_predictions(model, found, inputs.X)
        reading = read_saved(found, replace(inputs, sample_weight=None))
    except ModelFileError as error:
        raise AuditRefusedError(
            f"This {name} cannot be audited: {error} Without the data of the fit "
            "qpsvm.verify(model.problem_, model.solution_) verifies the machine."
        ) from error
    return replace(reading, model=one_line(model))


def read_saved(model: SavedModel, inputs: Inputs) -> Reading:
    """Read a model file that qpsvm has written.

    Raises
    ------
    AuditRefusedError
        A ranking; sample weights beside those of the file; a file that predicts with other numbers
        than those of its solution.
    """
    inputs.require_only((), "one of qpsvm")
    if inputs.sample_weight is not None:
        raise AuditRefusedError(
            "A model file of qpsvm has the sample weights of its training in it; leave "
            "sample_weight out."
        )
    if isinstance(model.formulation, Ranking):
        raise AuditRefusedError(
            "The audit of a Ranking needs the query groups, which it has no parameter for; use "
            "model.verify(X, y, groups=groups)."
        )
    problem = model.problem(inputs.X, inputs.y)
    solution = model.solution(problem)
    X = as_samples(inputs.X) if model.scaling is None else model.scaling(inputs.X)
    own, audited = model.decision_function(inputs.X), solution.decision_function(X)
    apart = float(np.max(np.abs(own - audited)))
    if not apart <= SAME_PREDICTIONS * float(np.max(np.abs(own))):
        raise AuditRefusedError(
            "The model file predicts with other numbers than those it states as its solution (the "
            f"decision values differ by {apart:.2g}); it was changed."
        )
    parts: list[Any] = [("", (problem, solution))]
    if isinstance(problem, ReducedProblem):
        parts = list(zip(problem.names, problem.parts(solution), strict=True))
    return Reading(
        model=repr(model),
        library=OWN,
        samples=X,
        claims=tuple(
            Claim(name, part, machine.intercept, stated=machine) for name, (part, machine) in parts
        ),
        classes=model.classes,
        reduction=problem.reduction if isinstance(problem, ReducedProblem) else None,
    )


def _require_same_predictions(model: Estimator, found: SavedModel, X: Any) -> None:
    """Raise AuditRefusedError if an estimator and its stored machine predict different labels.

    ``NuSVC`` with several classes compares decision values in another scale than its machine, in
    which other labels may have the most votes: nothing is compared.
    """
    if isinstance(getattr(found.formulation, "formulation", None), NuClassification):
        return
    own, predicted = np.asarray(model.predict(X)), found.predict(X)
    if not np.array_equal(own, predicted):
        n = len(predicted)
        differ = int(np.count_nonzero(own != predicted)) if own.shape == predicted.shape else n
        raise AuditRefusedError(
            f"This {type(model).__name__} predicts something else than its machine for {differ} "
            "of the samples: its predict is another method, or was changed; fit it again."
        )
