"""Parameters as scikit-learn's users pass them: other names, errors with remedies, warnings."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterable
from typing import Any, Self

import numpy as np

from qpsvm.exceptions import InvalidParameterError, TubeWidthWarning, UnknownParameterError
from qpsvm.formulations.keywords import parameters_of
from qpsvm.numerics.arguments import instead, is_real_number, require_positions

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


def require_known(kind: type, names: Iterable[str]) -> None:
    """Raise UnknownParameterError for a parameter that an estimator does not have.

    The message says what to use instead.

    Raises
    ------
    UnknownParameterError
        For the first of them. It is a TypeError and a ValueError, too.
    """
    known = parameters_of(kind)
    for name in names:
        if name not in known:
            hint = f". {INSTEAD[name]}" if name in INSTEAD else f"{instead(name, known)}."
            raise UnknownParameterError(
                f"{kind.__name__} has no parameter {name!r}{hint} Its parameters: "
                f"{', '.join(known)}."
            )


class ExplainsParameters:
    """Base of estimators that say what takes the place of a parameter that they do not have."""

    def __new__(cls, *args: object, **parameters: object) -> Self:
        require_known(cls, parameters)
        require_positions(cls, args, parameters)
        return super().__new__(cls)

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
        require_known(type(self), (name.partition("__")[0] for name in params))
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
