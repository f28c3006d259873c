"""Uncertainty of a measured time, from the scatter of its repeats in logarithms.

Times are positive and their noise is relative, so everything is about ``log t``. The standard
deviation is pooled over all cells that were repeated, c with n_c repeats each::

    s^2  =  sum_c sum_k (log t_ck - mean_k log t_ck)^2 / nu,        nu = sum_c (n_c - 1)

A cell that scatters more has its own s; where that is no chance (by an F test at 5%), it is known
from ``n_c - 1`` degrees of freedom only, and widened accordingly. The median of n repeats then has
at most the variance ``s^2 / n`` for n <= 2 (it is the mean), and ``min(1/2, pi / (2 n)) s^2``
otherwise: no more than that of two, and its limit for large n, which it approaches from below
(Kenney and Keeping, *Mathematics of Statistics*, part 2, 1951).

Every repeat is a process of its own, so caches, memory layout and the order of linking are drawn
anew each time, as Kalibera and Jones, "Rigorous benchmarking in reasonable time", *ISMM* 2013, ask
for. What changes between runs only (clocks, neighbours, temperature) is not in it: ``compare`` of
two runs measures that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.special

LEVEL = 0.95
"""Confidence level of all intervals."""

NORMAL = float(scipy.special.ndtri(0.5 + LEVEL / 2))
"""Half the width of an interval of ``LEVEL``, in standard errors: 1.96."""


@dataclass(frozen=True)
class Noise:
    """The scatter of one measurement of ``log t``.

    Attributes
    ----------
    deviation : float
        Standard deviation, a relative error of t where it is small; NaN without any repeats.
    degrees : int
        Degrees of freedom: how well the deviation itself is known.
    """

    deviation: float
    degrees: int

    def error(self, seconds: Sequence[float]) -> float:
        """Standard error of the logarithm of the median of ``seconds``, shape (n,).

        Widened by Student's t for a deviation that is known from a few repeats, so that 1.96 of it
        are 95%: from those of all cells, or of this one if it does not scatter like the others. A
        cell measured once is taken to scatter like them; NaN if nothing was repeated.
        """
        n = len(seconds)
        if not self.degrees:
            return math.nan
        own = float(np.std(np.log(seconds), ddof=1)) if n > 1 else 0.0
        degrees = n - 1 if self._excludes(own, n) else self.degrees
        variance_of_median = 1.0 / n if n <= 2 else min(0.5, math.pi / (2.0 * n))
        student = float(scipy.special.stdtrit(degrees, 0.5 + LEVEL / 2)) / NORMAL
        return max(own, self.deviation) * math.sqrt(variance_of_median) * student

    def _excludes(self, own: float, n: int) -> bool:
        """Return whether n repeats scatter more than by chance: ``own^2 / s^2 > F_(n-1, nu)``."""
        if n < 2:
            return False
        largest = float(scipy.special.fdtri(n - 1, self.degrees, LEVEL))
        return own > self.deviation * math.sqrt(largest)


def pooled_noise(repeats: Iterable[Sequence[float]]) -> Noise:
    """``s^2 = sum of squares / degrees of freedom``, over the repeats of many cells.

    Parameters
    ----------
    repeats : iterable of sequences of float
        Seconds, all positive.

    Returns
    -------
    Noise
        Its deviation is NaN where nothing was repeated.

    Examples
    --------
    >>> pooled_noise([[1.0, 1.0], [2.0]])
    Noise(deviation=0.0, degrees=1)
    """
    squares, degrees = 0.0, 0
    for seconds in repeats:
        logs = np.log(seconds)
        squares += float(np.sum((logs - np.mean(logs)) ** 2))
        degrees += len(seconds) - 1
    return Noise(math.sqrt(squares / degrees) if degrees else math.nan, degrees)


def interval(seconds: float, error: float) -> tuple[float, float]:
    """``t exp(-1.96 e), t exp(1.96 e)``."""
    return seconds * math.exp(-NORMAL * error), seconds * math.exp(NORMAL * error)
