"""Optimality conditions of a machine as a tableau, and machines without one of the samples.

On a vertical step of a sample's staircase ``f_j`` is given and ``beta_j`` follows, on a flat one
the reverse. The tableau T maps what is given to what follows, linearly, for the steps of one
optimal machine: the principal pivot transform of K. A machine without sample i has ``beta_i = 0``;
the samples whose step changes, S, are found by trials: solve ``T_SS u_S = r_S`` for what was given
and now follows, move the samples that are beyond the end of a step to the next one, solve again.
Where trials do not come to an end, the coefficient of the sample is followed to zero, from one
change of a step to the next.

Sources: Cauwenberghs and Poggio, "Incremental and decremental support vector machine learning",
NIPS 2000, for the downdate of one sample; Tsatsomeros, "Principal pivot transforms", *Linear
Algebra and its Applications* 307 (2000), for T; Hintermueller, Ito and Kunisch, "The primal-dual
active set strategy as a semismooth Newton method", *SIAM J. Optim.* 13 (2002), for the trials.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dgecon, dgetrf, dgetrs

from qpsvm.display import short_repr
from qpsvm.numerics.arrays import Dense, Index, Mask, Vector
from qpsvm.selection.settings import NUMBERS
from qpsvm.selection.staircase import (
    AT_A,
    AT_C,
    AT_LOWEST,
    AT_UPPER,
    AT_ZERO,
    Point,
    Staircase,
)


@short_repr
@dataclass(frozen=True, eq=False)
class Tableau:
    """The linear map from given to following values at one machine.

    Attributes
    ----------
    T : array of shape (n, n)
    steps : array of int of shape (n,)
    staircase : Staircase
    f, beta : arrays of shape (n,)
        On their steps exactly; what follows is what T makes of it.
    has_intercept : bool
    unit : float
        The largest ``K_jj``.
    """

    T: Dense
    steps: Index
    staircase: Staircase
    f: Vector
    beta: Vector
    has_intercept: bool
    unit: float

    @classmethod
    def of(
        cls, K: Dense, staircase: Staircase, steps: Index, *, has_intercept: bool
    ) -> Tableau | None:
        """Build the tableau of a machine's steps; None if they do not determine the machine.

        Parameters
        ----------
        K : array of shape (n, n)
        staircase : Staircase
        steps : array of int of shape (n,)
        has_intercept : bool
            Whether there is a free intercept.
        """
        n, free = len(K), np.abs(steps) == 1
        F, N = np.flatnonzero(free), np.flatnonzero(~free)
        m = len(F) + has_intercept
        if has_intercept and not len(F):
            return None  # any intercept of an interval is optimal
        M = np.zeros((m, m))
        M[: len(F), : len(F)] = K[np.ix_(F, F)]
        if has_intercept:
            M[-1, :-1] = M[:-1, -1] = 1.0
        if m and not np.linalg.cond(M, 1) < 1.0 / NUMBERS.dependent:
            return None
        inverse = np.linalg.inv(M) if m else M
        across = np.zeros((n, m))
        across[:, : len(F)] = K[:, F]
        if has_intercept:
            across[:, -1] = 1.0
        moved = across @ inverse
        T = np.empty((n, n))
        T[np.ix_(F, F)] = inverse[: len(F), : len(F)]
        T[np.ix_(F, N)] = -moved[N].T[: len(F)]
        T[np.ix_(N, F)] = moved[N][:, : len(F)]
        T[np.ix_(N, N)] = K[np.ix_(N, N)] - moved[N] @ across[N].T
        given = staircase.given(steps)
        sums = np.array([0.0]) if has_intercept else np.zeros(0)
        right = np.concatenate([given[F] - K[np.ix_(F, N)] @ given[N], sums])
        if has_intercept:
            right[-1] -= float(np.sum(given[N]))
        found = inverse @ right
        beta, b = given.copy(), found[-1] if has_intercept else 0.0
        beta[F] = found[: len(F)]
        f = K @ beta + b
        f[F] = given[F]
        unit = float(np.max(np.diagonal(K), initial=0.0)) or 1.0
        return cls(T, steps, staircase, f, beta, has_intercept, unit)

    def is_free(self) -> Mask:
        """Samples whose beta follows, shape (n,)."""
        return np.asarray(np.abs(self.steps) == 1)

    def without(self, i: int) -> Downdate | None:
        """The optimal machine without sample i; None if it is not found."""
        found = self._by_trials(i) or self._followed(i)
        if found is None:
            return None
        changed = (np.abs(found.steps) == 1) != self.is_free()
        return Downdate(i, changed, found.f, found.beta, found.steps)

    def optimal(self) -> Point | None:
        """The optimal machine with all samples; None if it is not found.

        Its steps are those of the tableau, unless they came from a machine that was not accurate.
        """
        return self._by_trials(None)

    def _by_trials(self, i: int | None) -> Point | None:
        """The machine without sample i, if trials of its steps come to an end."""
        n, free = len(self.T), self.is_free()
        own = self.staircase.given(self.steps)
        steps, S, fixed = self.steps, np.zeros(n, dtype=bool), np.zeros(n)
        for _ in range(NUMBERS.trials):
            target = self.staircase.given(steps)
            # a vertical step may have become another vertical one, a flat one another flat one
            fixed = np.where(~S & (target != own), target - np.where(free, self.f, self.beta), 0.0)
            if i is not None:
                S[i], target[i], fixed[i] = free[i], 0.0, 0.0 if free[i] else -self.beta[i]
            u = self._solved(S, target, fixed)
            if u is None:
                return None
            out = self.T[:, np.flatnonzero(u)] @ u[u != 0.0]
            f = self.f + np.where(free, u, out)
            beta = self.beta + np.where(free, out, u)
            better = self._improved(steps, f, beta)
            if i is not None:
                better[i], beta[i] = steps[i], 0.0
            if (better == steps).all():
                return Point(f, beta, steps)
            steps = better
            S = (np.abs(steps) == 1) != free
        return None

    def _solved(self, S: Mask, target: Vector, fixed: Vector) -> Vector | None:
        """Changes of the given values; those of the samples in S follow from the target."""
        u = fixed.copy()
        index = np.flatnonzero(S)
        if len(index):
            at = np.where(self.is_free()[index], self.beta[index], self.f[index])
            others = np.flatnonzero(fixed)
            right = target[index] - at - self.T[np.ix_(index, others)] @ fixed[others]
            found = self._of_block(index, right)
            if found is None:
                return None
            u[index] = found
        return u if np.isfinite(u).all() else None

    def _improved(self, steps: Index, f: Vector, beta: Vector) -> Index:
        """The steps on which the samples should be, as far as their values say."""
        stair, better = self.staircase, steps.copy()
        size = NUMBERS.noise * np.maximum(np.abs(f), 1.0)
        noise = NUMBERS.noise * np.maximum(stair.upper, -stair.lowest)
        better[(steps == AT_UPPER) & (f > stair.a + size)] = AT_A
        better[(steps == AT_LOWEST) & (f < stair.c - size)] = AT_C
        better[(steps == AT_ZERO) & (f < stair.a - size)] = AT_A
        better[(steps == AT_ZERO) & (f > stair.c + size)] = AT_C
        better[(steps == AT_A) & (beta > stair.upper + noise)] = AT_UPPER
        better[(steps == AT_C) & (beta < stair.lowest - noise)] = AT_LOWEST
        better[(steps == AT_A) & (beta < -noise)] = AT_ZERO
        better[(steps == AT_C) & (beta > noise)] = AT_ZERO
        return better

    def direction(self, downdate: Downdate) -> Vector | None:
        """Change of all coefficients as that of the left-out sample grows, the others on step."""
        found = self._rates(downdate.sample, downdate.changed)
        if found is None:
            return None
        moves = np.abs(downdate.steps) == 1
        moves[downdate.sample] = True
        return np.where(moves, found[1], 0.0)  # that of the others is rounding

    def _rates(self, i: int, S: Mask) -> tuple[Vector, Vector] | None:
        """Change of every f and beta as beta_i grows and the others keep their steps.

        None where it is not determined.
        """
        free, S = self.is_free(), S.copy()
        S[i] = free[i]  # its beta follows, and is what is given now
        index, u = np.flatnonzero(S), np.zeros(len(self.T))
        right = (index == i).astype(np.float64)
        if not free[i]:
            u[i], right = 1.0, -self.T[index, i]
        if len(index):
            found = self._of_block(index, right)
            if found is None:
                return None
            u[index] = found
        used = np.flatnonzero(u)
        out = self.T[:, used] @ u[used]
        if not np.isfinite(out).all():
            return None
        return np.where(free, u, out), np.where(free, out, u)

    def _of_block(self, index: Index, right: Vector) -> Vector | None:
        """Solve ``T_SS u = r``; None if the samples of S depend on each other."""
        root = np.sqrt(self.unit)
        scale = np.where(self.is_free()[index], root, 1.0 / root)  # T has units of K and of 1/K
        block = self.T[np.ix_(index, index)] * np.outer(scale, scale)
        lu, pivots, info = dgetrf(block)
        norm = float(np.max(np.sum(np.abs(block), axis=0)))
        if info or not dgecon(lu, norm)[0] > NUMBERS.dependent:
            return None
        return np.asarray(scale * dgetrs(lu, pivots, scale * right)[0])

    def _followed(self, i: int) -> Point | None:
        """The machine without sample i, by following its coefficient to zero."""
        free = self.is_free()
        at = Point(self.f, self.beta, self.steps)
        S, way = np.zeros(len(free), dtype=bool), -float(np.sign(self.beta[i]))
        for _ in range(NUMBERS.events):
            rates = self._rates(i, S)
            if rates is None:
                return None
            event = at.until_event(self.staircase, rates, way, i, self.unit)
            if event.length >= abs(at.beta[i]):
                at = at.moved(rates, way * abs(at.beta[i]))
                at.beta[i] = 0.0
                return at
            at = at.moved(rates, way * event.length).with_step(event.sample, event.step)
            S = (np.abs(at.steps) == 1) != free
            if abs(event.step) == 1 and self._rates(i, S) is None:
                exchanged = self._exchanged(at, event.sample, i)
                if exchanged is None:
                    return None
                at = exchanged
                S = (np.abs(at.steps) == 1) != free
        return None

    def _exchanged(self, at: Point, entering: int, i: int) -> Point | None:
        """The point where another sample is at the end of its step in place of one that enters.

        The samples on vertical steps, the entering one among them, depend on each other: there is a
        direction of coefficients in which no decision value changes.
        """
        free, before = self.is_free(), np.abs(at.steps) == 1
        before[entering] = False
        S = before != free
        S[i] = free[i]  # keeps its coefficient
        rates = self._rates(entering, S)
        if rates is None:
            return None
        step = int(at.steps[entering])
        inwards = (
            1.0
            if at.beta[entering] <= (0.0 if step == AT_A else self.staircase.lowest[entering])
            else -1.0
        )
        event = at.until_event(self.staircase, (0.0 * rates[0], rates[1]), inwards, i, self.unit)
        if not np.isfinite(event.length):
            return None
        return at.moved(rates, inwards * event.length).with_step(event.sample, event.step)

    def span_errors(self) -> int:
        """Number of samples with ``alpha_i kappa_i >= s_i f(x_i)``, for a classifier."""
        diagonal = np.diagonal(self.T)
        with np.errstate(divide="ignore"):
            kappa = np.where(self.is_free(), 1.0 / diagonal, diagonal)
        signs = np.where(self.staircase.upper > 0.0, 1.0, -1.0)
        return int(np.count_nonzero(np.abs(self.beta) * kappa >= signs * self.f))


@short_repr
@dataclass(frozen=True, eq=False)
class Downdate:
    """The machine without one sample.

    Attributes
    ----------
    sample : int
    changed : bool array of shape (n,)
        S: samples whose step became flat or vertical.
    f, beta : arrays of shape (n,)
    steps : array of int of shape (n,)
    """

    sample: int
    changed: Mask
    f: Vector
    beta: Vector
    steps: Index
