"""Problems that differ from a given one in one thing, by little or by much."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.soundness.specs import REDUCED, Spec, random_family
from tests.families import CASES


def relatives(spec: Spec, rng: Any) -> Iterator[tuple[str, Spec]]:
    """Specs that differ in one thing, in random order, each with what that is."""
    makers = [
        _other_price, _other_kernel, _other_data, _other_targets, _other_seed,
        _other_weights, _other_intercept, _other_family, _other_form,
    ]  # fmt: skip
    for index in rng.permutation(len(makers)):
        other = makers[index](spec, rng)
        if other is not None:
            yield makers[index].__name__[1:].replace("_", " "), other


def _small(rng: Any) -> float:
    """A change of any size, most of them small."""
    return float(rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-11.0, -0.1))


def _other_price(spec: Spec, rng: Any) -> Spec | None:
    family = spec.family
    inner = family.formulation if spec.name in REDUCED else family
    for parameter in ("C", "nu", "tau", "epsilon"):
        if hasattr(inner, parameter):
            value = getattr(inner, parameter) * (1.0 + _small(rng))
            if parameter in ("nu", "tau"):  # shares
                value = min(value, 0.999)
            inner = replace(inner, **{parameter: value})
            return replace(spec, family=type(family)(inner) if spec.name in REDUCED else inner)
    return None


def _other_kernel(spec: Spec, rng: Any) -> Spec | None:
    if not hasattr(spec.base, "gamma"):
        return None
    base = replace(spec.base, gamma=spec.base.gamma * (1.0 + _small(rng)))
    return replace(spec, base=base, kernel=None if spec.kernel is None else base)


def _other_data(spec: Spec, rng: Any) -> Spec:
    X = spec.X
    which = int(rng.integers(3))
    if which == 0:
        X = X + abs(_small(rng)) * np.std(X) * rng.normal(size=X.shape)
    elif which == 1:  # two samples in each other's place
        order = np.arange(len(X))
        i, j = rng.integers(len(X), size=2)
        order[[i, j]] = order[[j, i]]
        X = X[order]
    else:
        X = X.copy()
        i, j = rng.integers(X.shape[0]), rng.integers(X.shape[1])
        X[i, j] += _small(rng) * max(abs(X[i, j]), 1e-3)
    return replace(spec, X=X)


def _other_targets(spec: Spec, rng: Any) -> Spec | None:
    if spec.y is None:
        return None
    y = spec.y.copy()
    if spec.kind == "targets":
        y[rng.integers(len(y))] += _small(rng) * np.std(y)
    else:
        i, j = rng.integers(len(y), size=2)
        y[[i, j]] = y[[j, i]]
    return replace(spec, y=y)


def _other_seed(spec: Spec, rng: Any) -> Spec:
    return replace(spec, X=np.std(spec.X) * rng.normal(size=spec.X.shape) + np.mean(spec.X))


def _other_weights(spec: Spec, rng: Any) -> Spec:
    weights = np.ones(len(spec.X)) if spec.weights is None else spec.weights.copy()
    weights[rng.integers(len(weights))] *= 1.0 + _small(rng)
    return replace(spec, weights=weights)


def _other_intercept(spec: Spec, rng: Any) -> Spec | None:
    if not hasattr(spec.family, "intercept"):
        return None
    kinds = {"crammer singer": ("penalized", "none"), "1-norm": ("free", "none")}
    others = [
        kind
        for kind in kinds.get(spec.name, ("free", "penalized", "none"))
        if kind != spec.family.intercept
    ]
    return replace(spec, family=replace(spec.family, intercept=str(rng.choice(others))))


def _other_family(spec: Spec, rng: Any) -> Spec | None:
    if spec.kind == "several":
        return None
    kinds = (spec.kind, "classes") if spec.kind == "separable" else (spec.kind,)
    names = [case.name for case in CASES if case.kind in kinds and case.name != spec.name]
    if spec.kind == "classes" and spec.name != "1-norm":
        names.append("1-norm")
    name = str(rng.choice(names))
    return replace(spec, name=name, family=random_family(name, spec.y, spec.weights, rng))


def _other_form(spec: Spec, rng: Any) -> Spec:
    del rng
    return replace(spec, form="dual" if spec.form == "primal" else "primal")
