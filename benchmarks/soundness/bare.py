"""Bare quadratic programs of bad scales, points of them that may not pass, and who may.

The judge is ``exact_programs``: rational numbers from the floats of the program on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from benchmarks.soundness.exact_programs import (
    INFEASIBLE,
    OPTIMAL,
    UNBOUNDED,
    Answer,
    ExactProgram,
)
from benchmarks.soundness.rational import Row, exact

PARTS = ("P", "q", "G", "h", "A", "b", "lb", "ub")
VECTORS = ("x", "z", "y", "z_lower", "z_upper")
EPS = 1e-8
BAND = 1 + Fraction(1, 10**6)
"""A figure within this factor of its tolerance is on it: the verifier computes in float64."""
UNIT = Fraction(1, 2**53)
FALLS = Fraction(1, 10**9)
"""By what share of its terms the objective of an unbounded program has to fall along some ray."""
ROUNDINGS = 32
"""Roundings of a sum's terms that a miss or an objective may be off beyond its tolerance."""


@dataclass(frozen=True, eq=False)
class BareProgram:
    """A program as floats, and the same exactly."""

    P: Any
    q: Any
    G: Any
    h: Any
    A: Any
    b: Any
    lb: Any
    ub: Any
    trait: str = ""

    @cached_property
    def exact(self) -> ExactProgram:
        """The same in rational numbers."""
        return ExactProgram.of(*(getattr(self, name) for name in PARTS))

    @property
    def answer(self) -> Answer:
        """The exact optimum."""
        return self.exact.answer

    def arguments(self) -> dict[str, Any]:
        """What ``QuadraticProgram`` takes."""
        return {name: getattr(self, name) for name in PARTS}

    def harm(self, x: Any) -> Iterator[str]:
        """Why a point may not pass as the optimum at ``EPS``; nothing if it may."""
        if self.answer.status != OPTIMAL:
            yield f"the program is {self.answer.status}"
            return
        if x is None or np.shape(x) != np.shape(self.q) or not np.all(np.isfinite(x)):
            yield "no point of the program"
            return
        point = exact(np.asarray(x, dtype=np.float64))
        wrong = list(self._wrong(point))
        clipped = self.exact.clipped(point)
        if wrong and clipped is not point and self._is_beside(point, clipped):
            # bounds that are missed by next to nothing: what if they held?
            wrong = [why for why in wrong if "bound" not in why] + list(self._wrong(clipped))
        yield from wrong

    def _wrong(self, point: Row) -> Iterator[str]:
        program = self.exact
        room = EPS * BAND + ROUNDINGS * UNIT
        for miss in program.misses(point):
            if miss.amount > room * miss.terms:
                yield f"misses {miss.name} by {_ratio(miss.amount, miss.terms):.2e} of its terms"
        value = program.objective(point)
        off = value - self.answer.value
        allowed = EPS * BAND * max(1, abs(value)) + ROUNDINGS * UNIT * program.terms(point)
        if abs(off) > allowed:
            where = "above" if off > 0 else "below"
            yield f"objective {_ratio(abs(off), max(1, abs(value))):.2e} {where} the optimum"

    @staticmethod
    def _is_beside(point: Row, other: Row) -> bool:
        """Whether no number is farther than ``EPS`` from the other, in units of 1 or of itself."""
        return all(
            abs(v - u) <= EPS * BAND * max(1, abs(u)) for v, u in zip(point, other, strict=True)
        )

    def excess(self, x: Any) -> float:
        """How far the objective is from the optimum, in units of ``EPS``."""
        value = self.exact.objective(exact(np.asarray(x, dtype=np.float64)))
        return _ratio(abs(value - self.answer.value), max(1, abs(value))) / EPS


def _ratio(a: Fraction, b: Any) -> float:
    return float(a / b) if b else np.inf


# --- drawing -------------------------------------------------------------------------------------


def draw(rng: Any, rejected: Counter[str]) -> BareProgram:
    """A small program with an optimum, or clearly without one; ``rejected`` counts the others."""
    while True:
        program = _drawn(rng)
        status = program.answer.status
        if status == OPTIMAL or (status == UNBOUNDED and program.exact.is_clearly_unbounded(FALLS)):
            return program
        reason = "infeasible" if status == INFEASIBLE else "no optimum but for rounding"
        rejected[f"bare program: {reason}"] += 1


