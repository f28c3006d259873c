"""The primal-dual interior-point iteration.

Conditions of the central path, with ``w = F'x``, ``h = F w + q + A'y``, ``s = x - lower`` and
``t = upper - x``::

    h + d x = z - v,     A x = b,     s z = mu,     t v = mu

An iterate begins in the middle of the box and meets the first two only in the end: a start that
knows no C. Predictor and corrector of Mehrotra, *SIAM J. Optim.* 2 (1992); further correctors of
Gondzio, *Comput. Optim. Appl.* 6 (1996), section 3.

Duals of support vector machines have many variables and few that matter: a handful of them, near
a bound on the wrong side, would stop every step at a third of its length. They *jump* instead, to
where the central path has them at the gradient that the step predicts. That leaves the equations
unmet, by little, and they are met again in the steps that follow.
"""

from __future__ import annotations

import copy
import math
from dataclasses import replace

import numpy as np

from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.solvers.interior_point.accuracy import Accuracy
from qpsvm.solvers.interior_point.central import between
from qpsvm.solvers.interior_point.chunks import chunks
from qpsvm.solvers.interior_point.direction import Outlook, SearchDirection
from qpsvm.solvers.interior_point.newton import NewtonSystem
from qpsvm.solvers.interior_point.program import FactorProgram

FAR = 1e200
"""Distance of a bound that does not exist."""

BOUNDARY = 0.995
"""Share of the way to the nearest bound that a step goes."""

CORRECTORS = 2
"""Correctors beyond Mehrotra's, at most."""

CAREFUL = 1e-10
"""Of the least curvature that counts, a proximal term that keeps dependent rows apart."""

_NOBODY = np.zeros(0, dtype=np.intp)

SHARES = (0.0, 1e-4, 3e-4, 5e-4)
"""Of the variables, those that may jump."""


