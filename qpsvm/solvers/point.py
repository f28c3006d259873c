"""A point of a box program with its product ``P x``."""

from __future__ import annotations

from dataclasses import dataclass

from qpsvm.numerics.arrays import Vector


@dataclass(frozen=True, eq=False)
class Point:
    """A point of a box program: ``x``, ``P x`` and the multipliers of the rows.

    ``drift`` is what rounding may have added to an entry of ``P x`` since that was evaluated.
    """

    x: Vector
    Px: Vector
    y: Vector
    drift: float = 0.0
