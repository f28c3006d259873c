"""Rows with one variable are bounds: the same program, the same solutions, exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from qpsvm.qp import QPSolution, QuadraticProgram, Status, residuals
from qpsvm.qp.transforms import BoundsAsRows, rows_as_bounds
from tests.tolerances import TRANSFORMED

SEEDS = range(20)


def drawn(seed: int) -> QuadraticProgram:
    """A program with rows of one variable, of several, and of none, and bounds of its own."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    single = np.zeros((3 * n, n))
    single[np.arange(3 * n), rng.integers(0, n, 3 * n)] = rng.choice([-3.0, -1.0, 0.1, 2.0], 3 * n)
    G = rng.permutation(np.vstack([single, rng.standard_normal((2, n)), np.zeros((1, n))]))
    h = np.abs(rng.standard_normal(len(G)))
    h[rng.random(len(G)) < 0.2] = np.inf
    lb = np.where(rng.random(n) < 0.5, -np.inf, -1.0)
    return QuadraticProgram(
        np.eye(n), rng.standard_normal(n), sp.csc_array(G) if seed % 2 else G, h, lb=lb
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_a_point_within_the_bounds_satisfies_the_rows_exactly(seed):
    program = drawn(seed)
    bounded, way = rows_as_bounds(program)
    assert isinstance(way, BoundsAsRows)
    G = program.G.toarray() if sp.issparse(program.G) else program.G
    for bound in (bounded.lb, bounded.ub):
        for row in way.row:
            j = int(np.flatnonzero(G[row])[0])
            if np.isfinite(bound[j]):
                value = Fraction(float(G[row, j])) * Fraction(float(bound[j]))
                assert value <= Fraction(float(program.h[row]))


@pytest.mark.parametrize("seed", SEEDS)
def test_only_rows_with_more_than_one_variable_are_left(seed):
    program = drawn(seed)
    bounded, _ = rows_as_bounds(program)
    rows = bounded.G.toarray() if sp.issparse(bounded.G) else bounded.G
    left = np.count_nonzero(rows, axis=1)
    assert not ((left == 1) & np.isfinite(bounded.h)).any()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_solution_comes_back_as_one_of_the_rows(seed):
    program = drawn(seed)
    bounded, way = rows_as_bounds(program)
    # P = I, and rows of several variables never bind here: the box alone decides
    x = np.clip(-program.q, bounded.lb, bounded.ub)
    loose = bounded.replace(h=np.where(np.isfinite(bounded.h), np.inf, bounded.h))
    gradient = x + program.q
    found = QPSolution(
        Status.OPTIMAL,
        x=x,
        z=np.zeros(bounded.n_inequalities),
        y=np.zeros(0),
        z_lower=np.maximum(gradient, 0.0),
        z_upper=np.maximum(-gradient, 0.0),
    )
    assert residuals(loose, found).worst <= TRANSFORMED
    back = way(found)
    given = program.h.copy()
    given[way.kept] = np.inf
    assert residuals(program.replace(h=given), back).worst <= TRANSFORMED
    forward = way.forward(back)
    for name in ("z", "z_lower", "z_upper"):
        np.testing.assert_allclose(getattr(forward, name), getattr(found, name), rtol=1e-15)


def test_an_equation_in_two_rows_stays_two_rows():
    program = QuadraticProgram([[1.0]], [0.0], G=[[3.0], [-3.0]], h=[1.0, -1.0])
    bounded, _ = rows_as_bounds(program)
    assert bounded is program


def test_rows_that_contradict_each_other_stay_rows():
    program = QuadraticProgram([[1.0]], [0.0], G=[[1.0], [-1.0]], h=[1.0, -2.0])
    assert rows_as_bounds(program)[0] is program


def test_solutions_of_other_shapes_are_no_solutions():
    _, way = rows_as_bounds(QuadraticProgram([[1.0]], [0.0], G=[[1.0]], h=[1.0]))
    assert way(QPSolution(Status.UNKNOWN, x=np.zeros(1))).z is None
