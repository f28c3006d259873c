"""The primal-dual interior-point iteration.

Conditions of the central path, with ``g = F w + q + A'y``, ``s = x - lower``, ``t = upper - x``::

    g + d x - z + v = 0,     F'x + offset - w = 0,     Ax - b = 0,     s z = mu,     t v = mu

The weights w are variables of their own, so that an iteration may begin where they are small
although x is in the middle of its box: a start that knows no C.

Predictor and corrector of Mehrotra, *SIAM J. Optim.* 2 (1992); further correctors of Gondzio,
*Comput. Optim. Appl.* 6 (1996), section 3, and Colombo and Gondzio, ibid. 41 (2008).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from qpsvm.backends.ipm.newton import Direction, NewtonSystem
from qpsvm.backends.ipm.program import FactorProgram
from qpsvm.qp._arrays import Vector

FAR = 1e200
"""Distance of a bound that does not exist: its multiplier comes out as nothing."""

BOUNDARY = 0.995
"""Share of the way to the nearest bound that a step goes."""

CORRECTORS = 2
"""Correctors beyond Mehrotra's, at most."""

PROXIMAL = 1e-10
"""Of the mean diagonal entry of P."""

SHARES = (0.0, 1e-4, 3e-4, 5e-4)
"""Of the variables, those that may jump."""

