"""Time to a certified gap: what is a proof, what is a time, and what is neither."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.cells import Instance
from benchmarks.metrics.bounds import best_dual, contradictions, suboptimality, without_bound
from benchmarks.metrics.outcomes import accuracy_curves, false_claims, outcome_table
from benchmarks.metrics.times import by_kind, kind_of, measurements, times_to
from benchmarks.rows import OUTCOMES
from qpsvm.exceptions import StoreError
from tests.benchmark.handmade import LIMIT, failure, program, row, store

TARGET = 1e-6
COLUMN = (program(), "a")


# --- bounds ---------------------------------------------------------------------------------------


def test_the_best_bound_of_anybody_serves_a_contestant_without_multipliers():
    peer = row("peer", 1.0, gap=1e-4, dual=math.nan)
    peer = replace(peer, gap=math.inf)
    assert suboptimality(peer, best_dual([peer])) == math.inf
    other = row("other", 1.0)
    assert suboptimality(peer, best_dual([peer, other])) == pytest.approx(1e-4, rel=1e-3)


@given(
    primal=st.floats(1.0, 2.0),
    own=st.floats(-1.0, 1.0),
    others=st.lists(st.floats(-1.0, 1.0), max_size=4),
)
def test_it_is_never_more_than_the_own_gap(primal, own, others):
    answer = row("a", 1.0, primal=primal, dual=own, size=primal)
    answer = replace(answer, gap=(primal - own) / primal)
    rows = [answer, *(row(f"b{k}", 1.0, dual=dual) for k, dual in enumerate(others))]
    found = suboptimality(answer, best_dual(rows))
    assert found <= answer.gap + 1e-15
    assert found >= (primal - max([own, *others])) / primal - 1e-15


def test_references_bound_and_are_not_compared():
    rows = [replace(row("a", 1.0, gap=1e-4), dual=0.5), row("reference", 9.0)]
    assert set(times_to(rows, 1e-3)) == {COLUMN}
    assert times_to(rows, 1e-3)[COLUMN].reached
    assert not times_to(rows[:1], 1e-3)[COLUMN].reached


def test_a_name_that_begins_like_the_reference_is_a_contestant():
    names = ["reference", "reference(seed=1)", "reference_qp", "references(x=1)", "my:reference"]
    rows = [row(who, 1.0) for who in names]
    assert {who for _, who in times_to(rows, TARGET)} == set(names[2:])


def test_what_the_own_gap_holds_besides_the_difference_stays_in_it():
    # the price of missed constraints: P - D is nothing, the certificate's gap is not
    answer = replace(row("a", 1.0, gap=0.0), gap=0.1)
    assert suboptimality(answer, best_dual([answer])) == pytest.approx(0.1)


@pytest.mark.parametrize("name", ["feasibility", "rounding"])
def test_a_certificate_holds_only_as_far_as_feasibility_and_rounding(name):
    answer = row("a", 1.0, residuals={name: 1e-3})
    assert suboptimality(answer, best_dual([answer])) == 1e-3


BROKEN = {
    "primal-nan": {"primal": math.nan},
    "primal-inf": {"primal": math.inf},
    "size-nan": {"size": math.nan},
    "size-zero": {"size": 0.0},
    "feasibility-nan": {"residuals": {"feasibility": math.nan}},
    "rounding-nan": {"residuals": {"rounding": math.nan}},
    "below-the-bound": {"primal": 0.5},
}


@pytest.mark.parametrize("name", BROKEN)
def test_anything_but_numbers_fails_closed(name):
    answer = row("a", 1.0, **BROKEN[name])
    assert not suboptimality(answer, best_dual([answer, row("b", 1.0)])) <= 0.1


@pytest.mark.parametrize("seconds", [math.nan, math.inf, 0.0, -1.0])
def test_an_answer_without_a_time_has_not_reached_anything(seconds):
    assert not times_to([row("a", seconds)], TARGET)[COLUMN].reached


def test_a_repeat_without_a_time_leaves_the_others_alone():
    rows = [row("a", 1.0), row("a", math.nan, repeat=1), row("b", 1.0), row("b", 1.1, repeat=1)]
    a, b, once = times_to([*rows, row("c", 1.0)], TARGET).values()
    assert not a.reached
    assert b.low < b.seconds < b.high
    assert once.error > 0.0


def test_numbers_beside_an_outcome_without_an_answer_are_none():
    for outcome in ("crash", "error", "not run", "unproven infeasible", "false infeasible"):
        assert suboptimality(row("a", 1.0, outcome=outcome), {program(): 1.0}) == math.inf


def test_an_objective_below_a_lower_bound_is_a_contradiction():
    right = [row("a", 1.0), row("b", 1.0, gap=1e-12)]
    assert contradictions(right) == ()
    wrong = row("c", 1.0, dual=1.1)
    found = contradictions([*right, wrong])
    assert {(c.upper, c.lower) for c in found} == {("a", "c"), ("b", "c"), ("c", "c")}
    # and it makes nobody optimal
    assert not any(t.reached for t in times_to([*right, wrong], TARGET).values())


def test_an_objective_below_the_bound_contradicts_nothing_where_constraints_are_missed():
    missed = row("a", 1.0, primal=0.5, residuals={"feasibility": 0.1})
    assert contradictions([missed, row("b", 1.0)]) == ()


def test_infeasibility_within_rounding_excuses_no_contradiction():
    below = row("a", 1.0, primal=0.5, residuals={"feasibility": 1e-17})
    assert [c.upper for c in contradictions([below, row("b", 1.0)])] == ["a"]


def test_what_contradicts_the_best_bound_has_reached_nothing():
    # by little more than rounding: much less than the target
    below = row("a", 1.0, primal=1.0 - 1e-7)
    rows = [replace(below, gap=1e-7), row("b", 1.0)]
    assert contradictions(rows)
    times = times_to(rows, TARGET)
    assert {who: t.reached for (_, who), t in times.items()} == {"a": False, "b": True}
    # and by rounding alone is no contradiction
    rows[0] = row("a", 1.0, primal=1.0 - 1e-12)
    assert times_to(rows, TARGET)[COLUMN].reached


def test_an_optimum_of_a_program_that_was_proven_to_have_none_is_a_contradiction():
    rows = [failure("prover", "infeasible"), row("a", 1.0), row("a", 1.0, repeat=1)]
    (found,) = contradictions(rows)
    assert (found.upper, found.lower, found.dual) == ("a", "prover", math.inf)
    assert found.primal == rows[1].primal
    stopped = row("a", 1.0, outcome="inaccurate")
    assert contradictions([rows[0], stopped]) == ()


def test_two_programs_under_one_name_are_refused():
    rows = [row("a", 1.0, problem_hash="1"), row("b", 1.0), row("c", 1.0, problem_hash="2")]
    best_dual(rows[:2])
    with pytest.raises(StoreError, match="new store"):
        best_dual(rows)


# --- times ----------------------------------------------------------------------------------------


def test_the_cheapest_tolerance_that_reaches_the_gap_counts():
    rows = [
        row("a", 1.0, eps=1e-2, gap=1e-3),
        row("a", 7.0, eps=1e-4, gap=1e-5),
        row("a", 5.0, eps=1e-6, gap=1e-7),
    ]
    for target, seconds, eps in [(1e-2, 1.0, 1e-2), (1e-4, 5.0, 1e-6), (1e-6, 5.0, 1e-6)]:
        timing = times_to(rows, target)[COLUMN]
        assert (timing.seconds, timing.eps) == (seconds, eps)
    timing = times_to(rows, 1e-9)[COLUMN]
    assert timing.seconds == math.inf
    assert timing.gap == pytest.approx(1e-7, rel=1e-6)


def test_it_is_the_median_of_the_repeats_and_all_of_them_must_reach_it():
    rows = [row("a", seconds, repeat=k) for k, seconds in enumerate([1.0, 9.0, 2.0])]
    assert times_to(rows, TARGET)[COLUMN].seconds == 2.0
    rows.append(row("a", 1.0, repeat=3, gap=1e-3))
    assert not times_to(rows, TARGET)[COLUMN].reached
    rows[-1] = failure("a", "crash", repeat=3)
    assert not times_to(rows, TARGET)[COLUMN].reached
    assert times_to(rows, TARGET)[COLUMN].outcome == "crash"


points = st.tuples(st.floats(1e-3, 50.0), st.floats(1e-12, 1.0), st.integers(1, 3))


@given(sweep=st.lists(points, min_size=1, max_size=5), targets=st.tuples(*[st.floats(0, 1)] * 2))
def test_less_accuracy_never_takes_longer_and_curves_agree(sweep, targets):
    rows = [
        row("a", seconds * (1 + r), gap=gap, eps=10.0**-k, repeat=r)
        for k, (seconds, gap, repeats) in enumerate(sweep)
        for r in range(repeats)
    ]
    tight, loose = (times_to(rows, target)[COLUMN].seconds for target in sorted(targets))
    assert loose <= tight
    curve = accuracy_curves(rows)[program()]["a"]
    for target, seconds in ((max(targets), loose), (min(targets), tight)):
        reached = (p.seconds for p in curve.points if p.reaches(target))
        assert min(reached, default=math.inf) == seconds
    assert list(curve.eps) == sorted(curve.eps, reverse=True)


def test_what_took_longer_than_it_was_given_has_not_reached_anything():
    rows = [row("a", LIMIT), row("b", 1.01 * LIMIT)]
    a, b = times_to(rows, TARGET).values()
    assert (a.reached, b.reached) == (True, False)
    # the accuracy is one all the same, and is not lost
    curves = accuracy_curves(rows)[program()]
    assert curves["b"].gaps == curves["a"].gaps
    assert not any(point.reaches(TARGET) for point in curves["b"].points)


def test_where_nobody_has_a_bound_an_answer_is_no_attempt():
    peer = replace(row("peer", 1.0, dual=math.nan), gap=math.inf)
    late = failure("late", "time limit")
    times = {who: t for (_, who), t in times_to([peer, late], TARGET).items()}
    assert (times["peer"].attempted, times["peer"].outcome) == (False, "no bound")
    # whoever has no answer at all failed, whatever the bound
    assert (times["late"].attempted, times["late"].outcome) == (True, "time limit")
    # nobody knows what the looser tolerance had reached
    cut_off = failure("peer", "time limit", eps=1e-9)
    assert not times_to([peer, cut_off], TARGET)[program(), "peer"].attempted
    # with a bound it is measured
    assert times_to([peer, row("reference", 9.0)], TARGET)[program(), "peer"].reached
    assert without_bound([peer, late], {}) == (program(),)
    assert without_bound([peer, failure("a", "infeasible")], {}) == ()


def test_an_attempt_at_any_tolerance_is_one():
    for outcome in ("unsupported", "not installed"):
        rows = [row("a", 1.0, eps=1e-2, gap=1e-2, outcome="inaccurate")]
        rows.append(failure("a", outcome, eps=1e-6))
        timing = times_to(rows, TARGET)[COLUMN]
        assert (timing.attempted, timing.reached, timing.outcome) == (True, False, "inaccurate")


def test_a_false_claim_can_still_reach_a_looser_gap():
    claim = row("a", 1.0, gap=1e-5, outcome="false optimal")
    assert times_to([claim], 1e-4)[COLUMN].reached
    assert not times_to([claim], 1e-6)[COLUMN].reached


def test_what_was_cut_off_keeps_the_gap_it_had():
    rows = [row("a", 60.0, gap=1e-5, outcome="time limit"), failure("b", "time limit")]
    assert times_to(rows, 1e-4)[COLUMN].reached
    curves = accuracy_curves(rows)[program()]
    assert curves["a"].gaps == pytest.approx([1e-5], rel=1e-4)
    assert curves["a"].without == ()
    assert curves["b"].points == ()
    assert curves["b"].without[0].outcome == "time limit"


def test_one_measurement_has_no_interval():
    timing = times_to([row("a", 1.0)], TARGET)[COLUMN]
    assert all(map(math.isnan, (timing.low, timing.high, timing.error)))
    # where others were repeated, it is taken to scatter like them, and still has none of its own
    others = [row("b", seconds, repeat=k) for k, seconds in enumerate([1.0, 1.1])]
    timing = times_to([row("a", 1.0), *others], TARGET)[COLUMN]
    assert timing.error > 0.0
    assert all(map(math.isnan, (timing.low, timing.high)))


def test_what_a_contestant_does_not_take_is_no_attempt_and_what_it_fails_is_one():
    for outcome in OUTCOMES:
        if outcome != "infeasible":
            timing = times_to([failure("a", outcome)], TARGET)[COLUMN]
            nothing = ("unsupported", "not installed", "not measured")
            assert timing.attempted == (outcome not in nothing)
            assert not timing.reached


def test_a_sweep_that_ended_failed_with_its_last_measured_outcome():
    rows = [failure("a", "time limit", eps=1e-2), failure("a", "not run", eps=1e-4)]
    assert times_to(rows, TARGET)[COLUMN].outcome == "time limit"


def test_programs_that_have_no_optimum_have_no_time():
    rows = [failure("a", "infeasible"), failure("b", "error"), row("a", 1.0, instance=program(1))]
    assert set(times_to(rows, TARGET)) == {(program(1), "a")}


def test_numbers_of_threads_are_contestants_apart():
    rows = [row("a", 4.0), row("a", 3.0, threads=2)]
    times = times_to(rows, TARGET)
    assert {who: t.seconds for (_, who), t in times.items()} == {
        "a [1 threads]": 4.0,
        "a [2 threads]": 3.0,
    }
    assert {who for _, who in times_to(rows[1:], TARGET)} == {"a"}


def test_intercepts_and_kernels_are_kinds_of_programs_apart():
    families = ["SoftMargin(C=1.0)", "SoftMargin(C=1.0, intercept='penalized')"]
    free, penalised = (program(family=family) for family in families)
    rbf = Instance(free.family, free.data, "rbf(gamma='scale')")
    rows = [row("a", 1.0, instance=i) for i in (free, penalised, rbf)]
    kinds = by_kind(times_to(rows, TARGET))
    assert [set(times) for times in kinds.values()] == [
        {(free, "a")},
        {(penalised, "a")},
        {(rbf, "a")},
    ]
    assert kind_of(free) == kind_of(program(7, family="SoftMargin(C=5.0)"))


def test_an_empty_store_has_nothing():
    assert (best_dual([]), times_to([], TARGET), measurements([])) == ({}, {}, {})
    assert (accuracy_curves([]), contradictions([]), false_claims([])) == ({}, (), ())
    assert outcome_table([]).contestants == ()


# --- outcomes -------------------------------------------------------------------------------------


def test_cells_count_once_as_the_worst_of_their_repeats():
    rows = [
        row("a", 1.0),
        row("a", 1.0, repeat=1),
        row("a", 1.0, eps=1e-4, outcome="optimal"),
        row("a", 1.0, eps=1e-4, outcome="false optimal", repeat=1),
        failure("b", "not installed"),
    ]
    table = outcome_table(rows)
    assert table.counts == {
        "a": {"optimal": 1, "false optimal": 1},
        "b": {"not installed": 1},
    }
    assert table.unsteady == {"a": 1, "b": 0}
    assert table.outcomes == ("optimal", "false optimal", "not installed")


def test_every_cell_has_one_outcome():
    rows = store(
        {"a": [1.0, "crash", "unsupported"], "b": [1.0, 2.0, "false infeasible"]}, repeats=3
    )
    table = outcome_table(rows)
    assert {who: sum(counts.values()) for who, counts in table.counts.items()} == {"a": 3, "b": 3}


def test_false_claims_come_furthest_first():
    rows = [
        row("a", 1.0, gap=1e-5, eps=1e-8, outcome="false optimal"),
        row("b", 1.0, gap=1e-3, eps=1e-8, outcome="false optimal"),
        row("c", 1.0, gap=1e-3, eps=1e-2, outcome="false optimal"),
        row("d", 1.0, gap=1e-3, outcome="above eps"),
        failure("e", "false infeasible"),
    ]
    found = false_claims(rows)
    assert [claim.contestant for claim in found] == ["e", "b", "a", "c"]
    assert found[1].gap == pytest.approx(1e-3, rel=1e-2)
    assert [claim.machine_is_optimal for claim in found] == [False, False, False, True]
