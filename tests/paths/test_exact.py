"""The exact path is optimal at every value, linear between events, and changes at events only."""

from __future__ import annotations

import functools
from itertools import pairwise

import numpy as np
import pytest

import qpsvm
from qpsvm.exceptions import InvalidParameterError
from qpsvm.paths import PathSettings, svm_path
from qpsvm.paths.following import piece_end
from qpsvm.paths.pieces import AT_LOWER, AT_UPPER, Piece, active_set_of
from qpsvm.qp.solution import QPSolution, Status
from tests import tolerances
from tests.paths.cases import DEGENERATE, RANGES, X, Y, between

EVERY = pytest.mark.parametrize("case", RANGES)
KERNELS = pytest.mark.parametrize("kernel", ["rbf", "linear"])
DEGENERATES = pytest.mark.parametrize("case", DEGENERATE)


@functools.cache
def path_of(case, kernel="rbf"):
    over, formulation, y, low, high = RANGES[case]
    own = {"kernel": kernel, "over": over, "formulation": formulation}
    return svm_path(X, y, values=[low, high], exact=True, **own)


@functools.cache
def degenerate_path(case, kernel="linear", intercept="free"):
    data = DEGENERATE[case]
    formulation = qpsvm.SoftMargin(intercept=intercept)
    return svm_path(
        *data, kernel=kernel, values=[0.001, 100.0], formulation=formulation, exact=True
    )


def interpolated(path, value):
    """The machine of the piecewise linear alpha itself, never mended by a solver."""
    program = path.trace.program
    alpha = path.trace.alpha_at(program.change(value))
    assert alpha is not None
    return path.problem_at(value).recover(QPSolution(Status.UNKNOWN, x=alpha))


def gap(path, value):
    return qpsvm.certify(path.problem_at(value), interpolated(path, value)).relative_gap


@KERNELS
@EVERY
def test_between_events_alpha_is_optimal(case, kernel) -> None:
    path = path_of(case, kernel)
    assert path.is_exact
    values = between(*path.values, 8)
    assert max(gap(path, value) for value in values) < tolerances.CERTIFIED


@EVERY
def test_a_machine_is_handed_out_verified(case) -> None:
    path = path_of(case)
    for value in between(*path.values, 3, seed=1):
        solution = path.solution_at(value)
        assert solution.status is Status.OPTIMAL
        assert qpsvm.verify(path.problem_at(value), solution).passed


@EVERY
def test_it_equals_an_independent_solve(case) -> None:
    path = path_of(case)
    value = between(*path.values, 1, seed=2)[0]
    problem = path.problem_at(value)
    proof = qpsvm.certify(problem, qpsvm.solve(problem, eps=tolerances.TIGHT))
    own = qpsvm.certify(problem, path.solution_at(value))
    allowed = tolerances.SAME_OBJECTIVE * abs(proof.primal_objective)
    assert abs(own.primal_objective - proof.primal_objective) <= allowed


@EVERY
def test_alpha_is_continuous_at_events_and_linear_between(case) -> None:
    path = path_of(case)
    stretches, program = path.trace.stretches, path.trace.program
    unit = max(np.max(np.abs(s.alpha_at(program, s.end))) for s in stretches)
    for left, right in pairwise(stretches):
        jump = left.alpha_at(program, left.end) - right.alpha_at(program, right.begin)
        assert np.max(np.abs(jump)) <= tolerances.POLISHED * unit
    for stretch in stretches:
        ends = [stretch.alpha_at(program, s) for s in (stretch.begin, stretch.end)]
        middle = stretch.alpha_at(program, 0.5 * (stretch.begin + stretch.end))
        assert np.max(np.abs(0.5 * (ends[0] + ends[1]) - middle)) <= tolerances.POLISHED * unit


