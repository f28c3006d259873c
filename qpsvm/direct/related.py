"""Machines on one stored kernel matrix, each solved from the dual variables of another.

Leave-one-out, searches and paths train many machines on the same samples, which differ in C
and in what is required. Along C the boxes grow: between two neighbours most variables at a bound
stay there, so that the last ones times the ratio of the C are the start of the next machine, and
the optimum itself for all small C at which the same variables are at their bounds. Where none is,
the machine is that of every larger C as well.

Nothing here is a proof: what uses these machines bounds their gaps afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from qpsvm.direct.settings import DIRECT
from qpsvm.display import short_repr
from qpsvm.native import CallStatus, MachineRun, SmallMachine
from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.solvers.box.related import RelatedPrograms


@short_repr
@dataclass(frozen=True, eq=False)
class RelatedMachines:
    """Machines with losses that are not squared, by their duals in ``v = s a``.

    Attributes
    ----------
    K : array of shape (n, n)
        Positive semidefinite, each row in one piece.
    signs, required : arrays of shape (N,)
        s and p of the conditions ``s_i (f_i + b) >= p_i``.
    rows : array of int of shape (N,), optional
        The sample of every condition; by default condition i is about sample i.
    is_free : bool
        Whether there is a free intercept, so that v adds up to zero.
    """

    K: Dense
    signs: Vector
    required: Vector
    rows: Index | None = None
    is_free: bool = True

    @cached_property
    def _programs(self) -> RelatedPrograms:
        return RelatedPrograms(self.K, self.rows)

    def solved(self, lower: Vector, upper: Vector, start: Vector, eps: float) -> Vector:
        """Solve the dual of one machine in ``v = s a``, from a starting point."""
        return self._solved(lower, upper, start, self._product(start), eps)[0]

    def _product(self, v: Vector) -> Vector:
        """Multiply the kernel matrix by dual variables v: one value per condition, (N,)."""
        rows = self.rows
        return self.K @ v if rows is None else (self.K @ np.bincount(rows, v, len(self.K)))[rows]

    def _solved(
        self, lower: Vector, upper: Vector, start: Vector, product: Vector, eps: float
    ) -> tuple[Vector, Vector]:
        """Solve the dual in ``v = s a`` by the compiled core, as far as that goes; return v and Kv.

        Newton steps with LAPACK and blocks of pairs go on where many variables lie between their
        bounds. They alone serve more samples than the short way takes: calls of the compiled core
        cannot be interrupted.

        Parameters
        ----------
        lower, upper : arrays of shape (N,)
            The box of a.
        start : array of shape (N,)
            Within the box; with a free intercept, adding up to zero.
        product : array of shape (N,)
            Of the start.
        eps : float
            Relative duality gap at which to stop.
        """
        K, rows, v = self.K, self.rows, start.copy()
        required = np.where(lower < upper, self.required, 0.0)
        q = -self.signs * required
        gradient, goes_on = product + q, self.is_free
        if not self.is_free or len(K) <= DIRECT.samples:
            box = lower, upper
            machine = SmallMachine(K, self.signs, required, *box, rows=rows, is_free=self.is_free)
            numbers = DIRECT.numbers if self.is_free else DIRECT.numbers._replace(most=len(v))
            tolerance = eps * float(np.max(np.abs(required), initial=0.0))
            run = machine.run(tolerance, numbers, MachineRun(CallStatus.DONE, v, v, gradient, 0))
            v, gradient, goes_on = (
                run.v,
                run.gradient,
                self.is_free and run.status is CallStatus.LIMIT,
            )
        if not goes_on:
            return v, gradient - q
        low, high = np.sort([self.signs * lower, self.signs * upper], axis=0)
        point = self._programs.solve(q, low, high, v, eps=eps, product=gradient - q)
        return point.x, point.Px

    def along(
        self, lower: Vector, upper: Vector, scales: Iterable[float], eps: float
    ) -> Iterator[Vector]:
        """Yield v of shape (N,) for boxes times ascending positive scales.

        It is the same array where nothing changes.
        """
        v, product, last = np.zeros(len(upper)), np.zeros(len(upper)), 0.0
        for scale in scales:
            a = self.signs * v
            at_lower = (a < 0.0) & (a <= last * lower)
            at_upper = (a > 0.0) & (a >= last * upper)
            if not last or at_lower.any() or at_upper.any():
                a = a * (scale / last) if last else a
                a[at_lower], a[at_upper] = scale * lower[at_lower], scale * upper[at_upper]
                box = scale * lower, scale * upper
                if last:  # the same multiple, up to rounding: bounds have grown as much
                    product *= scale / last
                v, product = self._solved(*box, self.signs * a, product, eps)
                last = scale
            yield v
