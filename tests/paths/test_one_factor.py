"""Linear machines along C, each from the one before: optimal, proven, the same in every thread."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm
from qpsvm.paths import sequences, svm_path
from qpsvm.paths import training as path_training
from qpsvm.paths.training import Training
from qpsvm.qp.solution import Status
from tests import tolerances
from tests.paths.cases import DEGENERATE, RANGES, X, Y
from tests.paths.sequences import VALUES, require_optimal, shared_machines

SERVED = (
    "hinge",
    "no intercept",
    "penalized intercept",
    "class weights",
    "regression over C",
    "quantile",
)


def prepared(over, formulation, y, samples=X):
    training = Training.of(samples, y, kernel="linear", over=over, formulation=formulation)
    return training, shared_machines(training)


@pytest.mark.parametrize("case", SERVED)
def test_machines_are_those_of_independent_solves(case) -> None:
    over, formulation, y, _, _ = RANGES[case]
    require_optimal(*prepared(over, formulation, y))


@pytest.mark.parametrize("case", ["copies", "copies in both classes", "a grid", "separable"])
def test_degenerate_samples(case) -> None:
    samples, y = DEGENERATE[case]
    training, shared = prepared("C", qpsvm.SoftMargin(), y, samples)
    if shared is None:  # copies leave too few
        samples, y = np.vstack([X, X]), np.concatenate([Y, Y])
        training, shared = prepared("C", qpsvm.SoftMargin(), y, samples)
    require_optimal(training, shared)


@pytest.mark.parametrize("case", sorted(set(RANGES) - set(SERVED)))
def test_other_programs_are_not_served(case) -> None:
    over, formulation, y, _, _ = RANGES[case]
    assert prepared(over, formulation, y)[1] is None


def test_neither_are_kernels_and_few_samples_for_each_feature() -> None:
    own = Training.of(X, Y, kernel="rbf", formulation=qpsvm.SoftMargin(intercept="none"))
    assert shared_machines(own) is None
    wide, y = DEGENERATE["wide"]
    assert prepared("C", qpsvm.SoftMargin(), y, wide)[1] is None


def test_a_machine_that_is_not_optimal_is_solved(monkeypatch) -> None:
    asked, solved_machine, found = [], path_training.solved, sequences._solved

    def wrong(program, last, eps):
        point = found(program, last, eps)
        return point if np.max(program.upper) < 1.0 else replace(point, x=0.9 * point.x)

    def solved(problem, eps, start=None, backend="auto"):
        asked.append(problem.formulation.C)
        return solved_machine(problem, eps, start, backend)

    monkeypatch.setattr(sequences, "_solved", wrong)
    monkeypatch.setattr(path_training, "solved", solved)
    path = svm_path(X, Y, kernel="linear", values=VALUES, exact=False)
    assert asked == VALUES[VALUES >= 1.0].tolist()
    assert {solution.status for solution in path.solutions} == {Status.OPTIMAL}
    assert max(path.relative_gaps) <= tolerances.ASKED


def test_ends_where_no_point_near_is_found(monkeypatch) -> None:
    def nowhere(search, *_):
        return search.initial_point()

    monkeypatch.setattr(sequences, "solve_by_proximal_steps", nowhere)
    require_optimal(*prepared("C", qpsvm.SoftMargin(), Y))


def test_sparse_samples_have_the_same_machines() -> None:
    one, other = (
        svm_path(samples, Y, kernel="linear", values=VALUES, exact=False)
        for samples in (X, sp.csr_array(X))
    )
    for left, right in zip(one.certificates, other.certificates, strict=True):
        difference = abs(left.primal_objective - right.primal_objective)
        assert difference <= 2.0 * tolerances.ASKED * left.primal_objective


def test_ctrl_c_within_a_solve_ends_a_path(monkeypatch) -> None:
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(sequences, "solve", stopped)
    with pytest.raises(KeyboardInterrupt):
        svm_path(X, Y, kernel="linear", values=VALUES, exact=False)
