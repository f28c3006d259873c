"""One case per SVM family, with its textbook formulas; every suite over families starts here.

A new family is one line in ``CASES``: a name, an instance, the data it learns from, and its two
formulas, the cost of any machine and the dual program. Both are written as the sources have them,
with plain dense NumPy and nothing from ``qpsvm.formulations`` but the parameters of the instance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np

from qpsvm import (
    DataDescription,
    EpsilonRegression,
    HardMargin,
    LeastSquares,
    NuClassification,
    NuRegression,
    OneClass,
    QuantileRegression,
    Ranking,
    SoftMargin,
    kernels,
)

KERNELS = {
    "linear": kernels.Linear(),
    "rbf": kernels.RBF(0.4),
    "polynomial": kernels.Polynomial(0.5, 2, 1.0),
}

DUALS = {
    "hinge": SoftMargin(C=2.0),
    "penalised": SoftMargin(C=2.0, intercept="penalized"),
    "no intercept": SoftMargin(C=2.0, intercept="none"),
    "squared hinge": SoftMargin(C=2.0, loss="squared_hinge"),
    "hard margin": HardMargin(),
    "tube": EpsilonRegression(C=2.0, epsilon=0.1),
    "quantile": QuantileRegression(C=2.0, tau=0.3),
    "nu": NuClassification(nu=0.5),
    "nu regression": NuRegression(C=1.0, nu=0.3),
    "one class": OneClass(nu=0.2),
    "ball": DataDescription(C=0.02),
}
"""Kernel machines with duals of every kind: losses, intercepts, one class, two sums."""

# --- data ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Data:
    """Samples, what is to be learned from them, and for rankings their query groups."""

    X: Any
    y: Any = None
    groups: Any = None

    def rows(self, index: Any) -> Data:
        """Only these rows, in this order."""
        chosen = (None if v is None else v[index] for v in (self.X, self.y, self.groups))
        return Data(*chosen)

    def __len__(self) -> int:
        return len(self.X)


def _data() -> dict[str, Data]:
    rng = np.random.default_rng(11)
    n, d = 18, 3
    y = np.where(np.arange(n) % 3 == 0, -1, 1)
    noise = rng.normal(size=(n, d))
    slope = np.array([1.0, -2.0, 0.5])
    groups = np.repeat(["a", "b", "c"], 4)
    return {
        "classes": Data(noise + 0.5 * y[:, None], y),
        # with a gap, around the origin: separable with and without an intercept
        "separable": Data(0.4 * noise + 1.5 * y[:, None], y),
        "targets": Data(noise, noise @ slope + 4.0 + 0.7 * rng.normal(size=n)),
        # away from the origin: a hyperplane can keep it on the other side
        "samples": Data(noise + np.array([3.0, 2.0, -1.0])),
        "grades": Data(noise[:12], np.array([2.0, 0.0, 1.0, 0.0] * 3), groups),
    }


DATA = _data()
NEW = 1.5 * np.random.default_rng(7).normal(size=(20, 3))

# --- the cost of any machine ----------------------------------------------------------------------


class Machine(NamedTuple):
    """What a cost depends on: ``|w|^2``, ``w'phi(x_i) + b``, b, the width t and ``k(x_i, x_i)``."""

    square: Any
    f: Any
    b: Any
    t: Any
    self_similarity: Any


def prices(family: Any, data: Data, u: Any) -> Any:
    """C_i, or the shares of a nu program: class weights, sample weights u, averages."""
    C = getattr(family, "C", 1.0) * np.asarray(u, dtype=np.float64)
    weights = getattr(family, "class_weight", None)
    if isinstance(weights, str):  # balanced
        total = {label: np.sum(u[data.y == label]) for label in (-1, 1)}
        weights = {label: np.sum(u) / (2.0 * total[label]) for label in (-1, 1)}
    if weights is not None:
        C = C * np.array([weights.get(label, 1.0) for label in data.y.tolist()])
    averaged = getattr(family, "average_loss", isinstance(family, NuClassification | NuRegression))
    return C / np.sum(u) if averaged else C


def positive(v: Any) -> Any:
    return np.maximum(v, 0.0)


def is_squared(family: Any) -> bool:
    return getattr(family, "loss", "").startswith("squared")


def hard_margin_cost(family: Any, data: Data, u: Any, m: Machine) -> Any:
    del family, u
    return np.where(np.min(data.y * m.f) >= 1.0, m.square / 2, np.inf)


