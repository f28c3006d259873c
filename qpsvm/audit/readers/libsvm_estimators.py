"""Scikit-learn's ``SVC``, ``NuSVC``, ``SVR``, ``NuSVR`` and ``OneClassSVM``: LIBSVM inside.

The classes of Intel's extension have the same attributes and another solver.

Scikit-learn sorts the classes. For two of them it turns LIBSVM's signs around, so that the second
has the positive values; for more the first of a pair has. What predicts are private copies of
``dual_coef_`` and ``intercept_``: a model in which they differ is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm import kernels
from qpsvm.audit.claims import Library, Reading
from qpsvm.audit.readers.inputs import Inputs, require_finite, require_same_rows
from qpsvm.audit.readers.libsvm import Expansions
from qpsvm.exceptions import AuditRefusedError
from qpsvm.formulations import (
    EpsilonRegression,
    NuClassification,
    NuRegression,
    OneClass,
    SoftMargin,
)
from qpsvm.kernels import Kernel
from qpsvm.kernels.products import variance
from qpsvm.qp._arrays import Dense, Index

SAME_GAMMA = 1e-6
"""Relative difference of two ways to compute ``gamma="scale"`` from the same data."""


def svc(model: Any, inputs: Inputs) -> Reading:
    """``SVC``: one soft margin for every pair of classes."""
    found = _expansions(model, inputs)
    codes = inputs.codes(model.classes_, len(found.weights))
    return found.pairs(
        SoftMargin(float(model.C)),
        codes,
        model.classes_,
        class_weight=np.asarray(model.class_weight_),
        second_is_positive=len(model.classes_) == 2,
        break_ties=_breaks_ties(model),
    )


def nu_svc(model: Any, inputs: Inputs) -> Reading:
    """``NuSVC``, which ignores its ``class_weight``."""
    found = _expansions(model, inputs)
    codes = inputs.codes(model.classes_, len(found.weights))
    two = len(model.classes_) == 2
    formulation = NuClassification(float(model.nu))
    return found.pairs(
        formulation,
        codes,
        model.classes_,
        second_is_positive=two,
        break_ties=_breaks_ties(model),
    )


def svr(model: Any, inputs: Inputs) -> Reading:
    """``SVR``."""
    formulation = EpsilonRegression(float(model.C), float(model.epsilon))
    return _expansions(model, inputs).machine(formulation, inputs.y)


def nu_svr(model: Any, inputs: Inputs) -> Reading:
    """``NuSVR``, whose C is the price of one sample and ours that of the average."""
    found = _expansions(model, inputs)
    formulation = NuRegression(float(model.nu), float(model.C) * float(np.sum(found.weights)))
    return found.machine(formulation, inputs.y)


def one_class(model: Any, inputs: Inputs) -> Reading:
    """``OneClassSVM``."""
    found, nu = _expansions(model, inputs), float(model.nu)
    return found.machine(OneClass(nu), factor=nu * float(np.sum(found.weights)))


# --- small pieces -----------------------------------------------------------------------------


def _breaks_ties(model: Any) -> bool:
    """Whether ``predict`` takes the largest decision value instead of LIBSVM's votes."""
    return bool(getattr(model, "break_ties", False)) and model.decision_function_shape == "ovr"


def _expansions(model: Any, inputs: Inputs) -> Expansions:
    name = type(model).__name__
    inputs.require_only((), name)
    if not hasattr(model, "dual_coef_"):
        raise AuditRefusedError(f"This {name} is not fitted; call fit(X, y) first.")
    shape = model.shape_fit_
    samples = inputs.samples(None if len(shape) < 2 else shape[1], objects=callable(model.kernel))
    if samples.shape[0] != shape[0]:
        raise AuditRefusedError(
            f"This {name} was fitted on {shape[0]} samples, X has {samples.shape[0]}; pass the "
            "training data."
        )
    coefficients, intercepts = _numbers(name, model)
    weights = inputs.weights(samples.shape[0])
    rows = _support(name, model, weights)
    if not _is_matrix(model):
        require_same_rows(f"This {name}", model.support_vectors_, samples, rows)
    return Expansions(
        model=name,
        library=_library(model),
        kernel=_kernel(model, samples),
        samples=samples,
        weights=weights,
        rows=rows,
        coefficients=coefficients,
        intercepts=intercepts,
    )


