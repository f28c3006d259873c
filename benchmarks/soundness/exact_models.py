"""Programs of fitted models in rational numbers: the textbook's cost, and the exact optimum.

From the samples and parameters that a model was fitted with, and from the numbers that it stores,
as they are. Nothing is shared with the library.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from benchmarks.soundness.rational import (
    ONE,
    ZERO,
    Condition,
    Machine,
    Optimum,
    Program,
    Row,
    dot,
    exact,
    gram,
    machine,
    optimum,
    times,
    unit,
)

KERNELS = {"linear": "linear", "poly": "polynomial", "rbf": "rbf", "sigmoid": "sigmoid"}


@dataclass(frozen=True, eq=False)
class ExactClaim:
    """One program, and the machine that a model claims for it.

    Attributes
    ----------
    program : Program
        On the samples of positive weight.
    kept : list of int
        These samples.
    K : rows of ``k(x_i, x_j)`` for every sample i and kept samples j
    beta, b, t : what the model stores, in the scale of the program
    factor : the model's decision values are this many times those of the program
    """

    program: Program
    kept: list[int]
    K: list[Row]
    beta: Row
    b: Fraction
    t: Fraction
    factor: Fraction

    @cached_property
    def best(self) -> Optimum | None:
        """The exact optimum; None if there is none."""
        return optimum(self.program)

    @cached_property
    def own(self) -> Row:
        """Decision values of the stored numbers, in the model's scale."""
        return [self.factor * (v + self.b) for v in times(self.K, self.beta)]

    @cached_property
    def truth(self) -> Row:
        """Decision values of an exact optimum, in the model's scale."""
        assert self.best is not None
        return [self.factor * (v + self.best.b) for v in times(self.K, self.best.beta)]

    @property
    def is_allowed(self) -> bool:
        """Whether the machine is one of the program: without an intercept where it has none."""
        return self.program.intercept != "none" or self.b == 0

    @property
    def scaling(self) -> Fraction:
        """Rounding of an objective whose multipliers are the model's over a factor in floats."""
        if abs(self.factor) == 1:
            return ZERO
        sizes = [
            sum((abs(k * v) for k, v in zip(row, self.beta, strict=True)), start=abs(self.b))
            for row in self.K
        ]
        prices = sum((c.upper or ZERO for c in self.program.conditions), start=ZERO)
        return Fraction(1, 2**50) * max(sizes) * prices

    @cached_property
    def objective(self) -> Fraction:
        """The textbook's cost of the stored numbers; of a tube's width the best."""
        p = self.program
        m = machine(p.K, p.n, self.beta, self.b, self.t)
        if p.width != 1:
            return p.cost(m)
        residuals = [max(ZERO, c.required - dot(c.row, m.f)) for c in p.conditions]
        return min(p.cost(Machine(m.square, m.f, m.b, t)) for t in {ZERO, *residuals})


# --- programs ------------------------------------------------------------------------------------


def hinge(K: list[Row], signs: list[int], C: Row, intercept: str, *, squared: bool) -> Program:
    """``1/2 |w|^2 [+ 1/2 b^2] + sum_i C_i max(0, 1 - s_i f_i)``, or the squares."""
    n = len(signs)
    conditions = [
        Condition(
            unit(n, i, s), ONE, ZERO, None if squared else c, 1 / (2 * c) if squared else ZERO
        )
        for i, (s, c) in enumerate(zip(signs, C, strict=True))
    ]

    def cost(m: Machine) -> Fraction:
        short = [max(ZERO, 1 - s * f) for s, f in zip(signs, m.f, strict=True)]
        return _half_squared_norm(m, intercept) + dot(
            C, [v * v for v in short] if squared else short
        )

    return Program(n, K, conditions, cost, intercept)


