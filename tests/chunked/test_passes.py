"""Passes over many more samples than the guess sees: kinds of passes, memory, ends, checkpoints."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qpsvm
from qpsvm.chunked import ChunkedProblem, PassStatistics, chunked, solving
from qpsvm.chunked.evaluation import Request
from qpsvm.chunked.guess import RowSample
from qpsvm.chunked.machine import Leverage
from qpsvm.chunked.steps import PassSteps, State, most_undecided
from qpsvm.exceptions import (
    DataFileError,
    InvalidParameterError,
    ToleranceNotReachedError,
    ToleranceNotReachedWarning,
)
from qpsvm.qp import Status
from tests.chunked.large import MEMORY, N, assert_continued, problem, samples, small_samples
from tests.strategies import listed

X, Y = samples()
TARGETS = X @ [1.0, 2.0, -1.0, 0.5] + np.random.default_rng(1).standard_t(3, N)
FAMILIES = {
    "hinge": (qpsvm.SoftMargin(C=1.0), Y),
    "quantile": (qpsvm.QuantileRegression(0.3, 1.0), TARGETS),
    "squared hinge": (qpsvm.SoftMargin(C=100.0, loss="squared_hinge"), Y),
    "tube": (qpsvm.EpsilonRegression(C=1.0, epsilon=0.3), TARGETS),
    "nu regression": (qpsvm.NuRegression(0.3, 1.0), TARGETS),
    "nu classification": (qpsvm.NuClassification(0.85), Y),
    "ball": (qpsvm.DataDescription(C=1e-3), Y),
}


@cache
def solved(name: str) -> tuple[Any, Any]:
    family, y = FAMILIES[name]
    own = problem(family, y=y)
    return own, qpsvm.solve(own, eps=1e-9, options=MEMORY)


def kinds(solution: Any) -> set[str]:
    return {kind for kind, _, _ in solution.statistics.trace}


@listed("name", FAMILIES, quick=4)
def test_little_memory_gives_the_same_optimum(name: str) -> None:
    family, y = FAMILIES[name]
    own, solution = solved(name)
    assert solution.status is Status.OPTIMAL
    assert qpsvm.verify(own, solution, eps=1.01e-9).passed
    whole = family.dual(X, None if name == "ball" else y)
    expected = qpsvm.certify(whole, qpsvm.solve(whole, eps=1e-9)).primal_objective
    assert solution.certificate.primal_objective == pytest.approx(expected, rel=2e-9)


def test_every_kind_of_pass_occurs() -> None:
    found = [kinds(solved(name)[1]) for name in FAMILIES]
    assert set().union(*found) == {"Newton", "band"}


def test_a_margin_of_variable_width_takes_few_passes() -> None:
    """Steps are too long there: the kinks of all samples move with the width."""
    assert solved("nu classification")[1].statistics.passes <= 20


def test_open_conditions_are_as_many_as_memory_allows() -> None:
    own, small = solved("hinge")
    most = most_undecided(MEMORY["memory_limit"], own.totals)
    assert most == 1000
    assert 0 < small.statistics.n_open <= 2 * most + 100 * own.n_chunks
    large = qpsvm.solve(own, eps=1e-9)
    assert kinds(large) == {"band"}
    assert large.statistics.n_open > 2 * small.statistics.n_open
    assert large.statistics.passes < small.statistics.passes


def test_a_band_with_too_many_conditions_is_narrowed_in_its_chunk() -> None:
    """Four chunks have most samples near the margin; those of the others are far from it."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=4000), 5.0 + rng.normal(size=8000)])[:, None]
    y = np.where(x[:, 0] + rng.normal(size=N) > 0.0, 1, -1)
    with small_samples():
        own = qpsvm.SoftMargin(C=1.0).dual(qpsvm.chunked.chunked(x, y, rows=1000))
    machine = qpsvm.chunked.machine.Machine(np.zeros(1), 1.0, 0.0)
    results = own.run(Request(own.template, (machine,), band=10.0, most_undecided=(50,) * 12))
    sizes = [len(result.numbers) for result in results]
    assert max(sizes) == 50
    assert [result.undecided.size for result in results] == sizes
    solution = qpsvm.solve(own, eps=1e-9, options=MEMORY)
    assert solution.statistics.n_open <= 2 * 1000 + 12 * 100
    # a chunk with most of the undecided samples may return more than an equal part of them
    state = State.initial(solution.machine, 1.0, Leverage.equal(), PassStatistics())
    steps = PassSteps(own, RowSample.of(own), MEMORY["memory_limit"], None, 1e-9)  # type: ignore[arg-type]
    plan = steps.request(state)
    assert min(plan.most_undecided[:4]) > 1.5 * max(plan.most_undecided[4:])
    assert sum(plan.most_undecided) <= 2 * 1000 + 12 * 100
    assert qpsvm.verify(own, solution, eps=1.01e-9).passed


