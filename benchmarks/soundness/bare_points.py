"""Points of a bare program that may not pass, near its optimum or far from it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.soundness.bare import EPS, BareProgram
from benchmarks.soundness.exact_programs import OPTIMAL, Answer

VECTORS = ("x", "z", "y", "z_lower", "z_upper")


def starting_point(program: BareProgram) -> Point:
    """The exact optimum as floats; where there is none, that of a program beside it, or zeros."""
    answer = program.answer
    if answer.x is None and program.next_to is not None:
        return dict(program.next_to)
    if answer.x is None:
        sizes = (len(program.q), len(program.h), len(program.b), len(program.q), len(program.q))
        return {name: np.zeros(size) for name, size in zip(VECTORS, sizes, strict=True)}
    point = rounded(answer)
    bound = np.isfinite(program.h)  # a row that does not bind is not in the exact program
    point["z"] = np.zeros(len(program.h))
    point["z"][bound] = rounded(answer)["z"]
    return point


def rounded(answer: Answer) -> dict[str, Any]:
    """The exact optimum as floats."""

    def floats(values: Any) -> Any:
        return np.array([_float(v) for v in values])

    return {name: floats(getattr(answer, name)) for name in VECTORS}


def _float(value: Fraction) -> float:
    return float(min(max(value, Fraction(-(10**300))), Fraction(10**300)))


# --- mutations -----------------------------------------------------------------------------------

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


def unpriced(_: BareProgram, start: Point, rng: Any) -> tuple[str, Point]:
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
