"""The repair of an indefinite kernel matrix: its eigenvalues before, and what changed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from qpsvm.display import short_repr
from qpsvm.numerics.arrays import (
    Dense,
    Index,
    Vector,
    freeze,
    largest_magnitude,
    restore_frozen,
)

Indefinite: TypeAlias = Literal["error", "clip", "flip", "shift"]
"""What to do with a kernel matrix that has negative eigenvalues."""

FACTOR = {"clip": 1.0, "flip": 2.0, "shift": 0.0}
"""Multiple of ``|l|`` that each policy adds to a negative eigenvalue l of the kernel matrix."""


@short_repr
@dataclass(frozen=True, eq=False)
class KernelRepair:
    r"""The repair of an indefinite kernel matrix K of n samples.

    Attributes
    ----------
    policy : {"clip", "flip", "shift"}
    smallest_eigenvalue, norm : float
        Of K; :math:`\lVert K \rVert_F`.
    negative_values : array of shape (m,)
        The negative eigenvalues, ascending; empty for shift, which needs only the smallest.
    negative_vectors : array of shape (n, m)
        Their unit eigenvectors ``V_-``, as columns.
    shift : float
        s; zero for clip and flip.
    """

    policy: Indefinite
    smallest_eigenvalue: float
    norm: float
    negative_values: Vector
    negative_vectors: Dense
    shift: float = 0.0

    def __post_init__(self) -> None:
        freeze(self.negative_values)
        freeze(self.negative_vectors)

    def __setstate__(self, state: dict[str, object]) -> None:
        restore_frozen(self, state)

    @property
    def n_negative(self) -> int | None:
        """Number of negative eigenvalues; None for shift, which does not count them."""
        return None if self.policy == "shift" else len(self.negative_values)

    @property
    def frobenius_change(self) -> float:
        """Size of the change of the kernel matrix, ``|K' - K|_F`` (Frobenius norm)."""
        n = len(self.negative_vectors)
        return math.hypot(*(FACTOR[self.policy] * self.negative_values), self.shift * math.sqrt(n))

    @property
    def spectral_change(self) -> float:
        """Size of the change of the kernel matrix, ``|K' - K|_2`` (spectral norm)."""
        return max(self.shift, FACTOR[self.policy] * largest_magnitude(self.negative_values))

    @property
    def relative_change(self) -> float:
        """Size of the change of the kernel matrix, relative to its own, ``|K' - K|_F / |K|_F``."""
        return self.frobenius_change / self.norm

    def undone(self, repaired: Dense, columns: Index) -> Dense:
        """Compute columns of the indefinite kernel matrix from those of the repaired one."""
        V, own = self.negative_vectors, repaired.copy()
        own -= (V * (FACTOR[self.policy] * np.abs(self.negative_values))) @ V[columns].T
        own[columns, np.arange(len(columns))] -= self.shift
        return own

    def coefficients(self, expansion: Vector) -> Vector:
        r"""Compute the coefficients for predictions of a new sample x, ``sum_j c_j k(x, x_j)``.

        :math:`c = T \beta`: new samples do not see the repair.

        Parameters
        ----------
        expansion : array of shape (n,)
            beta, the coefficients that belong to K'.
        """
        V = self.negative_vectors
        return expansion - FACTOR[self.policy] * (V @ (V.T @ expansion))

    def __str__(self) -> str:
        smallest = f"{self.smallest_eigenvalue:.6g}"
        if self.policy == "shift":
            done = f"{self.shift:.6g} added to the diagonal for a smallest eigenvalue of {smallest}"
        else:
            verb = "set to zero" if self.policy == "clip" else "made positive"
            plural = "" if self.n_negative == 1 else "s"
            done = f"{self.n_negative} negative eigenvalue{plural} down to {smallest} {verb}"
        return f"{self.policy}: {done}; |K' - K| is {self.relative_change:.3g} |K| (Frobenius)"
