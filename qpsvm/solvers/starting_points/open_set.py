"""Solution of tall programs: guess the weights, then solve for the undecided variables.

With a guess most variables are known to be at the bound that the sign of their gradient says, and
the interior-point method has to solve for the others only. What was left out is held against the
weights that come out: variables that were not where they should be come in, and it begins again.
The last word has the gap of the whole program.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from qpsvm.numerics.arrays import Mask, Vector
from qpsvm.numerics.interrupts import keep_best, map_best
from qpsvm.qp.solution import Status
from qpsvm.solvers.interior_point.interior import SearchResult
from qpsvm.solvers.interior_point.program import FactorProgram
from qpsvm.solvers.interior_point.search import Search
from qpsvm.solvers.interior_point.settings import InteriorPointSettings
from qpsvm.solvers.interior_point.termination import REACHED
from qpsvm.solvers.negligible import NEGLIGIBLE
from qpsvm.solvers.starting_points.central import Known
from qpsvm.solvers.starting_points.coordinate_descent import Descended
from qpsvm.solvers.starting_points.free_set import by_free_set, can_polish
from qpsvm.solvers.starting_points.settings import STARTS
from qpsvm.solvers.starting_points.smoothing import (
    Smoothed,
    SmoothedOptimum,
    smoothed_newton,
)


@dataclass(frozen=True)
class OpenSet:
    """Search for a solution through its undecided ("open") variables.

    Attributes
    ----------
    search : Search
    guess : Descended or None
        What coordinate descent found.
    """

    search: Search
    guess: Descended | None = None

    @property
    def program(self) -> FactorProgram:
        """The whole program."""
        return self.search.program

    @property
    def settings(self) -> InteriorPointSettings:
        """The settings of the search."""
        return self.search.settings

    def found(self) -> SearchResult | None:
        """Search for the solution; return the last point if none is found, None without any."""
        for found in self._by_every_way():
            if found is not None or self.search.stopped is not None:
                return found
        return None

    def near(self, w: Vector, y: Vector) -> SearchResult | None:
        """Solve the program, starting at the weights and row multipliers of a similar one.

        None where that leads nowhere, and with curvature or without two bounds for a variable.
        """
        p = self.program
        if p.d.any() or not (np.isfinite(p.lower) & np.isfinite(p.upper)).all():
            return None
        g = p.gradient(w, y, np.empty(p.size))
        cost = -p.dual(np.zeros(p.size), y, w, g)
        return self._of_nearest(g, known=Known(w, y, cost))

    def _by_every_way(self) -> Iterator[SearchResult | None]:
        """Try the starting points one after the other until one leads to a solution."""
        guess = self.guess
        if guess is not None:
            yield self._of_easy(guess)
        yield self._by_smoothing()
        if guess is not None:
            yield self._by_distance(guess)

    def _by_distance(self, descended: Descended) -> SearchResult | None:
        """Solve for the variables near their margins at the given weights, if these are few."""
        own = self.settings
        distance = np.abs(descended.g) / own.near_margin
        distance /= max(1.0, _smallest(distance, own.fewest_open))
        are_few = np.mean(distance <= 1.0) <= own.open_share_of_poor_guess
        return self._settled(descended.g, distance) if are_few else None

    def _of_easy(self, descended: Descended) -> SearchResult | None:
        """Solve from coordinate descent's point if its gap is small; else return None."""
        if not self._is_easy(descended):
            return None
        return self._of_nearest(descended.g, 2 * descended.n_free)

    def _of_nearest(
        self, g: Vector, fewest: int = 0, known: Known | None = None
    ) -> SearchResult | None:
        """Solve for the dual variables of the samples nearest to their margins alone."""
        fewest = max(fewest, self.settings.open_per_weight * self.program.F.rank)
        distance = np.abs(g)
        distance /= max(_smallest(distance, fewest), NEGLIGIBLE.smallest_divisor)
        return self._settled(g, distance, fewest=fewest, known=known)

    def _is_easy(self, at: Descended) -> bool:
        """Return whether a starting point's duality gap is small enough to go on from it."""
        p, own = self.program, self.settings
        if at.x is not None:
            return bool(np.sum(p.missed(at.x, at.g)) <= own.easy_gap * at.cost)
        mu = own.guess_accuracy * at.cost / (2.0 * p.size)
        smoothed = Smoothed(p, at.w, at.y, mu, at.g)
        return bool(smoothed.evaluate()[1] <= at.cost)

    def _by_smoothing(self) -> SearchResult | None:
        """Solve from smoothed weights, of a sample of the variables first, then of all."""
        own = self.settings
        guess = self._smoothed()
        if guess is None:
            return None
        distance = guess.distances() / own.open_radius
        if not guess.reached:
            distance /= _smallest(distance, int(own.open_share_of_poor_guess * self.program.size))
        return self._settled(guess.g, distance)

    def _smoothed(self) -> SmoothedOptimum | None:
        p, own = self.program, self.settings
        w, y, mu = p.offset, np.zeros(len(p.b)), _first_mu(p)
        if p.size > 2 * own.sample_size:
            few = np.random.default_rng(STARTS.seed).choice(p.size, own.sample_size, replace=False)
            share = own.sample_size / p.size
            guess = self._smooth(p.sampled(np.sort(few)), w, y, mu / share, own.rough_accuracy)
            if guess is None or not guess.reached:
                return None
            w, y, mu = guess.w, guess.y, guess.mu * share
        return self._smooth(p, w, y, mu, own.guess_accuracy)

    def _settled(
        self,
        g: Vector,
        distance: Vector,
        *,
        fewest: int | None = None,
        known: Known | None = None,
    ) -> SearchResult | None:
        """Solve for the variables within a distance of 1 and check the others afterwards.

        Next to known weights the interior-point method begins there.
        """
        p, own = self.program, self.settings
        fewest = own.fewest_open if fewest is None else fewest
        if not np.isfinite(distance).all():
            return None
        x = np.where(g > 0.0, p.lower, p.upper)
        is_open = (distance <= 1.0) | np.isinf(x)
        if not is_open.any():
            is_open = distance <= _smallest(distance, fewest)
        x[np.isinf(x)] = 0.0
        eps = self.search.eps
        largest = float(np.max(np.abs(p.q))) or 1.0
        while True:
            while not (is_open.all() or _rows_can_hold(p, is_open, x)):
                is_open |= distance <= _smallest(distance, 2 * int(is_open.sum()))
            if is_open.mean() > own.largest_open_share:
                return None
            kept = np.flatnonzero(is_open)
            part = p.restricted(kept, x)
            start = known.start(part, own) if known else None
            try:
                found = self._exact(part, self.search.interior(part, start))
            except KeyboardInterrupt as error:
                map_best(error, partial(self.search.whole, x=x, part=kept))
                raise
            x[kept] = found.x
            w, g, _, gap = self.search.measured(x, found.y)
            known = replace(known, w=w, y=found.y) if known else None
            whole = self.search.record(replace(found, x=x.copy(), w=w, gap=gap))
            missed = p.missed(x, g)
            # a gradient of the wrong sign may be worth next to nothing, and yet be none to hand out
            is_wrong = (missed > 0.0) & (np.abs(g) > 0.5 * np.sqrt(eps) * largest)
            if gap <= eps and not (is_wrong & ~is_open).any():
                return replace(whole, status=Status.OPTIMAL, reason=REACHED)
            if not self.search.may_continue:
                return _without_claim(whole)
            new = np.flatnonzero((missed > 0.0) & ~is_open)
            if not len(new):
                return None
            most = max(len(kept), fewest)
            if len(new) > most:
                new = new[np.argpartition(-missed[new], most)[:most]]
            is_open[new] = True

    def _exact(self, part: FactorProgram, found: SearchResult) -> SearchResult:
        """Finish by working sets where rounding stopped the interior-point method."""
        search = self.search
        if found.status is not Status.INACCURATE or not search.may_continue or not can_polish(part):
            return found
        eps = self.settings.inner_accuracy * search.eps
        inner = replace(search, program=part, eps=eps, best=None)
        better = by_free_set(inner, found.x, found.y)
        search.iterations, search.stopped = inner.iterations, inner.stopped
        return better

    def _smooth(
        self,
        program: FactorProgram,
        w: Vector,
        y: Vector,
        mu: float,
        accuracy: float,
    ) -> SmoothedOptimum | None:
        """Run Newton's method on the smoothed primal from the given weights."""
        if self.search.stopped is not None:
            return None
        search, last = self.search, list[Smoothed]()

        def report(at: Smoothed, step: int, objective: float, gap: float) -> bool:
            last[:] = [at]
            search.report(objective, gap, int(step > 0))
            if search.stopped is not None:
                self._noted(at)
            return not search.may_continue

        try:
            return smoothed_newton(program, w, y, mu, accuracy, self.settings, report)
        except KeyboardInterrupt as error:
            if last:
                keep_best(error, lambda: self._noted(last[0]))
            raise

    def _noted(self, at: Smoothed) -> SearchResult:
        """Record the current smoothed point as the answer in case the solver is stopped."""
        p, search = self.program, self.search
        if at.program is not p:
            at = Smoothed(p, at.w, at.y, at.mu * at.program.size / p.size)
            at.evaluate()
        w, _, _, gap = search.measured(at.x, at.y)
        found = SearchResult(at.x, at.y, w, gap, Status.UNKNOWN, "", search.iterations)
        return search.record(found)


