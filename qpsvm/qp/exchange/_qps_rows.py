"""Rows of a QPS file, and the rows of G and A that their sides are.

========  ============  ===========================
row       range R       sides, with right-hand side r
========  ============  ===========================
``L``     any           ``r - |R| <= g'x <= r``
``G``     any           ``r <= g'x <= r + |R|``
``E``     not below 0   ``r <= g'x <= r + R``
``E``     below 0       ``r + R <= g'x <= r``
========  ============  ===========================

Source: the RANGES section of the MPS format, as CPLEX, MOSEK and HiGHS document it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import Matrix
from qpsvm.qp.exchange._qps_fields import Refusal, compact


class Row(NamedTuple):
    """A row of the file: its type, and its index among the rows after the objective."""

    kind: str
    number: int

    @property
    def is_objective(self) -> bool:
        """Whether it is the first row of type N."""
        return self.number < 0


class Side(NamedTuple):
    """A row of G or A: the row of the file, its sign, and the right-hand side."""

    part: str
    number: int
    sign: float
    right: float


def sides_of(name: str, row: Row, right: float, width: float | None) -> list[Side]:
    """The rows of G or A for a row of the file, the upper side first.

    Parameters
    ----------
    name : str
        Of the row, for messages.
    row : Row
    right : float
        Right-hand side.
    width : float or None
        The range.

    Raises
    ------
    Refusal
        A range so small beside the right-hand side, or so large, that float64 loses it.

    Examples
    --------
    >>> sides_of("r", Row("E", 3), 5.0, -2.0)
    [Side(part='G', number=3, sign=1.0, right=5.0), Side(part='G', number=3, sign=-1.0, right=-3.0)]
    """
    if row.is_objective:
        return []
    if row.kind == "N":
        return [Side("G", row.number, 1.0, math.inf)]
    if width is None and row.kind == "G":
        return [Side("G", row.number, -1.0, 0.0 - right)]
    if width is None or width == 0.0:
        is_equality = row.kind == "E" or width is not None
        return [Side("A" if is_equality else "G", row.number, 1.0, right)]
    is_upper = row.kind == "L" or (row.kind == "E" and width < 0.0)
    other = right - abs(width) if is_upper else right + abs(width)
    if math.isinf(other) or other == right:
        raise Refusal(f"row {name[:40]!r}: float64 loses its range {width!r} beside {right!r}.")
    low, high = min(right, other), max(right, other)
    return [Side("G", row.number, 1.0, high), Side("G", row.number, -1.0, 0.0 - low)]


def matrix_of(rows: Matrix, sides: list[Side]) -> Matrix:
    """G or A from the rows of the file, one row for each side."""
    chosen = sp.csr_array(rows)[[side.number for side in sides]]
    chosen.data = chosen.data * np.repeat([side.sign for side in sides], np.diff(chosen.indptr))
    return compact(sp.csc_array(chosen))
