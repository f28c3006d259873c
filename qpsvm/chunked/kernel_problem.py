"""A training problem of a kernel machine whose samples are in chunks: it can be verified."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from qpsvm.chunked.certificate import ChunkedCertificate
from qpsvm.chunked.chunks import ChunkedSamples, Column
from qpsvm.chunked.contents import Contents, Task, run_pass
from qpsvm.chunked.expansion import Expansion, stored_expansion
from qpsvm.chunked.problem import first_pass
from qpsvm.chunked.template import AsksConditions, Template, template
from qpsvm.chunked.tiles import Tile, TileRequest, tile, tile_certificate
from qpsvm.chunked.totals import Totals
from qpsvm.chunked.violations import Request, allowed, require_unchanged
from qpsvm.exceptions import InvalidDataError, InvalidParameterError
from qpsvm.kernels import Kernel
from qpsvm.machines.exact_types import same_kernel
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

    def tiles(self, machine: Expansion) -> list[Tile]:
        """Evaluate a machine in one pass over the chunks."""
        starts = np.concatenate([[0], np.cumsum(self.totals.n_rows_by_chunk)])
        asked = Request(self.template, self.totals.classes, (), digests=self.totals.digests)
        request = TileRequest(asked, machine, tuple(starts.tolist()))
        return run_pass(_tile, self.task, self.samples.chunks, request, verbose=False)

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
        found = self.tiles(fair)
        with np.errstate(all="ignore"):  # as in ``_tile``
            certificate = tile_certificate(self.template, self.totals, fair, found)
        return certificate, sum(part.n_wrong for part in found)

    def __repr__(self) -> str:
        size = f"{self.totals.n_rows} samples x {self.totals.n_features} features"
        return (
            f"ChunkedKernelProblem({self.formulation!r}, {self.kernel}, {size} in "
            f"{self.n_chunks} chunks)"
        )


def _tile(contents: Contents, request: TileRequest, name: str, number: int) -> Tile:
    with np.errstate(all="ignore"):  # what is not finite fails closed
        found = tile(contents, request, name, number)  # its errors say more
    require_unchanged(contents, request.asked, name, number)
    return found


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
