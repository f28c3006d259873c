"""Settings of the textbooks' dual methods."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ClassicalSettings:
    """Settings of the textbooks' dual methods; none changes what a certificate proves.

    Attributes
    ----------
    rate : float
        Step size eta of dual ascent; 0 for ``1 / L``, with L an estimate of the largest eigenvalue
        of P.
    power_steps : int
        Steps of the power method for L.
    safety : float
        Factor on that estimate, which is never above the eigenvalue.
    rho : float
        Penalty of ADMM; 0 for the mean diagonal entry of P.
    kept_bytes : int
        Columns of P that SMO and coordinate descent keep.
    seed : int
        Of the order in which coordinate descent visits the variables.
    first_check : int
        The step after which the gap is measured for the first time.
    check_growth : float
        Ratio of the steps of two further measurements: a measurement takes longer than a step.
    """

    rate: float = 0.0
    power_steps: int = 30
    safety: float = 1.1
    rho: float = 0.0
    kept_bytes: int = 2**28
    seed: int = 0
    first_check: int = 1
    check_growth: float = 1.25


DEFAULTS = ClassicalSettings()
