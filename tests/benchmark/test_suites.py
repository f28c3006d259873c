"""Every suite says what it is: names that stand for something, sizes as its first lines state."""

from __future__ import annotations

import os
import re
import sys
import zipfile
from functools import cache
from pathlib import Path

import pytest

from benchmarks.cells import Call, Instance, parse
from benchmarks.contestants import registry
from benchmarks.contestants.backends import BackendContestant, build
from benchmarks.contestants.base import Task
from benchmarks.data import Samples, load_samples
from benchmarks.programs import formulation_of, kernel_of
from benchmarks.sets import BUNDLED, GENERATED
from benchmarks.suite import Suite, load_suite, suite_files, suite_of
from qpsvm.exceptions import SuiteError
from qpsvm.native import build as core_build
from tests.processes import run
from tests.realdata.folder import loader, needs_data
from tests.strategies import listed

ROOT = Path(__file__).resolve().parents[2]
NAMES = (
    *("accuracy", "backends", "ill-conditioned", "infeasible"),
    *("kernel-long", "kernel-small", "kernel", "large", "linear", "repeatability", "smoke"),
    *("threads-kernel", "threads-linear"),
)

LINEAR = ("a9a", "w8a", "ijcnn1", "covtype20k", "skin_nonskin", "kddcup99_10pct", "phishing")
LINEAR += ("splice", "madelon", "reuters_moneyfx", "farm_ads", "synthetic(d=50, n=100000, seed=0)")
LINEAR += ("synthetic(d=200, n=100000, seed=0)", "synthetic(d=28, n=1000000, seed=0)")
HUGE = ("kddcup99_10pct", *LINEAR[-2:])

KERNEL = ("phishing", "usps", "covtype20k", "ijcnn1", "a9a", "w8a", "splice", "madelon")
KERNEL += ("skin_nonskin(distinct=True)", "synthetic(d=20, n=5000, seed=0)")
KERNEL += ("synthetic(d=20, n=20000, seed=0)",)


def is_stored(call: str) -> bool:
    """Return whether these samples are in the folder of stored sets, which is not everywhere."""
    return parse(call).name not in {*GENERATED, *BUNDLED}


@cache
def the(name: str) -> Suite:
    return load_suite(name)


