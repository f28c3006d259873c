"""Settings of the search for a feasible point, and of the proof that there is one."""

from __future__ import annotations

from dataclasses import dataclass

from qpsvm.numerics.precision import EPS


@dataclass(frozen=True)
class FeasibilitySettings:
    """Settings of ``nearest_feasible`` and ``prove_rows``; sizes and shares are relative.

    None of them is a tolerance on what passes: a point that is not proven to be feasible has no
    bound. They say how long is searched, and what counts as rounding.

    Attributes
    ----------
    rounds : int
        Changes in one metric: each makes the missed rows hold, and may miss others by that.
    patience : int
        Changes in a row that do not halve the worst miss, after which a metric is given up.
    rounding : float
        An entry counts as zero that a change leaves with this share of what it was.
    holds : float
        Share of a row's terms up to which it holds, but for a correction that is proven: far below
        the rounding of the terms, 2^-53.
    contradiction : float
        Share of its terms by which a row may be missed that takes part in a proven contradiction;
        the miss is priced.
    vertex_penalty, nudge_penalty : float
        Prices of missing a row in the two linear programs, where moving a variable by its reach
        (or by the size of a rounding) costs 1.
    search_seconds : float
        Longest time for one of these programs.
    near_rows : float
        Share of its terms by which an inequality must hold to be left out of a proof at first.
    farthest_nudge : float
        Longest step of a nudge, in units of the largest miss: roundings of rows whose smallest
        singular value is 1e-6, and 1e-10 of a variable at most.
    farthest_miss : float
        Violation, as a share of a row's terms, above which no interior point is sought: a step
        that makes up for more costs more than a tolerance allows.
    least_room : float
        Room in all inequalities, as a share of their terms, that tells an interior point from one
        that rounding has made.
    beyond : float
        Length of a step towards an interior point, as a multiple of the one that makes up for what
        the rows are missed by.
    movable_distance : float
        Distance from its bounds from which on a variable counts as movable, in units of the steps
        that make up for what the rows miss.
    most_examined_rows : int
        Connected rows up to which dependence is examined: the work grows with their third power.
        More rows have to be independent, by a margin (``numerics.independence``).
    independence : tuple of float
        Lower bounds on the singular values of more rows than that, each of length one, that are
        tried in turn.
    most_dense_rows : int
        Rows up to which their products with each other are factored as a dense matrix.
    significant : float
        Length of what is left of a column, as a share of the rows', that is told from rounding.
    room_level : int
        Binary orders of magnitude of room that count as the same when variables are chosen.
    most_cancelling_rows : int
        Missed rows up to which multipliers are sought whose sums cancel exactly: they are solutions
        of equations in rational numbers.
    cancelled : float
        Share of its terms up to which a sum over a column is meant to cancel.
    """

    rounds: int = 40
    patience: int = 4
    rounding: float = 16.0 * EPS
    holds: float = 2.0**-68
    contradiction: float = 64.0 * EPS
    vertex_penalty: float = 1e4
    nudge_penalty: float = 1e8
    search_seconds: float = 5.0
    near_rows: float = 2.0**-36
    farthest_nudge: float = 2.0**20
    farthest_miss: float = 1e-5
    least_room: float = 4e-10
    beyond: float = 4.0
    movable_distance: float = 2.0**12
    most_examined_rows: int = 1500
    independence: tuple[float, ...] = (1e-1, 1e-2, 1e-3, 1e-4)
    most_dense_rows: int = 1500
    significant: float = 1e-12
    room_level: int = 16
    most_cancelling_rows: int = 40
    cancelled: float = 1e-6


FEASIBILITY = FeasibilitySettings()
"""Settings that ``verify``, ``certify`` and ``solve`` use."""
