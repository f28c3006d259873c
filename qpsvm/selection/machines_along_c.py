"""Machines of one kernel matrix for ascending C, each from the one before.

``solvers.active_set.scaled_boxes`` finds them. Nothing is taken for granted:
``selection.machine_bounds`` computes the gap of every machine afterwards.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from qpsvm.display import short_repr
from qpsvm.numerics.arrays import Dense, Vector
from qpsvm.selection.staircase import Staircase
from qpsvm.solvers.active_set.related import RelatedPrograms
from qpsvm.solvers.active_set.scaled_boxes import ScaledBoxes


@short_repr
@dataclass(frozen=True, eq=False)
class MachinesAlongC:
    """Coefficients of machines, one column for each C.

    Attributes
    ----------
    beta : array of shape (n, m)
        Within the boxes, up to rounding.
    seconds : array of shape (m,)
        Spent on each machine.
    """

    beta: Dense
    seconds: Vector


def machines_along_c(K: Dense, unit: Staircase, C: Vector, eps: float) -> MachinesAlongC:
    """Train machines for ascending C.

    Parameters
    ----------
    K : array of shape (n, n)
    unit : Staircase
        Of C = 1: its boxes are multiplied by C.
    C : array of shape (m,)
        Ascending.
    eps : float
        Relative duality gap at which to stop.
    """
    sides = _Sides.of(unit)
    programs = RelatedPrograms(K, None if sides.is_single else sides.rows)
    boxes = ScaledBoxes(programs, sides.q, sides.lower, sides.upper)
    beta, seconds = np.zeros((len(K), len(C))), np.zeros(len(C))
    began = time.perf_counter()
    for k, x in enumerate(boxes.solutions(C.tolist(), eps)):
        beta[:, k] = np.bincount(sides.rows, x, minlength=len(K))
        seconds[k] = time.perf_counter() - began
        began = time.perf_counter()
    return MachinesAlongC(beta, seconds)


@dataclass(frozen=True, eq=False)
class _Sides:
    """Variables of the dual for C = 1: one for each side of a sample that has a price."""

    rows: np.ndarray
    q: Vector
    lower: Vector
    upper: Vector

    @classmethod
    def of(cls, unit: Staircase) -> _Sides:
        above, below = np.flatnonzero(unit.upper > 0.0), np.flatnonzero(unit.lowest < 0.0)
        rows = np.concatenate([above, below])
        q = -np.concatenate([unit.a[above], unit.c[below]])
        lower = np.concatenate([np.zeros(len(above)), unit.lowest[below]])
        upper = np.concatenate([unit.upper[above], np.zeros(len(below))])
        order = np.argsort(rows, kind="stable")
        return cls(rows[order], q[order], lower[order], upper[order])

    @property
    def is_single(self) -> bool:
        """Return whether every sample has exactly one side."""
        return bool((np.diff(self.rows) == 1).all())