def tube(
    K: list[Row], t: Row, epsilon: Fraction, C: Row, intercept: str, *, squared: bool
) -> Program:
    """``1/2 |w|^2 [+ 1/2 b^2] + sum_i C_i max(0, |t_i - f_i| - epsilon)``, or the squares."""
    n = len(t)
    conditions = [
        Condition(
            unit(n, i, side),
            side * t[i] - epsilon,
            ZERO,
            None if squared else C[i],
            1 / (2 * C[i]) if squared else ZERO,
        )
        for side in (1, -1)
        for i in range(n)
    ]

    def cost(m: Machine) -> Fraction:
        losses = [max(ZERO, abs(a - f) - epsilon) for a, f in zip(t, m.f, strict=True)]
        return _half_squared_norm(m, intercept) + dot(
            C, [v * v for v in losses] if squared else losses
        )

    return Program(n, K, conditions, cost, intercept)


def one_class(K: list[Row], nu: Fraction, weights: Row) -> Program:
    """``1/2 |w|^2 + b + sum_i u_i max(0, -f_i) / (nu sum u)``."""
    n, total = len(weights), sum(weights, start=ZERO)
    shares = [u / (nu * total) for u in weights]
    conditions = [Condition(unit(n, i), ZERO, ZERO, share) for i, share in enumerate(shares)]

    def cost(m: Machine) -> Fraction:
        return m.square / 2 + m.b + dot(shares, [max(ZERO, -f) for f in m.f])

    return Program(n, K, conditions, cost, price=ONE)


def nu_classifier(K: list[Row], signs: list[int], nu: Fraction, weights: Row) -> Program:
    """``1/2 |w|^2 - nu t + sum_i u_i max(0, t - s_i f_i) / sum u``."""
    n, total = len(signs), sum(weights, start=ZERO)
    shares = [u / total for u in weights]
    conditions = [Condition(unit(n, i, s), ZERO, ZERO, shares[i]) for i, s in enumerate(signs)]

    def cost(m: Machine) -> Fraction:
        losses = [max(ZERO, m.t - s * f) for s, f in zip(signs, m.f, strict=True)]
        return m.square / 2 - nu * m.t + dot(shares, losses)

    return Program(n, K, conditions, cost, width=-1, width_price=-nu)


def nu_tube(K: list[Row], t: Row, nu: Fraction, C: Row) -> Program:
    """``1/2 |w|^2 + nu sum_i C_i e + sum_i C_i max(0, |t_i - f_i| - e)``."""
    n, price = len(t), nu * sum(C, start=ZERO)
    conditions = [
        Condition(unit(n, i, side), side * t[i], ZERO, C[i]) for side in (1, -1) for i in range(n)
    ]

    def cost(m: Machine) -> Fraction:
        losses = [max(ZERO, abs(a - f) - m.t) for a, f in zip(t, m.f, strict=True)]
        return m.square / 2 + price * m.t + dot(C, losses)

    return Program(n, K, conditions, cost, width=1, width_price=price)


def _half_squared_norm(m: Machine, intercept: str) -> Fraction:
    return (m.square + (m.b**2 if intercept == "penalized" else ZERO)) / 2


# --- models --------------------------------------------------------------------------------------


def claims(model: Any, X: Any, y: Any, weights: Any) -> list[ExactClaim]:
    """The programs of a model and what it stores, in the order of its machines."""
    name = next(kind.__name__ for kind in type(model).__mro__ if kind.__name__ in READERS)
    rows = exact(np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64))
    u = [ONE] * len(rows) if weights is None else exact(np.asarray(weights, dtype=np.float64))
    return READERS[name](model, rows, y, u)


def kernel_of(model: Any) -> tuple[str, dict[str, Any]]:
    """The kernel that a model predicts with."""
    kind = model.kernel
    if kind in ("linear", "precomputed"):
        return kind, {}
    inner: dict[str, Any] = {"gamma": float(model._gamma)}
    if kind != "rbf":
        inner["c"] = float(model.coef0)
    if kind == "poly":
        inner["p"] = int(model.degree)
    return KERNELS[kind], inner


