"""One audited program: the verifier's report, and the comparison with the exact optimum."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

from qpsvm.audits.claims import Library, Problem, Solution
from qpsvm.audits.comparison import Optimum, of_machine, ranges
from qpsvm.audits.rebuilt import Decisions
from qpsvm.audits.rounding import NEARLY, KernelRounding
from qpsvm.certificates import Certificate, PredictionComparison
from qpsvm.display import short_repr
from qpsvm.machines.model import SupportVectorModel
from qpsvm.qp.kkt_residuals import Check
from qpsvm.reports.grade import Evidence, Grade, evidence_of_machine, predictions_of_machine
from qpsvm.reports.numbers import at_most, residual
from qpsvm.verification import KKTReport

OWN_PREDICTIONS = "own_predictions"
"""Name of the check that compares a model's own predictions with those of its stored numbers."""

COLUMNS = ("objective", "above optimum", "relative gap", "worst check", "labels differ", "float32")
"""Titles of the columns in the printed table of an audit's machines."""


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
    decisions : Decisions
        Decision values of all training samples in the scale of the program, with the rounding of
        the model's own arithmetic.
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
    decisions: Decisions
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
        proof = self.certificate
        if proof is None:
            return None
        own = self.decisions[self.problem.data.kept]
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

    def gap_reason(self, library: Library) -> str:
        """Explain the gap: the library's stopping rule, or its float32 kernel cache.

        Empty if nothing does.
        """
        ended = f"{library.name} ended at its {library.stopped_at}" if library.stopped_at else ""
        found = self.rounding
        if found is None:
            return ended
        if found.share >= NEARLY:
            return f"{library.name}'s float32 kernel cache explains the gap"
        lost = found.digits
        if lost is not None and found.rounded_gap > found.stopping_gap + lost.gap:
            most = at_most(found.stopping_gap + lost.gap)
            return (
                f"{ended}, which leaves a gap of at most {most} with a float32 kernel, and this "
                f"one is {residual(found.rounded_gap)} there: the model was fitted to other data, "
                "weights or parameters than these, or changed after the fit"
            )
        explained = "none" if found.share <= 1.0 - NEARLY else f"{found.share:.0%}"
        words = [ended, f"float32 kernel values account for {explained} of the gap"]
        remedy = "subtract the mean of every feature and scale it before the fit"
        if lost is not None and math.isfinite(lost.error):
            words.append(
                f"rounding of its own kernel values (up to {at_most(lost.error)} of the largest) "
                f"and of their sums can leave a gap of {at_most(lost.gap)} on these samples: "
                f"{remedy}"
            )
        elif lost is not None:
            what = "its own kernel values may have no correct digit on these samples"
            words.append(f"{what}: {remedy}")
        return "; ".join(word for word in words if word)

    @property
    def cells(self) -> tuple[str, ...]:
        """Cells of the machine's row in the audit table, with a dash for unknown values."""
        best, rounding = self.optimum, self.rounding
        differ = None if best is None else best.predictions_differ
        return (
            f"{self.report.objective:.8g}",
            "-" if best is None else f"{best.excess:.1e}",
            f"{self.relative_gap:.1e}",
            f"{self.report.worst:.1e}",
            "-" if differ is None else str(differ),
            "-" if rounding is None else f"{rounding.share:.0%}",
        )

    @property
    def facts(self) -> dict[str, object]:
        """Names and values for the table of a report."""
        facts = dict[str, object]()
        if self.factor != 1.0:
            facts["the model's decision values over those of the program"] = self.factor
        best, rounding = self.optimum, self.rounding
        if best is not None:
            compared = best.predictions
            facts["objective above the computed optimum, relative"] = best.excess
            facts["certified relative gap of the computed optimum"] = best.proof.relative_gap
            if self.predictions is not None and compared.n_same is not None:
                facts["training labels proven to be the exact optimum's"] = compared.n_same
                facts["training labels proven to differ"] = compared.n_different
                facts["training labels undecided"] = compared.n_undecided
            facts["largest change of a decision value, at most"] = compared.largest_change
        if rounding is not None:
            facts["duality gap"] = rounding.gap
            facts["duality gap with a float32 kernel"] = rounding.rounded_gap
            facts["share of the gap that float32 explains"] = rounding.share
        return facts

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
