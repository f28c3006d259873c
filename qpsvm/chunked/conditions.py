"""The conditions on the rows of a chunk, and those of them that a pass leaves open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from qpsvm.chunked.contents import Contents, stacked
from qpsvm.chunked.machine import Machine
from qpsvm.chunked.newton import Derivatives
from qpsvm.chunked.sums import Decided, Sum
from qpsvm.chunked.template import Template, Terms
from qpsvm.data.targets import same_labels
from qpsvm.exceptions import InvalidDataError
from qpsvm.numerics.arrays import Dense, Mask, Matrix, Vector
from qpsvm.numerics.duplicates import Merged
from qpsvm.numerics.rows import row_squares
from qpsvm.numerics.single_precision import SinglePrecision, rows_of


@dataclass(frozen=True, eq=False)
class RowConditions:
    """The conditions on the rows of a chunk.

    Attributes
    ----------
    contents : Contents
    form : Template
    squares : array of shape (n,)
        Squared norms of the rows.
    terms : Terms
        Of shape (s, n), a row for every side.
    """

    contents: Contents
    form: Template
    squares: Vector
    terms: Terms

    @classmethod
    def of(cls, contents: Contents, form: Template, squares: Vector | None = None) -> RowConditions:
        """Build the conditions on a chunk.

        Parameters
        ----------
        contents : Contents
        form : Template
        squares : array of shape (n,), optional
            Squared norms in feature space, for a kernel other than the linear one.

        Raises
        ------
        InvalidDataError
            A label that the first pass did not see.
        """
        y, codes = contents.y, np.zeros(contents.n_rows, dtype=np.intp)
        if form.classes is not None and y is not None:
            codes = np.searchsorted(form.classes, y).clip(0, 1)
            unknown = np.flatnonzero(~same_labels(form.classes[codes], y))
            if unknown.size:
                raise InvalidDataError(
                    f"row {unknown[0]} has the label {y[unknown[0]]!r}, which was not there when "
                    "the problem was built; build it again."
                )
        if squares is None:
            squares = row_squares(contents.X)
        targets = None if y is None or form.task != "regression" else np.asarray(y)
        terms = form.terms(codes, targets, contents.weights, squares)
        return cls(contents, form, squares, terms)

    def violations(self, machine: Machine) -> Dense:
        """``v = p - r (X w + b) - e t`` of all conditions, shape (s, n)."""
        f = np.asarray(self.contents.X @ machine.coef) + machine.intercept
        return self.form.violations(self.terms, f, machine.width)

    def blocks(self) -> Iterator[tuple[slice, Matrix, Terms]]:
        """Blocks of rows in double precision, with the conditions on them."""
        for rows, X in self.contents.blocks():
            yield rows, X, self.terms.at((slice(None), rows))

    def sums(self, a: Dense) -> Decided:
        """Sum up conditions with given dual variables."""
        found = Decided.empty(self.contents.n_features)
        for rows, X, terms in self.blocks():
            found.add(X, terms, a[:, rows], self.squares[rows])
        return found

    def losses(self, v: Dense, others: Sequence[Machine]) -> Vector:
        """Sum up the losses of given violations, and those of other machines."""
        total, points = Sum((len(others),)), [machine.vector for machine in others]
        if others:
            w, b, t = np.split(np.stack(points, axis=1), [-2, -1])
            for _, X, terms in self.blocks():
                own, f = terms.at((..., None)), np.asarray(X @ w) + b
                total.add(own.losses(self.form.violations(own, f, t)).sum(axis=(0, 1)))
        return np.append(np.sum(self.terms.losses(v).ravel()), total.value)

    def derivatives(self, v: Dense, smoothing: Vector, *, majorised: bool) -> Derivatives:
        """Sum up gradients and Hessians of the losses, with kinks rounded off."""
        found = Derivatives.empty(self.contents.n_features, majorised=majorised)
        for rows, X, terms in self.blocks():
            found.add(X, terms, v[:, rows], self.form, smoothing[rows])
        return found

    def open(self, which: Mask) -> Open:
        """Take conditions out of a chunk with their samples, side after side."""
        _, rows = np.nonzero(which)
        return Open(rows_of(self.contents.X, rows), self.terms.at(which))


# --- open conditions -----------------------------------------------------------------------------


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
