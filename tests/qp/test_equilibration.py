"""Badly scaled programs brought to like sizes by powers of two: the same optimum."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import qpsvm
from qpsvm.qp import LowRankQuadratic, QuadraticProgram, Status, scale
from qpsvm.qp.scaling import equilibrate
from tests.strategies import examples
from tests.tolerances import ASKED


def badly_scaled(seed: int) -> QuadraticProgram:
    """A strictly convex program with a strictly feasible point, columns from 1e-6 to 1e6."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 7)), int(rng.integers(2, 7))
    sizes = 10.0 ** rng.uniform(-6.0, 6.0, n)
    sizes[:2] = 1e-6, 1e6
    G = rng.normal(size=(m, n)) * sizes
    inside = rng.normal(size=n) / sizes
    P = sp.csc_array(np.diag(rng.uniform(0.5, 2.0, n) * sizes**2))
    return QuadraticProgram(P, rng.normal(size=n) * sizes, sp.csc_array(G), G @ inside + 0.1)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=examples(60))
def test_scales_are_powers_of_two_and_sizes_become_alike(seed: int) -> None:
    program = badly_scaled(seed)
    scaled, inverse = equilibrate(program)
    for factors in (inverse.variables, inverse.inequalities):  # type: ignore[attr-defined]
        np.testing.assert_array_equal(np.frexp(factors)[0], 0.5)
    G = abs(scaled.G.toarray())
    assert G.max(axis=1).max() <= 4.0
    assert G.max(axis=1).min() >= 0.25
    np.testing.assert_array_less(np.maximum(G.max(axis=0), scaled.P.diagonal()), 4.0)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_the_way_there_and_back_rounds_nothing(seed: int) -> None:
    program = badly_scaled(seed)
    rng = np.random.default_rng(seed)
    inverse = equilibrate(program)[1]
    n, m = program.n_variables, program.n_inequalities
    given_ = qpsvm.qp.QPSolution(
        Status.UNKNOWN,
        x=rng.normal(size=n),
        z=rng.normal(size=m),
        y=np.zeros(0),
        z_lower=rng.normal(size=n),
        z_upper=rng.normal(size=n),
    )
    back = inverse(inverse.forward(given_))
    for name in ("x", "z", "y", "z_lower", "z_upper"):
        np.testing.assert_array_equal(getattr(back, name), getattr(given_, name))


@given(st.integers(0, 2**16))
@settings(max_examples=examples(100))
def test_a_program_in_other_units_has_the_same_optimum(seed: int) -> None:
    program = badly_scaled(seed)
    alike = equilibrate(program)[0]
    there, here = qpsvm.solve(alike, "cvxopt"), qpsvm.solve(program, "cvxopt")
    assert there.status is here.status is Status.OPTIMAL
    # gaps are relative to the two terms of the objective, which may cancel
    x, linear = there.x, float(alike.q @ there.x)
    size = max(1.0, alike.objective(x) - linear + abs(linear))
    assert abs(program.objective(here.x) - alike.objective(there.x)) < 2.0 * ASKED * size


def test_ordinary_and_structured_programs_stay_the_very_object() -> None:
    rng = np.random.default_rng(0)
    G = sp.csc_array(rng.normal(size=(5, 3)) * [1e-2, 1.0, 1e2])
    ordinary = QuadraticProgram(sp.eye_array(3, format="csc"), np.ones(3), G, np.ones(5))
    assert equilibrate(ordinary)[0] is ordinary
    free = QuadraticProgram(sp.eye_array(3, format="csc"), np.ones(3))
    assert equilibrate(free)[0] is free


def test_scaling_keeps_a_low_rank_hessian_low_rank() -> None:
    rng = np.random.default_rng(1)
    X, D = rng.normal(size=(4, 2)), rng.uniform(0.5, 2.0, 8)
    signs, index = np.repeat([1.0, -1.0], 4), np.tile(np.arange(4), 2)
    P = LowRankQuadratic(X, rng.uniform(size=8), signs=signs, index=index, constant=1.0)
    scaled = scale(QuadraticProgram(P, np.zeros(8)), D, objective=3.0)[0]
    assert isinstance(scaled.P, LowRankQuadratic)
    np.testing.assert_allclose(scaled.P.to_dense(), 3.0 * D[:, None] * P.to_dense() * D)


def test_denormal_entries_are_scaled_without_a_warning() -> None:
    G = sp.csc_array(np.array([[5e-310, 1.0], [0.0, 3e8]]))
    program = QuadraticProgram(sp.eye_array(2, format="csc"), np.ones(2), G, np.ones(2))
    scaled = equilibrate(program)[0]
    assert np.isfinite(scaled.G.data).all()
    problem = qpsvm.SoftMargin().primal([[5e-310, 1.0], [1e-309, -1.0], [2e-310, 1.0]], [1, 0, 1])
    assert qpsvm.solve(problem).status is Status.OPTIMAL


def test_rows_of_denormal_numbers_get_the_largest_factor() -> None:
    G = np.array(
        [
            [-9.9263636410783e-311, 1.51447026880727e-310],
            [-7.981938044996684e-186, -3.857795838029347e-185],
            [-1.98527272821555e-310, 3.02894053761444e-310],
            [0.0, 0.0],
        ]
    )
    program = QuadraticProgram(
        sp.eye_array(2, format="csc"),
        [-150.0, 175.0],
        sp.csc_array(G),
        [250.0, 2000.0, 500.0, 0.0],
        sp.csc_array([[0.0, 4.5e-285]]),
        [0.0],
    )
    scaled = equilibrate(program)[0]
    assert np.isfinite(scaled.G.data).all()
    assert np.isfinite(scaled.h).all()
