"""KKT residuals of a candidate, and the checks against tolerances."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from qpsvm.display import short_repr
from qpsvm.exceptions import InvalidParameterError
from qpsvm.numerics.arrays import Vector


@dataclass(frozen=True)
class Tolerances:
    """One tolerance per scaled residual, derived from the one number ``eps`` a user gives.

    ===============  ==========  =============================================================
    residual         tolerance   why
    ===============  ==========  =============================================================
    natural          sqrt(eps)   ``z s <= eps`` allows ``min(z, s) = sqrt(eps)``: asking for
                                 ``eps`` would refuse points whose gap is far below it
    all the others   eps         the contract
    ===============  ==========  =============================================================

    Parameters
    ----------
    eps : float
        Relative accuracy, between 0 and 1.

    Raises
    ------
    InvalidParameterError
        Unless ``0 < eps < 1``.

    Examples
    --------
    >>> Tolerances(1e-8).of("natural")
    0.0001
    """

    eps: float = 1e-8

    def __post_init__(self) -> None:
        if not (isinstance(self.eps, (int, float)) and 0.0 < self.eps < 1.0):
            raise InvalidParameterError(
                f"eps is {self.eps!r}; it is a relative accuracy between 0 and 1, such as 1e-8."
            )

    def of(self, residual: str) -> float:
        """The tolerance of the scaled residual with that name."""
        return math.sqrt(self.eps) if residual == "natural" else self.eps


@short_repr
@dataclass(frozen=True)
class Residual:
    """One measured residual: ``absolute`` in the program's units, ``scaled`` without units.

    Attributes
    ----------
    name : str
        The optimality condition that was measured.
    absolute, scaled : float
        In the program's units, and relative to the sizes of what it is a sum of.
    """

    name: str
    absolute: float
    scaled: float


@short_repr
@dataclass(frozen=True)
class Check:
    """A residual held against its tolerance.

    Attributes
    ----------
    name : str
        The condition that was measured.
    absolute, scaled : float
        In the problem's units, and without units.
    tolerance : float
        The largest ``scaled`` that passes.
    """

    name: str
    absolute: float
    scaled: float
    tolerance: float

    @property
    def passed(self) -> bool:
        """Return whether ``scaled <= tolerance``; NaN is not."""
        return self.scaled <= self.tolerance

    def to_dict(self) -> dict[str, object]:
        """Convert a check to a dictionary of its name, figures and verdict, for JSON."""
        return vars(self) | {"passed": self.passed}


@short_repr
@dataclass(frozen=True)
class KKTResiduals:
    """Every residual of the module's table, and the two objectives.

    Attributes
    ----------
    stationarity, inequality, equality, lower_bound, upper_bound : Residual
    multiplier_sign, complementarity, duality_gap, natural : Residual
    primal_objective, dual_objective : float
        NaN where they cannot be computed.
    problems : tuple of str
        What was missing, of a wrong shape, or not finite.
    """

    stationarity: Residual
    inequality: Residual
    equality: Residual
    lower_bound: Residual
    upper_bound: Residual
    multiplier_sign: Residual
    complementarity: Residual
    duality_gap: Residual
    natural: Residual
    primal_objective: float
    dual_objective: float
    problems: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Residual]:
        return iter([getattr(self, name) for name in RESIDUAL_NAMES])

    @property
    def worst(self) -> float:
        """Largest scaled residual other than the natural one (see Tolerances for why not it)."""
        return worst_of([residual.scaled for residual in self if residual.name != "natural"])

    @property
    def relative_gap(self) -> float:
        """``|primal - dual|``, relative to the terms of the objective (``objective_scale``)."""
        return self.duality_gap.scaled

    def check(self, tolerances: Tolerances) -> tuple[Check, ...]:
        """Hold every residual against its tolerance."""
        checks = [Check(r.name, r.absolute, r.scaled, tolerances.of(r.name)) for r in self]
        return tuple(checks)

    def passed(self, eps: float) -> bool:
        """Return whether every residual is within ``Tolerances(eps)``."""
        return all(check.passed for check in self.check(Tolerances(eps)))


RESIDUAL_NAMES = tuple(
    name for name, kind in KKTResiduals.__annotations__.items() if kind == "Residual"
)
"""Names of the residuals, in the order of the fields."""


def largest_of(values: Vector) -> float:
    """The largest entry of a vector, at least 0; infinite where one is not a finite number."""
    largest = float(np.maximum.reduce(values, initial=0.0))  # passes NaN on
    return largest if math.isfinite(largest) else math.inf


def worst_of(values: list[float]) -> float:
    """The largest of some numbers, at least 0; infinite where one is not a number."""
    return max([v if math.isfinite(v) else math.inf for v in values], default=0.0)
