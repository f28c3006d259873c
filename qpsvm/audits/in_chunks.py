"""Audits of kernel machines whose training samples are in chunks, by one pass over tiles."""

from __future__ import annotations

import math
from dataclasses import dataclass

from qpsvm.audits import inputs as checked
from qpsvm.audits.inputs import Estimator
from qpsvm.audits.libsvm_estimators import kernel_of, stored_numbers
from qpsvm.chunked import ChunkedReport, Expansion, chunked_kernel_problem
from qpsvm.chunked.contents import Task
from qpsvm.display import short_repr
from qpsvm.exceptions import AuditRefusedError, InvalidDataError, InvalidParameterError
from qpsvm.formulations import EpsilonRegression, SoftMargin
from qpsvm.formulations.family import Family
from qpsvm.numerics.arguments import an
from qpsvm.reports.grade import ESTIMATED
from qpsvm.reports.numbers import at_most


@short_repr
@dataclass(frozen=True, eq=False)
class ChunkedAudit(ChunkedReport):
    """The audit of a kernel machine on training samples in chunks.

    Attributes
    ----------
    eps : float
    certificate : ChunkedCertificate
        Its ``rounding`` is an estimate, as in memory.
    problem : str
        The program it was held against.
    model : str
        Its class.
    n_support : int
    n_rows : int
    n_wrong : int or None
        Training samples on the wrong side, by the stored numbers; None for a regression.
    """

    model: str
    n_support: int
    n_rows: int
    n_wrong: int | None

    @property
    def verdict(self) -> str:
        """The finding in one sentence."""
        gap = self.certificate.relative_gap_upper
        if self.passed:
            return f"Proven optimal to a relative gap of {at_most(gap)}{ESTIMATED}."
        if math.isfinite(gap):
            return (
                f"Not proven optimal to {self.eps:g}: proven to a relative gap of {at_most(gap)}, "
                f"and weights within {at_most(self.certificate.weight_error)} of the optimum's"
                f"{ESTIMATED}."
            )
        return "Nothing is proven: the dual variables are not feasible."

    def to_dict(self) -> dict[str, object]:
        """All figures by name, for JSON."""
        names = ("model", "verdict", "n_support", "n_rows", "n_wrong")
        return {**super().to_dict(), **{name: getattr(self, name) for name in names}}

    def __str__(self) -> str:
        wrong = "" if self.n_wrong is None else f", {self.n_wrong} on the wrong side"
        return (
            f"{super().__str__()}\n  {self.model}: {self.verdict}\n"
            f"  {self.n_rows} samples, {self.n_support} support vectors{wrong}"
        )


def audit_in_chunks(
    model: Estimator,
    X: object,
    y: object = None,
    sample_weight: object = None,
    *,
    eps: float = 1e-8,
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
    names = {kind.__name__ for kind in type(model).__mro__}
    fitted = ("support_", "support_vectors_", "dual_coef_", "intercept_")
    if not all(hasattr(model, name) for name in fitted) or names.isdisjoint(("SVC", "SVR")):
        raise AuditRefusedError(
            f"On samples in chunks {an(model)} cannot be audited; pass a fitted SVC of two classes "
            "or an SVR, or all samples at once."
        )
    try:
        kernel = kernel_of(model, None)
        problem = chunked_kernel_problem(*_program(model), kernel, X, y, sample_weight)
    except InvalidParameterError as error:
        raise AuditRefusedError(str(error)) from error
    rows = checked.whole_numbers(model, "support_")
    coefficients, intercepts = stored_numbers(model, 2, len(rows))
    vectors = checked.matrix(model, "support_vectors_")
    machine = Expansion(problem.kernel, vectors, rows, coefficients[0], float(intercepts[0]))
    try:
        certificate, n_wrong = problem.judged(machine)
    except InvalidDataError as error:  # the samples themselves were checked before
        raise AuditRefusedError(str(error)) from error
    return ChunkedAudit(
        eps=eps,
        model=type(model).__name__,
        problem=repr(problem),
        certificate=certificate,
        n_support=len(rows),
        n_rows=problem.totals.n_rows,
        n_wrong=n_wrong if hasattr(model, "classes_") else None,
    )


def _program(model: Estimator) -> tuple[Family, Task]:
    """Determine the formulation that an audited model claims to solve, and its kind of task."""
    C = checked.number(model, "C")
    if not hasattr(model, "classes_"):
        return EpsilonRegression(C, checked.number(model, "epsilon")), "regression"
    classes = checked.classes_of(model)
    if len(classes) != 2:
        raise AuditRefusedError(
            f"The model has {len(classes)} classes; on samples in chunks a machine of two classes "
            "can be audited. Audit one pair at a time."
        )
    factors = checked.numbers(model, "class_weight_", (2,), "its classes")
    weights = dict(zip(classes.tolist(), factors.tolist(), strict=True))
    return SoftMargin(C, class_weight=None if (factors == 1.0).all() else weights), "binary"
