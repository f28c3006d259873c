"""Gradient ascent on the dual, without and with its constraints.

The dual of the soft margin maximises ``1'alpha - 1/2 alpha'H alpha`` with ``H = ss' o K``; its
gradient is ``1 - H alpha``. The update of the lecture notes is::

    alpha <- alpha + eta (1 - H alpha)                               (unconstrained)

and knows neither ``s'alpha = 0`` nor ``0 <= alpha <= C``. With the constraints it is::

    alpha <- proj(alpha + eta (1 - H alpha))                         (projected)

with the Euclidean projection onto both together, which is exact (``DualProgram.project``). For
``eta < 2 / L``, L the largest eigenvalue of H, the dual objective grows with every projected step.

Source: Cristianini and Shawe-Taylor, *An Introduction to Support Vector Machines* (2000), section
7.2 (stochastic gradient ascent); the projection: Bertsekas, *Nonlinear Programming* (1999), section
2.3. In the code x is alpha, ``q = -1``, and the sign is that of minimisation.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from qpsvm.numerics.arrays import Vector
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
    for _ in range(settings.power_steps):
        v = v / float(np.linalg.norm(v))
        v = program.P.matvec(v)
        L = float(np.linalg.norm(v))  # |P v| <= L for a unit vector v
        if L == 0.0:
            return 1.0
    return 1.0 / (settings.safety * L)