def _first_mu(p: FactorProgram) -> float:
    """The first smoothing parameter, which covers all gradients of the first weights."""
    u = p.upper - p.lower
    g = p.gradient(p.offset, np.zeros(len(p.b)), np.empty(p.size))
    width = np.where(np.isfinite(u), u, 1.0 / np.where(p.d > 0.0, p.d, 1.0))
    scale = float(np.max(np.abs(g))) or float(np.sqrt(p.unit))
    return scale * float(np.median(width))


def _without_claim(found: SearchResult) -> SearchResult:
    """Return a result without its claim of optimality: only some variables were optimised."""
    if found.status is not Status.OPTIMAL:
        return found
    return replace(found, status=Status.ITERATION_LIMIT, reason="iteration limit")


def _smallest(values: Vector, k: int) -> float:
    """The k-th smallest value, counted from 0, or the largest."""
    k = min(k, len(values) - 1)
    return float(np.partition(values, k)[k])


def _rows_can_hold(p: FactorProgram, is_open: Mask, x: Vector) -> bool:
    """Return whether the open variables have enough room for the rows of A."""
    with np.errstate(invalid="ignore"):
        ends = np.where(p.A != 0.0, p.A * p.lower, 0.0), np.where(p.A != 0.0, p.A * p.upper, 0.0)
    need = p.b - p.A @ np.where(is_open, 0.0, x)
    least, most = np.minimum(*ends) @ is_open, np.maximum(*ends) @ is_open
    return bool(((least <= need) & (need <= most)).all())