def _drawn(rng: Any) -> BareProgram:
    """A small program, most of them with rows or columns of sizes 1e0 to 1e12."""
    n = int(rng.integers(1, 8))
    m, p = int(rng.integers(0, 6)), int(rng.integers(0, min(3, n)))
    if rng.random() < 0.3:
        n, m, p = 2, 1, int(rng.integers(0, 2))
    columns = _powers(rng, n)
    trait = "plain"
    rank = int(rng.integers(0, n + 1))
    F = _short(rng, (rank, n))
    P = F.T @ F if rank else np.zeros((n, n))
    if rng.random() < 0.3:
        P = np.diag(np.abs(_short(rng, n)))
    q = _short(rng, n) * float(rng.choice([1.0, 1.0, 100.0, 1e-3]))
    G = _short(rng, (m, n))
    A = _short(rng, (p, n))
    how = int(rng.integers(6))
    if how == 1:  # columns of every row alike
        trait = "scaled columns"
        G, A = G * columns, A * columns
    elif how == 2:
        trait = "scaled rows"
        G, A = G * _powers(rng, m)[:, None], A * _powers(rng, p)[:, None]
    elif how == 3:
        trait = "mixed rows"
        G, A = G * _powers(rng, (m, n)), A * _powers(rng, (p, n))
    elif how == 4:  # as one who measures in other units has it: everything in it is scaled
        trait = "other units"
        scale = _powers(rng, n)
        P, q, G, A = P * scale * scale[:, None] * 1e-12, q * scale * 1e-6, G * scale, A * scale
    elif how == 5:
        trait = "nearly flat"
        flat = float(10.0 ** -rng.integers(8, 19))
        P = P + np.diag(np.where(rng.random(n) < 0.5, flat, 0.0))
    P = _symmetric(P)
    inside = _short(rng, n) * (rng.random(n) < 0.6)
    h = np.ceil(G @ inside + np.abs(_short(rng, m)) * float(rng.choice([1.0, 1e3])))
    h = np.where(rng.random(m) < 0.2, np.maximum(h, 0.0), h)
    b = A @ inside
    if rng.random() < 0.4:
        inside = inside * 0
        h, b = np.abs(_short(rng, m)), np.zeros(p)
    lb, ub = np.full(n, -np.inf), np.full(n, np.inf)
    sides = rng.integers(0, 5, n)
    far = np.abs(_short(rng, n)) + float(rng.choice([0.0, 1.0, 1e4]))
    lb[(sides == 1) | (sides == 3)] = (np.floor(inside) - far)[(sides == 1) | (sides == 3)]
    ub[(sides == 2) | (sides == 3)] = (np.ceil(inside) + far)[(sides == 2) | (sides == 3)]
    if n > 1 and m and rng.random() < 0.3:
        trait = "a large column that is held"
        G, A, b, lb, ub = _held(rng, G, A, b, lb, ub, int(rng.integers(n)))
    if m and rng.random() < 0.15:  # the same row again, and one of zeros
        G, h = np.vstack([G, 2 * G[:1], np.zeros((1, n))]), np.append(h, [2 * h[0], 0.0])
    if p and rng.random() < 0.15:
        A, b = np.vstack([A, 4 * A[:1]]), np.append(b, 4 * b[0])
    if rng.random() < 0.06:
        return _curved(rng, BareProgram(P, q, G, h, A, b, lb, ub))
    return BareProgram(P, q, G, h, A, b, lb, ub, trait)


def _held(rng: Any, G: Any, A: Any, b: Any, lb: Any, ub: Any, i: int) -> tuple[Any, ...]:
    """Variable i is zero by a row or by its bounds, and counts by far the most in a row of G."""
    G, lb, ub = G.copy(), lb.copy(), ub.copy()
    rows = rng.random(len(G)) < 0.7
    G[rows, i] = rng.choice([-1.0, 1.0]) * 10.0 ** rng.integers(3, 13, int(np.sum(rows)))
    lb[i], ub[i] = min(lb[i], 0.0), max(ub[i], 0.0)
    if rng.random() < 0.5:
        row = np.zeros((1, len(lb)))
        row[0, i] = rng.choice([1.0, 4.0, 1e-3])
        return G, np.vstack([A, row]), np.append(b, 0.0), lb, ub
    lb[i] = ub[i] = 0.0
    return G, A, b, lb, ub


