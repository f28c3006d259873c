"""The gain by curvature that rounding hides is proportional to the objective, at every scale."""

from __future__ import annotations

import itertools
import warnings
from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

import qpsvm
from qpsvm.numerics.arrays import Vector
from qpsvm.qp import QuadraticProgram
from qpsvm.qp.bounds import bound
from qpsvm.qp.hidden_curvature import hidden_curvature_gain


def cone(t: float) -> tuple[QuadraticProgram, Vector]:
    """The dual of a hard margin and a point of it, for samples divided by the root of t."""
    features = np.array([[1.0, 0.3], [0.3, 1.0], [1.0, 1.0 + 1e-9], [1.0, 1.0]])
    P = features @ features.T
    P[0, 0] -= 1e-15  # negative curvature within rounding
    return QuadraticProgram(P / t, -np.ones(4), lb=np.zeros(4)), t * np.array([0.5, 0.5, 0.1, 0.1])


@pytest.mark.parametrize("exponent", [-900, -580, -100, 100, 500, 900])
def test_the_price_does_not_depend_on_the_unit(exponent: int) -> None:
    none, t = np.zeros(0), 2.0**exponent
    (unit, x), (program, scaled) = cone(1.0), cone(t)
    expected = hidden_curvature_gain(unit, x, none, none)
    assert 0.0 < expected < 1e-8
    found = hidden_curvature_gain(program, scaled, none, none)
    assert found / t == pytest.approx(expected, rel=1e-9, abs=0.0)


def lowest_in_box(P: Vector, q: Vector, width: float) -> Fraction:
    """The minimum of ``1/2 x'Px + q'x`` over ``[0, width]^n`` in rational numbers, face by face."""
    n, best = len(q), None
    exact = [[Fraction(float(v)) for v in row] for row in P]
    linear, ends = [Fraction(float(v)) for v in q], (Fraction(0), Fraction(width))
    for face in itertools.product((0, 1, None), repeat=n):
        free = [j for j in range(n) if face[j] is None]
        x = [Fraction(0) if side is None else ends[side] for side in face]
        right = [-linear[i] - sum(exact[i][j] * x[j] for j in range(n)) for i in free]
        inside = solved([[exact[i][j] for j in free] for i in free], right)
        if inside is None or any(not 0 <= v <= ends[1] for v in inside):
            continue  # a singular face: its minimum is also that of a smaller one
        for j, v in zip(free, inside, strict=True):
            x[j] = v
        value = sum(
            x[i] * (linear[i] + sum(exact[i][j] * x[j] for j in range(n)) / 2) for i in range(n)
        )
        best = value if best is None or value < best else best
    assert best is not None
    return best


def solved(rows: list[list[Fraction]], right: list[Fraction]) -> list[Fraction] | None:
    """Solve linear equations in rational numbers; None where they are singular."""
    n = len(rows)
    table = [[*row, value] for row, value in zip(rows, right, strict=True)]
    for k in range(n):
        pivot = next((i for i in range(k, n) if table[i][k] != 0), None)
        if pivot is None:
            return None
        table[k], table[pivot] = table[pivot], table[k]
        table[k] = [v / table[k][k] for v in table[k]]
        for i in range(n):
            if i != k and table[i][k] != 0:
                table[i] = [a - table[i][k] * b for a, b in zip(table[i], table[k], strict=True)]
    return [row[n] for row in table]


@pytest.mark.parametrize("width", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("seed", range(15))
def test_the_bound_holds_for_the_matrix_as_it_is_rounded(seed: int, width: float) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((5, 2))
    P = X @ X.T
    P = np.tril(P) + np.tril(P, -1).T
    q = rng.choice([-1.0, 0.0, 1.0, 1e-6], 5) + (P @ rng.random(5)) * (seed % 2)
    program = QuadraticProgram(P, q, lb=np.zeros(5), ub=np.full(5, width))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", qpsvm.exceptions.ToleranceNotReachedWarning)
        x = qpsvm.solve(program).x
    found, _ = bound(program, x, np.zeros(0), np.zeros(0))
    assert Fraction(found.lower - found.rounding) <= lowest_in_box(P, q, width)


def test_the_price_of_a_unique_solution_is_next_to_nothing() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X, s, n, C = scale(X)[:60], 2.0 * y[:60] - 1.0, 60, 1e3
    program = QuadraticProgram(
        np.outer(s, s) * (X @ X.T), -np.ones(n), A=s[None], b=[0.0], lb=0.0, ub=C
    )
    shift = program.convexity.shift
    assert shift.any()
    solution = qpsvm.solve(program)
    found, _ = bound(program, solution.x, np.zeros(0), solution.y)
    everywhere = 0.5 * float(np.sum(shift)) * C * C
    assert found.curvature < 1e-3 * everywhere
