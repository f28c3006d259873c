"""With fewer weights than variables: a guess of the weights, and the variables it leaves open.

With a guess most variables are known to be at the bound that the sign of their gradient says, and
the interior-point method has to solve for the others only. What was left out is held against the
weights that come out: variables that were not where they should be come in, and it begins again.
The last word has the gap of the whole program.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from qpsvm.backends.ipm import coordinate_descent
from qpsvm.backends.ipm.interior import REACHED, Outcome
from qpsvm.backends.ipm.program import FactorProgram
from qpsvm.backends.ipm.search import Search
from qpsvm.backends.ipm.smoothing import Guess, smoothed_newton
from qpsvm.qp._arrays import Mask, Vector
from qpsvm.qp.solution import Status

PASSES, TOLERANCE = 50, 1e-3
"""Of a guess by coordinate descent; of passes no more than cost as much as other guesses."""

FEWEST_PASSES = 6
"""Fewer lead nowhere."""

ACCURACY = 0.005
"""Of the guess, relative."""

CLOSE = 0.003
"""Of a guess by coordinate descent that needs no other."""

ROUGHLY = 0.03
"""Of a guess that another one begins with."""

SAMPLE = 20_000
"""Variables that a guess is made of first where there are more than twice as many."""

STEPS = 18
"""Of a guess, at most."""

ROUNDS = 8
"""Of solving for what is left open."""

FEWEST = 2000
"""Variables that are left open at least, and that come in at a time."""

NEAR = 0.5
"""Margins within which of 1 are near it."""

FEW_NEAR = 0.05
"""Share of the variables: with no more near their margins, any guess is good enough."""

QUARTER = 0.25
"""Of the variables is left open by a guess that is not good."""

MARGIN = 0.25
"""Variables whose gradients vanish within so many radii of the guess are left open."""

SHARE = 0.5
"""Of the variables: with more left open, all are."""

NEGLIGIBLE = 1e-3
"""Of the gap that is asked for: what a variable may add to it and stay where it is."""

_SEED = 0


@dataclass(frozen=True)
class OpenSet:
    """The search of a program by its open variables.

    Attributes
    ----------
    search : Search
    """

    search: Search

    @property
    def program(self) -> FactorProgram:
        """The whole one."""
        return self.search.program

    def found(self) -> Outcome | None:
        """The solution, or the point that the search was stopped at; None if no guess was good."""
        p = self.program
        descends, passes = coordinate_descent.suits(p), coordinate_descent.affordable(p)
        if descends and not len(p.A) and passes >= FEWEST_PASSES:
            found = self._by_descent(int(min(passes, PASSES))) or self._by_smoothing()
        else:
            found = self._by_smoothing()
            if found is None and descends and self.search.stopped is None:
                found = self._by_descent(PASSES, QUARTER)
        return found

    def _by_descent(self, passes: int, near: float = FEW_NEAR) -> Outcome | None:
        """From coordinate descent, if that comes close or few samples are near their margins."""
        p = self.program
        descended = coordinate_descent.descended(p, passes, TOLERANCE)
        w, y = descended.w, descended.y
        g = p.gradient(w, y, np.empty(p.size))
        cost = -p.dual(np.zeros(p.size), y, w, g)  # of a machine, that is its primal objective
        unit = cost / (2.0 * p.size)
        guess = None
        if not len(p.A):
            guess = self._smooth(p, w, y, CLOSE * unit, CLOSE, steps=1, rough=True)
        if (guess is None or not guess.reached) and self.search.stopped is None:
            distance = np.abs(g) / NEAR
            distance /= max(1.0, float(np.partition(distance, FEWEST)[FEWEST]))
            if np.mean(distance <= 1.0) <= near:
                return self._settled(g, distance)
            if not len(p.A):
                guess = self._smooth(p, w, y, ROUGHLY * unit, ACCURACY, worst=1.0)
        if guess is None or not guess.reached:
            return None
        return self._settled(guess.g, guess.distances() / MARGIN)

    def _by_smoothing(self) -> Outcome | None:
        """From nowhere: first of a sample, then of all."""
        p = self.program
        w, y, mu = p.offset, np.zeros(len(p.b)), _first_mu(p)
        if p.size > 2 * SAMPLE:
            few = np.random.default_rng(_SEED).choice(p.size, SAMPLE, replace=False)
            share = SAMPLE / p.size
            guess = self._smooth(p.sampled(np.sort(few)), w, y, mu / share, ROUGHLY)
            if guess is None or not guess.reached:
                return None
            w, y, mu = guess.w, guess.y, guess.mu * share
        guess = self._smooth(p, w, y, mu, ACCURACY)
        if guess is None:
            return None
        distance = guess.distances() / MARGIN
        if not guess.reached:
            k = int(QUARTER * p.size)
            distance /= np.partition(distance, k)[k]
        return self._settled(guess.g, distance)

    def _settled(self, g: Vector, distance: Vector) -> Outcome | None:
        """Variables within a distance of 1 are solved for; the others stay as g says, if right."""
        p = self.program
        x = np.where(g > 0.0, p.lower, p.upper)
        is_open = (distance <= 1.0) | np.isinf(x)
        x[np.isinf(x)] = 0.0
        eps = self.search.eps
        leave, largest = True, float(np.max(np.abs(p.q))) or 1.0
        for _ in range(ROUNDS):
            while not (is_open.all() or _rows_can_hold(p, is_open, x)):
                k = min(2 * int(is_open.sum()) + 1, p.size)
                is_open |= distance <= np.partition(distance, k - 1)[k - 1]
            if is_open.mean() > SHARE:
                return None
            kept = np.flatnonzero(is_open)
            found = self.search.interior(p.restricted(kept, x), leave=leave)
            x[kept] = found.x
            w, g, objective, gap = self.search.measured(x, found.y)
            whole = self.search.noted(replace(found, x=x.copy(), w=w, gap=gap))
            missed = self._missed(x, g)
            # a gradient of the wrong sign may be worth next to nothing, and yet be none to hand out
            is_wrong = (missed > 0.0) & (np.abs(g) > 0.5 * np.sqrt(eps) * largest)
            if gap <= eps and not (is_wrong & ~is_open).any():
                return replace(whole, status=Status.OPTIMAL, words=REACHED)
            if not self.search.goes_on:
                return whole
            is_wrong |= missed > NEGLIGIBLE * eps * abs(objective)
            new = np.flatnonzero(is_wrong & ~is_open)
            if not len(new):
                if not leave:
                    return None
                leave = False  # some that left on the way should not have
            most = max(len(kept), FEWEST)
            if len(new) > most:
                new = new[np.argpartition(-missed[new], most)[:most]]
            is_open[new] = True
        return None

    def _smooth(
        self,
        program: FactorProgram,
        w: Vector,
        y: Vector,
        mu: float,
        accuracy: float,
        *,
        steps: int = STEPS,
        rough: bool = False,
        worst: float = np.inf,
    ) -> Guess | None:
        """Newton's method on the smoothed primal, from there."""
        if self.search.stopped is not None:
            return None
        search = self.search

        def report(step: int, objective: float, gap: float) -> bool:
            search.report(objective, gap, int(step > 0))
            return not search.goes_on

        return smoothed_newton(program, w, y, mu, accuracy, steps, report, rough=rough, worst=worst)

    def _missed(self, x: Vector, g: Vector) -> Vector:
        """What every variable adds to the gap."""
        p = self.program
        h = g + p.d * x
        missed = np.where(h > 0.0, h * (x - p.lower), 0.0)
        below = h < 0.0
        missed[below] = -h[below] * np.minimum(p.upper - x, np.abs(h / p.d))[below]
        return missed


def _first_mu(p: FactorProgram) -> float:
    """Such that the smoothing reaches over all gradients that the first weights give."""
    u = p.upper - p.lower
    g = p.gradient(p.offset, np.zeros(len(p.b)), np.empty(p.size))
    width = np.where(np.isfinite(u), u, 1.0 / np.where(p.d > 0.0, p.d, 1.0))
    scale = float(np.max(np.abs(g))) or float(np.sqrt(p.unit))
    return scale * float(np.median(width))


def _rows_can_hold(p: FactorProgram, is_open: Mask, x: Vector) -> bool:
    """Whether the variables that are open have the room that the rows of A need."""
    with np.errstate(invalid="ignore"):
        ends = np.where(p.A != 0.0, p.A * p.lower, 0.0), np.where(p.A != 0.0, p.A * p.upper, 0.0)
    need = p.b - p.A @ np.where(is_open, 0.0, x)
    least, most = np.minimum(*ends) @ is_open, np.maximum(*ends) @ is_open
    return bool(((least <= need) & (need <= most)).all())
