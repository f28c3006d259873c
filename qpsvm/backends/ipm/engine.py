"""From a program to its solution: a guess where that pays, the variables it leaves open, the rest.

With a guess of the weights most variables are known to be at the bound that the sign of their
gradient says, and the interior-point method has to solve for the others only. What was left out is
held against the weights that come out: variables that were not where they should be come in, and it
begins again. The last word has the gap of the whole program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from qpsvm.backends.ipm import coordinate_descent
from qpsvm.backends.ipm.free_set import free_set, point_of
from qpsvm.backends.ipm.interior import Outcome, interior_point
from qpsvm.backends.ipm.iteration import Measured
from qpsvm.backends.ipm.program import FactorProgram
from qpsvm.backends.ipm.smoothing import Guess, smoothed_newton, suits
from qpsvm.qp._arrays import Mask, Vector
from qpsvm.qp.solution import Status

MANY = 2000
"""Variables, above which a guess is cheaper than iterations of all of them."""

FEW = 500
"""Variables, up to which a matrix of all of them is cheap."""

TOO_MANY = 10_000
"""Variables, for a matrix of all of them."""

PASSES, TOLERANCE = 50, 1e-3
"""Of a guess by coordinate descent; of passes no more than cost as much as other guesses."""

FEWEST_PASSES = 4
"""Fewer lead nowhere."""

WIDE_PASSES, WIDE_TOLERANCE = 300, 1e-5
"""The same with fewer variables than weights: what is read off it has to be exact."""

ACCURACY = 0.005
"""Of the guess, relative."""

CLOSE = 0.003
"""Of a guess by coordinate descent that needs no other."""

ROUGHLY = 0.03
"""Of a guess that another one begins with."""

SAMPLE = 20_000
"""Variables that a guess is made of first where there are more than twice as many."""

_SEED = 0

STEPS = 18
"""Of a guess, at most."""

ROUNDS = 8
"""Of solving for what is left open."""

NEAR = 0.5
"""Margins within which of 1 are near it."""

QUARTER = 0.25
"""Of the variables is left open by a guess that is not good."""

FEW_NEAR = 0.05
"""Share of the variables: with no more near their margins, any guess is good enough."""

MARGIN = 0.25
"""Variables whose gradients vanish within so many radii of the guess are left open."""

SHARE = 0.5
"""Of the variables: with more left open, all are."""

AIM = 0.25
"""Of the gap that is asked for: that of the variables that are left open."""

NEGLIGIBLE = 1e-3
"""Of the gap that is asked for: what a variable may add to it and stay where it is."""

Progress = Callable[[int, float, float], "Status | None"]
"""Told the number of iterations, the objective and the relative gap; a status ends the search."""


@dataclass
class Search:
    """The search for one solution, and how far it has come.

    Attributes
    ----------
    program : FactorProgram
    eps : float
        Relative gap.
    limit : int
        Of iterations.
    progress : callable
    iterations : int
        So far, of both kinds.
    stopped : Status or None
        What ``progress`` said, or that it was interrupted.
    best : Outcome or None
        Of the whole program.
    """

    program: FactorProgram
    eps: float
    limit: int
    progress: Progress
    iterations: int = 0
    stopped: Status | None = None
    best: Outcome | None = None

    def minimise(self) -> Outcome:
        """The solution, or the best point there is when the search ends."""
        if self.program.size == 0:
            return self._without_variables()
        try:
            found = self._by_guess()
            if found is None and self.stopped is None:
                found = self._whole()
        except KeyboardInterrupt:
            found, self.stopped = None, Status.INTERRUPTED
        if found is None:
            assert self.stopped is not None
            words = f"stopped: {self.stopped.value}"
            found = replace(self.best or self._at_rest(), status=self.stopped, words=words)
        return found

    def _at_rest(self) -> Outcome:
        """No machine at all, before there is any other."""
        p = self.program
        x = np.clip(np.zeros(p.size), p.lower, p.upper)
        y, w = np.zeros(len(p.b)), p.F.transposed(x) + p.offset
        return Outcome(x, y, w, np.inf, Status.UNKNOWN, "", self.iterations)

    def _without_variables(self) -> Outcome:
        """Everything had a value before."""
        p = self.program
        holds = bool((np.abs(p.b) <= self.eps).all())
        status = Status.OPTIMAL if holds else Status.INACCURATE
        words = "nothing to be solved for" if holds else "the bounds leave no room for the rows"
        return replace(self._at_rest(), gap=0.0 if holds else np.inf, status=status, words=words)

    def _by_guess(self) -> Outcome | None:
        """Where a guess is cheaper than iterations of all variables, or these are too many."""
        p = self.program
        if p.F.rank <= p.size:
            return self._by_open_set() if p.size > MANY and suits(p) else None
        if p.size > FEW and coordinate_descent.suits(p):
            guess = coordinate_descent.descended(p, WIDE_PASSES, WIDE_TOLERANCE)
            return self._by_free_set(point_of(p, guess), guess.y)
        if p.size > TOO_MANY and not p.F.zeros:
            rest = self._at_rest()
            return self._by_free_set(rest.x, rest.y)
        return None

    def _whole(self) -> Outcome:
        """Without a guess; a second time if a variable left that should not have."""
        ended = self._interior(self.program, AIM * self.eps)
        found = self._checked(ended)
        if found.status is not ended.status and self.stopped is None:
            found = self._checked(self._interior(self.program, AIM * self.eps, leave=False))
        return found

    def _checked(self, ended: Outcome) -> Outcome:
        """With the gap of the whole program, and no claim that this refutes."""
        p, x, y = self.program, ended.x, ended.y
        w = p.F.transposed(x) + p.offset  # ended.w but for rounding
        _, gap = p.gap(x, y, w, p.gradient(w, y, np.empty(p.size)))
        status = ended.status
        if status is Status.OPTIMAL and not gap <= self.eps:
            status = Status.INACCURATE
        return self._noted(replace(ended, w=w, gap=max(gap, ended.gap), status=status))

    def _by_free_set(self, x: Vector, y: Vector) -> Outcome | None:
        """With fewer variables than weights: no matrix of all of either."""
        p = self.program
        found = self._outcome(x, y)
        if found.gap <= self.eps or self.stopped is not None or self.iterations >= self.limit:
            return found
        x, y = free_set(p, x, y, lambda: self._go_on(found))
        better = self._outcome(x, y)
        best = min(found, better, key=lambda each: each.gap)
        goes_on = best.status is Status.INACCURATE and p.size <= TOO_MANY
        return None if goes_on else best

    def _outcome(self, x: Vector, y: Vector) -> Outcome:
        """A point, and what is known of it."""
        p = self.program
        w = p.F.transposed(x) + p.offset
        objective, gap = p.gap(x, y, w, p.gradient(w, y, np.empty(p.size)))
        if self.stopped is None:
            self.iterations += 1
            self.stopped = self.progress(self.iterations, objective, gap)
        status, words = Status.INACCURATE, "working sets: no more progress"
        if gap <= self.eps:
            status, words = Status.OPTIMAL, "certified gap reached"
        elif self.stopped is not None:
            status, words = self.stopped, f"stopped: {self.stopped.value}"
        elif self.iterations >= self.limit:
            status, words = Status.ITERATION_LIMIT, "iteration limit"
        return self._noted(Outcome(x, y, w, gap, status, words, self.iterations))

    def _noted(self, found: Outcome) -> Outcome:
        """Kept if it is the best so far."""
        if self.best is None or found.gap < self.best.gap:
            self.best = found
        return found

    def _go_on(self, known: Outcome) -> bool:
        self.iterations += 1
        self.stopped = self.progress(self.iterations, np.nan, known.gap)
        return self.stopped is None and self.iterations < self.limit

    def _by_open_set(self) -> Outcome | None:
        """With fewer weights than variables: what a guess of the weights leaves open."""
        p = self.program
        descends, passes = coordinate_descent.suits(p), coordinate_descent.affordable(p)
        if descends and not len(p.A) and passes >= FEWEST_PASSES:
            found = self._by_descent(int(min(passes, PASSES))) or self._by_smoothing()
        else:
            found = self._by_smoothing()
            if found is None and descends and self.stopped is None:
                found = self._by_descent(PASSES, QUARTER)
        return found

    def _by_descent(self, passes: int, near: float = FEW_NEAR) -> Outcome | None:
        """From coordinate descent, if that comes close or few samples are near their margins."""
        p = self.program
        descended = coordinate_descent.descended(p, passes, TOLERANCE)
        w, y = descended.w, descended.y
        unit = primal(p, w, y) / (2.0 * p.size)
        guess = None
        if not len(p.A):
            guess = self._smooth(p, w, y, CLOSE * unit, CLOSE, steps=1, rough=True)
        if (guess is None or not guess.reached) and self.stopped is None:
            g = p.gradient(w, y, np.empty(p.size))
            distance = np.abs(g) / NEAR
            distance /= max(1.0, float(np.partition(distance, MANY)[MANY]))
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
        leave, largest = True, float(np.max(np.abs(p.q))) or 1.0
        for _ in range(ROUNDS):
            while not _rows_can_hold(p, is_open, x):
                k = min(2 * int(is_open.sum()) + 1, p.size)
                is_open |= distance <= np.partition(distance, k - 1)[k - 1]
            if is_open.mean() > SHARE:
                return None
            kept = np.flatnonzero(is_open)
            found = self._interior(p.restricted(kept, x), AIM * self.eps, leave=leave)
            x[kept] = found.x
            w = p.F.transposed(x) + p.offset  # found.w but for rounding
            g = p.gradient(w, found.y, np.empty(p.size))
            objective, gap = p.gap(x, found.y, w, g)
            whole = self._noted(replace(found, x=x.copy(), w=w, gap=gap))
            missed = self._missed(x, g)
            # a gradient of the wrong sign may be worth next to nothing, and yet be none to hand out
            is_wrong = (missed > 0.0) & (np.abs(g) > 0.5 * np.sqrt(self.eps) * largest)
            if gap <= self.eps and not (is_wrong & ~is_open).any():
                return replace(whole, status=Status.OPTIMAL)
            if self.stopped is not None:
                return whole
            is_wrong |= missed > NEGLIGIBLE * self.eps * abs(objective)
            new = np.flatnonzero(is_wrong & ~is_open)
            if not len(new):
                if not leave:
                    return None
                leave = False  # some that left on the way should not have
            most = max(len(kept), MANY)
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
        if self.stopped is not None:
            return None
        return smoothed_newton(
            program, w, y, mu, accuracy, steps, self._smoothed, rough=rough, worst=worst
        )

    def _missed(self, x: Vector, g: Vector) -> Vector:
        """What every variable adds to the gap."""
        p = self.program
        h = g + p.d * x
        missed = np.where(h > 0.0, h * (x - p.lower), 0.0)
        below = h < 0.0
        missed[below] = -h[below] * np.minimum(p.upper - x, np.abs(h / p.d))[below]
        return missed

    def _interior(self, program: FactorProgram, eps: float, *, leave: bool = True) -> Outcome:
        before = self.iterations

        def report(iteration: int, measured: Measured) -> Status | None:
            self.iterations = before + iteration
            self.stopped = self.progress(self.iterations, measured.primal, measured.gap)
            return self.stopped

        found = interior_point(program, eps, self.limit - before, report, leave=leave)
        self.iterations = before + found.iterations
        if found.status is Status.INTERRUPTED:
            self.stopped = Status.INTERRUPTED
        return replace(found, iterations=self.iterations)

    def _smoothed(self, step: int, objective: float, gap: float) -> bool:
        self.iterations += step > 0
        self.stopped = self.progress(self.iterations, objective, gap)
        return self.stopped is not None or self.iterations >= self.limit


def primal(p: FactorProgram, w: Vector, y: Vector) -> float:
    """What the weights cost: minus the dual objective of the program."""
    g = p.gradient(w, y, np.empty(p.size))
    dual = float(w @ (p.offset - 0.5 * w)) - float(y @ p.b) + p.constant
    return -dual - p.box_minimum(slice(None), g, np.zeros(p.size))


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
