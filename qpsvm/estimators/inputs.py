"""Parameters, samples, targets, weights and constraints as scikit-learn's estimators take them."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Self, TypeVar, dataclass_transform

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from qpsvm.constraints import Constraints
from qpsvm.constraints.fairness import with_sensitive
from qpsvm.data.objects import is_numeric, require_unmasked
from qpsvm.data.samples import require_exact, require_finite_rows
from qpsvm.data.targets import as_weights, exact_labels, require_exact_vector
from qpsvm.exceptions import (
    InvalidDataError,
    InvalidParameterError,
    SeveralMachinesWarning,
    TubeWidthWarning,
)
from qpsvm.formulations import CrammerSinger, OneVsOne
from qpsvm.formulations.multiclass import Reduction
from qpsvm.kernels import Precomputed
from qpsvm.numerics.arguments import (
    ExplainsConstructor,
    Samples,
    Targets,
    is_finite_number,
    is_real_number,
)
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.single_precision import Stored

Kind = TypeVar("Kind")

WITHOUT_EFFECT = ("cache_size", "shrinking", "random_state", "dual")
"""Parameters of scikit-learn's classes that are accepted and not used."""

DEFAULT_EPS = 1e-8
"""Accuracy of an estimator that is given neither ``eps`` nor ``tol``."""

LARGE_EPS = 1e-3
"""A relative accuracy above this is more likely the width of a tube. It is the default tolerance of
scikit-learn, the loosest one in use."""

INSTEAD = {
    "probability": "Use .calibrated(), which wraps the classifier in CalibratedClassifierCV.",
    "random_state": "Leave it out: the result does not depend on random numbers.",
    "Cs": "Use C.",
    "gammas": "Use gamma.",
    "epsilons": "Use epsilon.",
    "tau": "The quantile of QuantileSVR is quantile.",
    "C": "nu is in its place.",
    "nu": "C is in its place; NuSVC and NuSVR have nu.",
    "contamination": "The share of outliers is nu.",
    "penalty": "LinearSVC has it.",
    "loss": "LinearSVC and LinearSVR have it.",
    "fit_intercept": "LinearSVC and LinearSVR have it.",
}
"""Parameters of other classes and libraries that a class may lack."""

ORDER = (
    *("self", "penalty", "nu", "quantile", "C", "epsilon", "kernel", "degree", "gamma", "coef0"),
    *("loss", "class_weight", "decision_function_shape", "break_ties", "multi_class"),
    *("fit_intercept", "intercept_scaling", "eps", "backend", "constraints", "indefinite"),
    *("memory_limit", "device", "scoring", "warm_start", "n_jobs", "refit", "cv", "max_iter"),
    *("verbose", "tol", "cache_size", "shrinking", "random_state", "dual"),
)
"""All parameters of estimators, what is learned first and what is ignored last."""

_PLACE = {name: k for k, name in enumerate(ORDER)}

OF_PAIRS = (
    "of a pair of classes a < b, where f is positive for b: nonnegative('age') lets a larger age "
    "move votes towards larger labels only, which is right for ordered classes (coef_ has the "
    "weights of -f, as in scikit-learn)"
)
OF_RESTS = (
    "of one class against the rest: nonnegative('age') makes the score of every class "
    "nondecreasing in age"
)


# --- parameters -----------------------------------------------------------------------------------
@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def parameters(kind: type[Kind]) -> type[Kind]:
    """Make the annotated names of a class, and of its bases, the keyword arguments of ``__init__``.

    Its signature, from which scikit-learn reads the parameters, has them in the order of ``ORDER``.
    """
    kind = dataclass(eq=False, repr=False, kw_only=True)(kind)
    constructor: Any = kind.__init__
    signature = inspect.signature(constructor)
    found = sorted(signature.parameters.values(), key=lambda p: (p.kind, _PLACE[p.name]))
    constructor.__signature__ = signature.replace(parameters=found)
    return kind


