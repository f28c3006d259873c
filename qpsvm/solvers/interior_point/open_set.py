"""Solution of tall programs: guess the weights, then solve for the undecided variables.

With a guess most variables are known to be at the bound that the sign of their gradient says, and
the interior-point method has to solve for the others ("open") only. The fixed variables are
checked at the resulting weights: those on the wrong side of a bound are added, and the method
starts again. It terminates on the duality gap of the full program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from qpsvm.numerics.arrays import Mask, Vector
from qpsvm.numerics.interrupts import keep_best, map_best
from qpsvm.qp.solution import Status
from qpsvm.solvers.common import SMALLEST_DIVISOR
from qpsvm.solvers.interior_point.descent import Descended
from qpsvm.solvers.interior_point.interior import REACHED, SearchResult
from qpsvm.solvers.interior_point.program import FactorProgram
from qpsvm.solvers.interior_point.search import Search, can_polish, solve_by_free_set
from qpsvm.solvers.interior_point.smoothing import Smoothed, point_at, smoothed_newton

GUESS_ACCURACY = 0.005
"""Relative accuracy of smoothed weights that undecided variables are chosen by: the barriers of all
variables together, as a share of the cost."""

OPEN_SHARE_OF_POOR_GUESS = 0.25
"""Share of the variables that stay undecided where smoothing did not reach its accuracy."""


def solve_by_open_set(search: Search, guess: Descended | None = None) -> SearchResult | None:
    """Search for the solution through its undecided variables, from one start after the other.

    Parameters
    ----------
    search : Search
    guess : Descended or None
        What coordinate descent found.

    Returns
    -------
    SearchResult or None
        The last point if none is found, None without any.
    """
    ways: list[Callable[[], SearchResult | None]] = [partial(_by_smoothing, search)]
    if guess is not None:
        ways = [partial(_by_gap, search, guess), *ways, partial(_by_distance, search, guess)]
    for way in ways:
        found = way()
        if found is not None or search.stopped is not None:
            return found
    return None


def solve_near_weights(search: Search, w: Vector, y: Vector) -> SearchResult | None:
    """Solve the program, starting at the weights and row multipliers of a similar one.

    None where that leads nowhere, and with curvature or without two bounds for a variable.
    """
    p = search.program
    if p.d.any() or p.n_bounds < 2 * p.size:
        return None
    g = p.gradient(w, y)
    cost = -p.dual(np.zeros(p.size), y, w, g)
    return _solve_nearest_samples(search, g, known=(w, y, cost))


# --- which variables are undecided ----------------------------------------------------------------


def _by_gap(search: Search, at: Descended) -> SearchResult | None:
    """Solve from coordinate descent's point if its gap is small; else return None."""
    p, own = search.program, search.program.settings
    if at.x is not None:
        is_easy = bool(np.sum(p.missed(at.x, at.g)) <= own.easy_gap * at.cost)
    else:
        mu = GUESS_ACCURACY * at.cost / (2.0 * p.size)
        is_easy = Smoothed(p, at.w, at.y, mu, at.g).evaluate()[1] <= at.cost
    return _solve_nearest_samples(search, at.g, 2 * at.n_free) if is_easy else None


def _by_distance(search: Search, at: Descended) -> SearchResult | None:
    """Solve for the variables within half a margin at the given weights, if these are few."""
    distance = 2.0 * np.abs(at.g)
    distance /= max(1.0, _smallest(distance, search.program.settings.fewest_open))
    are_few = np.mean(distance <= 1.0) <= OPEN_SHARE_OF_POOR_GUESS
    return _solve_and_check(search, at.g, distance) if are_few else None


Known = tuple[Vector, Vector, float]
"""Weights and row multipliers of a similar program, and minus their dual objective."""


def _solve_nearest_samples(
    search: Search, g: Vector, fewest: int = 0, known: Known | None = None
) -> SearchResult | None:
    """Solve for the dual variables of the samples nearest to their margins alone."""
    p = search.program
    fewest = max(fewest, p.settings.open_per_weight * p.F.rank)
    distance = np.abs(g)
    distance /= max(_smallest(distance, fewest), SMALLEST_DIVISOR)
    return _solve_and_check(search, g, distance, fewest=fewest, known=known)


def _by_smoothing(search: Search) -> SearchResult | None:
    """Solve from smoothed weights, of a sample of the variables first, then of all."""
    p, own = search.program, search.program.settings
    w, y = p.offset, np.zeros(len(p.b))
    # the first barriers cover all gradients of the first weights
    u, g = p.upper - p.lower, p.gradient(w, y)
    width = np.where(np.isfinite(u), u, 1.0 / np.where(p.d > 0.0, p.d, 1.0))
    mu = (float(np.max(np.abs(g))) or float(np.sqrt(p.unit))) * float(np.median(width))
    if p.size > 2 * own.sample_size:
        few = np.random.default_rng(0).choice(p.size, own.sample_size, replace=False)
        share = own.sample_size / p.size
        sample = p.sampled(np.sort(few), share)
        guess = _smoothed(search, sample, w, y, mu / share, own.rough_accuracy)
        if guess is None or not guess.reached:
            return None
        w, y, mu = guess.w, guess.y, guess.mu * share
    guess = _smoothed(search, p, w, y, mu, GUESS_ACCURACY)
    if guess is None:
        return None
    distance = guess.distances() / own.open_radius
    if not guess.reached:
        distance /= _smallest(distance, int(OPEN_SHARE_OF_POOR_GUESS * p.size))
    return _solve_and_check(search, guess.g, distance)


