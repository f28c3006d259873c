"""Evaluation of one chunk in a pass: losses, sums over fixed samples, and undecided samples.

At a machine (the centre) and with a number h (the band), every condition with violation v is

- *fixed* where ``v > h s`` or ``v < -h s``: its dual variable is its upper or its lower bound;
- *undecided* where ``|v| <= h s``: its sample is returned, and its dual variable is not fixed yet.

The number s is the square root of the sample's leverage (``qpsvm.chunked.machine``).

Conditions with a quadratic loss have no kink, and are all fixed: ``a = v / d``, clipped.

For the primal objective a pass returns the sum of all losses at one or more machines; for the dual
one the sums ``X'(r a)``, ``sum |a|``, ``sum (p a - d/2 a^2)`` over fixed conditions, apart for
``r > 0`` and ``r < 0``. Whatever the dual variables are, as long as they are within their bounds,
these sums give a lower bound on the optimum. A step of Newton's method needs the gradient and the
Hessian of the losses, with a kink rounded off over ``|v| <= smoothing s``.

Sums are compensated and their order is fixed: blocks of rows in the order of the chunk. The result
has the same bits wherever and whenever it is computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from qpsvm.chunked.certificate import FixedSums
from qpsvm.chunked.contents import Contents, stacked
from qpsvm.chunked.machine import ChunkedDual, Leverage, Machine
from qpsvm.chunked.template import Template, Terms
from qpsvm.data.targets import same_labels
from qpsvm.exceptions import InvalidDataError
from qpsvm.numerics.arrays import Dense, Index, Matrix, Vector
from qpsvm.numerics.compensated import Total
from qpsvm.numerics.precision import EPS
from qpsvm.numerics.rows import row_squares
from qpsvm.numerics.single_precision import SinglePrecision, rows_of

# --- conditions on the rows of a chunk -----------------------------------------------------------


class Derivatives(NamedTuple):
    """Gradients and the Hessian of losses in (w, b, t), summed over conditions.

    Parameters
    ----------
    gradients : Total of shape (2, d + 2)
        Of losses whose kinks are rounded off, and of the losses themselves.
    hessian : Total of shape (d + 2, d + 2)
        Of the former.
    """

    gradients: Total
    hessian: Total


def _hessian(X: Matrix, signs: Dense, second: Dense, form: Template) -> Dense:
    """``sum_k second_k g_k g_k'`` with the derivative ``g_k = (r x, r, e)`` of minus v_k."""
    d, e = X.shape[1], form.width_sign
    over_f, mixed = second.sum(axis=0), e * (signs * second).sum(axis=0)
    used = np.flatnonzero(over_f)
    Z = X[used]
    D = over_f[used]
    block = np.zeros((d + 2, d + 2))
    product = Z.T @ (sp.diags_array(D) @ Z if sp.issparse(Z) else Z * D[:, None])
    block[:d, :d] = product.toarray() if sp.issparse(product) else product
    block[:d, d] = block[d, :d] = np.asarray(Z.T @ D)
    block[:d, -1] = block[-1, :d] = np.asarray(Z.T @ mixed[used])
    block[d, d] = np.sum(D)
    block[d, -1] = block[-1, d] = np.sum(mixed)
    block[-1, -1] = e * e * np.sum(second)
    return block


