"""The program the engine works on.

    minimise 1/2 |w|^2 + 1/2 x'diag(d)x + q'x
    subject to w = F'x + offset,   Ax = b,   lower <= x <= upper

Variables that are fixed by their bounds are in the offset and in b. An inequality row has a slack
variable of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from qpsvm.backends.ipm.factor import Factor
from qpsvm.qp._arrays import Dense, Vector


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
    """

    F: Factor
    d: Vector
    q: Vector
    A: Dense
    b: Vector
    lower: Vector
    upper: Vector
    offset: Vector

    @property
    def size(self) -> int:
        """Number of variables n."""
        return len(self.q)

    @cached_property
    def trace(self) -> float:
        """Of ``F F'``."""
        X = self.F.X
        squares = X.multiply(X).sum(axis=1) if self.F.is_sparse else np.einsum("ij,ij->i", X, X)
        weights = self.F._gathered(self.F.signs**2)
        return float(np.asarray(squares).ravel() @ weights)

    def gradient(self, w: Vector, y: Vector, out: Vector) -> Vector:
        """``F w + q + A'y``, that of the Lagrangian without the curvature d."""
        self.F.times(w, out)
        out += self.q
        for value, row in zip(y, self.A, strict=True):
            out += value * row
        return out

    def dual_objective(self, w: Vector, y: Vector, g: Vector) -> float:
        """``-1/2 |w|^2 + w'offset - b'y + min over the box of 1/2 x'diag(d)x + g'x``."""
        own = float(w @ (self.offset - 0.5 * w)) - float(y @ self.b)
        return own + self.box_minimum(g)

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
        return 0.5 * float(w @ w) + float(x @ (0.5 * self.d * x + self.q))