def _curved(rng: Any, program: BareProgram) -> BareProgram:
    """One more variable, on its own, that curves downwards: endless, or in a wide box."""
    n, dent = len(program.q), -float(10.0 ** -rng.integers(10, 19))
    P = np.zeros((n + 1, n + 1))
    P[:n, :n], P[n, n] = program.P, dent
    end = float(rng.choice([np.inf, 1.0, 1e3, 1e6]))
    wide = [np.hstack([M, np.zeros((len(M), 1))]) for M in (program.G, program.A)]
    return replace(
        program, P=P, q=np.append(program.q, float(rng.choice([0.0, 0.0, 1.0]))), G=wide[0],
        A=wide[1], lb=np.append(program.lb, -end), ub=np.append(program.ub, end),
        trait="a direction that curves downwards",
    )  # fmt: skip


def _short(rng: Any, shape: Any) -> Any:
    """Numbers of few digits, so that sums of them are exact; now and then of all digits."""
    values = rng.normal(size=shape)
    return np.round(values * 8) / 4 if rng.random() < 0.85 else values


def _powers(rng: Any, shape: Any) -> Any:
    """Sizes from 1e0 to 1e12, half of them 1."""
    largest = int(rng.choice([3, 6, 9, 12, 12]))
    return 10.0 ** (rng.integers(0, largest + 1, shape) * (rng.random(shape) < 0.5))


def _symmetric(P: Any) -> Any:
    """Symmetric, and of exactly representable rank: products of short numbers are exact."""
    return (P + P.T) / 2


def starting_point(program: BareProgram) -> Point:
    """The exact optimum as floats; zeros where there is none."""
    answer = program.answer
    if answer.x is None:
        sizes = (len(program.q), len(program.h), len(program.b), len(program.q), len(program.q))
        return {name: np.zeros(size) for name, size in zip(VECTORS, sizes, strict=True)}
    point = rounded(answer)
    bound = np.isfinite(program.h)  # a row that does not bind is not in the exact program
    point["z"] = np.zeros(len(program.h))
    point["z"][bound] = rounded(answer)["z"]
    return point


# --- points --------------------------------------------------------------------------------------


def rounded(answer: Answer) -> dict[str, Any]:
    """The exact optimum as floats."""

    def floats(values: Any) -> Any:
        return np.array([_float(v) for v in values])

    return {name: floats(getattr(answer, name)) for name in VECTORS}


def _float(value: Fraction) -> float:
    return float(min(max(value, Fraction(-(10**300))), Fraction(10**300)))


Point = dict[str, Any]
Maker = Callable[[BareProgram, Point, Any], tuple[str, Point]]


def as_it_is(_: BareProgram, start: Point, __: Any) -> tuple[str, Point]:
    return "the optimum, rounded", dict(start)


def perturbed(program: BareProgram, start: Point, rng: Any) -> tuple[str, Point]:
    size = 10.0 ** rng.uniform(-12, 1)
    x = start["x"]
    unit = np.abs(x) if rng.random() < 0.5 else max(float(np.max(np.abs(x))), 1.0)
    noise = rng.normal(size=len(x)) * (rng.random(len(x)) < rng.choice([0.3, 1.0]))
    return "a moved point", _with_gradient(program, start | {"x": x + size * unit * noise}, rng)


def clipped(program: BareProgram, start: Point, rng: Any) -> tuple[str, Point]:
    x = start["x"] * (1.0 + 10.0 ** rng.uniform(-6, 1) * rng.normal(size=len(start["x"])))
    return "a clipped point", start | {"x": np.clip(x, program.lb, program.ub)}


def unpriced(program: BareProgram, start: Point, rng: Any) -> tuple[str, Point]:
    point = dict(start)
    for name in VECTORS[1:]:
        if rng.random() < 0.5:
            keep = rng.random(len(point[name])) < rng.choice([0.0, 0.5])
            point[name] = point[name] * keep
    return "multipliers set to zero", point


def wrong_sign(_: BareProgram, start: Point, rng: Any) -> tuple[str, Point]:
    names = [name for name in VECTORS if len(start[name])]
    name = str(rng.choice(names))
    v = start[name].copy()
    i = int(rng.integers(len(v)))
    v[i] = -v[i] if v[i] else rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-9, 3)
    return "a wrong sign", start | {name: v}


def scaled(_: BareProgram, start: Point, rng: Any) -> tuple[str, Point]:
    names = [name for name in VECTORS if len(start[name])]
    name = str(rng.choice(names))
    return "a scaled vector", start | {name: start[name] * 10.0 ** rng.uniform(-3, 3)}


