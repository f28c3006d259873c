"""The result of an audit."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from qpsvm.audits.claims import Library
from qpsvm.audits.machine import COLUMNS, AuditedMachine
from qpsvm.audits.own_predictions import OwnPredictions
from qpsvm.certificates import PredictionComparison
from qpsvm.display import LINES, first_lines, wrapped
from qpsvm.reports.content import Page
from qpsvm.reports.files import Formats
from qpsvm.reports.grade import Evidence, Grade, whose
from qpsvm.reports.report import build
from qpsvm.verification import KKTReport

MACHINES = 16
"""Machines that are printed: a screen has room for them and a few remarks."""


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
    """

    model: str
    library: Library
    eps: float
    machines: tuple[AuditedMachine, ...]
    combined: PredictionComparison | None = None
    remarks: tuple[str, ...] = ()
    own_predictions: OwnPredictions | None = None

    @property
    def passed(self) -> bool:
        """Return whether there are machines and all of them passed."""
        return bool(self.machines) and all(machine.passed for machine in self.machines)

    @property
    def predictions(self) -> PredictionComparison | None:
        """Comparison of the whole model's training predictions with the exact optimum's."""
        if self.own_predictions is not None and not self.own_predictions.passed:
            return None  # what is compared are predictions of the stored numbers
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
        worst, parts = self.worst, [machine.evidence for machine in self.machines]
        reason = worst.gap_reason(self.library) if worst.relative_gap > self.eps else ""
        found = replace(
            worst.evidence,
            reasons=(reason,) if reason else (),
            predictions=self.predictions,
            finding="" if self.own_predictions is None else self.own_predictions.finding,
        )
        if len(parts) == 1:
            return found
        return replace(
            found,
            passed=self.passed,
            gap_upper=float(np.max([part.gap_upper for part in parts])),
            infeasibility=float(np.max([part.infeasibility for part in parts])),
            refused=next((part.refused for part in parts if part.refused), ""),
            whose=whose(worst.name, len(parts)),
        )

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
    """Lines of a verification report, with passed checks left out where they do not fit."""
    lines = str(report).splitlines()[1:]  # the first one is a verdict without a grade
    surplus = len(lines) - room
    if surplus <= 0:
        return lines
    names = {check.name for check in report.checks if check.passed}
    passed = [i for i, line in enumerate(lines) if line.split()[0] in names]
    hidden = set(passed[-(surplus + 1) :])  # one more, for the line that says so
    kept = [line for i, line in enumerate(lines) if i not in hidden]
    return [*kept, f"  ... {len(hidden)} checks that passed: .machines[0].report"]