class ExplainsParameters(ExplainsConstructor):
    """Base of estimators that say what takes the place of a parameter that they do not have."""

    @classmethod
    def _remedy_for(cls, keyword: str) -> str:
        return INSTEAD.get(keyword, "")

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the estimator, and of kernels and the like with ``name__parameter``.

        Parameters
        ----------
        **params
            Values by name.

        Returns
        -------
        self

        Raises
        ------
        UnknownParameterError
            A parameter that there is not; the message says what takes its place. It is a
            ValueError, as scikit-learn has it.
        """
        self._require_parameters((), {name.partition("__")[0]: None for name in params})
        super().set_params(**params)  # type: ignore[misc]
        return self


def accuracy(estimator: Any) -> float:
    """The relative accuracy to be certified: ``eps``, or ``tol`` where this is given.

    Raises
    ------
    InvalidParameterError
        Both are given, and they differ.
    """
    eps, tol = estimator.eps, estimator.tol
    if tol is None:
        given: float = eps  # whoever measures with it checks it
        return given
    if not (is_real_number(tol) and 0.0 < tol < 1.0):
        raise InvalidParameterError(
            f"tol is {tol!r}; it is another name of eps, a relative accuracy between 0 and 1, such "
            f"as {DEFAULT_EPS:g}."
        )
    if eps not in (DEFAULT_EPS, tol):
        raise InvalidParameterError(
            f"eps is {eps!r} and tol is {tol!r}, which are two names of one parameter; pass one of "
            "them."
        )
    return float(tol)


def warn_of_tube(estimator: Any) -> None:
    """Warn where ``eps`` has a value that looks like the half-width of the tube, ``epsilon``.

    Warns
    -----
    TubeWidthWarning
        eps is above ``LARGE_EPS``, and epsilon has its default.
    """
    eps, width = estimator.eps, estimator.epsilon
    usual = inspect.signature(type(estimator).__init__).parameters["epsilon"].default
    if is_real_number(eps) and eps > LARGE_EPS and np.array_equal(width, usual):
        warnings.warn(
            f"eps is {eps!r}, and epsilon is {width!r}, its default: the half-width of the tube is "
            "epsilon, eps the relative accuracy of the solution. For the tube pass "
            f"epsilon={eps!r}; if the accuracy is meant, tol={eps!r} says so.",
            TubeWidthWarning,
            stacklevel=4,
        )


def require_workers(n_jobs: object) -> None:
    """Check a number of workers.

    Raises
    ------
    InvalidParameterError
        Not a whole number, or 0.
    """
    is_whole = is_finite_number(n_jobs) and n_jobs == int(n_jobs)
    if n_jobs is not None and not (is_whole and n_jobs != 0):
        raise InvalidParameterError(
            f"n_jobs is {n_jobs!r}; pass a whole number of workers, -1 for all cores, or None."
        )


# --- samples, targets, weights --------------------------------------------------------------------
SAMPLE_TYPES = (np.float64, np.float32)
"""Precisions that are not converted; others become the first."""


def training_data(estimator: Any, X: Samples, y: Targets | None) -> tuple[Samples, Targets | None]:
    """Check X and y by scikit-learn's rules, and set ``n_features_in_`` of the estimator.

    Samples that are no numbers are left to the kernel, which has to be a function of the caller's.

    Raises
    ------
    ValueError, TypeError
        With scikit-learn's messages: shapes, NaN, complex numbers, sparse formats. Integers that
        float64 would round.
    """
    if takes_objects(estimator, X):
        return X, y
    tags = estimator.__sklearn_tags__()
    if y is None and not tags.target_tags.required:
        return _validated(estimator, X), None
    is_classifier = tags.estimator_type == "classifier"
    require_unmasked(y, "y")
    given = exact_labels(y, "y") if is_classifier and y is not None else y
    fewest = estimator._fewest_samples
    try:
        checked, targets = _validated(
            estimator, X, given, y_numeric=not is_classifier, ensure_min_samples=fewest
        )
    except ValueError as error:
        _explain_target(error, y)
        raise
    if targets.dtype.kind == "f":
        require_exact_vector(targets, y, "y")
    return checked, targets


def samples(estimator: object, X: Samples) -> Stored:
    """Check samples to predict by scikit-learn's rules against those of ``fit``.

    Raises
    ------
    ValueError
        Another number of features, other names of columns, NaN, integers that float64 would round.
    """
    if takes_objects(estimator, X):
        return X
    return _validated(estimator, X, reset=False)


def _explain_target(error: ValueError, y: Targets | None) -> None:
    """Raise scikit-learn's error about NaN or infinite targets with the first of them."""
    if not str(error).startswith("Input y contains"):
        return
    bad = np.flatnonzero(~np.isfinite(np.asarray(y, dtype=np.float64)))
    shown = np.ravel(np.asarray(y, dtype=np.float64))[bad[0]]
    raise InvalidDataError(
        f"{str(error).splitlines()[0]} y[{bad[0]}] is {'NaN' if np.isnan(shown) else shown} "
        f"({len(bad)} such target{'' if len(bad) == 1 else 's'}); drop those rows."
    ) from error


