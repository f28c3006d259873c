"""Small training problems at the ends of what floats can say, with all numbers as given.

Constraints of every builder on columns of sizes 1e0 to 1e12, common offsets, weights like 1/3,
numbers at the lower end of the range.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.soundness.exact_machines import ExactMachines
from benchmarks.soundness.rational import ONE, ZERO, Program, Row, Rule, exact, gram
from qpsvm import constraints as builders
from qpsvm import kernels
from qpsvm.exceptions import QPSVMError
from tests.certificates.textbook import FAMILIES, Drawn

TRAITS = ("constraints",) * 5 + ("offset", "weights", "denormal", "columns")
"""What makes a problem hard; over half of them have constraints."""
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
        given, rules = random_rules(rng, data)
    X = exact(data.X)
    K = data.K
    if rules:
        rows = X + [[-v for v in rule.g] for rule in rules]
        K = gram("linear", rows, rows)

    def whole(m: Any) -> Any:
        return cost(m) + (m.b**2 / 2 if intercept == "penalized" else 0)

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
    d = int(rng.integers(1, 4))
    X = rng.normal(size=(n, d))
    if rng.random() < 0.7:
        X = np.round(8 * X) / 8
    C = float(10.0 ** rng.uniform(-3, 4))
    weights = None if rng.random() < 0.7 else rng.uniform(0.2, 5.0, n)
    function: Any = kernels.Linear()
    if trait in ("constraints", "columns"):
        powers = rng.integers(0, rng.choice([4, 10, 13]), d) * (rng.random(d) < 0.6)
        if rng.random() < 0.5:
            powers[0] = 0
        X = X * 10.0**powers
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
        which = int(rng.integers(4))
        if which == 0:
            C = float(rng.choice([1e-310, 1e-300, 3e-320, 1e-200]))
        elif which == 1:
            weights = rng.choice([1.0, 1e-310, 1e-322, 1e-200], n)
            weights[0] = 1.0
        elif which == 2:
            X = X * 10.0 ** rng.choice([-155.0, -162.0, -310.0, -100.0], (1, d))
        else:
            X = X * 10.0 ** rng.choice([-160.0, -310.0, 0.0, 0.0], (n, d))
    if trait in ("offset", "weights", "denormal") and rng.random() < 0.25:
        gamma, p = float(rng.choice([0.5, 1.0, 0.3])), int(rng.integers(1, 3))
        if trait != "offset":
            function = kernels.Polynomial(gamma, p, float(rng.choice([0.0, 1.0])))
    u = [ONE] * n if weights is None else exact(weights)
    name, parameters = _parameters(function)
    K = gram(name, exact(X), exact(X), **parameters)
    return Given(rng, X, function, weights, u, K, C)


# --- constraints ---------------------------------------------------------------------------------


def random_rules(rng: Any, data: Drawn) -> tuple[list[Any], list[Rule]]:
    """One to three of the builders, and the rows they stand for, inequalities first."""
    made = [_rule(rng, data) for _ in range(int(rng.choice([1, 1, 2, 3])))]
    rows = [rule for _, rules in made for rule in rules]
    ordered = [r for r in rows if not r.is_equality] + [r for r in rows if r.is_equality]
    return [builder for builder, _ in made], ordered


def _rule(rng: Any, data: Drawn) -> tuple[Any, list[Rule]]:
    d = data.X.shape[1]
    size = np.maximum(np.max(np.abs(data.X), axis=0), 1e-300)
    j = int(rng.integers(d))
    low, high = sorted(
        float(v) for v in rng.normal(size=2) / (size[j] if rng.random() < 0.7 else 1)
    )
    bound = float(abs(high)) or 1.0
    columns = tuple(map(int, rng.permutation(d)[: int(rng.integers(1, d + 1))]))
    ones = _unit(d, *columns)
    kind = str(rng.choice(BUILDERS))
    if kind in ("nonnegative", "increasing"):
        rows = [_at_least(_unit(d, i), 0.0) for i in columns]
        return getattr(builders, kind)(*columns), rows
    if kind in ("nonpositive", "decreasing"):
        rows = [_at_most(_unit(d, i), 0.0) for i in columns]
        return getattr(builders, kind)(*columns), rows
    if kind == "bounded":
        rows = [_at_least(_unit(d, i), -bound) for i in columns]
        rows += [_at_most(_unit(d, i), bound) for i in columns]
        return builders.bounded(list(columns), -bound, bound), rows
    if kind == "fixed":
        value = float(rng.choice([0.0, 0.0, low]))
        return builders.fixed(j, value), [_equal(_unit(d, j), value)]
    if kind == "ordered" and d > 1:
        order = tuple(map(int, rng.permutation(d)))
        pairs = [(order[i], order[i + 1]) for i in range(d - 1)]
        rows = []
        for first, second in pairs:
            step = [v - u for v, u in zip(_unit(d, second), _unit(d, first), strict=True)]
            rows.append(_at_least(step, 0.0))
        return builders.ordered(*order), rows
    if kind == "sum":
        how = int(rng.integers(3))
        if how == 0:
            value = float(rng.choice([0.0, bound]))
            return builders.sum_of(*columns, equals=value), [_equal(ones, value)]
        if how == 1:
            return builders.sum_of(*columns, at_most=bound), [_at_most(ones, bound)]
        both = [_at_least(ones, -bound), _at_most(ones, bound)]
        return builders.sum_of(*columns, at_least=-bound, at_most=bound), both
    if kind == "fairness":
        return _fairness(rng, data)
    return _matrix(rng, d, size)


BUILDERS = (
    "nonnegative", "nonpositive", "increasing", "decreasing", "bounded", "fixed", "ordered", "sum",
    "fairness", "fairness", "fairness", "matrix", "matrix", "matrix",
)  # fmt: skip


def _fairness(rng: Any, data: Drawn) -> tuple[Any, list[Rule]]:
    """``|sum_i u_i (z_i - mean z) x_i'w| <= bound``, weights u that sum to one."""
    z = rng.integers(0, 2, data.n).astype(np.float64)
    if rng.random() < 0.5:  # what the first column tells of it
        z = (data.X[:, 0] > np.median(data.X[:, 0])).astype(np.float64)
    if len(set(z)) == 1:
        z[:2] = 0.0, 1.0
    bound = float(rng.choice([0.0, 0.01, 0.1, 1e-3]))
    total = sum(data.u, start=ZERO)
    shares = [u / total for u in data.u]
    mean = sum((u * Fraction(v) for u, v in zip(shares, z, strict=True)), start=ZERO)
    centred = [u * (Fraction(v) - mean) for u, v in zip(shares, z, strict=True)]
    row = [
        sum((c * x for c, x in zip(centred, column, strict=True)), start=ZERO)
        for column in zip(*exact(data.X), strict=True)
    ]
    builder = builders.fairness_band(z, bound)
    if bound == 0.0:
        return builder, [_equal(row, 0.0)]
    return builder, [_at_least(row, -bound), _at_most(row, bound)]