class Undecided(NamedTuple):
    """Conditions whose dual variables a pass does not fix, with their samples.

    Parameters
    ----------
    X : array, CSR array or SinglePrecision of shape (m, d)
    terms : Terms
        Of length m.
    """

    X: Matrix | SinglePrecision
    terms: Terms

    @property
    def size(self) -> int:
        """Number of conditions."""
        return len(self.terms.signs)


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

    def sums(self, a: Dense) -> FixedSums:
        """Sum up conditions with given dual variables."""
        found = FixedSums.empty(self.contents.n_features)
        for rows, X, terms in self.blocks():
            found.add(X, terms, a[:, rows], self.squares[rows])
        return found

    def losses(self, v: Dense, others: Sequence[Machine]) -> Vector:
        """Sum up the losses of given violations, and those of other machines."""
        total, points = Total((len(others),)), [machine.vector for machine in others]
        if others:
            w, b, t = np.split(np.stack(points, axis=1), [-2, -1])
            for _, X, terms in self.blocks():
                own, f = terms.at((..., None)), np.asarray(X @ w) + b
                total.add_terms(own.losses(self.form.violations(own, f, t)).sum(axis=(0, 1)))
        return np.append(np.sum(self.terms.losses(v).ravel()), total.value)

    def derivatives(self, v: Dense, smoothing: Vector) -> Derivatives:
        """Sum up gradients and Hessians of the losses, with kinks rounded off.

        Parameters
        ----------
        v : array of shape (s, n)
            Violations of all conditions.
        smoothing : array of shape (n,)
            A kink is rounded off over ``|v| <= smoothing``; quadratic losses have none.
        """
        form, size = self.form, self.contents.n_features + 2
        gradients, hessian = Total((2, size)), Total((size, size))
        for rows, X, terms in self.blocks():
            exact = terms.slopes(v[:, rows])
            slope, second = self._rounded(terms, v[:, rows], exact, smoothing[rows])
            both = np.stack([slope, exact])
            by_row = (terms.signs * both).sum(axis=1)
            over_w = np.asarray(X.T @ by_row.T).T
            over_b, over_t = by_row.sum(axis=1), form.width_sign * both.sum(axis=(1, 2))
            gradients.add_terms(-np.column_stack([over_w, over_b, over_t]))
            hessian.add_terms(_hessian(X, terms.signs, second, form))
        return Derivatives(gradients, hessian)

    def _rounded(
        self, terms: Terms, v: Dense, exact: Dense, smoothing: Vector
    ) -> tuple[Dense, Dense]:
        """Slopes and curvatures of losses with rounded kinks."""
        if self.form.is_curved:
            curves = (exact > terms.lower) & (exact < terms.upper)
            return exact, np.where(curves, 1.0 / terms.curvature, 0.0)
        heights, near = terms.upper - terms.lower, np.abs(v) < smoothing
        share = np.clip(0.5 + v / (2.0 * smoothing), 0.0, 1.0)
        return terms.lower + share * heights, np.where(near, heights / (2.0 * smoothing), 0.0)

    def undecided(self, numbers: Index) -> Undecided:
        """Select conditions of a chunk by number, together with the samples that they are about."""
        sides, rows = np.divmod(numbers, self.contents.n_rows)
        return Undecided(rows_of(self.contents.X, rows), self.terms.at((sides, rows)))


def join_undecided(parts: Sequence[Undecided]) -> Undecided:
    """Concatenate the undecided conditions of all chunks, in the order of the chunks."""
    used = [part for part in parts if part.size] or list(parts[:1])
    columns = zip(*(part.terms for part in used), strict=True)
    return Undecided(stacked([part.X for part in used]), Terms(*map(np.concatenate, columns)))


def distances(v: Dense, roots: Vector, *, one_sided: bool) -> Dense:
    """The distance of every condition from the band's middle: ``|v| / s``, or ``max(0, -v) / s``.

    One-sided, every violated condition is undecided: only those that are met by more than the band
    are fixed, at zero.

    Parameters
    ----------
    v : array of shape (sides, m)
        Violations.
    roots : array of shape (m,)
        The square root s of each sample's leverage.
    one_sided : bool
    """
    return np.asarray((np.maximum(-v, 0.0) if one_sided else np.abs(v)) / roots)


def within_band(distance: Dense, band: float, most: int) -> Index:
    """Numbers of the conditions within a band; of the nearest ones if there is no room for all."""
    distance = distance.ravel()
    near = np.flatnonzero(distance <= band)
    if len(near) > most:
        near = np.sort(near[np.argsort(distance[near], kind="stable")[:most]])
    return near


# --- what a pass computes ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Request:
    """Request of a pass: the machines to measure, and the sums that are wanted.

    Attributes
    ----------
    template : Template
    machines : tuple of Machine
        Where the losses are wanted; the first one is the centre.
    point : ChunkedDual or None
        The dual point to be summed up.
    band : float
        Conditions whose distance from the middle of the band is at most this are undecided.
    one_sided : bool
        Conditions with a violation above the band are undecided as well.
    leverage : Leverage
        The band is in units of the square root of each sample's.
    most_undecided : tuple of int
        Undecided conditions that each chunk may return; the nearest ones where there are more.
        Empty if the sums are those of ``point``, or none are wanted.
    smoothing : float or None
        Where a kink is rounded off, in the units of the band; None if no derivatives are wanted.
    """

    template: Template
    machines: tuple[Machine, ...]
    point: ChunkedDual | None = None
    band: float = 0.0
    one_sided: bool = False
    leverage: Leverage = field(default_factory=Leverage.equal)
    most_undecided: tuple[int, ...] = ()
    smoothing: float | None = None


