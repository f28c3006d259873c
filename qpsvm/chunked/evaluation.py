"""What one pass computes on one chunk: losses, sums over decided samples, and open samples.

At a machine (the centre) and with a number h (the band), every condition with violation v is

- *decided* where ``v > h`` or ``v < -h``: its dual variable is its upper or its lower bound;
- *open* where ``|v| <= h``: its sample is returned, and its dual variable is not fixed yet.

Conditions with a quadratic loss have no kink, and are all decided: ``a = v / d``, clipped.

For the primal objective a pass returns the sum of all losses at one or more machines; for the dual
one the sums ``X'(r a)``, ``sum |a|``, ``sum (p a - d/2 a^2)`` over decided conditions, apart for
``r > 0`` and ``r < 0``. Whatever the dual variables are, as long as they are within their bounds,
these sums give a lower bound on the optimum. A step of Newton's method needs the gradient and the
Hessian of the losses, with a kink rounded off over ``|v| <= smoothing``.

Sums are compensated and their order is fixed: blocks of rows in the order of the chunk. The result
has the same bits wherever and whenever it is computed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import numpy as np
import scipy.sparse as sp

from qpsvm.chunked.contents import Contents
from qpsvm.chunked.template import Template, Terms
from qpsvm.exceptions import InvalidDataError, InvalidParameterError
from qpsvm.machines.losses import losses, slopes
from qpsvm.machines.prediction import as_float64
from qpsvm.numerics.arguments import Labels
from qpsvm.numerics.arrays import Dense, Index, Mask, Matrix, Vector, is_sparse
from qpsvm.numerics.precision import EPS
from qpsvm.numerics.rows import row_squares
from qpsvm.numerics.single_precision import SinglePrecision, rows_of


@dataclass(frozen=True, eq=False)
class Machine:
    """A linear machine ``f(x) = w'x + b`` with the half-width t.

    Attributes
    ----------
    coef : array of shape (d,)
    intercept, width : float
    """

    coef: Vector
    intercept: float
    width: float

    @property
    def vector(self) -> Vector:
        """(w, b, t)."""
        return np.concatenate([self.coef, [self.intercept, self.width]])

    @classmethod
    def of(cls, vector: Vector) -> Machine:
        """The machine of (w, b, t); a negative width becomes zero."""
        return cls(vector[:-2].copy(), float(vector[-2]), max(0.0, float(vector[-1])))


def stored_machine(machine: object) -> Machine:
    """The numbers of a machine as float64, NaN where there is none; a negative width is none.

    Raises
    ------
    InvalidParameterError
        Not a machine.
    """
    if type(machine) is not Machine:
        raise InvalidParameterError(f"A machine is expected, got {type(machine).__name__}.")
    coef = as_float64(machine.coef, "coef")
    width = float(np.float64(machine.width))
    return Machine(
        np.zeros(0) if coef is None else coef.copy(),
        float(np.float64(machine.intercept)),
        width if width >= 0.0 else np.nan,
    )


@dataclass(frozen=True, eq=False)
class Request:
    """What a pass is to compute on every chunk.

    Attributes
    ----------
    template : Template
    classes : array of shape (2,) or None
        The labels, (negative, positive).
    machines : tuple of Machine
        Where the losses are wanted; the first one is the centre.
    band : float or None
        h; None if no sums are wanted.
    most_open : int
        Open conditions that a chunk may return; the band is narrowed where there are more.
    smoothing : float or None
        Where a kink is rounded off; None if neither gradient nor Hessian is wanted.
    """

    template: Template
    classes: Labels | None
    machines: tuple[Machine, ...]
    band: float | None = None
    most_open: int = 0
    smoothing: float | None = None


@dataclass(frozen=True, eq=False)
class Open:
    """Open conditions with their samples.

    Attributes
    ----------
    X : array, CSR array or SinglePrecision of shape (m, d)
    terms : Terms
        Of length m.
    """

    X: Matrix | SinglePrecision
    terms: Terms

    def __len__(self) -> int:
        return len(self.terms.signs)


class Sum:
    """A compensated sum of arrays of one shape; the rounding of every addition is kept beside it.

    Source: Knuth, *The Art of Computer Programming* 2, section 4.2.2, theorem B.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.high, self.low = np.zeros(shape), np.zeros(shape)

    def add(self, value: Vector | Dense | float) -> None:
        """Add an array."""
        before = self.high
        after = before + value
        added = after - before
        self.low = self.low + ((before - (after - added)) + (value - added))
        self.high = after

    def add_sum(self, other: Sum) -> None:
        """Add another sum, and what its roundings left."""
        self.add(other.high)
        self.low = self.low + other.low

    @property
    def value(self) -> Dense:
        """The sum."""
        return np.asarray(self.high + self.low)


