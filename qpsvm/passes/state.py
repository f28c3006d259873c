"""The state of a solve between two passes: machines, a dual point and what they are worth."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from qpsvm.chunked.certificate import ChunkedCertificate
from qpsvm.chunked.dual_bound import DualBound
from qpsvm.chunked.dual_point import DualPoint
from qpsvm.chunked.leverage import Leverage
from qpsvm.chunked.machine import Machine
from qpsvm.chunked.problem import ChunkedProblem
from qpsvm.chunked.solution import PassStatistics

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

    def measured(self, problem: ChunkedProblem, *, verbose: bool) -> State:
        """Measure the best machine and the dual point by one pass over the samples."""
        primal, rounding, bound = problem.measured(self.best, self.dual, verbose=verbose)
        if not np.isfinite(primal):
            primal = np.inf
        return replace(self, primal=primal, primal_rounding=rounding, bound=bound)

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
