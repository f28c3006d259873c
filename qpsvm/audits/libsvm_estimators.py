"""Reader of scikit-learn's ``SVC``, ``NuSVC``, ``SVR``, ``NuSVR``, ``OneClassSVM`` (LIBSVM).

The estimators of Intel's extension have the same attributes, but another solver.

Scikit-learn sorts the classes. For two classes it reverses LIBSVM's signs, so that the second class
has positive values; for more classes, the first class of a pair has. Predictions use private copies
of ``dual_coef_`` and ``intercept_``; a model in which these differ is refused.
"""

from __future__ import annotations

import operator
from typing import Any, cast

import numpy as np

from qpsvm import kernels
from qpsvm.audits import inputs as checked
from qpsvm.audits.claims import Library, Reading
from qpsvm.audits.inputs import Estimator, Inputs, require_same_rows
from qpsvm.audits.libsvm import PARAMETERS, Expansions
from qpsvm.audits.libsvm_model import PARAMETERS as OF_KERNELS
from qpsvm.exceptions import AuditRefusedError
from qpsvm.kernels import Kernel
from qpsvm.kernels.gram import NAMES
from qpsvm.kernels.products import variance
from qpsvm.numerics.arrays import Dense, Index, Matrix, Vector, is_sparse
from qpsvm.numerics.precision import EPS

KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")
"""Names of kernels, as scikit-learn has them."""

SAME_GAMMA = 1e-6
"""Relative difference of two ways to compute ``gamma="scale"`` from the same data."""


def read_estimator(svm_type: str, model: Estimator, inputs: Inputs) -> Reading:
    """Read a fitted estimator, which LIBSVM calls a model of the type ``svm_type``."""
    parameters = {name: checked.number(model, name) for name in PARAMETERS[svm_type]}
    return _expansions(svm_type, model, inputs).trained_with(inputs.y, parameters)


def _expansions(svm_type: str, model: Estimator, inputs: Inputs) -> Expansions:
    name, shape = type(model).__name__, checked.attribute(model, "shape_fit_")
    try:
        n, *columns = map(operator.index, shape)
    except (TypeError, ValueError):
        checked.refuse(model, f"has shape_fit_ = {shape!r}, which must be a shape")
    samples = inputs.samples(*columns[:1], objects=callable(model.kernel))
    if samples.shape[0] != n:
        raise AuditRefusedError(
            f"This {name} was fitted on {n} samples, X has {samples.shape[0]}; pass the training "
            "data."
        )
    weights, k = inputs.weights(samples.shape[0]), 2
    classes, factors, codes = None, None, np.zeros(0, np.intp)
    if svm_type in ("c_svc", "nu_svc"):
        classes = checked.classes_of(model)
        codes = inputs.codes(classes, weights)  # first: LIBSVM drops some classes
        k = len(classes)
    if svm_type == "c_svc":  # the other type ignores its class_weight
        factors = checked.numbers(model, "class_weight_", (k,), "its classes")
    # predict then takes the largest decision value, instead of LIBSVM's votes
    largest = getattr(model, "break_ties", False) and model.decision_function_shape == "ovr"
    rows = _support(name, model, weights)
    coefficients, intercepts = stored_numbers(model, k, len(rows))
    _require_counts(model, None if classes is None else k, rows)
    if not _is_matrix(model):
        vectors = checked.matrix(model, "support_vectors_")
        require_same_rows(f"This {name}", vectors, samples, rows)
    return Expansions(
        svm_type=svm_type,
        model=name,
        library=_library(model),
        kernel=kernel_of(model, samples),
        samples=samples,
        weights=weights,
        rows=rows,
        coefficients=coefficients,
        intercepts=intercepts,
        codes=codes,
        classes=classes,
        class_weight=factors,
        first_is_positive=k > 2,
        break_ties=bool(largest),
    )


