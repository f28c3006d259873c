"""A training problem of a kernel machine whose samples are in chunks: it can be verified."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from qpsvm.chunked.certificate import ChunkedCertificate
from qpsvm.chunked.chunks import ChunkedSamples, Column
from qpsvm.chunked.contents import Task, run_pass
from qpsvm.chunked.evaluation import Request
from qpsvm.chunked.expansion import Expansion, tile, tile_certificate
from qpsvm.chunked.machine import stored_machine
from qpsvm.chunked.problem import allowed, first_pass
from qpsvm.chunked.template import AsksConditions, Template, template
from qpsvm.chunked.totals import Totals
from qpsvm.data.samples import as_samples
from qpsvm.exceptions import InvalidDataError, InvalidParameterError
from qpsvm.kernels import Kernel
from qpsvm.machines.exact_types import same_kernel
from qpsvm.machines.prediction import as_float64
from qpsvm.numerics.arrays import Index
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
    beta, rows = as_float64(machine.beta, "beta"), _whole_numbers(machine.rows)
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


def _whole_numbers(rows: object) -> Index:
    array = np.asarray(rows)
    if array.dtype.kind not in "iu" and array.size:
        raise InvalidDataError(
            f"The machine's rows are of type {array.dtype}; pass whole numbers of samples."
        )
    return array.astype(np.intp)