Build = Callable[[list[Row], list[int]], tuple[Program, Fraction, Fraction]]


def _claim(K: list[Row], u: Row, members: list[int], c: Row, b: Any, build: Build) -> ExactClaim:
    """``build``: program, factor and width from the kernel matrix of the kept samples."""
    kept = [i for i in members if u[i] > 0]
    inner = [[K[i][j] for j in kept] for i in kept]
    program, factor, t = build(inner, kept)
    beta = [c[j] / factor for j in kept]
    wide = [[row[j] for j in kept] for row in K]
    return ExactClaim(program, kept, wide, beta, exact(float(b)) / factor, t, factor)


def _gram(model: Any, rows: list[Row]) -> list[Row]:
    kind, inner = kernel_of(model)
    return rows if kind == "precomputed" else gram(kind, rows, rows, **inner)


def _coefficients(model: Any, u: Row, row: int, n: int) -> Row:
    """One row of ``dual_coef_`` as a coefficient for every sample."""
    positive = [i for i in range(n) if u[i] > 0]
    c = [ZERO] * n
    own = np.asarray(model.dual_coef_)[row].tolist()
    for k, v in zip(model.support_.tolist(), own, strict=True):
        c[positive[k]] = exact(v)
    return c


def _pairs(model: Any, rows: list[Row], y: Any, u: Row, make: Any) -> list[ExactClaim]:
    K, n = _gram(model, rows), len(rows)
    classes = model.classes_.tolist()
    codes = [classes.index(label) for label in y.tolist()]
    tables = [_coefficients(model, u, row, n) for row in range(len(classes) - 1)]
    found = []
    for p, (i, j) in enumerate(itertools.combinations(range(len(classes)), 2)):
        members = [m for m in range(n) if codes[m] in (i, j)]
        c = [tables[j - 1][m] if codes[m] == i else tables[i][m] for m in range(n)]
        c = [v if codes[m] in (i, j) else ZERO for m, v in enumerate(c)]
        positive = j if len(classes) == 2 else i
        found.append(
            _claim(
                K, u, members, c, model.intercept_[p],
                lambda inner, kept, positive=positive, c=c: make(
                    inner, [1 if codes[m] == positive else -1 for m in kept], kept, c
                ),
            )
        )  # fmt: skip
    return found


def _svc(model: Any, rows: list[Row], y: Any, u: Row) -> list[ExactClaim]:
    factors = dict(zip(model.classes_.tolist(), exact(model.class_weight_), strict=True))
    prices = [exact(float(model.C)) * w * factors[label] for w, label in zip(u, y, strict=True)]

    def make(inner: Any, signs: Any, kept: Any, _: Row) -> Any:
        program = hinge(inner, signs, [prices[m] for m in kept], "free", squared=False)
        return program, ONE, ZERO

    return _pairs(model, rows, y, u, make)


def _nu_svc(model: Any, rows: list[Row], y: Any, u: Row) -> list[ExactClaim]:
    def make(inner: Any, signs: Any, kept: Any, c: Row) -> Any:
        nu = exact(float(model.nu))
        factor = sum(map(abs, c), start=ZERO) / nu
        return nu_classifier(inner, signs, nu, [u[m] for m in kept]), factor, 1 / factor

    return _pairs(model, rows, y, u, make)


def _svr(model: Any, rows: list[Row], y: Any, u: Row) -> list[ExactClaim]:
    K, n = _gram(model, rows), len(rows)

    def build(inner: Any, kept: Any) -> Any:
        C = [exact(float(model.C)) * u[m] for m in kept]
        t = [exact(float(y[m])) for m in kept]
        return tube(inner, t, exact(float(model.epsilon)), C, "free", squared=False), ONE, ZERO

    c = _coefficients(model, u, 0, n)
    return [_claim(K, u, list(range(n)), c, model.intercept_[0], build)]


