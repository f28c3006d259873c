"""Certificates that there is no optimum: found when it exists, never found when it does not."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings

from qpsvm.qp import LowRankQuadratic, QPSolution, QuadraticProgram, Status
from qpsvm.qp.certificate_search import find_farkas_certificate, find_ray
from qpsvm.qp.infeasibility import PROOF_TOLERANCE, farkas_violation, ray_violation
from tests.strategies import examples, manufactured_program
from tests.tolerances import CERTIFICATE


@pytest.mark.parametrize(
    "program",
    [
        QuadraticProgram([[1.0]], [0.0], G=[[1.0], [-1.0]], h=[0.0, -1.0]),
        QuadraticProgram([[1.0]], [0.0], G=[[1.0]], h=[-1.0], lb=0.0),
        QuadraticProgram(np.eye(2), [0.0, 0.0], A=[[1.0, 1.0], [2.0, 2.0]], b=[1.0, 3.0]),
        QuadraticProgram(np.eye(2), [0.0, 0.0], A=[[1.0, 1.0]], b=[3.0], lb=0.0, ub=1.0),
        QuadraticProgram(
            np.eye(2), [0.0, 0.0], G=sp.csc_array([[1.0, 0.0], [0.0, 1.0]]), h=[np.inf, -1.0], lb=0
        ),
    ],
    ids=["rows", "row and bound", "equalities", "equality and bounds", "beside an infinite row"],
)
def test_a_contradiction_is_found_and_proved(program: QuadraticProgram) -> None:
    certificate = find_farkas_certificate(program)
    assert certificate is not None
    assert certificate.status is Status.PRIMAL_INFEASIBLE
    assert farkas_violation(program, certificate) < CERTIFICATE


@pytest.mark.parametrize(
    "program",
    [
        QuadraticProgram(None, [-1.0]),
        QuadraticProgram(np.diag([1.0, 0.0]), [0.0, -1.0], lb=0.0),
        QuadraticProgram(sp.csc_array(np.diag([1.0, 0.0])), [0.0, -1.0], G=[[1.0, 0.0]], h=[1.0]),
        QuadraticProgram(LowRankQuadratic(np.array([[1.0], [1.0]])), [-2.0, 1.0], lb=-np.inf),
    ],
    ids=["linear", "dense", "sparse", "low-rank"],
)
def test_an_endless_descent_is_found_and_proved(program: QuadraticProgram) -> None:
    certificate = find_ray(program)
    assert certificate is not None
    assert certificate.status is Status.DUAL_INFEASIBLE
    assert ray_violation(program, certificate) < CERTIFICATE


@given(manufactured_program())
@settings(max_examples=examples(60))
def test_programs_with_an_optimum_yield_no_evidence(
    made: tuple[QuadraticProgram, QPSolution],
) -> None:
    program, _ = made
    assert find_farkas_certificate(program) is None
    assert find_ray(program) is None


def multipliers(z: list[float]) -> QPSolution:
    """Certificates of two inequalities on two variables."""
    nothing = np.zeros(2)
    return QPSolution(Status.PRIMAL_INFEASIBLE, z=z, y=[], z_lower=nothing, z_upper=nothing)


@pytest.mark.parametrize("turn", [1e-12, 1e-10, 1e-9, 1e-8])
def test_rows_that_nearly_contradict_each_other_are_no_contradiction(turn: float) -> None:
    """``x_1 + x_2 <= 0`` and ``x_1 + (1 + turn) x_2 >= 1`` meet far out, in (-2, 2) / turn."""
    program = QuadraticProgram(
        np.eye(2), [0.0, 0.0], G=[[1.0, 1.0], [-1.0, -1.0 - turn]], h=[0.0, -1.0]
    )
    for z in ([1.0, 1.0], [1.0 + turn, 1.0], [1.0, 1.0 - turn]):
        claimed = multipliers(z)
        assert farkas_violation(program, claimed) > PROOF_TOLERANCE
    assert find_farkas_certificate(program) is None


@pytest.mark.parametrize("bend", [1e-12, 1e-10, 1e-9, 1e-8])
def test_a_nearly_flat_direction_is_no_ray(bend: float) -> None:
    """The objective falls along (-1, 1) for a long way, down to ``-1/2 - 2 / bend``."""
    program = QuadraticProgram([[1.0, 1.0], [1.0, 1.0 + bend]], [1.0, -1.0])
    claimed = QPSolution(Status.DUAL_INFEASIBLE, x=[-1.0, 1.0])
    assert ray_violation(program, claimed) > PROOF_TOLERANCE
    assert find_ray(program) is None


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
@pytest.mark.parametrize("seen_at", [2.0**-60, 2.0**-53, 2.0**-40])
def test_a_coefficient_that_rounding_hides_counts_with_its_bound(
    order: tuple[int, ...], seen_at: float
) -> None:
    """The rows add up to ``seen_at x_1 <= -1``, which holds far out, if x_1 may go there."""
    rows = np.array([[1.0, -1.0, 0.0], [seen_at, 0.0, 1.0], [-1.0, 1.0, -1.0]])[list(order)]
    h = np.array([-1.0, 0.0, 0.0])[list(order)]
    claimed = QPSolution(
        Status.PRIMAL_INFEASIBLE, z=np.ones(3), y=[], z_lower=np.zeros(3), z_upper=np.zeros(3)
    )
    for farthest, contradicts in ((2.0 / seen_at, False), (0.5 / seen_at, True)):
        for ub in (np.inf, 0.0):
            program = QuadraticProgram(
                None, np.zeros(3), G=rows, h=h, lb=[-farthest, -np.inf, -np.inf],
                ub=[ub, np.inf, np.inf],
            )  # fmt: skip
            assert (farkas_violation(program, claimed) <= PROOF_TOLERANCE) == contradicts


@pytest.mark.parametrize("apart", [1e-12, 1e-10, 1e-9, 1e-6])
def test_bounds_that_cross_by_little_are_a_contradiction(apart: float) -> None:
    rows = QuadraticProgram(np.eye(2), [0.0, 0.0], G=[[1.0, 0.0], [-1.0, 0.0]], h=[1 - apart, -1])
    certificate = multipliers([1.0, 1.0])
    assert farkas_violation(rows, certificate) <= PROOF_TOLERANCE


FIBONACCI = ((63245986.0, 102334155.0, 165580141.0), (433494437.0, 701408733.0, 1134903170.0))
"""Neighbours a, b, c, for which ``ac - b^2`` is 1: nearly singular matrices of whole numbers."""


def nearly_singular(numbers: tuple[float, float, float]) -> np.ndarray:
    a, b, c = numbers
    assert int(a) * int(c) - int(b) ** 2 == 1
    return np.array([[a, b], [b, c]])


@pytest.mark.parametrize("numbers", FIBONACCI)
def test_a_direction_that_holds_up_to_rounding_is_no_proof(numbers: tuple[float, ...]) -> None:
    a, b, c = numbers
    matrix, q = nearly_singular((a, b, c)), np.array([-1.0, 1.0])
    along = QPSolution(Status.DUAL_INFEASIBLE, x=np.array([1.0, -b / c]))
    both = np.vstack([matrix, -matrix])
    curved = matrix if max(numbers) < 2**28 else np.array([[1.0, 1.0], [1.0, 1.0 + 2.0**-52]])
    for program in (
        QuadraticProgram(curved, q),  # positive definite: the minimum is finite
        QuadraticProgram(None, q, A=matrix, b=[1.0, 1.0]),  # one feasible point
        QuadraticProgram(None, q, G=both, h=np.ones(4)),  # a small parallelogram
    ):
        for x in (along.x, np.array([1.0, -1.0])):
            assert x is not None
            assert ray_violation(program, along.replace(x=x)) > PROOF_TOLERANCE
        assert find_ray(program) is None


def test_a_hessian_too_large_for_its_null_space_proves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    matrix = np.array([[1.0, 1.0], [1.0, 1.0]])
    program = QuadraticProgram(matrix, [-1.0, 1.0])
    along = QPSolution(Status.DUAL_INFEASIBLE, x=np.array([1.0, -1.0]))
    assert ray_violation(program, along) == 0.0
    monkeypatch.setattr("qpsvm.qp.infeasibility.EIGENVALUE_SIZE", 1)
    assert ray_violation(program, along) == np.inf
