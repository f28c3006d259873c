"""Constraints of an estimator: for one machine, and what they mean for several."""

from __future__ import annotations

import warnings
from typing import Any

from qpsvm.constraints import Constraints
from qpsvm.constraints.builders import with_sensitive
from qpsvm.exceptions import InvalidParameterError, SeveralMachinesWarning
from qpsvm.formulations import CrammerSinger, OneVsOne
from qpsvm.formulations.multiclass import Reduction
from qpsvm.numerics.arguments import Targets

OF_PAIRS = (
    "of a pair of classes a < b, where f is positive for b: nonnegative('age') lets a larger age "
    "move votes towards larger labels only, which is right for ordered classes (coef_ has the "
    "weights of -f, as in scikit-learn)"
)
OF_RESTS = (
    "of one class against the rest: nonnegative('age') makes the score of every class "
    "nondecreasing in age"
)


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
