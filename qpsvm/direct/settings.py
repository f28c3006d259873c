"""Settings of the short way."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DirectSettings:
    """Sizes and tolerances of the short way from a kernel matrix to a certified machine.

    Attributes
    ----------
    samples : int
        Samples, at most, whose kernel matrix is evaluated as a whole.
    tolerance : float
        Violation of optimality with which the steps of pairs end at first, in units of ``eps``.
    tighter : float
        Factor of that tolerance after a certificate that is too wide.
    certificates : int
        How many certificates are tried.
    rough : float
        Violation, in units of the conditions, with which the first run of steps of pairs ends.
    steps_per_variable, steps_between : int
        Steps of pairs, at most: of the first run for every variable, and of those after a Newton
        step for every free variable.
    turns : int
        Runs of steps of pairs, at most.
    newton_variables : int
        Free variables, at most, with which Newton steps are made.
    ridge : float
        Added to the diagonal of their matrix, relative to its largest entry.
    newton_features : int
        Features, at most, with which squared losses are minimised by Newton's method.
    newton_steps, halvings : int
        Steps of it, and halvings of a step that increases the objective, at most.
    natural_share : float
        Share of ``sqrt(eps)`` that the largest distance of a variable from its KKT case may have:
        the verifier measures it in other units, too.
    gap_share : float
        Share of ``eps`` that the certified gap may have, so that the verifier, whose sums round
        differently, agrees.
    """

    samples: int = 1500
    tolerance: float = 0.3
    tighter: float = 0.1
    certificates: int = 3
    rough: float = 1e-2
    steps_per_variable: int = 10
    steps_between: int = 3
    turns: int = 25
    newton_variables: int = 600
    ridge: float = 1e-11
    newton_features: int = 300
    newton_steps: int = 40
    halvings: int = 30
    natural_share: float = 0.1
    gap_share: float = 0.9


DIRECT = DirectSettings()
"""The settings that ``qpsvm.solve`` uses."""
