"""For every C in the range the machine that is returned is within eps of the optimum."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pytest

import qpsvm
from qpsvm.exceptions import InvalidParameterError, ToleranceNotReachedError
from qpsvm.paths import PathSettings, certified_path
from tests import tolerances
from tests.paths.cases import DEGENERATE, RANGES, T, X, Y, between

OVER_C = [case for case, (over, *_) in RANGES.items() if over == "C"]
LOW, HIGH = 0.1, 20.0


@functools.cache
def cover_of(case, eps=0.05, kernel="rbf"):
    _, formulation, y, *_ = RANGES[case]
    return certified_path(X, y, C=(LOW, HIGH), formulation=formulation, eps=eps, kernel=kernel)


def true_gap(path, C):
    """Distance of the returned machine from an independent lower bound, relative to its cost."""
    problem, solution = path.problem_at(C), path.solution_at(C)
    optimum = qpsvm.certify(problem, qpsvm.solve(problem, eps=1e-9))
    model = problem.model
    cost = model.primal_objective(model.decision_values(solution))
    return (cost - optimum.dual_objective) / max(abs(cost), optimum.floor)


@pytest.mark.parametrize("case", OVER_C)
def test_the_machine_is_within_eps_at_random_prices(case) -> None:
    path = cover_of(case)
    assert path.is_proven
    for C in between(LOW, HIGH, 3):
        assert true_gap(path, C) <= path.gap_at(C) * (1.0 + 1e-9) + tolerances.ASKED
        assert path.gap_at(C) <= path.eps


@pytest.mark.parametrize("eps", [0.3, 0.01])
def test_other_accuracies_and_a_linear_kernel(eps) -> None:
    path = cover_of("hinge", eps, "linear")
    assert path.is_proven
    assert max(true_gap(path, C) for C in between(LOW, HIGH, 6)) <= eps


def test_squared_losses_are_covered_too() -> None:
    formulation = qpsvm.SoftMargin(loss="squared_hinge")
    path = certified_path(X, Y, C=(LOW, HIGH), formulation=formulation, eps=0.05)
    assert path.is_proven
    assert max(true_gap(path, C) for C in between(LOW, HIGH, 5)) <= path.eps


def test_intervals_meet_and_hold_their_machine() -> None:
    path = cover_of("hinge")
    begins, ends = path.intervals.T
    assert begins[0] == LOW
    assert ends[-1] == HIGH
    np.testing.assert_array_equal(begins[1:], ends[:-1])
    assert ((begins <= path.values) & (path.values <= ends)).all()


def test_few_machines() -> None:
    """Every interval but the last uses most of eps at both ends, so fewer would not do."""
    path = cover_of("hinge")
    gaps = np.array([part.gaps for part in path.parts])[:-1]
    assert gaps[:, [0, 2]].min() >= 0.8 * path.eps
    finer = cover_of("hinge", eps=0.0125)
    assert len(path.parts) < len(finer.parts) < 3 * len(path.parts)


def test_the_proof_is_evaluated_anew() -> None:
    path = cover_of("hinge")
    assert path.is_proven
    assert not replace(path, eps=0.5 * path.eps).is_proven
    assert not replace(path, high=2.0 * HIGH).is_proven
    assert not replace(path, low=0.5 * LOW).is_proven
    assert not replace(path, parts=path.parts[:1] + path.parts[2:]).is_proven
    first = path.parts[0]
    wrong = replace(first, machine=path.parts[-1].machine)
    assert not replace(path, parts=(wrong, *path.parts[1:])).is_proven


def test_one_machine_is_enough_where_nothing_changes() -> None:
    """Beyond C = 2 the machine of two samples is the hard margin's."""
    path = certified_path(*DEGENERATE["two samples"], C=(3.0, 1e4), kernel="linear", eps=1e-6)
    assert len(path.parts) == 1
    assert path.is_proven


def test_targets_that_fit_into_the_tube() -> None:
    """The optimum is zero, and the gap is relative to the floor."""
    formulation = qpsvm.EpsilonRegression(epsilon=2.0 * float(np.ptp(T)))
    path = certified_path(X, T, C=(LOW, HIGH), formulation=formulation)
    assert len(path.parts) == 1
    assert path.is_proven


def test_a_range_of_one_price() -> None:
    path = certified_path(X, Y, C=(1.0, 1.0))
    assert len(path.parts) == 1
    assert path.is_proven
    assert path.solution_at(1.0) is path.solutions[0]


def test_a_table_and_a_callback() -> None:
    seen = []
    path = certified_path(X, Y, C=(0.1, 10.0), eps=0.1, callback=seen.append)
    assert tuple(seen) == path.parts
    columns = path.columns()
    assert len(path.to_frame()) == len(columns["C"]) == len(path.parts)
    assert len(repr(path)) < 100


@pytest.mark.parametrize("C", [1.0, (1.0,), (2.0, 1.0), (0.0, 1.0), (1.0, np.inf), "ab"])
def test_a_range_that_is_none(C) -> None:
    with pytest.raises(InvalidParameterError, match="C is"):
        certified_path(X, Y, C=C)


def test_a_price_outside_the_range() -> None:
    with pytest.raises(InvalidParameterError, match=r"this path covers \[0.1, 20\]"):
        cover_of("hinge").solution_at(100.0)


def test_accuracies_that_cannot_be_reached() -> None:
    with pytest.raises(ToleranceNotReachedError, match="choose a larger eps"):
        certified_path(X, Y, C=(LOW, HIGH), eps=1e-15)
    with pytest.raises(ToleranceNotReachedError, match="1 machines cover C from"):
        certified_path(X, Y, C=(LOW, HIGH), settings=PathSettings(max_machines=1))
