"""Readers of models: one table of all kinds, found by the names of classes.

No library is imported for it. The readers are in a module per library; here are those of this
package: its estimators, by the numbers of their files, and its model files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from qpsvm.audits import arrays, libsvm, libsvm_estimators, linear
from qpsvm.audits.claims import OWN, Claim, Reading
from qpsvm.audits.files import read_model
from qpsvm.audits.inputs import Estimator, Inputs
from qpsvm.data.samples import as_samples
from qpsvm.data.targets import as_weights
from qpsvm.display import one_line
from qpsvm.exceptions import AuditRefusedError, ModelFileError, QPSVMError
from qpsvm.formulations import NuClassification, Ranking
from qpsvm.machines.reduced import ReducedProblem
from qpsvm.models import SavedModel
from qpsvm.models.reading import model_of
from qpsvm.models.saved import predictions_check
from qpsvm.numerics.arguments import Samples, Targets, Weights, an

Reader: TypeAlias = Callable[[Any, Inputs], Reading]

LIBRARIES = ("sklearn", "sklearnex", "daal4py")
"""Packages whose estimators of these names are known; Intel's extend scikit-learn's."""


def translate_model(model: Estimator, inputs: Inputs) -> Reading:
    """Translate a model of any known kind to qpsvm's programs.

    Raises
    ------
    AuditRefusedError
        A kind of model no reader knows, one that is not fitted, or one of other data.
    """
    if isinstance(model, str | os.PathLike):
        model = read_model(model)
    if is_own(model):
        return read_own(model, inputs)
    for kind in type(model).__mro__:
        known = READERS.get(kind.__name__)
        if known is not None and kind.__module__.partition(".")[0] in known[0]:
            return _read(model, inputs, *known[1:])
    what = f"the class {model.__name__}" if isinstance(model, type) else an(model)
    estimators = ", ".join(name for name, (_, left_by_fit, _) in READERS.items() if left_by_fit)
    raise AuditRefusedError(
        f"audit cannot read {what}.{_hint(model)} It reads scikit-learn's {estimators}, qpsvm's "
        "own estimators, a Pipeline that ends in one, searches "
        "and multiclass or calibrated classifiers of them, LIBSVM and LIBLINEAR model files, "
        "qpsvm's own models, and qpsvm.audits.Arrays."
    )


def read_claims(
    model: Estimator,
    X: Samples,
    y: Targets | None = None,
    *,
    sample_weight: Weights | None = None,
    C: float | None = None,
    nu: float | None = None,
    epsilon: float | None = None,
) -> tuple[Claim, ...]:
    """Read what ``qpsvm.audit`` would verify: programs, and the numbers that are their solutions.

    Parameters
    ----------
    model, X, y, sample_weight, C, nu, epsilon
        As for ``qpsvm.audit``.

    Returns
    -------
    tuple of Claim
        One for each program: several for a model that tells several classes apart in pairs.

    Raises
    ------
    AuditRefusedError
        A kind of model no reader knows, one that is not fitted, or one of other data.

    Examples
    --------
    >>> import qpsvm
    >>> from sklearn.svm import SVC
    >>> X, y = [[0.0], [2.0]], [0, 1]
    >>> (claim,) = qpsvm.audits.read_claims(SVC(kernel="linear").fit(X, y), X, y)
    >>> claim.problem.formulation, claim.alpha.tolist()
    (SoftMargin(C=1.0), [0.5, 0.5])
    """
    return translate_model(model, Inputs(X, y, sample_weight, C, nu, epsilon)).claims


def _pipeline(model: Estimator, inputs: Inputs) -> Reading:
    """Read the last step of a pipeline, with the samples transformed by the steps before."""
    if not model.steps:
        raise AuditRefusedError("The pipeline has no steps; pass one that ends in a fitted model.")
    reading = translate_model(model.steps[-1][1], inputs.in_pipeline(model))
    return replace(reading, model=f"{reading.model} at the end of a pipeline")


def _read(model: Estimator, inputs: Inputs, left_by_fit: str, reader: Reader) -> Reading:
    """Call a reader, and turn errors by unexpected attributes into AuditRefusedError."""
    if not left_by_fit:
        return reader(model, inputs)
    name = type(model).__name__
    inputs.require_only((), name)
    if not hasattr(model, left_by_fit):
        raise AuditRefusedError(f"This {name} is not fitted; call fit(X, y) first.")
    try:
        return reader(model, inputs)
    except QPSVMError:
        raise
    except Exception as error:
        raise AuditRefusedError(
            f"This {name} cannot be read: an attribute or parameter is not as fit leaves it "
            f"({type(error).__name__}: {error}); fit it again."
        ) from error


def _hint(model: object) -> str:
    """Say what was meant by a model that no reader knows; empty where nothing is known."""
    if isinstance(model, type):
        return f" Pass a fitted one: {model.__name__}(...).fit(X, y)."
    if hasattr(model, "regressor_"):
        return " For a transformed target, pass regressor_ with the transformed y."
    if isinstance(model, np.ndarray):
        return " The model comes first: audit(model, X, y)."
    if type(model).__module__.startswith("qpsvm."):
        return " qpsvm.verify(problem, solution) verifies a solution of this package."
    return ""


# --- models of this package --------------------------------------------------------------------


def is_own(model: Estimator) -> bool:
    """Return whether a model is an estimator of this package, or derived from one."""
    return any(kind.__module__.startswith("qpsvm.estimators.") for kind in type(model).__mro__)


def read_own(model: Estimator, inputs: Inputs) -> Reading:
    """Rebuild the program and the solution of a fitted estimator of qpsvm, for an audit.

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
    delta, of_sums = float(np.max(np.abs(own - audited))), 1e-9  # relative: of two orders
    # beside one huge decision value that would hide anything
    check = predictions_check(model.machine, model.targets, problem, solution, of_sums)
    if not (check.passed and delta <= of_sums * float(np.max(np.abs(own)))):
        raise AuditRefusedError(
            "The model file predicts with other numbers than those it states as its solution (the "
            f"decision values differ by {delta:.2g}); it was changed."
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


# --- the table ----------------------------------------------------------------------------------

_LIBSVM = libsvm_estimators.read_estimator

READERS: Mapping[str, tuple[tuple[str, ...], str, Reader]] = {
    "SVC": (LIBRARIES, "dual_coef_", partial(_LIBSVM, "c_svc")),
    "NuSVC": (LIBRARIES, "dual_coef_", partial(_LIBSVM, "nu_svc")),
    "SVR": (LIBRARIES, "dual_coef_", partial(_LIBSVM, "epsilon_svr")),
    "NuSVR": (LIBRARIES, "dual_coef_", partial(_LIBSVM, "nu_svr")),
    "OneClassSVM": (LIBRARIES, "dual_coef_", partial(_LIBSVM, "one_class")),
    "LinearSVC": (LIBRARIES, "coef_", linear.linear_svc),
    "LinearSVR": (LIBRARIES, "coef_", linear.linear_svr),
    "SGDClassifier": (LIBRARIES, "coef_", linear.sgd_classifier),
    "SGDOneClassSVM": (LIBRARIES, "coef_", linear.sgd_one_class),
    "Pipeline": (("sklearn",), "", _pipeline),
    "Arrays": (("qpsvm",), "", arrays.read_arrays),
    "LibsvmModel": (("qpsvm",), "", libsvm.read_file),
    "LiblinearModel": (("qpsvm",), "", linear.read_file),
    "SavedModel": (("qpsvm",), "", read_saved),
}
"""Class of a model -> the packages that have it, an attribute that its fit leaves, its reader."""