def _support(name: str, model: Any, weights: Any) -> Index:
    """The rows of the support vectors: ``support_`` counts samples of positive weight alone.

    What predicts with a matrix takes ``support_`` for its columns all the same.
    """
    support: Index = np.asarray(model.support_, dtype=np.intp)
    taking_part = np.flatnonzero(weights > 0.0)
    if support.size and not 0 <= int(support.min()) <= int(support.max()) < len(taking_part):
        raise AuditRefusedError(
            f"This {name} has a support vector number {int(support.max())}, {len(taking_part)} "
            "samples have a positive weight; pass the sample_weight it was fitted with."
        )
    rows = taking_part[support]
    if _is_matrix(model) and not np.array_equal(rows, support):
        raise AuditRefusedError(
            f"This {name} was fitted with sample weights that are zero, and with a kernel matrix "
            "scikit-learn then predicts from other columns than those of the support vectors; "
            "leave these samples out of the fit."
        )
    return rows


def _is_matrix(model: Any) -> bool:
    """Whether LIBSVM saw a kernel matrix instead of samples."""
    return callable(model.kernel) or bool(model.kernel == "precomputed")


def _numbers(name: str, model: Any) -> tuple[Dense, Any]:
    """``dual_coef_`` and ``intercept_``, if they are what predicts."""
    coefficients = _dense(model.dual_coef_)
    intercepts = np.array(model.intercept_, dtype=np.float64)
    require_finite(f"this {name}", dual_coef_=coefficients, intercept_=intercepts)
    own = (getattr(model, "_dual_coef_", None), getattr(model, "_intercept_", None))
    for public, private in zip((coefficients, intercepts), own, strict=True):
        if private is None:
            continue
        copy = _dense(private)
        if not (np.array_equal(copy, public) or np.array_equal(copy, -public)):
            raise AuditRefusedError(
                f"This {name} predicts with other numbers than its dual_coef_ and intercept_ (they "
                "were changed after the fit); fit it again."
            )
    return coefficients, intercepts


def _library(model: Any) -> Library:
    if hasattr(model, "_onedal_estimator"):
        return Library("oneDAL", f"stopping tolerance of {model.tol:g}")
    stopped_at = f"stopping tolerance of {model.tol:g}"
    if getattr(model, "fit_status_", 0) == 1:
        stopped_at = f"iteration limit of {model.max_iter}"
    return Library("LIBSVM", stopped_at, float32_kernel=True)


def _kernel(model: Any, samples: Any) -> Kernel:
    """The model's kernel with numbers for parameters; gamma must be that of these data."""
    kind = model.kernel
    if callable(kind):
        return kernels.Custom(kind)
    if kind in ("linear", "precomputed"):
        return kernels.as_kernel(kind)
    gamma: Any = getattr(model, "_gamma", None)
    if isinstance(model.gamma, str):
        rule: Any = model.gamma
        expected: Any = kernels.RBF(rule).resolve(samples).gamma
        if gamma is not None and rule == "scale" and variance(samples) == 0.0:
            expected = gamma  # 1 or huge, as the rounding of a zero variance has it
        gamma = expected if gamma is None else gamma
        if not abs(gamma - expected) <= SAME_GAMMA * expected:
            raise AuditRefusedError(
                f"The model was fitted with gamma={model.gamma!r} = {gamma:.8g}, on these data it "
                f"would be {expected:.8g}; pass the training data."
            )
    gamma = float(model.gamma if gamma is None else gamma)
    if kind == "poly":
        return kernels.Polynomial(gamma, int(model.degree), float(model.coef0))
    if kind == "sigmoid":
        return kernels.Sigmoid(gamma, float(model.coef0))
    if kind == "rbf":
        return kernels.RBF(gamma)
    raise AuditRefusedError(f"The kernel {kind!r} is none that qpsvm has; pass it as a callable.")


def _dense(matrix: Any) -> Dense:
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix, dtype=np.float64)
