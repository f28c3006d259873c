"""Checkpoints of solves in passes: files with the state between two passes.

A checkpoint has machines and a dual point, and no objective or bound: what they are worth is
measured on the samples by the process that reads it.
"""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np

from qpsvm.chunked.dual_point import DualPoint
from qpsvm.chunked.leverage import Leverage
from qpsvm.chunked.machine import Machine
from qpsvm.chunked.problem import ChunkedProblem
from qpsvm.chunked.solution import PassStatistics
from qpsvm.chunked.violations import allowed
from qpsvm.exceptions import DataFileError
from qpsvm.files import npz
from qpsvm.files.atomic import replacing
from qpsvm.numerics.arrays import Array
from qpsvm.numerics.digests import digest
from qpsvm.passes.state import BAND, NEWTON, State

VERSION = 4
"""Version of the checkpoint format; version 3 stored objectives and had no digest."""


def save(path: str | os.PathLike[str], state: State, problem: ChunkedProblem) -> None:
    """Write the state to a checkpoint, completely or not at all."""
    own, width = state.statistics, state.machine.vector
    arrays: dict[str, Array] = {
        "version": np.array(VERSION),
        "problem": np.array(fingerprint(problem)),
        "machine": state.machine.vector,
        "best": state.best.vector,
        "leverage": state.leverage.factor,
        "alternatives": np.array([m.vector for m in state.alternatives]).reshape(-1, len(width)),
        "steps": np.array([state.step, state.rejected]),
        "centre": state.dual.centre.vector,
        "centre_leverage": state.dual.leverage.factor,
        "bands": np.array(state.dual.bands),
        "one_sided": np.array(state.dual.one_sided),
        "open": np.concatenate([np.zeros(0), *state.dual.open]),
        "lengths": np.array([len(part) for part in state.dual.open], dtype=np.int64),
        "figures": np.array(
            [
                state.error,
                state.trusted,
                float(state.is_careful),
            ]
        ),
        "counts": np.array([own.passes, own.n_bytes, own.n_open], dtype=np.int64),
        "kinds": np.array([kind for kind, _, _ in own.trace] or [""]),
        "trace": np.array([figures for _, *figures in own.trace]).reshape(-1, 2),
        "seconds": np.array([own.seconds.get(name, 0.0) for name in SECONDS]),
    }
    with replacing(path) as stream:
        npz.write(stream, arrays | {"digest": np.array(_digest(arrays))})


SECONDS = ("passes", "open problems")
"""Parts of a solve whose seconds are reported separately."""


KINDS = dict.fromkeys(("problem", "steps", "kinds"), "U") | {
    "version": "i",
    "lengths": "i",
    "counts": "i",
    "one_sided": "b",
}
"""Kinds of the arrays that are not of float64."""


def _digest(arrays: npz.Arrays) -> str:
    """The digest of all arrays of a checkpoint with their names."""
    return digest(*(part for name in sorted(arrays) for part in (name, arrays[name])))


def load(path: str | os.PathLike[str], problem: ChunkedProblem, limit_bytes: int) -> State:
    """Read the state from a checkpoint; its machines are not measured yet.

    Raises
    ------
    DataFileError
        It cannot be read, was changed, or is of another problem.
    """
    arrays = npz.read(path, DataFileError, limit_bytes=limit_bytes)
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
        They do not describe one.
    """
    for name, array in arrays.items():
        kind = KINDS.get(name)
        if array.dtype != np.float64 if kind is None else array.dtype.kind != kind:
            raise TypeError(f"{name} is of {array.dtype}")
    d, n_chunks = problem.totals.n_features, problem.n_chunks
    for name in ("machine", "best", "centre", "alternatives", "leverage", "centre_leverage"):
        square = "leverage" in name
        shapes = ((0, 0), (d + 1, d + 1)) if square else ((d + 2,),)
        shape = arrays[name].shape[1:] if name == "alternatives" else arrays[name].shape
        with np.errstate(over="ignore"):
            is_finite = np.isfinite(np.sum(arrays[name] ** 2))
        if shape not in shapes or not is_finite:
            raise ValueError(f"{name} has shape {arrays[name].shape}, or is not finite")
    for vector in (arrays["machine"], arrays["best"], arrays["centre"], *arrays["alternatives"]):
        if not np.isfinite(allowed(Machine.of(vector), problem.template).vector).all():
            raise ValueError(f"{vector[-2:]} are no intercept and width of this formulation")
    lengths, bands = arrays["lengths"], arrays["bands"].tolist()
    if not len(lengths) == len(bands) or len(bands) not in (0, n_chunks):
        raise ValueError(f"it lists {len(bands)} bands for {n_chunks} chunks")
    if (lengths < 0).any() or np.sum(lengths) != len(arrays["open"]):
        raise ValueError(f"it lists {len(arrays['open'])} open conditions for {np.sum(lengths)}")
    ends = np.cumsum(lengths)
    parts = np.split(arrays["open"], ends[:-1]) if len(ends) else []
    error, trusted, is_careful = arrays["figures"].tolist()
    step, rejected = arrays["steps"].tolist()
    if not (error >= 0.0 and trusted >= 0.0) or not {step, rejected} <= {"", NEWTON, BAND}:
        raise ValueError(f"it has the errors {error} and {trusted}, the steps {step}, {rejected}")
    passes, n_bytes, n_open = arrays["counts"].tolist()
    kinds = arrays["kinds"].tolist()
    trace = tuple(
        (kind, float(gap), float(band))
        for kind, (gap, band) in zip(kinds, arrays["trace"], strict=False)
    )
    seconds = dict(zip(SECONDS, arrays["seconds"].tolist(), strict=True))
    dual = DualPoint(
        Machine.of(arrays["centre"]),
        tuple(bands),
        tuple(parts),
        bool(arrays["one_sided"]),
        Leverage(arrays["centre_leverage"]),
    )
    begun = State.initial(
        Machine.of(arrays["machine"]),
        error,
        Leverage(arrays["leverage"]),
        PassStatistics(int(passes), int(n_bytes), int(n_open), seconds, trace, "resumed"),
    )
    return replace(
        begun,
        best=Machine.of(arrays["best"]),
        dual=dual,
        alternatives=tuple(Machine.of(row) for row in arrays["alternatives"]),
        step=step,
        trusted=trusted,
        rejected=rejected,
        is_careful=bool(is_careful),
    )


def fingerprint(problem: ChunkedProblem) -> str:
    """Digest that identifies the training problem: formulation, chunks, and their totals."""
    totals, form = problem.totals, problem.template
    text = (
        repr(problem.formulation),
        totals.n_rows,
        totals.n_features,
        totals.weight,
        totals.class_weights,
        totals.smallest_target,
        totals.largest_target,
        totals.largest_square,
        None if totals.classes is None else totals.classes.tolist(),
        totals.digests,
    )
    arrays = (form.signs, form.offsets, form.lower, form.upper, form.curvature)
    return digest(repr(text), *arrays)