def _smoothed(
    search: Search, program: FactorProgram, w: Vector, y: Vector, mu: float, accuracy: float
) -> Smoothed | None:
    """Run Newton's method on the smoothed primal from the given weights."""
    if search.stopped is not None:
        return None
    last = list[Smoothed]()

    def record_smoothed_point() -> SearchResult:
        """Record the current smoothed point as the answer in case the solver is stopped."""
        p, at = search.program, last[0]
        if at.program is not p:
            at = Smoothed(p, at.w, at.y, at.mu * at.program.size / p.size)
            at.evaluate()
        return search.record(search.result(at.x, at.y))

    def report(at: Smoothed, step: int, objective: float, gap: float) -> bool:
        last[:] = [at]
        search.report(objective, gap, int(step > 0))
        if search.stopped is not None:
            record_smoothed_point()
        return not search.may_continue

    try:
        return smoothed_newton(program, w, y, mu, accuracy, report)
    except KeyboardInterrupt as error:
        if last:
            keep_best(error, record_smoothed_point)
        raise


# --- the solution for them ------------------------------------------------------------------------


def _solve_and_check(
    search: Search,
    g: Vector,
    distance: Vector,
    *,
    fewest: int | None = None,
    known: Known | None = None,
) -> SearchResult | None:
    """Solve for the variables within a distance of 1 and check the others afterwards.

    Next to known weights the interior-point method begins there, with barriers of a hundredth of
    their cost: with less than a thousandth some programs are not solved.
    """
    p, own, eps = search.program, search.program.settings, search.eps
    fewest = own.fewest_open if fewest is None else fewest
    if not np.isfinite(distance).all():
        return None
    x = np.where(g > 0.0, p.lower, p.upper)
    is_open = (distance <= 1.0) | np.isinf(x)
    if not is_open.any():
        is_open = distance <= _smallest(distance, fewest)
    x[np.isinf(x)] = 0.0
    largest = float(np.max(np.abs(p.q))) or 1.0
    while True:
        while not (is_open.all() or _rows_can_hold(p, is_open, x)):
            is_open |= distance <= _smallest(distance, 2 * int(is_open.sum()))
        if is_open.mean() > own.largest_open_share:
            return None
        kept = np.flatnonzero(is_open)
        part, start = p.restricted(kept, x), None
        if known is not None:
            w, y, cost = known
            mu = 0.01 * cost / (2.0 * part.size)
            start = point_at(part, w, y, mu) if mu > 0.0 else None
        try:
            found = _polish_part(search, part, search.interior(part, start))
        except KeyboardInterrupt as error:
            map_best(error, partial(search.whole, x=x, part=kept))
            raise
        x[kept] = found.x
        w, g, _, gap = search.measured(x, found.y)
        known = known and (w, found.y, known[2])
        whole = search.record(replace(found, x=x.copy(), w=w, gap=gap))
        missed = p.missed(x, g)
        # a gradient of the wrong sign may be worth next to nothing, and yet be none to hand out
        is_wrong = (missed > 0.0) & (np.abs(g) > 0.5 * np.sqrt(eps) * largest)
        if gap <= eps and not (is_wrong & ~is_open).any():
            return replace(whole, status=Status.OPTIMAL, reason=REACHED)
        if not search.may_continue:
            if whole.status is not Status.OPTIMAL:
                return whole
            # of some variables only: no claim
            return replace(whole, status=Status.ITERATION_LIMIT, reason="iteration limit")
        new = np.flatnonzero((missed > 0.0) & ~is_open)
        if not len(new):
            return None
        most = max(len(kept), fewest)
        if len(new) > most:
            new = new[np.argpartition(-missed[new], most)[:most]]
        is_open[new] = True


def _polish_part(search: Search, part: FactorProgram, found: SearchResult) -> SearchResult:
    """Finish by working sets where rounding stopped the interior-point method."""
    if found.status is not Status.INACCURATE or not search.may_continue or not can_polish(part):
        return found
    eps = part.settings.inner_accuracy * search.eps
    inner = replace(search, program=part, eps=eps, best=None)
    better = solve_by_free_set(inner, found.x, found.y)
    search.iterations, search.stopped = inner.iterations, inner.stopped
    return better


def _smallest(values: Vector, k: int) -> float:
    """The k-th smallest value, counted from 0, or the largest."""
    k = min(k, len(values) - 1)
    return float(np.partition(values, k)[k])


def _rows_can_hold(p: FactorProgram, is_open: Mask, x: Vector) -> bool:
    """Return whether the open variables have enough room for the rows of A."""
    with np.errstate(invalid="ignore"):
        ends = [np.where(p.A != 0.0, p.A * bound, 0.0) for bound in (p.lower, p.upper)]
    need = p.b - p.A @ np.where(is_open, 0.0, x)
    least, most = np.minimum(*ends) @ is_open, np.maximum(*ends) @ is_open
    return bool(((least <= need) & (need <= most)).all())
