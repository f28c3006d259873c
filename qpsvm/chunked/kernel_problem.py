"""Kernel machines on samples in chunks, which can be verified by one pass over tiles.

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
from typing import Any, Protocol, TypeAlias

import numpy as np

from qpsvm.chunked.certificate import ChunkedCertificate, primal_objective
from qpsvm.chunked.chunks import ChunkedSamples, Column
from qpsvm.chunked.contents import Contents, Task, run_pass
from qpsvm.chunked.dual_bound import dual_bound
from qpsvm.chunked.evaluation import Request, RowConditions, loss_rounding, require_unchanged
from qpsvm.chunked.expansion import Expansion, stored_expansion
from qpsvm.chunked.machine import Machine
from qpsvm.chunked.problem import allowed, first_pass
from qpsvm.chunked.sums import Decided, Sum, rounding_unit
from qpsvm.chunked.template import AsksConditions, Template, Terms, template
from qpsvm.chunked.totals import Totals
from qpsvm.exceptions import InvalidDataError, InvalidParameterError
from qpsvm.kernels import Kernel
from qpsvm.kernels.errors import diagonal_errors, entry_errors
from qpsvm.machines.exact_types import same_kernel
from qpsvm.machines.score_errors import expansion_errors
from qpsvm.numerics.arrays import Dense, Index, Vector, is_sparse, row_blocks
from qpsvm.numerics.precision import EPS
from qpsvm.qp.program import Result, Result_co


class ChunkedKernelVisitor(Protocol[Result_co]):
    """Visitor of problems: the operation on a kernel problem on samples in chunks."""

    def chunked_kernel(self, problem: ChunkedKernelProblem, solution: Any) -> Result_co: ...


@dataclass(frozen=True, eq=False)
class ChunkedKernelProblem:
    """A training problem of a kernel machine whose samples are read chunk by chunk.

    It cannot be solved: training evaluates pairs of samples. ``qpsvm.verify`` and ``qpsvm.certify``
    judge a machine (``Expansion``) by one pass over its tiles of the kernel matrix.

    Attributes
    ----------
    formulation : Family
    task : "binary", "regression" or "unlabelled"
    kernel : Kernel
    samples : ChunkedSamples
    totals : Totals
        What the first pass over the chunks found.
    template : Template
        The conditions on one sample of each class.

    Examples
    --------
    >>> import numpy as np, qpsvm
    >>> from qpsvm.chunked import Expansion, chunked
    >>> X, y = np.arange(8.0).reshape(8, 1), np.arange(8) > 3
    >>> family, kernel = qpsvm.SoftMargin(C=1.0), qpsvm.kernels.RBF(gamma=0.5)
    >>> machine = Expansion.of(qpsvm.solve(family.dual(X, y, kernel=kernel)))
    >>> problem = family.dual(chunked(X, y, rows=3), kernel=kernel)
    >>> problem
    ChunkedKernelProblem(SoftMargin(C=1.0), rbf(gamma=0.5), 8 samples x 1 features in 3 chunks)
    >>> bool(qpsvm.verify(problem, machine).passed)
    True
    """

    formulation: Any
    task: Task
    kernel: Kernel
    samples: ChunkedSamples
    totals: Totals
    template: Template

    @property
    def n_chunks(self) -> int:
        """Number of chunks."""
        return len(self.samples.chunks)

    def accept(self, visitor: ChunkedKernelVisitor[Result], solution: Expansion) -> Result:
        """Call the visitor's method for kernel problems on samples in chunks."""
        return visitor.chunked_kernel(self, solution)

    def certified(self, machine: object) -> ChunkedCertificate:
        """Bound how far a kernel machine is from the optimum, by one pass over the samples."""
        return self.judged(machine)[0]

    def judged(self, machine: object) -> tuple[ChunkedCertificate, int]:
        """Bound the distance of a machine from the optimum, and count errors of two classes.

        Raises
        ------
        InvalidParameterError
            Not an ``Expansion``, or a subclass of it.
        InvalidDataError
            A machine of another problem.
        """
        own = stored_expansion(machine, self.totals.n_rows, self.totals.n_features)
        if not same_kernel(self.kernel, own.kernel):
            raise InvalidDataError(
                f"The machine predicts with the {own.kernel} kernel and the problem has "
                f"{self.kernel}; it is of another problem."
            )
        offsets = allowed(own.offsets, self.template)
        fair = Expansion(
            self.kernel, own.vectors, own.rows, own.beta, offsets.intercept, offsets.width
        )
        starts = tuple(np.cumsum([0, *self.totals.n_rows_by_chunk]).tolist())
        asked = Request(self.template, self.totals.classes, (), digests=self.totals.digests)
        request = asked, fair, starts
        found = run_pass(tile, self.task, self.samples.chunks, request, verbose=False)
        with np.errstate(all="ignore"):  # as in ``tile``
            certificate = tile_certificate(self.template, self.totals, fair, found)
        return certificate, sum(part.n_wrong for part in found)

    def __repr__(self) -> str:
        size = f"{self.totals.n_rows} samples x {self.totals.n_features} features"
        return (
            f"ChunkedKernelProblem({self.formulation!r}, {self.kernel}, {size} in "
            f"{self.n_chunks} chunks)"
        )


