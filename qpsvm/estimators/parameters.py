"""Parameters of scikit-learn's estimators that qpsvm's do not have, and what to use instead."""

from __future__ import annotations

from collections.abc import Mapping

from qpsvm.exceptions import UnknownParameterError
from qpsvm.formulations.keywords import parameters_of

INSTEAD = {
    "tol": "Use eps, the relative duality gap to be certified (1e-8 by default).",
    "cache_size": "Use memory_limit, in bytes.",
    "shrinking": "Leave it out: the engine decides by itself.",
    "probability": "Use .calibrated(), which wraps the classifier in CalibratedClassifierCV.",
    "random_state": "Leave it out: the result does not depend on random numbers.",
    "dual": "Leave it out: primal and dual have the same optimum.",
}
"""Parameters of scikit-learn's support vector machines that are not needed here."""


def require_known(estimator: type, parameters: Mapping[str, object]) -> None:
    """Raise UnknownParameterError for a parameter that an estimator does not have.

    The message says what to use instead.

    Raises
    ------
    UnknownParameterError
        For the first of them. It is a TypeError, too.
    """
    for name in parameters:
        known = parameters_of(estimator)
        if name not in known:
            instead = f" {INSTEAD[name]}" if name in INSTEAD else ""
            raise UnknownParameterError(
                f"{estimator.__name__} has no parameter {name!r}.{instead} Its parameters: "
                f"{', '.join(known)}."
            )
