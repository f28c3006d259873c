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

import math
from dataclasses import dataclass, field

import numpy as np

from qpsvm.chunked.conditions import Open, RowConditions, distances, narrowed
from qpsvm.chunked.contents import Contents
from qpsvm.chunked.machine import DualPoint, Leverage, Machine
from qpsvm.chunked.newton import Derivatives
from qpsvm.chunked.sums import Decided, Losses
from qpsvm.chunked.template import Template, Terms
from qpsvm.exceptions import InvalidDataError
from qpsvm.numerics.arrays import Dense
from qpsvm.numerics.precision import EPS


@dataclass(frozen=True, eq=False)
class Request:
    """Request of a pass: the machines to measure, and the sums that are wanted.

    Attributes
    ----------
    template : Template
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
    dual : DualPoint or None
        A dual point whose sums are wanted in place of those of decided conditions.
    digests : tuple of str
        Of every chunk, as the first pass found them.
    """

    template: Template
    machines: tuple[Machine, ...]
    band: float | None = None
    most_open: tuple[int, ...] = ()
    leverage: Leverage = field(default_factory=Leverage.equal)
    smoothing: float | None = None
    majorised: bool = False
    one_sided: bool = False
    dual: DualPoint | None = None
    digests: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class ChunkResult(Losses):
    """Result of a pass on one chunk.

    Attributes
    ----------
    decided : Decided
    band : float
        h as it was used here; infinite if no sums are wanted.
    open : Open or None
        Merged where samples are equal.
    derivatives : Derivatives or None
        Of the losses in (w, b, t).
    n_bytes : int
        Bytes of samples that were read.
    """

    decided: Decided
    band: float
    open: Open | None
    derivatives: Derivatives | None
    n_bytes: int


def evaluate(contents: Contents, request: Request, number: int) -> ChunkResult:
    """Compute the losses, sums and open conditions that a pass asks of one chunk.

    Raises
    ------
    InvalidDataError
        A label that the first pass did not see; samples, labels or weights that have changed; a
        dual point of other samples.
    """
    with np.errstate(all="ignore"):  # what is not finite fails closed
        found = _evaluated(contents, request, number)
    require_unchanged(contents, request, number)  # the errors before say more
    return found


def _evaluated(contents: Contents, request: Request, number: int) -> ChunkResult:
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
    decided, band = Decided.empty(contents.n_features), math.inf
    found = derivatives = None
    roots = np.ones(contents.n_rows)
    if request.band is not None:
        a, band, roots = own.terms.slopes(v), request.band, request.leverage.roots(contents.X)
        if not form.is_curved:
            distance = distances(v, roots, one_sided=request.one_sided)
            band = narrowed(distance, band, request.most_open[number])
            is_open = distance <= band
            a[is_open] = 0.0
            found = own.open(is_open).merged()
        decided = own.sums(a)
    if request.dual is not None:
        decided = own.sums(dual_variables(own, request.dual, number))
    if request.smoothing is not None:
        derivatives = own.derivatives(v, request.smoothing * roots, majorised=request.majorised)
    return ChunkResult(total, rounding, decided, band, found, derivatives, contents.n_bytes)


def loss_rounding(form: Template, terms: Terms, v: Dense, error: Dense) -> float:
    """Bound on the rounding of the sum of losses, from errors of their violations."""
    steepest = np.maximum(np.abs(terms.lower), np.abs(terms.upper))
    if form.is_curved:
        steepest = (np.abs(v) + error) / terms.curvature
    matters = (terms.lower != 0.0) | (v > -error)
    block = (np.log2(v.size + 2.0) + 24.0) * EPS  # of the pairwise sum, and of parts one by one
    return float(np.sum(np.where(matters, steepest * (error + block * np.abs(v)), 0.0)))


def dual_variables(own: RowConditions, point: DualPoint, number: int) -> Dense:
    """The variables of a dual point on a chunk, all within their bounds, shape (s, n).

    Raises
    ------
    InvalidDataError
        It lists another number of open ones: it is of other samples.
    """
    v = own.violations(point.centre)
    a, band, given = own.terms.slopes(v), -1.0, np.zeros(0)
    if point.bands:
        band, given = point.bands[number], point.open[number]
    roots = point.leverage.roots(own.contents.X) if band >= 0.0 else np.ones(v.shape[1])
    is_open = distances(v, roots, one_sided=point.one_sided) <= band
    if np.count_nonzero(is_open) != len(given):
        raise InvalidDataError(
            f"the solution lists {len(given)} open dual variables and the chunk has another number "
            "of them; the samples have changed, or the solution is of another problem."
        )
    box = own.terms.at(is_open)
    a[is_open] = np.clip(np.where(np.isnan(given), 0.0, given), box.lower, box.upper)
    return a


def require_unchanged(contents: Contents, request: Request, number: int) -> None:
    """Refuse a chunk that is not, bit for bit, the one of the first pass.

    What the first pass found (prices, numbers of rows, scales of a gap) holds for its samples only.

    Raises
    ------
    InvalidDataError
        Other samples, labels, targets or weights.
    """
    if contents.digest() != request.digests[number]:
        raise InvalidDataError(
            "its samples, labels or weights have changed since the problem was built; build it "
            "again. A Dask collection that is computed anew in every pass, to "
            "other last digits, has to be stored first (persist)."
        )
