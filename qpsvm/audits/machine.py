"""One audited program: the verifier's report, and the comparison with the exact optimum."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

from qpsvm.audits.claims import Library, Problem, Solution
from qpsvm.audits.comparison import Optimum, of_machine, ranges
from qpsvm.audits.rebuilt import Decisions
from qpsvm.audits.rounding import KernelRounding
from qpsvm.audits.training_kernel import LostDigits
from qpsvm.certificates import Certificate, PredictionComparison
from qpsvm.display import short_repr
from qpsvm.kkt_report import KKTReport
from qpsvm.machines.model import SupportVectorModel
from qpsvm.qp.kkt_residuals import Check
from qpsvm.reports.assessment import evidence_of_machine, predictions_of_machine
from qpsvm.reports.grade import Evidence, Grade
from qpsvm.reports.numbers import at_most, residual

OWN_PREDICTIONS = "own_predictions"
"""Name of the check that compares a model's own predictions with those of its stored numbers."""

NEARLY = 0.995
"""What explains this share of the gap explains the gap."""


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
    decisions : Decisions or None
        Decision values of all training samples in the scale of the program, with the rounding of
        the model's own arithmetic.
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
    decisions: Decisions | None = None
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
        proof, own = self.certificate, self.decisions
        if proof is None or own is None:
            return None
        own = own[self.problem.data.kept]
        if not isinstance(self.problem.model, SupportVectorModel):
            known = ranges(self.problem, own, proof, self.problem.data.X)
            found = of_machine(self.problem, known, self.factor)
            return replace(found, n_computed_differ=None)
        compared = predictions_of_machine(self.problem, self.report, proof, own.rounding)
        if compared is None:
            return None
        return replace(compared, largest_change=abs(self.factor) * compared.largest_change)

    @cached_property
    def evidence(self) -> Evidence:
        """Evidence for the machine's grade: gap, tolerance and compared predictions."""
        best, report = self.optimum, self.report
        found = evidence_of_machine(self.problem, report, self.certificate, self.predictions)
        if best is None or not best.least_scaled > report.eps:
            return found
        return replace(found, excess=best.scaled_excess, above=best.above)

    @property
    def grade(self) -> Grade:
        """Graded verdict on the fitted model: optimal, same predictions, small gap or wrong."""
        return self.evidence.grade

    def gap_reasons(self, library: Library) -> tuple[str, ...]:
        """Explain the gap: the library's stopping rule, or its float32 kernel cache.

        Empty if nothing does.
        """
        ended = f"{library.name} ended at its {library.stopped_at}" if library.stopped_at else ""
        found = self.rounding
        if found is None:
            return (ended,) if ended else ()
        part = found.share
        if part >= NEARLY:
            return (f"{library.name}'s float32 kernel cache explains the gap",)
        lost = found.digits
        if lost is not None and found.rounded_gap > found.stopping_gap + lost.gap:
            most = at_most(found.stopping_gap + lost.gap)
            return (
                f"{ended}, which leaves a gap of at most {most} with a float32 kernel, and this "
                f"one is {residual(found.rounded_gap)} there: the model was fitted to other data, "
                "weights or parameters than these, or changed after the fit",
            )
        explained = "none" if part <= 1.0 - NEARLY else f"{part:.0%}"
        words = [ended] if ended else []
        words.append(f"float32 kernel values account for {explained} of the gap")
        if lost is not None:
            words.append(_lost(lost))
        return ("; ".join(words),)

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
                "most_excess": best.most_excess,
                "predictions_differ": best.predictions_differ,
                "decision_change": best.decision_change,
            },
            "rounding": rounding
            and {
                "gap": rounding.gap,
                "rounded_gap": rounding.rounded_gap,
                "share": rounding.share,
                "kernel_error": rounding.digits and rounding.digits.error,
            },
            "remarks": list(self.remarks),
        }


def _lost(digits: LostDigits) -> str:
    """Say how large the errors of LIBSVM's kernel values are, and how to avoid them."""
    remedy = "subtract the mean of every feature and scale it before the fit"
    if not math.isfinite(digits.error):
        return f"its own kernel values may have no correct digit on these samples: {remedy}"
    return (
        f"rounding of its own kernel values (up to {at_most(digits.error)} of the largest) and of "
        f"their sums can leave a gap of {at_most(digits.gap)} on these samples: {remedy}"
    )
