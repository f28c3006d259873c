"""What a certificate says of the optimum, held against the exact one, in two readings.

The prices of a program are rounded: ``C x weight``, ``1/(nu n)``. A claim has to be true of the
program of the parameters, where a price is the exact product of the numbers its user gave, and of
the program of the stored prices, which a solver is given.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
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
)
from qpsvm import kernels
from qpsvm.certificates.screening import BOUND, FREE, UNDECIDED
from qpsvm.certificates.screening import ZERO as LEFT_OUT
from tests.certificates.textbook import Drawn, Instance

# --- problems where rounding decides --------------------------------------------------------------


class Grid:
    """A random generator that draws round numbers, so that sums of prices meet exactly or barely.

    Everything but ``uniform`` is NumPy's.
    """

    def __init__(self, rng: Any) -> None:
        self._rng = rng

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rng, name)

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Any = None) -> Any:
        if size is not None:
            return self._rng.uniform(low, high, size)
        steps = [k / 10 for k in range(1, 41) if low < k / 10 < high]
        return float(self._rng.choice(steps)) if steps else self._rng.uniform(low, high)


@dataclass(frozen=True)
class Rounded(Drawn):
    """Samples on a grid, with weights and prices that double precision has to round, or not."""

    scale: float = 1.0

    def price(self) -> float:
        return float(self.rng.choice([0.01, 0.1, 1 / 3, 0.5, 1.0, 3.0])) * self.scale

    def targets(self) -> list[float]:
        unit = self.rng.choice([1.0, 0.1, self.scale])
        return list(self.rng.integers(-4, 5, self.n) * unit)


WEIGHTS = (1 / 3, 2 / 3, 0.1, 0.2, 0.3, 0.7, 1.0, 2.0)

SCALES = {
    "prices": (0.0,),
    "underflow": (-320.0, -308.0, -290.0, -200.0, -165.0, -155.0, -100.0, 0.0, 100.0, 150.0, 290.0),
}
"""Decimal exponents of features, of C and of targets, drawn one by one."""


def rounded(rng: Any, kernel: str, largest: int, scales: str) -> Rounded:
    n, d = int(rng.integers(2, largest + 1)), int(rng.integers(1, 3))
    sizes = SCALES[scales]
    of_features, of_prices = (10.0 ** float(rng.choice([*sizes, 0.0])) for _ in range(2))
    if kernel == "polynomial":
        of_features = min(of_features, 1e60)  # whose powers are numbers
    X = rng.integers(-3, 4, (n, d)) * of_features
    if rng.integers(4) == 0:
        X = X + rng.normal(size=(n, d)) * of_features
    function: Any = kernels.Linear()
    if kernel == "polynomial":
        function = kernels.Polynomial(0.5, 2, 1.0)
    elif kernel == "precomputed":
        X, function = np.clip(X, -1e150, 1e150), kernels.Precomputed()
        X = np.round(X / of_features)
        X = (X @ X.T) * of_features
    weights = None
    if rng.integers(3):
        pool = WEIGHTS if rng.integers(2) else [float(rng.choice(WEIGHTS))]
        weights = rng.choice(pool, n) * 10.0 ** float(rng.choice([*sizes, 0.0, 0.0]))
    u = [ONE] * n if weights is None else exact(weights)
    parameters = {"gamma": 0.5, "p": 2, "c": 1.0} if kernel == "polynomial" else {}
    K = gram(kernel, exact(X), exact(X), **parameters)
    return Rounded(Grid(rng), X, function, weights, u, K, of_prices)


# --- two readings ---------------------------------------------------------------------------------


def of_stored_prices(instance: Instance) -> Program:
    """The program with the prices that are stored, written down from its conditions."""
    program, c = instance.program, instance.problem.model.conditions
    assert program is not None
    conditions = [
        Condition(
            own.row,
            own.required,
            _end(c.lower[k]),
            _end(c.upper[k]),
            Fraction(c.curvature[k]),
            own.sign,
        )
        for k, own in enumerate(program.conditions)
    ]
    price_t, price_b = Fraction(c.width_price), Fraction(c.intercept_price)

    def cost(m: Machine) -> Any:
        total = program.kappa * m.square / 2 + price_b * m.b + price_t * m.t
        if program.intercept == "penalized":
            total += m.b**2 / 2
        losses = [_loss(own, v) for own, v in zip(conditions, violations(program, m), strict=True)]
        return math.inf if math.inf in losses else total + sum(losses)

    return replace(program, conditions=conditions, cost=cost, price=price_b, width_price=price_t)


def _end(value: float) -> Fraction | None:
    return None if math.isinf(value) else Fraction(value)


def _loss(own: Condition, v: Fraction) -> Any:
    """``max { a v - d/2 a^2 : lower <= a <= upper }``."""
    end = own.upper if v > 0 else own.lower
    if own.curvature:
        a = v / own.curvature
        if end is not None:
            a = min(a, end) if v > 0 else max(a, end)
        return a * v - own.curvature * a * a / 2
    if v == 0:
        return ZERO
    return math.inf if end is None else end * v


def violations(program: Program, m: Machine) -> Row:
    """``v = p - R f - e t``."""
    return [own.required - dot(own.row, m.f) - program.width * m.t for own in program.conditions]


# --- laws -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Truth:
    """One reading of a training problem, with its optimum."""

    name: str
    program: Program
    best: Optimum
    at: Machine
    v: Row

    @property
    def ends_of_b(self) -> list[Fraction]:
        """Optimal intercepts: the oracle's, and its neighbours where they are as good."""
        if self.program.intercept != "free":
            return [self.best.b]
        v = [abs(x) for x in self.v if x != 0]
        h = min([*v, *([self.best.t] if self.best.t else []), ONE]) / 4
        value, found = self.program.cost(self.at), [self.best.b]
        steps = [(h, ZERO), (-h, ZERO)]
        if self.program.width:
            steps += [(h, h), (h, -h), (-h, h), (-h, -h)]
        for on_b, on_t in steps:
            b, t = self.best.b + on_b, self.best.t + on_t
            moved = Machine(self.at.square, [f + on_b for f in self.at.f], b, t)
            if t >= 0 and self.program.cost(moved) == value:
                found.append(b)
        return found


