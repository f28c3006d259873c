"""Conditions near a kink of their loss, whose dual variables a pass leaves open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from qpsvm.chunked.template import Terms
from qpsvm.numerics.arrays import Dense, Matrix, Vector, is_sparse
from qpsvm.numerics.duplicates import Merged
from qpsvm.numerics.single_precision import SinglePrecision, rows_of


@dataclass(frozen=True, eq=False)
class Open:
    """Conditions whose dual variables a pass does not fix, with their samples.

    Attributes
    ----------
    X : array, CSR array or SinglePrecision of shape (m, d)
    terms : Terms
        Of length m.
    groups : Merged or None
        The conditions that each of them stands for; None for itself.
    """

    X: Matrix | SinglePrecision
    terms: Terms
    groups: Merged | None = None

    def __len__(self) -> int:
        return len(self.terms.signs)

    @property
    def n_conditions(self) -> int:
        """Number of open conditions before equal ones were merged."""
        return len(self) if self.groups is None else len(self.groups.group)

    def merged(self) -> Open:
        """Merge open conditions on equal samples into one, with the sum of their bounds."""
        own = self.terms
        same, bounds = [own.signs, own.required], (own.lower, own.upper)
        groups = Merged.of(self.X, None, same, bounds, own.curvature)
        if groups is None:
            return self
        signs, required, *_ = own.at(groups.kept)
        terms = Terms(signs, required, groups.lower, groups.upper, groups.diag)
        return Open(rows_of(self.X, groups.kept), terms, groups)

    def divided(self, alpha: Vector) -> Vector:
        """Divide the dual variable of every merged condition among the equal conditions in it."""
        return alpha if self.groups is None else self.groups.undone(alpha)


def together(parts: Sequence[Open]) -> Open:
    """Put the open conditions of all chunks together, in their order."""
    used = [part for part in parts if len(part)] or list(parts[:1])
    columns = zip(*(part.terms for part in used), strict=True)
    return Open(stacked([part.X for part in used]), Terms(*map(np.concatenate, columns)))


def stacked(parts: Sequence[Matrix | SinglePrecision]) -> Matrix | SinglePrecision:
    """Put rows of samples below each other; sparse if any are, float32 if all are."""
    if any(is_sparse(X) for X in parts):
        return sp.csr_array(sp.vstack([X if is_sparse(X) else np.asarray(X) for X in parts]))
    single = [X.values for X in parts if isinstance(X, SinglePrecision)]
    if len(single) == len(parts):
        return SinglePrecision(np.concatenate(single))
    return np.concatenate([np.asarray(X) for X in parts])


def distances(v: Dense, roots: Vector, *, one_sided: bool) -> Dense:
    """The distance of every condition from the band's middle: ``|v| / s``, or ``max(0, -v) / s``.

    One-sided, every violated condition is open: only those that are met by more than the band are
    decided, at zero.

    Parameters
    ----------
    v : array of shape (sides, m)
        Violations.
    roots : array of shape (m,)
        The square root s of each sample's leverage.
    one_sided : bool
    """
    return np.asarray((np.maximum(-v, 0.0) if one_sided else np.abs(v)) / roots)


def narrowed(distance: Dense, band: float, most: int) -> float:
    """Narrow a band until it holds no more conditions than there is room for.

    It ends between two conditions: their distances have other last bits on other processors.
    """
    near = distance[distance <= band]
    if len(near) <= most:
        return band
    # the nearest one that is too many, and all as far away as it, are decided
    limit = float(np.partition(near, most)[most])
    if not limit > 0.0:
        return -1.0
    return between(float(np.max(near[near < limit], initial=0.0)), limit)


def between(low: float, high: float) -> float:
    """Return the middle of two numbers, or the lower one if no double lies between them."""
    middle = 0.5 * low + 0.5 * high
    return middle if low < middle < high else low
