"""Evaluation of one chunk by a kernel machine, whose weights are explicit in no space of features.

Every chunk evaluates its tile of the kernel matrix, n_c x m for m support vectors, a block of rows
at a time. It returns the sum of its losses and, of its support vectors, the dual variables
``a = kappa r beta`` summed up, and its part of the products of the two halves of the weights::

    w = w_- + w_+,    w_s = sum of beta_j phi(z_j) over coefficients of the sign s
    <w_s, w_t> = sum_i beta_i sum_j beta_j k(z_i, z_j)

Both objectives need nothing else of the weights. In a plane, two vectors with the same products
stand for both halves, and so what holds for linear machines on samples in chunks
(``qpsvm.chunked.certificate``, ``qpsvm.chunked.dual_bound``) holds here, with the plane for the
features.

A dual variable beyond its bounds is put at the bound, and the weights that this changes are part of
the rounding. Nothing of size n, and no n x m matrix, is in memory at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from qpsvm.chunked.certificate import ChunkedCertificate
from qpsvm.chunked.contents import Contents
from qpsvm.chunked.dual_bound import dual_sums
from qpsvm.chunked.evaluation import loss_rounding
from qpsvm.chunked.expansion import Expansion
from qpsvm.chunked.machine import Machine
from qpsvm.chunked.open_conditions import taken
from qpsvm.chunked.sums import Decided, Sum, rounding_unit
from qpsvm.chunked.template import Template, Terms
from qpsvm.chunked.totals import Totals
from qpsvm.chunked.violations import Request, coded
from qpsvm.exceptions import InvalidDataError
from qpsvm.kernels.errors import diagonal_errors, entry_errors
from qpsvm.machines.losses import losses
from qpsvm.machines.score_errors import expansion_errors
from qpsvm.numerics.arrays import Dense, Index, Vector, is_sparse, row_blocks
from qpsvm.numerics.precision import EPS


@dataclass(frozen=True, eq=False)
class TileRequest:
    """Request of a pass over tiles.

    Attributes
    ----------
    asked : Request
        Without machines.
    machine : Expansion
    starts : tuple of int
        Number of the first sample of every chunk, and how many samples there are.
    """

    asked: Request
    machine: Expansion
    starts: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Tile:
    """Losses of one chunk, and the sums over its support vectors.

    Attributes
    ----------
    losses : Sum of shape (1,)
    loss_rounding : float
        Of the losses, estimated.
    products : Sum of shape (2, 2)
        The chunk's part of ``<w_s, w_t>``.
    product_rounding : float
        Of all products together, estimated.
    decided : Decided
        Of no features: sums of the dual variables. Its rounding of the weights is what putting
        variables at their bounds changes.
    largest : float
        Of ``k(x, x)``.
    n_wrong : int
        Samples of two classes on the wrong side.
    """

    losses: Sum
    loss_rounding: float
    products: Sum
    product_rounding: float
    decided: Decided
    largest: float
    n_wrong: int


def tile(contents: Contents, request: TileRequest, name: str, number: int) -> Tile:
    """Evaluate a kernel machine on the rows of a chunk.

    Raises
    ------
    InvalidDataError
        Samples that have changed, or that differ from the support vectors of the machine.
    """
    machine, form = request.machine, request.asked.template
    start, stop = request.starts[number : number + 2]
    if contents.n_rows != stop - start or contents.n_features != machine.vectors.shape[1]:
        raise InvalidDataError(
            f"Chunk {name} has the shape {(contents.n_rows, contents.n_features)} and had "
            f"{(stop - start, machine.vectors.shape[1])} when the problem was built; the samples "
            "have changed."
        )
    codes, targets = coded(contents, request.asked, name)
    here = np.flatnonzero((machine.rows >= start) & (machine.rows < stop))
    own = machine.rows[here] - start
    _require_same(contents, machine, here, own, name)
    total, rounding, largest, n_wrong = Sum((1,)), 0.0, 0.0, 0
    products, product_rounding, decided = Sum((2, 2)), 0.0, Decided.empty(0)
    used = np.flatnonzero(machine.beta)  # NaN counts
    vectors, weights = machine.vectors[used], np.abs(machine.beta[used])
    norms = np.sqrt(np.abs(machine.kernel.diagonal(vectors))) if len(used) else np.zeros(0)
    sides = len(form.signs)
    for rows, X in contents.blocks():
        squares = machine.kernel.diagonal(X)
        parts = machine.values(X)
        f = parts.sum(axis=1) + machine.intercept
        # sum of |beta_j k(z_j, x)|, at most
        sizes = parts[:, 1] - parts[:, 0]
        norm = np.sqrt(np.abs(squares))
        if not machine.kernel.is_nonnegative:
            sizes = norm * float(norms @ weights)
        largest_values = (1.0 + 1e-6) * norm * float(np.max(norms, initial=0.0))
        found = entry_errors(machine.kernel, X, vectors)
        errors = expansion_errors(found, sizes, weights, largest_values)
        some = None if targets is None else targets[rows]
        terms = form.terms(codes[rows], some, contents.weights[rows], squares)
        v = terms.required - terms.signs * np.tile(f, sides) - form.width_sign * machine.width
        total.add(np.array([np.sum(losses(v, terms.lower, terms.upper, terms.curvature))]))
        size = np.tile(np.abs(f) + abs(machine.intercept), sides) + machine.width
        error = np.tile(errors, sides) + 2.0 * EPS * (size + np.abs(terms.required))
        if form.ball:
            error += diagonal_errors(machine.kernel, X, squares)
        rounding += loss_rounding(form, terms, v, error)
        largest = max(largest, float(np.max(squares)))
        if form.task == "binary":
            n_wrong += int(np.count_nonzero((f > 0.0) != (codes[rows] == 1)))
        inside = np.flatnonzero((own >= rows.start) & (own < rows.stop))
        place = own[inside] - rows.start
        beta = machine.signed[here[inside]]
        products.add(beta.T @ parts[place])
        error = errors[place] + rounding_unit(len(place), 2) * sizes[place]
        product_rounding += float(np.abs(beta).sum(axis=1) @ error)
        conditions = taken(terms, np.concatenate([k * len(f) + place for k in range(sides)]))
        _add_variables(decided, form, conditions, beta.sum(axis=1), squares[place])
    return Tile(total, rounding, products, product_rounding, decided, largest, n_wrong)


def _add_variables(
    decided: Decided, form: Template, terms: Terms, beta: Vector, squares: Vector
) -> None:
    """Add the dual variables of support vectors, each put within its bounds."""
    sides, n = len(form.signs), len(beta)
    a = form.norm_weight * terms.signs * np.tile(beta, sides)
    if sides > 1:  # of the two sides of a tube, the one that a coefficient's sign belongs to
        a = np.where(a < 0.0, 0.0, a)
    inside = np.clip(a, terms.lower, terms.upper)
    decided.add(np.zeros((n, 0)), terms, inside, np.zeros(n))
    moved = float(np.abs(a - inside) @ np.tile(np.sqrt(squares), sides))
    decided.rounding.add(np.array([0.0, moved, 0.0]))


def tile_certificate(
    form: Template, totals: Totals, machine: Expansion, tiles: Sequence[Tile]
) -> ChunkedCertificate:
    """Put together the sums of all tiles: both objectives, and bounds on the optimum."""
    kappa, largest = form.norm_weight, max(own.largest for own in tiles)
    products = Sum((2, 2))
    for own in tiles:
        products.add_sum(own.products)
    halves, hidden = _in_a_plane(products.value)
    error = math.fsum(own.product_rounding for own in tiles) + hidden
    sums = dual_sums([own.decided for own in tiles], 0)
    weights, sizes = Sum((2, 2)), Sum((3,))
    weights.add(kappa * halves)
    sizes.add_sum(sums.rounding)
    sizes.add(np.array([0.0, 0.0, 0.5 * kappa * error]))
    # the samples in feature space; where a gap is relative to their spread, that is not known
    own_form = replace(form, radius=math.sqrt(largest) * (1.0 + (totals.n_features + 8) * EPS))
    own_totals = replace(totals, largest_square=largest, squared_spread=0.0)
    plane = Machine(halves.sum(axis=0), machine.intercept, machine.width)
    found = ChunkedCertificate.of(
        own_form, own_totals, plane, tiles, replace(sums, weights=weights, rounding=sizes)
    )
    return replace(found, rounding=found.rounding + 0.5 * kappa * error)


def _in_a_plane(products: Dense) -> tuple[Dense, float]:
    """Two vectors, as rows, with given products; and by how much these may differ."""
    if not np.isfinite(products).all():
        return np.full((2, 2), np.nan), math.inf
    values, vectors = np.linalg.eigh(0.5 * (products + products.T))
    hidden = max(0.0, -float(values[0])) + 16.0 * EPS * float(np.max(np.abs(values)))
    return vectors * np.sqrt(np.maximum(values, 0.0)), 2.0 * hidden


def _require_same(
    contents: Contents, machine: Expansion, here: Index, own: Index, name: str
) -> None:
    """Refuse a machine whose support vectors are not the samples of the chunk that it says."""
    for some in row_blocks(len(own), contents.n_features):
        X, Z = contents.X[own[some]], machine.vectors[here[some]]
        if is_sparse(X) and is_sparse(Z):
            same = (X - Z).count_nonzero() == 0
        else:
            dense = [M.toarray() if is_sparse(M) else np.asarray(M) for M in (X, Z)]
            same = bool((dense[0] == dense[1]).all())
        if not same:
            raise InvalidDataError(
                f"Chunk {name}: a sample differs from the support vector that the machine says it "
                "is; pass the training data in the order in which the machine was trained."
            )
