"""Scaling: how time to a gap grows with the size of the program.

::

    log t  =  log a + p log n + noise,        p by least squares

The interval of p is ``p +- t_(0.975, m-2) se(p)`` for m points (Draper and Smith, *Applied
Regression Analysis*, section 1.4); the scatter about the line is all the noise it knows, so a time
that is no power of n widens it. Only programs that differ in size alone are on one line: another
data set of another size is another problem.

A program that was not solved in time has no point. As these are the slow ones, a fit with any of
them *censored* has too small an exponent, and says how many there are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.special

from benchmarks.cells import Call, Instance, parse
from benchmarks.metrics.noise import LEVEL
from benchmarks.metrics.times import times_to
from benchmarks.rows import Row

Size = Literal["n", "d"]


@dataclass(frozen=True)
class Fit:
    """``t = factor * size^exponent`` of a contestant on one series of programs.

    Attributes
    ----------
    contestant, series : str
    exponent : float
        NaN for fewer than two sizes.
    low, high : float
        95% interval; NaN for fewer than three points.
    factor : float
        Seconds at size 1.
    points : tuple of (float, float)
        Sizes and seconds.
    censored : int
        Programs of the series that it attempted and has no time for.
    """

    contestant: str
    series: str
    exponent: float
    low: float
    high: float
    factor: float
    points: tuple[tuple[float, float], ...]
    censored: int


def scaling_fits(
    rows: Iterable[Row],
    target: float,
    by: Size = "n",
    best: Mapping[Instance, float] | None = None,
) -> tuple[Fit, ...]:
    """A fit of every contestant on every series with at least two sizes.

    Parameters
    ----------
    rows : iterable of Row
        Rows of a store.
    target : float
        Relative certified gap that times are taken to.
    by : str
        ``n`` (samples) or ``d`` (features).
    best : mapping of Instance to float, optional
        Lower bounds; those of ``rows`` by default.

    Returns
    -------
    tuple of Fit
        In the order in which series and contestants appear.

    Raises
    ------
    StoreError
        As ``best_dual``.

    Examples
    --------
    >>> from benchmarks.cells import Cell
    >>> rows = [
    ...     Row(
    ...         Cell(Instance("SoftMargin(C=1.0)", f"synthetic(n={n})"), "cvxopt", eps=1e-6),
    ...         "optimal", primal=1.0, dual=1.0, size=1.0, total_seconds=n / 100, n=n, d=2,
    ...     )
    ...     for n in (10, 20)
    ... ]
    >>> [round(fit.exponent, 6) for fit in scaling_fits(rows, 1e-3)]
    [1.0]
    """
    rows = tuple(rows)
    # rows of contestants that failed may not know the size
    sizes = {row.instance: float(row.n if by == "n" else row.d) for row in rows if row.n and row.d}
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for (instance, who), timing in times_to(rows, target, best).items():
        if timing.attempted and instance in sizes:
            key = (series_of(instance, by), who)
            found.setdefault(key, []).append((sizes[instance], timing.seconds))
    several = {
        series
        for (series, _), points in found.items()
        if len({size for size, _ in points}) > 1  # of failures, too
    }
    return tuple(
        power_law(who, series, points)
        for (series, who), points in found.items()
        if series in several
    )


def series_of(instance: Instance, by: Size = "n") -> str:
    """Return the text of a program without its size; programs with equal text form a series.

    Parameters
    ----------
    instance : Instance
        The program.
    by : str
        The size that is left out of the text: ``n`` (samples) or ``d`` (features).

    Returns
    -------
    str
        Without the seed of the data, too.

    Examples
    --------
    >>> series_of(Instance("SoftMargin(C=1.0)", "synthetic(d=5, n=1000, seed=0)"))
    'SoftMargin(C=1.0), synthetic(d=5), linear'
    """
    data = parse(instance.data)
    kept = {k: v for k, v in data.arguments.items() if k not in (by, "seed")}
    return f"{instance.family}, {Call(data.name, kept)}, {instance.kernel}"


def power_law(contestant: str, series: str, points: Sequence[tuple[float, float]]) -> Fit:
    """``log t = log a + p log n`` by least squares; infinite times are censored.

    Parameters
    ----------
    contestant, series : str
        Names for the fit.
    points : sequence of (float, float)
        Sizes and seconds; infinite seconds where the gap was not reached.

    Returns
    -------
    Fit
        Its exponent is NaN for fewer than two sizes with a time.

    Examples
    --------
    >>> fit = power_law("cvxopt", "synthetic", [(10.0, 1.0), (20.0, 4.0), (40.0, math.inf)])
    >>> round(fit.exponent, 6), fit.censored
    (2.0, 1)
    """
    known = sorted(point for point in points if point[1] < math.inf)
    exponent = low = high = factor = math.nan
    if len({size for size, _ in known}) > 1:
        x, y = np.log(np.array(known)).T
        exponent, level = np.polyfit(x, y, 1).tolist()
        factor = math.exp(level)
        degrees = len(known) - 2
        if degrees:
            _, covariance = np.polyfit(x, y, 1, cov=True)
            student = float(scipy.special.stdtrit(degrees, 0.5 + LEVEL / 2))
            half = student * math.sqrt(covariance[0, 0])
            low, high = exponent - half, exponent + half
    censored = len(points) - len(known)
    return Fit(contestant, series, exponent, low, high, factor, tuple(known), censored)
