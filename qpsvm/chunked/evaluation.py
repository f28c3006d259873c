"""Evaluation of one chunk in a pass: losses, sums over decided samples, and open samples.

At a machine (the centre) and with a number h (the band), every condition with violation v is

- *decided* where ``v > h s`` or ``v < -h s``: its dual variable is its upper or its lower bound;
- *open* where ``|v| <= h s``: its sample is returned, and its dual variable is not fixed yet. Open
  conditions on equal samples are merged into one.

The number s is the square root of the sample's leverage (``qpsvm.chunked.leverage``).

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
from dataclasses import dataclass

import numpy as np

from qpsvm.chunked.contents import Contents
from qpsvm.chunked.derivatives import Derivatives
from qpsvm.chunked.machine import Machine
from qpsvm.chunked.open_conditions import Nearest, Open, distances, merged, open_conditions
from qpsvm.chunked.sums import Decided, Sum
from qpsvm.chunked.template import Template, Terms
from qpsvm.chunked.violations import Request, coded, terms_of, violations
from qpsvm.machines.losses import losses, slopes
from qpsvm.numerics.arrays import Dense, Matrix, Vector
from qpsvm.numerics.precision import EPS
from qpsvm.numerics.rows import row_squares


@dataclass(frozen=True, eq=False)
class ChunkResult:
    """Result of a pass on one chunk.

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
        Merged where samples are equal.
    derivatives : Derivatives or None
        Of the losses in (w, b, t).
    n_bytes : int
        Bytes of samples that were read.
    """

    losses: Sum
    loss_rounding: float
    decided: Decided
    band: float
    open: Open | None
    derivatives: Derivatives | None
    n_bytes: int


def evaluate(contents: Contents, request: Request, name: str, number: int) -> ChunkResult:
    """Compute the losses, sums and open conditions that a pass asks of one chunk.

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
    band = math.inf if request.band is None else request.band
    near = Nearest(request.most_open[number]) if wants_sums and not form.is_curved else None
    centre, roots, apart = list[Vector](), list[Vector](), list[Vector]()
    for rows, X in contents.blocks():
        centre.append(violations(contents, form, codes, targets, rows, X, points[:, 0]))
        if near is not None:
            roots.append(request.leverage.roots(X))
            apart.append(distances(centre[-1], roots[-1], one_sided=request.one_sided))
            near.add(apart[-1], rows, band)
    if near is not None:
        band = near.band(band)
    decided = Decided.empty(d)
    derivatives = None
    if request.smoothing is not None:
        derivatives = Derivatives.empty(d, majorised=request.majorised)
    for k, ((rows, X), v) in enumerate(zip(contents.blocks(), centre, strict=True)):
        squares = row_squares(X)
        terms = terms_of(contents, form, codes, targets, rows, squares)
        total.add(np.append(_loss(v, terms), _other_losses(X, terms, form, points[:, 1:])))
        rounding += _loss_rounding(form, terms, v, squares, request.machines[0], d)
        if wants_sums:
            a = slopes(v, terms.lower, terms.upper, terms.curvature)
            if near is not None:
                a = np.where(apart[k] <= band, 0.0, a)
            decided.add(X, terms, a, squares)
        if request.smoothing is not None and derivatives is not None:
            widths = request.smoothing * (roots[k] if roots else np.ones(X.shape[0]))
            derivatives.add(X, terms, v, form, widths)
    found = None
    if near is not None:
        found = merged(open_conditions(contents, form, codes, targets, near.rows(band)))
    return ChunkResult(total, rounding, decided, band, found, derivatives, contents.n_bytes)


def _loss(v: Vector, terms: Terms) -> float:
    return float(np.sum(losses(v, terms.lower, terms.upper, terms.curvature)))


def _other_losses(X: Matrix, terms: Terms, form: Template, points: Dense) -> Vector:
    """Sum up the losses on a block of samples for several machines, shape (k,)."""
    if not points.shape[1]:
        return np.zeros(0)
    f = np.asarray(X @ points[:-2]) + points[-2]

    def by_side(values: Vector) -> Dense:
        return values.reshape(len(form.signs), -1, 1)

    v = by_side(terms.required) - by_side(terms.signs) * f - form.width_sign * points[-1]
    bounds = by_side(terms.lower), by_side(terms.upper)
    return np.asarray(np.sum(losses(v, *bounds, by_side(terms.curvature)), axis=(0, 1)))


def _loss_rounding(
    form: Template, terms: Terms, v: Vector, squares: Vector, machine: Machine, d: int
) -> float:
    """Bound on the rounding of the sum of the losses of a block."""
    w = float(np.linalg.norm(machine.coef))
    size = np.tile(np.sqrt(squares), len(form.signs)) * w + abs(machine.intercept)
    size = size + abs(machine.width) + np.abs(terms.required)
    return loss_rounding(form, terms, v, (d + 8) * EPS * size)


def loss_rounding(form: Template, terms: Terms, v: Vector, error: Vector) -> float:
    """Bound on the rounding of the sum of the losses of a block, from errors of its violations."""
    steepest = np.maximum(np.abs(terms.lower), np.abs(terms.upper))
    if form.is_curved:
        steepest = (np.abs(v) + error) / terms.curvature
    one_sided = terms.lower == 0.0
    matters = ~one_sided | (v > -error)
    block = (np.log2(len(v) + 2.0) + 24.0) * EPS  # of the pairwise sum, and of parts one by one
    return float(np.sum(np.where(matters, steepest * (error + block * np.abs(v)), 0.0)))