def soft_margin_cost(family: Any, data: Data, u: Any, m: Machine) -> Any:
    v = positive(1 - data.y * m.f)
    return m.square / 2 + np.sum(prices(family, data, u) * (v**2 if is_squared(family) else v))


def nu_classification_cost(family: Any, data: Data, u: Any, m: Machine) -> Any:
    v = positive(m.t - data.y * m.f)
    return m.square / 2 - family.nu * m.t + np.sum(prices(family, data, u) * v)


def tube_cost(family: Any, data: Data, u: Any, m: Machine) -> Any:
    v = positive(np.abs(data.y - m.f) - family.epsilon)
    return m.square / 2 + np.sum(prices(family, data, u) * (v**2 if is_squared(family) else v))


def nu_regression_cost(family: Any, data: Data, u: Any, m: Machine) -> Any:
    v = positive(np.abs(data.y - m.f) - m.t)
    return m.square / 2 + family.C * family.nu * m.t + np.sum(prices(family, data, u) * v)


def pinball_cost(family: Any, data: Data, u: Any, m: Machine) -> Any:
    v = data.y - m.f
    pinball = np.where(v > 0, family.tau * v, (family.tau - 1) * v)
    return m.square / 2 + np.sum(prices(family, data, u) * pinball)


def one_class_cost(family: Any, data: Data, u: Any, m: Machine) -> Any:
    del data
    v = positive(-m.f)  # rho - w'phi(x), with rho = -b
    return m.square / 2 + m.b + np.sum(u / np.sum(u) * v) / family.nu


def ball_cost(family: Any, data: Data, u: Any, m: Machine) -> Any:
    # centre w/2: |phi(x) - c|^2 = k(x, x) - w'phi(x) + |w|^2/4
    radius_squared = m.b + m.square / 4
    distances = m.self_similarity - (m.f - m.b) + m.square / 4
    return radius_squared + np.sum(prices(family, data, u) * positive(distances - radius_squared))


def least_squares_cost(family: Any, data: Data, u: Any, m: Machine) -> Any:
    return m.square / 2 + np.sum(prices(family, data, u) / 2 * (data.y - m.f) ** 2)


def pairs_of(data: Data) -> list[tuple[int, int]]:
    """(better, worse) within a group, by grade."""
    groups = np.zeros(len(data)) if data.groups is None else data.groups
    n = range(len(data))
    return [(i, j) for i in n for j in n if groups[i] == groups[j] and data.y[i] > data.y[j]]


def pair_prices(family: Any, data: Data, u: Any) -> Any:
    C = np.array([u[i] * u[j] for i, j in pairs_of(data)])
    return family.C * (C / np.sum(C) if family.average_loss else C)


def ranking_cost(family: Any, data: Data, u: Any, m: Machine) -> Any:
    v = positive(np.array([1 - (m.f[i] - m.f[j]) for i, j in pairs_of(data)]))
    return m.square / 2 + np.sum(pair_prices(family, data, u) * (v**2 if is_squared(family) else v))


# --- the dual program -----------------------------------------------------------------------------


class Dual(NamedTuple):
    """``min 1/2 a'Pa + q'a, A a = b, G a <= h, lower <= a <= upper``, with a free intercept."""

    P: Any
    q: Any
    A: Any
    b: Any
    G: Any
    h: Any
    lower: Any
    upper: Any


def _dual(
    P: Any, q: Any, A: Any, b: Any, lower: Any, upper: Any, G: Any = None, h: Any = ()
) -> Any:
    n = len(q)
    bounds = (np.broadcast_to(v, n) for v in (lower, upper))
    return Dual(P, q, A, b, np.zeros((0, n)) if G is None else G, np.array(h), *bounds)


def hard_margin_dual(family: Any, data: Data, u: Any, K: Any) -> Dual:
    del family, u
    s = data.y
    return _dual(np.outer(s, s) * K, -np.ones(len(s)), s[None], [0.0], 0.0, np.inf)


def soft_margin_dual(family: Any, data: Data, u: Any, K: Any) -> Dual:
    s, C = data.y, prices(family, data, u)
    P, q = np.outer(s, s) * K, -np.ones(len(s))
    if is_squared(family):
        return _dual(P + np.diag(1 / (2 * C)), q, s[None], [0.0], 0.0, np.inf)
    return _dual(P, q, s[None], [0.0], 0.0, C)