@dataclass(frozen=True, eq=False)
class Decided:
    """Sums over decided conditions; index 0 for ``r < 0``, 1 for ``r > 0``.

    Attributes
    ----------
    weights : Sum of shape (2, d)
        ``sum r a x``.
    signed, total, linear, quadratic : Sums of shape (2,)
        ``sum r a``, ``sum a``, ``sum p a`` and ``sum d a^2``.
    size : Sum of shape (1,)
        ``sum |a| (|x| + 1)``, which bounds the rounding of the others.
    """

    weights: Sum
    signed: Sum
    total: Sum
    linear: Sum
    quadratic: Sum
    size: Sum

    @classmethod
    def empty(cls, d: int) -> Decided:
        """Sums over nothing."""
        return cls(Sum((2, d)), Sum((2,)), Sum((2,)), Sum((2,)), Sum((2,)), Sum((1,)))

    def add_sums(self, other: Decided) -> None:
        """Add the sums of another chunk."""
        for own in fields(self):
            getattr(self, own.name).add_sum(getattr(other, own.name))

    def add(self, X: Matrix, terms: Terms, a: Vector, squares: Vector) -> None:
        """Add conditions on the rows of X (repeated for each side) with dual variables a."""
        ra = terms.signs * a
        n, sides = X.shape[0], len(a) // max(1, X.shape[0])
        linear, quadratic = a * terms.required, terms.curvature * a * a
        groups = np.stack([terms.signs < 0.0, terms.signs > 0.0])
        by_row = np.where(groups, ra, 0.0).reshape(2, sides, n).sum(axis=1)
        self.weights.add(np.asarray((X.T @ by_row.T).T))
        self.signed.add(by_row.sum(axis=1))
        self.total.add(np.where(groups, a, 0.0).sum(axis=1))
        self.linear.add(np.where(groups, linear, 0.0).sum(axis=1))
        self.quadratic.add(np.where(groups, quadratic, 0.0).sum(axis=1))
        lengths = np.sqrt(squares) + 1.0
        required = np.abs(terms.required) + 1.0
        size = np.abs(a) @ (np.tile(lengths, sides) + required)
        self.size.add(np.array([size]))


@dataclass(frozen=True, eq=False)
class ChunkResult:
    """What a pass returns of one chunk.

    Attributes
    ----------
    losses : Sum of shape (m,)
        The sum of the losses at every machine asked for.
    loss_rounding : float
        Bound on the rounding of the first of them.
    decided : Decided
    band : float
        h as it was used here.
    open : Open or None
    gradient : Sum of shape (d + 2,)
        Of the losses in (w, b, t).
    hessian : Sum of shape (d + 2, d + 2)
    n_bytes : int
        Bytes of samples that were read.
    """

    losses: Sum
    loss_rounding: float
    decided: Decided
    band: float
    open: Open | None
    gradient: Sum | None
    hessian: Sum | None
    n_bytes: int


