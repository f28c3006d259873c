"""Kernel machines as support vectors and coefficients, evaluated by tiles of the kernel matrix.

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
from typing import Self, TypeAlias

import numpy as np

from qpsvm.chunked.certificate import ChunkedCertificate, primal_objective
from qpsvm.chunked.conditions import RowConditions
from qpsvm.chunked.contents import Contents
from qpsvm.chunked.dual_bound import dual_bound
from qpsvm.chunked.evaluation import Request, loss_rounding, require_unchanged
from qpsvm.chunked.machine import Machine
from qpsvm.chunked.sums import Decided, Losses, Sum, rounding_unit
from qpsvm.chunked.template import Template
from qpsvm.chunked.totals import Totals
from qpsvm.display import short_repr
from qpsvm.exceptions import InvalidDataError, InvalidParameterError
from qpsvm.kernels import Kernel
from qpsvm.kernels.errors import diagonal_errors, entry_errors
from qpsvm.machines.score_errors import expansion_errors
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics import compensated
from qpsvm.numerics.arrays import Dense, Index, Matrix, Vector, is_sparse, row_blocks
from qpsvm.numerics.precision import EPS
from qpsvm.numerics.threads import for_each, kernel_blocks, one_blas_thread


@short_repr
@dataclass(frozen=True, eq=False)
class Expansion:
    """A kernel machine ``f(x) = sum_j beta_j k(z_j, x) + intercept`` with m support vectors.

    Attributes
    ----------
    kernel : Kernel
        With every parameter a number.
    vectors : array or CSR array of shape (m, d)
        Support vectors z.
    rows : array of int of shape (m,)
        Numbers of these vectors among the training samples with a weight above zero, from 0 on.
    beta : array of shape (m,)
        Positive for the larger one of two labels.
    intercept : float
    width : float
        The half-width of the families that choose one (nu); 0 for the others.

    Examples
    --------
    >>> import qpsvm
    >>> X, y = [[0.0], [1.0], [3.0]], [-1, 1, 1]
    >>> problem = qpsvm.SoftMargin(C=1.0).dual(X, y, kernel=qpsvm.kernels.RBF(gamma=0.5))
    >>> machine = Expansion.of(qpsvm.solve(problem))
    >>> machine.rows.tolist()
    [0, 1, 2]
    """

    kernel: Kernel
    vectors: Matrix
    rows: Index
    beta: Vector
    intercept: float
    width: float = 0.0

    @classmethod
    def of(cls, solution: SVMSolution) -> Self:
        """Take the machine out of a solution that was trained in memory.

        Parameters
        ----------
        solution : SVMSolution
            Of a kernel machine. Samples are numbered as its problem had them.

        Returns
        -------
        Expansion

        Raises
        ------
        InvalidParameterError
            Another kind of solution, one without an expansion, or of a kernel that was repaired.
        """
        if type(solution) is not SVMSolution or solution.expansion is None:
            raise InvalidParameterError(
                f"An Expansion is made of an SVMSolution with an expansion, got "
                f"{type(solution).__name__}; build one of support vectors and coefficients."
            )
        if solution.repair is not None:
            raise InvalidParameterError(
                "The kernel of this solution is indefinite and was repaired, which needs all "
                "samples at once; verify it on them."
            )
        rows = np.flatnonzero(solution.expansion)  # NaN is not zero
        return cls(
            solution.kernel,
            solution.data.X[rows],
            rows,
            solution.expansion[rows],
            solution.intercept,
            solution.width,
        )

    @property
    def offsets(self) -> Machine:
        """Intercept and width, as a machine without weights."""
        return Machine(np.zeros(0), self.intercept, self.width)

    @one_blas_thread()
    def values(self, X: Matrix) -> Dense:
        """Sums of the negative and of the positive terms of ``f(x) - b``, shape (m, 2)."""
        if not len(self.beta):
            return np.zeros((X.shape[0], 2))
        values, signed = np.empty((X.shape[0], 2)), self.signed

        def evaluate(rows: slice) -> None:
            values[rows] = compensated.product(self.kernel(X[rows], self.vectors), signed)

        blocks = kernel_blocks(X.shape[0], len(self.beta))
        if self.kernel.runs_in_threads:
            for_each(evaluate, blocks)
        else:
            for rows in blocks:
                evaluate(rows)
        return values

    @property
    def signed(self) -> Dense:
        """Negative and positive part of beta, as columns."""
        return np.column_stack([np.minimum(self.beta, 0.0), np.maximum(self.beta, 0.0)])


# --- tiles ---------------------------------------------------------------------------------------

TileRequest: TypeAlias = tuple[Request, Expansion, tuple[int, ...]]
"""Request without machines; the machine; the number of the first sample of every chunk, and how
many samples there are."""


@dataclass(frozen=True, eq=False)
class Tile(Losses):
    """Losses of one chunk, and the sums over its support vectors; roundings are estimated.

    Attributes
    ----------
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

    products: Sum
    product_rounding: float
    decided: Decided
    largest: float
    n_wrong: int