_NOBODY = np.zeros(0, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class Measured:
    """How good an iterate is.

    Attributes
    ----------
    primal, dual : float
        Objectives; the primal one is that of an x that may miss some rows.
    missed : float
        Largest violation of the rows.
    """

    primal: float
    dual: float
    missed: float

    @property
    def gap(self) -> float:
        """Relative to the primal objective."""
        return (self.primal - self.dual) / max(abs(self.primal), 1e-300)


@dataclass(frozen=True, eq=False)
class Move:
    """A direction of everything."""

    step: Direction
    dz: Vector
    dv: Vector

    @property
    def dx(self) -> Vector:
        """That of x."""
        return self.step.dx


class Iterate:
    """A point and its multipliers; ``measure`` says how good it is, ``step`` makes it better."""

    def __init__(
        self, program: FactorProgram, x: Vector, w: Vector, y: Vector, z: Vector, v: Vector
    ) -> None:
        p = self.program = program
        has_lower, has_upper = np.isfinite(p.lower), np.isfinite(p.upper)
        self.n_bounds = max(int(has_lower.sum() + has_upper.sum()), 1)
        self.x = x
        self.s = np.where(has_lower, x - p.lower, FAR)
        self.t = np.where(has_upper, p.upper - x, FAR)
        self.z = np.where(has_lower, z, 0.0)
        self.v = np.where(has_upper, v, 0.0)
        self.w, self.y = w, y
        self.iterations = 0
        self.error = 0.0
        upper = p.F.normal(np.ones(p.size))
        self.gram = np.triu(upper) + np.triu(upper, 1).T
        finite = np.minimum(self.s + self.t, np.where(has_lower, 2.0 * self.s, 2.0 * self.t))
        self.room = float(np.linalg.norm(np.minimum(finite, 1e100)))
        self.unit = float(np.trace(self.gram)) / p.size + float(np.mean(p.d))
        self.proximal = 1e-12 * self.unit
        self.refresh()

    @classmethod
    def middle(cls, program: FactorProgram) -> Iterate:
        """In the middle of the box, without weights."""
        p = program
        has_lower, has_upper = np.isfinite(p.lower), np.isfinite(p.upper)
        with np.errstate(invalid="ignore"):
            x = np.where(has_upper, 0.5 * (p.lower + p.upper), p.lower + 1.0)
            x = np.where(has_lower, x, np.where(has_upper, p.upper - 1.0, 0.0))
        g = p.q + p.d * x
        scale = max(float(np.max(np.abs(p.q), initial=0.0)), 1e-300)
        w, y = p.offset.copy(), np.zeros(len(p.b))
        return cls(p, x, w, y, np.maximum(g, 0.0) + scale, np.maximum(-g, 0.0) + scale)

    @classmethod
    def central(cls, program: FactorProgram, w: Vector, y: Vector, mu: float) -> Iterate:
        """The point of the central path at mu, were w and y those of it."""
        p = program
        g = p.gradient(w, y)
        has_lower, has_upper = np.isfinite(p.lower), np.isfinite(p.upper)
        both = has_lower & has_upper
        u = np.where(both, p.upper - p.lower, 1.0)
        r = g
        for _ in range(3 if p.d.any() else 1):
            s, t = central(r, u, mu)
            x = p.lower + s
            r = g + p.d * x
        z, v = mu / s, mu / t
        if not both.all():
            c = g + p.d * np.where(has_lower, p.lower, 0.0)
            root = np.sqrt(c * c + 4.0 * p.d * mu)
            with np.errstate(divide="ignore", invalid="ignore"):
                alone = np.where(c > 0.0, 2.0 * mu / (c + root), (root - c) / (2.0 * p.d))
            alone = np.where(np.isfinite(alone), alone, 1.0)
            x = np.where(both, x, np.where(has_lower, p.lower + alone, 0.0))
            z = np.where(both, z, mu / alone)
        return cls(p, x, w, y, z, v)

    def refresh(self) -> None:
        """Products anew: what was added up over the steps has rounded."""
        p = self.program
        self.missing = p.F.transposed(self.x) + p.offset - self.w
        self.F_missing = p.F.times(self.missing)
        self.g = p.gradient(self.w, self.y)

    @property
    def mu(self) -> float:
        """Mean complementarity."""
        return float(self.s @ self.z + self.t @ self.v) / self.n_bounds

    def measure(self) -> Measured:
        """Both objectives, at x and at the weights that belong to it."""
        p = self.program
        w = self.w + self.missing
        return Measured(
            p.primal_objective(self.x, w),
            p.dual_objective(w, self.y, self.g + self.F_missing),
            float(np.max(np.abs(p.A @ self.x - p.b), initial=0.0)),
        )

    def step(self, *, refined: bool, jumps: bool) -> float:
        """One iteration; returns the length of its step.

        Parameters
        ----------
        refined : bool
            Compute products anew and improve every direction by iterative refinement: where
            rounding shows.
        jumps : bool
            Let the few variables that would stop the step jump to the central path instead.

        Raises
        ------
        numpy.linalg.LinAlgError
            Rounding has made the system indefinite.
        """
        p = self.program
        self.refresh()
        s, t, z, v = self.s, self.t, self.z, self.v
        mu = self.mu
        e = p.b - p.A @ self.x
        left = z - v - self.g - p.d * self.x
        theta = z / s + v / t + p.d
        while True:
            # a proximal term at this iterate: it moves no solution, and bounds the condition
            system = NewtonSystem(p.F, p.A, theta + self.proximal)
            solve = system.refined if refined else system.solve

            def toward(low: Vector, high: Vector) -> Move:
                """The direction in which ``s z`` changes by ``low`` and ``t v`` by ``high``."""
                found = solve(left - self.F_missing + low / s - high / t, e)
                return Move(found, (low - z * found.dx) / s, (high + v * found.dx) / t)

            best = toward(-s * z, -t * v)
            error = system.error if refined else system.inconsistency(best.step)
            if error <= 1e-4 or self.proximal >= 1e-6*self.unit:
                break
            self.proximal *= 100.0
        self.log = (self.proximal/self.unit, error)
        if error < 1e-8: self.proximal = max(0.1*self.proximal, 1e-14*self.unit)
        share = SHARES[-1] if jumps else 0.0
        length = _length(self._blocking(best), share)
        # where a variable jumps its product becomes mu; here it counts as nothing
        after = np.maximum(s + length * best.dx, 0.0) @ np.maximum(z + length * best.dz, 0.0)
        after += np.maximum(t - length * best.dx, 0.0) @ np.maximum(v + length * best.dv, 0.0)
        target = min(1.0, after / self.n_bounds / mu) ** 3 * mu
        low = target - s * z - best.dx * best.dz
        high = target - t * v + best.dx * best.dv
        best = toward(low, high)
        length = _length(self._blocking(best), share)
        for _ in range(CORRECTORS):
            if length > 0.95:
                break
            longer = min(1.0, 1.08 * length + 0.08)
            low = low + _pulled((s + longer * best.dx) * (z + longer * best.dz), target)
            high = high + _pulled((t - longer * best.dx) * (v + longer * best.dv), target)
            other = toward(low, high)
            reached = _length(self._blocking(other), share)
            if reached < 1.01 * length:
                break
            best, length = other, reached
        self.error = system.error
        return self._go(best, left, e, target, SHARES if jumps else (0.0,))

    def _go(
        self, move: Move, left: Vector, e: Vector, target: float, shares: tuple[float, ...]
    ) -> float:
        """Take the step, among those that different shares of the variables jump out of."""
        p, mu = self.program, self.mu
        blocking = self._blocking(move)
        dg = move.step.Fdw + self.F_missing + move.step.dy @ p.A
        best: tuple[float, float, Any] | None = None
        for share in shares:
            length = min(1.0, BOUNDARY * _length(blocking, share))
            if best is not None and length <= best[1]:
                continue
            x = self.x + length * move.dx
            s, t = self.s + length * move.dx, self.t - length * move.dx
            z, v = self.z + length * move.dz, self.v + length * move.dv
            missing, lacking = (1.0 - length) * self.missing, (1.0 - length) * e
            r = (1.0 - length) * left
            jumping = np.flatnonzero(blocking * length >= 1.0) if share else _NOBODY
            if len(jumping):
                g = (self.g + length * dg)[jumping]
                between = (1.0 - length) * mu + length * target
                lower, upper = p.lower[jumping], p.upper[jumping]
                s[jumping], t[jumping] = central(g, upper - lower, between)
                z[jumping], v[jumping] = between / s[jumping], between / t[jumping]
                moved = np.zeros(p.size)
                moved[jumping] = lower + s[jumping] - x[jumping]
                x += moved
                missing = missing + p.F.transposed(moved)
                lacking = lacking - p.A @ moved
                r[jumping] = 0.0
            w = self.w + length * (move.step.dw + self.missing)
            y = self.y + length * move.step.dy
            # everything that is left, in units of the objective
            merit = float(s @ z + t @ v) + float(np.abs(r) @ np.minimum(s, t))
            merit += self._worth(missing, lacking)
            if best is None or merit < best[0]:
                best = (merit, length, (x, s, t, z, v, w, y, missing, len(jumping)))
        assert best is not None
        _, length, (x, s, t, z, v, w, y, missing, jumped) = best
        self.x, self.s, self.t, self.z, self.v, self.w, self.y = x, s, t, z, v, w, y
        self.g = self.g + length * dg
        self.missing = missing
        self.F_missing = p.F.times(missing) if jumped else (1.0 - length) * self.F_missing
        self.iterations += 1
        return length

    def _worth(self, missing: Vector, lacking: Vector) -> float:
        """What infeasibility is worth in units of the objective: the gradient it changes."""
        change = math.sqrt(max(float(missing @ (self.gram @ missing)), 0.0))
        return self.room * change + float(np.abs(self.y) @ np.abs(lacking))

    def _blocking(self, move: Move) -> Vector:
        """Of every variable, 1 over the step at which it meets a bound of s, t, z or v."""
        with np.errstate(divide="ignore", invalid="ignore"):
            inverse = np.maximum(-move.dx / self.s, move.dx / self.t)
            np.fmax(inverse, -move.dz / self.z, out=inverse)
            np.fmax(inverse, -move.dv / self.v, out=inverse)
        return inverse


def central(r: Vector, u: Vector, mu: float) -> tuple[Vector, Vector]:
    """``s`` and ``t = u - s`` with ``mu/s - mu/t = r``: where the central path has a variable.

    ``s = 2 mu u / (r u + 2 mu + sqrt((r u)^2 + 4 mu^2))`` for ``r >= 0``, and t so for r < 0.
    """
    ru = np.abs(r) * u
    near = 2.0 * mu * u / (ru + 2.0 * mu + np.hypot(ru, 2.0 * mu))
    return np.where(r >= 0.0, near, u - near), np.where(r >= 0.0, u - near, near)


def _length(blocking: Vector, share: float) -> float:
    """The step, at most 1, that all but this share of the variables can go."""
    k = int(share * len(blocking))
    worst = float(np.partition(blocking, -1 - k)[-1 - k] if k else np.max(blocking))
    return min(1.0, 1.0 / worst) if worst > 0.0 else 1.0


def _pulled(product: Vector, target: float) -> Vector:
    """What brings a complementarity product between a tenth and ten times its target."""
    return np.maximum(np.clip(product, 0.1 * target, 10.0 * target) - product, -10.0 * target)
