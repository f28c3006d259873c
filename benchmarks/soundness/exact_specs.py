"""Small training problems at the ends of what floats can say, with all numbers as given.

Constraints of every builder on columns of sizes 1e0 to 1e12, common offsets, weights like 1/3,
numbers at the lower end of the range.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.soundness import exact_rules
from benchmarks.soundness.exact_machines import ExactMachines
from benchmarks.soundness.rational import ONE, Program, Rule, exact, gram
from qpsvm import kernels
from qpsvm.exceptions import QPSVMError
from tests.certificates.textbook import FAMILIES, Drawn

TRAITS = ("constraints",) * 8 + ("offset", "weights", "denormal", "columns")
"""What makes a problem hard; two thirds have constraints."""
SIZES = {"tube": 4, "nu regression": 4, "ranking": 4, "least squares": 6, "nu classification": 7}
"""Samples at most; 9 otherwise. An optimum takes a few hundredths of a second then."""
N_NEW = 4
"""Samples that predictions are compared on."""


@dataclass(frozen=True)
class Given(Drawn):
    """Samples with the price that goes with them."""

    C: float = 1.0

    def price(self) -> float:
        return self.C


def draw(rng: Any, rejected: Counter[str]) -> ExactMachines:
    """A training problem that has an optimum; ``rejected`` counts those that have none."""
    while True:
        try:
            machines = _drawn(rng)
        except QPSVMError as error:
            rejected[f"exact machine: {type(error).__name__}"] += 1
            continue
        if machines.best is not None:
            return machines
        rejected["exact machine: no optimum"] += 1


def _drawn(rng: Any) -> ExactMachines:
    """Any training problem."""
    trait = str(rng.choice(TRAITS))
    names = [name for name in FAMILIES if not (trait == "constraints" and name == "hard margin")]
    name = str(rng.choice(names))
    data = _samples(rng, trait, int(rng.integers(3, SIZES.get(name, 9) + 1)))
    return problem_of(rng, name, trait, data)


def problem_of(rng: Any, name: str, trait: str, data: Drawn) -> ExactMachines:
    """The training problem of a family on these samples, as the library has it and exactly."""
    family, y, conditions, cost, more = FAMILIES[name][0](data)
    intercept = more.pop("intercept", "free")
    if hasattr(family, "intercept"):
        intercept = str(rng.choice(["free", "free", "penalized", "none"]))
        family = replace(family, intercept=intercept)
    rules: list[Rule] = []
    given: list[Any] = []
    if trait == "constraints":
        given, rules = exact_rules.random_rules(rng, data)
    X = exact(data.X)
    K = data.K
    if rules:
        rows = X + [[-v for v in rule.g] for rule in rules]
        K = gram("linear", rows, rows)

    def whole(m: Any) -> Any:
        found = cost(m)
        if intercept != "penalized" or found == math.inf:  # which a huge rational is not added to
            return found
        return found + m.b**2 / 2

    program = Program(data.n, K, conditions, whole, intercept, rules=rules, **more)
    form = str(rng.choice(["primal", "dual"]))
    problem = getattr(family, form)(
        data.X, y, kernel=data.kernel, sample_weight=data.weights, constraints=given or None
    )
    centre, spread = np.mean(data.X, axis=0), np.std(data.X, axis=0)
    new = centre + 1.5 * spread * rng.normal(size=(N_NEW, data.X.shape[1]))
    if trait == "constraints":
        trait = f"constraints, columns {_spread(data.X)}"
    is_classifier = y is not None and set(y) <= {-1, 1} and name != "ranking"
    return ExactMachines(
        name, trait, problem, program, X, y if is_classifier else None, _parameters(data.kernel),
        new,
    )  # fmt: skip


def _spread(X: Any) -> str:
    """How far the sizes of the columns are apart."""
    sizes = np.max(np.abs(X), axis=0)
    spread = np.max(sizes) / max(float(np.min(sizes)), 1e-300)
    return "1e9 apart" if spread >= 3e8 else "1e6 apart" if spread >= 3e5 else "alike"


def _parameters(kernel: Any) -> tuple[str, dict[str, Any]]:
    if isinstance(kernel, kernels.Polynomial):
        return "polynomial", {"gamma": kernel.gamma, "p": int(kernel.degree), "c": kernel.coef0}
    return "linear", {}


# --- samples -------------------------------------------------------------------------------------


def _samples(rng: Any, trait: str, n: int) -> Given:
    d = int(rng.integers(2 if trait == "constraints" and rng.random() < 0.9 else 1, 4))
    X = rng.normal(size=(n, d))
    if rng.random() < 0.7:
        X = np.round(8 * X) / 8
    C = float(10.0 ** rng.uniform(-3, 4))
    weights = None if rng.random() < 0.7 else rng.uniform(0.2, 5.0, n)
    function: Any = kernels.Linear()
    if trait in ("constraints", "columns"):
        X = X * 10.0 ** _powers(rng, d)
        X = X * float(rng.choice([1.0, 1.0, 3.0, 1e-4]))
    elif trait == "offset":
        X = X + 10.0 ** rng.integers(2, 9) * rng.choice([-1.0, 1.0, 0.0, 0.7], d)
        X = X * float(10.0 ** rng.uniform(-3, 3)) if rng.random() < 0.3 else X
    elif trait == "weights":
        weights = rng.choice([1 / 3, 2 / 3, 0.1, 0.7, 1.0, 1e-8, 1 / 7], n)
        if rng.random() < 0.4:
            weights = np.full(n, float(rng.choice([1 / 3, 0.1, 3.0])))
        C = float(rng.choice([1.0, 0.1, 1 / 3, 3.0, 10.0, 100.0]))
        X = np.round(2 * X)  # many samples exactly on their margin
    elif trait == "denormal":
        X, weights, C = _denormal(rng, X, weights, C)
    if trait in ("offset", "weights", "denormal") and rng.random() < 0.25:
        gamma, p = float(rng.choice([0.5, 1.0, 0.3])), int(rng.integers(1, 3))
        if trait != "offset":
            function = kernels.Polynomial(gamma, p, float(rng.choice([0.0, 1.0])))
    u = [ONE] * n if weights is None else exact(weights)
    name, parameters = _parameters(function)
    K = gram(name, exact(X), exact(X), **parameters)
    return Given(rng, X, function, weights, u, K, C)


def _powers(rng: Any, d: int) -> Any:
    """Sizes of columns as powers of ten: most of the time one that is far larger than another."""
    powers = rng.integers(0, 4, d) * (rng.random(d) < 0.3)
    if rng.random() < 0.85:
        powers[int(rng.integers(d))] = int(rng.integers(6, 13))
    return powers


def _denormal(rng: Any, X: Any, weights: Any, C: float) -> tuple[Any, Any, float]:
    """Prices, weights or samples at the lower end of the range."""
    n, d = X.shape
    which = int(rng.integers(4))
    if which == 0:
        return X, weights, float(rng.choice([1e-310, 1e-300, 3e-320, 1e-200]))
    if which == 1:
        weights = rng.choice([1.0, 1e-310, 1e-322, 1e-200], n)
        weights[0] = 1.0
        return X, weights, C
    if which == 2:
        return X * 10.0 ** rng.choice([-155.0, -162.0, -310.0, -100.0], (1, d)), weights, C
    return X * 10.0 ** rng.choice([-160.0, -310.0, 0.0, 0.0], (n, d)), weights, C
