"""The program the engine works on, and parts of it.

    minimise 1/2 |w|^2 + 1/2 x'diag(d)x + q'x + constant
    subject to w = F'x + offset,   Ax = b,   lower <= x <= upper

Fixing variables moves their share into the offset, b and the constant: objectives stay those of
the whole program.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.backends.ipm.factor import Factor
from qpsvm.qp._arrays import Dense, Index, Vector


@dataclass(frozen=True, eq=False)
class FactorProgram:
    """One such program.

    Attributes
    ----------
    F : Factor
    d, q, lower, upper : arrays of shape (n,)
    A : array of shape (p, n)
    b : array of shape (p,)
    offset : array of shape (r,)
    constant : float
    """

    F: Factor
    d: Vector
    q: Vector
    A: Dense
    b: Vector
    lower: Vector
    upper: Vector
    offset: Vector
    constant: float = 0.0

    @property
    def size(self) -> int:
        """Number of variables n."""
        return len(self.q)

    def part(self, kept: Index, x: Vector) -> FactorProgram:
        """In ``x[kept]`` alone, the others fixed."""
        fixed = np.ones(self.size, dtype=bool)
        fixed[kept] = False
        at = np.where(fixed, x, 0.0)
        return FactorProgram(
            self.F.restricted(kept),
            self.d[kept],
            self.q[kept],
            self.A[:, kept],
            self.b - self.A @ at,
            self.lower[kept],
            self.upper[kept],
            self.offset + self.F.transposed(at),
            self.constant + float(at @ (0.5 * self.d * at + self.q)),
        )

    def sample(self, kept: Index, ratio: float) -> FactorProgram:
        """As if ``kept`` were all of it: every variable stands for ``ratio`` of them."""
        own = np.where(kept < len(self.F.signs), ratio, 1.0)
        return FactorProgram(
            self.F.restricted(kept),
            self.d[kept] / own,
            self.q[kept],
            self.A[:, kept],
            self.b,
            self.lower[kept] * own,
            self.upper[kept] * own,
            self.offset,
            self.constant,
        )

    def gradient(self, w: Vector, y: Vector) -> Vector:
        """``F w + q + A'y``, that of the Lagrangian without the curvature d."""
        g = self.F.times(w)
        g += self.q
        for value, row in zip(y, self.A, strict=True):
            g += value * row
        return g

    def dual_objective(self, w: Vector, y: Vector, g: Vector) -> float:
        """``-1/2 |w|^2 + w'offset - b'y + min over the box of 1/2 x'diag(d)x + g'x``."""
        return (
            self.constant
            - 0.5 * float(w @ w)
            + float(w @ self.offset)
            - float(y @ self.b)
            + self.box_minimum(g)
        )

    def box_minimum(self, g: Vector) -> float:
        """``min 1/2 x'diag(d)x + g'x`` over the box; -inf where it falls without end."""
        with np.errstate(divide="ignore", invalid="ignore"):
            best = np.clip(np.where(self.d > 0.0, -g / self.d, 0.0), self.lower, self.upper)
            flat = self.d == 0.0
            best[flat] = np.where(g[flat] > 0.0, self.lower[flat], self.upper[flat])
            best[flat & (g == 0.0)] = 0.0
            return float(best @ (0.5 * self.d * best + g))

    def primal_objective(self, x: Vector, w: Vector) -> float:
        """At x, with ``w = F'x + offset``."""
        return self.constant + 0.5 * float(w @ w) + float(x @ (0.5 * self.d * x + self.q))
