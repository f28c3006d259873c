"""The result of an audit: one record for the model, one for each program it claims to solve."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

from qpsvm.audits.claims import Library, Problem, Solution
from qpsvm.audits.comparison import Optimum, of_machine, ranges
from qpsvm.audits.own_predictions import NAME, OwnPredictions
from qpsvm.audits.rebuilt import Decisions
from qpsvm.audits.rounding import NEARLY, KernelRounding
from qpsvm.certificates import Certificate, PredictionComparison
from qpsvm.certificates.reduced import MACHINES
from qpsvm.display import LINES, first_lines, short_repr, wrapped
from qpsvm.machines.model import SupportVectorModel
from qpsvm.qp.kkt_residuals import Check
from qpsvm.reports.content import Page
from qpsvm.reports.files import Formats
from qpsvm.reports.grade import (
    Evidence,
    Grade,
    evidence_of_machine,
    evidence_together,
    predictions_of_machine,
)
from qpsvm.reports.numbers import at_most, residual
from qpsvm.reports.report import build
from qpsvm.verification import KKTReport

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
        if any(check.name == NAME and not check.passed for check in self.report.checks):
            return None  # what is compared are predictions of the stored numbers
        if self.optimum is not None:
            return self.optimum.predictions
        proof = self.certificate
        if proof is None:
            return None
        own = self.decisions[self.problem.data.kept]
        if not isinstance(self.problem.model, SupportVectorModel):
            known = ranges(self.problem, own, proof, self.problem.data.X).scaled(self.factor)
            return replace(of_machine(self.problem, known), n_computed_differ=None)
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
        error, lost = found.kernel_error, found.lost_gap
        if error is not None and found.rounded_gap > found.stopping_gap + lost:
            return (
                f"{ended}, which leaves a gap of at most {at_most(found.stopping_gap + lost)} with "
                f"a float32 kernel, and this one is {residual(found.rounded_gap)} there: the model "
                "was fitted to other data, weights or parameters than these, or changed after the "
                "fit"
            )
        explained = "none" if found.share <= 1.0 - NEARLY else f"{found.share:.0%}"
        words = [ended, f"float32 kernel values account for {explained} of the gap"]
        if error is not None:
            what = "its own kernel values may have no correct digit on these samples"
            if math.isfinite(error):
                what = (
                    f"rounding of its own kernel values (up to {at_most(error)} of the largest) "
                    f"and of their sums can leave a gap of {at_most(lost)} on these samples"
                )
            words.append(f"{what}: subtract the mean of every feature and scale it before the fit")
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
        if self.optimum is not None:
            facts |= self.optimum.facts(self.predictions)
        if self.rounding is not None:
            facts["duality gap"] = self.rounding.gap
            facts["duality gap with a float32 kernel"] = self.rounding.rounded_gap
            facts["share of the gap that float32 explains"] = self.rounding.share
        return facts

    def to_dict(self) -> dict[str, object]:
        """All fields except arrays, in plain Python types, for JSON."""
        return {
            "name": self.name,
            "factor": self.factor,
            "has_multipliers": self.has_multipliers,
            "grade": self.grade.value,
            **self.report.to_dict(),
            "predictions": self.predictions and self.predictions.to_dict(),
            "optimum": self.optimum and self.optimum.to_dict(),
            "rounding": self.rounding and self.rounding.to_dict(),
            "remarks": list(self.remarks),
        }


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Formats):
    """The result of ``qpsvm.audit``: reports per program, compared predictions, a grade.

    Attributes
    ----------
    model : str
        What was audited, in words.
    library : Library
        Who fitted it.
    eps : float
        The relative accuracy asked for.
    machines : tuple of AuditedMachine
        One per program; several for a model of several classes.
    combined : PredictionComparison or None
        Of the training predictions of all machines together; None for a single machine, and where
        no optimum was asked for.
    remarks : tuple of str
        What was assumed about the model.
    own_predictions : OwnPredictions or None
        What the model's own ``predict`` says of the training data, beside its stored numbers; None
        for what has no ``predict``.
    predicts_otherwise : bool
        Whether the machine is inside a model that makes other predictions of its decision values,
        by probabilities or a ``predict`` of its own: then none are counted.
    """

    model: str
    library: Library
    eps: float
    machines: tuple[AuditedMachine, ...]
    combined: PredictionComparison | None = None
    remarks: tuple[str, ...] = ()
    own_predictions: OwnPredictions | None = None
    predicts_otherwise: bool = False

    @property
    def passed(self) -> bool:
        """Return whether there are machines and all of them passed."""
        return bool(self.machines) and all(machine.passed for machine in self.machines)

    @property
    def predictions(self) -> PredictionComparison | None:
        """Comparison of the whole model's training predictions with the exact optimum's."""
        if self.own_predictions is not None and not self.own_predictions.passed:
            return None  # what is compared are predictions of the stored numbers
        if self.predicts_otherwise:
            return None
        return self.machines[0].predictions if len(self.machines) == 1 else self.combined

    @property
    def predictions_differ(self) -> int | None:
        """Number of training labels proven to differ from the exact optimum's.

        None for a regression, and where nothing is known.
        """
        return None if self.predictions is None else self.predictions.n_different

    @cached_property
    def evidence(self) -> Evidence:
        """Evidence for the audit's grade: gap, tolerance and compared predictions.

        Of several machines it is that of the worst one, with what all of them predict.
        """
        worst, machines = self.worst, self.machines
        reason = worst.gap_reason(self.library) if worst.relative_gap > self.eps else ""
        found = evidence_together(
            [machine.name for machine in machines],
            [machine.report for machine in machines],
            [machine.evidence for machine in machines],
            self.predictions,
        )
        finding = "" if self.own_predictions is None else self.own_predictions.finding
        return replace(found, reasons=(reason,) if reason else (), finding=finding)

    @property
    def grade(self) -> Grade:
        """Grade of the model, one of five."""
        return self.evidence.grade

    @property
    def relative_gap(self) -> float:
        """The largest certified relative gap of the machines."""
        return max((machine.relative_gap for machine in self.machines), default=math.inf)

    @property
    def worst(self) -> AuditedMachine:
        """The machine that decides the verdict."""
        return max(self.machines, key=lambda m: (not m.passed, m.relative_gap, m.report.worst))

    @property
    def n_samples(self) -> int:
        """Number of training samples."""
        return max(machine.problem.data.n_given for machine in self.machines)

    @property
    def verdict(self) -> str:
        """Headline of the audit in one sentence: the finding, its reason, proven predictions."""
        return self.evidence.headline.sentence

    def to_dict(self) -> dict[str, object]:
        """All fields except arrays, in plain Python types, for JSON."""
        own = self.own_predictions
        return {
            "model": self.model,
            "library": vars(self.library).copy(),
            "passed": self.passed,
            "grade": self.grade.value,
            "verdict": self.verdict,
            "eps": self.eps,
            "relative_gap": self.relative_gap,
            "predictions": self.predictions and self.predictions.to_dict(),
            "predictions_differ": self.predictions_differ,
            "own_predictions": own and own.to_dict(),
            "machines": [machine.to_dict() for machine in self.machines],
            "remarks": list(self.remarks),
        }

    @property
    def all_remarks(self) -> tuple[str, ...]:
        """The remarks of the model and of its machines, without repetition."""
        of_machines = (remark for machine in self.machines for remark in machine.remarks)
        return tuple(dict.fromkeys((*self.remarks, *of_machines)))

    def as_page(self) -> Page:
        return self.report()

    def report(self, source: str = "") -> Page:
        """Build a page with one report per machine, for ``qpsvm.reports.write``.

        ``save``, ``to_html`` and the other formats write it without a source.

        Parameters
        ----------
        source : str
            Where the data came from, in words.
        """
        facts: dict[str, object] = {"model": self.model, "fitted by": self.library.name}
        if self.library.stopped_at:
            facts["stopped at"] = self.library.stopped_at
        built = []
        for i, machine in enumerate(self.machines):
            one = build(
                machine.problem,
                machine.solution,
                machine.report,
                remarks=(*(() if i else self.remarks), *machine.remarks),
                facts=facts | machine.facts,
                facts_title="Audit",
                source=source,
                predictions=machine.predictions,
                evidence=self.evidence if len(self.machines) == 1 else machine.evidence,
            )
            built.append(replace(one, name=machine.name))
        by = f"fitted by {self.library.name}"
        return Page(
            f"Audit of {self.model}",
            f"{by}; {source}" if source else by,
            tuple(built),
            assessed=self.evidence.headline,
        )

    def __str__(self) -> str:
        names = [machine.name or "machine" for machine in self.machines]
        width = max(map(len, ("", *names)))
        stopped_at = self.library.stopped_at
        lines = [
            f"{self.grade.title} at eps={self.eps:g}: {self.verdict}",
            f"  {self.model}, fitted by {self.library.name}"
            + (f", {stopped_at}" if stopped_at else ""),
            "  " + " " * width + "".join(f"{name:>14}" for name in COLUMNS),
        ]
        rows = list[str]()
        for name, machine in zip(names, self.machines, strict=True):
            cells = "".join(f"{cell:>14}" for cell in machine.cells)
            rows.append(f"  {name:<{width}}{cells}  {machine.grade.title}")
        lines += first_lines(rows, MACHINES, "further machines: .machines")
        notes = [f"  note: {remark}" for remark in self.all_remarks]
        if len(self.machines) == 1:
            report = self.machines[0].report
            lines.append(f"  checks at eps={self.eps:g}, {report.problem}")
            lines += _checks(report, LINES - len(lines) - len(notes))
        lines += first_lines(notes, LINES - len(lines), "further remarks: .all_remarks")
        return "\n".join(lines)

    def __repr__(self) -> str:
        verdict = "passed" if self.passed else "failed"
        return wrapped(
            f"Audit({verdict} at eps={self.eps:g}, {self.grade.value}, {self.model}, relative gap "
            f"{self.relative_gap:.2e}; print it for every machine)"
        )


def _checks(report: KKTReport, room: int) -> list[str]:
    """Lines of a verification report, checks that passed last, as far as there is room."""
    lines = str(report).splitlines()[1:]  # the first one is a verdict without a grade
    passed = {check.name for check in report.checks if check.passed}
    lines.sort(key=lambda line: line.split()[0] in passed)
    return first_lines(lines, room, "checks that passed: .machines[0].report")
