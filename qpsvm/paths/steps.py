"""Machines for successive parameter values: from an exact path, by a jump, or by a solver."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from qpsvm.display import short_repr
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Vector
from qpsvm.paths.following import Trace
from qpsvm.paths.jumping import jumped
from qpsvm.paths.program import ParametricProgram
from qpsvm.paths.settings import DEFAULTS, PathSettings
from qpsvm.paths.training import Training
from qpsvm.qp.solution import QPSolution, Status


@short_repr
@dataclass(frozen=True, eq=False)
class Steps:
    """Data and settings for finding the machines of a path.

    Attributes
    ----------
    training : Training
    eps : float
    trace : Trace or None
        The exact path.
    program : ParametricProgram or None
        For jumps, where the kernel matrix is kept.
    settings : PathSettings
    """

    training: Training
    eps: float
    trace: Trace | None = None
    program: ParametricProgram | None = None
    settings: PathSettings = DEFAULTS

    def machines(self, values: Vector) -> Iterator[SVMSolution]:
        """Yield the verified machine of every value, each from the one before."""
        last: SVMSolution | None = None
        for value in values.tolist():
            last = self.machine(value, last)
            yield last

    def machine(self, value: float, start: SVMSolution | None) -> SVMSolution:
        """The verified machine at a value.

        Parameters
        ----------
        value : float
        start : SVMSolution or None
            The machine at another value.
        """
        alpha = self._on_the_path(value)
        if alpha is not None:
            return self.training.accepted(value, _point(alpha), eps=self.eps)
        if start is not None and self.program is not None:
            s = self.program.from_parameter(value)
            alpha, is_optimal = jumped(self.program, start, s, self.settings)
            if alpha is not None and is_optimal:
                return self.training.accepted(value, _point(alpha), eps=self.eps)
            if alpha is not None:
                return self.training.solved(value, eps=self.eps, start=_point(alpha))
        return self.training.solved(value, eps=self.eps, start=start)

    def _on_the_path(self, value: float) -> Vector | None:
        """Alpha of the exact path; None where it is not known."""
        if self.trace is None or not self.trace.stretches:
            return None
        s, stretches = self.trace.program.from_parameter(value), self.trace.stretches
        inside = min(max(s, stretches[0].begin), stretches[-1].end)
        # the ends of the range, after rounding there and back
        return self.trace.alpha_at(inside) if math.isclose(s, inside, rel_tol=1e-12) else None


def _point(alpha: Vector) -> QPSolution:
    return QPSolution(Status.UNKNOWN, x=alpha, native_status="from a path")
