"""Evaluation of one chunk in a pass: losses, sums over decided samples, and open samples.

At a machine (the centre) and with a number h (the band), every condition with violation v is

- *decided* where ``v > h s`` or ``v < -h s``: its dual variable is its upper or its lower bound;
- *open* where ``|v| <= h s``: its sample is returned, and its dual variable is not fixed yet. Open
  conditions on equal samples are merged into one.

The number s is the square root of the sample's leverage (``qpsvm.chunked.machine``).

Conditions with a quadratic loss have no kink, and are all decided: ``a = v / d``, clipped.

For the primal objective a pass returns the sum of all losses at one or more machines; for the dual
one the sums ``X'(r a)``, ``sum |a|``, ``sum (p a - d/2 a^2)`` over decided conditions, apart for
``r > 0`` and ``r < 0``. Whatever the dual variables are, as long as they are within their bounds,
these sums give a lower bound on the optimum. A step of Newton's method needs the gradient and the
Hessian of the losses, with a kink rounded off over ``|v| <= smoothing s``.

Sums are compensated and their order is fixed: blocks of rows in the order of the chunk. The result
has the same bits wherever and whenever it is computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from qpsvm.chunked.contents import Contents
from qpsvm.chunked.machine import DualPoint, Leverage, Machine
from qpsvm.chunked.newton import Derivatives
from qpsvm.chunked.open_conditions import Open, distances, narrowed
from qpsvm.chunked.sums import Decided, Sum
from qpsvm.chunked.template import Template, Terms
from qpsvm.chunked.totals import digest_of
from qpsvm.data.targets import same_labels
from qpsvm.exceptions import InvalidDataError
from qpsvm.numerics.arguments import Labels
from qpsvm.numerics.arrays import Dense, Mask, Matrix, Vector
from qpsvm.numerics.precision import EPS
from qpsvm.numerics.rows import row_squares
from qpsvm.numerics.single_precision import rows_of


@dataclass(frozen=True, eq=False)
class Request:
    """Request of a pass: the machines to measure, and the sums that are wanted.

    Attributes
    ----------
    template : Template
    classes : array of shape (2,) or None
        The labels, (negative, positive).
    machines : tuple of Machine
        Where the losses are wanted; the first one is the centre.
    band : float or None
        h; None if no sums are wanted.
    most_open : tuple of int
        Open conditions that each chunk may return; the band is narrowed where there are more. Empty
        if no sums are wanted.
    leverage : Leverage
        Violations are compared with the square root of each sample's.
    smoothing : float or None
        Where a kink is rounded off, in the units of the band; None if no derivatives are wanted.
    majorised : bool
        The Hessian of quadratics above the losses is wanted as well.
    one_sided : bool
        Conditions with ``v`` above the band are open as well.
    digests : tuple of str
        Of every chunk, as the first pass found them.
    """

    template: Template
    classes: Labels | None
    machines: tuple[Machine, ...]
    band: float | None = None
    most_open: tuple[int, ...] = ()
    leverage: Leverage = field(default_factory=Leverage.equal)
    smoothing: float | None = None
    majorised: bool = False
    one_sided: bool = False
    digests: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class ChunkResult:
    """Result of a pass on one chunk.

    Attributes
    ----------
    losses : array of shape (m,)
        The sum of the losses at every machine asked for.
    loss_rounding : float
        Bound on the rounding of the first of them.
    decided : Decided
    band : float or None
        h as it was used here.
    open : Open or None
        Merged where samples are equal.
    derivatives : Derivatives or None
        Of the losses in (w, b, t).
    n_bytes : int
        Bytes of samples that were read.
    """

    losses: Vector
    loss_rounding: float
    decided: Decided
    band: float | None
    open: Open | None
    derivatives: Derivatives | None
    n_bytes: int


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
    def of(
        cls,
        contents: Contents,
        form: Template,
        classes: Labels | None,
        name: str,
        squares: Vector | None = None,
    ) -> RowConditions:
        """Build the conditions on a chunk.

        Parameters
        ----------
        contents : Contents
        form : Template
        classes : array of shape (2,) or None
            The labels, (negative, positive).
        name : str
            Of the chunk.
        squares : array of shape (n,), optional
            Squared norms in feature space, for a kernel other than the linear one.

        Raises
        ------
        InvalidDataError
            A label that the first pass did not see.
        """
        y, codes = contents.y, np.zeros(contents.n_rows, dtype=np.intp)
        if form.task == "binary":
            assert y is not None
            assert classes is not None
            codes = np.searchsorted(classes, y).clip(0, 1)
            unknown = np.flatnonzero(~same_labels(classes[codes], y))
            if unknown.size:
                raise InvalidDataError(
                    f"Chunk {name}: row {unknown[0]} has the label {y[unknown[0]]!r}, which was "
                    "not there when the problem was built; build it again."
                )
        if squares is None:
            squares = row_squares(contents.X)
        targets = None if y is None or form.task != "regression" else np.asarray(y)
        terms = form.terms(codes, targets, contents.weights, squares)
        return cls(contents, form, squares, terms)

    def violations(self, machine: Machine) -> Dense:
        """``v = p - r (X w + b) - e t`` of all conditions, shape (s, n)."""
        f = np.asarray(self.contents.X @ machine.coef) + machine.intercept
        return self.violations_at(f, machine.width)

    def violations_at(self, f: Vector, width: float) -> Dense:
        """Violations of all conditions by decision values f, shape (s, n)."""
        own = self.terms
        return np.asarray(own.required - own.signs * f - self.form.width_sign * width)

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
                own = terms.at((..., None))
                f = np.asarray(X @ w) + b
                violations = own.required - own.signs * f - self.form.width_sign * t
                total.add(own.losses(violations).sum(axis=(0, 1)))
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


def evaluate(contents: Contents, request: Request, name: str, number: int) -> ChunkResult:
    """Compute the losses, sums and open conditions that a pass asks of one chunk.

    Raises
    ------
    InvalidDataError
        A label that the first pass did not see; samples, labels or weights that have changed.
    """
    form, (centre, *others) = request.template, request.machines
    own = _conditions(contents, request, name)
    v = own.violations(centre)
    size = np.sqrt(own.squares) * float(np.linalg.norm(centre.coef)) + abs(centre.intercept)
    size = size + abs(centre.width) + np.abs(own.terms.required)
    rounding = loss_rounding(form, own.terms, v, (contents.n_features + 8) * EPS * size)
    total = own.losses(v, others)
    decided, band = Decided.empty(contents.n_features), request.band
    found = derivatives = None
    roots = request.leverage.roots(contents.X) if band is not None else np.ones(contents.n_rows)
    if band is not None:
        a = own.terms.slopes(v)
        if not form.is_curved:
            distance = distances(v, roots, one_sided=request.one_sided)
            band = narrowed(distance, band, request.most_open[number])
            is_open = distance <= band
            a[is_open] = 0.0
            found = own.open(is_open).merged()
        decided = own.sums(a)
    if request.smoothing is not None:
        derivatives = own.derivatives(v, request.smoothing * roots, majorised=request.majorised)
    require_unchanged(contents, request, name, number)  # the errors before say more
    return ChunkResult(total, rounding, decided, band, found, derivatives, contents.n_bytes)


def loss_rounding(form: Template, terms: Terms, v: Dense, error: Dense) -> float:
    """Bound on the rounding of the sum of losses, from errors of their violations."""
    steepest = np.maximum(np.abs(terms.lower), np.abs(terms.upper))
    if form.is_curved:
        steepest = (np.abs(v) + error) / terms.curvature
    matters = (terms.lower != 0.0) | (v > -error)
    block = (np.log2(v.size + 2.0) + 24.0) * EPS  # of the pairwise sum, and of parts one by one
    return float(np.sum(np.where(matters, steepest * (error + block * np.abs(v)), 0.0)))


def dual_of_chunk(
    contents: Contents, request: Request, point: DualPoint, name: str, number: int
) -> Decided:
    """Sum up the dual variables of one chunk, all within their bounds.

    Raises
    ------
    InvalidDataError
        The dual point is of other samples.
    """
    own = _conditions(contents, request, name)
    return own.sums(dual_variables(own, point, name, number))


def dual_variables(own: RowConditions, point: DualPoint, name: str, number: int) -> Dense:
    """The variables of a dual point for the conditions on a chunk, shape (s, n).

    Raises
    ------
    InvalidDataError
        It lists another number of open ones.
    """
    v = own.violations(point.centre)
    a, band, given = own.terms.slopes(v), -1.0, np.zeros(0)
    if point.bands:
        band, given = point.bands[number], point.open[number]
    roots = point.leverage.roots(own.contents.X) if band >= 0.0 else np.ones(v.shape[1])
    is_open = distances(v, roots, one_sided=point.one_sided) <= band
    if np.count_nonzero(is_open) != len(given):
        raise InvalidDataError(
            f"Chunk {name}: the solution lists {len(given)} open dual variables and the chunk has "
            "another number of them; the samples have changed, or the solution is of another "
            "problem."
        )
    box = own.terms.at(is_open)
    a[is_open] = np.clip(np.where(np.isnan(given), 0.0, given), box.lower, box.upper)
    return a


def _conditions(contents: Contents, request: Request, name: str) -> RowConditions:
    for machine in request.machines[:1]:
        if len(machine.coef) != contents.n_features:
            raise InvalidDataError(
                f"Chunk {name} has {contents.n_features} features and the machine "
                f"{len(machine.coef)}; the samples have changed."
            )
    return RowConditions.of(contents, request.template, request.classes, name)


def require_unchanged(contents: Contents, request: Request, name: str, number: int) -> None:
    """Refuse a chunk that is not, bit for bit, the one of the first pass.

    What the first pass found (prices, numbers of rows, scales of a gap) holds for its samples only.

    Raises
    ------
    InvalidDataError
        Other samples, labels, targets or weights.
    """
    if digest_of(contents) != request.digests[number]:
        raise InvalidDataError(
            f"Chunk {name}: its samples, labels or weights have changed since the problem was "
            "built; build it again. A Dask collection that is computed anew in every pass, to "
            "other last digits, has to be stored first (persist)."
        )
