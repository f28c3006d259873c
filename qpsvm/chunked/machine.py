"""Linear machines ``f(x) = w'x + b`` with the half-width t, as passes use them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.exceptions import InvalidParameterError
from qpsvm.machines.prediction import as_float64
from qpsvm.numerics.arrays import Vector


@dataclass(frozen=True, eq=False)
class Machine:
    """A linear machine ``f(x) = w'x + b`` with the half-width t.

    Attributes
    ----------
    coef : array of shape (d,)
    intercept, width : float
    """

    coef: Vector
    intercept: float
    width: float

    @property
    def vector(self) -> Vector:
        """The vector (w, b, t) of weights, intercept and width."""
        return np.concatenate([self.coef, [self.intercept, self.width]])

    @classmethod
    def of(cls, vector: Vector) -> Machine:
        """The machine of (w, b, t); a negative width becomes zero."""
        return cls(vector[:-2].copy(), float(vector[-2]), max(0.0, float(vector[-1])))


def stored_machine(machine: object) -> Machine:
    """Copy of the numbers of a machine as float64; NaN where one is missing or a width negative.

    Raises
    ------
    InvalidParameterError
        Not a machine.
    """
    if type(machine) is not Machine:
        raise InvalidParameterError(f"A machine is expected, got {type(machine).__name__}.")
    coef = as_float64(machine.coef, "coef")
    width = _number(machine.width, "width")
    return Machine(
        np.zeros(0) if coef is None else coef.copy(),
        _number(machine.intercept, "intercept"),
        width if width >= 0.0 else np.nan,
    )


def _number(value: object, name: str) -> float:
    """A stored number, NaN for a missing one or for an array of another size than 1."""
    found = as_float64(value, name)
    return float(found.reshape(-1)[0]) if found is not None and found.size == 1 else np.nan
