"""Small training problems with ties, as a user gives them and as exact programs.

Integer samples, equal samples, common offsets, weights, balanced classes and averaged losses. The
program is written from the numbers that a user gives and solved in rational numbers
(``rational``). Its optimal weights are unique; its optimal intercepts are the minimisers of a
piecewise linear function, between two of its kinks. So the smallest and the largest decision value
of a sample over all optima are known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

import qpsvm
from benchmarks.soundness.rational import (
    ONE,
    ZERO,
    Condition,
    Machine,
    Program,
    Row,
    dot,
    exact,
    gram,
    optimum,
    unit,
)
from qpsvm import kernels

TRAITS = (
    *("ties",) * 6, *("equal samples",) * 4, *("plain",) * 2, *("scales",) * 2,
    "offset", "sparse offset",
)  # fmt: skip
"""What samples are like; of large offsets there are few, as the solvers try everything there."""
PRICES = ("plain", "plain", "balanced", "balanced", "average", "class weights", "weights")
COSTS = (0.01, 0.1, 0.125, 0.3, 0.5, 1.0, 1.0, 3.0, 10.0, 100.0)
SMALLEST, LARGEST = 4, 8
"""Samples of a program with all of them."""


@dataclass(frozen=True)
class Drawn:
    """A training problem as a user gives it: samples, targets, kernel, and parameters.

    Attributes
    ----------
    trait, pricing : str
        What the samples and the prices are like.
    X : array of shape (n, d)
    y : array of shape (n,)
        Signs of a classifier, or targets.
    kernel : (name, parameters)
    weights : array of shape (n,) or None
    epsilon : float or None
        Half-width of the tube; None for a classifier.
    """

    trait: str
    pricing: str
    X: Any
    y: Any
    kernel: tuple[str, dict[str, Any]]
    C: float
    intercept: str
    weights: Any = None
    class_weight: Any = None
    average: bool = False
    epsilon: float | None = None

    @property
    def family(self) -> Any:
        """The library's formulation."""
        more: dict[str, Any] = {"intercept": self.intercept, "average_loss": self.average}
        if self.epsilon is None:
            return qpsvm.SoftMargin(C=self.C, class_weight=self.class_weight, **more)
        return qpsvm.EpsilonRegression(C=self.C, epsilon=self.epsilon, **more)

    @property
    def given(self) -> tuple[Any, Any]:
        """Samples and kernel as the library gets them."""
        name, p = self.kernel
        if name == "precomputed":
            return self.X @ self.X.T, name
        X = sp.csr_array(self.X) if self.trait == "sparse offset" else self.X
        if name == "polynomial":
            return X, kernels.Polynomial(p["gamma"], p["p"], p["c"])
        return X, kernels.RBF(p["gamma"]) if name == "rbf" else name

    def problem(self) -> Any:
        """The library's problem."""
        X, kernel = self.given
        return self.family.dual(X, self.y, kernel=kernel, sample_weight=self.weights)

    def rows(self, index: list[int]) -> Drawn:
        """The same with these samples only."""
        weights = None if self.weights is None else self.weights[index]
        return replace(self, X=self.X[index], y=self.y[index], weights=weights)

    @property
    def gram(self) -> list[Row]:
        """The exact kernel matrix."""
        name, parameters = self.kernel
        rows = exact(self.X)
        return list(gram("linear" if name == "precomputed" else name, rows, rows, **parameters))

    def prices(self) -> Row:
        """``C_i``, exactly."""
        n = len(self.y)
        u = [ONE] * n if self.weights is None else exact(self.weights)
        factors = [ONE] * n
        if self.class_weight == "balanced":
            sums = {label: sum(v for v, s in zip(u, self.y, strict=True) if s == label)
                    for label in set(self.y.tolist())}  # fmt: skip
            factors = [sum(u) / (len(sums) * sums[label]) for label in self.y.tolist()]
        elif self.class_weight is not None:
            factors = [Fraction(self.class_weight[label]) for label in self.y.tolist()]
        total = sum(u) if self.average else ONE
        return [Fraction(self.C) * v * f / total for v, f in zip(u, factors, strict=True)]


def losses(drawn: Drawn, f: Row) -> Fraction:
    """``sum_i C_i loss_i``, exactly."""
    targets, C = exact(drawn.y), drawn.prices()
    if drawn.epsilon is None:
        missed = [max(ZERO, 1 - s * v) for s, v in zip(targets, f, strict=True)]
    else:
        width = Fraction(drawn.epsilon)
        missed = [max(ZERO, abs(t - v) - width) for t, v in zip(targets, f, strict=True)]
    return dot(C, missed)


