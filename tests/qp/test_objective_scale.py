"""The verdict on a bare program does not depend on the unit of its objective."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

import qpsvm
from qpsvm.qp import QPSolution, QuadraticProgram, Status, multipliers_at

SCALES = [1e-12, 1e-6, 2.0**-20, 1.0, 1e6, 1e12]


def isotonic(scale: float) -> tuple[QuadraticProgram, np.ndarray]:
    """Weighted isotonic regression as a program, times a factor, and its solution."""
    n = 10
    weights, wanted = np.arange(n) + 1.0, np.array([4.0, 2, -2, 3, 3, 7, 3, 11, 10, 14])
    G = np.zeros((n - 1, n))
    G[range(n - 1), range(n - 1)], G[range(n - 1), range(1, n)] = 1.0, -1.0
    x = IsotonicRegression().fit_transform(np.arange(n), wanted / weights, sample_weight=weights)
    return QuadraticProgram(np.diag(weights) * scale, -wanted * scale, G, np.zeros(n - 1)), x


@pytest.mark.parametrize("scale", SCALES)
def test_an_optimum_is_found_and_passes_in_every_unit(scale):
    program, x = isotonic(scale)
    found = qpsvm.solve(program)
    assert found.status is Status.OPTIMAL
    best = program.objective(x)
    assert abs(program.objective(found.x) - best) <= 1e-8 * abs(best)


@pytest.mark.parametrize("scale", SCALES)
def test_a_point_that_is_no_optimum_fails_in_every_unit(scale):
    program, x = isotonic(scale)
    wrong = np.sort(x + 1e-3 * np.arange(10))
    report = qpsvm.verify(program, multipliers_at(program, wrong))
    assert not report.passed
    # relative to the objective, the gap is the same number
    unit = isotonic(1.0)[0]
    expected = qpsvm.verify(unit, multipliers_at(unit, wrong)).relative_gap
    assert report.relative_gap == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_zero_is_no_optimum_of_a_program_in_other_units_of_x(unit):
    program = QuadraticProgram([[1.0]], [-unit])
    nothing = QPSolution(Status.OPTIMAL, x=[0.0], z=[], y=[], z_lower=[0.0], z_upper=[0.0])
    assert not qpsvm.verify(program, nothing).passed
    assert qpsvm.verify(program, qpsvm.solve(program)).passed


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("kind", ["least squares", "linear", "slack"])
def test_an_optimum_of_zero_passes_in_every_unit(scale, kind):
    rng = np.random.default_rng(0)
    if kind == "least squares":  # residuals r = A x - b of equations that have a solution
        A = rng.standard_normal((4, 3))
        b = A @ rng.standard_normal(3)
        P = np.diag([0.0, 0, 0, 1, 1, 1, 1]) * scale
        program = QuadraticProgram(P, np.zeros(7), A=np.hstack([A, -np.eye(4)]), b=b)
    elif kind == "linear":
        program = QuadraticProgram(None, [scale, 2.0 * scale], lb=0.0)
    else:  # the slack of a row that can hold
        program = QuadraticProgram(None, [0.0, scale], G=[[-1.0, -1.0]], h=[-1.0], lb=0.0)
    found = qpsvm.solve(program)
    assert found.status is Status.OPTIMAL
    assert abs(program.objective(found.x)) <= 1e-12 * scale


def far_out(kind: str, far: float, cost: float) -> tuple[QuadraticProgram, QPSolution]:
    """A program with ``-cost x_3``, x_3 at most 1, and a point of zero far out along (1, 1, 0)."""
    P = np.array([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    q, rows, y = np.array([0.0, 0.0, -cost]), {}, []
    if kind == "rows":
        rows, y = {"A": [[1.0, -1.0, 0.0]], "b": [0.0]}, [0.0]
    elif kind == "linear":
        P, q, y = 0.0 * P, np.array([1.0, -1.0, -cost]), [-1.0]
        rows = {"A": [[1.0, -1.0, 0.0]], "b": [0.0]}
    end = np.inf
    if kind == "wide":  # numbers that stand for none
        end, rows = 1e30, {"G": [[1.0, 1.0, 0.0]], "h": [1e30]}
    program = QuadraticProgram(P, q, **rows, lb=[-end, -end, 0.0], ub=[end, end, 1.0])
    at_bound = np.array([0.0, 0.0, cost])
    z = [0.0] * program.n_inequalities
    point = QPSolution(
        Status.UNKNOWN, x=[far, far, 0.0], z=z, y=y, z_lower=np.zeros(3), z_upper=at_bound
    )
    return program, point


@pytest.mark.parametrize("kind", ["curvature", "rows", "linear", "wide"])
@pytest.mark.parametrize("far", [1.0, 1e4, 1e8, 1e10, 1e13, 1e16])
@pytest.mark.parametrize("cost", [1e-9, 1e-3, 1.0])
def test_a_point_far_out_does_not_scale_its_own_error_away(kind, far, cost):
    program, point = far_out(kind, far, cost)
    assert not qpsvm.verify(program, point).passed
    found = qpsvm.solve(program)
    assert found.status is Status.OPTIMAL
    assert found.x[2] == pytest.approx(1.0, rel=1e-6)
