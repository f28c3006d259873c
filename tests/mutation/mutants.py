"""What is done to a certified solution, one thing at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import numpy as np

import qpsvm
from qpsvm.machines import Interval, SVMSolution

VECTORS = ("alpha", "expansion", "coef", "slack")
QP_VECTORS = ("x", "z", "y", "z_lower", "z_upper")


def mutants(solution: SVMSolution) -> Iterator[tuple[str, SVMSolution]]:
    """One thing changed: (what, the solution)."""
    for name in VECTORS:
        vector = getattr(solution, name)
        if vector is not None:
            for what, changed in _broken(vector):
                yield f"{name} {what}", solution.replace(**{name: changed})
    for name in ("intercept", "width"):
        value = getattr(solution, name)
        for change in (1e-2, -1e-2, 1e-5, np.nan, np.inf, -np.inf):
            yield f"{name} + {change}", solution.replace(**{name: value + change})
        yield f"{name} negated", solution.replace(**{name: -value})
        yield f"{name} doubled", solution.replace(**{name: 2 * value})
        yield f"{name} rounded", solution.replace(**{name: np.float64(np.float32(value))})
        yield f"{name} missing", solution.replace(**{name: None})
    lower, upper = solution.intercept_interval
    for ends in [
        (lower - 1, upper + 1), (lower + 1, upper + 1), (upper + 1, lower - 1),
        (np.nan, np.nan), (-np.inf, np.inf), (-upper - 1, -lower - 1),
    ]:  # fmt: skip
        yield f"interval {ends}", solution.replace(intercept_interval=Interval(*ends))
    for wrong in (None, np.zeros(1), np.full(3, np.nan)):
        yield f"multipliers {wrong}", solution.replace(constraint_multipliers=wrong)
    for name in QP_VECTORS:
        vector = getattr(solution.qp, name)
        if vector.size:
            for what, changed in _broken(vector):
                yield (
                    f"qp.{name} {what}",
                    solution.replace(qp=solution.qp.replace(**{name: changed})),
                )
        else:
            for wrong in (None, np.zeros(2)):
                yield f"qp.{name}", solution.replace(qp=solution.qp.replace(**{name: wrong}))
    yield "qp missing", solution.replace(qp=None)


def _broken(vector: Any) -> Iterator[tuple[str, Any]]:
    """A vector with one thing wrong."""
    unit = float(np.max(np.abs(vector), initial=1e-3))
    for i in np.random.default_rng(0).permutation(vector.size)[:2]:
        for change in (1e-2 * unit, -1e-2 * unit, 10 * unit, np.nan, np.inf, -np.inf):
            copy = np.array(vector)
            copy[i] += change
            yield f"[{i}] + {change:.3g}", copy
    yield "scaled", 1.01 * vector
    yield "negated", -vector
    yield "reversed", vector[::-1]
    yield "rolled", np.roll(vector, 1)
    yield "zeros", np.zeros_like(vector)
    yield "rounded", vector.astype(np.float32).astype(np.float64)
    yield "short", vector[:-1]
    yield "long", np.append(vector, 0.0)
    yield "a column", vector[:, None]
    yield "complex", vector + 1e-3j
    yield "missing", None


def strangers(solution: SVMSolution) -> Iterator[tuple[str, SVMSolution]]:
    """Solutions that predict with, or were asked, something else."""
    conditions, data = solution.conditions, solution.data
    for field in fields(conditions):
        value = getattr(conditions, field.name)
        if field.name == "R":
            changed: Any = 1.001 * conditions.rows
        elif field.name == "intercept":
            changed = "none" if value != "none" else "free"
        elif isinstance(value, bool):
            changed = not value
        elif field.name == "exact_upper":  # what prices were computed from, not what they are
            continue
        else:
            away = -1.0 if field.name == "lower" else 1.0  # conditions refuse what is no loss
            finite = np.all(np.isfinite(value))
            changed = value * 1.001 + 0.001 * away if finite else np.full(1, 3.0 * away)
        other = replace(conditions, **{field.name: changed})
        yield f"conditions.{field.name}", solution.replace(conditions=other)
    moved = data.X.copy()
    moved[0, 0] += 1e-9
    yield "X", solution.replace(data=replace(data, X=moved))
    yield "X reversed", solution.replace(data=replace(data, X=data.X[::-1]))
    yield "data missing", solution.replace(data=None)
    if hasattr(data, "signs"):
        yield "signs", solution.replace(data=replace(data, signs=-data.signs))
        yield "classes", solution.replace(data=replace(data, classes=data.classes[::-1]))
    if hasattr(data, "values"):
        yield "values", solution.replace(data=replace(data, values=data.values + 1e-9))
    for kernel in (qpsvm.kernels.RBF(0.4001), qpsvm.kernels.Polynomial(1.0, 3, 0.0), None):
        yield f"kernel {kernel}", solution.replace(kernel=kernel)