def test_a_machine_of_zero_weights_is_found() -> None:
    """For a small nu the optimum is zero, and gaps are relative to what weights could be."""
    own = problem(qpsvm.NuClassification(0.6))
    solution = qpsvm.solve(own)
    assert solution.status is Status.OPTIMAL
    assert abs(solution.certificate.primal_objective) < 1e-12
    assert qpsvm.verify(own, solution, eps=1.01e-8).passed


def test_a_sample_in_which_nu_is_too_large_gives_a_guess() -> None:
    """Half of the sample has too few of one class; intercept and width come from all of it."""
    own = problem(qpsvm.NuClassification(0.85))
    assert qpsvm.solve(own).statistics.passes <= 4


def test_statistics_count_passes_and_bytes() -> None:
    own, solution = solved("hinge")
    s = solution.statistics
    assert s.passes == len(s.trace) + 1
    assert own.totals.n_bytes == X.nbytes
    assert s.n_bytes == s.passes * X.nbytes
    assert s.total_seconds > 0.0
    assert s.trace[-1][1] == solution.certificate.relative_gap_upper


# --- ends ----------------------------------------------------------------------------------------


def counted_passes(monkeypatch: pytest.MonkeyPatch, raises_in: int) -> list[int]:
    """Raise KeyboardInterrupt in a pass, as Ctrl-C does."""
    made, run = list[int](), ChunkedProblem.run

    def interrupted(self: Any, request: Any, **more: Any) -> Any:
        made.append(len(made) + 1)
        if len(made) == raises_in:
            raise KeyboardInterrupt
        return run(self, request, **more)

    monkeypatch.setattr(ChunkedProblem, "run", interrupted)
    return made


