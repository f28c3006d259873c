"""Kernel machines on samples in chunks, evaluated by tiles of the kernel matrix.

Every chunk evaluates its tile of the kernel matrix, n_c x m for m support vectors, a block of rows
at a time. It returns the sum of its losses and, of its support vectors, the dual variables
``a = kappa r beta`` summed up, and its part of the products of the two halves of the weights::

    w = w_- + w_+,    w_s = sum of beta_j phi(z_j) over coefficients of the sign s
    <w_s, w_t> = sum_i beta_i sum_j beta_j k(z_i, z_j)

Both objectives need nothing else of the weights. In a plane, two vectors with the same products
stand for both halves, and so what holds for linear machines on samples in chunks
(``qpsvm.chunked.certificate``) holds here, with the plane for the features.

A dual variable beyond its bounds is put at the bound, and the weights that this changes are part of
the rounding. Nothing of size n, and no n x m matrix, is in memory at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np

from qpsvm.chunked.certificate import (
    ChunkedCertificate,
    FixedSums,
    added,
    dual_bound,
    primal_objective,
    rounding_unit,
    summed,
)
from qpsvm.chunked.contents import Contents
from qpsvm.chunked.evaluation import RowConditions, loss_rounding
from qpsvm.chunked.expansion import Expansion
from qpsvm.chunked.machine import Machine
from qpsvm.chunked.template import Template
from qpsvm.chunked.totals import Totals
from qpsvm.exceptions import InvalidDataError
from qpsvm.kernels.errors import diagonal_errors, entry_errors
from qpsvm.machines.score_errors import expansion_errors
from qpsvm.numerics import compensated
from qpsvm.numerics.arrays import Dense, Index, Vector, is_sparse, row_blocks
from qpsvm.numerics.precision import EPS

TileRequest: TypeAlias = tuple[Template, Expansion, tuple[int, ...]]
"""Conditions; the machine; the number of the first sample of every chunk, and how
many samples there are."""


class Tile(NamedTuple):
    """Losses of one chunk, and the sums over its support vectors; roundings are estimated.

    Parameters
    ----------
    losses : array of shape (1,)
        The sum of the losses of the machine.
    loss_rounding : float
    products : Total of shape (2, 2)
        The chunk's part of ``<w_s, w_t>``.
    product_rounding : float
        Of all products together, estimated.
    fixed : FixedSums
        Of no features: sums of the dual variables. Its rounding of the weights is what putting
        variables at their bounds changes.
    largest : float
        Of ``k(x, x)``.
    n_wrong : int
        Samples of two classes on the wrong side.
    """

    losses: Vector
    loss_rounding: float
    products: compensated.Total
    product_rounding: float
    fixed: FixedSums
    largest: float
    n_wrong: int


@np.errstate(all="ignore")  # what is not finite fails closed
def tile(contents: Contents, request: TileRequest, number: int) -> Tile:
    """Evaluate a kernel machine on the rows of a chunk.

    Raises
    ------
    InvalidDataError
        Another number of samples or features; samples that differ from the support vectors of the
        machine.
    """
    form, machine, starts = request
    start, stop = starts[number : number + 2]
    if contents.n_rows != stop - start or contents.n_features != machine.vectors.shape[1]:
        raise InvalidDataError(
            f"it has the shape {(contents.n_rows, contents.n_features)} and had "
            f"{(stop - start, machine.vectors.shape[1])} when the problem was built; the samples "
            "have changed."
        )
    blocks = (machine.kernel.diagonal(X) for _, X in contents.blocks())
    own = RowConditions.of(contents, form, np.concatenate([np.zeros(0), *blocks]))
    here = np.flatnonzero((machine.rows >= start) & (machine.rows < stop))
    _require_same(contents, machine, here, machine.rows[here] - start)
    return _evaluated(own, machine, here, machine.rows[here] - start)


def _evaluated(own: RowConditions, machine: Expansion, here: Index, places: Index) -> Tile:
    """Losses of a chunk, and sums over the support vectors ``here``, its rows ``places``."""
    form, kernel = own.form, machine.kernel
    total, rounding, n_wrong = compensated.Total((1,)), 0.0, 0
    products, product_rounding, fixed = compensated.Total((2, 2)), 0.0, FixedSums.empty(0)
    # all vectors, also those without a coefficient: errors of kernel values depend on their centre
    vectors, weights = machine.vectors, np.abs(machine.beta)
    norms = np.sqrt(np.abs(kernel.diagonal(vectors))) if len(weights) else np.zeros(0)
    for rows, X, terms in own.blocks():
        squares, parts = own.squares[rows], machine.values(X)
        f = parts.sum(axis=1) + machine.intercept
        # sum of |beta_j k(z_j, x)|, at most
        sizes, norm = parts[:, 1] - parts[:, 0], np.sqrt(np.abs(squares))
        if not kernel.is_nonnegative:
            sizes = norm * float(norms @ weights)
        largest_values = (1.0 + 1e-6) * norm * float(np.max(norms, initial=0.0))
        entries = entry_errors(kernel, X, vectors)
        errors = expansion_errors(entries, sizes, weights, largest_values)
        v = form.violations(terms, f, machine.width)
        total.add_terms(np.array([np.sum(terms.losses(v))]))
        size = np.abs(f) + abs(machine.intercept) + machine.width + np.abs(terms.required)
        error = errors + 2.0 * EPS * size
        if form.ball:
            error += diagonal_errors(kernel, X, squares)
        rounding += loss_rounding(form, terms, v, error)
        if form.task == "binary":
            n_wrong += int(np.count_nonzero((f > 0.0) != (terms.signs[0] * form.signs[0] > 0.0)))
        inside = np.flatnonzero((places >= rows.start) & (places < rows.stop))
        place, beta = places[inside] - rows.start, machine.signed[here[inside]]
        products.add_terms(beta.T @ parts[place])
        error = errors[place] + rounding_unit(len(place), 2) * sizes[place]
        product_rounding += float(np.abs(beta).sum(axis=1) @ error)
        # dual variables of these support vectors, each put within its bounds
        variables, coefficients = terms.at((slice(None), place)), beta.sum(axis=1)
        a = form.norm_weight * variables.signs * coefficients
        if len(a) > 1:  # of the two sides of a tube, the one that a coefficient's sign belongs to
            a = np.where(a < 0.0, 0.0, a)
        within = np.clip(a, variables.lower, variables.upper)
        fixed.add(np.zeros((len(place), 0)), variables, within, np.zeros(len(place)))
        moved = float(np.sum(np.abs(a - within) @ np.sqrt(squares[place])))
        fixed.rounding.add_terms(np.array([0.0, moved, 0.0]))
    largest = float(np.max(own.squares, initial=0.0))
    return Tile(total.value, rounding, products, product_rounding, fixed, largest, n_wrong)


def tile_certificate(
    form: Template, totals: Totals, machine: Expansion, tiles: Sequence[Tile]
) -> ChunkedCertificate:
    """Put together the sums of all tiles: both objectives, and bounds on the optimum."""
    kappa, largest = form.norm_weight, max(own.largest for own in tiles)
    halves, hidden = _in_a_plane(added([own.products for own in tiles]).value)
    error = math.fsum(own.product_rounding for own in tiles) + hidden
    sums = summed([own.fixed for own in tiles])
    weights, sizes = compensated.Total((2, 2)), added([sums.rounding])
    weights.add_terms(kappa * halves)
    sizes.add_terms(np.array([0.0, 0.0, 0.5 * kappa * error]))
    # the samples in feature space, whose spread is not known: no gap is relative to it
    radius = math.sqrt(largest) * (1.0 + (totals.n_features + 8) * EPS)
    own_form = replace(form, radius=radius, relative_to_spread=False)
    own_totals = replace(totals, largest_square=largest)
    plane = Machine(halves.sum(axis=0), machine.intercept, machine.width)
    primal, rounding = primal_objective(own_form, plane, tiles)
    dual = dual_bound(own_form, sums._replace(weights=weights, rounding=sizes))
    rounding += 0.5 * kappa * error
    return ChunkedCertificate.of(own_form, own_totals, primal, rounding, dual)


def _in_a_plane(products: Dense) -> tuple[Dense, float]:
    """Two vectors, as rows, with given products; and by how much these may differ."""
    if not np.isfinite(products).all():
        return np.full((2, 2), np.nan), math.inf
    values, vectors = np.linalg.eigh(0.5 * (products + products.T))
    hidden = max(0.0, -float(values[0])) + 16.0 * EPS * float(np.max(np.abs(values)))
    return vectors * np.sqrt(np.maximum(values, 0.0)), 2.0 * hidden


def _require_same(contents: Contents, machine: Expansion, here: Index, own: Index) -> None:
    """Raise an error unless the support vectors are the samples at the positions they state."""
    for some in row_blocks(len(own), contents.n_features):
        X, Z = contents.X[own[some]], machine.vectors[here[some]]
        if is_sparse(X) and is_sparse(Z):
            same = (X - Z).count_nonzero() == 0
        else:
            dense = [M.toarray() if is_sparse(M) else np.asarray(M) for M in (X, Z)]
            same = bool((dense[0] == dense[1]).all())
        if not same:
            raise InvalidDataError(
                "a sample differs from the support vector that the machine says it is; pass the "
                "training data in the order in which the machine was trained."
            )
