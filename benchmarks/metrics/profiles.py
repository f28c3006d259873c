r"""Comparisons of contestants program by program: performance profiles, wins and losses.

A performance profile says how often a contestant is within a factor of the fastest::

    r_ps  =  t_ps / min over s of t_ps                       (inf: not reached)
    rho_s(tau)  =  share of the programs with  r_ps <= tau

Source: Dolan and Moré, "Benchmarking optimization software with performance profiles",
*Mathematical Programming* 91 (2002), section 2. ``rho_s(1)`` is the share of programs on which s is
fastest, the limit for large tau the share it solves; a program that nobody solved stays in the
denominator.

A profile compares everybody with the fastest, not with each other: whoever is second can change
when the first is taken away (Gould and Scott, "A note on performance profiles for benchmarking
software", *ACM TOMS* 43 (2016)). So two contestants are compared by their own profile,
``performance_profile(times, (a, b))``, or by ``win_matrix``; ``reversed_pairs`` names those that
the picture orders the other way.

In a matrix of wins, with the standard errors e of ``log t``, i wins against j on a program if i
reached the gap and::

    j did not,   or   log t_j - log t_i  >  1.96 sqrt(e_i^2 + e_j^2)

It is a tie if neither is faster by that, and *neither* if both failed. Nothing depends on third
contestants, unlike in a performance profile. A difference without a known error is a tie: one
measurement of each says nothing about the next one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.cells import Instance
from benchmarks.metrics.noise import NORMAL
from benchmarks.metrics.tables import Array, Index, other_runs, quantiles, table_of
from benchmarks.metrics.times import Times, Timing

DRAWS = 200
"""Bootstrap draws: enough for a band in a picture."""


@dataclass(frozen=True, eq=False)
class Profile:
    """A step function for every contestant; values hold from their tau to the next.

    Attributes
    ----------
    contestants : tuple of str
    taus : array of shape (T,)
        All ratios that occur, from 1; empty if there is nothing in common.
    shares : array of shape (K, T)
    low, high : array of shape (K, T)
        95% band over other runs, at each tau; NaN without repeats.
    instances : int
        Programs in common: what shares are of.
    reversed_pairs : tuple of (str, str)
        Pairs (a, b) where a is nowhere below b here, and b is faster than a on more programs than
        a is faster than b.
    """

    contestants: tuple[str, ...]
    taus: Array
    shares: Array
    low: Array
    high: Array
    instances: int
    reversed_pairs: tuple[tuple[str, str], ...]

    def share(self, contestant: str, tau: float) -> float:
        """Share of programs within a factor tau of the fastest, ``rho_s(tau)``."""
        step = int(np.searchsorted(self.taus, tau, side="right")) - 1
        return float(self.shares[self.contestants.index(contestant), step]) if step >= 0 else 0.0


def performance_profile(
    times: Times, contestants: Sequence[str] | None = None, *, seed: int = 0
) -> Profile:
    """Performance profile ``rho_s(tau)`` of every contestant, on the programs in common.

    Parameters
    ----------
    times : mapping of (Instance, contestant) to Timing
        Times to a gap, as ``times_to`` returns them.
    contestants : sequence of str, optional
        Exactly these: every subset has a profile of its own.
    seed : int
        Of the bootstrap.

    Returns
    -------
    Profile
        With 95% intervals where repeats tell the noise of every time, otherwise NaN.

    Examples
    --------
    >>> from benchmarks.cells import Cell, Instance
    >>> from benchmarks.metrics.times import times_to
    >>> from benchmarks.rows import Row
    >>> program = Instance("SoftMargin(C=1.0)", "iris")
    >>> known = {"primal": 1.0, "dual": 1.0, "size": 1.0}
    >>> rows = [
    ...     Row(Cell(program, name, eps=1e-6), "optimal", **known, total_seconds=seconds)
    ...     for name, seconds in [("slow", 0.4), ("fast", 0.1)]
    ... ]
    >>> times = times_to(rows, 1e-3)
    >>> profile = performance_profile(times)
    >>> profile.share("fast", 1.0), profile.share("slow", 1.0), profile.share("slow", 4.0)
    (1.0, 0.0, 1.0)
    """
    table = table_of(times, contestants)
    ratios = _ratios(table.seconds)
    taus = np.unique(ratios[ratios < math.inf])
    shares = _shares(ratios, taus)
    low = high = np.full_like(shares, math.nan)
    if taus.size and table.noise_is_known:

        def statistic(seconds: Array, _: Index) -> Array:
            return _shares(_ratios(seconds), taus)

        low, high = quantiles(other_runs(table, statistic, DRAWS, seed))
    return Profile(
        contestants=table.contestants,
        taus=taus,
        shares=shares,
        low=low,
        high=high,
        instances=len(table.instances),
        reversed_pairs=_reversed(table.contestants, table.seconds, shares),
    )


def _ratios(seconds: Array) -> Array:
    """Ratios to the fastest time, ``r_ps``, shape (m, K)."""
    fastest = np.min(seconds, axis=1, keepdims=True, initial=math.inf)
    ratios: Array = np.full(seconds.shape, math.inf)
    np.divide(seconds, fastest, out=ratios, where=seconds < math.inf)
    return ratios


def _shares(ratios: Array, taus: Array) -> Array:
    """Shares of programs within each factor, ``rho_s(tau)``, shape (K, T)."""
    m, K = ratios.shape
    counts = [np.searchsorted(np.sort(ratios[:, s]), taus, side="right") for s in range(K)]
    shares: Array = np.array(counts, dtype=np.float64).reshape(K, len(taus)) / max(m, 1)
    return shares


def _reversed(
    contestants: tuple[str, ...], seconds: Array, shares: Array
) -> tuple[tuple[str, str], ...]:
    found = []
    for i, j in itertools.permutations(range(len(contestants)), 2):
        more_often = np.count_nonzero(seconds[:, j] < seconds[:, i])
        less_often = np.count_nonzero(seconds[:, i] < seconds[:, j])
        if np.all(shares[i] >= shares[j]) and more_often > less_often:
            found.append((contestants[i], contestants[j]))
    return tuple(found)


# --- wins -----------------------------------------------------------------------------------------

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Wins:
    """Counts of programs; row i, column j is about i against j.

    Attributes
    ----------
    contestants : tuple of str
    wins, ties, neither : arrays of int of shape (K, K)
        The diagonals are zero.
    """

    contestants: tuple[str, ...]
    wins: Counts
    ties: Counts
    neither: Counts

    @property
    def losses(self) -> Counts:
        """Number of programs on which the row's contestant is slower than the column's."""
        return self.wins.T

    @property
    def compared(self) -> Counts:
        """Number of programs that both contestants of a pair attempted."""
        return self.wins + self.losses + self.ties + self.neither


def win_matrix(times: Times, *, noise: float | None = None) -> Wins:
    """Wins, losses and ties of every pair, on the programs that both attempted.

    Parameters
    ----------
    times : mapping of (Instance, contestant) to Timing
        Times to a gap, as ``times_to`` returns them.
    noise : float, optional
        A standard error of ``log t`` to assume where nothing was repeated.

    Returns
    -------
    Wins
        Contestants in the order of their first attempts.

    Examples
    --------
    >>> from benchmarks.cells import Cell, Instance
    >>> from benchmarks.metrics.times import times_to
    >>> from benchmarks.rows import Row
    >>> program = Instance("SoftMargin(C=1.0)", "iris")
    >>> known = {"primal": 1.0, "dual": 1.0, "size": 1.0}
    >>> rows = [
    ...     Row(Cell(program, name, eps=1e-6), "optimal", **known, total_seconds=seconds)
    ...     for name, seconds in [("slow", 0.4), ("fast", 0.1)]
    ... ]
    >>> times = times_to(rows, 1e-3)
    >>> wins = win_matrix(times, noise=0.01)
    >>> wins.contestants, wins.wins
    (('slow', 'fast'), array([[0, 0],
           [1, 0]]))
    """
    names = tuple(dict.fromkeys(who for (_, who), timing in times.items() if timing.attempted))
    by_instance: dict[Instance, dict[int, Timing]] = {}
    for (instance, who), timing in times.items():
        if timing.attempted:
            by_instance.setdefault(instance, {})[names.index(who)] = timing
    shape = (len(names), len(names))
    wins, ties, neither = (np.zeros(shape, dtype=np.int64) for _ in range(3))
    for attempts in by_instance.values():
        for i, a in attempts.items():
            for j, b in attempts.items():
                if i == j:
                    continue
                if not (a.reached or b.reached):
                    neither[i, j] += 1
                elif faster(a, b, noise):
                    wins[i, j] += 1
                elif not faster(b, a, noise):
                    ties[i, j] += 1
    return Wins(names, wins, ties, neither)


def faster(a: Timing, b: Timing, noise: float | None = None) -> bool:
    """Return whether timing a is below timing b by more than their combined uncertainty."""
    if not (a.reached and b.reached):
        return a.reached
    errors = [noise if noise is not None and math.isnan(t.error) else t.error for t in (a, b)]
    # a comparison with NaN is false
    return math.log(b.seconds / a.seconds) > NORMAL * math.hypot(*errors)
