"""Settings of exact leave-one-out and of searches over parameters."""

from __future__ import annotations

from dataclasses import dataclass

from qpsvm.numerics.precision import EPS


@dataclass(frozen=True)
class LeaveOneOutSettings:
    """Settings of ``leave_one_out``; shares are relative.

    None of them decides what is proven: a left-out machine is held against the optimum by its own
    duality gap, or by the optimality conditions, whatever led to it.

    Attributes
    ----------
    eps : float
        Accuracy of the full machine and of a refit; a coefficient that is as near to the end of its
        step, relative to the step's length, counts as at the end.
    lot : int
        Samples that are left out at a time: matrices of so many rows of n are held.
    most_changed : int
        Samples on another step than in the full machine, at most, with which a machine is tried.
    trials : int
        Trials of the steps for one sample, after which it is refitted; five are common.
    noise : float
        Share of a value by which a sample may be beyond the end of its step: rounding of the sums,
        which would take equal samples off their steps.
    dependent : float
        Reciprocal condition number of equations below which their samples are dependent.
    """

    eps: float = 1e-9
    lot: int = 256
    most_changed: int = 64
    trials: int = 12
    noise: float = 1e-11
    dependent: float = 1e3 * EPS


LEAVE_ONE_OUT = LeaveOneOutSettings()


@dataclass(frozen=True)
class SearchSettings:
    """Settings of ``SVCSearch`` and ``SVRSearch``.

    None of them decides what is proven: every machine is held against the optimum by its own gap.

    Attributes
    ----------
    largest_matrix : int
        Bytes of a kernel matrix of all samples, up to which folds and candidates share it; 11585
        samples. Larger ones are solved one by one.
    tighter : float
        Share of ``eps`` to which a machine is solved, for its gap to hold with rounding.
    tightest : float
        Smallest relative gap that is asked for.
    known_number : float
        Width of a bound on a predicted number up to which it counts as proven, relative to the
        range of the targets.
    compensated : float
        Estimated rounding of a compensated sum, relative to that of a plain one.
    same_score : float
        Difference of two scores that is only rounding of their means.
    """

    largest_matrix: int = 2**30
    tighter: float = 0.02
    tightest: float = 1e-12
    known_number: float = 1e-6
    compensated: float = 2.0**-20
    same_score: float = 1e-12


SEARCH = SearchSettings()