def test_these_are_the_suites() -> None:
    assert tuple(path.stem for path in suite_files()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_the_first_lines_state_its_size(name: str) -> None:
    suite = the(name)
    text = (ROOT / "benchmarks" / "suites" / f"{name}.toml").read_text(encoding="utf-8")
    assert suite.name == name
    assert suite.description
    assert size(suite) in text
    assert re.search(r"^# (About|Measured): ", text, re.MULTILINE)


def size(suite: Suite) -> str:
    """The line that a suite's file has about itself.

    Every cell may take its whole limit; repeats are of cells that took less than ``repeat_below``.
    """
    repeats = (suite.repeats - 1) * suite.repeat_below
    seconds = sum((cell.time_limit + repeats) * cell.threads for cell in suite.cells)
    return (
        f"# {len(suite.instances())} programs, {len(list(suite.sweeps()))} sweeps, "
        f"{len(suite.cells)} cells; no more than {seconds / 7200:.1f} hours on two cores."
    )


@pytest.mark.parametrize("name", NAMES)
def test_sweeps_are_in_one_piece_from_loose_to_tight(name: str) -> None:
    sweeps = list(the(name).sweeps())
    assert len({cells[0].sweep for cells in sweeps}) == len(sweeps)
    for cells in sweeps:
        eps = [cell.eps for cell in cells]
        assert eps == sorted(set(eps), reverse=True)
        assert all(0.0 < e < 1.0 for e in eps)


@pytest.mark.parametrize("stored", [False, pytest.param(True, marks=needs_data)])
@listed("name", NAMES[::-1], quick=2)
def test_names_stand_for_something_and_contestants_take_their_programs(
    name: str, stored: bool
) -> None:
    if stored:
        loader()  # skips without the folder
    seen = set()
    for cells in the(name).sweeps():
        instance, who = cells[0].instance, cells[0].contestant
        if is_stored(instance.data) != stored:
            continue
        task = small_task(instance)
        contestant = registry.get(who)
        assert contestant.refusal(task) == "", f"{who} refuses {instance}"
        if isinstance(contestant, BackendContestant) and (instance, contestant.form) not in seen:
            seen.add((instance, contestant.form))
            assert build(task, contestant.form).qp.n_variables > 0


@cache
def small_task(instance: Instance) -> Task:
    """The program on a few samples of the same kind."""
    samples = few(instance.data)
    return Task(
        formulation_of(instance.family),
        samples.X,
        samples.y,
        kernel_of(instance.kernel),
        eps=1e-4,
    )


@cache
def few(data: str) -> Samples:
    call = parse(data)
    if call.name == "strip" or "classes" in call.arguments:
        return load_samples(call)
    return load_samples(Call(call.name, {**call.arguments, "n": 80, "seed": 0}))


# --- what was asked of two of them ---------------------------------------------------------------


def cells_of(suite: Suite, who: str, family: str, data: str, kernel: str) -> list[float]:
    instance = Instance(family, data, kernel)
    return [
        c.eps for c in suite.cells if c.instance == instance and parse(c.contestant).name == who
    ]


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("data", LINEAR)
def test_linear_has_every_set_price_and_peer(data: str, C: float) -> None:
    suite = the("linear")
    free, penalized = f"SoftMargin(C={C})", f"SoftMargin(C={C}, intercept='penalized')"
    for family in (free, penalized):
        if data not in HUGE:
            assert cells_of(suite, "reference", family, data, "linear")
        assert cells_of(suite, "qpsolvers:piqp", family, data, "linear")
    for peer in ("sklearn:LinearSVC", "rehline", "snapml:SVM"):
        assert len(cells_of(suite, peer, penalized, data, "linear")) >= 3


@pytest.mark.parametrize("name", ["linear", "large", "repeatability", "accuracy"])
def test_nobody_fails_at_a_gap_that_it_was_not_asked_for(name: str) -> None:
    suite = the(name)
    for cells in suite.sweeps():
        assert cells[-1].eps <= min(suite.targets), cells[-1]


@pytest.mark.parametrize("C", [1.0, 100.0, 10000.0])
@pytest.mark.parametrize("data", KERNEL)
def test_kernel_has_every_set_price_and_peer(data: str, C: float) -> None:
    suite = the("kernel")
    for who, times in (("sklearn:SVC", 4), ("intelex:SVC", 4), ("reference", 1)):
        found = cells_of(suite, who, f"SoftMargin(C={C})", data, "rbf(gamma='scale')")
        assert len(found) == times


@pytest.mark.parametrize("name", ["linear", "kernel"])
def test_a_structured_solver_joins_with_its_name(name: str) -> None:
    """In every program of the suite, by one line."""
    import tomllib

    text = (ROOT / "benchmarks" / "suites" / f"{name}.toml").read_text(encoding="utf-8")
    text = re.sub(r"^structured = .*$", "structured = ['osqp']", text, flags=re.MULTILINE)
    added = suite_of(tomllib.loads(text))
    assert {c.instance for c in added.cells if c.contestant == "osqp"} == set(added.instances())


def test_the_limit_of_a_cell_is_a_minute_where_it_counts() -> None:
    for name in ("linear", "kernel"):
        suite = the(name)
        limits = {c.time_limit for c in suite.cells if not c.contestant.startswith("reference")}
        assert limits == {60.0}
        assert {c.threads for c in suite.cells} == {1}


# --- groups --------------------------------------------------------------------------------------


def test_a_newcomer_has_the_limits_of_its_rivals_and_not_the_references() -> None:
    grid = {"family": ["SoftMargin(C=1.0)"], "data": ["iris"]}
    suite = suite_of(
        {
            "grid": [
                {**grid, "contestants": ["reference"], "eps": [1e-10], "time_limit": 300.0},
                {**grid, "contestants": ["osqp"], "eps": [1e-4, 1e-8], "time_limit": 60.0},
            ]
        }
    )
    added = [c for c in suite.with_contestants(["cvxopt"]).cells if c.contestant == "cvxopt"]
    assert [(cell.eps, cell.time_limit) for cell in added] == [(1e-4, 60.0), (1e-8, 60.0)]


def test_another_number_of_threads_is_another_sweep() -> None:
    grid = {"family": ["SoftMargin(C=1.0)"], "data": ["iris"], "contestants": ["osqp"]}
    suite = suite_of({"grid": [{**grid, "eps": [1e-4], "threads": threads} for threads in (1, 2)]})
    assert len(list(suite.sweeps())) == 2


def test_a_list_of_threads_is_a_sweep_for_each_beside_each_other() -> None:
    grid = {"family": ["SoftMargin(C=1.0)"], "data": ["iris", "wine"], "contestants": ["osqp"]}
    values = {"threads": [1, 2], "grid": [{**grid, "eps": [1e-2, 1e-4]}]}
    assert [(sweep[0].instance.data, sweep[0].threads) for sweep in suite_of(values).sweeps()] == [
        *(("iris", 1), ("iris", 2), ("wine", 1), ("wine", 2)),
    ]


@pytest.mark.parametrize("threads", [0, [], [1, 0], "2", 1.5, True])
def test_other_numbers_of_threads_are_refused(threads: object) -> None:
    grid = {"family": ["SoftMargin(C=1.0)"], "data": ["iris"], "contestants": ["osqp"]}
    with pytest.raises(SuiteError, match=r"threads must be .* found " + re.escape(repr(threads))):
        suite_of({"grid": [{**grid, "eps": [1e-4], "threads": threads}]})


def test_groups_are_lists_that_grids_share() -> None:
    grid = {
        "family": ["OneClass"],
        "data": ["wine", "@more"],
        "contestants": ["osqp"],
        "eps": [1.0],
    }
    suite = suite_of({"groups": {"more": ["iris", "digits"]}, "grid": [grid]})
    assert [instance.data for instance in suite.instances()] == ["wine", "iris", "digits"]
    with pytest.raises(SuiteError, match="no group '@more'; it has less"):
        suite_of({"groups": {"less": []}, "grid": [grid]})


# --- an installed package ------------------------------------------------------------------------


@pytest.mark.exhaustive
def test_a_wheel_has_the_core_and_nothing_of_the_benchmark(tmp_path: Path) -> None:
    if (core_build.system_compiler() or core_build.zig_compiler()) is None:
        pytest.skip("a wheel needs a C compiler, or the package ziglang")
    run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        check=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.endswith(f"{core_build.wheel_tag()}.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    assert not (tmp_path / "installed" / "benchmarks").exists()
    assert not list((tmp_path / "installed").rglob("*.toml"))
    script = "import qpsvm.native.library as l; print(l.__file__); print(l.core().path)"
    done = run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "installed")},
        check=True,
    )
    where, core = done.stdout.splitlines()
    assert Path(where).is_relative_to(tmp_path)
    assert Path(core).is_relative_to(tmp_path)