def readings(instance: Instance) -> Iterator[Truth]:
    """The program of the parameters, and that of the stored prices."""
    for name, program in (
        ("parameters", instance.program),
        ("stored prices", of_stored_prices(instance)),
    ):
        assert program is not None
        best = instance.optimum if name == "parameters" else optimum(program)
        if best is not None:  # rounding can make a sum of prices too small by one unit
            at = machine(program.K, program.n, best.beta, best.b, best.t)
            yield Truth(name, program, best, at, violations(program, at))


def solutions(instance: Instance, truth: Truth, rng: Any, size: float) -> Iterator[Any]:
    """Machines near the optimum of a reading: with its intercept, and with the best for w."""
    solution = replace(instance, optimum=truth.best).near(rng, size)
    yield solution
    if truth.program.intercept == "free":
        best = instance.problem.model.optimal_intercepts(
            instance.problem.model.decision_values(solution)
        ).midpoint
        if math.isfinite(best):
            yield solution.replace(intercept=best)


def false_claims(truth: Truth, instance: Instance, solution: Any, proof: Any) -> Iterator[str]:
    """What the certificate of a solution says, and is not so.

    Without ``rigorous`` the gap is an estimate for the stored prices; of the parameters only what
    is called proven has to hold then: statuses, and whether there is one intercept.
    """
    conditions, best = truth.program.conditions, truth.best
    status, moves = proof.screening.status, proof.optimum.intercept_moves
    for k, own in enumerate(conditions):
        a = best.alpha[k]
        at_end = a in (own.lower, own.upper)
        if status[k] == FREE and at_end:
            yield f"{k} is at an end of its box, not free"
        if status[k] == LEFT_OUT and a != 0:
            yield f"{k} is not zero"
        if status[k] == BOUND and not at_end:
            yield f"{k} is not at a bound"
    if proof.screening.strictly_complementary and not moves:
        for k, own in enumerate(conditions):
            if truth.v[k] == 0 and best.alpha[k] in (own.lower, own.upper):
                yield f"{k} is degenerate"
    intercepts = truth.ends_of_b
    estimated = truth.name == "parameters" and not proof.rigorous
    if proof.intercept_is_unique is (len(intercepts) > 1):
        yield f"{len(intercepts)} intercepts, unique is {proof.intercept_is_unique}"
    if estimated:
        return
    for b in intercepts:
        if not within(proof.intercept_bounds, b):
            yield f"intercept {float(b)} is not in {proof.intercept_bounds}"
    if not within(proof.optimum.width, best.t):
        yield f"width {float(best.t)} is not in {proof.optimum.width}"
    if not moves:
        for k, v in enumerate(truth.v):
            if not within((proof.optimum.low[k], proof.optimum.high[k]), v):
                yield f"violation {k} is outside of its bounds"
    radius = math.inf if instance.problem.model.is_hard else proof.weight_error
    if radius < math.inf and squared_distance(truth, instance, solution) > Fraction(radius) ** 2:
        yield "the weights are farther away"
    bounds = None if instance.problem.data.X is None else _on_training(instance, proof)
    if bounds is not None and not moves and len(intercepts) == 1:
        squares = instance.problem.model.conditions.minus_self_similarity
        for i, score in enumerate(truth.at.f):
            f = score - squares * truth.program.K[i][i]
            if not within((bounds.lower[i], bounds.upper[i]), f):
                yield f"decision value {i} is outside of its bounds"


