"""Solves on samples in chunks: guess, narrow down, solve for the undecided samples, prove.

1. *Guess*: machines trained on rows that the first pass chose at random, with an estimate of the
   error of their decision values.
2. *Newton pass*, while memory allows no band of several times that error: gradient and Hessian of
   the losses, their kinks rounded off, over all samples; the error falls to a fraction.
3. *Band pass*: samples outside the band are fixed, those inside are solved for in memory. The
   dual point that this gives bounds the optimum from below, whether the decisions were right or
   not; the next pass measures the machine, which bounds it from above. Where memory has room for
   every violated condition, all of them are undecided, and only those on the right side are fixed.
Every pass measures the machine at its centre, so the gap is known after every pass but the first;
and the objective at several machines on the way to it, in case that the step was too long.

A checkpoint has the machines and the dual point of a state, and no objective or bound: what they
are worth is measured on the samples by the process that reads it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from qpsvm.backends.base import Backend, Progress, Settings
from qpsvm.backends.registry import choose, get
from qpsvm.backends.settings import require_count, require_options
from qpsvm.chunked.guess import RowSample, first_guess
from qpsvm.chunked.machine import ChunkedDual, Leverage, Machine, stored_point
from qpsvm.chunked.problem import ChunkedProblem, allowed
from qpsvm.chunked.solution import ChunkedSolution, PassStatistics
from qpsvm.chunked.steps import BAND, NEWTON, PassSteps, State
from qpsvm.exceptions import DataFileError, InvalidParameterError
from qpsvm.io import npz
from qpsvm.io.files import writing
from qpsvm.numerics.arguments import explains_calls, explains_constructor, is_false
from qpsvm.numerics.arrays import default_memory_limit
from qpsvm.numerics.contents import digest
from qpsvm.numerics.interrupts import Deadline, drop_best, keep_best
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.reductions import Reduced
from qpsvm.qp.solution import QPSolution, Status


@explains_constructor
@dataclass(frozen=True)
class PassSettings:
    """Settings of a solve in passes, by the names that ``options`` takes.

    Attributes
    ----------
    memory_limit : int
        Bytes that this process may use for undecided conditions, about. Workers use a few chunks
        each.
    max_passes : int
        Passes over the samples, at most; where they do not reach ``eps``, one more verifies.
    checkpoint : path or None
        A file to which the state is written after every pass.
    resume : path or None
        A checkpoint to continue from.
    """

    memory_limit: int = 2**29
    max_passes: int = 40
    checkpoint: str | os.PathLike[str] | None = None
    resume: str | os.PathLike[str] | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> PassSettings:
        """Make settings from options, a mapping by name.

        Raises
        ------
        InvalidParameterError
            An unknown name, a number that is no whole one above zero, a checkpoint that is no file
            in a folder.
        """
        require_options("passes", options, [field.name for field in fields(cls)])
        values = dict(options)
        for name, value in options.items():
            if name not in ("checkpoint", "resume"):
                if isinstance(value, float) and value.is_integer():
                    values[name] = int(value)
                require_count(values[name], name)
            elif value is not None and not isinstance(value, str | os.PathLike):
                raise InvalidParameterError(f"{name} is {value!r}; pass the path of a file.")
        settings = cls(**values)
        if settings.checkpoint is not None:
            path = Path(settings.checkpoint)
            if path.is_dir() or not path.parent.is_dir():
                reason = "is a folder" if path.is_dir() else "is in a folder that does not exist"
                raise InvalidParameterError(
                    f"The checkpoint {str(path)!r} {reason}; pass another path."
                )
        return settings


@explains_calls
def solve_chunked(
    problem: ChunkedProblem, backend: str | Backend, settings: Settings
) -> ChunkedSolution:
    """Train a machine on samples in chunks; programs over undecided samples go to the backend.

    Parameters
    ----------
    problem : ChunkedProblem
    backend : str or Backend
    settings : Settings
        Their ``options`` are those of ``PassSettings``, their iterations are passes.

    Returns
    -------
    ChunkedSolution
        Its certificate says what was reached.

    Raises
    ------
    InvalidParameterError
        An unknown option.
    DataFileError
        A checkpoint that cannot be read, or that cannot be written: the disk is full.
    KeyboardInterrupt
        Ctrl-C; it carries the best machine so far, if a pass has measured one.
    """
    own, deadline = PassSettings.of(settings.options), settings.deadline
    if settings.max_iterations is not None:
        own = replace(own, max_passes=min(own.max_passes, settings.max_iterations))

    def solve_program(program: QuadraticProgram, eps: float) -> QPSolution:
        # no verdict on it is needed: the pass that follows bounds the whole problem
        reduced = Reduced.of(program)
        name = choose(reduced.program)[0] if backend == "auto" else backend
        solver = get(name) if isinstance(name, str) else name
        inner = Settings(eps=min(eps, 1e-2), deadline=deadline)
        return reduced.inverse(solver.solve(reduced.program, inner))

    steps = PassSteps(problem, RowSample.of(problem), own.memory_limit, solve_program, settings.eps)
    solution = solve_in_passes(steps, own, settings, deadline)
    if solution.status is not Status.ITERATION_LIMIT:
        return solution
    # one more pass, that of ``qpsvm.verify``, decides: the passes carry bounds along with their
    # rounding, and those of a single pass may be narrower
    try:
        certificate = problem.certified(solution)
    except KeyboardInterrupt as error:
        keep_best(error, lambda: replace(solution, status=Status.INTERRUPTED))
        raise
    if not certificate.passed(settings.eps):
        return solution
    return replace(solution, status=Status.OPTIMAL, certificate=certificate)


def solve_in_passes(
    steps: PassSteps, own: PassSettings, settings: Settings, deadline: Deadline
) -> ChunkedSolution:
    """Train a machine on samples in chunks, in a few passes over them.

    Parameters
    ----------
    steps : PassSteps
        The steps between passes, for a problem and the relative gap to be certified.
    own : PassSettings
    settings : Settings
        ``verbose`` prints a line after every pass, with Dask's progress bar during it; the
        callback hears of every pass.
    deadline : Deadline
        Looked at after every pass.

    Returns
    -------
    ChunkedSolution

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C; it carries the best machine so far with its certificate, if a pass has measured one.
        A checkpoint stays that of the last pass.
    """
    problem, verbose, state = steps.problem, settings.verbose, None
    try:
        state = _first_state(steps, own, verbose=verbose)
        # a checkpoint after the last pass needs no other
        status = Status.OPTIMAL if state.certificate(problem).passed(steps.eps) else None
        while status is None:
            state = _pass_from(steps, state, own, verbose=verbose)
            (kind, gap, _), passes = state.statistics.trace[-1], state.statistics.passes
            if state.certificate(problem).passed(steps.eps):
                status = Status.OPTIMAL
            elif deadline.has_passed():
                status = Status.TIME_LIMIT
            elif passes >= own.max_passes:
                status = Status.ITERATION_LIMIT
            event = Progress("solve", f"passes: {kind}", iteration=passes, gap=gap)
            if settings.callback is not None and is_false(settings.callback(event)):
                status = status or Status.INTERRUPTED
        return _solution(problem, state, status)
    except KeyboardInterrupt as error:
        drop_best(error)  # of a program over some samples
        latest = state
        if latest is not None and np.isfinite(latest.primal):
            keep_best(error, lambda: _solution(problem, latest, Status.INTERRUPTED))
        raise


def _first_state(steps: PassSteps, own: PassSettings, *, verbose: bool) -> State:
    """The state before the first pass: a machine of sampled rows, or that of a checkpoint."""
    problem = steps.problem
    if own.resume is not None:
        return load(own.resume, problem).measured(problem, verbose=verbose)
    began = time.perf_counter()
    guess = first_guess(problem, steps.sample, steps.solve_program)
    seconds = {"passes": 0.0, "open problems": time.perf_counter() - began}
    return State.initial(*guess, PassStatistics(1, problem.totals.n_bytes, 0, seconds))


def _pass_from(steps: PassSteps, state: State, own: PassSettings, *, verbose: bool) -> State:
    """Make a pass over all chunks, choose the next machine, and save the state."""
    request, before = steps.request(state), state.statistics
    began = time.perf_counter()
    results = steps.problem.run(request, verbose=verbose)
    passed = time.perf_counter()
    found, n_open = steps.following(state, request, results)
    gap = found.certificate(steps.problem).relative_gap_upper
    kind = BAND if request.smoothing is None else NEWTON
    statistics = replace(
        before,
        passes=before.passes + 1,
        n_bytes=before.n_bytes + steps.problem.totals.n_bytes,
        n_open=max(before.n_open, n_open),
        seconds={
            "passes": before.seconds["passes"] + passed - began,
            "open problems": before.seconds["open problems"] + time.perf_counter() - passed,
        },
        trace=(*before.trace, (kind, gap, request.band)),
    )
    found = replace(found, statistics=statistics)
    if own.checkpoint is not None:
        save(own.checkpoint, found, steps.problem)
    if verbose:
        print(
            f"pass {statistics.passes}: {kind}, objective {found.primal:.10g}, relative "
            f"gap {gap:.2e}, band {request.band:.2e}"
        )
    return found


def _solution(problem: ChunkedProblem, state: State, status: Status) -> ChunkedSolution:
    """The solution: the best machine with the best dual point."""
    best, form = state.best, problem.template
    return ChunkedSolution(
        status=status,
        coef=best.coef,
        intercept=best.intercept,
        width=best.width,
        dual=state.dual,
        certificate=state.certificate(problem),
        classes=problem.totals.classes,
        is_novelty=form.task == "unlabelled",
        is_ball=form.ball,
        statistics=state.statistics,
    )


# --- checkpoints ---------------------------------------------------------------------------------

VERSION = 7
"""Version of the checkpoint format; files of other versions are refused."""

SECONDS = ("passes", "open problems")
"""Parts of a solve whose seconds are reported separately."""


def save(path: str | os.PathLike[str], state: State, problem: ChunkedProblem) -> None:
    """Write the state to a checkpoint, completely or not at all.

    Raises
    ------
    DataFileError
        It cannot be written.
    """
    arrays = _arrays(state, problem)
    with writing(path, "checkpoint", DataFileError) as stream:
        npz.write(stream, arrays | {"digest": np.array(_digest(arrays))})


def _arrays(state: State, problem: ChunkedProblem) -> npz.Arrays:
    """The arrays of a checkpoint, by name."""
    own, dual = state.statistics, state.dual
    machines = (state.machine, state.best, dual.centre, *state.alternatives)
    seconds = (own.seconds.get(name, 0.0) for name in SECONDS)
    return {
        "version": np.array(VERSION),
        "problem": np.array(fingerprint(problem)),
        "machines": np.stack([machine.vector for machine in machines], dtype=np.float64),
        "leverage": np.asarray(state.leverage.factor, dtype=np.float64),
        "numbers": np.concatenate([np.zeros(0, dtype=np.int64), *dual.numbers], dtype=np.int64),
        "open": np.concatenate([np.zeros(0), *dual.open], dtype=np.float64),
        "lengths": np.array([len(part) for part in dual.open], dtype=np.int64),
        "figures": np.array([state.error, state.trusted, *seconds]),
        "counts": np.array([own.passes, own.n_bytes, own.n_open], dtype=np.int64),
        "kinds": np.array([kind for kind, _, _ in own.trace], dtype=np.str_),
        "trace": np.array([figures for _, *figures in own.trace], dtype=np.float64).reshape(-1, 2),
    }


def _digest(arrays: npz.Arrays) -> str:
    """The digest of all arrays of a checkpoint with their names."""
    return digest(*(part for name in sorted(arrays) for part in (name, arrays[name])))


def load(path: str | os.PathLike[str], problem: ChunkedProblem) -> State:
    """Read the state from a checkpoint; its machines are not measured yet.

    Raises
    ------
    DataFileError
        It cannot be read, was changed, or is of another problem.
    """
    arrays = npz.read(path, DataFileError, limit_bytes=default_memory_limit())
    where, stated = repr(os.fspath(path)), str(arrays.pop("digest", ""))
    try:
        own = int(arrays["version"]) == VERSION, str(arrays["problem"]) == fingerprint(problem)
        state = _state(arrays, problem) if all(own) else None
    except (KeyError, IndexError, ValueError, TypeError, OverflowError) as error:
        raise DataFileError(f"{where} is not a complete checkpoint ({error!r}).") from error
    if own[0] and stated != _digest(arrays):
        raise DataFileError(
            f"{where} is not the checkpoint that was written (its digest differs): it was changed "
            "or damaged; begin without resume=."
        )
    if state is None:
        raise DataFileError(
            f"{where} is a checkpoint of another problem: other samples, chunks, formulation or "
            "version; begin without resume=."
        )
    return state


def _state(arrays: npz.Arrays, problem: ChunkedProblem) -> State:
    """The state that the arrays of a checkpoint describe.

    Raises
    ------
    KeyError, IndexError, ValueError, TypeError, OverflowError
        They do not describe one, or it would be written as other arrays.
    """
    d = problem.totals.n_features
    machine, best, centre, *alternatives = (Machine.of(vector) for vector in arrays["machines"])
    error, trusted, *seconds = arrays["figures"].tolist()
    passes, n_bytes, n_open = arrays["counts"].tolist()
    ends = np.cumsum(arrays["lengths"])
    listed = (tuple(np.split(arrays[name], ends)[:-1]) for name in ("numbers", "open"))
    dual = ChunkedDual(centre, *listed)
    trace = zip(arrays["kinds"].tolist(), *arrays["trace"].T.tolist(), strict=True)
    spent = dict(zip(SECONDS, seconds, strict=True))
    state = State(
        machine=machine,
        error=error,
        leverage=Leverage(arrays["leverage"]),
        best=best,
        dual=stored_point(dual, d, problem.n_chunks),
        statistics=PassStatistics(passes, n_bytes, n_open, spent, tuple(trace), "resumed"),
        trusted=trusted,
        alternatives=tuple(alternatives),
    )
    sizes = arrays["machines"].shape[1], arrays["leverage"].shape
    if sizes not in ((d + 2, (0, 0)), (d + 2, (d + 1, d + 1))):
        raise ValueError(f"machines and leverages have the sizes {sizes}")
    own = (machine, best, centre, *alternatives)
    numbers = [allowed(each, problem.template).vector for each in own]
    numbers += [arrays[name].ravel() for name in ("leverage", "open", "figures")]
    with np.errstate(over="ignore"):
        is_finite = np.isfinite(np.sum(np.square(np.concatenate(numbers))))
    if not is_finite or min(error, trusted) < 0.0:
        raise ValueError("its numbers are not those of a solve of this formulation")
    for name, array in _arrays(state, problem).items():
        given = arrays[name]
        if given.dtype != array.dtype or not np.array_equal(given, array):
            raise ValueError(f"{name} would be written as another array")
    return state


def fingerprint(problem: ChunkedProblem) -> str:
    """Digest that identifies the training problem: formulation, chunks, and all their numbers."""
    return digest(repr(problem.formulation), *problem.totals.digests)
