"""The KKT residuals: what they are by hand, and everything they must refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from qpsvm.exceptions import InvalidParameterError
from qpsvm.qp import QPSolution, QuadraticProgram, Status, Tolerances, residuals
from qpsvm.qp.infeasibility import farkas_violation, ray_violation
from qpsvm.qp.kkt import KnownOptimum
from tests.strategies import examples, manufactured_program
from tests.tolerances import EXACT


def _solution(**vectors: Any) -> QPSolution:
    return QPSolution(Status.OPTIMAL, native_status="optimal", **vectors)


def test_residuals_by_hand() -> None:
    # min x1^2 + x2 with x1 + x2 <= 1, x1 - x2 = 3, 0 <= x1 <= 10, at a point that is not optimal
    program = QuadraticProgram(
        np.diag([2.0, 0.0]), [0.0, 1.0], [[1.0, 1.0]], [1.0], [[1.0, -1.0]], [3.0],
        lb=[0.0, -np.inf], ub=[10.0, np.inf],
    )  # fmt: skip
    measured = residuals(
        program,
        _solution(x=[-1.0, 4.0], z=[2.0], y=[0.5], z_lower=[3.0, 0.0], z_upper=[-0.25, 0.0]),
    )
    # r = (-2 + 2 + 0.5 - 3 - 0.25, 1 + 2 - 0.5)
    assert measured.stationarity.absolute == 2.75
    assert measured.stationarity.scaled == 2.5  # 2.75 / |Px| = 2; 2.5 / |q| = 1
    assert measured.inequality.absolute == 2.0
    assert measured.inequality.scaled == 2.0 / 6.0  # the terms are 1, 4 and 1
    assert measured.equality.absolute == 8.0
    assert measured.equality.scaled == 1.0  # 1, 4 and 3
    assert measured.lower_bound.absolute == 1.0
    assert measured.upper_bound.absolute == 0.0
    assert measured.multiplier_sign.absolute == 0.25
    assert measured.complementarity.absolute == 4.0  # z s = 2 * -2; 3 * -1; -0.25 * 11
    assert measured.primal_objective == 1.0 + 4.0
    # -1/2 x'Px - h'z - b'y + lb'z_lower - ub'z_upper
    assert measured.dual_objective == -1.0 - 2.0 - 1.5 + 0.0 + 2.5
    # with z_lower repaired to the gradient (1/2, 0) and z_upper to 0 the dual value is -4.5
    assert measured.duality_gap.absolute == 9.5
    assert measured.duality_gap.scaled == 9.5 / 5.0


@given(manufactured_program())
@settings(max_examples=examples(300))
def test_the_truth_passes(made: tuple[QuadraticProgram, QPSolution]) -> None:
    program, exact = made
    measured = residuals(program, exact)
    assert measured.worst < EXACT
    assert measured.passed(1e-10)


# --- what qpsolvers 4.13 accepts and we must not -----------------------------------------------


def test_a_multiplier_of_the_wrong_sign_is_refused() -> None:
    program = QuadraticProgram([[1.0]], [1.0], G=[[1.0]], h=[0.0])  # optimum -1
    wrong = _solution(x=[0.0], z=[-1.0], y=[], z_lower=[0.0], z_upper=[0.0])
    measured = residuals(program, wrong)
    assert measured.stationarity.absolute == 0.0
    assert measured.duality_gap.absolute == 0.0
    assert measured.multiplier_sign.scaled == 1.0
    assert not measured.passed(1e-3)


@pytest.mark.parametrize("name", ["x", "z", "y", "z_lower", "z_upper"])
@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_no_number_is_refused_anywhere(name: str, poison: float) -> None:
    program, vectors = _small()
    vectors[name] = np.full_like(vectors[name], poison)
    measured = residuals(program, _solution(**vectors))
    assert not measured.passed(0.999)
    assert measured.worst == np.inf
    assert name in measured.problems[0]


@pytest.mark.parametrize("name", ["x", "z", "y", "z_lower", "z_upper"])
@pytest.mark.parametrize("length", [0, 3])
def test_a_vector_of_the_wrong_length_is_refused(name: str, length: int) -> None:
    program, vectors = _small()
    vectors[name] = np.zeros(length)
    measured = residuals(program, _solution(**vectors))
    assert not measured.passed(0.999)
    assert f"{name} has shape ({length},)" in measured.problems[0]


@pytest.mark.parametrize("name", ["x", "z", "y", "z_lower", "z_upper"])
def test_a_missing_vector_is_refused(name: str) -> None:
    program, vectors = _small()
    vectors[name] = None
    measured = residuals(program, _solution(**vectors))
    assert not measured.passed(0.999)
    assert measured.problems == (f"{name} is missing",)


def test_two_dimensional_vectors_are_refused() -> None:
    program, vectors = _small()
    vectors["x"] = vectors["x"][:, None]
    assert not residuals(program, _solution(**vectors)).passed(0.999)


# --- scales that must not be gamed ---------------------------------------------------------------


def test_huge_cancelling_multipliers_do_not_scale_an_error_away() -> None:
    # x2 is free with optimum 1; x1 is fixed by two bounds whose multipliers cancel
    program = QuadraticProgram(np.eye(2), [0.0, -1.0], lb=[0.0, -np.inf], ub=[0.0, np.inf])
    wrong = _solution(x=[0.0, 0.0], z=[], y=[], z_lower=[1e12, 0.0], z_upper=[1e12, 0.0])
    assert not residuals(program, wrong).passed(1e-3)


def test_a_tiny_objective_does_not_make_every_point_optimal() -> None:
    program = QuadraticProgram([[1e-12]], [-1e-12])  # optimum 1
    nothing = _solution(x=[0.0], z=[], y=[], z_lower=[0.0], z_upper=[0.0])
    assert not residuals(program, nothing).passed(1e-6)


def test_a_tiny_box_is_not_a_licence_to_leave_it() -> None:
    program = QuadraticProgram([[1.0]], [-1.0], lb=0.0, ub=1e-10)
    outside = _solution(x=[2e-10], z=[], y=[], z_lower=[0.0], z_upper=[1.0 - 2e-10])
    assert not residuals(program, outside).passed(1e-6)


@pytest.mark.parametrize("factor", [1e-10, 1e10])
def test_the_units_of_a_constraint_do_not_change_the_verdict(factor: float) -> None:
    wrong = {"x": [0.5], "y": [], "z_lower": [0.0], "z_upper": [0.0]}  # x <= 0 is violated
    program = QuadraticProgram([[1.0]], [-1.0], G=[[factor]], h=[0.0])
    assert not residuals(program, _solution(z=[0.5 / factor], **wrong)).passed(1e-3)


def test_a_multiplier_on_a_bound_that_does_not_exist_is_refused() -> None:
    program = QuadraticProgram([[1.0]], [0.0])
    pushed = _solution(x=[1.0], z=[], y=[], z_lower=[1.0], z_upper=[0.0])
    measured = residuals(program, pushed)
    assert measured.stationarity.absolute == 0.0
    assert measured.complementarity.scaled == np.inf
    assert not measured.passed(0.999)


def test_overflow_fails_closed() -> None:
    program = QuadraticProgram([[1e200]], [0.0])
    far = _solution(x=[1e200], z=[], y=[], z_lower=[0.0], z_upper=[0.0])
    assert not residuals(program, far).passed(0.999)


@pytest.mark.parametrize("eps", [0.0, 1.0, -1e-8, np.nan, "small"])
def test_tolerances_outside_zero_and_one_are_refused(eps: Any) -> None:
    with pytest.raises(InvalidParameterError, match="relative accuracy between 0 and 1"):
        Tolerances(eps)


def test_every_residual_has_a_say() -> None:
    """Each check alone fails the whole: none is only reported."""
    program, vectors = _small()
    good = residuals(program, _solution(**vectors))
    assert good.passed(1e-8)
    names = {check.name for check in good.check(Tolerances(1e-8))}
    assert names == {residual.name for residual in good}
    assert len(names) == 9


# --- evidence ---------------------------------------------------------------------------------


def test_farkas_multipliers_prove_a_contradiction() -> None:
    program = QuadraticProgram([[1.0]], [0.0], G=[[1.0], [-1.0]], h=[0.0, -1.0])  # x <= 0, x >= 1
    proof = QPSolution(Status.UNKNOWN, z=[1.0, 1.0], y=[], z_lower=[0.0], z_upper=[0.0])
    assert farkas_violation(program, proof) == 0.0
    for z in ([1.0, 0.0], [-1.0, -1.0], [0.0, 0.0], [np.nan, 1.0]):
        assert farkas_violation(program, proof.replace(z=z)) > 0.5
    assert farkas_violation(program, proof.replace(z=None)) == np.inf


def test_a_small_coefficient_is_not_mistaken_for_none() -> None:
    # 1e-8 x >= 1 holds for x = 1e8, and 1/2 1e-9 x^2 - x is smallest at 1e9
    feasible = QuadraticProgram([[1.0]], [0.0], G=[[-1e-8]], h=[-1.0])
    guess = QPSolution(Status.UNKNOWN, z=[1.0], y=[], z_lower=[0.0], z_upper=[0.0])
    assert farkas_violation(feasible, guess) == 1.0
    bounded = QuadraticProgram([[1e-9]], [-1.0])
    assert ray_violation(bounded, QPSolution(Status.UNKNOWN, x=[1.0])) == 1.0


def test_wrong_signs_prove_nothing() -> None:
    program = QuadraticProgram([[1.0]], [0.0], lb=0.0, ub=1e8)
    guess = QPSolution(Status.UNKNOWN, z=[], y=[], z_lower=[-1.0], z_upper=[-1.0])
    assert farkas_violation(program, guess) == np.inf


def test_no_multipliers_prove_a_feasible_program_infeasible() -> None:
    rng = np.random.default_rng(0)
    G = rng.normal(size=(6, 3))
    program = QuadraticProgram(np.eye(3), np.zeros(3), G, G @ rng.normal(size=3) + 0.1)
    for _ in range(200):
        guess = QPSolution(
            Status.UNKNOWN, z=rng.exponential(size=6), y=[], z_lower=np.zeros(3),
            z_upper=np.zeros(3),
        )  # fmt: skip
        assert farkas_violation(program, guess) > 1e-3


def test_a_ray_proves_unboundedness() -> None:
    program = QuadraticProgram(np.diag([1.0, 0.0]), [0.0, -1.0], lb=0.0)
    assert ray_violation(program, QPSolution(Status.UNKNOWN, x=[0.0, 1.0])) == 0.0
    for x in ([1.0, 1.0], [0.0, -1.0], [-1.0, 1.0], [0.0, 0.0], [0.0, np.nan]):
        assert ray_violation(program, QPSolution(Status.UNKNOWN, x=x)) >= 1.0


def _small() -> tuple[QuadraticProgram, dict[str, Any]]:
    """min 1/2 |x|^2 - x1 with x1 + x2 <= 1/2, x1 = x2, 0 <= x <= 1: x = 1/4."""
    program = QuadraticProgram(
        np.eye(2), [-1.0, 0.0], [[1.0, 1.0]], [0.5], [[1.0, -1.0]], [0.0], lb=0.0, ub=1.0
    )
    # 1/4 - 1 + z + y = 0 and 1/4 + z - y = 0
    vectors = {
        "x": np.array([0.25, 0.25]),
        "z": np.array([0.25]),
        "y": np.array([0.5]),
        "z_lower": np.zeros(2),
        "z_upper": np.zeros(2),
    }
    return program, vectors


# --- found by attack ------------------------------------------------------------------------------


def test_a_wrong_sign_earns_no_credit_in_the_gap() -> None:
    program = QuadraticProgram(None, [1.0, 5e-9], lb=0.0, ub=1e9)  # optimum 0
    crafted = _solution(x=[0.0, 1e9], z=[], y=[], z_lower=[1.0, 0.0], z_upper=[0.0, -5e-9])
    assert not residuals(program, crafted).passed(1e-8)


def test_a_small_gradient_times_a_wide_box_is_a_gap() -> None:
    program = QuadraticProgram(None, [1.0, -5e-9], lb=0.0, ub=1e9)  # optimum -5
    crafted = _solution(x=[0.0, 0.0], z=[], y=[], z_lower=[1.0, 0.0], z_upper=[0.0, 0.0])
    assert not residuals(program, crafted).passed(1e-8)


def test_the_top_of_a_hill_is_not_an_optimum() -> None:
    program = QuadraticProgram([[-1.0]], [0.0], lb=-1.0, ub=1.0)
    top = _solution(x=[0.0], z=[], y=[], z_lower=[0.0], z_upper=[0.0])
    measured = residuals(program, top)
    assert not measured.passed(0.999)
    assert "not positive semidefinite" in measured.problems[0]


# --- programs whose optimum a certificate knows --------------------------------------------------


@pytest.mark.parametrize(
    ("known", "gap"),
    [
        (KnownOptimum(), 9.0),
        (KnownOptimum(objective=-9.5, distance=0.0), 9.0),  # the optimum
        (KnownOptimum(objective=-9.0, distance=0.25), 8.75),  # nearer than the multipliers say
        (KnownOptimum(objective=-20.0, distance=11.0), 9.0),
        (KnownOptimum(objective=-0.5, distance=np.inf), 9.0),
        (KnownOptimum(objective=-0.5, distance=np.nan), 9.0),
        (KnownOptimum(objective=np.nan, distance=0.0), 9.0),
    ],
)
def test_a_gradient_within_its_tolerance_hides_no_gap(known: KnownOptimum, gap: float) -> None:
    # a slope of 9e-9 over a box of 1e9: the multipliers of zero seem to fit
    program = QuadraticProgram(
        np.diag([1.0, 0.0]), [-1.0, -9e-9], lb=[0.0, 0.0], ub=[2.0, 1e9]
    )  # fmt: skip
    wrong = _solution(x=[1.0, 0.0], z=[], y=[], z_lower=[0.0, 0.0], z_upper=[0.0, 0.0])
    measured = residuals(program, wrong, known=known)
    assert measured.stationarity.scaled < 1e-8
    assert measured.complementarity.scaled == 0.0
    assert measured.duality_gap.absolute == pytest.approx(gap, rel=1e-12)
