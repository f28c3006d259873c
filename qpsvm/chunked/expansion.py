"""Kernel machines as support vectors and coefficients, evaluated by tiles of the kernel matrix.

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
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self, TypeAlias

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
from qpsvm.chunked.chunks import ChunkedSamples, Column
from qpsvm.chunked.contents import Contents, Task, run_pass
from qpsvm.chunked.evaluation import Request, RowConditions, loss_rounding, require_unchanged
from qpsvm.chunked.machine import Machine, stored_machine, whole_numbers
from qpsvm.chunked.problem import allowed
from qpsvm.chunked.template import Template, template
from qpsvm.chunked.totals import Totals, first_pass
from qpsvm.data.samples import as_samples
from qpsvm.display import short_repr
from qpsvm.exceptions import InvalidDataError, InvalidParameterError
from qpsvm.kernels import Kernel
from qpsvm.kernels.errors import diagonal_errors, entry_errors
from qpsvm.machines.exact_types import same_kernel
from qpsvm.machines.prediction import as_float64
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
    total, rounding, n_wrong = compensated.Total((1,)), 0.0, 0
    products, product_rounding, fixed = compensated.Total((2, 2)), 0.0, FixedSums.empty(0)
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
    # the samples in feature space; where a gap is relative to their spread, that is not known
    own_form = replace(form, radius=math.sqrt(largest) * (1.0 + (totals.n_features + 8) * EPS))
    own_totals = replace(totals, largest_square=largest, squared_spread=0.0)
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


# --- problems ------------------------------------------------------------------------------------


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
        intercept, width = offsets.intercept, offsets.width
        fair = replace(own, kernel=self.kernel, intercept=intercept, width=width)
        starts = tuple(np.cumsum([0, *self.totals.n_rows_by_chunk]).tolist())
        asked = Request(self.template, (), digests=self.totals.digests)
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
    formulation: Any,
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


def stored_expansion(machine: object, n_rows: int, n_features: int) -> Expansion:
    """Copy of a machine's numbers as float64, checked against the sizes of a problem.

    What is no number among the coefficients becomes NaN, which proves nothing.

    Raises
    ------
    InvalidParameterError
        Not an ``Expansion``, or a subclass of it.
    InvalidDataError
        Numbers of other shapes; support vectors that are not among so many samples.
    """
    if type(machine) is not Expansion:
        raise InvalidParameterError(
            f"An Expansion is expected, got {type(machine).__name__}; qpsvm.chunked.Expansion.of("
            "solution) takes one out of a solution, Expansion(kernel, vectors, rows, beta, "
            "intercept) makes one of support vectors and coefficients."
        )
    beta, rows = as_float64(machine.beta, "beta"), whole_numbers(machine.rows, "rows")
    if beta is None or beta.ndim != 1 or rows.shape != beta.shape:
        raise InvalidDataError(
            f"The machine has coefficients of shape {np.shape(beta)} and numbers of samples of "
            f"shape {rows.shape}; expected (m,) of both."
        )
    m = len(beta)
    vectors = as_samples(machine.vectors, "vectors") if m else np.zeros((0, n_features))
    if vectors.shape != (m, n_features) or len(np.unique(rows)) < m or (rows < 0).any():
        raise InvalidDataError(
            f"The machine has support vectors of shape {vectors.shape} and {len(np.unique(rows))} "
            f"numbers of samples; expected {(m, n_features)} and {m}, from 0 on and none twice."
        )
    if m and int(rows.max()) >= n_rows:
        raise InvalidDataError(
            f"The machine has the support vector number {int(rows.max())}, and the chunks have "
            f"{n_rows} samples with a weight above zero; pass the training data. Where the machine "
            "counts samples of weight zero, too, fit it without them."
        )
    own = stored_machine(machine.offsets, 0)
    return Expansion(machine.kernel, vectors, rows, beta, own.intercept, own.width)
