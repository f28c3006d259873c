"""Gradient ascent, Frank-Wolfe and ADMM on the dual: the whole of alpha in every step.

In the code x is alpha, ``q = -1``, and the sign is that of minimisation: the gradient is
``g = P x + q``.

**Dual ascent.** The dual of the soft margin maximises ``1'alpha - 1/2 alpha'H alpha`` with
``H = ss' o K``; its gradient is ``1 - H alpha``. The update of the lecture notes is::

    alpha <- alpha + eta (1 - H alpha)                               (unconstrained)

and knows neither ``s'alpha = 0`` nor ``0 <= alpha <= C``. With the constraints it is::

    alpha <- proj(alpha + eta (1 - H alpha))                         (projected)

with the Euclidean projection onto both together, which is exact (``DualProgram.project``). For
``eta < 2 / L``, L the largest eigenvalue of H, the dual objective grows with every projected step.

**Frank-Wolfe.** Linear programs instead of projections::

    v = argmin { g'v : v feasible },     x <- x + t (v - x),     t = min(1, g'(x - v) / kappa)

with the curvature ``kappa = (v - x)'P(v - x)``: an exact line search. ``g'(x - v)`` bounds the
distance from the optimum, so that the method is its own certificate. Over a box with one row the
linear program is a fractional knapsack: with ``t_i = a_i v_i`` every variable begins where ``t_i``
is smallest, and those of the least cost ``g_i / a_i`` grow first, until ``sum t_i = b`` (Dantzig,
1957). The gap falls like ``1 / k``: each vertex is added for good, and nothing ever leaves
entirely.

**ADMM**, the alternating direction method of multipliers. The variables are doubled: x obeys the
row ``a'x = b`` and z the box, and ``x = z`` at the end. With the scaled multipliers u of that
equation a step is (Boyd et al., section 5.2)::

    x <- argmin { 1/2 x'Px + q'x + rho/2 |x - z + u|^2  :  a'x = b }
    z <- clip(x + u, lower, upper)
    u <- u + x - z

The first line is the linear system ``(P + rho I) x + y a = rho (z - u) - q``, ``a'x = b``, whose
matrix never changes: it is factored once. A linear machine has ``P = F F' + D`` with few columns,
and the Woodbury formula needs a matrix of their number only.

Sources: Cristianini and Shawe-Taylor, *An Introduction to Support Vector Machines* (2000), section
7.2 (stochastic gradient ascent); Bertsekas, *Nonlinear Programming* (1999), section 2.3 (the
projection); Frank and Wolfe, "An algorithm for quadratic programming", *Naval Research Logistics
Quarterly* 3 (1956); Jaggi, "Revisiting Frank-Wolfe", ICML 2013, algorithm 2; Boyd, Parikh, Chu,
Peleato and Eckstein, "Distributed optimization and statistical learning via the alternating
direction method of multipliers" (2011), sections 3.1 and 5.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from qpsvm.exceptions import UnsupportedProgramError
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.cholesky import Cholesky
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.solvers.box.curvature import FactorCurvature
from qpsvm.solvers.classical.program import ClassicalSettings, DualProgram


def projected(program: DualProgram, x: Vector, settings: ClassicalSettings) -> Iterator[Vector]:
    """Yield the iterates of projected gradient descent, ``x <- proj(x - eta (P x + q))``."""
    eta = step_size(program, settings)
    while True:
        x = program.project(x - eta * program.gradient(x))
        yield x


def unconstrained(program: DualProgram, x: Vector, settings: ClassicalSettings) -> Iterator[Vector]:
    """Yield the iterates of gradient descent, ``x <- x - eta (P x + q)``; no constraint is kept."""
    eta = step_size(program, settings)
    while True:
        x = x - eta * program.gradient(x)
        yield x


def step_size(program: DualProgram, settings: ClassicalSettings) -> float:
    """Return eta: the caller's, or ``1 / L`` with L, the norm of P, from the power method."""
    if settings.rate > 0.0:
        return settings.rate
    v = np.random.default_rng(0).standard_normal(len(program.q))
    L = 0.0
    for _ in range(30):
        v = program.P.matvec(v / float(np.linalg.norm(v)))
        L = float(np.linalg.norm(v))  # |P v| <= L for a unit vector v
        if L == 0.0:
            return 1.0
    return 1.0 / (1.1 * L)


def vertices(program: DualProgram, x: Vector, settings: ClassicalSettings) -> Iterator[Vector]:
    """Yield the Frank-Wolfe iterates, until the duality gap is zero.

    Raises
    ------
    UnsupportedProgramError
        The box is not bounded.
    """
    del settings
    if not (np.isfinite(program.lower).all() and np.isfinite(program.upper).all()):
        raise UnsupportedProgramError(
            "'classical:frank-wolfe' needs a box that is bounded, and some variable of this "
            "program has no bound: use 'classical:smo' or 'classical:dual-ascent'. (The hinge has "
            "bounds, the squared hinge and the hard margin have none.)"
        )
    g = program.gradient(x)
    while True:
        d = vertex(program, g) - x
        gap = -float(g @ d)
        if not gap > 0.0:
            return
        Pd = program.P.matvec(d)
        kappa = float(d @ Pd)
        t = min(1.0, gap / kappa) if kappa > 0.0 else 1.0
        x = x + t * d
        g = g + t * Pd
        yield x


def vertex(program: DualProgram, g: Vector) -> Vector:
    """A minimiser of ``g'v`` over box and row, shape (n,)."""
    lower, upper, a = program.lower, program.upper, program.a
    v = np.where(a == 0.0, np.where(g > 0.0, lower, upper), np.where(a > 0.0, lower, upper))
    used = np.flatnonzero(a)
    order = used[np.argsort(g[used] / a[used], kind="stable")]
    room = np.abs(a[order]) * (upper - lower)[order]
    before = np.cumsum(room) - room
    v[order] += np.clip(program.b - float(a @ v) - before, 0.0, room) / a[order]
    return program.clip(v)


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
    if isinstance(P, LowRankQuadratic):
        return FactorCurvature(P, 0).factor(np.arange(P.size), rho)
    return Cholesky(np.array(P.to_dense()), rho)
