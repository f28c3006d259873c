"""Machines along C over one kernel matrix: optimal, and proven without a solver."""

from __future__ import annotations

import numpy as np
import pytest

from qpsvm.paths import PathSettings, svm_path
from qpsvm.paths import training as path_training
from qpsvm.paths.training import Training
from qpsvm.qp.solution import Status
from tests.paths.cases import RANGES, X, Y
from tests.paths.sequences import VALUES, require_optimal, shared_machines

DEFAULTS = PathSettings()
SERVED = ("hinge", "class weights", "regression over C", "quantile")


def prepared(case, settings=DEFAULTS):
    over, formulation, y, _, _ = RANGES[case]
    training = Training.of(X, y, kernel="rbf", over=over, formulation=formulation)
    return training, shared_machines(training, settings)


@pytest.mark.parametrize("case", SERVED)
def test_machines_are_those_of_independent_solves(case) -> None:
    require_optimal(*prepared(case))


@pytest.mark.parametrize("case", sorted(set(RANGES) - set(SERVED)))
def test_other_programs_are_not_served(case) -> None:
    assert prepared(case)[1] is None


def test_neither_are_matrices_that_may_not_be_kept() -> None:
    assert prepared("hinge", PathSettings(kept_bytes=8 * len(X) ** 2))[1] is not None
    assert prepared("hinge", PathSettings(kept_bytes=8 * len(X) ** 2 - 1))[1] is None


def test_a_machine_that_is_not_optimal_is_solved(monkeypatch) -> None:
    asked, solved = [], path_training.solved
    monkeypatch.setattr(path_training, "solved", lambda *given: asked.append(1) or solved(*given))
    settings = PathSettings(sequence_share=1e5)
    path = svm_path(X, Y, values=VALUES, exact=False, eps=1e-6, settings=settings)
    assert asked
    assert {solution.status for solution in path.solutions} == {Status.OPTIMAL}
    assert max(path.relative_gaps) <= 1e-6


def test_a_callback_ends_the_path() -> None:
    path = svm_path(X, Y, values=VALUES, exact=False, callback=lambda C, _: C < 0.1)
    assert len(path.solutions) == np.count_nonzero(VALUES < 0.1) + 1
