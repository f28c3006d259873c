"""Residuals and duality gap of an interior-point iterate."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class Accuracy:
    """Residuals and duality gap of an interior-point iterate.

    Attributes
    ----------
    primal, dual : float
        Objectives; the primal one is that of an x that may miss some rows.
    missed : float
        ``|y|'|Ax - b|``: what that is worth.
    floor : float
        Gaps are relative to the primal objective, but to no less than this.
    natural : float
        Of the variable that is furthest from either of the two cases, a bound or no gradient, the
        distance to the nearer one: in the units of ``qp/kkt.py``.
    rows : float
        Largest violation of a row, relative to its size: no entry is larger than 1.
    free : float
        The largest gradient towards a bound that does not exist, in those units.
    products : float
        The sum of gradients times the room there is for them, relative to the objective or 1: with
        curvature more than the gap.
    """

    primal: float
    dual: float
    missed: float
    floor: float
    natural: float
    rows: float
    free: float
    products: float

    @property
    def worst(self) -> float:
        """The largest of relative gap, row and gradient residuals, and squared natural one."""
        return max(self.gap, self.natural * self.natural, self.rows, self.free, self.products)

    @property
    def gap(self) -> float:
        """The relative duality gap, with the price of missed rows."""
        return (abs(self.primal - self.dual) + self.missed) / max(abs(self.primal), self.floor)