def evaluate(contents: Contents, request: Request, name: str) -> ChunkResult:
    """Compute what a pass asks of one chunk.

    Raises
    ------
    InvalidDataError
        A label that the first pass did not see.
    """
    form, d = request.template, contents.n_features
    codes, targets = coded(contents, request, name)
    points = np.stack([machine.vector for machine in request.machines], axis=1)
    total, rounding = Sum((points.shape[1],)), 0.0
    wants_sums = request.band is not None
    centre = [
        _violations(contents, form, codes, targets, rows, X, points[:, 0])
        for rows, X in contents.blocks()
    ]
    band, near = math.inf if request.band is None else request.band, None
    if wants_sums and not form.is_curved:
        near = Nearest(request.most_open)
        for (rows, _), v in zip(contents.blocks(), centre, strict=True):
            near.add(v, rows, band)
        band = near.band(band)
    decided = Decided.empty(d)
    gradient = hessian = None
    if request.smoothing is not None:
        gradient, hessian = Sum((d + 2,)), Sum((d + 2, d + 2))
    for (rows, X), v in zip(contents.blocks(), centre, strict=True):
        squares = row_squares(X)
        terms = _terms(contents, form, codes, targets, rows, squares)
        others = [
            violations_of(X, terms, form, point) for point in points.T[1:]
        ]
        total.add(np.array([_loss(own, terms) for own in (v, *others)]))
        rounding += _loss_rounding(form, terms, v, squares, request.machines[0], d)
        if wants_sums:
            a = slopes(v, terms.lower, terms.upper, terms.curvature)
            if near is not None:
                a = np.where(np.abs(v) <= band, 0.0, a)
            decided.add(X, terms, a, squares)
        if gradient is not None and hessian is not None:
            _add_derivatives(gradient, hessian, X, terms, v, form, request.smoothing)
    found = None
    if near is not None:
        found = open_conditions(contents, form, codes, targets, near.rows(band))
    return ChunkResult(
        total, rounding, decided, band, found, gradient, hessian, contents.n_bytes
    )


def coded(contents: Contents, request: Request, name: str) -> tuple[Index, Vector | None]:
    """The class of every row, and its target if it has one."""
    form = request.template
    if form.task == "regression":
        assert contents.y is not None
        return np.zeros(contents.n_rows, dtype=np.intp), np.asarray(contents.y)
    if form.task == "unlabelled":
        return np.zeros(contents.n_rows, dtype=np.intp), None
    assert contents.y is not None and request.classes is not None
    codes = np.searchsorted(request.classes, contents.y).clip(0, 1)
    unknown = np.flatnonzero(request.classes[codes] != contents.y)
    if unknown.size:
        raise InvalidDataError(
            f"Chunk {name}: row {unknown[0]} has the label {contents.y[unknown[0]]!r}, which was "
            "not there when the problem was built; build it again."
        )
    return np.asarray(codes, dtype=np.intp), None


def _terms(
    contents: Contents,
    form: Template,
    codes: Index,
    targets: Vector | None,
    rows: slice,
    squares: Vector,
) -> Terms:
    """Conditions on a block of rows."""
    own = None if targets is None else targets[rows]
    return form.terms(codes[rows], own, contents.weights[rows], squares)


def _violations(
    contents: Contents,
    form: Template,
    codes: Index,
    targets: Vector | None,
    rows: slice,
    X: Matrix,
    point: Vector,
) -> Vector:
    squares = row_squares(X) if form.ball else np.zeros(X.shape[0])
    terms = _terms(contents, form, codes, targets, rows, squares)
    return violations_of(X, terms, form, point)


def violations_of(X: Matrix, terms: Terms, form: Template, point: Vector) -> Vector:
    """``v = p - r (X w + b) - e t`` of the conditions on the rows of X, side after side."""
    f = np.tile(np.asarray(X @ point[:-2]) + point[-2], len(form.signs))
    return np.asarray(terms.required - terms.signs * f - form.width_sign * point[-1])


def _loss(v: Vector, terms: Terms) -> float:
    return float(np.sum(losses(v, terms.lower, terms.upper, terms.curvature)))


