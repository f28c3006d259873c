"""Table of the readers by the class name of a model, without importing its library."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from qpsvm.audits.claims import Claim, Reading
from qpsvm.audits.files.reading import read_model
from qpsvm.audits.readers import arrays, liblinear, libsvm_estimators, libsvm_files, own, sgd
from qpsvm.audits.readers.attributes import Estimator
from qpsvm.audits.readers.inputs import Inputs
from qpsvm.exceptions import AuditRefusedError, QPSVMError
from qpsvm.numerics.arguments import Samples, Targets, Weights, an

Reader: TypeAlias = Callable[[Any, Inputs], Reading]

LIBRARIES = ("sklearn", "sklearnex", "daal4py")
"""Packages whose estimators of these names are known; Intel's extend scikit-learn's."""

ESTIMATORS: Mapping[str, tuple[str, Reader]] = {
    "SVC": ("dual_coef_", partial(libsvm_estimators.read_estimator, "c_svc")),
    "NuSVC": ("dual_coef_", partial(libsvm_estimators.read_estimator, "nu_svc")),
    "SVR": ("dual_coef_", partial(libsvm_estimators.read_estimator, "epsilon_svr")),
    "NuSVR": ("dual_coef_", partial(libsvm_estimators.read_estimator, "nu_svr")),
    "OneClassSVM": ("dual_coef_", partial(libsvm_estimators.read_estimator, "one_class")),
    "LinearSVC": ("coef_", liblinear.linear_svc),
    "LinearSVR": ("coef_", liblinear.linear_svr),
    "SGDClassifier": ("coef_", sgd.classifier),
    "SGDOneClassSVM": ("coef_", sgd.one_class),
}
"""Class of an estimator -> an attribute that its fit leaves, and its reader."""

CONTENTS: Mapping[str, Reader] = {
    "Arrays": arrays.read_arrays,
    "ArrayModel": arrays.read_file,
    "LibsvmModel": libsvm_files.read_file,
    "LiblinearModel": liblinear.read_file,
    "SavedModel": own.read_saved,
}
"""Class of this package, of plain numbers or the content of a model file -> its reader."""


def read(model: Estimator, inputs: Inputs) -> Reading:
    """Translate a model of any known kind to qpsvm's programs.

    Raises
    ------
    AuditRefusedError
        A kind of model no reader knows, one that is not fitted, or one of other data.
    """
    if isinstance(model, str | os.PathLike):
        model = read_model(model)
    if own.is_own(model):
        return own.read_estimator(model, inputs)
    for kind in type(model).__mro__:
        package, name = kind.__module__.partition(".")[0], kind.__name__
        if package == "qpsvm" and name in CONTENTS:
            return CONTENTS[name](model, inputs)
        if package == "sklearn" and name == "Pipeline":
            return _pipeline(model, inputs)
        if package in LIBRARIES and name in ESTIMATORS:
            return _estimator(model, inputs, *ESTIMATORS[name])
    what = f"the class {model.__name__}" if isinstance(model, type) else an(model)
    raise AuditRefusedError(
        f"audit cannot read {what}.{_hint(model)} It reads scikit-learn's "
        f"{', '.join(ESTIMATORS)}, qpsvm's own estimators, a Pipeline that ends in one, searches "
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
    return read(model, Inputs(X, y, sample_weight, C, nu, epsilon)).claims


def _pipeline(model: Estimator, inputs: Inputs) -> Reading:
    """Read the last step of a pipeline, with the samples transformed by the steps before."""
    if not model.steps:
        raise AuditRefusedError("The pipeline has no steps; pass one that ends in a fitted model.")
    reading = read(model.steps[-1][1], inputs.in_pipeline(model))
    return replace(reading, model=f"{reading.model} at the end of a pipeline")


def _estimator(model: Estimator, inputs: Inputs, left_by_fit: str, reader: Reader) -> Reading:
    """Call a reader, and turn errors by unexpected attributes into AuditRefusedError."""
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