def _name_columns(error: ValueError, X: Any) -> None:
    """Raise scikit-learn's error about a text with the columns of a DataFrame that hold texts."""
    if not (str(error).startswith("could not convert") and hasattr(X, "select_dtypes")):
        return
    names = [repr(name) for name in X.select_dtypes(exclude=["number", "bool"]).columns]
    raise InvalidDataError(
        f"X has columns that are not numbers: {', '.join(names)} ({error}); encode them, for "
        "instance with sklearn.preprocessing.OneHotEncoder in a ColumnTransformer, or drop them."
    ) from error


def _validated(estimator: object, X: Samples, *y: Any, **options: Any) -> Any:
    """Check X and y as scikit-learn does, and refuse masked, infinite and rounded entries."""
    rules: Any = {"accept_sparse": "csr", "dtype": SAMPLE_TYPES, "ensure_all_finite": False}
    require_unmasked(X, "X")
    try:
        found = validate_data(estimator, X, *y, **rules, **options)
    except ValueError as error:
        _name_columns(error, X)
        raise
    checked, *targets = found if y else (found,)
    if sp.issparse(checked) and not checked.has_canonical_format:
        checked = checked.copy()  # the caller's own matrix stays as it is
        checked.sum_duplicates()
    require_finite_rows(checked, X)
    require_exact(checked, X)
    return (checked, *targets) if y else checked


def takes_objects(estimator: object, X: Samples) -> bool:
    """Return whether X holds samples that are no numbers, for a kernel that takes them."""
    kernel = getattr(estimator, "kernel", "linear")
    if isinstance(kernel, str) or not (callable(kernel) or getattr(kernel, "takes_objects", False)):
        return False
    return bool(getattr(kernel, "takes_objects", True)) and not is_numeric(X)


def is_precomputed(estimator: object) -> bool:
    """Return whether X is the kernel matrix."""
    kernel = getattr(estimator, "kernel", "linear")
    return isinstance(kernel, Precomputed) or (isinstance(kernel, str) and kernel == "precomputed")


def weights(sample_weight: Any, X: Stored) -> Vector:
    """Sample weights, shape (n,); a single number is the weight of all samples, None is 1.

    Raises
    ------
    InvalidDataError
        Another length, negative, not finite, all zero.
    """
    n_samples = int(X.shape[0]) if hasattr(X, "shape") else len(X)
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n_samples, sample_weight)
    return as_weights(sample_weight, n_samples)


# --- constraints ----------------------------------------------------------------------------------


def constraints_of(
    estimator: Any, formulation: object, sensitive: Targets | None
) -> Constraints | None:
    """Constraints of an estimator's machines, with the sensitive values that ``fit`` was given.

    Parameters
    ----------
    estimator : QPEstimator
    formulation : Family, Reduction or CrammerSinger
        The formulation of the fit.
    sensitive : array of shape (n,) or None

    Raises
    ------
    InvalidParameterError
        Constraints on a formulation that takes none; sensitive values without a fairness band.

    Warns
    -----
    SeveralMachinesWarning
        There are several machines, with the meaning of the constraints for them.
    """
    given: Constraints | None = getattr(estimator, "constraints", None)
    name = type(estimator).__name__
    if sensitive is not None:
        given = with_sensitive(given, sensitive)
    if given is None:
        return None
    if isinstance(formulation, CrammerSinger):
        raise InvalidParameterError(
            "constraints are on one decision function, and multi_class='crammer_singer' has one "
            "per class in one program; take another multi_class, or leave constraints out."
        )
    if isinstance(formulation, Reduction):
        meaning = OF_PAIRS if isinstance(formulation, OneVsOne) else OF_RESTS
        warnings.warn(
            f"{name} has {len(estimator.classes_)} classes, and its constraints hold for each "
            f"machine {meaning}. For a constraint on one class alone fit {name} to y == label.",
            SeveralMachinesWarning,
            stacklevel=6,
        )
    return given