def program(drawn: Drawn, K: list[Row]) -> Program:
    """The exact program of some samples with the kernel matrix K."""
    n, C, targets = len(drawn.y), drawn.prices(), exact(drawn.y)
    if drawn.epsilon is None:
        conditions = [Condition(unit(n, i, s), ONE, ZERO, C[i]) for i, s in enumerate(targets)]
    else:
        width = Fraction(drawn.epsilon)
        conditions = [Condition(unit(n, i), t - width, ZERO, C[i]) for i, t in enumerate(targets)]
        conditions += [
            Condition(unit(n, i, -1), -t - width, ZERO, C[i]) for i, t in enumerate(targets)
        ]

    def cost(m: Machine) -> Fraction:
        size = m.square + (m.b**2 if drawn.intercept == "penalized" else 0)
        return size / 2 + losses(drawn, m.f)

    return Program(n, K, conditions, cost, drawn.intercept)


def decision_ranges(
    drawn: Drawn, K: list[Row], train: list[int], test: list[int]
) -> list[tuple[Fraction, Fraction]]:
    """Smallest and largest decision value of test samples over all optima of the others."""
    part = drawn.rows(train)
    found = optimum(program(part, [[K[j][k] for k in train] for j in train]))
    assert found is not None
    own = [dot([K[i][k] for k in train], found.beta) for i in test]
    if drawn.intercept != "free":
        return [(value + found.b, value + found.b) for value in own]
    scores = [dot([K[j][k] for k in train], found.beta) for j in train]
    width = ONE if part.epsilon is None else Fraction(part.epsilon)
    kinks = [t - g for t, g in zip(exact(part.y), scores, strict=True)]
    if part.epsilon is not None:
        kinks = [t + side * width for t in kinks for side in (1, -1)]
    costs = {b: losses(part, [g + b for g in scores]) for b in kinks}
    best = [b for b, cost in costs.items() if cost == min(costs.values())]
    if costs[best[0]] != losses(part, [g + found.b for g in scores]):
        raise ArithmeticError("The judge is wrong: an intercept is better than the optimum's.")
    return [(value + min(best), value + max(best)) for value in own]


# --- drawing -------------------------------------------------------------------------------------


def draw(rng: Any) -> Drawn:
    """Any small training problem; two samples of each class at least."""
    trait, pricing = str(rng.choice(TRAITS)), str(rng.choice(PRICES))
    n = int(rng.integers(SMALLEST, LARGEST + 1))
    X = _samples(rng, trait, n)
    y = np.where(rng.random(n) < 0.5, 1, -1)
    y[:4] = [1, 1, -1, -1]
    y = y[rng.permutation(n)]
    kernel: tuple[str, dict[str, Any]] = ("linear", {})
    kind = rng.random()
    if kind < 0.25 and "offset" not in trait:  # whose values have 1e48 in them
        gamma, c = float(rng.choice([0.5, 1.0, 0.3])), float(rng.choice([0.0, 1.0]))
        kernel = "polynomial", {"gamma": gamma, "p": int(rng.integers(2, 4)), "c": c}
    elif kind < (0.5 if trait == "sparse offset" else 0.27):
        kernel = "rbf", {"gamma": float(rng.choice([0.1, 0.5, 2.0]))}
    elif kind < 0.45 and trait in ("ties", "equal samples"):
        kernel = "precomputed", {}
    drawn = Drawn(
        trait=trait,
        pricing=pricing,
        X=X,
        y=y,
        kernel=kernel,
        C=float(rng.choice(COSTS)),
        intercept=str(rng.choice(["free"] * 6 + ["penalized", "none"])),
    )
    if pricing in ("balanced", "average") and rng.random() < 0.3:
        drawn = replace(drawn, weights=_weights(rng, n))
    if rng.random() < 0.2:
        values = rng.integers(-4, 5, n) / 2.0 if rng.random() < 0.7 else rng.normal(size=n)
        drawn = replace(drawn, y=values, epsilon=float(rng.choice([0.0, 0.1, 0.5, 1.0])))
    elif pricing == "balanced":
        drawn = replace(drawn, class_weight="balanced")
    elif pricing == "class weights":
        factors = rng.choice([1 / 3, 0.5, 2.0, 0.7], 2)
        drawn = replace(drawn, class_weight={-1: float(factors[0]), 1: float(factors[1])})
    if pricing == "average" or (pricing == "balanced" and rng.random() < 0.3):
        drawn = replace(drawn, average=True)
    if pricing == "weights":
        drawn = replace(drawn, weights=_weights(rng, n))
    return drawn


def _weights(rng: Any, n: int) -> Any:
    return rng.choice([1 / 3, 0.5, 1.0, 1.0, 2.0, 3.0, 0.1], n)


def _samples(rng: Any, trait: str, n: int) -> Any:
    d = int(rng.integers(1, 4))
    if trait == "plain":
        return rng.normal(size=(n, d))
    X = rng.integers(-3, 4, (n, d)) / float(rng.choice([1.0, 2.0]))
    if trait == "equal samples":
        X = X[rng.integers(0, max(2, n // 2), n)]
    elif trait == "scales":
        X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-4, 5, d)
    elif trait in ("offset", "sparse offset"):
        X = np.round(rng.normal(size=(n, d)) * 1024) / 1024 if rng.random() < 0.7 else X
        X = X + float(10.0 ** rng.integers(1, 9)) * rng.choice([-1.0, 1.0], d)
    return X