class ChunkResult(NamedTuple):
    """Result of a pass on one chunk.

    Parameters
    ----------
    losses : array of shape (m,)
        Sums of the losses at every machine asked for.
    loss_rounding : float
        Bound on the rounding of the first of them.
    fixed : FixedSums
    numbers : array of int
        Of the undecided conditions.
    undecided : Undecided
    derivatives : Derivatives or None
        Of the losses in (w, b, t).
    """

    losses: Vector
    loss_rounding: float
    fixed: FixedSums
    numbers: Index
    undecided: Undecided
    derivatives: Derivatives | None


@np.errstate(all="ignore")  # what is not finite fails closed
def evaluate(contents: Contents, request: Request, number: int) -> ChunkResult:
    """Compute the losses, sums and undecided conditions that a pass asks of one chunk.

    Raises
    ------
    InvalidDataError
        A label that the first pass did not see; another number of features; a dual point of other
        samples.
    """
    form, (centre, *others) = request.template, request.machines
    if len(centre.coef) != contents.n_features:
        raise InvalidDataError(
            f"it has {contents.n_features} features and the machine {len(centre.coef)}; the "
            "samples have changed."
        )
    own = RowConditions.of(contents, form)
    v = own.violations(centre)
    size = np.sqrt(own.squares) * float(np.linalg.norm(centre.coef)) + abs(centre.intercept)
    size = size + abs(centre.width) + np.abs(own.terms.required)
    rounding = loss_rounding(form, own.terms, v, (contents.n_features + 8) * EPS * size)
    total = own.losses(v, others)
    fixed, numbers = FixedSums.empty(contents.n_features), np.zeros(0, dtype=np.intp)
    roots, derivatives = np.ones(contents.n_rows), None
    if request.point is not None:
        fixed = own.sums(dual_variables(own, request.point, number))
    elif request.most_undecided:
        a, roots = own.terms.slopes(v), request.leverage.roots(contents.X)
        if not form.is_curved:
            distance = distances(v, roots, one_sided=request.one_sided)
            numbers = within_band(distance, request.band, request.most_undecided[number])
            np.put(a, numbers, 0.0)
        fixed = own.sums(a)
    if request.smoothing is not None:
        derivatives = own.derivatives(v, request.smoothing * roots)
    found = own.undecided(numbers)
    return ChunkResult(total, rounding, fixed, numbers, found, derivatives)


def loss_rounding(form: Template, terms: Terms, v: Dense, error: Dense) -> float:
    """Bound on the rounding of the sum of losses, from errors of their violations."""
    steepest = np.maximum(np.abs(terms.lower), np.abs(terms.upper))
    if form.is_curved:
        steepest = (np.abs(v) + error) / terms.curvature
    matters = (terms.lower != 0.0) | (v > -error)
    block = (np.log2(v.size + 2.0) + 24.0) * EPS  # of the pairwise sum, and of parts one by one
    return float(np.sum(np.where(matters, steepest * (error + block * np.abs(v)), 0.0)))


def dual_variables(own: RowConditions, point: ChunkedDual, number: int) -> Dense:
    """The variables of a dual point on a chunk, all within their bounds, shape (s, n).

    Raises
    ------
    InvalidDataError
        It lists a condition that is not there: it is of other samples.
    """
    v = own.violations(point.centre)
    a = own.terms.slopes(v)
    if point.numbers:
        numbers, given = point.numbers[number], point.open[number]
        if ((numbers < 0) | (numbers >= a.size)).any():
            raise InvalidDataError(
                f"the solution lists dual variables of conditions that are not among its {a.size}; "
                "the samples have changed, or the solution is of another problem."
            )
        lower, upper = (bound.ravel()[numbers] for bound in (own.terms.lower, own.terms.upper))
        np.put(a, numbers, np.clip(np.where(np.isnan(given), 0.0, given), lower, upper))
        a[np.isnan(v)] = np.nan  # a centre that is no machine fails closed
    return a
