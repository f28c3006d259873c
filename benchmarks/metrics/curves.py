"""Accuracy-time curves: certified gap against seconds, one point per tolerance of a solver."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from benchmarks.cells import Instance
from benchmarks.metrics.measurements import Measurement, measurements
from benchmarks.rows import Row


@dataclass(frozen=True)
class Curve:
    """One contestant on one program; points from loose to tight tolerance.

    Attributes
    ----------
    contestant : str
    points : tuple of Measurement
        Those with an answer: finite seconds and suboptimality. A gap of zero can occur (the best
        lower bound met exactly) and has no logarithm.
    without : tuple of Measurement
        Those without one, for what became of them.
    """

    contestant: str
    points: tuple[Measurement, ...]
    without: tuple[Measurement, ...]

    @property
    def seconds(self) -> tuple[float, ...]:
        """Median seconds, shape (number of points,)."""
        return tuple(point.seconds for point in self.points)

    @property
    def gaps(self) -> tuple[float, ...]:
        """Suboptimality of every point."""
        return tuple(point.gap for point in self.points)

    @property
    def eps(self) -> tuple[float, ...]:
        """Tolerance of every point."""
        return tuple(point.eps for point in self.points)


def accuracy_curves(
    rows: Iterable[Row], best: Mapping[Instance, float] | None = None
) -> dict[Instance, dict[str, Curve]]:
    """The curve of every contestant, program by program; references are left out.

    Parameters
    ----------
    rows : iterable of Row
        Rows of a store.
    best : mapping of Instance to float, optional
        Lower bounds; those of ``rows`` by default.

    Returns
    -------
    dict of Instance to dict of str to Curve
        By program and contestant.

    Raises
    ------
    StoreError
        As ``best_dual``.

    Examples
    --------
    >>> from benchmarks.cells import Cell
    >>> cell = Cell(Instance("SoftMargin(C=1.0)", "iris"), "cvxopt", eps=1e-6)
    >>> row = Row(cell, "optimal", primal=1.0, dual=1.0, size=1.0, total_seconds=0.1)
    >>> accuracy_curves([row])[row.instance]["cvxopt"].seconds
    (0.1,)
    """
    curves: dict[Instance, dict[str, Curve]] = {}
    for (instance, who), sweep in measurements(rows, best).items():
        known = [m for m in sweep if math.isfinite(m.gap) and math.isfinite(m.seconds)]
        without = tuple(m for m in sweep if m not in known)
        curves.setdefault(instance, {})[who] = Curve(who, tuple(known), without)
    return curves