class Iterate:
    """A primal-dual iterate: ``measure`` computes its accuracy, ``step`` improves it."""

    def __init__(self, program: FactorProgram) -> None:
        p = self.program = program
        n = p.size
        has_lower, has_upper = np.isfinite(p.lower), np.isfinite(p.upper)
        self.n_bounds = max(int(has_lower.sum() + has_upper.sum()), 1)
        self.bounded = None if self.n_bounds == 2 * n else (has_lower, has_upper)
        with np.errstate(invalid="ignore"):
            x = np.where(has_upper, 0.5 * (p.lower + p.upper), p.lower + 1.0)
            self.x = np.where(has_lower, x, np.where(has_upper, p.upper - 1.0, 0.0))
        self.s = np.where(has_lower, self.x - p.lower, FAR)
        self.t = np.where(has_upper, p.upper - self.x, FAR)
        self.unit = p.unit
        g = p.q + p.d * self.x
        self.scale = scale = self._gradient_scale()
        largest = float(np.max(np.abs(p.q), initial=0.0))
        self.gradient_unit = max(largest, min(self.unit, 1.0)) or 1.0
        self.z = np.where(has_lower, np.maximum(g, 0.0) + scale, 0.0)
        self.v = np.where(has_upper, np.maximum(-g, 0.0) + scale, 0.0)
        self.y = np.zeros(len(p.b))
        self.w = p.offset.copy()
        self.iterations = 0
        self.system: NewtonSystem | None = None
        self.proximal = 0.0
        self.careful = False
        self._prepare()

    def _prepare(self) -> None:
        """Set up the vectors that follow from the program and the point."""
        p, n = self.program, self.program.size
        self.g, self.h = np.empty(n), np.empty(n)
        p.gradient(self.w, self.y, self.g)
        self.refresh()
        self.gram: Dense | None = None
        if p.F.rank <= n:
            upper = p.F.normal(np.ones(n))
            self.gram = np.triu(upper) + np.triu(upper, 1).T
        near = np.minimum(self.s, self.t)
        room = np.minimum(self.s + self.t, 2.0 * near)
        self.room = float(np.linalg.norm(room[near < FAR]))
        # the size of every column of F; one of zeros has none
        columns = p.F.column_sizes
        self.columns = np.where(columns > 0.0, columns, 1.0)
        self.least = min(self.unit, float(np.min(self.columns**2)) / n) or 1.0
        self.proximal = max(self.proximal, 1e-12 * self.least)
        self.chunks = list(chunks(n))
        # theta^-1; what s z and t v aim at; the reciprocals of s, t, z and v
        self.D, self.a, self.c, self.is_, self.it, self.iz, self.iv = (
            np.empty(n) for _ in range(7)
        )
        self.move, self.other = SearchDirection(n), SearchDirection(n)

    def _gradient_scale(self) -> float:
        """Scale of gradients: the largest entry of q, or of the gradient the rows force."""
        p = self.program
        terms = np.abs(p.A) @ np.abs(self.x)
        share = min(float(np.max(np.abs(p.b) / np.maximum(terms, 1e-300), initial=0.0)), 1.0)
        w = share * p.F.transposed(self.x) + p.offset
        gradient = np.abs(p.F.times(w, np.empty(p.size)))
        scale = max(float(np.max(part, initial=0.0)) for part in (np.abs(p.q), gradient))
        # nothing pulls at a point that nothing is known of yet: what the rows will ask for does
        return scale or self.unit * float(np.max(np.abs(p.b), initial=0.0)) or 1.0

    def distances(self, gap: float) -> Vector:
        """Distance of every gradient from zero, in units of what an absolute gap can change."""
        assert self.system is not None
        return np.abs(self.g) / (math.sqrt(max(gap, 1e-300)) * self.system.sizes())

    def narrowed(self, kept: Index, x: Vector) -> Iterate:
        """The iterate restricted to the undecided variables, the others fixed."""
        other = copy.copy(self)
        other.program = self.program.restricted(kept, x)
        for name in ("x", "s", "t", "z", "v"):
            setattr(other, name, getattr(self, name)[kept])
        if self.bounded is not None:
            has_lower, has_upper = (has[kept] for has in self.bounded)
            other.bounded = has_lower, has_upper
            other.n_bounds = max(int(has_lower.sum() + has_upper.sum()), 1)
        else:
            other.n_bounds = 2 * len(kept)
        other._prepare()
        return other

    def refresh(self) -> None:
        """Recompute products, whose updates accumulate rounding."""
        p = self.program
        weights = p.F.transposed(self.x) + p.offset
        self.missing = weights - self.w
        p.gradient(weights, self.y, self.h)

    @property
    def mu(self) -> float:
        """The mean complementarity product."""
        return self._complementarity() / self.n_bounds

    def _complementarity(self) -> float:
        return float(self.s @ self.z + self.t @ self.v)

    def measure(self) -> Accuracy:
        """Measure objectives, gap and residuals of the iterate."""
        p = self.program
        w = self.w + self.missing
        primal = 0.5 * float(w @ w) + p.constant
        free = 0.0
        dual = float(w @ (p.offset - 0.5 * w)) - float(self.y @ p.b) + p.constant
        natural = products = 0.0
        for i in self.chunks:
            x, h, d, s, t = self.x[i], self.h[i], p.d[i], self.s[i], self.t[i]
            primal += float(x @ (0.5 * d * x + p.q[i]))
            dual += p.box_minimum(i, h, x)
            r = (h + d * x) / self.gradient_unit
            to_lower = s / np.minimum(s + t, np.maximum(np.abs(p.lower[i]), 1.0))
            to_upper = t / np.minimum(s + t, np.maximum(np.abs(p.upper[i]), 1.0))
            nearer = np.where(r > 0.0, np.minimum(r, to_lower), np.minimum(-r, to_upper))
            natural = max(natural, float(np.max(nearer)))
            room = np.where(r > 0.0, s, t)
            if self.bounded is not None:
                is_free = room == FAR
                free = max(free, float(np.max(np.abs(r[is_free]), initial=0.0)))
                room[is_free] = 0.0
            products += float(np.abs(r) @ room)
        missed = np.abs(p.A @ self.x - p.b)
        return Accuracy(
            primal=primal,
            dual=dual,
            missed=float(np.abs(self.y) @ missed),
            floor=p.floor(self.x),
            natural=natural,
            rows=float(np.max(missed / np.maximum(np.abs(p.b), 1.0), initial=0.0)),
            free=free,
            products=products * self.gradient_unit / max(abs(primal), 1.0),
        )

    def solution(self) -> tuple[Vector, Vector, Vector]:
        """x, y and w of the iterate, with the rounding of rows spread over variables with room."""
        p = self.program
        x = self.x.copy()
        lacking = p.b - p.A @ x
        room = np.minimum(self.s, self.t)
        weighted = p.A * np.where(room < FAR, room, 1.0) ** 2
        shares = np.linalg.lstsq(weighted @ p.A.T, lacking, rcond=None)[0]
        return np.clip(x + shares @ weighted, p.lower, p.upper), self.y, self.w.copy()

    def step(self, *, jumps: bool) -> float:
        """Take one predictor-corrector step; return its length.

        Parameters
        ----------
        jumps : bool
            Let the few variables that would stop the step jump.

        Raises
        ------
        numpy.linalg.LinAlgError
            Rounding has made the system indefinite.
        """
        mu = self.mu
        e = self.program.b - self.program.A @ self.x
        shares = SHARES if jumps else (0.0,)
        system = self.system = self._predictor(e)
        length = self.move.length(shares[-1])
        target = min(1.0, self._after(length) / self.n_bounds / mu) ** 3 * mu if mu else 0.0
        self._aim(target)
        self._direct(system, e, self.move)
        length = self.move.length(shares[-1])
        for _ in range(CORRECTORS):
            if length > 0.95:
                break
            self._pull(min(1.0, 1.08 * length + 0.08), target)
            self._direct(system, e, self.other)
            longer = self.other.length(shares[-1])
            if longer < 1.01 * length:
                break
            self.move, self.other, length = self.other, self.move, longer
        return self._go(e, mu, target, shares)

    def _predictor(self, e: Vector) -> NewtonSystem:
        """Factor the Newton system and compute the affine direction towards ``s z = t v = 0``.

        Where ``dw = F'dx`` does not hold as well as it can be asked to, the variables that weigh
        most are not eliminated from then on. Where that does not help, a proximal term grows: at
        this iterate it moves no solution, and bounds the condition number.
        """
        p = self.program
        self.a[:] = 0.0
        self.c[:] = 0.0
        with np.errstate(divide="ignore"):
            for i in self.chunks:
                np.divide(1.0, self.s[i], out=self.is_[i])
                np.divide(1.0, self.t[i], out=self.it[i])
                np.divide(1.0, self.z[i], out=self.iz[i])
                np.divide(1.0, self.v[i], out=self.iv[i])
        while True:
            for i in self.chunks:
                theta = self.z[i] * self.is_[i] + self.v[i] * self.it[i] + p.d[i] + self.proximal
                np.divide(1.0, theta, out=self.D[i])
            is_last = self.proximal >= 1e-6 * self.unit
            try:
                system = NewtonSystem.of(p.F, p.A, self.D, careful=self.careful)
                self._direct(system, e, self.move)
                error = 0.0
            except np.linalg.LinAlgError:
                if is_last:
                    raise
                error = np.inf
            if error == 0.0 and float(np.max(self.D)) * self.unit > 1e8:
                true = p.F.transposed(self.move.dx) / self.columns
                solved = self.move.dw / self.columns
                size = float(np.linalg.norm(true) + np.linalg.norm(solved))
                error = float(np.linalg.norm(true - solved)) / max(size, 1e-300)
            if error <= 1e-4 or is_last:
                break
            if self.careful or p.F.rank > p.size:
                self.proximal *= 100.0
            else:
                self.proximal = max(self.proximal, CAREFUL * self.least)
            self.careful = True
        if error < 1e-8:
            floor = CAREFUL if self.careful else 1e-14
            self.proximal = max(0.1 * self.proximal, floor * self.least)
        return system

    def _direct(self, system: NewtonSystem, e: Vector, move: SearchDirection) -> None:
        """The direction in which ``s z`` becomes a and ``t v`` becomes c, to first order."""
        p = self.program
        r, dx = move.Dr, move.dx
        for i in self.chunks:
            aims = self.a[i] * self.is_[i] - self.c[i] * self.it[i]
            aims -= self.h[i]
            aims -= p.d[i] * self.x[i]
            np.multiply(self.D[i], aims, out=r[i])
        move.dw, move.dy = system.direction(r, e, dx)
        with np.errstate(invalid="ignore"):
            for i in self.chunks:
                step = dx[i]
                to_lower, to_upper = step * self.is_[i], step * self.it[i]
                z, v = self.z[i], self.v[i]
                dz = self.a[i] * self.is_[i] - z * to_lower - z
                dv = self.c[i] * self.it[i] + v * to_upper - v
                move.dz[i], move.dv[i] = dz, dv
                dz *= self.iz[i]
                dv *= self.iv[i]
                # no bound: 0 times infinity, which fmin takes no notice of
                nearest = np.fmin(np.fmin(to_lower, -to_upper), np.fmin(dz, dv))
                np.negative(nearest, out=move.blocking[i])

    def _after(self, length: float) -> float:
        """Complementarity after a step; variables that jump do not count."""
        total = 0.0
        for i in self.chunks:
            dx = length * self.move.dx[i]
            z, v = self.z[i] + length * self.move.dz[i], self.v[i] + length * self.move.dv[i]
            total += float(np.maximum(self.s[i] + dx, 0.0) @ np.maximum(z, 0.0))
            total += float(np.maximum(self.t[i] - dx, 0.0) @ np.maximum(v, 0.0))
        return total

    def _aim(self, target: float) -> None:
        """Right-hand sides for ``s z = t v = target`` with the predictor's second-order terms."""
        for i in self.chunks:
            np.subtract(target, self.move.dx[i] * self.move.dz[i], out=self.a[i])
            np.add(target, self.move.dx[i] * self.move.dv[i], out=self.c[i])
        self._unbounded()

    def _pull(self, length: float, target: float) -> None:
        """Gondzio's correction: pull outlying complementarity products towards the target."""
        for i in self.chunks:
            move = length * self.move.dx[i]
            self.a[i] += _pulled(
                (self.s[i] + move) * (self.z[i] + length * self.move.dz[i]), target
            )
            self.c[i] += _pulled(
                (self.t[i] - move) * (self.v[i] + length * self.move.dv[i]), target
            )
        self._unbounded()

    def _unbounded(self) -> None:
        """Set multipliers of infinite bounds to zero."""
        if self.bounded is not None:
            self.a *= self.bounded[0]
            self.c *= self.bounded[1]

    def _go(
        self,
        e: Vector,
        mu: float,
        target: float,
        shares: tuple[float, ...],
    ) -> float:
        """Take the candidate step that leaves the smallest residual."""
        best = Outlook(np.inf, 0.0, _NOBODY, 0.0)
        for share in shares:
            length = min(1.0, BOUNDARY * self.move.length(share))
            if length > best.length:
                between = (1.0 - length) * mu + length * target
                jumping = np.flatnonzero(self.move.blocking * length >= 1.0) if share else _NOBODY
                outlook = self._outlook(length, jumping, between, e)
                best = min(best, outlook, key=lambda each: each.left)
        length = best.length
        jumps = self._jumps(best)
        for i in self.chunks:
            dx = length * self.move.dx[i]
            # F dw + A'dy, as dx was made of it
            dg = (self.move.Dr[i] - self.move.dx[i]) / self.D[i] + self.h[i] - self.g[i]
            self.g[i] += length * dg
            self.x[i] += dx
            self.s[i] += dx
            self.t[i] -= dx
            self.z[i] += length * self.move.dz[i]
            self.v[i] += length * self.move.dv[i]
        k = best.jumping
        self.x[k], self.s[k], self.t[k] = jumps
        self.z[k], self.v[k] = best.between / self.s[k], best.between / self.t[k]
        self.w += length * (self.move.dw + self.missing)
        self.y = self.y + length * self.move.dy
        self.iterations += 1
        self.refresh()
        return length

    def _jumps(self, outlook: Outlook) -> tuple[Vector, Vector, Vector]:
        """``x, s, t`` of the variables that jump to the central path."""
        k, p = outlook.jumping, self.program
        dg = (self.move.Dr[k] - self.move.dx[k]) / self.D[k] + self.h[k] - self.g[k]
        lower, upper = p.lower[k], p.upper[k]
        s, t = between(self.g[k] + outlook.length * dg, upper - lower, outlook.between)
        return lower + s, s, t

    def _outlook(self, length: float, jumping: Index, between: float, e: Vector) -> Outlook:
        """Residual that a candidate step would leave, in units of the objective."""
        p = self.program
        left = 0.0
        for i in self.chunks:
            left += self._unmet(i, length)
        missing, lacking = (1.0 - length) * self.missing, (1.0 - length) * e
        outlook = Outlook(left, length, jumping, between)
        if len(jumping):
            moved = self._jumps(outlook)[0] - self.x[jumping] - length * self.move.dx[jumping]
            missing = missing + p.F.combination(jumping, moved)
            lacking = lacking - p.A[:, jumping] @ moved
            left += 2.0 * between * len(jumping) - self._unmet(jumping, length)
        left += self.room * self._pull_of(missing)
        left += float(np.abs(self.y + length * self.move.dy) @ np.abs(lacking))
        return replace(outlook, left=left)

    def _pull_of(self, missing: Vector) -> float:
        """``|F missing|``: change of all gradients by weights that x does not have."""
        p = self.program
        if self.gram is None:
            return float(np.linalg.norm(p.F.times(missing, np.empty(p.size))))
        return math.sqrt(max(float(missing @ (self.gram @ missing)), 0.0))

    def _unmet(self, i: slice | Index, length: float) -> float:
        """Complementarity after a step, plus dual residuals times the room of x."""
        dx = length * self.move.dx[i]
        s, t = self.s[i] + dx, self.t[i] - dx
        r = self.z[i] - self.v[i] - self.g[i] - self.program.d[i] * self.x[i]
        total = s @ (self.z[i] + length * self.move.dz[i]) + t @ (
            self.v[i] + length * self.move.dv[i]
        )
        room = np.minimum(s, t)
        if self.bounded is not None:
            room = np.where(room < FAR / 2, room, np.maximum(np.abs(self.x[i]), 1.0))
        return float(total + (1.0 - length) * (np.abs(r) @ room))


def _pulled(product: Vector, target: float) -> Vector:
    """Corrections that bring complementarity products to between 0.1 and 10 times their target."""
    return np.maximum(np.clip(product, 0.1 * target, 10.0 * target) - product, -10.0 * target)
