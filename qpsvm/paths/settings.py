"""Settings of paths: limits, tolerances and the accuracy of searches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from qpsvm.numerics.arguments import explains_constructor, require_kind
from qpsvm.qp.kkt_residuals import Tolerances


@explains_constructor
@dataclass(frozen=True)
class PathSettings:
    """Limits and tolerances of paths; none changes what a certificate proves.

    Attributes
    ----------
    exact_variables : int
        Dual variables up to which ``exact="auto"`` follows the exact path.
    max_events : int
        Changes of the active set after which an exact path goes on as a warm-started sequence.
    max_restarts : int
        The same for the places where the path is lost and a solver is asked to find it again.
    max_exchanges : int
        Changes of the active set at one parameter value before a solver is asked.
    restart_step : float
        A solver finds the path again this far ahead, relative to the parameter; each further
        attempt at one place goes ``restart_growth`` times as far.
    restart_growth : float
    jump_steps : int
        Active sets that are tried between two values of a sequence before a solver is asked.
    kept_bytes : int
        A sequence with a kernel keeps its whole matrix up to this size, and jumps, or along C
        solves over that matrix; 11585 samples.
    sequence_share : float
        Machines over a kept matrix are solved to this share of ``eps``, to pass with rounding.
    sequence_lot : int
        Machines over a kept matrix that are verified at a time.
    sequence_iterations : int
        Iterations of the interior-point method for one machine of a linear sequence, at most.
    copied_rows_share : int
        The rows used of a kernel matrix are copied if they are at most one row in so many.
    follow_eps : float
        The ``eps`` of solves whose active set the exact path starts from.
    feasibility : float
        How far an alpha may be outside its box and a multiplier below zero, relative to the
        largest of their kind, for an active set to count as optimal: rounding.
    flatness : float
        A rate of change below this, relative in the same way, is rounding and no event.
    same_value : float
        Parameter values whose relative difference is at most this are one value.
    negligible : float
        Share of the largest entry of a direction of dependent samples below which an entry is
        rounding.
    affine : float
        Relative deviation of prices from a straight line in the parameter that is rounding.
    smallest_rcond : float
        Reciprocal condition number below which an active set is dependent.
    classification : tuple of float
        Distances from a bound, relative to the box, below which an alpha of a solver counts as at
        the bound; tried in this order.
    widest_gap, narrowest_gap : float
        A search for the reach of a machine ends with a gap between these shares of ``eps``.
    aim : float
        The share of ``eps`` that such a search aims at.
    largest_growth : float
        Factor by which a step of such a search grows, at most.
    solve_share, smallest_eps : float
        Machines of a certified path are solved to this share of its ``eps``, but not below that.
    reach_solves : int
        Solves of one such search, at most.
    max_machines : int
        Machines of a certified path, at most.
    distance_bytes : int
        Squared distances are kept and shared between kernel widths up to this size.
    default_range : tuple of float
        Smallest and largest C, where no values are given.
    default_values : int
        Number of values of C, where none are given.
    """

    exact_variables: int = 1000
    max_events: int = 10_000
    max_restarts: int = 50
    max_exchanges: int = 100
    restart_step: float = 1e-7
    restart_growth: float = 10.0
    jump_steps: int = 20
    kept_bytes: int = 2**30
    sequence_share: float = 0.3
    sequence_lot: int = 10
    sequence_iterations: int = 1000
    copied_rows_share: int = 3
    follow_eps: float = 1e-10
    feasibility: float = 1e-9
    flatness: float = 1e-11
    same_value: float = 1e-12
    negligible: float = 1e-8
    affine: float = 1e-12
    smallest_rcond: float = 1e-13
    classification: tuple[float, ...] = (1e-9, 1e-7, 1e-5)
    widest_gap: float = 1.0
    narrowest_gap: float = 0.8
    aim: float = 0.9
    largest_growth: float = 4.0
    solve_share: float = 1e-3
    smallest_eps: float = 1e-10
    reach_solves: int = 12
    max_machines: int = 1000
    distance_bytes: int = 2**27
    default_range: tuple[float, float] = (1e-2, 1e2)
    default_values: int = 50


DEFAULTS = PathSettings()


def require_arguments(eps: float, callback: object, settings: object) -> None:
    """Check the arguments that all paths have in common.

    Raises
    ------
    InvalidParameterError
    """
    Tolerances(eps)  # the rule for eps is there
    require_kind(callback, Callable | None, "callback", "a function, or None")
    require_kind(settings, PathSettings, "settings", "a PathSettings object")
