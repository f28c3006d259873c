"""Box programs with boxes of increasing scale, each warm-started from the one before.

    minimise 1/2 x'Px + q'x   subject to   1'x = 0,   t lower <= x <= t upper,     t ascending

They are the duals of one machine for ascending prices. Between two neighbouring scales most bounded
variables stay bounded: the last solution times the ratio of the scales is the start of the next,
and the optimum itself for all small scales at which the same variables are bounded. Where no
variable is at its bound, the solution is that of every larger scale as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from qpsvm.display import short_repr
from qpsvm.numerics.arrays import Vector
from qpsvm.solvers.active_set.related import RelatedPrograms


@dataclass(frozen=True)
class FirstStart:
    """Settings of the start of the first program; none changes what is optimal.

    Attributes
    ----------
    variables : int
        Size of a program from which on a part of its variables says where all start.
    share : int
        One of so many variables is in that part, whose boxes are larger by this factor.
    eps : float
        Relative duality gap of the part.
    seed : int
        Of the choice of the part.
    """

    variables: int = 2000
    share: int = 8
    eps: float = 1e-4
    seed: int = 0


@short_repr
@dataclass(frozen=True, eq=False)
class ScaledBoxes:
    """Programs of one matrix and one linear term.

    Attributes
    ----------
    programs : RelatedPrograms
    q, lower, upper : arrays of shape (N,)
        The bounds are those of scale 1, ``lower <= 0 <= upper``.
    first : FirstStart
    """

    programs: RelatedPrograms
    q: Vector
    lower: Vector
    upper: Vector
    first: FirstStart = FirstStart()

    def solutions(self, scales: Iterable[float], eps: float) -> Iterator[Vector]:
        """Yield x of shape (N,) for ascending positive scales; they carry no proof.

        Parameters
        ----------
        scales : iterable of float
        eps : float
            Relative duality gap at which to stop.
        """
        x, product, last = np.zeros(len(self.q)), None, 0.0
        for scale in scales:
            if not last:
                x = self._first_start(scale, eps)
            if not last or self.is_bounded(x, last):
                ratio = scale / last if last else 1.0
                point = self.programs.solve(
                    self.q,
                    scale * self.lower,
                    scale * self.upper,
                    ratio * x,
                    eps=eps,
                    product=None if product is None else ratio * product,
                )
                x, product, last = point.x, point.Px, scale
            yield x

    def _first_start(self, scale: float, eps: float) -> Vector:
        """Starting point at the bounds, from the solution for a random part of the variables.

        With small boxes nearly all variables are at a bound.
        """
        n, share = len(self.q), self.first.share
        if n < max(self.first.variables, share):
            return np.zeros(n)
        part = np.sort(np.random.default_rng(self.first.seed).permutation(n)[: n // share])
        box = share * scale * self.lower[part], share * scale * self.upper[part]
        point = self.programs.of_variables(part).solve(
            self.q[part], *box, np.zeros(len(part)), eps=max(eps, self.first.eps)
        )
        x = np.zeros(n)
        x[part] = point.x
        gradient = self.programs.P.product(x) + self.q
        return scale * at_bounds(gradient, self.lower, self.upper)

    def is_bounded(self, x: Vector, scale: float) -> bool:
        """Return whether any variable is at a bound other than zero, which grows with the scale."""
        return bool(((x != 0.0) & ((x <= scale * self.lower) | (x >= scale * self.upper))).any())


def at_bounds(gradient: Vector, lower: Vector, upper: Vector) -> Vector:
    """Minimise ``gradient'x`` subject to ``1'x = 0`` in the box: one variable is between bounds."""
    order = np.argsort(gradient, kind="stable")
    widths = (upper - lower)[order]
    room = -float(np.sum(lower)) - (np.cumsum(widths) - widths)
    x = np.empty(len(lower))
    x[order] = lower[order] + np.clip(room, 0.0, widths)
    return x
