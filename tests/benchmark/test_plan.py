"""The plan: laws that hold for any outcomes, in any order, however often a run is interrupted."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.plan import CUT_OFF, NOT_REPEATED, REGARDLESS_OF_EPS, make_plan
from benchmarks.rows import OUTCOMES, Row
from benchmarks.suite import suite_of

EPS = (1e-2, 1e-4, 1e-6)
REPEATS = 3
SUITE = suite_of(
    {
        "repeats": REPEATS,
        "repeat_below": 5.0,
        "targets": [1e-3, 1e-5],
        "grid": [
            {
                "family": ["SoftMargin(C=1.0)", "HardMargin"],
                "data": ["iris"],
                "contestants": ["cvxopt", "osqp"],
                "eps": list(EPS),
            }
        ],
    }
)

outcomes = st.sampled_from(sorted(set(OUTCOMES) - {"not run"}))
results = st.builds(
    lambda outcome, gap, missed, seconds: {
        "outcome": outcome,
        **(
            {"gap": gap, "primal": 1.0, "dual": 1.0 - gap, "size": 1.0}
            if outcome == "optimal"
            else {}
        ),
        "residuals": {"feasibility": missed},
        "total_seconds": math.nan if outcome in NOT_REPEATED else seconds,
    },
    outcomes,
    st.sampled_from([1e-2, 1e-4, 1e-7]),
    st.sampled_from([0.0, 0.0, 1e-3]),
    st.sampled_from([0.1, 4.0, 6.0, 50.0, 70.0]),
)


@st.composite
def worlds(draw):
    """What every cell would give, and how many rows each session lives for."""
    found = {}
    for first in SUITE.cells:
        for k in range(REPEATS):
            cell = replace(first, repeat=k)
            found[cell] = Row(cell, **draw(results))
    return found, draw(st.lists(st.integers(1, 12), max_size=4))


def finish(world, sessions=()):
    """Every row of a run that is killed after so many rows in each session, then completed."""
    done = {}
    for lifetime in (*sessions, 10**6):
        rows_left = lifetime
        while True:
            plan = make_plan(SUITE, done)
            new = [*plan.rows, *(world[cell] for cell in plan.cells)][:rows_left]
            for row in new:
                assert row.cell not in done
                done[row.cell] = row
            rows_left -= len(new)
            if not new or not rows_left:
                break
    return done


@given(worlds())
def test_an_interrupted_run_ends_with_the_same_rows(drawn):
    world, sessions = drawn
    assert finish(world, sessions) == finish(world)


@given(worlds())
def test_every_cell_of_the_suite_has_a_row(drawn):
    done = finish(drawn[0])
    assert set(SUITE.cells) <= set(done)


def reached(row):
    """The tightest target: by its gap, and with no constraint missed by more."""
    return max(row.gap, row.residuals["feasibility"]) <= 1e-5


@given(worlds())
def test_a_sweep_ends_at_a_limit_or_at_the_tightest_target_and_nowhere_else(drawn):
    done = finish(drawn[0])
    for sweep in SUITE.sweeps():
        ended = False
        for cell in sweep:
            row = done[cell]
            if ended:
                assert row.outcome == "not run" or row.outcome in REGARDLESS_OF_EPS
                assert row.message or row.outcome != "not run"
            else:
                assert row == drawn[0][cell]
            ended = ended or row.outcome in CUT_OFF | REGARDLESS_OF_EPS or row.total_seconds > 60.0
            repeats = [replace(cell, repeat=k) for k in range(REPEATS)]
            ended = ended or all(reached(done[c]) for c in repeats if c in done)


@given(worlds())
def test_what_was_fast_enough_is_repeated_and_nothing_else(drawn):
    done = finish(drawn[0])
    for cell in SUITE.cells:
        repeats = sum(replace(cell, repeat=k) in done for k in range(1, REPEATS))
        assert repeats == (REPEATS - 1 if done[cell].total_seconds < 5.0 else 0)


def test_what_was_left_out_is_measured_once_its_reason_is_gone():
    first = next(SUITE.sweeps())
    cut = Row(first[0], "time limit")
    done = {first[0]: cut}
    done |= {row.cell: row for row in make_plan(SUITE, done).rows}
    assert [done[cell].outcome for cell in first[1:]] == ["not run"] * (len(first) - 1)
    done[first[0]] = Row(first[0], "inaccurate", total_seconds=50.0)  # measured again
    assert first[1] in make_plan(SUITE, done).cells


def test_a_repeat_that_missed_the_target_does_not_end_the_sweep():
    first = next(SUITE.sweeps())
    for gap, next_is_due in ((1e-7, False), (1e-4, True)):
        rows = {"outcome": "optimal", "primal": 1.0, "size": 1.0, "total_seconds": 1.0}
        done = {}
        for k, each in enumerate((1e-7, gap, 1e-7)):
            cell = replace(first[0], repeat=k)
            done[cell] = Row(cell, **rows, gap=each, dual=1.0 - each)
            assert (first[1] in make_plan(SUITE, done).cells) == (next_is_due and k == 2)


@pytest.mark.parametrize("outcome", sorted(REGARDLESS_OF_EPS))
def test_what_does_not_depend_on_eps_is_said_of_all(outcome):
    first = next(SUITE.sweeps())
    done = {first[0]: Row(first[0], outcome, message="why")}
    rows = [row for row in make_plan(SUITE, done).rows if row.cell in first]
    assert [(row.cell, row.outcome, row.message) for row in rows] == [
        (cell, outcome, "why") for cell in first[1:]
    ]


def test_loose_before_tight_and_repeats_apart():
    world = {
        replace(cell, repeat=k): Row(replace(cell, repeat=k), "inaccurate", total_seconds=1.0)
        for cell in SUITE.cells
        for k in range(REPEATS)
    }
    done, steps = {}, []
    while (plan := make_plan(SUITE, done)).cells:
        steps.append({(cell.eps, cell.repeat) for cell in plan.cells})
        assert len({(c.sweep, c.eps) for c in plan.cells}) == len(plan.cells)
        done |= {cell: world[cell] for cell in plan.cells}
    assert steps == [
        {(1e-2, 0)},
        {(1e-4, 0), (1e-2, 1)},
        {(1e-6, 0), (1e-4, 1), (1e-2, 2)},
        {(1e-6, 1), (1e-4, 2)},
        {(1e-6, 2)},
    ]
