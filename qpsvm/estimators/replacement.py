"""Fits that succeed completely, or leave an estimator as it was.

A fit works on an unfitted copy of the estimator, whose attributes take the place of all others in a
single step, when nothing can fail any more. An error, a warning that is raised as one or Ctrl-C
before that has no effect: after it, the estimator is what its last successful fit made it.
"""

from __future__ import annotations

from typing import TypeVar

_Estimator = TypeVar("_Estimator")

LEARNED = (
    "_codes",
    "_contents",
    "_numbers",
    "_predictor",
    "_proof",
    "_radius",
    "_scales",
    "_vectors",
)
"""Private attributes that ``fit`` sets; the public ones end with an underscore."""


def unfitted(estimator: _Estimator) -> _Estimator:
    """Copy an estimator with its parameters and settings, without what an earlier fit set."""
    copy = object.__new__(type(estimator))
    kept = {
        name: value
        for name, value in vars(estimator).items()
        if not name.endswith("_") and name not in LEARNED
    }
    vars(copy).update(kept)
    return copy


def replaced(estimator: _Estimator, complete: _Estimator) -> _Estimator:
    """Give an estimator all attributes of a complete copy, in one step, and return it."""
    estimator.__dict__ = vars(complete)
    return estimator
