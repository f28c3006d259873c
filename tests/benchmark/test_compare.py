"""Two runs: the same agree, what changed is named, and what is not comparable is left out."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.compare import compare
from benchmarks.store import Results
from tests.benchmark.handmade import LIMIT, failure, program, row, store
from tests.benchmark.test_metrics_uncertainty import NOISE, TRUTH

MACHINE = {"processor": "one", "cores": 2}
HEADER = {"qpsvm": "1", "machine": MACHINE}


def results(truth=TRUTH, seed=0, **options):
    options = {"repeats": 3, "noise": NOISE} | options
    return Results(HEADER, store(truth, seed=seed, **options))


def test_a_run_equals_itself():
    found = compare(results(), results())
    assert {change.log_ratio for change in found.times} == {0.0}
    assert (found.within, found.excess, found.speed, found.agrees) == (1.0, 0.0, 1.0, True)
    assert (found.outcomes, found.only_a, found.only_b, found.conditions) == ((), (), (), {})


def test_two_runs_of_the_same_agree_within_what_they_state():
    for seed in range(1, 6):
        found = compare(results(), results(seed=seed))
        assert found.within >= 0.9
        assert 0.6 <= found.excess <= 1.2  # the error of a median is stated a little too large
        assert found.agrees


def test_the_comparison_is_antisymmetric():
    there, back = compare(results(), results(seed=1)), compare(results(seed=1), results())
    assert there.speed == pytest.approx(1.0 / back.speed)
    assert there.within == back.within
    for a, b in zip(there.contestants, back.contestants, strict=True):
        assert a.ratio == pytest.approx(1.0 / b.ratio)
        assert a.high == pytest.approx(1.0 / b.low)


def test_a_contestant_that_became_slower_is_found():
    slower = TRUTH | {"s1": [1.5 * v for v in TRUTH["s1"]]}
    found = {c.contestant: c for c in compare(results(), results(slower, seed=1)).contestants}
    assert found["s1"].low <= 1.5 <= found["s1"].high
    assert found["s1"].low > 1.1
    assert all(found[who].low <= 1.1 for who in found if who != "s1")


def test_an_order_that_changed_by_more_than_is_stated_is_no_agreement():
    faster = TRUTH | {"s3": [v / 2.0 for v in TRUTH["s3"]]}
    assert compare(results(), results(faster, seed=1)).agrees is False


def test_drift_beyond_the_repeats_shows():
    rng = np.random.default_rng(3)
    drifted = {who: (v * np.exp(rng.normal(0.0, 0.5, 12))).tolist() for who, v in TRUTH.items()}
    found = compare(results(), results(drifted, seed=1))
    assert found.excess > 2.0
    assert found.within < 0.6


def test_lost_and_gained_programs_are_counted():
    a = results({"a": [1.0, "time limit", 1.0, "crash"]})
    b = results({"a": [1.0, 2.0, "time limit", "time limit"]}, seed=1)
    found = compare(a, b)
    (change,) = found.contestants
    assert (change.programs, change.gained, change.lost) == (1, 1, 1)
    assert [c.differs for c in found.times] == [False, True, True, None]
    assert {(o.before, o.after) for o in found.outcomes} == {
        ("time limit", "optimal"),
        ("optimal", "time limit"),
        ("crash", "time limit"),
    }


def test_what_was_left_out_of_a_sweep_has_no_outcome_to_change():
    a = Results(HEADER, (row("a", 1.0, eps=1e-2), failure("a", "not run", eps=1e-4)))
    b = Results(HEADER, (row("a", 1.0, eps=1e-2), row("a", 1.0, eps=1e-4)))
    assert compare(a, b).outcomes == ()


def test_the_lower_bounds_of_one_run_serve_both():
    peer = replace(row("peer", 1.0, dual=math.nan), gap=math.inf)
    with_bound = Results(HEADER, (peer, row("reference", 9.0)))
    found = compare(Results(HEADER, (peer,)), with_bound)
    assert all(change.a.reached and change.b.reached for change in found.times)


def test_what_one_run_attempted_only_is_named():
    a = results({"a": [1.0], "b": [1.0], "c": ["not installed"]})
    b = results({"a": [1.0], "b": ["unsupported"], "c": [1.0]})
    found = compare(a, b)
    assert found.only_a == ((program(0), "b"),)
    assert found.only_b == ((program(0), "c"),)
    assert [change.contestant for change in found.times] == ["a"]


def test_other_data_under_the_same_name_are_not_compared():
    a = results({"a": [1.0, 1.0]})
    b = Results(
        HEADER,
        tuple(replace(r, problem_hash="2" if r.instance == program(1) else "1") for r in a.rows),
    )
    a = Results(HEADER, tuple(replace(r, problem_hash="1") for r in a.rows))
    found = compare(a, b)
    assert found.other_programs == (program(1),)
    assert [change.instance for change in found.times] == [program(0)]


def test_kinds_of_programs_are_ranked_apart():
    penalised = "SoftMargin(C=1.0, intercept='penalized')"
    instances = {program(): ("a", "b"), program(family=penalised): ("b", "c")}
    rows = [row(who, 1.0, instance=i) for i, names in instances.items() for who in names]
    found = compare(Results(HEADER, tuple(rows)), Results(HEADER, tuple(rows)))
    assert [set(kind.contestants) for kind in found.rankings.values()] == [{"a", "b"}, {"b", "c"}]
    assert found.agrees


def test_another_machine_is_said():
    other = {"qpsvm": "2", "machine": MACHINE | {"cores": 64}}
    found = compare(results(), Results(other, results().rows))
    assert found.conditions == {"qpsvm": ("1", "2"), "cores": (2, 64)}


def test_other_threads_and_limits_are_said():
    before = results()
    given = {"threads": 2, "time_limit": 10.0}
    rows = tuple(replace(r, cell=replace(r.cell, **given)) for r in before.rows)
    found = compare(before, Results(HEADER | {"jobs": 4}, rows))
    assert found.times  # they are compared, and that is why it matters
    assert found.conditions == {
        "jobs": (None, 4),
        "threads": ([1], [2]),
        "time limit": ([LIMIT], [10.0]),
    }
    # the order of the rows, which is that of their end, means nothing
    both = (*before.rows, *rows)
    assert compare(Results(HEADER, both), Results(HEADER, both[::-1])).conditions == {}
    # what one run has alone was not given otherwise
    other = row("z", 1.0, threads=8)
    assert compare(before, Results(HEADER, (*before.rows, other))).conditions == {}


def test_empty_runs_say_nothing():
    for a, b in [(Results({}, ()), results()), (Results({}, ()), Results({}, ()))]:
        found = compare(a, b)
        assert (found.times, found.agrees) == ((), None)
        assert math.isnan(found.within)
        assert math.isnan(found.speed)
