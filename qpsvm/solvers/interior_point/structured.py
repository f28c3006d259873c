"""Programs in the engine's structure, before presolve."""

from __future__ import annotations

from dataclasses import dataclass

from qpsvm.numerics.arrays import Dense, Vector
from qpsvm.qp.low_rank import LowRankQuadratic


@dataclass(frozen=True, eq=False)
class StructuredProgram:
    """``min 1/2 |w|^2 + 1/2 x'diag(d)x + q'x + constant`` with ``w = F'x + offset``.

    Attributes
    ----------
    P : LowRankQuadratic
        ``F F' + diag(d)``.
    q, lower, upper : arrays of shape (n,)
    A, G : arrays of shape (p, n) and (m, n)
        ``A x = b`` and ``G x <= h``: few rows.
    b, h : arrays of shape (p,) and (m,)
    offset : array of shape (r,)
    constant : float
    """

    P: LowRankQuadratic
    q: Vector
    A: Dense
    b: Vector
    G: Dense
    h: Vector
    lower: Vector
    upper: Vector
    offset: Vector
    constant: float = 0.0
