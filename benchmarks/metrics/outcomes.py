"""Outcomes of all cells, claims that were refuted, and gaps against seconds at every tolerance."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from benchmarks.cells import Instance
from benchmarks.metrics.bounds import best_dual, suboptimality
from benchmarks.metrics.times import Timing, cells_of, measurements, outcome_of
from benchmarks.rows import FALSE, OUTCOMES, Row


@dataclass(frozen=True)
class OutcomeTable:
    """Counts of cells; repeats of a cell count once.

    Attributes
    ----------
    contestants : tuple of str
        References included.
    outcomes : tuple of str
        Those that occur, in the order of ``rows.OUTCOMES``.
    counts : mapping of str to mapping of str to int
        By contestant and outcome. Where repeats disagree, the worst.
    unsteady : mapping of str to int
        Cells whose repeats disagree, by contestant.
    """

    contestants: tuple[str, ...]
    outcomes: tuple[str, ...]
    counts: Mapping[str, Mapping[str, int]]
    unsteady: Mapping[str, int]


@dataclass(frozen=True)
class FalseClaim:
    """A claim that was refuted.

    Attributes
    ----------
    contestant : str
    instance : Instance
    eps : float
        What was asked for.
    outcome : str
        ``false optimal`` or ``false infeasible``.
    gap : float
        Suboptimality against the best bound of anybody: inf where nothing is known.
    message : str
        The checks that failed.
    """

    contestant: str
    instance: Instance
    eps: float
    outcome: str
    gap: float
    message: str

    @property
    def machine_is_optimal(self) -> bool:
        """Return whether a false claim of optimality concerns the multipliers alone."""
        return self.outcome == "false optimal" and self.gap <= self.eps


def outcome_table(rows: Iterable[Row]) -> OutcomeTable:
    """Count the outcomes of each contestant.

    Parameters
    ----------
    rows : iterable of Row
        Rows of a store, references included.

    Returns
    -------
    OutcomeTable
        Repeats of a cell count once, by the worst of their outcomes.

    Examples
    --------
    >>> from benchmarks.cells import Cell
    >>> cell = Cell(Instance("SoftMargin(C=1.0)", "iris"), "cvxopt", eps=1e-6)
    >>> outcome_table([Row(cell, "optimal")]).counts
    {'cvxopt': {'optimal': 1}}
    """
    cells = cells_of(rows)
    names = tuple(dict.fromkeys(who for who, _ in cells))
    counts: dict[str, Counter[str]] = {who: Counter() for who in names}
    unsteady: Counter[str] = Counter(dict.fromkeys(names, 0))
    for (who, _), repeats in cells.items():
        outcome, steady = outcome_of(repeats)
        counts[who][outcome] += 1
        unsteady[who] += not steady
    found = {outcome for counter in counts.values() for outcome in counter}
    order = [*OUTCOMES, *sorted(found - set(OUTCOMES))]
    return OutcomeTable(
        contestants=names,
        outcomes=tuple(outcome for outcome in order if outcome in found),
        counts={who: dict(counter) for who, counter in counts.items()},
        unsteady=dict(unsteady),
    )


def false_claims(rows: Iterable[Row]) -> tuple[FalseClaim, ...]:
    """Return refuted claims, one per cell, the furthest from its claim first.

    Parameters
    ----------
    rows : iterable of Row
        Rows of a store, references included.

    Returns
    -------
    tuple of FalseClaim
        Of several refuted repeats of a cell the furthest from the optimum.

    Raises
    ------
    StoreError
        As ``best_dual``.

    Examples
    --------
    >>> from benchmarks.cells import Cell
    >>> cell = Cell(Instance("SoftMargin(C=1.0)", "iris"), "liar", eps=1e-6)
    >>> row = Row(cell, "false optimal", primal=2.0, dual=1.0, size=2.0)
    >>> [(claim.contestant, claim.gap) for claim in false_claims([row])]
    [('liar', 0.5)]
    """
    rows = tuple(rows)
    best = best_dual(rows)
    found = []
    for (who, cell), repeats in cells_of(rows).items():
        refuted = [row for row in repeats if row.outcome in FALSE]
        if refuted:
            row = max(refuted, key=lambda row: suboptimality(row, best))
            gap = suboptimality(row, best)
            found.append(FalseClaim(who, row.instance, cell.eps, row.outcome, gap, row.message))
    return tuple(sorted(found, key=lambda claim: -claim.gap / claim.eps))


# --- accuracy and time ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Curve:
    """One contestant on one program; points from loose to tight tolerance.

    Attributes
    ----------
    contestant : str
    points : tuple of Timing
        Those with an answer: finite seconds and suboptimality. A gap of zero can occur (the best
        lower bound met exactly) and has no logarithm.
    without : tuple of Timing
        Those without one, for what became of them.
    """

    contestant: str
    points: tuple[Timing, ...]
    without: tuple[Timing, ...]

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
