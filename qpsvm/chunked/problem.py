"""Training problems whose samples are in chunks, of linear machines and of kernel machines."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from qpsvm.chunked.certificate import (
    ChunkedCertificate,
    DualBound,
    dual_bound,
    primal_objective,
    summed,
)
from qpsvm.chunked.chunks import ChunkedSamples, Column
from qpsvm.chunked.contents import Result, Task, Work, run_pass
from qpsvm.chunked.evaluation import ChunkResult, Request, evaluate
from qpsvm.chunked.expansion import stored_expansion
from qpsvm.chunked.machine import ChunkedDual, Machine, stored_machine, stored_point
from qpsvm.chunked.solution import ChunkedSolution
from qpsvm.chunked.template import Template, template
from qpsvm.chunked.tiles import tile, tile_certificate
from qpsvm.chunked.totals import Totals, first_pass
from qpsvm.exceptions import InvalidDataError, InvalidParameterError
from qpsvm.kernels import Kernel
from qpsvm.machines.exact_types import same_kernel


@dataclass(frozen=True, eq=False)
class ProblemInChunks:
    """Base class of training problems whose samples are read chunk by chunk.

    Attributes
    ----------
    formulation : Family
    task : "binary", "regression" or "unlabelled"
    samples : ChunkedSamples
    totals : Totals
        What the first pass over the chunks found.
    template : Template
        The conditions on one sample of each class.
    """

    formulation: Any
    task: Task
    samples: ChunkedSamples
    totals: Totals
    template: Template

    @property
    def n_chunks(self) -> int:
        """Number of chunks into which the samples are divided."""
        return len(self.samples.chunks)

    @property
    def machines(self) -> str:
        """The machines that may be trained, in a few words."""
        return repr(self.formulation)

    def over_chunks(
        self, work: Work[Result], request: object, *, verbose: bool = False
    ) -> list[Result]:
        """Compute a function of every chunk in one pass; results are in the order of the chunks."""
        chunks, digests = self.samples.chunks, self.totals.digests
        return run_pass(work, self.task, chunks, request, digests=digests, verbose=verbose)

    def __repr__(self) -> str:
        size = f"{self.totals.n_rows} samples x {self.totals.n_features} features"
        return f"{type(self).__name__}({self.machines}, {size} in {self.n_chunks} chunks)"


class ChunkedProblem(ProblemInChunks):
    r"""Training problem of a linear machine on more samples than memory holds, read in chunks.

    :math:`\min \; \tfrac{\kappa}{2} \lVert w \rVert^2 \; [{} + \tfrac{1}{2} b^2] + c_b b + c_t t +
    \sum_k \ell_k(v_k)`, as in ``qpsvm.machines.conditions``.

    Examples
    --------
    >>> import numpy as np, qpsvm
    >>> from qpsvm.chunked import chunked
    >>> X, y = np.arange(8.0).reshape(8, 1), np.arange(8) > 3
    >>> problem = qpsvm.SoftMargin(C=1.0).dual(chunked(X, y, rows=3))
    >>> problem
    ChunkedProblem(SoftMargin(C=1.0), 8 samples x 1 features in 3 chunks)
    >>> solution = qpsvm.solve(problem)
    >>> bool(qpsvm.verify(problem, solution).passed)
    True
    """

    solution_type: ClassVar[type[ChunkedSolution]] = ChunkedSolution

    def run(self, request: Request, *, verbose: bool = False) -> list[ChunkResult]:
        """Make one pass over the chunks; results are in the order of the chunks."""
        return self.over_chunks(evaluate, request, verbose=verbose)

    def measured(
        self, machine: Machine, point: ChunkedDual, *, verbose: bool = False
    ) -> tuple[float, float, DualBound]:
        """Compute the certificate of a machine and a dual point, in one pass over all chunks.

        Returns
        -------
        float, float, DualBound
            The primal objective of the machine, its rounding, and the bound of the dual point.
        """
        request = Request(self.template, (machine,), point=point)
        results = self.over_chunks(evaluate, request, verbose=verbose)
        with np.errstate(all="ignore"):  # as in ``evaluate``
            primal = primal_objective(self.template, machine, results)
            sums = summed([result.fixed for result in results])
            return *primal, dual_bound(self.template, sums)

    def certified(self, solution: object) -> ChunkedCertificate:
        """Bound how far any solution is from the optimum, by one pass over the samples.

        Raises
        ------
        InvalidParameterError
            The solution is no ``ChunkedSolution``, or a subclass of it.
        InvalidDataError
            It is of another problem.
        """
        if type(solution) is not ChunkedSolution:
            raise InvalidParameterError(
                "A ChunkedProblem is verified with a ChunkedSolution, got "
                f"{type(solution).__name__}; qpsvm.solve(problem) returns one."
            )
        form, totals = self.template, self.totals
        machine = stored_machine(solution.machine, totals.n_features)
        point = stored_point(solution.dual, totals.n_features, self.n_chunks)
        stated, classes = (solution.is_novelty, solution.is_ball), solution.classes
        is_ours = stated == (form.task == "unlabelled", form.ball)
        if type(classes) is np.ndarray and form.classes is not None:
            is_ours &= classes.shape == (2,) and bool(np.all(classes == form.classes))
        else:
            is_ours &= classes is form.classes
        if not is_ours:
            raise InvalidDataError(
                f"The solution predicts for the classes {classes} (is_novelty, is_ball: "
                f"{stated}) and the problem has {totals.classes}; it is of another problem."
            )
        return ChunkedCertificate.of(form, totals, *self.measured(allowed(machine, form), point))


def chunked_problem(
    formulation: Any, task: Task, X: object, y: Column, sample_weight: Column
) -> ChunkedProblem:
    """Build a problem on samples in chunks, by one pass over them.

    Parameters
    ----------
    formulation : Family
        The family of machines with its parameters.
    task : "binary", "regression" or "unlabelled"
        The kind of y: one of two labels, a number, or nothing.
    X, y, sample_weight
        As for ``qpsvm.chunked.chunked``.

    Returns
    -------
    ChunkedProblem
        To be solved, verified and certified like any other problem.

    Raises
    ------
    InvalidDataError, ChunkError, MissingPackageError
        As ``qpsvm.chunked.chunked``; samples that an SVM cannot be trained on, with their chunk.
    InvalidParameterError
        A formulation that needs all samples at once.

    Examples
    --------
    >>> import numpy as np, qpsvm
    >>> samples = qpsvm.chunked.chunked(np.arange(8.0).reshape(8, 1), np.arange(8) > 3, rows=3)
    >>> chunked_problem(qpsvm.SoftMargin(C=1.0), "binary", samples, None, None)
    ChunkedProblem(SoftMargin(C=1.0), 8 samples x 1 features in 3 chunks)
    """
    samples, totals = first_pass(task, X, y, sample_weight)
    return ChunkedProblem(formulation, task, samples, totals, template(formulation, task, totals))


# --- kernel machines -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class ChunkedKernelProblem(ProblemInChunks):
    """A training problem of a kernel machine whose samples are read chunk by chunk.

    It cannot be solved: training evaluates pairs of samples. ``qpsvm.verify`` and ``qpsvm.certify``
    judge a machine (``Expansion``) by one pass over its tiles of the kernel matrix.

    Attributes
    ----------
    kernel : Kernel

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

    kernel: Kernel

    @property
    def machines(self) -> str:
        """The machines that may be trained, in a few words."""
        return f"{self.formulation!r}, {self.kernel}"

    def certified(self, machine: object) -> ChunkedCertificate:
        """Bound how far a kernel machine is from the optimum, by one pass over the samples."""
        return self.judged(machine)[0]

    def judged(self, machine: object) -> tuple[ChunkedCertificate, int]:
        """Certify a machine by one pass over all chunks: bound its gap, count training errors.

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
        found = self.over_chunks(tile, (self.template, fair, starts))
        with np.errstate(all="ignore"):  # as in ``tile``
            certificate = tile_certificate(self.template, self.totals, fair, found)
        return certificate, sum(part.n_wrong for part in found)


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
    return ChunkedKernelProblem(formulation, task, samples, totals, form, kernel)


def allowed(machine: Machine, form: Template) -> Machine:
    """Replace an intercept or a width that the family does not have by NaN."""
    has_intercept, has_width = form.intercept != "none", form.width_sign != 0.0
    return Machine(
        machine.coef,
        machine.intercept if has_intercept or machine.intercept == 0.0 else math.nan,
        machine.width if has_width or machine.width == 0.0 else math.nan,
    )
