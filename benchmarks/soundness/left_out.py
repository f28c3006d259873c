"""Left-out predictions that are called decided, judged by the exact programs without the sample.

Usage, from the root of the repository::

    python -m benchmarks.soundness.left_out --count 20000 --seed 0

Small programs with ties, equal samples, common offsets, weights, balanced classes and averaged
losses. For every sample the program without it is written from the numbers that a user gives, with
the prices that it has then, and solved in rational numbers (``rational``). Its optimal weights are
unique; its optimal intercepts are the minimisers of a piecewise linear function, between two of its
kinks. So the smallest and the largest decision value of the sample over all optima are known, and a
claim of ``qpsvm.selection.leave_one_out`` is false

- if a label is decided that is not that of both,
- if one of both is not within the radius of the decision value.

The exit code is 1 if there is a false claim.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
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

    def problem(self) -> Any:
        """The library's problem."""
        more: dict[str, Any] = {"intercept": self.intercept, "average_loss": self.average}
        family: Any
        if self.epsilon is None:
            family = qpsvm.SoftMargin(C=self.C, class_weight=self.class_weight, **more)
        else:
            family = qpsvm.EpsilonRegression(C=self.C, epsilon=self.epsilon, **more)
        name, p = self.kernel
        kernel: Any = name
        X = self.X
        if name == "polynomial":
            kernel = kernels.Polynomial(p["gamma"], p["p"], p["c"])
        elif name == "rbf":
            kernel = kernels.RBF(p["gamma"])
        elif name == "precomputed":
            X = self.X @ self.X.T
        if self.trait == "sparse offset":
            X = sp.csr_array(X)
        return family.dual(X, self.y, kernel=kernel, sample_weight=self.weights)

    def without(self, i: int) -> Drawn:
        """The same without sample i."""
        others = np.arange(len(self.y)) != i
        weights = None if self.weights is None else self.weights[others]
        return replace(self, X=self.X[others], y=self.y[others], weights=weights)

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


def left_out_range(drawn: Drawn, K: list[Row], i: int) -> tuple[Fraction, Fraction]:
    """Smallest and largest decision value of sample i over all optima without it."""
    part = drawn.without(i)
    others = [j for j in range(len(drawn.y)) if j != i]
    found = optimum(program(part, [[K[j][k] for k in others] for j in others]))
    assert found is not None
    own = dot([K[i][k] for k in others], found.beta)
    if drawn.intercept != "free":
        return own + found.b, own + found.b
    scores = [dot([K[j][k] for k in others], found.beta) for j in others]
    width = ONE if part.epsilon is None else Fraction(part.epsilon)
    kinks = [t - g for t, g in zip(exact(part.y), scores, strict=True)]
    if part.epsilon is not None:
        kinks = [t + side * width for t in kinks for side in (1, -1)]
    costs = {b: losses(part, [g + b for g in scores]) for b in kinks}
    best = [b for b, cost in costs.items() if cost == min(costs.values())]
    if costs[best[0]] != losses(part, [g + found.b for g in scores]):
        raise ArithmeticError("The judge is wrong: an intercept is better than the optimum's.")
    return own + min(best), own + max(best)


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


# --- judging -------------------------------------------------------------------------------------


def false_claims(drawn: Drawn, counts: Counter[str]) -> Iterator[str]:
    """Yield the claims about left-out samples that are not so, and count all of them."""
    problem = drawn.problem()
    found = qpsvm.selection.leave_one_out(problem)
    name, parameters = drawn.kernel
    K = gram("linear" if name == "precomputed" else name, exact(drawn.X), exact(drawn.X),
             **parameters)  # fmt: skip
    for i in range(len(drawn.y)):
        low, high = left_out_range(drawn, K, i)
        value, radius = float(found.decisions[i]), float(found.radius[i])
        counts["programs"] += 1
        counts["decided"] += bool(found.decided[i])
        counts["finite"] += bool(np.isfinite(radius))
        if drawn.epsilon is None:
            counts["labels"] += 1
            counts["decided labels"] += bool(found.decided[i])
            counts["unique labels"] += bool(low > 0 or high < 0)
        said = f"value {value!r}, radius {radius!r}, {found.how[i]}"
        said += f"; exact [{float(low)!r}, {float(high)!r}]"
        if np.isfinite(radius):
            ends = Fraction(value) - Fraction(radius), Fraction(value) + Fraction(radius)
            if not (ends[0] <= low and high <= ends[1]):
                yield f"sample {i}: outside of the radius: {said}"
        elif found.decided[i]:
            yield f"sample {i}: decided without a radius: {said}"
        if found.decided[i] and drawn.epsilon is None:
            label = int(found.predictions[i])
            if not (low > 0 if label == 1 else high <= 0):
                yield f"sample {i}: label {label} decided: {said}"


def main() -> None:
    """Print what was claimed, by trait and by prices, and every false claim."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000, help="left-out programs, at least")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    tables: dict[str, Counter[str]] = {}
    false, total, number, began = 0, 0, 0, time.perf_counter()
    while total < given.count:
        drawn, counts = draw(np.random.default_rng([given.seed, number])), Counter[str]()
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for claim in false_claims(drawn, counts):
                false += 1
                counts["false"] += 1
                print(f"FALSE: draw {number}: {claim}; {drawn}", flush=True)
        for row in ("all", drawn.trait, f"prices: {drawn.pricing}"):
            tables.setdefault(row, Counter()).update(counts)
        total, number = total + counts["programs"], number + 1
    columns = (
        "programs",
        "finite",
        "decided",
        "labels",
        "decided labels",
        "unique labels",
        "false",
    )
    print(f"seed {given.seed}: {number} problems, {time.perf_counter() - began:.0f} s")
    print(f"{'':24}" + "".join(f"{name:>16}" for name in columns))
    for row, counts in sorted(tables.items()):
        print(f"{row:24}" + "".join(f"{counts[name]:16}" for name in columns))
    sys.exit(min(false, 1))


if __name__ == "__main__":
    main()
