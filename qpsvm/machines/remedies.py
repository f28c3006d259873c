"""Ways to a problem from what callers pass in place of one, for messages."""

from __future__ import annotations

import os
from collections.abc import Callable

BUILD = "qpsvm.SoftMargin(C=1.0).dual(X, y)"
CANONICAL = ("P", "q", "G", "h", "A", "b")
"""Matrices and vectors of the canonical form, in their order."""


def remedy_for(thing: object) -> str:
    """Say how to get a problem from what was passed in place of one.

    Examples
    --------
    >>> remedy_for([[0.0], [1.0]])
    'a formulation builds a problem from samples and labels: qpsvm.SoftMargin(C=1.0).dual(X, y)'
    >>> remedy_for("heart.csv")
    'read the file first: data = qpsvm.datasets.load(path), then qpsvm.SoftMargin(C=1.0).dual(data.X, data.y)'
    """  # noqa: E501 - a doctest's output cannot be broken
    kind = thing.__name__ if isinstance(thing, type) else type(thing).__name__
    return next(remedy for is_such, remedy in REMEDIES if is_such(thing)).format(kind=kind)


def _has(*names: str) -> Callable[[object], bool]:
    return lambda thing: all(hasattr(thing, name) for name in names)


def _is_fitted(thing: object) -> bool:
    return not isinstance(thing, type) and hasattr(thing, "fit") and hasattr(thing, "problem_")


def _is_estimator(thing: object) -> bool:
    """Return whether it is an estimator of qpsvm, or the class of one."""
    kind = thing if isinstance(thing, type) else type(thing)
    return hasattr(thing, "fit") and kind.__module__.startswith("qpsvm.")


REMEDIES: tuple[tuple[Callable[[object], bool], str], ...] = (
    (
        _has("dual", "training_set"),
        "a formulation builds the problem from samples and labels: {kind}(...).dual(X, y)",
    ),
    (
        _is_fitted,
        "the fitted estimator has its problem as problem_, its solution as solution_ and its "
        "certificate as certificate_",
    ),
    (
        _is_estimator,
        "an estimator solves its problem when it is fitted, {kind}(...).fit(X, y), and then has "
        "problem_, solution_ and certificate_",
    ),
    (
        _has("fit", "get_params"),
        "a model of another library is verified by qpsvm.audit(model, X, y)",
    ),
    (
        lambda thing: isinstance(thing, type) and hasattr(thing, "solution_type"),
        f"that is the class {{kind}}: pass a problem, such as {BUILD}",
    ),
    (
        lambda thing: isinstance(thing, tuple) and len(thing) == len(CANONICAL),
        f"pass the matrices as one program: qpsvm.qp.QuadraticProgram({', '.join(CANONICAL)})",
    ),
    (
        lambda thing: hasattr(thing, "native_status") or hasattr(thing, "qp"),
        "that is a solution: pass the problem that it solves",
    ),
    (
        lambda thing: isinstance(thing, str | os.PathLike),
        "read the file first: data = qpsvm.datasets.load(path), then "
        f"{BUILD.replace('X, y', 'data.X, data.y')}",
    ),
    (
        lambda thing: True,  # noqa: ARG005 - samples, or anything else
        f"a formulation builds a problem from samples and labels: {BUILD}",
    ),
)
"""What was passed, and how to get a problem from it; the first that fits counts."""
