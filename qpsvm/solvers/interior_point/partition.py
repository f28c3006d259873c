"""Bookkeeping of variables that are fixed while a program is solved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.numerics.arrays import Index, Vector


@dataclass(frozen=True, eq=False)
class Partition:
    """The variables of a program: those fixed, with their values, and the active ones.

    Attributes
    ----------
    values : array of shape (n,)
        Values of the fixed variables.
    active : array of int
        The variables that are not fixed, ascending.
    """

    values: Vector
    active: Index

    @classmethod
    def all_active(cls, n: int) -> Partition:
        """All variables active."""
        return cls(np.zeros(n), np.arange(n))

    def narrowed(self, kept: Index, values: Vector) -> Partition:
        """Fix the active variables at values, except some that are kept."""
        every = self.values.copy()
        every[self.active] = values
        return Partition(every, self.active[kept])

    def extended(self, x: Vector) -> Vector:
        """The values of all variables, from those of the active ones."""
        every = self.values.copy()
        every[self.active] = x
        return every
