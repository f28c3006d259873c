"""The price of curvature that rounding hides is proportional to the objective, at every scale."""

from __future__ import annotations

import numpy as np
import pytest

from qpsvm.numerics.arrays import Vector
from qpsvm.qp import QuadraticProgram
from qpsvm.qp.hidden_curvature import hidden_curvature_price


def cone(t: float) -> tuple[QuadraticProgram, Vector]:
    """The dual of a hard margin and a point of it, for samples divided by the root of t."""
    features = np.array([[1.0, 0.3], [0.3, 1.0], [1.0, 1.0 + 1e-9], [1.0, 1.0]])
    P = features @ features.T
    P[0, 0] -= 1e-15  # negative curvature within rounding
    return QuadraticProgram(P / t, -np.ones(4), lb=np.zeros(4)), t * np.array([0.5, 0.5, 0.1, 0.1])


@pytest.mark.parametrize("exponent", [-900, -580, -100, 100, 500, 900])
def test_the_price_does_not_depend_on_the_unit(exponent: int) -> None:
    none, t = np.zeros(0), 2.0**exponent
    (unit, x), (program, scaled) = cone(1.0), cone(t)
    expected = hidden_curvature_price(unit, x, none, none)
    assert 0.0 < expected < 1e-8
    found = hidden_curvature_price(program, scaled, none, none)
    assert found / t == pytest.approx(expected, rel=1e-9, abs=0.0)
