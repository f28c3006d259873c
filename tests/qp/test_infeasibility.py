"""Evidence that there is no optimum: found when it exists, never found when it does not."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings

from qpsvm.qp import LowRankQuadratic, QPSolution, QuadraticProgram, Status
from qpsvm.qp.infeasibility import (
    farkas_violation,
    find_infeasibility,
    find_unboundedness,
    ray_violation,
)
from tests.strategies import examples, manufactured_program
from tests.tolerances import EVIDENCE


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
    evidence = find_infeasibility(program)
    assert evidence is not None
    assert evidence.status is Status.PRIMAL_INFEASIBLE
    assert farkas_violation(program, evidence) < EVIDENCE


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
    evidence = find_unboundedness(program)
    assert evidence is not None
    assert evidence.status is Status.DUAL_INFEASIBLE
    assert ray_violation(program, evidence) < EVIDENCE


@given(manufactured_program())
@settings(max_examples=examples(60))
def test_programs_with_an_optimum_yield_no_evidence(
    made: tuple[QuadraticProgram, QPSolution],
) -> None:
    program, _ = made
    assert find_infeasibility(program) is None
    assert find_unboundedness(program) is None
