"""Numbers of the solve policy: shares of the time limit, further attempts, rounding errors."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PolicySettings:
    """Numbers of the solve policy.

    Attributes
    ----------
    first_share : float
        Share of the time limit for the first backend of ``"auto"`` and its polish; what it leaves
        is for a second one. The package's own engines, which end where their progress does, may
        take all of it where no second interior-point method is affordable.
    timed_entries : int
        Kernel values that are evaluated to estimate what the last verification takes: some ten
        milliseconds.
    support_share : float
        Share of the samples that are taken for support vectors in this estimate.
    largest_reserve : float
        Share of the time limit that is set aside for the verification, at most.
    tighter : float
        ``eps`` of the second attempt, as a share of the caller's.
    smallest_eps : float
        Its least value: the rounding of doubles.
    polish_share : float
        Accuracy at which a polish stops, as a share of ``eps``.
    optimum_within : float
        An answer with residuals below this belongs to a program that has an optimum, of which no
        evidence is looked for.
    first_search_seconds : float
        Longest search for evidence by each of two linear programs before the polish: a few hundred
        samples take milliseconds, and no program should wait for evidence as long as for a polish.
    search_seconds : float
        The same for the last search.
    hopeless : float
        Rounding of a program's gradient, in units of ``eps``, from which its residuals cannot pass
        whatever the point: no second backend is asked then.
    unavoidable : float
        Rounding error of the objectives, in units of ``eps``, from which no other answer can be
        expected to pass verification: that of other optima differs by some percent.
    weight_corrections : int
        Corrections of the weights of a linear machine beside its alpha, at most: each squares
        what the last one left, down to rounding.
    share_of_floor : float
        Excess of a bare program's gap over what rounding and hidden curvature contribute, as a
        share of that, up to which the answer is as good as any.
    """

    first_share: float = 2.0 / 3.0
    timed_entries: int = 1_000_000
    support_share: float = 0.5
    largest_reserve: float = 0.5
    tighter: float = 1e-2
    smallest_eps: float = 1e-15
    polish_share: float = 1e-2
    optimum_within: float = 1e-4
    first_search_seconds: float = 1.0
    search_seconds: float = 10.0
    hopeless: float = 1e3
    unavoidable: float = 1.2
    weight_corrections: int = 3
    share_of_floor: float = 0.2


POLICY = PolicySettings()
"""Settings of the policy that every solve uses."""
