"""A jump from the active set at one value is optimal at another, or says that it is not."""

from __future__ import annotations

import numpy as np
import pytest

import qpsvm
from qpsvm.paths import PathSettings, svm_path
from qpsvm.paths.program import parametric_program
from qpsvm.paths.steps import jumped
from qpsvm.paths.training import Training
from qpsvm.qp.solution import QPSolution, Status
from tests import tolerances
from tests.paths.cases import RANGES, X, Y

DEFAULTS = PathSettings()

JUMPING = qpsvm.SoftMargin(intercept="none")
"""With a free intercept, a sequence over C is that of ``paths.one_matrix``."""


def prepared(case, kernel="rbf"):
    over, formulation, y, low, high = RANGES[case]
    training = Training.of(X, y, kernel=kernel, over=over, formulation=formulation)
    program = parametric_program(training, low, high)
    assert program is not None
    return training, program, 1.01 * np.sqrt(low * high)  # nu n is a whole number without 1.01


@pytest.mark.parametrize("case", RANGES)
def test_a_jump_that_is_not_contradicted_is_optimal(case) -> None:
    training, program, value = prepared(case)
    start = training.solved(value, eps=tolerances.LAW_EPS, backend="active-set")
    n_optimal = 0
    for factor in (0.8, 1.0, 1.05, 1.3):
        alpha, is_optimal = jumped(program, start, program.from_parameter(factor * value), DEFAULTS)
        problem = training.problem(factor * value)
        c = problem.model.conditions
        if is_optimal:
            machine = problem.recover(QPSolution(Status.UNKNOWN, x=alpha))
            assert qpsvm.certify(problem, machine).relative_gap < tolerances.CERTIFIED
            n_optimal += 1
        elif alpha is not None:
            room = 1e-12 * np.max(c.upper)
            assert (c.lower - room <= alpha).all()
            assert (alpha <= c.upper + room).all()
    assert n_optimal >= 2


def test_dependent_equations_end_a_jump() -> None:
    """More free variables than features and rows: an interior point of the optimal face."""
    training, program, value = prepared("hinge", "linear")
    start = training.solved(value, eps=tolerances.LAW_EPS, backend="active-set")
    inside = start.replace(alpha=0.5 * start.conditions.upper)
    assert jumped(program, inside, value, DEFAULTS) == (None, False)


@pytest.mark.parametrize(
    "settings",
    [DEFAULTS, PathSettings(jump_steps=0), PathSettings(jump_steps=1), PathSettings(kept_bytes=0)],
)
def test_a_sequence_is_optimal_with_and_without_jumps(settings) -> None:
    values = np.geomspace(0.1, 10.0, 5)
    path = svm_path(X, Y, values=values, exact=False, settings=settings, formulation=JUMPING)
    assert {solution.status for solution in path.solutions} == {Status.OPTIMAL}
    assert max(path.relative_gaps) < tolerances.ASKED


def test_a_jump_does_not_ask_a_solver() -> None:
    path = svm_path(X, Y, values=[1.0, 1.1], exact=False, formulation=JUMPING)
    backends = [solution.qp.statistics.backend for solution in path.solutions]
    assert backends[0] == "active-set"
    assert backends[1] == ""
