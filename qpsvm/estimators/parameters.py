"""Parameters of other estimators that ours do not have, and what to use in their place."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

IN_PLACE_OF = {
    "tol": "eps, the relative duality gap that is certified (1e-8 by default)",
    "cache_size": "memory_limit, in bytes",
    "shrinking": "nothing: the engine decides on its own",
    "probability": "estimator.calibrated(), which is CalibratedClassifierCV(estimator)",
    "random_state": "nothing: the result depends on no random numbers",
    "dual": "nothing: primal and dual have the same optimum",
}
"""Parameters of scikit-learn's support vector machines: what takes their place."""


def require_known(estimator: type, parameters: Mapping[str, object]) -> None:
    """Refuse parameters that an estimator does not have, with what takes their place.

    Raises
    ------
    TypeError
        As Python does, for the first of them.
    """
    known = inspect.signature(estimator.__init__).parameters  # type: ignore[misc]
    for name in parameters:
        if name not in known:
            instead = f" Use {IN_PLACE_OF[name]}." if name in IN_PLACE_OF else ""
            raise TypeError(
                f"{estimator.__name__} has no parameter {name!r}.{instead} Its parameters: "
                f"{', '.join(list(known)[1:])}."
            )