def tile(contents: Contents, request: TileRequest, number: int) -> Tile:
    """Evaluate a kernel machine on the rows of a chunk.

    Raises
    ------
    InvalidDataError
        Samples that have changed, or that differ from the support vectors of the machine.
    """
    asked, machine, starts = request
    start, stop = starts[number : number + 2]
    if contents.n_rows != stop - start or contents.n_features != machine.vectors.shape[1]:
        raise InvalidDataError(
            f"it has the shape {(contents.n_rows, contents.n_features)} and had "
            f"{(stop - start, machine.vectors.shape[1])} when the problem was built; the samples "
            "have changed."
        )
    with np.errstate(all="ignore"):  # what is not finite fails closed
        blocks = (machine.kernel.diagonal(X) for _, X in contents.blocks())
        squares = np.concatenate([np.zeros(0), *blocks])
        own = RowConditions.of(contents, asked.template, squares)
        here = np.flatnonzero((machine.rows >= start) & (machine.rows < stop))
        _require_same(contents, machine, here, machine.rows[here] - start)
        found = _evaluated(own, machine, here, machine.rows[here] - start)
    require_unchanged(contents, asked, number)  # the errors before say more
    return found


def _evaluated(own: RowConditions, machine: Expansion, here: Index, places: Index) -> Tile:
    """Losses of a chunk, and sums over the support vectors ``here``, its rows ``places``."""
    form, kernel = own.form, machine.kernel
    total, rounding, n_wrong = Sum((1,)), 0.0, 0
    products, product_rounding, decided = Sum((2, 2)), 0.0, Decided.empty(0)
    used = np.flatnonzero(machine.beta)  # NaN counts
    vectors, weights = machine.vectors[used], np.abs(machine.beta[used])
    norms = np.sqrt(np.abs(kernel.diagonal(vectors))) if len(used) else np.zeros(0)
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
        total.add(float(np.sum(terms.losses(v))))
        size = np.abs(f) + abs(machine.intercept) + machine.width + np.abs(terms.required)
        error = errors + 2.0 * EPS * size
        if form.ball:
            error += diagonal_errors(kernel, X, squares)
        rounding += loss_rounding(form, terms, v, error)
        if form.task == "binary":
            n_wrong += int(np.count_nonzero((f > 0.0) != (terms.signs[0] * form.signs[0] > 0.0)))
        inside = np.flatnonzero((places >= rows.start) & (places < rows.stop))
        place, beta = places[inside] - rows.start, machine.signed[here[inside]]
        products.add(beta.T @ parts[place])
        error = errors[place] + rounding_unit(len(place), 2) * sizes[place]
        product_rounding += float(np.abs(beta).sum(axis=1) @ error)
        # dual variables of these support vectors, each put within its bounds
        variables, coefficients = terms.at((slice(None), place)), beta.sum(axis=1)
        a = form.norm_weight * variables.signs * coefficients
        if len(a) > 1:  # of the two sides of a tube, the one that a coefficient's sign belongs to
            a = np.where(a < 0.0, 0.0, a)
        within = np.clip(a, variables.lower, variables.upper)
        decided.add(np.zeros((len(place), 0)), variables, within, np.zeros(len(place)))
        moved = float(np.sum(np.abs(a - within) @ np.sqrt(squares[place])))
        decided.rounding.add(np.array([0.0, moved, 0.0]))
    largest = float(np.max(own.squares, initial=0.0))
    return Tile(total.value, rounding, products, product_rounding, decided, largest, n_wrong)


def tile_certificate(
    form: Template, totals: Totals, machine: Expansion, tiles: Sequence[Tile]
) -> ChunkedCertificate:
    """Put together the sums of all tiles: both objectives, and bounds on the optimum."""
    kappa, largest = form.norm_weight, max(own.largest for own in tiles)
    halves, hidden = _in_a_plane(Sum.over([own.products for own in tiles]).value)
    error = math.fsum(own.product_rounding for own in tiles) + hidden
    sums = Decided.over([own.decided for own in tiles])
    weights, sizes = Sum((2, 2)), Sum.over([sums.rounding])
    weights.add(kappa * halves)
    sizes.add(np.array([0.0, 0.0, 0.5 * kappa * error]))
    # the samples in feature space; where a gap is relative to their spread, that is not known
    own_form = replace(form, radius=math.sqrt(largest) * (1.0 + (totals.n_features + 8) * EPS))
    own_totals = replace(totals, largest_square=largest, squared_spread=0.0)
    plane = Machine(halves.sum(axis=0), machine.intercept, machine.width)
    primal, rounding = primal_objective(own_form, plane, tiles)
    dual = dual_bound(own_form, replace(sums, weights=weights, rounding=sizes))
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
                "a sample differs from the support vector that the machine says it is; pass the "
                "training data in the order in which the machine was trained."
            )
