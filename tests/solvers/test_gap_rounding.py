"""Rounding on the side where it costs least."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from qpsvm.kernels import Polynomial
from qpsvm.solvers.box.curvature import DenseCurvature
from qpsvm.solvers.box.program import BoxProgram
from qpsvm.solvers.box.working_sets import reduce_gap_rounding, working_set_method
from qpsvm.solvers.budget import Point, WorkBudget

N = 120


def separable(seed: int, C: float) -> BoxProgram:
    """The dual of a soft margin, without errors at its optimum, with a free intercept."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 6))
    y = np.where(rng.random(N) < 0.5, -1.0, 1.0)
    P = DenseCurvature(y[:, None] * Polynomial(gamma=1.0, degree=4, coef0=1.0)(X, X) * y)
    diagonal = np.diagonal(P.matrix)
    upper = np.full(N, C)
    q, A, b = -np.ones(N), y[None], np.zeros(1)
    return BoxProgram(P, q, A, b, np.zeros(N), upper, diagonal, float(np.max(diagonal)))


def settled(program: BoxProgram) -> Point:
    return working_set_method(program, np.zeros(program.size), WorkBudget(largest=N))


def moved(program: BoxProgram, point: Point) -> Point:
    return reduce_gap_rounding(program, point, WorkBudget(largest=N))


@pytest.mark.parametrize("seed", range(5))
def test_large_bounds_do_not_enlarge_the_gap(seed: int) -> None:
    program = separable(seed, 1e8)
    point = settled(program)
    assert (point.x < program.upper).all()
    found = moved(program, point)
    assert program.relative_gap(found) <= 1e-3 * program.relative_gap(point)
    assert program.gap_rounding_bound(found) <= 1e-3 * program.gap_rounding_bound(point)
    assert found.Px == pytest.approx(program.P.product(found.x), rel=1e-9)
    assert (found.x >= 0.0).all()
    assert program.rows_hold(found.x)


@pytest.mark.parametrize("seed", range(5))
def test_the_sign_of_every_free_gradient_is_certain(seed: int) -> None:
    """In whatever order the products are summed up."""
    program = separable(seed, 1e8)
    found = moved(program, settled(program))
    free = found.x > 0.0
    for order in range(10):
        some = np.random.default_rng(order).permutation(N)
        Px = program.P.matrix[:, some] @ found.x[some]
        assert (program.gradient(Px, found.y)[free] > 0.0).all()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("flip", [False, True])
def test_no_gap_becomes_larger_with_what_rounding_may_add(seed: int, C: float, flip: bool) -> None:
    program = separable(seed, C)
    if flip:  # the same with -x: the costly side is the other one
        lower, upper = -program.upper, -program.lower
        program = replace(program, q=-program.q, A=-program.A, lower=lower, upper=upper)
    point = settled(program)
    found = moved(program, point)
    before = program.relative_gap(point) + program.gap_rounding_bound(point)
    assert program.relative_gap(found) + program.gap_rounding_bound(found) <= before


def test_a_point_without_residuals_is_as_good_as_any() -> None:
    program = separable(0, 1.0)
    program = replace(program, q=np.zeros(N))
    point = Point(np.zeros(N), np.zeros(N), np.zeros(1))
    assert program.relative_gap(moved(program, point)) == 0.0
