"""Choice of the reader by the class name of a model, without importing its library."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

import numpy as np

from qpsvm.audits.claims import Claim, Reading
from qpsvm.audits.readers import liblinear_estimators, libsvm_estimators, pipelines, sgd
from qpsvm.audits.readers.arrays import Arrays, arrays
from qpsvm.audits.readers.attributes import Estimator
from qpsvm.audits.readers.inputs import Inputs
from qpsvm.exceptions import AuditRefusedError, QPSVMError
from qpsvm.numerics.arguments import Samples, Targets, Weights, an

LIBRARIES = ("sklearn", "sklearnex", "daal4py")
"""Packages whose estimators of these names are known; Intel's extend scikit-learn's."""

ESTIMATORS: Mapping[str, Callable[[Estimator, Inputs], Reading]] = {
    "SVC": libsvm_estimators.svc,
    "NuSVC": libsvm_estimators.nu_svc,
    "SVR": libsvm_estimators.svr,
    "NuSVR": libsvm_estimators.nu_svr,
    "OneClassSVM": libsvm_estimators.one_class,
    "LinearSVC": liblinear_estimators.linear_svc,
    "LinearSVR": liblinear_estimators.linear_svr,
    "SGDClassifier": sgd.classifier,
    "SGDOneClassSVM": sgd.one_class,
}


def read(model: Estimator, inputs: Inputs) -> Reading:
    """Translate a model of any known kind to qpsvm's programs.

    Raises
    ------
    AuditRefusedError
        A kind of model no reader knows, one that is not fitted, or one of other data.
    """
    if isinstance(model, Arrays):
        return arrays(model, inputs)
    names = [(t.__module__.partition(".")[0], t.__name__) for t in type(model).__mro__]
    if isinstance(model, str | os.PathLike) or names[0][0] == "qpsvm":
        from qpsvm.audits.readers import files

        if isinstance(model, str | os.PathLike | files.Parsed):
            return files.read(model, inputs)
    for package, name in names:
        reader = ESTIMATORS.get(name) if package in LIBRARIES else None
        if package == "sklearn" and name == "Pipeline":
            return pipelines.pipeline(model, inputs, read)
        if reader is not None:
            return _read_estimator(reader, model, inputs)
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


def _read_estimator(
    reader: Callable[[Estimator, Inputs], Reading], model: Estimator, inputs: Inputs
) -> Reading:
    """Call a reader, and turn errors by unexpected attributes into AuditRefusedError."""
    try:
        return reader(model, inputs)
    except QPSVMError:
        raise
    except Exception as error:
        raise AuditRefusedError(
            f"This {type(model).__name__} cannot be read: an attribute or parameter is not as "
            f"fit leaves it ({type(error).__name__}: {error}); fit it again."
        ) from error