@listed("number", [4, 3, 2], quick=2)
def test_an_interrupt_hands_out_the_best_machine_with_its_certificate(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, whole = solved("hinge")
    made = counted_passes(monkeypatch, number)
    with pytest.warns(ToleranceNotReachedWarning, match="interrupted"):
        solution = qpsvm.solve(own, eps=1e-9, options=MEMORY, on_interrupt="return")
    monkeypatch.undo()
    assert len(made) == number
    assert solution.status is Status.INTERRUPTED
    assert solution.statistics.passes == number
    stated, measured = solution.certificate, qpsvm.certify(own, solution)
    assert measured.primal_objective == stated.primal_objective
    assert stated.primal_objective >= whole.certificate.dual_objective
    assert np.isfinite(stated.relative_gap_upper)
    assert stated.dual_objective <= whole.certificate.primal_objective
    if number == 4:
        assert stated.relative_gap_upper < 1e-3
        assert measured.dual_objective == pytest.approx(stated.dual_objective, rel=1e-12)


def test_an_interrupt_before_any_pass_is_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    own, _ = solved("hinge")
    counted_passes(monkeypatch, 1)
    with pytest.raises(KeyboardInterrupt) as caught:
        qpsvm.solve(own, options=MEMORY, on_interrupt="return")
    assert vars(caught.value)["solution"] is None


@pytest.mark.parametrize("scale", [1e-150, 1e150])
@pytest.mark.parametrize("C", [1e-290, 1.0, 1e290])
def test_numbers_without_end_end_a_solve(scale: float, C: float) -> None:
    """Overflow and underflow give a status, which is that of the verifier; no error of NumPy's."""
    rng = np.random.default_rng(2)
    x = scale * rng.normal(size=(20, 2))
    y = x[:, 0] / scale + rng.normal(size=20)
    for family in (
        qpsvm.EpsilonRegression(C=C, loss="squared_epsilon_insensitive", intercept="none"),
        qpsvm.NuRegression(0.4, C),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            own = family.dual(qpsvm.chunked.chunked(x, y, rows=6))
            solution = qpsvm.solve(own, max_iterations=5)
        is_optimal = solution.status is Status.OPTIMAL
        assert qpsvm.verify(own, solution, eps=1.01e-8).passed is is_optimal


def test_limits_end_a_solve_with_what_was_reached() -> None:
    own, _ = solved("hinge")
    for more, status in (
        ({"max_iterations": 3}, Status.ITERATION_LIMIT),
        ({"options": MEMORY | {"max_passes": 3}}, Status.ITERATION_LIMIT),
        ({"time_limit": 1e-9}, Status.TIME_LIMIT),
    ):
        arguments = {"options": MEMORY} | more
        with pytest.warns(ToleranceNotReachedWarning, match="certified gap"):
            solution = qpsvm.solve(own, eps=1e-9, **arguments)
        assert solution.status is status
        assert not qpsvm.verify(own, solution, eps=1e-9).passed
    with pytest.raises(ToleranceNotReachedError, match="memory_limit"):
        qpsvm.solve(own, max_iterations=2, strict=True)


def test_a_callback_hears_of_every_pass_and_stops() -> None:
    own, _ = solved("hinge")
    events = list[Any]()

    def listen(event: Any) -> bool:
        events.append(event)
        return len(events) < 2

    with pytest.warns(ToleranceNotReachedWarning):
        solution = qpsvm.solve(own, eps=1e-9, options=MEMORY, callback=listen)
    assert solution.status is Status.INTERRUPTED
    assert [event.iteration for event in events] == [2, 3]


def test_verbose_prints_every_pass(capsys: pytest.CaptureFixture[str]) -> None:
    own, _ = solved("hinge")
    solution = qpsvm.solve(own, options=MEMORY, verbose=True)
    printed = capsys.readouterr().out
    assert printed.count("objective") == len(solution.statistics.trace)
    assert "Completed" in printed  # Dask's own bar


# --- checkpoints ---------------------------------------------------------------------------------


@listed("number", [4, 3, 2], quick=1)
def test_a_resumed_solve_takes_the_steps_of_one_that_was_not_interrupted(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, whole = solved("quantile")
    path = tmp_path / "state"
    counted_passes(monkeypatch, number)
    with pytest.raises(KeyboardInterrupt):
        qpsvm.solve(own, eps=1e-9, options=MEMORY | {"checkpoint": path})
    monkeypatch.undo()
    made = counted_passes(monkeypatch, -1)
    resumed = qpsvm.solve(own, eps=1e-9, options=MEMORY | {"resume": path, "checkpoint": path})
    assert_continued(resumed, whole)
    assert len(made) == whole.statistics.passes - number
    # from the last state: it is optimal already
    again = qpsvm.solve(own, eps=1e-9, options=MEMORY | {"resume": path})
    assert_continued(again, whole)
    assert len(made) == whole.statistics.passes - number


def test_a_checkpoint_is_written_after_every_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, whole = solved("hinge")
    saved, save = list[int](), solving.save

    def counted(path: Any, state: Any, of: Any) -> None:
        save(path, state, of)
        saved.append(state.statistics.passes)

    monkeypatch.setattr(solving, "save", counted)
    qpsvm.solve(own, eps=1e-9, options=MEMORY | {"checkpoint": tmp_path / "state"})
    assert saved == list(range(2, whole.statistics.passes + 1))
    assert [p.name for p in tmp_path.iterdir()] == ["state"]


def test_a_checkpoint_of_another_problem_is_refused(tmp_path: Path) -> None:
    own, _ = solved("hinge")
    path = tmp_path / "state"
    qpsvm.solve(own, options=MEMORY | {"checkpoint": path})
    flipped = Y.copy()
    flipped[[np.flatnonzero(Y == 1)[0], np.flatnonzero(Y == -1)[0]]] *= -1  # as many of each class
    others = {
        "another C": problem(qpsvm.SoftMargin(C=2.0)),
        "another family": problem(qpsvm.SoftMargin(C=1.0, loss="squared_hinge")),
        "another intercept": problem(qpsvm.SoftMargin(C=1.0, intercept="none")),
        "other labels": problem(y=flipped),
        "other chunks": problem(rows=500),
    }
    for other in others.values():
        with pytest.raises(DataFileError, match="another problem"):
            qpsvm.solve(other, options=MEMORY | {"resume": path})


def test_one_other_number_among_the_samples_is_another_problem(tmp_path: Path) -> None:
    path = tmp_path / "state"
    own, _ = solved("hinge")
    qpsvm.solve(own, options=MEMORY | {"checkpoint": path})
    changed = X.copy()
    changed[N // 2 + 1, 0] += 0.25
    with small_samples():
        other = qpsvm.SoftMargin(C=1.0).dual(qpsvm.chunked.chunked(changed, Y, rows=1000))
    with pytest.raises(DataFileError, match="another problem"):
        qpsvm.solve(other, options=MEMORY | {"resume": path})


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "one byte", "text"])
def test_a_damaged_checkpoint_is_refused(damage: str, tmp_path: Path) -> None:
    own, _ = solved("hinge")
    path = tmp_path / "state"
    qpsvm.solve(own, options=MEMORY | {"checkpoint": path})
    content = bytearray(path.read_bytes())
    if damage == "missing":
        path.unlink()
    elif damage == "one byte":
        at = content.index(b"figures.npy") + 160
        content[at] ^= 1
        path.write_bytes(content)
    else:
        cut = {"empty": b"", "cut": bytes(content[: len(content) // 2]), "text": b"no state"}
        path.write_bytes(cut[damage])
    with pytest.raises(DataFileError, match="state"):
        qpsvm.solve(own, options=MEMORY | {"resume": path})


# --- options -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"memory": 1},
        {"memory_limit": 0},
        {"memory_limit": "1 GB"},
        {"wide": -1.0},
        {"max_passes": True},
        {"fill": np.nan},
    ],
)
def test_options_that_mean_nothing_are_refused_by_name(options: Any) -> None:
    own, _ = solved("hinge")
    with pytest.raises(InvalidParameterError, match=next(iter(options))):
        qpsvm.solve(own, options=options)


def test_a_solve_warns_of_nothing() -> None:
    """Not even threads that Dask runs."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        qpsvm.solve(problem(rows=3000), options=MEMORY)


@pytest.mark.parametrize("eps", [1e-4, 1e-12])
def test_a_solve_that_ran_out_of_passes_has_the_verdict_of_verification(
    eps: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bounds that passes carry along may be wider than those of the pass that verifies."""
    task = qpsvm.SoftMargin(C=1.0).dual(chunked(X[:200], Y[:200], rows=50))
    solved = qpsvm.solve(task, eps=1e-6)
    wide = replace(solved.certificate, rounding=1e-3 * solved.certificate.primal_objective)
    stopped = replace(solved, status=Status.ITERATION_LIMIT, certificate=wide)
    monkeypatch.setattr(solving, "solve_in_passes", lambda *_, **__: stopped)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ToleranceNotReachedWarning)
        found = qpsvm.solve(task, eps=eps)
    passed = qpsvm.verify(task, found, eps=eps).passed
    assert passed == (eps == 1e-4)
    assert found.status is (Status.OPTIMAL if passed else Status.ITERATION_LIMIT)
    assert found.certificate.passed(eps) == passed
