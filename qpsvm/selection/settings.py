"""Settings of exact leave-one-out."""

from __future__ import annotations

from dataclasses import dataclass

from qpsvm.numerics.precision import EPS


@dataclass(frozen=True)
class LeaveOneOutSettings:
    """Settings of ``leave_one_out``; shares are relative.

    Of what is proven only the last two are part: a left-out machine is held against the optimum by
    its own duality gap, whatever led to it.

    Attributes
    ----------
    full_eps, refit_eps : float
        Accuracies of the full machine and of a refit.
    end_of_step : float
        Share of a step's length from which on a coefficient of the full machine is not at its end.
    lot : int
        Samples that are left out at a time: matrices of so many rows of n are held.
    small_block : int
        Largest systems of equations of which many are solved in one call.
    trials : int
        Trials of the steps for one sample, after which its coefficient is followed to zero; five
        are common.
    events : int
        Changes of a step along that way, after which the sample is refitted.
    noise : float
        Share of a value by which a sample may be beyond the end of its step: rounding of the sums,
        which would take equal samples off their steps.
    moved : float
        Rates below this share of the largest are rounding.
    dependent : float
        Reciprocal condition number of equations below which their samples are dependent.
    rounds : int
        Times that dependent samples are looked for and moved to the ends of their steps.
    rounding : float
        Estimated rounding of a sum, relative to the magnitudes in it.
    compensated : float
        That of a compensated sum, relative to that of a plain one.
    """

    full_eps: float = 1e-9
    refit_eps: float = 1e-9
    end_of_step: float = 1e-9
    lot: int = 256
    small_block: int = 32
    trials: int = 12
    events: int = 500
    noise: float = 1e-11
    moved: float = 1e-10
    dependent: float = 1e3 * EPS
    rounds: int = 40
    rounding: float = 8.0 * EPS
    compensated: float = 2.0**-20


NUMBERS = LeaveOneOutSettings()
