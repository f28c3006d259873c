"""Audits of kernel machines whose training samples are in chunks.

A machine ``f(x) = sum_j beta_j k(z_j, x) + b`` with m support vectors is held against the program
on all n samples by one pass: every chunk evaluates its tile of the kernel matrix, n_c x m, a block
of rows at a time, and returns the sum of its losses and the decision values of its support vectors.
The primal objective needs nothing else, and the dual one, in which all other dual variables are
zero, follows from the decision values of the support vectors alone::

    P = 1/2 beta'K beta + sum_i loss(p_i - r_i f(x_i))       D = sum_j p_j a_j - 1/2 beta'K beta

Nothing of size n, and no n x m matrix, is ever in memory at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from qpsvm.audits.readers import attributes, libsvm_estimators
from qpsvm.audits.readers.attributes import Estimator
from qpsvm.chunked import ChunkedCertificate, ChunkedProblem, chunked_problem
from qpsvm.chunked.contents import Contents, Task
from qpsvm.chunked.dask_pass import run_pass
from qpsvm.chunked.dual import DualBound
from qpsvm.chunked.sums import Sum
from qpsvm.chunked.violations import Request, coded
from qpsvm.display import short_repr
from qpsvm.exceptions import AuditRefusedError
from qpsvm.formulations import EpsilonRegression, SoftMargin
from qpsvm.formulations.family import Family
from qpsvm.kernels import Kernel
from qpsvm.machines.losses import losses
from qpsvm.machines.prediction import expanded
from qpsvm.numerics.arrays import Dense, Index, Matrix, Vector, is_sparse, row_blocks
from qpsvm.numerics.precision import EPS
from qpsvm.numerics.rows import row_squares


@dataclass(frozen=True, eq=False)
class Expansion:
    """A kernel machine with one decision function.

    Attributes
    ----------
    kernel : Kernel
    vectors : array or CSR array of shape (m, d)
        Support vectors.
    rows : array of int of shape (m,)
        Which of the training samples they are, among those with a weight above zero.
    beta : array of shape (m,)
    intercept : float
    """

    kernel: Kernel
    vectors: Matrix
    rows: Index
    beta: Vector
    intercept: float


@short_repr
@dataclass(frozen=True, eq=False)
class ChunkedAudit:
    """The audit of a kernel machine on training samples in chunks.

    Attributes
    ----------
    eps : float
    model : str
        Its class.
    problem : str
        The program it was held against.
    certificate : ChunkedCertificate
        Its ``rounding`` is an estimate here, as sums over kernel values are not compensated.
    n_support : int
    n_rows : int
    n_wrong : int or None
        Training samples on the wrong side; None for a regression.
    """

    eps: float
    model: str
    problem: str
    certificate: ChunkedCertificate
    n_support: int
    n_rows: int
    n_wrong: int | None

    @property
    def passed(self) -> bool:
        """Return whether the model is proven to be optimal to a relative gap of ``eps``."""
        return self.certificate.passed(self.eps)

    @property
    def verdict(self) -> str:
        """The finding in one sentence."""
        gap = self.certificate.relative_gap_upper
        if self.passed:
            return f"Proven optimal to a relative gap of {gap:.1e}."
        if math.isfinite(gap):
            return (
                f"Not optimal to {self.eps:g}: proven to a relative gap of {gap:.1e}, and weights "
                f"within {self.certificate.weight_error:.1e} of the optimum's."
            )
        return "Nothing is proven: the dual variables are not feasible."

    def to_dict(self) -> dict[str, Any]:
        """All figures by name, for JSON."""
        return {
            "model": self.model,
            "problem": self.problem,
            "eps": self.eps,
            "passed": self.passed,
            "verdict": self.verdict,
            "n_support": self.n_support,
            "n_rows": self.n_rows,
            "n_wrong": self.n_wrong,
            "certificate": self.certificate.to_dict(),
        }

    def __str__(self) -> str:
        c = self.certificate
        wrong = "" if self.n_wrong is None else f", {self.n_wrong} on the wrong side"
        return "\n".join(
            [
                f"{'PASS' if self.passed else 'FAIL'} at eps={self.eps:g}: {self.model}",
                f"  {self.verdict}",
                f"  {self.n_rows} samples, {self.n_support} support vectors{wrong}",
                f"  optimum in [{c.dual_objective:.12g}, {c.primal_objective:.12g}], rounding "
                f"about {c.rounding:.1e}",
            ]
        )


@runtime_checkable
class HasSupportVectors(Protocol):
    """Type of fitted kernel machines that store support vectors and their coefficients."""

    support_: object
    support_vectors_: object
    dual_coef_: object
    intercept_: object


def audit_in_chunks(
    model: object, X: object, y: object = None, sample_weight: object = None, *, eps: float = 1e-8
) -> ChunkedAudit:
    """Bound how far a fitted kernel machine is from optimal, reading its samples in chunks.

    Parameters
    ----------
    model : estimator
        A fitted ``SVC`` of two classes, or an ``SVR``, of scikit-learn or with its attributes.
    X, y, sample_weight
        As for ``qpsvm.chunked.chunked``, in the order in which the model had them.
    eps : float
        Relative gap to be certified.

    Raises
    ------
    AuditRefusedError
        Another model, one of more than two classes, or one that was fitted to other samples.
    InvalidDataError, ChunkError
        As ``qpsvm.chunked.chunked``.
    """
    if not isinstance(model, HasSupportVectors):
        raise AuditRefusedError(
            f"A {type(model).__name__} cannot be audited on samples in chunks; a fitted SVC of two "
            "classes or an SVR can."
        )
    is_classifier = hasattr(model, "classes_")
    formulation, task = _formulation(model, is_classifier)
    problem = chunked_problem(formulation, task, X, y, sample_weight)
    machine = _expansion(model, problem)
    sizes = run_pass(_n_rows, task, problem.samples.chunks, None, verbose=False)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    if len(machine.rows) and int(machine.rows.max()) >= int(starts[-1]):
        raise AuditRefusedError(
            f"The model has the support vector number {int(machine.rows.max())}, and the chunks "
            f"have {int(starts[-1])} samples; pass the training data."
        )
    request = problem.request(()), machine, tuple(starts.tolist())
    tiles = run_pass(_tile, task, problem.samples.chunks, request, verbose=False)
    return ChunkedAudit(
        eps=eps,
        model=type(model).__name__,
        problem=repr(problem),
        certificate=_certificate(problem, machine, tiles),
        n_support=len(machine.beta),
        n_rows=problem.totals.n_rows,
        n_wrong=sum(tile.n_wrong for tile in tiles) if is_classifier else None,
    )


@dataclass(frozen=True, eq=False)
class Tile:
    """The losses of one chunk, and the decision values of its support vectors.

    Attributes
    ----------
    losses : Sum of shape (1,)
    rounding : float
        Of the losses, estimated.
    parts : array of shape (s, 2)
        ``sum_j max(beta_j, 0) k(z_j, x)`` and the same of ``max(-beta_j, 0)``, at the support
        vectors of the chunk.
    required, upper : arrays of shape (s,)
        p and the upper bound of the dual variable of each.
    signs : array of shape (s,)
        r.
    which : array of int of shape (s,)
        Their numbers among the support vectors.
    n_wrong : int
    """

    losses: Sum
    rounding: float
    parts: Dense
    required: Vector
    upper: Vector
    signs: Vector
    which: Index
    n_wrong: int


def _formulation(model: Estimator, is_classifier: bool) -> tuple[Family, Task]:
    C = attributes.number(model, "C")
    if not is_classifier:
        return EpsilonRegression(C, attributes.number(model, "epsilon")), "regression"
    classes = attributes.classes(model)
    if len(classes) != 2:
        raise AuditRefusedError(
            f"The model has {len(classes)} classes; on samples in chunks a machine of two classes "
            "can be audited. Audit one pair at a time."
        )
    factors = attributes.numbers(model, "class_weight_", 1)
    attributes.require_shape(model, "class_weight_", factors, classes.shape, "its classes")
    weights = None
    if not (factors == 1.0).all():
        weights = dict(zip(classes.tolist(), factors.tolist(), strict=True))
    return SoftMargin(C, class_weight=weights), "binary"


def _expansion(model: Estimator, problem: ChunkedProblem) -> Expansion:
    coefficients, intercepts = libsvm_estimators.stored_numbers(type(model).__name__, model)
    vectors = attributes.matrix(model, "support_vectors_")
    rows = attributes.whole_numbers(model, "support_")
    m = len(rows)
    attributes.require_shape(model, "dual_coef_", coefficients, (1, m), f"{m} support vectors")
    attributes.require_shape(model, "intercept_", intercepts, (1,), "one machine")
    shape = (m, problem.totals.n_features)
    if vectors.shape != shape or len(np.unique(rows)) < m or (rows < 0).any():
        raise AuditRefusedError(
            f"The model has support vectors of shape {vectors.shape} and {len(np.unique(rows))} "
            f"numbers of samples in support_; expected {shape} and {m}, none twice."
        )
    kernel = libsvm_estimators.fitted_kernel(model)
    return Expansion(kernel, vectors, rows, coefficients[0], float(intercepts[0]))


def _n_rows(contents: Contents, request: None, name: str, number: int) -> int:
    del request, name, number
    return contents.n_rows


def _tile(
    contents: Contents,
    request: tuple[Request, Expansion, tuple[int, ...]],
    name: str,
    number: int,
) -> Tile:
    """Evaluate the machine on the rows of a chunk."""
    asked, machine, starts = request
    form = asked.template
    codes, targets = coded(contents, asked, name)
    here = np.flatnonzero((machine.rows >= starts[number]) & (machine.rows < starts[number + 1]))
    own = machine.rows[here] - starts[number]
    _require_same(contents, machine, here, own, name)
    beta = np.column_stack([np.maximum(machine.beta, 0.0), np.maximum(-machine.beta, 0.0)])
    reach = float(np.abs(machine.beta) @ np.sqrt(np.abs(machine.kernel.diagonal(machine.vectors))))
    unit = (4.0 * math.sqrt(len(beta) + 1.0) + contents.n_features + 8) * EPS
    total, rounding, n_wrong = Sum((1,)), 0.0, 0
    parts, found = np.empty((len(own), 2)), np.empty((len(own), 3))
    for rows, X in contents.blocks():
        sums = expanded(machine.kernel, machine.vectors, beta, X)
        f = sums[:, 0] - sums[:, 1] + machine.intercept
        some = None if targets is None else targets[rows]
        terms = form.terms(codes[rows], some, contents.weights[rows], row_squares(X))
        v = terms.required - terms.signs * np.tile(f, len(form.signs))
        total.add(np.array([np.sum(losses(v, terms.lower, terms.upper, terms.curvature))]))
        size = np.sqrt(np.abs(machine.kernel.diagonal(X))) * reach + abs(machine.intercept)
        error = unit * (np.tile(size, len(form.signs)) + np.abs(terms.required))
        rounding += float(np.sum(np.where(v > -error, terms.upper * error, 0.0)))
        if form.task == "binary":
            n_wrong += int(np.count_nonzero((f > 0.0) != (codes[rows] == 1)))
        inside = np.flatnonzero((own >= rows.start) & (own < rows.stop))
        place = own[inside] - rows.start
        parts[inside] = sums[place]
        # of the two sides of a tube, the one that a positive or negative beta belongs to
        side = np.where(machine.beta[here[inside]] < 0.0, len(form.signs) - 1, 0)
        pick = side * (rows.stop - rows.start) + place
        columns = (terms.required[pick], terms.upper[pick], terms.signs[pick])
        found[inside] = np.column_stack(columns)
    return Tile(total, rounding, parts, found[:, 0], found[:, 1], found[:, 2], here, n_wrong)


def _require_same(
    contents: Contents, machine: Expansion, here: Index, own: Index, name: str
) -> None:
    """Refuse a model whose support vectors are not the training samples that it says."""
    for some in row_blocks(len(own), contents.n_features):
        X, Z = contents.X[own[some]], machine.vectors[here[some]]
        if is_sparse(X) or is_sparse(Z):
            same = (X - Z).count_nonzero() == 0 if is_sparse(X) and is_sparse(Z) else False
            same = same or bool((_filled(X) == _filled(Z)).all())
        else:
            same = bool((np.asarray(X) == np.asarray(Z)).all())
        if not same:
            raise AuditRefusedError(
                f"Chunk {name}: a sample differs from the support vector that the model says it "
                "is; pass the training data in the order in which the model was fitted."
            )


def _filled(X: Matrix) -> Dense:
    return X.toarray() if is_sparse(X) else np.asarray(X)


def _certificate(
    problem: ChunkedProblem, machine: Expansion, tiles: list[Tile]
) -> ChunkedCertificate:
    """Put together the sums of all tiles: both objectives."""
    form, total = problem.template, Sum((1,))
    for tile in tiles:
        total.add_sum(tile.losses)
    order = np.concatenate([tile.which for tile in tiles])
    beta = machine.beta[order]
    parts = np.concatenate([tile.parts for tile in tiles])
    required, upper, signs = (
        np.concatenate([getattr(tile, name) for tile in tiles])
        for name in ("required", "upper", "signs")
    )
    a = signs * beta
    split = np.column_stack([np.maximum(beta, 0.0), np.maximum(-beta, 0.0)])
    Q = split.T @ parts  # of the positive and of the negative part of beta
    sizes = float(np.abs(split).sum()) * float(np.abs(parts).max(initial=0.0))
    unit = (4.0 * math.sqrt(len(beta) + 1.0) + problem.totals.n_features + 8) * EPS
    square = float(Q[0, 0] + Q[1, 1] - Q[0, 1] - Q[1, 0])
    primal = 0.5 * square + float(total.value[0])
    rounding = math.fsum(tile.rounding for tile in tiles) + unit * sizes
    bound = _dual(a, beta, required, upper, Q, unit * sizes)
    return ChunkedCertificate.between(form, problem.totals, primal, rounding, bound)


def _dual(
    a: Vector, beta: Vector, required: Vector, upper: Vector, Q: Dense, rounding: float
) -> DualBound:
    """The dual objective of a feasible point near the machine's dual variables.

    Where a dual variable exceeds its bound, or the sums of either side differ, the dual variables
    of a side are multiplied by a number below 1, which keeps all others within their bounds.
    """
    if not (a >= 0.0).all() or not np.isfinite(a).all():
        return DualBound(-math.inf, math.inf)
    within = 1.0 / float(np.max(a / upper, initial=1.0))
    positive = beta > 0.0
    sums = np.array([float(np.sum(a[positive])), float(np.sum(a[~positive]))])
    factors = within * np.min(sums) / np.where(sums > 0.0, sums, 1.0)
    linear = np.array(
        [float(required[positive] @ a[positive]), float(required[~positive] @ a[~positive])]
    )
    signs = np.array([1.0, -1.0])
    weighted = factors * signs
    objective = float(factors @ linear - 0.5 * weighted @ Q @ weighted)
    size = float(np.abs(required) @ a)
    return DualBound(objective, rounding + 16.0 * EPS * (len(a) ** 0.5) * (size + abs(objective)))
