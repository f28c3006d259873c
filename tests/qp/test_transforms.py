"""Every transform with its way back, on programs whose solution is known."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qpsvm.exceptions import InvalidProgramError
from qpsvm.qp import (
    QPSolution,
    QuadraticProgram,
    Status,
    drop_dependent_equalities,
    drop_infinite_rows,
    fold_bounds,
    residuals,
    scale,
)
from tests.strategies import examples, manufactured_program
from tests.tolerances import EXACT, TRANSFORMED


@given(manufactured_program())
@settings(max_examples=examples(100))
def test_folding_bounds_keeps_the_solution_both_ways(
    made: tuple[QuadraticProgram, QPSolution],
) -> None:
    program, exact = made
    folded, inverse = fold_bounds(program)
    assert not np.isfinite(folded.lb).any()
    assert not np.isfinite(folded.ub).any()
    there = inverse.forward(exact)
    assert residuals(folded, there).worst < EXACT
    back = inverse(there)
    for name in ("x", "z", "y", "z_lower", "z_upper"):
        np.testing.assert_array_equal(getattr(back, name), getattr(exact, name))


@given(manufactured_program(), st.integers(0, 2**32 - 1))
@settings(max_examples=examples(100))
def test_scaling_keeps_the_solution(made: tuple[QuadraticProgram, QPSolution], seed: int) -> None:
    program, exact = made
    rng = np.random.default_rng(seed)
    D, E, F = (
        np.exp(rng.normal(size=size))
        for size in (program.n_variables, program.n_inequalities, program.n_equalities)
    )
    c = 3.0
    scaled, inverse = scale(program, D, E, F, c)
    assert exact.x is not None
    assert exact.z is not None
    assert exact.y is not None
    there = QPSolution(
        Status.OPTIMAL,
        x=exact.x / D,
        z=c * exact.z / E,
        y=c * exact.y / F,
        z_lower=None if exact.z_lower is None else c * D * exact.z_lower,
        z_upper=None if exact.z_upper is None else c * D * exact.z_upper,
    )
    assert residuals(scaled, there).worst < TRANSFORMED
    assert residuals(program, inverse(there)).worst < TRANSFORMED
    assert scaled.objective(there.x) == pytest.approx(c * program.objective(exact.x))


@pytest.mark.parametrize("sparse", [False, True])
def test_infinite_rows_leave_and_come_back_with_zero_multipliers(sparse: bool) -> None:
    import scipy.sparse as sp

    G: Any = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    program = QuadraticProgram(
        np.eye(2), [-2.0, 0.0], sp.csc_array(G) if sparse else G, [np.inf, 5.0, 1.0]
    )
    smaller, inverse = drop_infinite_rows(program)
    assert smaller.n_inequalities == 2
    solution = inverse(QPSolution(Status.OPTIMAL, z=[3.0, 4.0]))
    np.testing.assert_array_equal(solution.z, [0.0, 3.0, 4.0])


def test_dependent_equalities_leave_and_come_back() -> None:
    A = np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0], [0.0, 1.0, 1.0]])
    program = QuadraticProgram(np.eye(3), np.zeros(3), A=A, b=[1.0, 2.0, 0.0])
    smaller, inverse = drop_dependent_equalities(program)
    assert smaller.n_equalities == 2
    assert np.linalg.matrix_rank(smaller.A if isinstance(smaller.A, np.ndarray) else 0) == 2
    back = inverse(QPSolution(Status.OPTIMAL, y=[5.0, 6.0]))
    assert back.y is not None
    assert np.count_nonzero(back.y) == 2
    # the combination of rows is the same
    np.testing.assert_allclose(A.T @ back.y, np.asarray(smaller.A).T @ [5.0, 6.0])


def test_nothing_to_do_returns_the_very_program() -> None:
    program = QuadraticProgram(np.eye(2), [0.0, 0.0], G=[[1.0, 0.0]], h=[1.0])
    for transform in (drop_infinite_rows, drop_dependent_equalities, fold_bounds):
        assert transform(program)[0] is program


def test_a_solution_of_the_wrong_length_comes_back_missing_not_shifted() -> None:
    program = QuadraticProgram(np.eye(2), [0.0, 0.0], G=[[1.0, 0.0]], h=[1.0], lb=0.0)
    _, inverse = fold_bounds(program)
    back = inverse(QPSolution(Status.OPTIMAL, x=[0.0, 0.0], z=[0.0, 0.0]))
    assert back.z is None
    assert back.z_lower is None


def test_inverses_can_be_pickled() -> None:
    program = QuadraticProgram(np.eye(2), [0.0, 0.0], G=[[1.0, 0.0]], h=[np.inf], lb=0.0)
    for transform in (drop_infinite_rows, fold_bounds, scale):
        inverse = transform(program)[1]  # type: ignore[operator]
        pickle.loads(pickle.dumps(inverse))


@pytest.mark.parametrize("factors", [[0.0, 1.0], [-1.0, 1.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_scaling_by_anything_but_positive_numbers_is_refused(factors: list[float]) -> None:
    program = QuadraticProgram(np.eye(2), [0.0, 0.0])
    with pytest.raises(InvalidProgramError, match="positive"):
        scale(program, variables=np.array(factors))
