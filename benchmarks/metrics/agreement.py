"""Agreement of two rankings within their stated uncertainty.

Two runs measure the difference of two contestants' scores as ``d`` and ``d'``; each of the four
scores has a standard error over other runs, independent of the others. If these are right, then::

    |d - d'|  <=  z sqrt(e_1^2 + e_2^2 + e_1'^2 + e_2'^2)

for 95% of the pairs with z = 1.96, and for *all* pairs with a probability of at least 95% with z at
``1 - 0.05 / (2 pairs)`` (Bonferroni). Only differences count: a machine that is slower by the same
factor for everybody changes none of them much.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import scipy.stats

from benchmarks.metrics.noise import LEVEL, NORMAL
from benchmarks.metrics.rankings import Ranking


@dataclass(frozen=True)
class PairDifference:
    """A pair of contestants, compared in two runs.

    Attributes
    ----------
    first, second : str
        In the order of the first ranking.
    difference_a, difference_b : float
        Score of ``second`` minus score of ``first``; negative in b: the order is the other one.
    error : float
        Standard error of ``difference_a - difference_b``.
    """

    first: str
    second: str
    difference_a: float
    difference_b: float
    error: float

    @property
    def swapped(self) -> bool:
        """Return whether the two runs order the pair differently."""
        return self.difference_a * self.difference_b < 0.0

    def within(self, z: float) -> bool:
        """Return whether runs differ by at most z standard errors; False if these are unknown."""
        return abs(self.difference_a - self.difference_b) <= z * self.error


@dataclass(frozen=True)
class Agreement:
    """Agreement of two rankings, pair by pair.

    Attributes
    ----------
    contestants : tuple of str
        In both rankings.
    tau : float
        Kendall's rank correlation: 1 for the same order; NaN for fewer than two contestants.
    pairs : tuple of PairDifference
    z : float
        Standard errors that all pairs together keep with 95%.
    """

    contestants: tuple[str, ...]
    tau: float
    pairs: tuple[PairDifference, ...]
    z: float

    @property
    def within(self) -> float:
        """Share of the pairs within 1.96 standard errors: near 0.95, or more, is right."""
        return _share([pair.within(NORMAL) for pair in self.pairs])

    @property
    def swapped(self) -> tuple[PairDifference, ...]:
        """Pairs in another order."""
        return tuple(pair for pair in self.pairs if pair.swapped)

    @property
    def unexplained(self) -> tuple[PairDifference, ...]:
        """Pairs in another order that the stated uncertainty does not explain."""
        return tuple(pair for pair in self.swapped if not pair.within(self.z))

    @property
    def agrees(self) -> bool | None:
        """Return whether every change of order is explained.

        None if there is nothing to compare, or an order changed and nothing was repeated.
        """
        if not self.pairs or any(math.isnan(pair.error) for pair in self.swapped):
            return None
        return not self.unexplained


def agreement(a: Ranking, b: Ranking) -> Agreement:
    """Compare two rankings; both should be about the same programs.

    Parameters
    ----------
    a, b : Ranking

    Returns
    -------
    Agreement
        Of the contestants in both.
    """
    in_a, in_b = ({rank.contestant: rank for rank in ranking.ranks} for ranking in (a, b))
    names = tuple(who for who in in_a if who in in_b)
    pairs = []
    for first, second in itertools.combinations(names, 2):
        scores = (in_a[first], in_a[second], in_b[first], in_b[second])
        pairs.append(
            PairDifference(
                first,
                second,
                difference_a=in_a[second].score - in_a[first].score,
                difference_b=in_b[second].score - in_b[first].score,
                error=math.hypot(*(rank.error for rank in scores)),
            )
        )
    tau = math.nan
    if len(names) > 1:
        tau = float(
            scipy.stats.kendalltau(
                [in_a[who].score for who in names], [in_b[who].score for who in names]
            ).statistic
        )
    tail = (1.0 - LEVEL) / (2.0 * max(len(pairs), 1))
    return Agreement(names, tau, tuple(pairs), float(scipy.stats.norm.ppf(1.0 - tail)))


def _share(flags: list[bool]) -> float:
    return sum(flags) / len(flags) if flags else math.nan