def _nu_svr(model: Any, rows: list[Row], y: Any, u: Row) -> list[ExactClaim]:
    K, n = _gram(model, rows), len(rows)

    def build(inner: Any, kept: Any) -> Any:
        C = [exact(float(model.C)) * u[m] for m in kept]
        t = [exact(float(y[m])) for m in kept]
        return nu_tube(inner, t, exact(float(model.nu)), C), ONE, ZERO

    c = _coefficients(model, u, 0, n)
    return [_claim(K, u, list(range(n)), c, model.intercept_[0], build)]


def _one_class(model: Any, rows: list[Row], _: Any, u: Row) -> list[ExactClaim]:
    K, n, nu = _gram(model, rows), len(rows), exact(float(model.nu))

    def build(inner: Any, kept: Any) -> Any:
        return one_class(inner, nu, [u[m] for m in kept]), nu * sum(u, start=ZERO), ZERO

    c = _coefficients(model, u, 0, n)
    return [_claim(K, u, list(range(n)), c, model.intercept_[0], build)]


def _linear(model: Any, rows: list[Row], y: Any, u: Row) -> list[ExactClaim]:
    """Weights w, as an expansion in the unit vectors: their rows are appended to the samples."""
    K, n = gram("linear", rows, rows), len(rows)
    name = type(model).__name__
    is_sgd = name.startswith("SGD")
    fits = bool(model.fit_intercept)
    intercept = ("free" if is_sgd else "penalized") if fits else "none"
    squared = "squared" in model.loss
    C = 1 / (exact(float(model.alpha)) * n) if is_sgd else exact(float(model.C))
    coef, offsets = np.atleast_2d(model.coef_), np.ravel(model.intercept_)
    found = []
    if name == "LinearSVR":
        prices = [C * v for v in u]
        kept = [i for i in range(n) if u[i] > 0]
        t = [exact(float(y[i])) for i in kept]
        inner = [[K[i][j] for j in kept] for i in kept]
        epsilon = exact(float(model.epsilon))
        program = tube(inner, t, epsilon, [prices[i] for i in kept], intercept, squared=squared)
        return [_weighted(program, kept, rows, K, coef[0], offsets[0])]
    classes = model.classes_.tolist()
    for m in range(1 if len(classes) == 2 else len(classes)):
        positive = classes[1] if len(classes) == 2 else classes[m]
        kept = [i for i in range(n) if u[i] > 0]
        signs = [1 if y[i] == positive else -1 for i in kept]
        inner = [[K[i][j] for j in kept] for i in kept]
        program = hinge(inner, signs, [C * u[i] for i in kept], intercept, squared=squared)
        found.append(_weighted(program, kept, rows, K, coef[m], offsets[min(m, len(offsets) - 1)]))
    return found


@dataclass(frozen=True, eq=False)
class WeightedClaim(ExactClaim):
    """A claim of weights w instead of coefficients."""

    w: Any = None
    rows: Any = None

    @cached_property
    def own(self) -> Row:
        return [dot(x, self.w) + self.b for x in self.rows]

    @cached_property
    def objective(self) -> Fraction:
        f = [dot(self.rows[i], self.w) + self.b for i in self.kept]
        return self.program.cost(Machine(dot(self.w, self.w), f, self.b))


def _weighted(
    program: Program, kept: list[int], rows: list[Row], K: list[Row], w: Any, b: Any
) -> ExactClaim:
    wide = [[row[j] for j in kept] for row in K]
    own = exact(np.asarray(w, dtype=np.float64))
    return WeightedClaim(program, kept, wide, [], exact(float(b)), ZERO, ONE, own, rows)


READERS: dict[str, Any] = {
    "SVC": _svc,
    "NuSVC": _nu_svc,
    "SVR": _svr,
    "NuSVR": _nu_svr,
    "OneClassSVM": _one_class,
    "LinearSVC": _linear,
    "LinearSVR": _linear,
    "SGDClassifier": _linear,
}