def gap_is_missed(truth: Truth, solution: Any, instance: Instance, proof: Any) -> bool:
    """Whether the solution is farther above the optimum than ``gap_upper`` says."""
    if not math.isfinite(proof.gap_upper) or instance.problem.model.is_hard:
        return False
    f, square = decisions(instance, solution)
    m = Machine(square, f, Fraction(solution.intercept), Fraction(solution.width))
    return bool(truth.program.cost(m) - truth.best.value > Fraction(proof.gap_upper))


def _on_training(instance: Instance, proof: Any) -> Any:
    if isinstance(instance.problem.model.kernel, kernels.Precomputed):
        return None
    return proof.decision_bounds(instance.problem.data.X)


def decisions(instance: Instance, solution: Any) -> tuple[Row, Fraction]:
    """``f(x_i)`` of a solution and ``|w|^2``, exactly."""
    assert instance.program is not None
    n, b = instance.program.n, Fraction(solution.intercept)
    if solution.coef is None:
        beta = exact(solution.expansion)
        scores = times(instance.program.K, beta)
        return [g + b for g in scores[:n]], dot(beta, scores)
    w = exact(solution.coef)
    return [dot(x, w) + b for x in exact(instance.problem.data.X)], dot(w, w)


def squared_distance(truth: Truth, instance: Instance, solution: Any) -> Fraction:
    """``|w - w*|^2``, exactly."""
    apart_b = ZERO
    if truth.program.intercept == "penalized":
        apart_b = Fraction(solution.intercept) - truth.best.b
    if solution.coef is None:
        apart = [x - y for x, y in zip(exact(solution.expansion), truth.best.beta, strict=True)]
        return dot(apart, times(truth.program.K, apart)) + apart_b**2
    columns = zip(*exact(instance.problem.data.X), strict=True)
    w = [dot(truth.best.beta, column) for column in columns]
    apart = [x - y for x, y in zip(exact(solution.coef), w, strict=True)]
    return dot(apart, apart) + apart_b**2


def within(ends: Any, value: Fraction) -> bool:
    lower, upper = (float(end) for end in ends)
    above = lower == -math.inf or (math.isfinite(lower) and Fraction(lower) <= value)
    return above and (upper == math.inf or (math.isfinite(upper) and value <= Fraction(upper)))


def count_claims(proof: Any) -> int:
    """How much is claimed: statuses, and whether the intercept is the only one."""
    statuses = int(np.count_nonzero(proof.screening.status != UNDECIDED))
    return statuses + (proof.intercept_is_unique is not None)