def _matrix(rng: Any, d: int, size: Any) -> tuple[Any, list[Rule]]:
    """Rows of mixed sizes, on the intercept too; w = 0 satisfies them."""
    m, k = int(rng.integers(0, 3)), int(rng.integers(0, 2))
    m = m if m + k else 1
    G = rng.integers(-3, 4, (m + k, d)) * 10.0 ** (
        rng.integers(0, 13, (m + k, d)) * (rng.random((m + k, d)) < 0.4)
    )
    if rng.random() < 0.4:
        G = G * size
    if rng.random() < 0.4:
        G = np.column_stack([G, rng.integers(-1, 2, m + k)])
    wide = np.column_stack([G, np.zeros(m + k)]) if G.shape[1] == d else G
    h = np.abs(np.round(8 * rng.normal(size=m)) / 8) * (rng.random(m) < 0.7)
    rules = [
        Rule(exact(wide[i, :d]), Fraction(wide[i, d]), Fraction(h[i]), False) for i in range(m)
    ]
    rules += [Rule(exact(wide[i, :d]), Fraction(wide[i, d]), ZERO, True) for i in range(m, m + k)]
    parts: dict[str, Any] = {}
    if m:
        parts |= {"G": G[:m], "h": h}
    if k:
        parts |= {"A": G[m:], "b": np.zeros(k)}
    return builders.LinearConstraints(**parts), rules


def _unit(d: int, *columns: int) -> Row:
    return [ONE if i in columns else ZERO for i in range(d)]


def _at_most(g: Row, h: float) -> Rule:
    return Rule(g, ZERO, Fraction(h), False)


def _at_least(g: Row, h: float) -> Rule:
    return Rule([-v for v in g], ZERO, -Fraction(h), False)


def _equal(g: Row, h: float) -> Rule:
    return Rule(g, ZERO, Fraction(h), True)