def stored_numbers(model: Estimator, k: int, m: int) -> tuple[Dense, Vector]:
    """``dual_coef_`` and ``intercept_`` of m support vectors and k classes.

    Raises
    ------
    AuditRefusedError
        Other shapes, for which LIBSVM would read out of bounds; the model predicts with other
        numbers.
    """
    coefficients = checked.numbers(model, "dual_coef_")
    intercepts = checked.numbers(model, "intercept_")
    for own, public in (("_dual_coef_", coefficients), ("_intercept_", intercepts)):
        if not hasattr(model, own):
            continue
        copy = checked.numbers(model, own)
        if not (np.array_equal(copy, public) or np.array_equal(copy, -public)):
            raise AuditRefusedError(
                f"This {type(model).__name__} predicts with other numbers than its dual_coef_ and "
                "intercept_ (they were changed after the fit); fit it again."
            )
    why = f"{m} support vectors" + f" and {k} classes" * (k > 2)
    checked.require_shape(model, "dual_coef_", coefficients, (k - 1, m), why)
    checked.require_shape(model, "intercept_", intercepts, (k * (k - 1) // 2,), why)
    return coefficients, intercepts


def _require_counts(model: Estimator, n_classes: int | None, rows: Index) -> None:
    """Refuse counts for which LIBSVM would read out of bounds."""
    m = len(rows)
    if len(np.unique(rows)) < m:
        checked.refuse(model, "has a sample twice in support_")
    if hasattr(model, "_n_support"):
        counts = checked.whole_numbers(model, "_n_support")
        if n_classes is not None:
            fine = len(counts) == n_classes and (counts >= 0).all() and int(np.sum(counts)) == m
        else:  # LIBSVM's has the number twice; of sparse samples anything
            fine = len(counts) == 1 + (not _is_of_intel(model))
            fine = fine and (getattr(model, "_sparse", False) or (counts == m).all())
        if not fine:
            checked.refuse(model, f"has n_support_ = {counts.tolist()} for {m} support vectors")
    k = n_classes or 2
    for name in ("_effective_probability", "probability"):
        value = getattr(model, name, False)
        if not isinstance(value, bool) and not (isinstance(value, str) and value == "deprecated"):
            checked.refuse(model, f"has {name} = {value!r}, which must be True or False")
        if value is True and np.size(getattr(model, "_probA", ())) != k * (k - 1) // 2:
            checked.refuse(model, f"has {name} = True and was fitted without probabilities")


def _is_of_intel(model: Estimator) -> bool:
    """Return whether the estimator is of Intel's extension (oneDAL)."""
    return hasattr(model, "_onedal_estimator")


def _support(name: str, model: Estimator, weights: Matrix) -> Index:
    """Rows of the support vectors; ``support_`` counts only samples of positive weight.

    What predicts with a matrix takes ``support_`` for its columns all the same.
    """
    support = checked.whole_numbers(model, "support_")
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


def _is_matrix(model: Estimator) -> bool:
    """Return whether LIBSVM was given a kernel matrix instead of samples."""
    kernel = checked.attribute(model, "kernel")
    return callable(kernel) or (isinstance(kernel, str) and kernel == "precomputed")


def _library(model: Estimator) -> Library:
    if _is_of_intel(model):
        return Library("oneDAL", f"stopping tolerance of {checked.number(model, 'tol'):g}")
    status = getattr(model, "fit_status_", 0)
    if isinstance(status, int | np.integer) and status == 1:
        return Library("LIBSVM", f"iteration limit of {model.max_iter}", float32_kernel=True)
    tolerance = checked.number(model, "tol")
    stopped_at = f"stopping tolerance of {tolerance:g}"
    iterations = None
    if hasattr(model, "n_iter_"):
        iterations = int(np.max(checked.numbers(model, "n_iter_"), initial=0))
    return Library("LIBSVM", stopped_at, True, tolerance, iterations)


def kernel_of(model: Estimator, samples: Matrix | None) -> Kernel:
    """The model's kernel with numeric parameters; gamma must match the training data.

    Without samples (they are in chunks) it is the kernel that the model predicts with.

    Raises
    ------
    AuditRefusedError
        A kernel that is none here, or without samples one that does not tell what it is made of.
    """
    kind = checked.attribute(model, "kernel")
    is_named = isinstance(kind, str) and kind in KERNELS
    if samples is None and (not is_named or kind == "precomputed"):
        raise AuditRefusedError(
            f"A machine with kernel={kind!r} cannot be audited on samples in chunks; one with a "
            f"kernel by name ({', '.join(KERNELS[:-1])}) can."
        )
    if callable(kind):
        return kernels.Custom(kind)
    if not is_named:
        raise AuditRefusedError(f"qpsvm has no kernel {kind!r}; pass the kernel as a callable.")
    predicting = getattr(getattr(model, "solution_", None), "kernel", None)
    if samples is None and isinstance(predicting, Kernel):  # an estimator of qpsvm
        return predicting
    own: Any = NAMES[kind]
    values: dict[str, float] = {}
    for name in OF_KERNELS[own.name]:
        values[name] = _gamma(model, samples) if name == "gamma" else checked.number(model, name)
    if "degree" in values:
        degree = values["degree"]
        if degree != int(degree):
            checked.refuse(model, f"has degree = {degree:g}, which must be a whole number")
        values["degree"] = int(degree)
    found: Kernel = own(**values)
    return found


def _gamma(model: Estimator, samples: Matrix | None) -> float:
    """The gamma used in predictions; refused if it is not the one that the model states."""
    stated, used = checked.attribute(model, "gamma"), None
    if getattr(model, "_gamma", None) is not None:
        used = checked.number(model, "_gamma")
    if samples is None:
        return checked.number(model, "gamma") if used is None else used
    if isinstance(stated, str):
        sparse = bool(getattr(model, "_sparse", is_sparse(samples)))
        if used is not None and stated == "scale" and _is_scale(used, samples, as_sparse=sparse):
            return used
        expected = float(kernels.RBF(cast("kernels.Gamma", stated)).resolve(samples).gamma)
    else:
        expected = checked.number(model, "gamma")
    if used is None:
        return expected
    if abs(used - expected) <= SAME_GAMMA * abs(expected):
        return used
    if not isinstance(stated, str):
        checked.refuse(model, f"states gamma={stated!r} and predicts with {used:.8g}")
    raise AuditRefusedError(
        f"The model predicts with gamma={used:.8g}; gamma={stated!r} is {expected:.8g} for "
        "these data. Pass the training data, or fit the model again if it was changed."
    )


def _is_scale(gamma: float, samples: Matrix, *, as_sparse: bool) -> bool:
    """Return whether ``gamma`` is scikit-learn's ``1 / (d var(X))`` but for rounding.

    The variance of a dense array is a mean of squared deviations. That of a sparse one is
    ``E[x^2] - E[x]^2``, which loses its digits far from zero; gamma is 1 where nothing is left.
    """
    n, d = samples.shape
    spread = variance(samples)
    if spread == 0.0:
        return True  # 1 or huge, as the rounding of a zero variance has it
    squares = samples.data if is_sparse(samples) else samples
    roundings = (n + d + 8) * EPS
    error = (roundings if as_sparse else roundings**2) * float(np.sum(np.square(squares))) / (n * d)
    room = SAME_GAMMA * spread + error
    return abs(1.0 / (d * gamma) - spread) <= room or (gamma == 1.0 and spread <= error)
