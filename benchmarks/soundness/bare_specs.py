"""Bare quadratic programs of bad scales: random ones."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.soundness.bare import BareProgram
from benchmarks.soundness.exact_programs import INFEASIBLE, OPTIMAL, UNBOUNDED

FALLS = Fraction(1, 10**12)
"""By what share of its terms the objective of an unbounded program has to fall along some ray: the
verifier takes 64 roundings, 1.4e-14 of the terms, for a contradiction by rounding."""


CONTRADICTORY = "rows that contradict each other"


def draw(rng: Any, rejected: Counter[str]) -> BareProgram:
    """A small program with an optimum, or clearly without one; ``rejected`` counts the others."""
    while True:
        kind = rng.random()
        if kind < 0.08:
            program = _barely_unbounded(rng)
        else:
            program = _contradictory(rng) if kind < 0.14 else _drawn(rng)
        try:
            status = program.answer.status
        except ArithmeticError:  # it curves downwards along a row
            rejected["bare program: not decided"] += 1
            continue
        if status == INFEASIBLE and program.trait == CONTRADICTORY:
            return program
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
    P, q, G, A, trait = _matrices(rng, n, m, p)
    inside = _short(rng, n) * (rng.random(n) < 0.6)
    h = np.ceil(G @ inside + np.abs(_short(rng, m)) * float(rng.choice([1.0, 1e3])))
    h = np.where(rng.random(m) < 0.2, np.maximum(h, 0.0), h)
    b = A @ inside
    if rng.random() < 0.4:
        inside = inside * 0
        h, b = np.abs(_short(rng, m)), np.zeros(p)
    lb, ub = _bounds(rng, inside)
    if n > 1 and m and rng.random() < 0.3:
        trait = "a large column that is held"
        G, A, b, lb, ub = _held(rng, G, A, b, lb, ub, int(rng.integers(n)))
    if m and rng.random() < 0.15:  # the same row again, and one of zeros
        G, h = np.vstack([G, 2 * G[:1], np.zeros((1, n))]), np.append(h, [2 * h[0], 0.0])
    if p and rng.random() < 0.15:
        A, b = np.vstack([A, 4 * A[:1]]), np.append(b, 4 * b[0])
    program = BareProgram(P, q, G, h, A, b, lb, ub, trait)
    return _curved(rng, program) if rng.random() < 0.06 else program


def _barely_unbounded(rng: Any) -> BareProgram:
    """Free variables along which the objective is flat, but for one coefficient that is changed.

    Before the change ``q = -(P v + G'z + A'y)`` with ``z >= 0``, up to rounding: multipliers that
    prove an optimum. They are what the mutants start from.
    """
    n = int(rng.integers(2, 8))
    m, p = int(rng.integers(0, 4)), int(rng.integers(0, min(3, n)))
    P, _, G, A, _ = _matrices(rng, n, m, p)
    v, y, z = _short(rng, n), _short(rng, p), np.abs(_short(rng, m))
    free = np.full(n, np.inf)
    q = -(P @ v + G.T @ z + A.T @ y)
    parts = {"P": P, "q": q, "G": G, "h": G @ v, "A": A, "b": A @ v, "lb": -free, "ub": free}
    j = int(np.argmax(np.abs(q) * rng.random(n)))
    step = float(rng.choice([-1.0, 1.0])) * 10.0 ** rng.uniform(-12.5, -6)
    point = {"x": v, "z": z, "y": y, "z_lower": 0.0 * v, "z_upper": 0.0 * v}
    changed = np.where(np.arange(n) == j, q * (1.0 + step), q)
    return BareProgram(**parts | {"q": changed}, trait="barely unbounded", next_to=point)


def _contradictory(rng: Any) -> BareProgram:
    """A program with one row twice, in opposite directions, and no room between them.

    The gap between both is 1e-11 to 1 of the row's terms. Often another row has a tiny coefficient
    where these have large ones: its rounding must not hide the contradiction.
    """
    program = _drawn(rng)
    n = len(program.q)
    row = _short(rng, (1, n)) * (rng.random(n) < 0.6)
    row[0, int(rng.integers(n))] = 1.0
    x = _short(rng, n)
    right = float(row[0] @ x)
    apart = 10.0 ** rng.uniform(-11, 0) * (float(np.abs(row[0]) @ np.abs(x)) + abs(right) + 1.0)
    G, h = np.vstack([program.G, row, -row]), np.append(program.h, [right, -right - apart])
    if rng.random() < 0.6:
        large = 10.0 ** rng.integers(0, 10)
        slack = np.where(row[0] != 0.0, 10.0 ** -rng.integers(3, 13), large)[None]
        G, h = np.vstack([G, slack]), np.append(h, large * (1.0 + np.abs(x).sum()))
    return replace(program, G=G, h=h, trait=CONTRADICTORY)


def _matrices(rng: Any, n: int, m: int, p: int) -> tuple[Any, Any, Any, Any, str]:
    """P, q, G, A, and what is bad about their scales."""
    rank = int(rng.integers(0, n + 1))
    F = _short(rng, (rank, n))
    P = F.T @ F if rank else np.zeros((n, n))
    if rng.random() < 0.3:
        P = np.diag(np.abs(_short(rng, n)))
    q = _short(rng, n) * float(rng.choice([1.0, 1.0, 100.0, 1e-3]))
    G, A = _short(rng, (m, n)), _short(rng, (p, n))
    trait = str(rng.choice(SCALES))
    if trait == "scaled columns":  # those of every row alike
        columns = _powers(rng, n)
        G, A = G * columns, A * columns
    elif trait == "scaled rows":
        G, A = G * _powers(rng, m)[:, None], A * _powers(rng, p)[:, None]
    elif trait == "mixed rows":
        G, A = G * _powers(rng, (m, n)), A * _powers(rng, (p, n))
    elif trait == "other units":  # everything is scaled, as if measured in them
        scale = _powers(rng, n)
        P, q, G, A = P * scale * scale[:, None] * 1e-12, q * scale * 1e-6, G * scale, A * scale
    elif trait == "tiny rows":
        G, A = (
            G * 10.0 ** -rng.integers(150, 320, (m, 1)),
            A * 10.0 ** -rng.integers(150, 320, (p, 1)),
        )
    elif trait == "nearly flat":
        flat = float(10.0 ** -rng.integers(8, 19))
        P = P + np.diag(np.where(rng.random(n) < 0.5, flat, 0.0))
    return (P + P.T) / 2, q, G, A, trait


SCALES = ("plain", "scaled columns", "scaled rows", "mixed rows", "other units", "nearly flat",
          "tiny rows")  # fmt: skip


def _bounds(rng: Any, inside: Any) -> tuple[Any, Any]:
    """None, one or two bounds for every variable, around a point."""
    n = len(inside)
    sides = rng.integers(0, 5, n)
    far = np.abs(_short(rng, n)) + float(rng.choice([0.0, 1.0, 1e4]))
    lb = np.where((sides == 1) | (sides == 3), np.floor(inside) - far, -np.inf)
    return lb, np.where((sides == 2) | (sides == 3), np.ceil(inside) + far, np.inf)


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
