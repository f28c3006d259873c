"""Random small machines of every family, beside the same in rational numbers.

The cost of a family is written as its source has it, and with the numbers its user gives.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

import qpsvm
from benchmarks.soundness.rational import (
    ONE,
    ZERO,
    Condition,
    Machine,
    Optimum,
    Program,
    Row,
    Rule,
    allowed,
    dot,
    exact,
    gram,
    joint_cost,
    joint_optimum,
    l1_cost,
    l1_optimum,
    machine,
    optimum,
    unit,
)
from qpsvm import kernels
from qpsvm.constraints import LinearConstraints
from qpsvm.machines import Interval, SVMSolution
from qpsvm.machines.joint.solution import JointSolution
from qpsvm.qp import QPSolution, Status


@dataclass(frozen=True)
class Instance:
    """A training problem with its exact optimum.

    ``cost`` is the exact objective of any solution of it, infinite where it breaks a rule.
    ``program`` is that of a machine with one decision function and a norm of 2.
    """

    problem: Any
    optimum: Optimum
    cost: Callable[[Any], Fraction | float]
    program: Program | None = None

    def near(self, rng: Any, size: float) -> Any:
        """The optimum rounded to float64, with noise of a relative size."""
        return _near(self, rng, size)


# --- samples -------------------------------------------------------------------------------------


def repeated(rng: Any, n: int, d: int) -> Any:
    X = rng.normal(size=(n, d))
    X[rng.integers(n)] = X[rng.integers(n)]
    X[rng.integers(n)] = 0.0
    X[:, rng.integers(d)] *= rng.integers(2)
    return X


SAMPLES: dict[str, Callable[[Any, int, int], Any]] = {
    "plain": lambda rng, n, d: rng.normal(size=(n, d)),
    "short": lambda rng, n, d: rng.integers(-8, 9, (n, d)) / 4.0,
    "columns": lambda rng, n, d: rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-8, 8, d),
    "rows": lambda rng, n, d: rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-8, 8, (n, 1)),
    "offset": lambda rng, n, d: 1e8 + rng.normal(size=(n, d)),
    "repeated": repeated,
    "tiny": lambda rng, n, d: rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-320, -140, (n, d)),
}

KERNELS = ("linear", "polynomial", "precomputed")


@dataclass(frozen=True)
class Drawn:
    """Samples of a random size; u are the exact sample weights, K the exact kernel matrix."""

    rng: Any
    X: Any
    kernel: Any
    weights: Any
    u: Row
    K: list[Row]

    @property
    def n(self) -> int:
        return len(self.u)

    @property
    def total(self) -> Fraction:
        return sum(self.u, start=ZERO)

    def price(self) -> float:
        return float(10.0 ** self.rng.uniform(-3, 3))

    def flag(self) -> bool:
        return bool(self.rng.integers(2))

    def signs(self) -> list[int]:
        y = self.rng.choice([-1, 1], self.n)
        y[:2] = 1, -1
        return list(map(int, self.rng.permutation(y)))

    def targets(self) -> list[float]:
        scale = 10.0 ** self.rng.uniform(-3, 3)
        return list(self.rng.normal(size=self.n) * scale + self.rng.choice([0.0, 100.0]))


def drawn(rng: Any, samples: str, kernel: str, largest: int) -> Drawn:
    n, d = int(rng.integers(2, largest + 1)), int(rng.integers(1, 4))
    X = SAMPLES[samples](rng, n, d)
    parameters: dict[str, Any] = {}
    function: Any = kernels.Linear()
    if kernel == "polynomial":
        gamma, p = float(rng.uniform(0.1, 2)), int(rng.integers(1, 4))
        c = float(rng.choice([0.0, rng.uniform(0, 2)]))
        parameters, function = {"gamma": gamma, "p": p, "c": c}, kernels.Polynomial(gamma, p, c)
    elif kernel == "rbf":
        parameters = {"gamma": float(10.0 ** rng.uniform(-2, 1))}
        function = kernels.RBF(**parameters)
    elif kernel == "precomputed":
        factor = rng.integers(-9, 10, (n, d)) / 2.0
        X, function = factor @ factor.T, kernels.Precomputed()  # a product without rounding
    weights = None if rng.integers(2) else rng.uniform(0.2, 5.0, n)
    u = [ONE] * n if weights is None else exact(weights)
    return Drawn(rng, X, function, weights, u, gram(kernel, exact(X), exact(X), **parameters))


# --- families ------------------------------------------------------------------------------------
#
# each: samples -> (family, y, conditions, cost, what else a Program needs)


def hinge(v: Fraction) -> Fraction:
    return max(ZERO, v)


def weighed(C: Row, losses: Row, squared: bool) -> Fraction:
    return dot(C, [v * v for v in losses] if squared else losses)


def one_sided(row: Row, required: Fraction, C: Fraction, squared: bool) -> Condition:
    if squared:
        return Condition(row, required, ZERO, None, 1 / (2 * C))
    return Condition(row, required, ZERO, C)


def class_prices(family: Any, data: Drawn, y: list[int], average: bool) -> Row:
    """``C_i = C x class weight x sample weight``, over W for an average."""
    factors = {-1: ONE, 1: ONE}
    if family.class_weight == "balanced":
        of_class = {c: sum(w for w, s in zip(data.u, y, strict=True) if s == c) for c in (-1, 1)}
        factors = {c: data.total / (2 * of_class[c]) for c in (-1, 1)}
    elif family.class_weight is not None:
        factors |= {label: Fraction(weight) for label, weight in family.class_weight.items()}
    C = Fraction(getattr(family, "C", 1.0)) / (data.total if average else 1)
    return [C * factors[s] * w for s, w in zip(y, data.u, strict=True)]


def class_options(data: Drawn) -> dict[str, Any]:
    weight = [None, None, "balanced", {1: float(data.rng.uniform(0.1, 9))}][data.rng.integers(4)]
    return {"class_weight": weight, "average_loss": data.flag()}


def soft_margin(data: Drawn) -> Any:
    squared, y = data.flag(), data.signs()
    loss = "squared_hinge" if squared else "hinge"
    family = qpsvm.SoftMargin(data.price(), loss=loss, **class_options(data))
    C = class_prices(family, data, y, family.average_loss)
    conditions = [one_sided(unit(data.n, i, y[i]), ONE, C[i], squared) for i in range(data.n)]

    def cost(m: Machine) -> Fraction:
        v = [hinge(1 - s * f) for s, f in zip(y, m.f, strict=True)]
        return m.square / 2 + weighed(C, v, squared)

    return family, y, conditions, cost, {}


def hard_margin(data: Drawn) -> Any:
    y = data.signs()
    conditions = [Condition(unit(data.n, i, s), ONE) for i, s in enumerate(y)]

    def cost(m: Machine) -> Any:
        holds = all(s * f >= 1 for s, f in zip(y, m.f, strict=True))
        return m.square / 2 if holds else math.inf

    return qpsvm.HardMargin(), y, conditions, cost, {}


def scaled_up(m: Machine, y: list[int]) -> Machine:
    """The multiple of a machine whose smallest margin is 1, unless it is larger already."""
    smallest = min(s * f for s, f in zip(y, m.f, strict=True))
    c = 1 / smallest if 0 < smallest < 1 else ONE
    return Machine(m.square * c * c, [c * f for f in m.f], c * m.b)


def least_squares(data: Drawn) -> Any:
    family, y = qpsvm.LeastSquares(data.price(), **class_options(data)), data.signs()
    C = class_prices(family, data, y, family.average_loss)
    conditions = [
        Condition(unit(data.n, i, y[i]), ONE, None, None, 1 / C[i]) for i in range(data.n)
    ]

    def cost(m: Machine) -> Fraction:
        return (
            m.square / 2
            + weighed(C, [1 - s * f for s, f in zip(y, m.f, strict=True)], squared=True) / 2
        )

    return family, y, conditions, cost, {}


def nu_classification(data: Drawn) -> Any:
    y = data.signs()
    family = qpsvm.NuClassification(1.0)
    u = class_prices(family, data, y, average=True)
    smaller = min(sum(c for c, s in zip(u, y, strict=True) if s == side) for side in (-1, 1))
    family = replace(family, nu=float(data.rng.uniform(0.05, 0.95) * 2 * smaller))
    nu = Fraction(family.nu)
    conditions = [one_sided(unit(data.n, i, y[i]), ZERO, u[i], False) for i in range(data.n)]

    def cost(m: Machine) -> Fraction:
        v = [hinge(m.t - s * f) for s, f in zip(y, m.f, strict=True)]
        return m.square / 2 - nu * m.t + dot(u, v)

    return family, y, conditions, cost, {"width": -1, "width_price": -nu}


def two_sided(t: list[float], C: Row, epsilon: Fraction, squared: bool) -> list[Condition]:
    n = len(t)
    return [
        one_sided(unit(n, i, side), side * Fraction(t[i]) - epsilon, C[i], squared)
        for side in (1, -1)
        for i in range(n)
    ]


def tube(data: Drawn) -> Any:
    squared, average, t = data.flag(), data.flag(), data.targets()
    loss = "squared_epsilon_insensitive" if squared else "epsilon_insensitive"
    epsilon = float(np.std(t) * data.rng.choice([0.0, data.rng.uniform(0, 1.5)]))
    family = qpsvm.EpsilonRegression(data.price(), epsilon, loss=loss, average_loss=average)
    C = [Fraction(family.C) * w / (data.total if average else 1) for w in data.u]

    def cost(m: Machine) -> Fraction:
        v = [hinge(abs(Fraction(a) - f) - Fraction(epsilon)) for a, f in zip(t, m.f, strict=True)]
        return m.square / 2 + weighed(C, v, squared)

    return family, t, two_sided(t, C, Fraction(epsilon), squared), cost, {}


def nu_regression(data: Drawn) -> Any:
    t = data.targets()
    family = qpsvm.NuRegression(float(data.rng.uniform(0.05, 0.95)), data.price())
    C, nu = Fraction(family.C), Fraction(family.nu)
    shares = [w / data.total for w in data.u]

    def cost(m: Machine) -> Fraction:
        v = [hinge(abs(Fraction(a) - f) - m.t) for a, f in zip(t, m.f, strict=True)]
        return m.square / 2 + C * (nu * m.t + dot(shares, v))

    conditions = two_sided(t, [C * share for share in shares], ZERO, False)
    return family, t, conditions, cost, {"width": 1, "width_price": C * nu}


def quantile(data: Drawn) -> Any:
    t, average = data.targets(), data.flag()
    family = qpsvm.QuantileRegression(
        float(data.rng.uniform(0.05, 0.95)), data.price(), average_loss=average
    )
    tau = Fraction(family.tau)
    C = [Fraction(family.C) * w / (data.total if average else 1) for w in data.u]
    conditions = [
        Condition(unit(data.n, i), Fraction(t[i]), (tau - 1) * C[i], tau * C[i])
        for i in range(data.n)
    ]

    def cost(m: Machine) -> Fraction:
        v = [Fraction(a) - f for a, f in zip(t, m.f, strict=True)]
        return m.square / 2 + dot(C, [max(tau * x, (tau - 1) * x) for x in v])

    return family, t, conditions, cost, {}


def one_class(data: Drawn) -> Any:
    family = qpsvm.OneClass(float(data.rng.uniform(0.05, 0.95)))
    shares = [w / data.total / Fraction(family.nu) for w in data.u]
    conditions = [one_sided(unit(data.n, i), ZERO, shares[i], False) for i in range(data.n)]

    def cost(m: Machine) -> Fraction:
        return m.square / 2 + m.b + dot(shares, [hinge(-f) for f in m.f])

    return family, None, conditions, cost, {"price": ONE}


def ball(data: Drawn) -> Any:
    family = qpsvm.DataDescription(float(data.rng.uniform(1.05, 4.0) / float(data.total)))
    C = [Fraction(family.C) * w for w in data.u]
    squares = [data.K[i][i] for i in range(data.n)]
    conditions = [one_sided(unit(data.n, i), squares[i], C[i], False) for i in range(data.n)]

    def cost(m: Machine) -> Fraction:
        radius = m.b + m.square / 4  # squared; the centre is w/2
        away = [k - (f - m.b) + m.square / 4 for k, f in zip(squares, m.f, strict=True)]
        return radius + dot(C, [hinge(distance - radius) for distance in away])

    return family, None, conditions, cost, {"price": ONE, "kappa": Fraction(1, 2)}


def ranking(data: Drawn) -> Any:
    squared, average = data.flag(), data.flag()
    family = qpsvm.Ranking(data.price(), "squared_hinge" if squared else "hinge", average)
    y = [0, 1, *map(int, data.rng.integers(0, 3, data.n))][: data.n]
    pairs = [(i, j) for i in range(data.n) for j in range(data.n) if y[i] > y[j]]
    u = [data.u[i] * data.u[j] for i, j in pairs]
    C = [Fraction(family.C) * w / (sum(u) if average else 1) for w in u]
    rows = [[Fraction((k == i) - (k == j)) for k in range(data.n)] for i, j in pairs]
    conditions = [one_sided(row, ONE, c, squared) for row, c in zip(rows, C, strict=True)]

    def cost(m: Machine) -> Fraction:
        return m.square / 2 + weighed(C, [hinge(1 - (m.f[i] - m.f[j])) for i, j in pairs], squared)

    return family, y, conditions, cost, {"intercept": "none"}


FAMILIES: dict[str, tuple[Callable[[Drawn], Any], int]] = {
    "soft margin": (soft_margin, 5),
    "hard margin": (hard_margin, 5),
    "least squares": (least_squares, 4),
    "nu classification": (nu_classification, 4),
    "tube": (tube, 3),
    "nu regression": (nu_regression, 3),
    "quantile": (quantile, 4),
    "one class": (one_class, 5),
    "ball": (ball, 4),
    "ranking": (ranking, 4),
}
"""With the most samples: there are two dual variables for each in a tube, one for every pair."""

# --- instances -----------------------------------------------------------------------------------


def instance(rng: Any, name: str, samples: str, kernel: str, *, rules: bool = False) -> Any:
    """A random training problem; None where it has no optimum."""
    largest = FAMILIES[name][1] if name in FAMILIES else {"L1 norm": 4, "Crammer-Singer": 3}[name]
    return of_data(name, drawn(rng, samples, kernel, largest), rules=rules)


def of_data(name: str, data: Drawn, *, rules: bool = False) -> Any:
    """A random training problem with these samples; None where it has no optimum."""
    if name == "L1 norm":
        return l1_instance(data)
    if name == "Crammer-Singer":
        return joint_instance(data)
    family, y, conditions, cost, more = FAMILIES[name][0](data)
    intercept = more.pop("intercept", "free")
    if hasattr(family, "intercept"):
        intercept = str(data.rng.choice(["free", "penalized", "none"]))
        family = replace(family, intercept=intercept)
    constraints, exact_rules = random_rules(data) if rules else (None, [])
    rows = exact(data.X) + [[-value for value in rule.g] for rule in exact_rules]
    K = gram("linear", rows, rows) if rules else data.K

    def whole(m: Machine) -> Any:
        return cost(m) + (m.b**2 / 2 if intercept == "penalized" else 0)

    program = Program(data.n, K, conditions, whole, intercept, rules=exact_rules, **more)
    best = optimum(program)
    if best is None:
        return None

    def cost_of(solution: Any) -> Any:
        b, t = Fraction(solution.intercept), Fraction(solution.width)
        if solution.coef is None:
            m = machine(data.K, data.n, exact(solution.expansion), b, t)
        else:
            w = exact(solution.coef)
            m = Machine(dot(w, w), [dot(x, w) + b for x in exact(data.X)], b, t)
            if not allowed(exact_rules, [dot(rule.g, w) for rule in exact_rules], b):
                return math.inf
        return whole(scaled_up(m, y) if name == "hard margin" and not rules else m)

    problem = family.dual(
        data.X, y, kernel=data.kernel, sample_weight=data.weights, constraints=constraints
    )
    return Instance(problem, best, cost_of, program)


def random_rules(data: Drawn) -> Any:
    """One or two constraints that w = 0, b = 0 satisfies."""
    d = data.X.shape[1]
    G = data.rng.choice([data.rng.normal(size=(2, d + 1)), data.rng.integers(-2, 3, (2, d + 1))])
    h = np.abs(data.rng.normal(size=2)) * data.rng.integers(2, size=2)
    with_equality = data.flag()
    parts = {"A": G[1:], "b": [0.0]} if with_equality else {}
    m = 1 if with_equality else 2
    exact_rules = [
        Rule(exact(G[i, :d]), Fraction(G[i, d]), Fraction(h[i]), False) for i in range(m)
    ]
    if with_equality:
        exact_rules.append(Rule(exact(G[1, :d]), Fraction(G[1, d]), ZERO, True))
    return LinearConstraints(G=G[:m], h=h[:m], **parts), exact_rules


def l1_instance(data: Drawn) -> Instance:
    family = qpsvm.L1Norm(
        data.price(),
        str(data.rng.choice(["free", "penalized", "none"])),
        str(data.rng.choice(["hinge", "squared_hinge"])),
        **class_options(data),
    )
    on_b, squared = family.intercept == "penalized", family.loss == "squared_hinge"
    y = data.signs()
    C = class_prices(family, data, y, family.average_loss)
    F = exact(data.X) if isinstance(data.kernel, kernels.Linear) else data.K
    problem = family.dual(data.X, y, kernel=data.kernel, sample_weight=data.weights)

    def cost_of(solution: Any) -> Fraction:
        weights = solution.expansion if solution.coef is None else solution.coef
        b = Fraction(solution.intercept)
        return l1_cost(F, y, C, exact(weights), b, on_b=on_b, squared=squared)

    return Instance(problem, l1_optimum(F, y, C, family.intercept, squared=squared), cost_of)


def joint_instance(data: Drawn) -> Instance:
    k = int(data.rng.integers(2, 4))
    y = [*range(k), *map(int, data.rng.integers(0, k, data.n))][: max(data.n, k)]
    if len(y) > data.n:
        k, y = data.n, y[: data.n]
    family = qpsvm.CrammerSinger(
        data.price(), str(data.rng.choice(["none", "penalized"])), average_loss=data.flag()
    )
    C = [Fraction(family.C) * w / (data.total if family.average_loss else 1) for w in data.u]
    problem = family.dual(data.X, y, kernel=data.kernel, sample_weight=data.weights)
    best = joint_optimum(data.K, y, C, k, family.intercept == "penalized")

    def cost_of(solution: Any) -> Fraction:
        b = exact(solution.intercept)
        if solution.coef is None:
            return joint_cost(data.K, y, C, exact(solution.expansion.T), b)
        W = exact(solution.coef)
        scores = [[dot(x, w) for x in exact(data.X)] for w in W]
        size = sum((dot(w, w) for w in W), start=dot(b, b)) / 2
        for i, own in enumerate(y):
            f = [g[i] + on_b for g, on_b in zip(scores, b, strict=True)]
            size += C[i] * (max(value + (m != own) for m, value in enumerate(f)) - f[own])
        return size

    return Instance(problem, best, cost_of)


# --- solutions -----------------------------------------------------------------------------------


LARGE = Fraction(10**200)
"""Numbers beyond that become that, and stay within the range when noise is added."""


def _near(instance: Instance, rng: Any, size: float) -> Any:
    model, best = instance.problem.model, instance.optimum

    def noisy(values: Any) -> Any:
        v = np.array(_floats(values))
        additive = rng.integers(2) * np.max(np.abs(v), initial=0.0)
        return v + size * (v + additive) * rng.normal(size=v.shape)

    linear = model.is_linear
    if isinstance(instance.problem, qpsvm.formulations.crammer_singer.JointProblem):
        alpha, b = noisy(best.alpha).T, noisy(best.b) * (model.intercept != "none")
        W = [_weights(model, beta) for beta in best.beta] if linear else None
        coef = noisy(W) if linear else None
        return JointSolution(
            alpha, noisy(best.beta).T, coef, b, np.zeros(len(alpha)), model.box, **_common(model)
        )
    n, N = model.data.n_samples, len(model.conditions)
    is_l1 = not model.norm.weights_follow
    coef = expansion = None
    if linear:
        coef = noisy(best.beta if is_l1 else _weights(model, best.beta))
    else:
        expansion = noisy(best.beta[:n])
    alpha = noisy(best.alpha)
    b = float(noisy([best.b])[0]) * (model.intercept != "none")
    return SVMSolution(
        alpha=alpha[:N],
        expansion=expansion,
        coef=coef,
        intercept=b,
        intercept_interval=Interval(b, b),
        width=abs(float(noisy([best.t])[0])),
        slack=np.zeros(N),
        constraint_multipliers=alpha[N:],
        conditions=model.conditions,
        **_common(model),
    )


def _common(model: Any) -> dict[str, Any]:
    qp = QPSolution(Status.UNKNOWN)
    return {"kernel": model.kernel, "data": model.data, "qp": qp, "repair": model.repair}


def _weights(model: Any, beta: Row) -> Row:
    """``X'beta``; after the coefficients of the samples come those of constraints."""
    rows = exact(model.data.X)
    if getattr(model, "constraints", None) is not None:
        rows = rows + exact(-model.constraints.rows[:, :-1])
    return [dot(beta, column) for column in zip(*rows, strict=True)]


def _floats(values: Any) -> Any:
    """Rounded to nearest."""
    if isinstance(values, list):
        return [_floats(value) for value in values]
    return float(min(max(values, -LARGE), LARGE))
