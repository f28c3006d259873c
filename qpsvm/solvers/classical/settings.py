"""Settings of the textbooks' dual methods."""

from __future__ import annotations

from dataclasses import dataclass

from qpsvm.numerics.precision import EPS


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
    rounding : float
        Share of the terms of a gradient below which SMO takes a violation of optimality for
        rounding: pairs with no more would be moved to and fro for ever.
    least_curvature : float
        Share of ``P_ii + P_jj`` that the curvature of a pair is at least: equal samples have none.
    """

    rate: float = 0.0
    power_steps: int = 30
    safety: float = 1.1
    rho: float = 0.0
    kept_bytes: int = 2**28
    seed: int = 0
    first_check: int = 1
    check_growth: float = 1.25
    rounding: float = 4.0 * EPS
    least_curvature: float = 1e-12


DEFAULTS = ClassicalSettings()


@dataclass(frozen=True)
class ProgramLimits:
    """Limits of the programs that the textbooks' dual methods take; they are no options.

    Attributes
    ----------
    row_missed : float
        Violation of the equality row, relative to its terms, from which on a point has no gap.
    whole_matrix_bytes : int
        Kernel matrices up to this size are evaluated once: 5,800 variables.
    slsqp_variables : int
        Variables up to which SLSQP is of use: its iterations take n^3 operations.
    """

    row_missed: float = 1e-9
    whole_matrix_bytes: int = 2**28
    slsqp_variables: int = 1500


LIMITS = ProgramLimits()
