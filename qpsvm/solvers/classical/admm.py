"""The alternating direction method of multipliers: the row and the box in turn.

The variables are doubled: x obeys the row ``a'x = b`` and z the box, and ``x = z`` at the end. With
the scaled multipliers u of that equation a step is (Boyd et al., section 5.2)::

    x <- argmin { 1/2 x'Px + q'x + rho/2 |x - z + u|^2  :  a'x = b }
    z <- clip(x + u, lower, upper)
    u <- u + x - z

The first line is the linear system ``(P + rho I) x + y a = rho (z - u) - q``, ``a'x = b``, whose
matrix never changes: it is factored once. A linear machine has ``P = F F' + D`` with few columns,
and the Woodbury formula needs a matrix of their number only.

Source: Boyd, Parikh, Chu, Peleato and Eckstein, "Distributed optimization and statistical learning
via the alternating direction method of multipliers" (2011), sections 3.1 and 5.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from qpsvm.numerics.arrays import Vector, as_dense
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.solvers.classical.program import ClassicalSettings, DualProgram


def splittings(program: DualProgram, x: Vector, settings: ClassicalSettings) -> Iterator[Vector]:
    """Yield the ADMM iterates z, which are in the box and approach the equality row."""
    q, a = program.q, program.a
    rho = settings.rho or float(np.mean(program.diagonal)) or 1.0
    solve = shifted_inverse(program, rho)
    across = solve(a)  # (P + rho I)^{-1} a
    z, u = x, np.zeros(len(x))
    while True:
        x = solve(rho * (z - u) - q)
        if a.any():
            x = x - across * (float(a @ x) - program.b) / float(a @ across)
        z = program.clip(x + u)
        u = u + x - z
        yield z


def shifted_inverse(program: DualProgram, rho: float) -> Callable[[Vector], Vector]:
    """``v -> (P + rho I)^{-1} v``, by a Cholesky factor of P or by the Woodbury formula.

    Raises
    ------
    MemoryLimitError
        P does not fit into memory as a matrix, and has no few columns.
    """
    P = program.P
    if isinstance(P, LowRankQuadratic) and P.rank < P.size:
        F, d = P.factor, P.diag + rho
        weighted = F / d[:, None] if isinstance(F, np.ndarray) else F.multiply(1.0 / d[:, None])
        # (D + F F')^{-1} = D^{-1} - D^{-1} F (I + F' D^{-1} F)^{-1} F' D^{-1}
        inner = np.eye(P.rank) + as_dense(F.T @ weighted)
        small = cho_factor(inner)
        return lambda v: np.asarray(v / d - (F @ cho_solve(small, F.T @ (v / d))) / d)
    full = np.array(P.to_dense())
    full.flat[:: P.size + 1] += rho
    factor = cho_factor(full, overwrite_a=True)
    return lambda v: np.asarray(cho_solve(factor, v))
