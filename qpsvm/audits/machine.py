"""One audited program: the verifier's report, and the comparison with the exact optimum."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from qpsvm.audits.claims import Library, Problem, Solution
from qpsvm.audits.rounding import KernelRounding
from qpsvm.certificates import Certificate, PredictionComparison
from qpsvm.display import short_repr
from qpsvm.kkt_report import KKTReport
from qpsvm.machines.model import SupportVectorModel
from qpsvm.qp.kkt_residuals import Check
from qpsvm.reports.assessment import evidence_of_machine, predictions_of_machine
from qpsvm.reports.grade import Evidence, Grade

OWN_PREDICTIONS = "own_predictions"
"""Name of the check that compares a model's own predictions with those of its stored numbers."""

ACCUMULATED_ROUNDING = 1e-8
"""Rounding of a gradient that was added up in millions of steps, relative to its entries."""

NEARLY = 0.995
"""What explains this share of the gap explains the gap."""


@short_repr
@dataclass(frozen=True, eq=False)
class Optimum:
    """The exact optimum of a program, and the model's distance from it.

    Attributes
    ----------
    solution : SVMSolution or JointSolution
        Solved to a tenth of the audit's eps.
    proof : Certificate
        Of that solution: it bounds every figure of the exact optimum. Rigorous where that is
        affordable.
    excess : float
        ``(P - P^) / max(|P^|, floor)``: by how much the model's primal objective is above that of
        the solution.
    least_excess : float
        The model's objective is at least that far above the exact optimum, with what rounding may
        hide taken off. Zero where nothing is proven.
    predictions : PredictionComparison
        Of the model's training predictions with those of the *exact* optimum, sample by sample.
    decision_change : float
        Largest difference of the decision values of a training sample from those of the solution,
        in the model's own scale. ``predictions.largest_change`` bounds that from the exact optimum.
    """

    solution: Solution
    proof: Certificate
    excess: float
    least_excess: float
    predictions: PredictionComparison
    decision_change: float

    @property
    def predictions_differ(self) -> int | None:
        """Number of training labels proven to differ from the exact optimum's."""
        return self.predictions.n_different


@short_repr
@dataclass(frozen=True, eq=False)
class AuditedMachine:
    """One program of a model, with its verification and the exact optimum.

    Attributes
    ----------
    name : str
        What it tells apart; empty if the model is one machine.
    problem, solution : SVMProblem, SVMSolution (JointProblem, JointSolution)
        The program, and the model's solution in its scale.
    factor : float
        The model's own decision values are ``factor`` times those of the solution.
    report : KKTReport
        The verifier's report, with the certificate.
    optimum : Optimum or None
        None if it was not asked for.
    rounding : KernelRounding or None
        For libraries that keep the kernel in single precision.
    has_multipliers : bool
        Whether the model has dual variables of its own. If not, ``solution.alpha`` and
        ``solution.qp`` are those of the optimum: the model's weights are held against them.
    remarks : tuple of str
        What has to be known to read the report.
    """

    name: str
    problem: Problem
    solution: Solution
    factor: float
    report: KKTReport
    optimum: Optimum | None = None
    rounding: KernelRounding | None = None
    has_multipliers: bool = True
    remarks: tuple[str, ...] = ()

    def with_check(self, check: Check) -> AuditedMachine:
        """A copy with one more check in its report."""
        report = replace(self.report, checks=(*self.report.checks, check))
        return replace(self, report=report)

    @property
    def passed(self) -> bool:
        """Return whether the verifier's report passed."""
        return self.report.passed

    @property
    def certificate(self) -> Certificate | None:
        """Bounds on the optimum; None if the model's numbers allow none."""
        return self.report.certificate

    @property
    def relative_gap(self) -> float:
        """The certified relative gap."""
        return self.report.relative_gap

    @cached_property
    def predictions(self) -> PredictionComparison | None:
        """Comparison of the program's training predictions with the exact optimum's.

        Without ``optimum`` the model's own certificate says what is known; None if it says nothing.
        """
        if any(check.name == OWN_PREDICTIONS and not check.passed for check in self.report.checks):
            return None  # what is compared are predictions of the stored numbers
        if self.optimum is not None:
            return self.optimum.predictions
        return predictions_of_machine(self.problem, self.report, self.certificate)

    @cached_property
    def evidence(self) -> Evidence:
        """Evidence for the machine's grade: gap, tolerance and compared predictions."""
        best, report = self.optimum, self.report
        excess = None
        if best is not None and best.least_excess > report.eps:
            excess = best.excess
        return evidence_of_machine(
            self.problem, report, self.certificate, self.predictions, excess=excess
        )

    @property
    def grade(self) -> Grade:
        """Graded verdict on the fitted model: optimal, same predictions, small gap or wrong."""
        return self.evidence.grade

    def gap_reasons(self, library: Library) -> tuple[str, ...]:
        """Explain the gap: the library's stopping rule, or its float32 kernel cache.

        Empty if nothing does.
        """
        ended = f"{library.name} ended at its {library.stopped_at}" if library.stopped_at else ""
        if self.rounding is None:
            return (ended,) if ended else ()
        part = self.rounding.share
        if part >= NEARLY:
            return (f"{library.name}'s float32 kernel cache explains the gap",)
        most = self.largest_gap_at(library.tolerance)
        if most is not None and self.rounding.rounded_gap > most:
            return (
                f"{ended}, which leaves a gap of at most {most:.1e}: the model was fitted to other "
                "data, weights or parameters than these, or changed after the fit",
            )
        share = "nothing" if part <= 1.0 - NEARLY else f"{part:.0%}"
        of_gap = f"its float32 kernel cache explains {share} of the gap"
        return (f"{ended}; {of_gap}",) if ended else (of_gap,)

    def largest_gap_at(self, tolerance: float | None) -> float | None:
        """The largest gap that a stopping tolerance of LIBSVM leaves; None if it is not known.

        With an intercept between M and m no sample's condition is missed by more than ``m - M``,
        and a sample's share of the gap is at most that times the price of the sample. LIBSVM adds
        up its gradient step by step, for which ACCUMULATED_ROUNDING of the largest decision value
        is added to the tolerance. Where LIBSVM scales the program, nothing is said.
        """
        model = self.problem.model
        if tolerance is None or not isinstance(model, SupportVectorModel):
            return None
        c = model.conditions
        is_scaled = c.width_sign != 0.0 or c.intercept_price != 0.0 or self.factor != 1.0
        proof = self.certificate
        if is_scaled or proof is None or not np.isfinite(c.upper).all():
            return None
        largest = float(np.max(np.abs(proof.evaluation.scores), initial=1.0))
        return (tolerance + ACCUMULATED_ROUNDING * largest) * float(np.sum(c.upper))

    def to_dict(self) -> dict[str, object]:
        """All fields except arrays, in plain Python types, for JSON."""
        best, rounding = self.optimum, self.rounding
        return {
            "name": self.name,
            "factor": self.factor,
            "has_multipliers": self.has_multipliers,
            "grade": self.grade.value,
            **self.report.to_dict(),
            "predictions": self.predictions and self.predictions.to_dict(),
            "optimum": best
            and {
                "status": best.solution.status.value,
                "excess": best.excess,
                "relative_gap": best.proof.relative_gap,
                "least_excess": best.least_excess,
                "predictions_differ": best.predictions_differ,
                "decision_change": best.decision_change,
            },
            "rounding": rounding
            and {
                "gap": rounding.gap,
                "rounded_gap": rounding.rounded_gap,
                "share": rounding.share,
            },
            "remarks": list(self.remarks),
        }
