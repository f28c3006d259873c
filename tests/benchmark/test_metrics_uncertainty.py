"""Intervals hold as often as they say, and are not there where nothing is known."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from benchmarks.metrics.agreement import agreement
from benchmarks.metrics.noise import NORMAL, Noise, pooled_noise
from benchmarks.metrics.profiles import performance_profile
from benchmarks.metrics.rankings import ranking
from benchmarks.metrics.times import times_to
from tests.benchmark.handmade import program, store

TARGET = 1e-6
NOISE = 0.1

RNG = np.random.default_rng(5)
TRUTH = {
    f"s{k}": (factor * np.exp(RNG.normal(0.0, 1.0, 12))).tolist()
    for k, factor in enumerate([1.0, 1.02, 1.1, 1.5, 3.0])
}
"""Five contestants on twelve programs; the first two nearly equal."""


def run(seed, truth=TRUTH, repeats=3):
    return times_to(store(truth, repeats=repeats, noise=NOISE, seed=seed), TARGET)


@cache
def ranked(seed):
    """The ranking of a run of ``TRUTH``."""
    return ranking(run(seed))


# --- noise ----------------------------------------------------------------------------------------


def test_the_scatter_of_repeats_is_found():
    rng = np.random.default_rng(0)
    noise = pooled_noise(rng.lognormal(k % 7 - 3.0, NOISE, 3) for k in range(400))
    assert noise.degrees == 800
    assert noise.deviation == pytest.approx(NOISE, rel=4.0 / math.sqrt(2 * 800))


def test_nothing_is_known_without_repeats():
    noise = pooled_noise([[1.0], [2.0]])
    assert math.isnan(noise.deviation)
    assert math.isnan(noise.error([1.0]))


def test_more_repeats_are_more_certain_and_a_cell_that_scatters_more_is_less():
    noise = pooled_noise([[1.0, 1.1, 0.9]] * 50)
    errors = [noise.error([1.0] * n) for n in (1, 2, 3, 5, 9)]
    assert errors == sorted(errors, reverse=True)
    assert noise.error([1.0, 5.0, 0.2]) > 5.0 * noise.error([1.0, 1.0, 1.0])


@pytest.mark.parametrize("repeats", [2, 3, 5])
def test_the_interval_of_a_time_holds_as_often_as_it_says(repeats):
    truth = {"a": [1.0] * 600}
    found = run(repeats, truth, repeats).values()
    hits = sum(t.low <= 1.0 <= t.high for t in found)
    assert hits / 600 >= 0.93  # 0.95 less two standard deviations; a median's is above


@pytest.mark.parametrize("repeats", [2, 3, 5])
def test_the_interval_of_a_time_that_scatters_more_holds_as_often_as_it_says(repeats):
    quiet = Noise(NOISE / 50.0, degrees=1000)  # what the other cells say
    logs = np.random.default_rng(0).normal(0.0, NOISE, (600, repeats))
    hits = sum(abs(np.median(log)) <= NORMAL * quiet.error(np.exp(log)) for log in logs)
    assert hits / 600 >= 0.93  # 0.95 less two standard deviations; a median's is above


# --- bootstrap ------------------------------------------------------------------------------------


def test_intervals_contain_what_they_are_about():
    for rank in ranking(run(0)).ranks:
        mean = rank.seconds
        assert mean.run_low <= mean.value <= mean.run_high
        assert mean.low <= mean.value <= mean.high
        assert mean.high / mean.low > mean.run_high / mean.run_low  # other programs are more
        assert rank.place.run_low <= rank.place.value <= rank.place.run_high
    profile = performance_profile(run(0))
    assert (profile.low <= profile.high).all()
    assert (profile.low < profile.high).any()


@pytest.mark.exhaustive
def test_the_interval_of_a_mean_over_other_runs_holds_as_often_as_it_says():
    exact = {m.contestant: m.seconds.value for m in ranking(times_to(store(TRUTH), TARGET)).ranks}
    hits = []
    for seed in range(20):
        for mean in ranking(run(seed)).ranks:
            hits.append(mean.seconds.run_low <= exact[mean.contestant] <= mean.seconds.run_high)
    assert np.mean(hits) >= 0.9  # 0.95 less two standard deviations of 100


def test_one_repeat_has_no_interval_over_runs():
    single = run(0, repeats=1)
    for rank in ranking(single).ranks:
        assert math.isnan(rank.seconds.run_low)
        assert math.isnan(rank.seconds.run_high)
        assert rank.seconds.low < rank.seconds.high  # over programs there is one
        assert math.isnan(rank.place.run_low)
    profile = performance_profile(single)
    assert np.isnan(profile.low).all()


def test_few_programs_have_no_interval_over_programs():
    truth = {who: values[:5] for who, values in TRUTH.items()}
    for rank in ranking(run(0, truth)).ranks:
        assert math.isnan(rank.seconds.low)
        assert rank.seconds.run_low < rank.seconds.run_high
        assert math.isnan(rank.place.low)


def test_the_bootstrap_is_seeded():
    assert ranking(run(0)).ranks == ranking(run(0)).ranks
    assert ranking(run(0), seed=1).ranks != ranking(run(0)).ranks


# --- rankings -------------------------------------------------------------------------------------


def test_places_follow_the_means():
    found = ranking(run(0))
    means = [rank.seconds.value for rank in found.ranks]
    assert means == sorted(means)
    assert sum(rank.place.value for rank in found.ranks) == 15.0


def test_equals_share_a_place():
    found = ranking(times_to(store({"a": [1.0, 2.0], "b": [1.0, 2.0]}), TARGET))
    assert [rank.place.value for rank in found.ranks] == [1.5, 1.5]


def test_a_contestant_that_is_far_slower_has_its_place_for_certain():
    truth = TRUTH | {"slow": [50.0] * 12}
    last = ranking(run(0, truth)).ranks[-1]
    assert (last.contestant, last.place.run_low, last.place.run_high) == ("slow", 6.0, 6.0)


def test_a_ranking_agrees_with_itself():
    found = agreement(ranking(run(0)), ranking(run(0)))
    assert found.tau == pytest.approx(1.0)
    assert (found.within, found.swapped, found.agrees) == (1.0, (), True)


def test_a_difference_is_as_uncertain_as_all_its_scores():
    a, b = ranking(run(0)), ranking(run(1))
    known = {(k, r.contestant): r.error for k, found in enumerate((a, b)) for r in found.ranks}
    for pair in agreement(a, b).pairs:
        errors = [known[k, who] for k in (0, 1) for who in (pair.first, pair.second)]
        assert pair.error == pytest.approx(math.sqrt(sum(e**2 for e in errors)))


def test_whoever_scatters_more_is_less_certain():
    rows = [
        *store(TRUTH, repeats=3, noise=0.01),
        *store({"wild": [9.0] * 12}, repeats=3, noise=1.0),
    ]
    errors = {rank.contestant: rank.error for rank in ranking(times_to(rows, TARGET)).ranks}
    assert errors.pop("wild") > 1.5 * max(errors.values())


def test_the_error_of_a_score_is_its_scatter_over_runs():
    found = [{r.contestant: r for r in ranked(seed).ranks} for seed in range(16)]
    for who in TRUTH:
        scatter = np.std([ranks[who].score for ranks in found], ddof=1)
        # of 16 runs: 18%; the variance of a median of three is stated 11% too large
        assert 0.5 <= scatter / found[0][who].error <= 1.5


def test_two_runs_of_the_same_agree_as_often_as_they_should():
    runs = [ranked(seed) for seed in range(24)]
    found = [agreement(a, b) for a, b in zip(runs[::2], runs[1::2], strict=True)]
    assert np.mean([f.within for f in found]) >= 0.9  # 0.95, on pairs that are not independent
    assert sum(f.agrees for f in found) >= 11  # of 12, each with 0.95 at least
    assert any(f.swapped for f in found)  # or nothing was tested


def test_two_runs_of_something_else_do_not():
    faster = TRUTH | {"s3": [v / 2.0 for v in TRUTH["s3"]]}
    found = agreement(ranking(run(0)), ranking(run(1, faster)))
    assert found.agrees is False
    assert all("s3" in (pair.first, pair.second) for pair in found.unexplained)
    assert found.tau < 1.0


def test_a_machine_that_is_slower_throughout_changes_no_ranking():
    slower = {who: [5.0 * v for v in values] for who, values in TRUTH.items()}
    assert agreement(ranking(run(0), shift=0.1), ranking(run(1, slower), shift=0.5)).agrees


def test_without_repeats_nobody_knows():
    a, b = ({"a": [1.0], "b": [2.0]}, {"a": [2.0], "b": [1.0]})
    swapped = agreement(ranking(run(0, a, 1)), ranking(run(1, b, 1)))
    assert swapped.agrees is None
    assert math.isnan(agreement(ranking({}), ranking(run(0))).tau)
    assert agreement(ranking({}), ranking(run(0))).agrees is None


def test_rankings_say_what_they_left_out():
    truth = {"a": [1.0] * 3, "b": [1.0, "unsupported", 2.0], "c": ["not installed"] * 3}
    table = ranking(times_to(store(truth), TARGET)).table
    assert table.instances == (program(0), program(2))
    assert table.left_out == {"c": "not installed"}