def nu_classification_dual(family: Any, data: Data, u: Any, K: Any) -> Dual:
    s, C = data.y, prices(family, data, u)
    n = len(s)
    at_least = (-np.ones((1, n)), [-family.nu])  # 1'a >= nu
    return _dual(np.outer(s, s) * K, np.zeros(n), s[None], [0.0], 0.0, C, *at_least)


def tube_dual(family: Any, data: Data, u: Any, K: Any) -> Dual:
    t, C, n = data.y, np.tile(prices(family, data, u), 2), len(data)
    P, A = np.block([[K, -K], [-K, K]]), np.array([[1.0] * n + [-1.0] * n])
    q = np.concatenate([family.epsilon - t, family.epsilon + t])
    if is_squared(family):
        return _dual(P + np.diag(1 / (2 * C)), q, A, [0.0], 0.0, np.inf)
    return _dual(P, q, A, [0.0], 0.0, C)


def nu_regression_dual(family: Any, data: Data, u: Any, K: Any) -> Dual:
    t, C, n = data.y, np.tile(prices(family, data, u), 2), len(data)
    P, A = np.block([[K, -K], [-K, K]]), np.array([[1.0] * n + [-1.0] * n])
    at_most = (np.ones((1, 2 * n)), [family.C * family.nu])
    return _dual(P, np.concatenate([-t, t]), A, [0.0], 0.0, C, *at_most)


def pinball_dual(family: Any, data: Data, u: Any, K: Any) -> Dual:
    C = prices(family, data, u)
    ones = np.ones((1, len(data)))
    return _dual(K, -data.y, ones, [0.0], -(1 - family.tau) * C, family.tau * C)


def one_class_dual(family: Any, data: Data, u: Any, K: Any) -> Dual:
    n = len(data)
    return _dual(K, np.zeros(n), np.ones((1, n)), [1.0], 0.0, u / np.sum(u) / family.nu)


def ball_dual(family: Any, data: Data, u: Any, K: Any) -> Dual:
    # the table's a'Ka is 1/2 a'(2K)a
    return _dual(2 * K, -np.diag(K), np.ones((1, len(data))), [1.0], 0.0, prices(family, data, u))


def least_squares_dual(family: Any, data: Data, u: Any, K: Any) -> Dual:
    s, C = data.y, prices(family, data, u)
    P = np.outer(s, s) * K + np.diag(1 / C)
    return _dual(P, -np.ones(len(s)), s[None], [0.0], -np.inf, np.inf)


def ranking_dual(family: Any, data: Data, u: Any, K: Any) -> Dual:
    pairs, C = pairs_of(data), pair_prices(family, data, u)
    D = np.zeros((len(pairs), len(data)))
    for row, (better, worse) in enumerate(pairs):
        D[row, better], D[row, worse] = 1.0, -1.0
    P, q = D @ K @ D.T, -np.ones(len(pairs))
    if is_squared(family):
        return _dual(P + np.diag(1 / (2 * C)), q, np.zeros((0, len(pairs))), [], 0.0, np.inf)
    return _dual(P, q, np.zeros((0, len(pairs))), [], 0.0, C)


# --- the cases -----------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Case:
    """One family with parameters, the kind of data it learns from, and its two formulas."""

    name: str
    family: Any
    kind: str
    cost: Callable[[Any, Data, Any, Machine], Any]
    dual: Callable[[Any, Data, Any, Any], Dual]

    def __repr__(self) -> str:
        return self.name

    @property
    def data(self) -> Data:
        return DATA[self.kind]

    @property
    def is_classifier(self) -> bool:
        return self.kind in ("classes", "separable")

    @property
    def intercepts(self) -> tuple[str, ...]:
        """What the parameter ``intercept`` can be; "own" where the family has no such parameter."""
        return ("free", "penalized", "none") if self.has("intercept") else ("own",)

    @property
    def has_width(self) -> bool:
        """The program chooses the width of a margin or tube itself."""
        return isinstance(self.family, NuClassification | NuRegression)

    def has(self, parameter: str) -> bool:
        return any(field.name == parameter for field in fields(self.family))

    def with_intercept(self, intercept: str) -> Any:
        """The family with that intercept."""
        return self.family if intercept == "own" else replace(self.family, intercept=intercept)

    def build(
        self,
        form: str,
        kernel: Any = "linear",
        intercept: str = "free",
        data: Data | None = None,
        family: Any = None,
        **more: Any,
    ) -> Any:
        """The SVMProblem."""
        family = self.family if family is None else family
        if self.has("intercept"):
            family = replace(family, intercept=intercept)
        data = self.data if data is None else data
        groups = {} if data.groups is None else {"groups": data.groups}
        return getattr(family, form)(data.X, data.y, kernel=kernel, **groups, **more)


