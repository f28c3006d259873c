"""Win/loss matrices: every two contestants on the programs that both attempted.

With the standard errors e of ``log t``, i wins against j on a program if i reached the gap and::

    j did not,   or   log t_j - log t_i  >  1.96 sqrt(e_i^2 + e_j^2)

It is a tie if neither is faster by that, and *neither* if both failed. Nothing depends on third
contestants, unlike in a performance profile. A difference without a known error is a tie: one
measurement of each says nothing about the next one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.arrays import freeze
from benchmarks.cells import Instance
from benchmarks.metrics.noise import NORMAL
from benchmarks.metrics.times import Times, Timing

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Wins:
    """Counts of programs; row i, column j is about i against j.

    Attributes
    ----------
    contestants : tuple of str
    wins, losses, ties, neither : array of int of shape (K, K)
        ``losses = wins'``; the diagonals are zero.
    compared : array of int of shape (K, K)
        Programs that both attempted: the sum of the four.
    """

    contestants: tuple[str, ...]
    wins: Counts
    losses: Counts
    ties: Counts
    neither: Counts
    compared: Counts


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
    >>> from benchmarks.metrics import times_to
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
    return Wins(names, *map(_frozen, (wins, wins.T, ties, neither, wins + wins.T + ties + neither)))


def faster(a: Timing, b: Timing, noise: float | None = None) -> bool:
    """Return whether timing a is below timing b by more than their combined uncertainty."""
    if not (a.reached and b.reached):
        return a.reached
    errors = [noise if noise is not None and math.isnan(t.error) else t.error for t in (a, b)]
    # a comparison with NaN is false
    return math.log(b.seconds / a.seconds) > NORMAL * math.hypot(*errors)


def _frozen(counts: Counts) -> Counts:
    return freeze(counts.copy())
