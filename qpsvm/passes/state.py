"""The state of a solve between two passes, and its checkpoint."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace

import numpy as np

from qpsvm.chunked.certificate import ChunkedCertificate
from qpsvm.chunked.dual_bound import DualBound
from qpsvm.chunked.dual_point import DualPoint
from qpsvm.chunked.leverage import Leverage
from qpsvm.chunked.machine import Machine
from qpsvm.chunked.problem import ChunkedProblem
from qpsvm.chunked.solution import PassStatistics
from qpsvm.exceptions import DataFileError
from qpsvm.files import npz
from qpsvm.files.atomic import replacing
from qpsvm.numerics.arrays import Array

NEWTON, BAND = "Newton", "band"
"""Kinds of steps: by a Hessian over all samples, or by the program over open samples."""

VERSION = 3


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
    primal, primal_rounding : float
        Its objective.
    dual : DualPoint
        The dual point with the highest objective so far.
    bound : DualBound
        Its objective.
    alternatives : tuple of Machine
        Machines between ``best`` and ``machine``, in case that the step was too long.
    step : str
        The kind of step that led from ``best`` to ``machine``.
    trusted : float
        The error that it relied on: half the band, or the error itself.
    rejected : str
        The kind of the last step from ``machine``, if it was of no use; otherwise empty.
    is_careful : bool
        A step was too long, or of no use: bands are as wide as memory allows from now on.
    statistics : PassStatistics
    """

    machine: Machine
    error: float
    leverage: Leverage
    best: Machine
    primal: float
    primal_rounding: float
    dual: DualPoint
    bound: DualBound
    alternatives: tuple[Machine, ...]
    step: str
    trusted: float
    rejected: str
    is_careful: bool
    statistics: PassStatistics

    @classmethod
    def initial(
        cls, machine: Machine, error: float, leverage: Leverage, statistics: PassStatistics
    ) -> State:
        """The state before the first evaluation of a machine."""
        return cls(
            machine=machine,
            error=error,
            leverage=leverage,
            best=machine,
            primal=np.inf,
            primal_rounding=0.0,
            dual=DualPoint(machine),
            bound=DualBound(-np.inf, 0.0),
            alternatives=(),
            step="",
            trusted=error,
            rejected="",
            is_careful=False,
            statistics=statistics,
        )

    def with_best(self, primal: float, rounding: float, kind: str, band: float) -> State:
        """Record the current machine as the best so far, and the kind of step from it."""
        trusted = self.error if kind == NEWTON else 0.5 * band
        if self.rejected:
            trusted = max(trusted, self.trusted)
        return replace(
            self, best=self.machine, primal=primal, primal_rounding=rounding, trusted=trusted
        )

    def shortened(self, machine: Machine, length: float) -> State:
        """Continue at the end of a shorter step, with the error that its length suggests."""
        return replace(
            self, machine=machine, error=length, alternatives=(), rejected="", is_careful=True
        )

    def rejecting(self) -> State:
        """Undo a step that did not lower the objective, and raise the estimated error."""
        error = self.trusted if self.step == NEWTON else 2.0 * self.trusted
        return replace(
            self,
            machine=self.best,
            error=error,
            alternatives=(),
            rejected=self.step,
            is_careful=True,
        )

    def certificate(self, problem: ChunkedProblem) -> ChunkedCertificate:
        """The certificate of the best machine so far."""
        return ChunkedCertificate.between(
            problem.template, problem.totals, self.primal, self.primal_rounding, self.bound
        )

    def with_bound(self, point: DualPoint, bound: DualBound) -> State:
        """Keep a dual point if it gives a higher bound."""
        if not bound.objective - bound.rounding > self.bound.objective - self.bound.rounding:
            return self
        return replace(self, dual=point, bound=bound)

    def counted(
        self, entry: tuple[str, float, float], n_bytes: int, n_open: int, seconds: float
    ) -> State:
        """Add a pass to the statistics: its kind, gap and band, with what it took."""
        own = self.statistics
        added = replace(
            own,
            passes=own.passes + 1,
            n_bytes=own.n_bytes + n_bytes,
            n_open=max(own.n_open, n_open),
            seconds={**own.seconds, "passes": own.seconds["passes"] + seconds},
            trace=(*own.trace, entry),
        )
        return replace(self, statistics=added)

    def with_seconds(self, seconds: float) -> State:
        """Add the seconds that were spent on open problems and steps."""
        own = self.statistics
        total = {**own.seconds, "open problems": own.seconds["open problems"] + seconds}
        return replace(self, statistics=replace(own, seconds=total))


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
                state.primal,
                state.primal_rounding,
                state.bound.objective,
                state.bound.rounding,
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
        npz.write(stream, arrays)


SECONDS = ("passes", "open problems")
"""What the seconds of a solve are divided into."""


def load(path: str | os.PathLike[str], problem: ChunkedProblem, limit_bytes: int) -> State:
    """Read the state from a checkpoint.

    Raises
    ------
    DataFileError
        It cannot be read, or is of another problem.
    """
    arrays = npz.read(path, DataFileError, limit_bytes=limit_bytes)
    try:
        if int(arrays["version"]) != VERSION or str(arrays["problem"]) != fingerprint(problem):
            raise DataFileError(
                f"{os.fspath(path)!r} is a checkpoint of another problem: other samples, chunks, "
                "formulation or version; begin without resume=."
            )
        figures, counts = arrays["figures"], arrays["counts"]
        ends = np.cumsum(arrays["lengths"])
        parts = np.split(arrays["open"], ends[:-1]) if len(ends) else []
        kinds = arrays["kinds"].tolist()
        trace = tuple(
            (kind, float(gap), float(band))
            for kind, (gap, band) in zip(kinds, arrays["trace"], strict=False)
        )
        seconds = dict(zip(SECONDS, arrays["seconds"].tolist(), strict=True))
        statistics = PassStatistics(
            int(counts[0]), int(counts[1]), int(counts[2]), seconds, trace, "resumed"
        )
        return State(
            machine=Machine.of(arrays["machine"]),
            error=float(figures[0]),
            leverage=Leverage(arrays["leverage"]),
            best=Machine.of(arrays["best"]),
            primal=float(figures[1]),
            primal_rounding=float(figures[2]),
            dual=DualPoint(
                Machine.of(arrays["centre"]),
                tuple(arrays["bands"].tolist()),
                tuple(parts),
                bool(arrays["one_sided"]),
                Leverage(arrays["centre_leverage"]),
            ),
            bound=DualBound(float(figures[3]), float(figures[4])),
            alternatives=tuple(Machine.of(row) for row in arrays["alternatives"]),
            step=str(arrays["steps"][0]),
            trusted=float(figures[5]),
            rejected=str(arrays["steps"][1]),
            is_careful=bool(figures[6]),
            statistics=statistics,
        )
    except (KeyError, IndexError, ValueError, TypeError) as error:
        if isinstance(error, DataFileError):
            raise
        raise DataFileError(
            f"{os.fspath(path)!r} is not a complete checkpoint ({error!r})."
        ) from error


def fingerprint(problem: ChunkedProblem) -> str:
    """A hash of the formulation, of the chunks and of what the first pass found in them."""
    digest = hashlib.sha256()
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
        totals.checksums,
    )
    digest.update(repr(text).encode())
    for array in (form.signs, form.offsets, form.lower, form.upper, form.curvature):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
