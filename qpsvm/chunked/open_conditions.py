"""Conditions near a kink of their loss, whose dual variables a pass leaves open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from qpsvm.chunked.contents import Contents
from qpsvm.chunked.template import Template, Terms
from qpsvm.chunked.violations import Request, coded
from qpsvm.numerics.arrays import Index, Mask, Matrix, Vector
from qpsvm.numerics.duplicates import Merged
from qpsvm.numerics.rows import row_squares
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

    def divided(self, alpha: Vector) -> Vector:
        """Divide the dual variable of every merged condition among the equal conditions in it."""
        return alpha if self.groups is None else self.groups.undone(alpha)


def distances(v: Vector, roots: Vector, *, one_sided: bool) -> Vector:
    """The distance of every condition from the band's middle: ``|v| / s``, or ``max(0, -v) / s``.

    One-sided, every violated condition is open: only those that are met by more than the band are
    decided, at zero.

    Parameters
    ----------
    v : array of shape (sides m,)
        Violations, side after side.
    roots : array of shape (m,)
        The square root s of each sample's leverage.
    one_sided : bool
    """
    size = np.maximum(-v, 0.0) if one_sided else np.abs(v)
    return np.asarray((size.reshape(-1, max(1, len(roots))) / roots).ravel())


def between(low: float, high: float) -> float:
    """Return the middle of two numbers, or the lower one if no double lies between them."""
    middle = 0.5 * low + 0.5 * high
    return middle if low < middle < high else low


@dataclass
class Nearest:
    """The conditions nearest to their kink, at most so many."""

    most: int
    _distances: list[Vector] = field(default_factory=list)
    _places: list[tuple[slice, Index]] = field(default_factory=list)

    def add(self, distance: Vector, rows: slice, band: float) -> None:
        """Note the conditions of a block that are within the band."""
        near = np.flatnonzero(distance <= band)
        self._distances.append(distance[near])
        self._places.append((rows, near))

    def band(self, band: float) -> float:
        """Narrow the band until it holds no more conditions than there is room for.

        It ends between two conditions: their distances have other last bits on other processors.
        """
        distances = np.concatenate([np.zeros(0), *self._distances])
        if len(distances) <= self.most:
            return band
        # the nearest one that is too many, and all as far away as it, are decided
        limit = float(np.partition(distances, self.most)[self.most])
        if not limit > 0.0:
            return -1.0
        return between(float(np.max(distances[distances < limit], initial=0.0)), limit)

    def rows(self, band: float) -> list[tuple[slice, Index]]:
        """The open conditions of every block."""
        return [
            (rows, near[distance <= band])
            for (rows, near), distance in zip(self._places, self._distances, strict=True)
        ]


def open_conditions(
    contents: Contents,
    form: Template,
    codes: Index,
    targets: Vector | None,
    places: Sequence[tuple[slice, Index]],
) -> Open:
    """Take the open conditions out of a chunk, in the order of its rows."""
    rows, sides = list[Index](), list[Index]()
    for block, near in places:
        n = block.stop - block.start
        rows.append(block.start + near % n)
        sides.append(near // n)
    row = np.concatenate([np.zeros(0, dtype=np.intp), *rows])
    side = np.concatenate([np.zeros(0, dtype=np.intp), *sides])
    X = rows_of(contents.X, row)
    own = None if targets is None else targets[row]
    squares = row_squares(X) if len(row) else np.zeros(0)
    terms = form.terms(codes[row], own, contents.weights[row], squares)
    pick = side * len(row) + np.arange(len(row))
    return Open(X, taken(terms, pick))


def merged(found: Open) -> Open:
    """Merge open conditions on equal samples into one, with the sum of their bounds."""
    terms = found.terms
    same, bounds = [terms.signs, terms.required], (terms.lower, terms.upper)
    groups = Merged.of(found.X, None, same, bounds, terms.curvature)
    if groups is None:
        return found
    kept = groups.kept
    signs, required = terms.signs[kept], terms.required[kept]
    own = Terms(signs, required, groups.lower, groups.upper, groups.diag)
    return Open(rows_of(found.X, kept), own, groups)


def all_conditions(contents: Contents, request: Request, name: str) -> Open:
    """All conditions on the rows of a chunk."""
    form = request.template
    codes, targets = coded(contents, request, name)
    places = [
        (rows, np.arange(len(form.signs) * (rows.stop - rows.start)))
        for rows, _ in contents.blocks()
    ]
    return open_conditions(contents, form, codes, targets, places)


def taken(terms: Terms, which: Index | Mask) -> Terms:
    """Select some of the conditions."""
    return Terms(
        terms.signs[which],
        terms.required[which],
        terms.lower[which],
        terms.upper[which],
        terms.curvature[which],
    )