@EVERY
def test_the_active_set_changes_at_events_and_nowhere_else(case) -> None:
    path = path_of(case)
    places = sorted({event.value for event in path.events})
    assert places
    assert path.values[0] <= places[0]
    assert places[-1] <= path.values[-1]
    inside = [(left, right) for left, right in pairwise(places) if right - left > 1e-6 * right]
    for left, right in inside[:: max(1, len(inside) // 5)]:
        states = [states_at(path, left + share * (right - left)) for share in (0.1, 0.9)]
        np.testing.assert_array_equal(*states)


def states_at(path, value):
    alpha = path.trace.alpha_at(path.trace.program.change(value))
    c = path.problem_at(value).model.conditions
    unit = np.minimum(c.upper - c.lower, np.max(np.abs(alpha)))
    near_upper, near_lower = c.upper - alpha <= 1e-10 * unit, alpha - c.lower <= 1e-10 * unit
    return near_upper.astype(int) - near_lower


def test_an_event_says_what_changes() -> None:
    path = path_of("hinge")
    event = path.events[len(path.events) // 2]
    step = 1e-7 * event.value
    word = {-1: "lower", 0: "free", 1: "upper"}
    below, above = (states_at(path, event.value + side * step) for side in (-1.0, 1.0))
    assert (word[below[event.variable]], word[above[event.variable]]) == event[3:]
    assert event.sample == event.variable


@DEGENERATES
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_degenerate_data(case, kernel) -> None:
    path = degenerate_path(case, kernel)
    gaps = [gap(path, value) for value in between(*path.values, 6)]
    assert max(gaps) < tolerances.CERTIFIED


@DEGENERATES
@pytest.mark.parametrize("intercept", ["none", "penalized"])
def test_degenerate_data_without_a_free_intercept(case, intercept) -> None:
    path = degenerate_path(case, intercept=intercept)
    gaps = [gap(path, value) for value in between(*path.values, 4)]
    assert max(gaps) < tolerances.CERTIFIED


def test_the_closed_form_of_two_samples() -> None:
    """alpha = min(C, 2 / |x - z|^2): one event at C = 2."""
    path = degenerate_path("two samples")
    for C in (0.5, 1.0, 3.0):
        assert path.solution_at(C).alpha == pytest.approx([min(C, 2.0)] * 2, abs=1e-12)
    assert {round(event.value, 9) for event in path.events} == {2.0}


def test_overlapping_classes_whose_best_margin_has_no_width() -> None:
    """With rho = 0 every multiplier is zero and many active sets are optimal."""
    y = np.where(np.arange(len(X)) % 2, 1, -1)
    path = svm_path(X, y, kernel="linear", over="nu", values=[0.3, 0.9])
    assert {s.status for s in path.solutions} == {Status.OPTIMAL}
    for nu in between(0.3, 0.9, 4):
        assert qpsvm.verify(path.problem_at(nu), path.solution_at(nu)).passed


def test_weights_and_labels_of_any_kind() -> None:
    weights = np.random.default_rng(3).uniform(0.0, 2.0, len(X))
    weights[::7] = 0.0
    labels = np.where(Y > 0, "yes", "no")
    path = svm_path(X, labels, values=[0.1, 10.0], sample_weight=weights)
    assert path.is_exact
    assert gap(path, 1.0) < tolerances.CERTIFIED
    assert not {event.sample for event in path.events} & set(range(0, len(X), 7))
    assert set(path.solution_at(1.0).predict(X)) == {"yes", "no"}


def test_a_lost_path_goes_on_as_a_sequence() -> None:
    settings = PathSettings(max_events=3)
    path = svm_path(X, Y, values=[0.01, 0.1, 1.0, 10.0], exact=True, settings=settings)
    assert not path.is_exact
    assert len(path.trace.stretches) == 3
    assert max(path.relative_gaps) < tolerances.ASKED
    assert path.solution_at(3.0).status is Status.OPTIMAL


def test_a_solver_finds_the_path_again() -> None:
    settings = PathSettings(max_exchanges=0)  # every event is too hard
    assert svm_path(X[:12], Y[:12], values=[0.1, 10.0], settings=settings).trace is None
    path = svm_path(X[:12], Y[:12], values=[0.1, 10.0], exact=True, settings=settings)
    assert path.trace.n_restarts > 5
    known = [C for C in between(0.1, 10.0, 8) if path.trace.alpha_at(C) is not None]
    assert known
    assert max(gap(path, C) for C in known) < tolerances.CERTIFIED


def test_an_active_set_that_is_not_optimal_has_no_piece() -> None:
    path, C = path_of("hinge"), 1.05
    program = path.trace.program
    active = active_set_of(program, path.solution_at(C), 1e-9)
    piece = Piece.of(program, active, C)
    assert piece_end(program, piece, C, 2.0 * C)[0] > C
    assert piece_end(program, piece, C, 0.5 * C)[0] < C
    for variable in range(len(program)):
        other = AT_UPPER if active.states[variable] != AT_UPPER else AT_LOWER
        wrong = Piece.of(program, active.with_state(variable, other), C)
        assert piece_end(program, wrong, C, 2.0 * C)[0] == -np.inf
        assert piece_end(program, wrong, C, 0.5 * C)[0] == np.inf


def test_a_squared_loss_is_not_piecewise_linear() -> None:
    formulation = qpsvm.SoftMargin(loss="squared_hinge")
    path = svm_path(X, Y, values=[0.1, 1.0], formulation=formulation)
    assert path.trace is None
    assert path.events == ()
    assert max(path.relative_gaps) < tolerances.ASKED
    with pytest.raises(InvalidParameterError, match="not piecewise linear in C"):
        svm_path(X, Y, values=[0.1, 1.0], formulation=formulation, exact=True)
