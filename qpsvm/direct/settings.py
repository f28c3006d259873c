"""Sizes and tolerances of the short way of small machines."""

from __future__ import annotations

from dataclasses import dataclass

from qpsvm.native import NewtonNumbers, RunNumbers


@dataclass(frozen=True)
class DirectSettings:
    """Sizes and tolerances of the direct solution of machines on a kernel matrix or few weights.

    Attributes
    ----------
    samples : int
        Samples, at most, whose kernel matrix is evaluated as a whole.
    part : int
        Kernel values, at most, of the machines that one call solves on one kernel matrix; a larger
        machine has a call of its own.
    tolerance : float
        Violation of optimality with which the steps of pairs end at first, in units of ``eps``.
    boundary : float
        Factor of that tolerance for one class, whose support vectors lie where predictions change.
    tighter : float
        Factor of that tolerance, at most, after a certificate that is too wide.
    aim : float
        Share of ``eps`` that the next gap is to have, if gaps shrink as tolerances do.
    certificates : int
        How many certificates are tried.
    numbers : RunNumbers
        Of the runs of steps of pairs and Newton steps.
    larger_steps : float
        Gap, in units of ``eps``, to which machines with many free variables are solved.
    linear_work, linear_share : float
        Steps of pairs, at most, for a linear machine with n variables and d features: n times their
        number is at most ``linear_work + linear_share n d^2``, about the time of Newton's method on
        the weights, which follows.
    class_steps : int
        Steps of samples in a run, at most, for every sample, with one decision function per class.
    class_variables : int
        Free variables, at most, with which Newton steps are made there.
    class_work : float
        Multiplications, at most, in the factors of these Newton steps.
    newton_features : int
        Features, at most, with which machines are solved by Newton's method on their weights.
    newton_share, newton_least : float and int
        Features, at most, for every condition, with which losses that have kinks are, before steps
        of pairs are tried; with fewer than ``newton_least`` that number counts.
    entries : int
        Entries of the samples, at most, with which they are: so many terms add up to within the
        margin that a certificate has for its own sums.
    newton : NewtonNumbers
        Of Newton's method.
    newton_start : float
        Weight of the first proximal term of losses with kinks, times the mean of ``|x_i|^2``, at
        least.
    newton_ramp : float
        How far the kinks are drawn out by it, at least, in units of the largest ``|p_i|``, so that
        slopes begin between their ends.
    newton_gap : float
        Gap of the weights, in units of ``eps``, with which proximal steps end at first.
    sum_roundings : float
        By how much sums that a machine keeps may be missed, in roundings of the sum of the sizes of
        all variables.
    sign : float
        By how much a multiplier may be below zero, in units of ``eps``.
    stated : float
        Errors of decision values, in units of ``eps``, from which multipliers and slack are
        computed from compensated ones.
    natural_share : float
        Share of ``sqrt(eps)`` that the largest distance of a variable from its KKT case may have:
        the verifier measures it in other units, too.
    gap_share : float
        Share of ``eps`` that the certified gap may have, so that the verifier, whose sums round
        differently, agrees.
    """

    samples: int = 2500
    part: int = 1_000_000
    tolerance: float = 0.3
    boundary: float = 1e-3
    tighter: float = 0.1
    aim: float = 0.3
    certificates: int = 3
    numbers: RunNumbers = RunNumbers()  # noqa: RUF009 - a tuple
    larger_steps: float = 0.05
    linear_work: float = 1e5
    linear_share: float = 0.2
    class_steps: int = 10
    class_variables: int = 2000
    class_work: float = 2e10
    newton_features: int = 300
    newton_share: float = 0.125
    newton_least: int = 16
    entries: int = 5_000_000
    newton: NewtonNumbers = NewtonNumbers()  # noqa: RUF009 - a tuple
    newton_start: float = 0.01
    newton_ramp: float = 2.0
    newton_gap: float = 0.1
    sum_roundings: float = 32.0
    sign: float = 0.5
    stated: float = 0.1
    natural_share: float = 0.1
    gap_share: float = 0.9


DIRECT = DirectSettings()
"""The settings that ``qpsvm.solve`` uses."""
