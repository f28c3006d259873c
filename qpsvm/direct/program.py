r"""A small machine in arrays: its dual points, and a certificate from them alone.

With ``v = p - s (f + b)`` and the decision values f of the weights that a dual point a implies, the
duality gap is the sum of ``loss(v) + d/2 a^2 - a v`` over the conditions
(``machines.complementarity``). Each term is taken at the worse end of the error of its v, that of
kernel values included. What is certified depends on a and the samples, and on nothing that a solver
said.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from qpsvm.direct.matrices import SUMMED, Features, KernelMatrix
from qpsvm.direct.newton import newton_points
from qpsvm.direct.pairs import pair_points
from qpsvm.direct.settings import DIRECT
from qpsvm.machines.intercept import Interval
from qpsvm.machines.settings import MACHINES
from qpsvm.native import Losses
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.balls import UNDERFLOW
from qpsvm.numerics.precision import EPS, TINY


class Certified(NamedTuple):
    """A machine with a bound on its excess over the optimum.

    Parameters
    ----------
    alpha, expansion : arrays of shape (N,) and (n,)
    values : array of shape (n,)
        Decision values without intercept.
    interval : Interval
        The best intercepts.
    objective : float
        Of the primal program.
    relative_gap : float
        Bound on the objective minus the optimum, errors of kernel values and rounding included,
        relative to a lower bound on the objective.
    violation : float
        Largest distance of a variable from its KKT case.
    points : int
        How many dual points were tried.
    """

    alpha: Vector
    expansion: Vector
    values: Vector
    interval: Interval
    objective: float
    relative_gap: float
    violation: float
    points: int

    def passes(self, eps: float) -> bool:
        """Return whether the certified gap is within ``eps``, and every variable near its case."""
        is_small = self.relative_gap <= DIRECT.gap_share * eps
        return is_small and self.violation <= DIRECT.natural_share * math.sqrt(eps)


@dataclass(frozen=True, eq=False)
class DirectProgram:
    """The dual of a machine in arrays: conditions on samples, with their losses.

    Attributes
    ----------
    matrix : KernelMatrix or Features
        Of n samples.
    losses : Losses
        N conditions; ``losses.rows`` are the samples of the conditions of a tube.
    signs : array of shape (N,)
        -1 and 1.
    is_free : bool
        Whether the intercept is free: then ``signs'a = 0``.
    constant : float
        1 for a penalised intercept, else 0.
    unit : float
        Of violations.
    """

    matrix: KernelMatrix | Features
    losses: Losses
    signs: Vector
    is_free: bool
    constant: float = 0.0
    unit: float = 1.0

    def solved(self, eps: float) -> Certified | None:
        """Try dual points until one is certified to ``eps``; None where none is."""
        for count, alpha in enumerate(self._points(eps), 1):
            found = self.certified(alpha)
            if found is not None and found.passes(eps):
                return found._replace(points=count)
            if count == DIRECT.certificates:
                return None
        return None

    # --- dual points ------------------------------------------------------------------------------

    def _points(self, eps: float) -> Iterator[Vector]:
        own, matrix = self.losses, self.matrix
        if isinstance(matrix, Features) and own.curved is not None and own.rows is None:
            if matrix.X.shape[1] <= DIRECT.newton_features:
                intercept = self.constant if self.is_free or self.constant else None
                return newton_points(matrix.X, own, intercept)
        free, constant = self.is_free, self.constant
        return pair_points(matrix.K, own, is_free=free, constant=constant, eps=eps)

    # --- certificates -----------------------------------------------------------------------------

    def certified(self, alpha: Vector) -> Certified | None:
        """Bound the excess of the machine that dual variables imply; None where it overflows.

        Parameters
        ----------
        alpha : array of shape (N,)
            In the box.
        """
        own, n = self.losses, len(self.matrix.diagonal)
        beta = self.signs * alpha
        if own.rows is not None:
            beta = np.bincount(own.rows, beta, n).astype(np.float64)
        values, errors, apart = self.matrix.evaluated(beta)
        if not np.isfinite(errors).all():
            return None
        b = self.constant * float(np.sum(beta))
        interval = Interval(b, b)
        if self.is_free:
            interval = Interval(*own.best_intercepts(values, flat=self._flat))
            b = interval.midpoint
        if not math.isfinite(b):
            return None
        bounds, size = own.bounds(values, errors, alpha, b, unit=self.unit), np.abs(beta)
        objective = 0.5 * float(beta @ values) + bounds.losses + 0.5 * self.constant * b * b
        upper = bounds.gap + MACHINES.price_roundings * EPS * abs(objective)
        if self.is_free:
            upper += 2.0 * abs(bounds.balance * b)
        elif self.constant:
            upper += 0.5 * (b - bounds.balance) ** 2
        if own.rows is not None:  # beta is a rounded difference
            terms = np.bincount(own.rows, np.abs(alpha), n)
            apart += 2.0 * EPS * float(np.sqrt(np.abs(self.matrix.diagonal)) @ terms)
        upper += 0.5 * apart * apart
        lost = bounds.passed_on + float(size @ (errors + n * EPS * np.abs(values)))
        relative = (SUMMED * upper + UNDERFLOW) / max(objective - SUMMED * lost, TINY)
        return Certified(alpha, beta, values, interval, objective, relative, bounds.violation, 0)

    @cached_property
    def _flat(self) -> float:
        """Slopes of the objective in b that count as zero, as for ``machines.intercept``."""
        own = self.losses
        if own.curved is not None:
            return 0.0
        return len(self.signs) * EPS * float(np.sum(np.maximum(np.abs(own.lower), own.upper)))