CASES = [
    Case("hard margin", HardMargin(), "separable", hard_margin_cost, hard_margin_dual),
    Case("hinge", SoftMargin(2.0), "classes", soft_margin_cost, soft_margin_dual),
    Case(
        "squared hinge",
        SoftMargin(0.7, loss="squared_hinge", class_weight={1: 3.0}),
        "classes",
        soft_margin_cost,
        soft_margin_dual,
    ),
    Case(
        "average hinge",
        SoftMargin(30.0, class_weight="balanced", average_loss=True),
        "classes",
        soft_margin_cost,
        soft_margin_dual,
    ),
    Case(
        "nu classification",
        NuClassification(0.55),
        "classes",
        nu_classification_cost,
        nu_classification_dual,
    ),
    Case(
        "weighted nu classification",
        NuClassification(0.65, class_weight={-1: 2.0, 1: 0.9}),
        "classes",
        nu_classification_cost,
        nu_classification_dual,
    ),
    Case("tube", EpsilonRegression(2.0, 0.4), "targets", tube_cost, tube_dual),
    Case(
        "squared tube",
        EpsilonRegression(3.0, 0.4, loss="squared_epsilon_insensitive"),
        "targets",
        tube_cost,
        tube_dual,
    ),
    Case(
        "average tube",
        EpsilonRegression(40.0, 0.2, average_loss=True),
        "targets",
        tube_cost,
        tube_dual,
    ),
    Case(
        "nu regression", NuRegression(0.4, 30.0), "targets", nu_regression_cost, nu_regression_dual
    ),
    Case("quantile", QuantileRegression(0.3, 2.0), "targets", pinball_cost, pinball_dual),
    Case(
        "average quantile",
        QuantileRegression(0.8, 40.0, average_loss=True),
        "targets",
        pinball_cost,
        pinball_dual,
    ),
    Case("one class", OneClass(0.35), "samples", one_class_cost, one_class_dual),
    Case("ball", DataDescription(0.15), "samples", ball_cost, ball_dual),
    Case("least squares", LeastSquares(1.5), "classes", least_squares_cost, least_squares_dual),
    Case("ranking", Ranking(0.5), "grades", ranking_cost, ranking_dual),
    Case(
        "average squared ranking",
        Ranking(10.0, loss="squared_hinge", average_loss=True),
        "grades",
        ranking_cost,
        ranking_dual,
    ),
]
BY_NAME = {case.name: case for case in CASES}


def settings(
    *, kernels: tuple[str, ...] = ("linear", "rbf"), forms: tuple[str, ...] = ("primal", "dual")
) -> Iterator[tuple[str, str, str, str]]:
    """(name, form, kernel, intercept) of every combination."""
    for case in CASES:
        for form in forms:
            for kernel in kernels:
                for intercept in case.intercepts:
                    yield case.name, form, kernel, intercept


# --- from a solution to its cost, without the library's own formulas ------------------------------


def machine_of(problem: Any, solution: Any, dtype: Any = np.longdouble) -> Machine:
    """What the cost needs of a solution as it predicts, in extended precision by default."""
    data = problem.data
    X = np.asarray(data.X, dtype=dtype)
    b, t = dtype(solution.intercept), dtype(solution.width)
    K = np.asarray(problem.kernel(data.X, data.X), dtype=dtype)
    if solution.coef is not None:
        w = np.asarray(solution.coef, dtype=dtype)
        return Machine(w @ w, X @ w + b, b, t, np.sum(X * X, axis=1))
    beta = np.asarray(solution.expansion, dtype=dtype)
    return Machine(beta @ (K @ beta), K @ beta + b, b, t, np.diag(K))


def cost_of(
    case: Case, problem: Any, solution: Any, u: Any = None, dtype: Any = np.longdouble
) -> Any:
    """The textbook's objective of a solution: of the machine that it predicts with."""
    data = case.data
    u = np.ones(len(data)) if u is None else u
    m = machine_of(problem, solution, dtype)
    cost = case.cost(problem.formulation, data, u, m)
    if getattr(problem.formulation, "intercept", "") == "penalized":
        cost = cost + m.b * m.b / 2
    return cost
