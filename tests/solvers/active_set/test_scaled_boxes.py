"""Box programs of growing boxes: each solution is optimal, wherever the first one starts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from qpsvm.solvers.box.program import BoxProgram, row_multipliers
from qpsvm.solvers.box.related import RelatedPrograms, ScaledBoxes, at_bounds
from qpsvm.solvers.common import Point

SCALES = [0.01, 0.1, 1.0, 1.5, 100.0, 1000.0]
EPS = 1e-9


def boxes(rows, guessed) -> ScaledBoxes:
    rng = np.random.default_rng(5)
    F = rng.normal(size=(60, 20))
    K = np.exp(-0.05 * np.sum((F[:, None] - F[None]) ** 2, axis=2))
    n = 60 if rows is None else len(rows)
    upwards = rng.uniform(size=n) < 0.5
    lower, upper = np.where(upwards, 0.0, -1.0), np.where(upwards, 2.0, 0.0)
    q = np.where(upwards, -1.0, 1.0)
    return ScaledBoxes(RelatedPrograms(K, rows), q, lower, upper, guessed)


@pytest.mark.parametrize("guessed", [0, 10_000])
@pytest.mark.parametrize("rows", [None, np.arange(90) % 60])
def test_every_solution_is_optimal(rows, guessed) -> None:
    found = boxes(rows, guessed)
    P = found.programs
    for scale, x in zip(SCALES, found.solutions(SCALES, EPS), strict=True):
        lower, upper = scale * found.lower, scale * found.upper
        box = BoxProgram(P.P, found.q, P.ones, np.zeros(1), lower, upper, P.diagonal, P.unit)
        assert (lower <= x).all()
        assert (x <= upper).all()
        Px = P.P.product(x)
        assert box.relative_gap(Point(x, Px, row_multipliers(box, x, Px, np.zeros(1)))) <= 10 * EPS


def test_solutions_that_no_bound_holds_stay() -> None:
    last, largest = [*boxes(None, 0).solutions([1e3, 1e6], EPS)]
    np.testing.assert_array_equal(last, largest)


@pytest.mark.parametrize("seed", range(5))
def test_bounds_minimise_a_linear_objective(seed) -> None:
    rng = np.random.default_rng(seed)
    gradient, lower, upper = rng.normal(size=9), -rng.uniform(size=9), rng.uniform(size=9)
    x = at_bounds(gradient, lower, upper)
    known = linprog(
        gradient, A_eq=np.ones((1, 9)), b_eq=[0.0], bounds=np.column_stack([lower, upper])
    )
    np.testing.assert_allclose(x, known.x, atol=1e-12)
