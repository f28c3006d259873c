"""The judge in rational numbers: it finds known optima, proves them, and calls false what is."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import qpsvm
from benchmarks.soundness import bare_points, bare_specs, exact_mutants, exact_specs
from benchmarks.soundness.bare import BareProgram
from benchmarks.soundness.exact_machines import ExactMachines
from benchmarks.soundness.exact_programs import INFEASIBLE, OPTIMAL, UNBOUNDED, ExactProgram
from benchmarks.soundness.rational import (
    ONE,
    ZERO,
    Condition,
    Machine,
    Program,
    Rule,
    complementarity,
    dot,
    exact,
    gram,
    optimum,
    times,
    unit,
)
from qpsvm.constraints import fairness_band
from qpsvm.machines import Interval
from tests.strategies import PARTS, in_parts

INF = np.inf


def program(P: Any, q: Any, **parts: Any) -> BareProgram:
    n = len(q)
    nothing = {"G": np.zeros((0, n)), "h": [], "A": np.zeros((0, n)), "b": []}
    bounds = {"lb": np.full(n, -INF), "ub": np.full(n, INF)}
    given = nothing | bounds | parts
    floats = {name: np.asarray(v, dtype=np.float64) for name, v in given.items()}
    return BareProgram(np.asarray(P, dtype=float), np.asarray(q, dtype=float), **floats)


# --- optima ---------------------------------------------------------------------------------------


def test_optima_that_anybody_can_compute() -> None:
    third = program([[3.0]], [-1.0]).answer
    assert (third.status, third.x, third.value) == (OPTIMAL, [Fraction(1, 3)], Fraction(-1, 6))
    bounded = program([[1.0]], [-3.0], ub=[2.0]).answer
    assert (bounded.x, bounded.z_upper) == ([2], [1])
    linear = program([[0, 0], [0, 0]], [-1, -1], G=[[1, 2], [3, 1]], h=[4, 6], lb=[0, 0]).answer
    assert linear.x == [Fraction(8, 5), Fraction(6, 5)]
    fixed = program(np.eye(2), [0, -50], G=[[1e10, 1]], h=[1], A=[[1, 0]], b=[0]).answer
    assert fixed.x == [0, 1]
    assert program([[0.0]], [1.0], ub=[0.0]).answer.status == UNBOUNDED
    assert program([[1.0]], [0.0], G=[[1.0], [-1.0]], h=[0.0, -1.0]).answer.status == INFEASIBLE


def test_what_curves_downwards_goes_to_its_better_end() -> None:
    box = {"lb": [-10.0, 1.0], "ub": [20.0, 1.0]}
    assert program([[-1e-12, 0], [0, 1]], [0, 0], **box).answer.x == [20, 1]
    endless = program([[-1e-12, 0], [0, 1]], [0, 0])
    assert endless.answer.status == UNBOUNDED
    assert endless.exact.is_clearly_unbounded(Fraction(1, 2))


def test_optima_by_construction() -> None:
    """x*, active rows and multipliers are drawn; q and h follow from them."""
    rng = np.random.default_rng(0)
    for _ in range(40):
        n, m = int(rng.integers(1, 6)), int(rng.integers(0, 6))
        F = rng.integers(-3, 4, (int(rng.integers(1, n + 1)), n)).astype(float)
        P, G = F.T @ F, rng.integers(-3, 4, (m, n)) * 10.0 ** rng.integers(0, 6, (m, 1))
        x, z = rng.integers(-4, 5, n).astype(float), rng.integers(0, 3, m).astype(float)
        h = G @ x + np.where(z > 0, 0.0, rng.integers(0, 3, m))
        q = -(P @ x) - G.T @ z
        answer = program(P, q, G=G, h=h).answer
        assert answer.value == ExactProgram.objective(program(P, q).exact, exact(x))


@in_parts
def test_the_optimum_meets_the_kkt_conditions_exactly(part: int) -> None:
    rng, rejected, seen = np.random.default_rng([1, part]), Counter[str](), 0
    for _ in range(60 // PARTS):
        bare = bare_specs.draw(rng, rejected)
        p, answer = bare.exact, bare.answer
        if answer.status != OPTIMAL or (np.diagonal(bare.P) < 0).any():
            continue
        seen += 1
        assert not list(p.misses(answer.x))
        gradient = [a + c for a, c in zip(times(p.P, answer.x), p.q, strict=True)]
        for rows, weights in ((p.G, answer.z), (p.A, answer.y)):
            for row, weight in zip(rows, weights, strict=True):
                gradient = [g + weight * v for g, v in zip(gradient, row, strict=True)]
        bounds = [low - up for low, up in zip(answer.z_lower, answer.z_upper, strict=True)]
        assert gradient == bounds
        assert min([*answer.z, *answer.z_lower, *answer.z_upper]) >= 0
        slacks = [side - dot(row, answer.x) for row, side in zip(p.G, p.h, strict=True)]
        assert dot(slacks, answer.z) == 0
    assert seen > 30 // PARTS


def test_degenerate_programs_end() -> None:
    """Every row through one point, with copies: ties all the way."""
    corners = [list(c) for c in itertools.product([-1.0, 1.0], repeat=4)]
    answer = program(np.zeros((4, 4)), [-1.0] * 4, G=corners * 2, h=[0.0] * 32).answer
    assert (answer.status, answer.value) == (OPTIMAL, 0)
    assert complementarity([[ZERO]], [-ONE]) is None


def test_a_machine_that_anybody_can_compute() -> None:
    X = [[ZERO], [Fraction(2)]]
    conditions = [Condition(unit(2, i, s), ONE, ZERO, Fraction(10)) for i, s in ((0, -1), (1, 1))]

    def cost(m: Machine) -> Fraction:
        losses = [max(ZERO, 1 - s * f) for s, f in zip((-1, 1), m.f, strict=True)]
        return m.square / 2 + 10 * sum(losses)

    best = optimum(Program(2, gram("linear", X, X), conditions, cost))
    assert best is not None
    assert (best.value, best.b, best.alpha) == (Fraction(1, 2), -1, [Fraction(1, 2)] * 2)


# --- answers that once passed ---------------------------------------------------------------------


def test_a_small_column_beside_a_large_one_is_called_false() -> None:
    bare = program(np.eye(2), [0, -50], G=[[1e10, 1]], h=[1], A=[[1, 0]], b=[0])
    harm = list(bare.harm(np.array([0.0, 50.0])))
    assert any("misses G[0] by 9.6" in why for why in harm)
    assert any("below the optimum" in why for why in harm)
    assert not list(bare.harm(np.array([0.0, 1.0])))
    assert not list(bare.harm(np.array([0.0, 1.0 + 0.9e-8])))  # not beyond what is asked for
    assert list(bare.harm(np.array([0.0, 1.0 + 3e-8])))


def band(copies: int) -> tuple[ExactMachines, Any]:
    """A fairness band, one feature of 3e8 that says nothing, and one that says all.

    Ten samples, each of them repeated: for the exact program that is its price.
    """
    n = 10
    rng = np.random.default_rng(4)
    z = np.arange(n) % 2
    y = np.where(rng.random(n) < 0.15, 1 - 2 * z, 2 * z - 1)
    X = np.column_stack([np.round(4 * rng.normal(size=n)) / 4 + 2.0 * z,
                         np.round(4 * rng.normal(size=n)) * 7.5e7])  # fmt: skip
    total, rows = Fraction(n), exact(X)
    centred = [(Fraction(int(v)) - Fraction(int(sum(z))) / total) / total for v in z]
    g = [dot(centred, column) for column in zip(*rows, strict=True)]
    bound = Fraction(0.01)
    rules = [Rule([-v for v in g], ZERO, bound, False), Rule(g, ZERO, bound, False)]
    signs = [int(s) for s in y]
    C = Fraction(copies)
    conditions = [Condition(unit(n, i, s), ONE, ZERO, C) for i, s in enumerate(signs)]

    def cost(m: Machine) -> Fraction:
        losses = [max(ZERO, 1 - s * f) for s, f in zip(signs, m.f, strict=True)]
        return m.square / 2 + C * sum(losses)

    every = rows + [[-v for v in rule.g] for rule in rules]
    exactly = Program(n, gram("linear", every, every), conditions, cost, rules=rules)
    X, y, z = (np.repeat(v, copies, axis=0) for v in (X, y, z))
    problem = qpsvm.SoftMargin(1.0).primal(X, y, constraints=fairness_band(z, 0.01))
    made = ExactMachines("soft margin", "", problem, exactly, rows, signs, ("linear", {}), X[:4])
    free = qpsvm.solve(qpsvm.SoftMargin(1.0).dual(X / [1.0, 1e8], y))
    w = free.coef / [1.0, 1e8]
    unconstrained = replace(problem.model, constraints=None)
    s = unconstrained.recovered(
        free.qp, free.alpha, coef=w, b=free.intercept, multipliers=np.zeros(2)
    ).solution
    s = s.replace(intercept=free.intercept, intercept_interval=Interval(*[free.intercept] * 2))
    return made, s.replace(qp=problem.to_qp(s))


@pytest.mark.parametrize("copies", [1, 8])
def test_the_machine_without_its_fairness_band_is_called_false(copies: int) -> None:
    made, unconstrained = band(copies)
    proof = qpsvm.certify(made.problem, unconstrained)
    harm = list(made.harm(unconstrained, proof))
    assert any("misses constraint" in why for why in harm)
    assert made.best is not None
    found = made.read(unconstrained)
    assert found is not None
    assert made.cost(*found) < made.best.value  # better than what is possible
    assert any("below the optimum" in why for why in harm)


def test_the_optimum_itself_is_not_called_false() -> None:
    rng, rejected = np.random.default_rng(3), Counter[str]()
    for _ in range(25):
        bare = bare_specs.draw(rng, rejected)
        if bare.answer.status == OPTIMAL:
            point = bare_points.starting_point(bare)["x"]
            assert not [why for why in bare.harm(point) if "objective" in why]
    for _ in range(12):
        made = exact_specs.draw(rng, rejected)
        if made.trait in ("denormal", "offset"):  # where rounding is worth more than eps
            continue
        start = exact_mutants.Start(made)
        proof = qpsvm.certify(made.problem, start.solution)
        assert not [why for why in made.harm(start.solution, proof) if "predicts" in why]
