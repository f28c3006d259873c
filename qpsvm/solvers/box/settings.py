"""Settings of the working-set method for box programs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class WorkingSetSettings:
    """Settings of the working-set method and of the proximal Newton steps inside it.

    None changes what may be called optimal: gap and residuals of the whole program decide that.

    Attributes
    ----------
    largest_whole : int
        Variables up to which every working set is the whole program.
    whole_per_free : float
        Such a program is not solved as a whole if it has more variables than this for each one that
        is expected to be free.
    smallest_working_set : int
        Variables of a working set, at least.
    largest_early_set : int
        Variables of a working set while many violate their conditions.
    largest_last_set : int
        Variables of a working set once few do: a set without some of the free variables is never
        the last one.
    inexact_share : float
        A working set that others have to follow is solved to this share of the violation.
    many_violations : float
        Violating variables at a bound per free one, above which others are expected to follow.
    set_size_if_many, set_size_if_few : float
        Size of a working set per free or violating variable, where many violate and where few do.
    max_sets, max_whole_sets : int
        Working sets, at most; and corrections where every set is the whole program.
    full_steps, searched_steps : int
        Newton steps of full length, and with a line search, per proximal point.
    max_proximal_points : int
        Proximal points per working set, at most.
    max_stalls : int
        Proximal points that do not halve the residual before a working set ends.
    first_sigma : float
        First proximal weight, relative to the violation and the largest curvature. Smaller for
        warm starts: fewer proximal points, of more Newton steps each.
    smallest_sigma, largest_sigma : float
        Limits of the proximal weight, relative to the largest curvature.
    """

    largest_whole: int = 1000
    whole_per_free: float = 4.0
    smallest_working_set: int = 400
    largest_early_set: int = 5000
    largest_last_set: int = 9000
    inexact_share: float = 1e-2
    many_violations: float = 0.1
    set_size_if_many: float = 2.0
    set_size_if_few: float = 1.3
    max_sets: int = 2000
    max_whole_sets: int = 100
    full_steps: int = 10
    searched_steps: int = 60
    max_proximal_points: int = 100
    max_stalls: int = 3
    first_sigma: float = 1.0
    smallest_sigma: float = 1e-11
    largest_sigma: float = 1e3


DEFAULTS = WorkingSetSettings()
