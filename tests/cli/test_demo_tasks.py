"""Which solver gets which program of the demo: nobody is lost, slow ones get fewer samples."""

from __future__ import annotations

import re
from dataclasses import replace

from typer.testing import CliRunner

import qpsvm
from qpsvm import backends
from qpsvm.cli import app
from qpsvm.cli.demo import (
    FEW_SAMPLES,
    PARTNER,
    PROGRAMS,
    SLOW,
    Task,
    choose_backends,
    problems_on,
    with_fewer_samples,
)
from qpsvm.cli.demo import _merit as demo_merit
from tests.strategies import listed


def tasks():
    names, _ = choose_backends()
    large, small = (problems_on(count)[1] for count in (None, FEW_SAMPLES))
    return names, with_fewer_samples([Task(*program, names) for program in large], small)


def test_every_backend_has_every_program_once():
    names, found = tasks()
    for kernel, form in PROGRAMS:
        own = [task for task in found if (task.kernel.split("/")[0], task.form) == (kernel, form)]
        asked = [name for task in own for name in task.names if name != PARTNER]
        assert sorted(asked) == sorted(names)


def test_fewer_samples_are_for_slow_solvers_alone_and_say_so():
    _, found = tasks()
    for task in found:
        few = task.kernel.endswith(f"/{FEW_SAMPLES}")
        assert task.problem.data.n_samples == (FEW_SAMPLES if few else 569)
        kernel = task.kernel.split("/")[0]
        for name in task.names:
            assert name == PARTNER or ((name, kernel, task.form) in SLOW) == few
        # an answer to a program that nobody else solves agrees with itself only
        assert not few or (task.names[0] == PARTNER and len(task.names) > 1)


def test_slow_solvers_are_known_backends():
    for name, kernel, form in SLOW:
        assert backends.get(name).label == name
        assert (kernel, form) in PROGRAMS


@listed("named", [("--samples", "60"), ("--backend", "slsqp", "--quick")], quick=1)
def test_who_asks_for_samples_or_a_backend_gets_them(named, tmp_path):
    few = ("--backend", "ipm") if "--samples" in named else ()
    result = CliRunner().invoke(
        app, ["demo", *named, *few, "--report", str(tmp_path / "demo.json"), "--eps", "1e-4"]
    )
    assert f"/{FEW_SAMPLES}" not in result.stdout
    assert re.search(r"\d+ samples x 30 features", result.stdout)


def test_progress_is_said_where_there_is_no_terminal(tmp_path):
    result = CliRunner().invoke(
        app,
        ["demo", "--samples", "60", "--backend", "cvxopt", "--report", str(tmp_path / "d.json")],
    )
    assert result.exit_code == 0, result.output
    for kernel, form in PROGRAMS:
        assert f"{kernel} kernel, {form}: 1 solver" in result.stderr


def test_the_machine_that_is_shown_is_the_usual_one_and_not_one_at_its_limit():
    problem = qpsvm.SoftMargin(C=1.0).dual([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    report = qpsvm.verify(problem, qpsvm.solve(problem))
    polished = replace(report, statistics=replace(report.statistics, polished=True))
    failed = replace(report, eps=1e-300, checks=(replace(report.checks[0], scaled=1.0),))
    ranked = [
        demo_merit(report, is_usual=True),
        demo_merit(report, is_usual=False),
        demo_merit(polished, is_usual=False),
        demo_merit(failed, is_usual=True),
    ]
    assert ranked == sorted(ranked)
    assert len(set(ranked)) == len(ranked)