def without_a_row(program: BareProgram, start: Point, rng: Any) -> tuple[str, Point]:
    """The optimum of the program without one of its rows or bounds, or without any."""
    parts = program.arguments()
    m, p = len(program.h), len(program.b)
    bounds = [(s, i) for s in ("lb", "ub") for i in np.flatnonzero(np.isfinite(parts[s]))]
    places = [("G", j) for j in range(m)] + [("A", j) for j in range(p)] + bounds
    if not places:
        return wrong_sign(program, start, rng)
    name, j = places[int(rng.integers(len(places)))]
    if name in ("G", "A"):
        side = {"G": "h", "A": "b"}[name]
        parts |= {name: np.delete(parts[name], j, 0), side: np.delete(parts[side], j)}
    else:
        v = parts[name].copy()
        v[j] = -np.inf if name == "lb" else np.inf
        parts[name] = v
    other = BareProgram(**parts)
    if other.answer.status != OPTIMAL:
        return unpriced(program, start, rng)
    point = starting_point(other)
    if name in ("G", "A"):
        dual = {"G": "z", "A": "y"}[name]
        point[dual] = np.insert(point[dual], j, 0.0)
    return "the optimum without a row", point


def hidden(program: BareProgram, start: Point, rng: Any) -> tuple[str, Point]:
    """A step along small columns of a row that also has large ones."""
    x = start["x"].copy()
    rows = np.vstack([program.G, program.A])
    if not len(rows):
        return perturbed(program, start, rng)
    row = np.abs(rows[int(rng.integers(len(rows)))])
    used = np.flatnonzero(row)
    if not len(used):
        return perturbed(program, start, rng)
    i = int(used[np.argmin(row[used])])
    share = 10.0 ** rng.uniform(-10, 1) * np.max(row) / row[i]
    unit = max(float(np.max(np.abs(x))), 1.0)
    step = share * EPS * unit if rng.random() < 0.5 else 10.0 ** rng.uniform(-6, 2)
    if rng.random() < 0.4 and program.P[i, i] > 0:  # as if nothing held it
        x[i] -= (program.P[i] @ x + program.q[i]) / program.P[i, i]
    else:
        x[i] += rng.choice([-1.0, 1.0]) * step
    return "a miss in a small column", _with_gradient(program, start | {"x": x}, rng)


def forgetful(program: BareProgram, start: Point, rng: Any) -> tuple[str, Point]:
    """Least squares for the objective alone, with no multipliers at all."""
    x = np.linalg.lstsq(program.P, -program.q, rcond=None)[0]
    if rng.random() < 0.5:
        x = np.clip(x, program.lb, program.ub)
    nothing = {name: np.zeros(len(start[name])) for name in VECTORS[1:]}
    return "the optimum without any row", _with_gradient(program, {"x": x} | nothing, rng)


def far_out(program: BareProgram, start: Point, rng: Any) -> tuple[str, Point]:
    """A long way along one coordinate or a direction in which nothing curves."""
    x = start["x"].copy()
    size = 10.0 ** rng.uniform(0, 12)
    bent = np.diagonal(program.P) < 0
    if bent.any() and rng.random() < 0.5:  # stationary, and the worst there is
        return "the top of what curves downwards", start | {"x": np.where(bent, 0.0, x)}
    if rng.random() < 0.5:
        x[int(rng.integers(len(x)))] += rng.choice([-1.0, 1.0]) * size
    else:
        x += size * np.linalg.svd(program.P)[2][-1] * rng.choice([-1.0, 1.0])
    if rng.random() < 0.5:
        x = np.clip(x, program.lb, program.ub)
    return "far along a flat direction", _with_gradient(program, start | {"x": x}, rng)


def _with_gradient(program: BareProgram, point: Point, rng: Any) -> Point:
    """Half of the time bound multipliers that make the point stationary."""
    if rng.random() < 0.5:
        return point
    r = program.P @ point["x"] + program.q + program.G.T @ point["z"] + program.A.T @ point["y"]
    lower = np.where(np.isfinite(program.lb), np.maximum(r, 0.0), 0.0)
    upper = np.where(np.isfinite(program.ub), np.maximum(-r, 0.0), 0.0)
    return point | {"z_lower": lower, "z_upper": upper}


KINDS: tuple[Maker, ...] = (
    as_it_is, perturbed, perturbed, clipped, unpriced, wrong_sign, scaled, without_a_row,
    without_a_row, hidden, hidden, hidden, forgetful, far_out,
)  # fmt: skip
