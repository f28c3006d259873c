"""Linear machines along C, each from the one before: optimal, proven, the same in every thread."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm
from qpsvm.paths import sequences, svm_path
from qpsvm.paths.program import parametric_program
from qpsvm.paths.sequences import OneFactor
from qpsvm.paths.training import Training
from qpsvm.qp.solution import Status
from tests import tolerances
from tests.paths.cases import DEGENERATE, RANGES, X, Y
from tests.paths.sequences import VALUES, require_optimal

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
    program = parametric_program(training, 0.1, 0.9)
    return training, OneFactor.of(training, program)


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
    training = Training.of(X, Y, kernel="rbf")
    program = parametric_program(training, 0.1, 0.9)
    assert OneFactor.of(training, program) is None
    wide, y = DEGENERATE["wide"]
    assert prepared("C", qpsvm.SoftMargin(), y, wide)[1] is None


def test_a_machine_that_is_not_optimal_is_solved(monkeypatch) -> None:
    def wrong(self, C, last, growth, eps):
        found = right(self, C, last, growth, eps)
        return found if C < 1.0 else sequences.replace(found, x=0.9 * found.x)

    right = OneFactor._found
    monkeypatch.setattr(OneFactor, "_found", wrong)
    path = svm_path(X, Y, kernel="linear", values=VALUES, exact=False)
    asked = [bool(solution.qp.statistics.backend) for solution in path.solutions]
    assert asked == (VALUES >= 1.0).tolist()
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