def _loss_rounding(
    form: Template, terms: Terms, v: Vector, squares: Vector, machine: Machine, d: int
) -> float:
    """Bound on the rounding of the sum of the losses of a block."""
    w = float(np.linalg.norm(machine.coef))
    size = np.tile(np.sqrt(squares), len(form.signs)) * w + abs(machine.intercept)
    size = size + abs(machine.width) + np.abs(terms.required)
    error = (d + 8) * EPS * size
    steepest = np.maximum(np.abs(terms.lower), np.abs(terms.upper))
    if form.is_curved:
        steepest = (np.abs(v) + error) / terms.curvature
    one_sided = terms.lower == 0.0
    matters = ~one_sided | (v > -error)
    block = (np.log2(len(v) + 2.0) + 4.0) * EPS  # of the pairwise sum
    return float(np.sum(np.where(matters, steepest * (error + block * np.abs(v)), 0.0)))


def _add_derivatives(
    gradient: Sum,
    hessian: Sum,
    X: Matrix,
    terms: Terms,
    v: Vector,
    form: Template,
    smoothing: float | None,
) -> None:
    """Add gradient and Hessian of a block's losses in (w, b, t)."""
    if form.is_curved:
        slope = slopes(v, terms.lower, terms.upper, terms.curvature)
        curves = (slope > terms.lower) & (slope < terms.upper)
        second = np.where(curves, 1.0 / terms.curvature, 0.0)
    else:
        assert smoothing is not None
        share = np.clip(0.5 + v / (2.0 * smoothing), 0.0, 1.0)
        slope = terms.lower + share * (terms.upper - terms.lower)
        inside = np.abs(v) < smoothing
        second = np.where(inside, (terms.upper - terms.lower) / (2.0 * smoothing), 0.0)
    sides, n = len(form.signs), X.shape[0]
    by_row = (terms.signs * slope).reshape(sides, n).sum(axis=0)
    gradient.add(
        np.concatenate(
            [
                -np.asarray(X.T @ by_row),
                [-float(np.sum(by_row)), -form.width_sign * float(np.sum(slope))],
            ]
        )
    )
    # second derivatives of v in f and t: r^2 = 1, r e and e^2
    e = form.width_sign
    over_f = second.reshape(sides, n).sum(axis=0)
    mixed = e * (terms.signs * second).reshape(sides, n).sum(axis=0)
    used = np.flatnonzero(over_f)
    Z = X[used]
    D = over_f[used]
    d = X.shape[1]
    block = np.zeros((d + 2, d + 2))
    weighted = sp.diags_array(D) @ Z if is_sparse(Z) else Z * D[:, None]
    product = Z.T @ weighted
    block[:d, :d] = product.toarray() if sp.issparse(product) else product
    block[:d, d] = block[d, :d] = np.asarray(Z.T @ D)
    block[:d, -1] = block[-1, :d] = np.asarray(Z.T @ mixed[used])
    block[d, d] = np.sum(D)
    block[d, -1] = block[-1, d] = np.sum(mixed)
    block[-1, -1] = e * e * np.sum(second)
    hessian.add(block)


@dataclass
class Nearest:
    """The conditions nearest to their kink, at most so many."""

    most: int
    _distances: list[Vector] = field(default_factory=list)
    _places: list[tuple[slice, Index]] = field(default_factory=list)

    def add(self, v: Vector, rows: slice, band: float) -> None:
        """Look at the conditions of a block."""
        distance = np.abs(v)
        near = np.flatnonzero(distance <= band)
        self._distances.append(distance[near])
        self._places.append((rows, near))

    def band(self, band: float) -> float:
        """The widest band up to the given one that holds at most as many conditions."""
        distances = np.concatenate([np.zeros(0), *self._distances])
        if len(distances) <= self.most:
            return band
        # the nearest one that is too many, and all as far away as it, are decided
        limit = float(np.partition(distances, self.most)[self.most])
        inside = distances[distances < limit]
        return float(np.max(inside, initial=0.0)) if limit > 0.0 else -1.0

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
    return Open(X, taken(terms, pick))  # type: ignore[arg-type]


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
    """Some of the conditions."""
    return Terms(
        terms.signs[which],
        terms.required[which],
        terms.lower[which],
        terms.upper[which],
        terms.curvature[which],
    )
