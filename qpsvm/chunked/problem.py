"""A training problem whose samples are in chunks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from qpsvm.chunked.certificate import (
    ChunkedCertificate,
    DualBound,
    dual_bound,
    primal_objective,
    summed,
)
from qpsvm.chunked.chunks import ChunkedSamples, Column
from qpsvm.chunked.contents import Task, run_pass
from qpsvm.chunked.evaluation import ChunkResult, Request, evaluate
from qpsvm.chunked.machine import ChunkedDual, Machine, stored_machine, stored_point
from qpsvm.chunked.solution import ChunkedSolution
from qpsvm.chunked.template import Template, template
from qpsvm.chunked.totals import Totals, first_pass
from qpsvm.exceptions import InvalidDataError, InvalidParameterError


@dataclass(frozen=True, eq=False)
class ChunkedProblem:
    r"""Training problem of a linear machine on more samples than memory holds, read in chunks.

    :math:`\min \; \tfrac{\kappa}{2} \lVert w \rVert^2 \; [{} + \tfrac{1}{2} b^2] + c_b b + c_t t +
    \sum_k \ell_k(v_k)`, as in ``qpsvm.machines.conditions``.

    Attributes
    ----------
    formulation : Family
    task : "binary", "regression" or "unlabelled"
    samples : ChunkedSamples
    totals : Totals
        What the first pass over the chunks found.
    template : Template
        The conditions on one sample of each class.

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

    formulation: Any
    task: Task
    samples: ChunkedSamples
    totals: Totals
    template: Template

    @property
    def solution_type(self) -> type[ChunkedSolution]:
        """The type of solutions, ``ChunkedSolution``."""
        return ChunkedSolution

    @property
    def n_chunks(self) -> int:
        """Number of chunks."""
        return len(self.samples.chunks)

    def request(self, machines: tuple[Machine, ...], **more: Any) -> Request:
        """A request to a pass about these machines; for ``more`` see ``Request``."""
        return Request(self.template, machines, digests=self.totals.digests, **more)

    def run(self, request: Request, *, verbose: bool = False) -> list[ChunkResult]:
        """Make one pass over the chunks; results are in the order of the chunks."""
        return run_pass(evaluate, self.task, self.samples.chunks, request, verbose=verbose)

    def measured(
        self, machine: Machine, point: ChunkedDual, *, verbose: bool = False
    ) -> tuple[float, float, DualBound]:
        """Compute the certificate of a machine and a dual point, in one pass over all chunks.

        Returns
        -------
        float, float, DualBound
            The primal objective of the machine, its rounding, and the bound of the dual point.
        """
        request = self.request((machine,), point=point)
        results = run_pass(evaluate, self.task, self.samples.chunks, request, verbose=verbose)
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

    def __repr__(self) -> str:
        size = f"{self.totals.n_rows} samples x {self.totals.n_features} features"
        return f"ChunkedProblem({self.formulation!r}, {size} in {self.n_chunks} chunks)"


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


def allowed(machine: Machine, form: Template) -> Machine:
    """Replace an intercept or a width that the family does not have by NaN."""
    has_intercept, has_width = form.intercept != "none", form.width_sign != 0.0
    return Machine(
        machine.coef,
        machine.intercept if has_intercept or machine.intercept == 0.0 else math.nan,
        machine.width if has_width or machine.width == 0.0 else math.nan,
    )