def chunked_kernel_problem(
    formulation: AsksConditions,
    task: Task,
    kernel: Kernel,
    X: object,
    y: Column,
    sample_weight: Column,
) -> ChunkedKernelProblem:
    """Build a kernel problem on samples in chunks, by one pass over them.

    Parameters
    ----------
    formulation : Family
        The family of machines with its parameters.
    task : "binary", "regression" or "unlabelled"
        The kind of y: one of two labels, a number, or nothing.
    kernel : Kernel
        Positive semidefinite by its type, with every parameter a number.
    X, y, sample_weight
        As for ``qpsvm.chunked.chunked``.

    Returns
    -------
    ChunkedKernelProblem
        To be verified and certified, not to be solved.

    Raises
    ------
    InvalidDataError, ChunkError, MissingPackageError
        As ``qpsvm.chunked.chunked``; samples that an SVM cannot be trained on, with their chunk.
    InvalidParameterError
        A formulation or a kernel that needs all samples at once.

    Examples
    --------
    >>> import numpy as np, qpsvm
    >>> samples = qpsvm.chunked.chunked(np.eye(8), np.arange(8) > 3, rows=3)
    >>> family, kernel = qpsvm.SoftMargin(C=1.0), qpsvm.kernels.RBF(gamma=0.5)
    >>> chunked_kernel_problem(family, "binary", kernel, samples, None, None)
    ChunkedKernelProblem(SoftMargin(C=1.0), rbf(gamma=0.5), 8 samples x 8 features in 3 chunks)
    """
    if not kernel.is_positive_semidefinite:
        raise InvalidParameterError(
            f"The {kernel} kernel may be indefinite, and whether it is follows from all samples at "
            "once; pass arrays that fit into memory, or a kernel that is positive semidefinite by "
            "its type (RBF, polynomial with coef0 >= 0)."
        )
    if any(isinstance(value, str) for value in kernel.parameters().values()):
        raise InvalidParameterError(
            f"The parameters of {kernel} depend on all samples; for samples in chunks pass "
            "numbers, as the kernel of a trained machine has them: RBF(gamma=0.5), or "
            "solution.kernel."
        )
    samples, totals = first_pass(task, X, y, sample_weight, sample_rows=1)
    form = template(formulation, task, totals)
    return ChunkedKernelProblem(formulation, task, kernel, samples, totals, form)


# --- tiles ---------------------------------------------------------------------------------------

TileRequest: TypeAlias = tuple[Request, Expansion, tuple[int, ...]]
"""Request without machines; the machine; the number of the first sample of every chunk, and how
many samples there are."""


@dataclass(frozen=True, eq=False)
class Tile:
    """Losses of one chunk, and the sums over its support vectors.

    Attributes
    ----------
    losses : array of shape (1,)
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

    losses: Vector
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
    asked, machine, starts = request
    start, stop = starts[number : number + 2]
    if contents.n_rows != stop - start or contents.n_features != machine.vectors.shape[1]:
        raise InvalidDataError(
            f"Chunk {name} has the shape {(contents.n_rows, contents.n_features)} and had "
            f"{(stop - start, machine.vectors.shape[1])} when the problem was built; the samples "
            "have changed."
        )
    with np.errstate(all="ignore"):  # what is not finite fails closed
        blocks = (machine.kernel.diagonal(X) for _, X in contents.blocks())
        squares = np.concatenate([np.zeros(0), *blocks])
        own = RowConditions.of(contents, asked.template, asked.classes, name, squares)
        here = np.flatnonzero((machine.rows >= start) & (machine.rows < stop))
        _require_same(contents, machine, here, machine.rows[here] - start, name)
        found = _evaluated(own, machine, here, machine.rows[here] - start)
    require_unchanged(contents, asked, name, number)  # the errors before say more
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
        v = terms.required - terms.signs * f - form.width_sign * machine.width
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
        variables = terms.at((slice(None), place))
        _add_variables(decided, form, variables, beta.sum(axis=1), squares[place])
    largest = float(np.max(own.squares, initial=0.0))
    return Tile(total.value, rounding, products, product_rounding, decided, largest, n_wrong)


def _add_variables(
    decided: Decided, form: Template, terms: Terms, beta: Vector, squares: Vector
) -> None:
    """Add the dual variables of support vectors, each put within its bounds."""
    a = form.norm_weight * terms.signs * beta
    if len(a) > 1:  # of the two sides of a tube, the one that a coefficient's sign belongs to
        a = np.where(a < 0.0, 0.0, a)
    inside = np.clip(a, terms.lower, terms.upper)
    decided.add(np.zeros((len(beta), 0)), terms, inside, np.zeros(len(beta)))
    moved = float(np.sum(np.abs(a - inside) @ np.sqrt(squares)))
    decided.rounding.add(np.array([0.0, moved, 0.0]))


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
