"""Who is faster: on the same programs, failures shown, third parties irrelevant where they are."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.metrics.profiles import performance_profile, win_matrix
from benchmarks.metrics.rankings import ranking
from benchmarks.metrics.scaling import power_law, scaling_fits, series_of
from benchmarks.metrics.tables import penalised, table_of
from benchmarks.metrics.times import times_to
from tests.benchmark.handmade import LIMIT, failure, program, row, store

TARGET = 1e-6


def times(values, **options):
    return times_to(store(values, **options), TARGET)


some_times = st.one_of(st.floats(1e-3, 50.0), st.sampled_from(["time limit", "crash"]))
fields = st.integers(1, 6).flatmap(
    lambda m: st.lists(st.lists(some_times, min_size=m, max_size=m), min_size=1, max_size=4)
)

bootstrapped = settings(max_examples=12)  # each draws a thousand tables


def named(columns):
    return {f"s{k}": column for k, column in enumerate(columns)}


# --- what is compared -----------------------------------------------------------------------------


def test_contestants_are_compared_on_common_programs_only():
    values = {"a": [1.0] * 4, "b": [2.0] * 4, "c": [9.0, "unsupported", 9.0, 9.0]}
    table = table_of(times(values))
    assert table.contestants == ("a", "b", "c")
    assert table.instances == (program(0), program(2), program(3))
    assert (table.seen, table.left_out) == (4, {})


def test_whoever_costs_more_programs_than_it_adds_is_left_out_and_named():
    values = {
        "a": [1.0] * 4,
        "b": [2.0] * 4,
        "c": ["unsupported", "unsupported", "unsupported", 9.0],
        "d": ["not installed"] * 4,
    }
    table = table_of(times(values))
    assert table.contestants == ("a", "b")
    assert len(table.instances) == 4
    assert table.left_out == {"c": "took part in 1 of 4 programs", "d": "not installed"}


def test_the_block_is_looked_for_from_everybody():
    # a took part in most programs, and alone; b, c and d on the same three others
    values = {
        "a": [1.0] * 4 + ["unsupported"] * 3,
        **{who: ["unsupported"] * 4 + [1.0] * 3 for who in "bcd"},
    }
    table = table_of(times(values))
    assert (table.contestants, len(table.instances)) == (("b", "c", "d"), 3)


def test_contestants_may_be_chosen():
    values = {"a": [1.0, 1.0], "b": ["unsupported", 2.0], "c": [3.0, "unsupported"]}
    table = table_of(times(values), ("a", "b"))
    assert table.instances == (program(1),)
    assert table_of(times(values), ("b", "c")).instances == ()


@given(fields)
def test_no_failure_is_better_than_a_success(columns):
    table = table_of(times(named(columns)))
    filled = penalised(table)
    failed = np.isinf(table.seconds)
    for p in range(len(table.instances)):
        if failed[p].any():
            assert np.min(filled[p][failed[p]]) >= max(
                LIMIT, np.max(filled[p][~failed[p]], initial=0)
            )


def test_beyond_the_limit_is_no_success():
    # a limit is for the fit, and a process may end a little later
    table = table_of(times({"a": [LIMIT + 5.0], "b": ["time limit"]}))
    assert penalised(table).tolist() == [[LIMIT] * 2]


def test_nothing_is_compared_with_nothing():
    assert ranking({}).ranks == ()
    assert performance_profile({}).taus.size == 0
    assert win_matrix({}).contestants == ()
    only = times({"a": ["not installed"]})
    assert ranking(only).ranks == ()
    assert table_of(only).left_out == {"a": "not installed"}


# --- means ----------------------------------------------------------------------------------------


def test_the_shifted_geometric_mean():
    (mean,) = ranking(times({"a": [1.0, 3.0]}), shift=1.0).ranks
    assert mean.seconds.value == pytest.approx(math.sqrt(2.0 * 4.0) - 1.0, rel=1e-12)
    assert (mean.solved, mean.failed) == (2, 0)


def test_the_mean_of_equal_times_is_that_time():
    for shift in (0.0, 0.1, 10.0):
        (mean,) = ranking(times({"a": [2.5] * 3}), shift=shift).ranks
        assert mean.seconds.value == pytest.approx(2.5, rel=1e-12)


@bootstrapped
@given(fields)
def test_doubling_all_times_doubles_means(columns):
    once = times(named(columns))
    doubled = [[2.0 * v if isinstance(v, float) else v for v in column] for column in columns]
    twice = times(named(doubled))
    single = ranking(once, shift=0.1, penalty_seconds=100.0).ranks
    double = ranking(twice, shift=0.2, penalty_seconds=200.0).ranks
    assert [mean.contestant for mean in single] == [mean.contestant for mean in double]
    for a, b in zip(single, double, strict=True):
        assert b.seconds.value == pytest.approx(2.0 * a.seconds.value, rel=1e-9)


@bootstrapped
@given(fields)
def test_a_failure_never_helps_and_is_counted(columns):
    before = {m.contestant: m for m in ranking(times(named(columns))).ranks}
    columns[0][0] = "crash"
    after = {m.contestant: m for m in ranking(times(named(columns))).ranks}
    assert after["s0"].seconds.value >= before["s0"].seconds.value - 1e-9
    assert after["s0"].failed == sum(isinstance(v, str) for v in columns[0])


def test_what_a_contestant_does_not_take_is_no_failure():
    (mean,) = ranking(times({"a": [1.0, "unsupported"]})).ranks
    assert (mean.solved, mean.failed) == (1, 0)
    assert mean.seconds.value == pytest.approx(1.0)


# --- profiles -------------------------------------------------------------------------------------


def test_a_profile_by_hand():
    profile = performance_profile(times({"a": [1.0, 4.0, "crash"], "b": [2.0, 1.0, "crash"]}))
    assert profile.taus.tolist() == [1.0, 2.0, 4.0]
    assert profile.shares == pytest.approx(np.array([[1, 1, 2], [1, 2, 2]]) / 3)
    assert profile.share("b", 3.9) == pytest.approx(2 / 3)
    assert profile.share("a", 0.5) == 0.0
    assert profile.share("a", 1e9) == pytest.approx(2 / 3)  # of three, as nobody solved the last


@given(fields)
def test_profiles_are_distributions(columns):
    profile = performance_profile(times(named(columns)))
    assert (np.diff(profile.shares, axis=1) >= 0.0).all()
    solved = [sum(isinstance(v, float) for v in column) / len(column) for column in columns]
    if profile.taus.size:
        assert profile.shares[:, -1] == pytest.approx(solved)
        by_anybody = np.mean(
            [any(isinstance(v, float) for v in p) for p in zip(*columns, strict=True)]
        )
        assert np.sum(profile.shares[:, 0]) >= by_anybody - 1e-12  # somebody is fastest


@given(columns=fields, data=st.data())
def test_profiles_do_not_depend_on_units_or_order(columns, data):
    values = named(columns)
    m = len(columns[0])
    factors = data.draw(st.lists(st.sampled_from([0.25, 1.0, 8.0]), min_size=m, max_size=m))
    names = data.draw(st.permutations(sorted(values)))
    scaled = {
        who: [
            v * f if isinstance(v, float) else v for v, f in zip(values[who], factors, strict=True)
        ]
        for who in names
    }
    a, b = performance_profile(times(values)), performance_profile(times(scaled))
    assert set(a.contestants) == set(b.contestants)
    for who, tau in itertools.product(values, [1.0, 1.5, 10.0, 1e9]):
        assert a.share(who, tau) == b.share(who, tau)


def test_profiles_change_with_the_company_and_say_so():
    # b is never below c in the picture of three; c is faster than b on two programs of three
    values = {"a": [1.0, 1.0, 1.0], "b": [1.5, 3.0, 5.0], "c": [6.0, 2.0, 4.0]}
    profile = performance_profile(times(values))
    assert (profile.shares[1] >= profile.shares[2]).all()
    assert profile.reversed_pairs == (("b", "c"),)
    two = performance_profile(times(values), ("b", "c"))
    assert two.share("c", 1.0) > two.share("b", 1.0)
    assert two.reversed_pairs == ()


# --- wins -----------------------------------------------------------------------------------------


@given(fields)
def test_a_win_is_the_others_loss(columns):
    wins = win_matrix(times(named(columns), repeats=2, noise=0.1))
    assert (wins.losses == wins.wins.T).all()
    assert (wins.ties == wins.ties.T).all()
    assert (wins.compared == wins.wins + wins.losses + wins.ties + wins.neither).all()
    off = ~np.eye(len(wins.contestants), dtype=bool)
    assert (wins.compared[off] == len(columns[0])).all()
    assert (wins.compared[~off] == 0).all()


@given(fields)
def test_third_contestants_do_not_matter_where_the_noise_is_given(columns):
    values = named(columns)
    everybody = win_matrix(times(values), noise=0.1)
    for i, j in itertools.combinations(range(len(columns)), 2):
        two = win_matrix(times({k: values[k] for k in (f"s{i}", f"s{j}")}), noise=0.1)
        assert two.wins[0, 1] == everybody.wins[i, j]
        assert two.ties[0, 1] == everybody.ties[i, j]


def test_differences_inside_the_uncertainty_are_ties():
    close = {"a": [1.0], "b": [1.05]}
    assert win_matrix(times(close), noise=0.1).ties[0, 1] == 1
    assert win_matrix(times(close), noise=0.01).wins[0, 1] == 1
    far = {"a": [1.0], "b": [2.0]}
    assert win_matrix(times(far), noise=0.1).wins[0, 1] == 1


def test_without_repeats_nothing_is_known_to_be_faster():
    wins = win_matrix(times({"a": [1.0, 1.0], "b": [2.0, "crash"]}))
    assert (wins.ties[0, 1], wins.wins[0, 1]) == (1, 1)  # but a failure is one


def test_both_failed_is_no_tie():
    wins = win_matrix(times({"a": ["crash"], "b": ["time limit"]}))
    assert (wins.neither[0, 1], wins.ties[0, 1]) == (1, 0)


def test_pairs_are_compared_where_both_took_part():
    values = {"a": [1.0, 1.0], "b": ["unsupported", 5.0], "c": [5.0, "not installed"]}
    wins = win_matrix(times(values), noise=0.01)
    assert wins.compared.tolist() == [[0, 1, 1], [1, 0, 0], [1, 0, 0]]


# --- scaling --------------------------------------------------------------------------------------


@given(exponent=st.floats(-1.0, 4.0), factor=st.floats(1e-6, 1.0))
def test_a_power_is_found_exactly(exponent, factor):
    fit = power_law("a", "", [(n, factor * n**exponent) for n in (100, 300, 1000, 5000)])
    assert fit.exponent == pytest.approx(exponent, abs=1e-9)
    assert fit.low == pytest.approx(exponent, abs=1e-6)
    assert fit.high == pytest.approx(exponent, abs=1e-6)
    assert fit.factor == pytest.approx(factor, rel=1e-6)


def test_the_interval_of_the_exponent_holds_as_often_as_it_says():
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(400):
        sizes = 100.0 * 2.0 ** np.arange(5)
        seconds = 1e-6 * sizes**2 * np.exp(rng.normal(0.0, 0.2, 5))
        fit = power_law("a", "", list(zip(sizes, seconds, strict=True)))
        hits += fit.low <= 2.0 <= fit.high
    assert 0.92 <= hits / 400 <= 0.98  # 0.95 and three standard deviations


def test_too_few_sizes_have_no_interval_and_fewer_no_exponent():
    two = power_law("a", "", [(100.0, 1.0), (200.0, 4.0)])
    assert two.exponent == pytest.approx(2.0)
    assert math.isnan(two.low)
    assert math.isnan(power_law("a", "", [(100.0, 1.0), (100.0, 4.0)]).exponent)
    assert math.isnan(power_law("a", "", []).exponent)


def sized(n, seed=0, name="synthetic"):
    return program().__class__("SoftMargin(C=1.0)", f"{name}(d=2, n={n}, seed={seed})")


def test_only_programs_that_differ_in_size_are_on_one_line():
    rows = [
        row("a", 1e-6 * n**2, instance=sized(n, seed), n=n)
        for n, seed in [(100, 0), (200, 0), (400, 1)]
    ]
    other = [row("a", 1.0, instance=sized(n, name="strip"), n=n) for n in (100, 200)]
    alone = row("a", 1.0, instance=sized(500, name="other"), n=500)
    fits = {fit.series: fit for fit in scaling_fits([*rows, *other, alone], TARGET)}
    assert set(fits) == {series_of(rows[0].instance), series_of(other[0].instance)}
    assert len(fits[series_of(rows[0].instance)].points) == 3
    wider = replace(sized(100), data="synthetic(d=3, n=100, seed=0)")
    assert series_of(wider) != series_of(sized(100))
    assert series_of(wider, "d") == series_of(sized(100), "d")
    assert fits[series_of(rows[0].instance)].exponent == pytest.approx(2.0)
    assert fits[series_of(other[0].instance)].exponent == pytest.approx(0.0, abs=1e-12)


def test_what_was_not_solved_in_time_is_counted():
    rows = [row("a", 1e-4 * n, instance=sized(n), n=n) for n in (100, 200, 400)]
    slow = failure("a", "time limit", instance=sized(800), n=800)
    refused = failure("a", "unsupported", instance=sized(1600), n=1600)
    (fit,) = scaling_fits([*rows, slow, refused], TARGET)
    assert (len(fit.points), fit.censored) == (3, 1)
    assert fit.exponent == pytest.approx(1.0)
