"""The state of a solve between two passes, and checkpoints: files with this state.

A checkpoint has machines and a dual point, and no objective or bound: what they are worth is
measured on the samples by the process that reads it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

import numpy as np

from qpsvm.chunked.certificate import ChunkedCertificate
from qpsvm.chunked.dual_bound import NO_BOUND, DualBound
from qpsvm.chunked.machine import DualPoint, Leverage, Machine, stored_point
from qpsvm.chunked.problem import ChunkedProblem, allowed
from qpsvm.chunked.solution import PassStatistics
from qpsvm.exceptions import DataFileError
from qpsvm.io import npz
from qpsvm.io.files import replacing
from qpsvm.numerics.arrays import Array
from qpsvm.numerics.contents import digest

NEWTON, BAND = "Newton", "band"
"""Kinds of steps: by a Hessian over all samples, or by the program over open samples."""


@dataclass(frozen=True, eq=False)
class State:
    """State of a solve between two passes: machines, the dual point, their objectives.

    Attributes
    ----------
    machine : Machine
        The centre of the next pass.
    error : float
        Estimated error of its decision values, over the roots of leverages.
    leverage : Leverage
    best : Machine
        The machine with the lowest objective so far.
    dual : DualPoint
        The dual point with the highest objective so far.
    statistics : PassStatistics
    trusted : float
        The error that the last step relied on: half the band, or the error itself.
    primal, primal_rounding : float
        The objective of the best machine.
    bound : DualBound
        The objective of the dual point.
    alternatives : tuple of Machine
        Machines between ``best`` and ``machine``, in case that the step was too long.
    step : str
        The kind of step that led from ``best`` to ``machine``.
    rejected : str
        The kind of the last step from ``machine``, if it was of no use; otherwise empty.
    is_careful : bool
        A step was too long, or of no use: bands are as wide as memory allows from now on.
    """

    machine: Machine
    error: float
    leverage: Leverage
    best: Machine
    dual: DualPoint
    statistics: PassStatistics
    trusted: float
    primal: float = np.inf
    primal_rounding: float = 0.0
    bound: DualBound = NO_BOUND
    alternatives: tuple[Machine, ...] = ()
    step: str = ""
    rejected: str = ""
    is_careful: bool = False

    @classmethod
    def initial(
        cls, machine: Machine, error: float, leverage: Leverage, statistics: PassStatistics
    ) -> State:
        """The state before the first evaluation of a machine."""
        return cls(machine, error, leverage, machine, DualPoint(machine), statistics, error)

    def measured(self, problem: ChunkedProblem, *, verbose: bool) -> State:
        """Measure the best machine and the dual point by one pass over the samples."""
        primal, rounding, bound = problem.measured(self.best, self.dual, verbose=verbose)
        if not np.isfinite(primal):
            primal = np.inf
        return replace(self, primal=primal, primal_rounding=rounding, bound=bound)

    def certificate(self, problem: ChunkedProblem) -> ChunkedCertificate:
        """The certificate of the best machine so far."""
        own = self.primal, self.primal_rounding, self.bound
        return ChunkedCertificate.of(problem.template, problem.totals, *own)

    def with_bound(self, point: DualPoint, bound: DualBound) -> State:
        """Keep a dual point if it gives a higher bound."""
        if not bound.objective - bound.rounding > self.bound.objective - self.bound.rounding:
            return self
        return replace(self, dual=point, bound=bound)


# --- files ---------------------------------------------------------------------------------------

VERSION = 5
"""Version of the checkpoint format; version 4 listed open conditions in another order."""

SECONDS = ("passes", "open problems")
"""Parts of a solve whose seconds are reported separately."""

KINDS = {"version": "i", "problem": "U", "words": "U", "lengths": "i", "counts": "i"}
"""Kinds of the arrays that are not of float64."""


def save(path: str | os.PathLike[str], state: State, problem: ChunkedProblem) -> None:
    """Write the state to a checkpoint, completely or not at all."""
    own, dual = state.statistics, state.dual
    machines = (state.machine, state.best, dual.centre, *state.alternatives)
    seconds = (own.seconds.get(name, 0.0) for name in SECONDS)
    flags = float(state.is_careful), float(dual.one_sided)
    arrays: dict[str, Array] = {
        "version": np.array(VERSION),
        "problem": np.array(fingerprint(problem)),
        "machines": np.stack([machine.vector for machine in machines]),
        "leverage": state.leverage.factor,
        "centre_leverage": dual.leverage.factor,
        "bands": np.array(dual.bands, dtype=np.float64),
        "open": np.concatenate([np.zeros(0), *dual.open]),
        "lengths": np.array([len(part) for part in dual.open], dtype=np.int64),
        "figures": np.array([state.error, state.trusted, *flags, *seconds]),
        "counts": np.array([own.passes, own.n_bytes, own.n_open], dtype=np.int64),
        "words": np.array([state.step, state.rejected, *(kind for kind, _, _ in own.trace)]),
        "trace": np.array([figures for _, *figures in own.trace]).reshape(-1, 2),
    }
    with replacing(path) as stream:
        npz.write(stream, arrays | {"digest": np.array(_digest(arrays))})


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
        with np.errstate(over="ignore"):
            is_finite = kind or name in ("bands", "trace") or np.isfinite(np.sum(array**2))
        if not is_finite:
            raise ValueError(f"{name} is not finite")
    d, vectors = problem.totals.n_features, arrays["machines"]
    if vectors.shape[1:] != (d + 2,):
        raise ValueError(f"machines has shape {vectors.shape}")
    machine, best, centre, *alternatives = (Machine.of(vector) for vector in vectors)
    for own in (machine, best, centre, *alternatives):
        if not np.isfinite(allowed(own, problem.template).vector).all():
            raise ValueError(f"{own.vector[-2:]} are no intercept and width of this formulation")
    lengths = arrays["lengths"]
    if (lengths < 0).any() or np.sum(lengths) != len(arrays["open"]):
        raise ValueError(f"it lists {len(arrays['open'])} open conditions for {np.sum(lengths)}")
    error, trusted, is_careful, one_sided, *seconds = arrays["figures"].tolist()
    step, rejected, *kinds = arrays["words"].tolist()
    if not (error >= 0.0 and trusted >= 0.0) or not {step, rejected} <= {"", NEWTON, BAND}:
        raise ValueError(f"it has the errors {error} and {trusted}, the steps {step}, {rejected}")
    passes, n_bytes, n_open = arrays["counts"].tolist()
    parts = np.split(arrays["open"], np.cumsum(lengths)[:-1]) if len(lengths) else []
    bands, leverages = tuple(arrays["bands"].tolist()), arrays["leverage"]
    dual = DualPoint(
        centre, bands, tuple(parts), bool(one_sided), Leverage(arrays["centre_leverage"])
    )
    if leverages.shape not in ((0, 0), (d + 1, d + 1)):
        raise ValueError(f"leverage has shape {leverages.shape}")
    trace = zip(kinds, *arrays["trace"].T.tolist(), strict=True)
    spent = dict(zip(SECONDS, seconds, strict=True))
    return State(
        machine=machine,
        error=error,
        leverage=Leverage(leverages),
        best=best,
        dual=stored_point(dual, d, problem.n_chunks),
        statistics=PassStatistics(passes, n_bytes, n_open, spent, tuple(trace), "resumed"),
        trusted=trusted,
        alternatives=tuple(alternatives),
        step=step,
        rejected=rejected,
        is_careful=bool(is_careful),
    )


def fingerprint(problem: ChunkedProblem) -> str:
    """Digest that identifies the training problem: formulation, chunks, and all their numbers."""
    return digest(repr(problem.formulation), *problem.totals.digests)
