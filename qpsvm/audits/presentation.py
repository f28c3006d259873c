"""An audit as text, and as a page for ``qpsvm.reports``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from qpsvm.display import LINES, first_lines

if TYPE_CHECKING:
    from qpsvm.audits.result import Audit, AuditedMachine
    from qpsvm.reports import Page, Report
    from qpsvm.verification import KKTReport

MACHINES = 16
"""Machines that are printed: a screen has room for them and a few remarks."""

COLUMNS = ("objective", "above optimum", "relative gap", "worst check", "labels differ", "float32")


def text(audit: Audit) -> str:
    """The headline, a row per machine, and for a single one its checks."""
    names = [machine.name or "machine" for machine in audit.machines]
    width = max(map(len, ("", *names)))
    lines = [
        f"{audit.grade.title} at eps={audit.eps:g}: {audit.verdict}",
        f"  {audit.model}, fitted by {audit.library.name}"
        + (f", {audit.library.stopped_at}" if audit.library.stopped_at else ""),
        "  " + " " * width + "".join(f"{name:>14}" for name in COLUMNS),
    ]
    rows = list[str]()
    for name, machine in zip(names, audit.machines, strict=True):
        cells = "".join(f"{cell:>14}" for cell in row(machine))
        rows.append(f"  {name:<{width}}{cells}  {machine.grade.title}")
    lines += first_lines(rows, MACHINES, "further machines: .machines")
    if len(audit.machines) == 1:
        lines.append(f"  checks at eps={audit.eps:g}, {audit.machines[0].report.problem}")
        lines += _checks(audit.machines[0].report, LINES - len(lines) - len(remarks(audit)))
    notes = [f"  note: {remark}" for remark in remarks(audit)]
    lines += first_lines(notes, LINES - len(lines), "further remarks: .report()")
    return "\n".join(lines)


def _checks(report: KKTReport, room: int) -> list[str]:
    """The lines of a report, without as many of the checks that passed as there is no room for."""
    lines = str(report).splitlines()[1:]  # the first one is a verdict without a grade
    surplus = len(lines) - room
    if surplus <= 0:
        return lines
    names = {check.name for check in report.checks if check.passed}
    passed = [i for i, line in enumerate(lines) if line.split()[0] in names]
    hidden = set(passed[-(surplus + 1) :])  # one more, for the line that says so
    kept = [line for i, line in enumerate(lines) if i not in hidden]
    return [*kept, f"  ... {len(hidden)} checks that passed: .machines[0].report"]


def row(machine: AuditedMachine) -> tuple[str, ...]:
    """One cell for each of ``COLUMNS``; a dash for what is not known."""
    best, rounding = machine.optimum, machine.rounding
    differ = None if best is None else best.predictions_differ
    return (
        f"{machine.report.objective:.8g}",
        "-" if best is None else f"{best.excess:.1e}",
        f"{machine.relative_gap:.1e}",
        f"{machine.report.worst:.1e}",
        "-" if differ is None else str(differ),
        "-" if rounding is None else f"{rounding.share:.0%}",
    )


def remarks(audit: Audit) -> tuple[str, ...]:
    """Those of the model and of its machines, each once."""
    of_machines = (remark for machine in audit.machines for remark in machine.remarks)
    return tuple(dict.fromkeys((*audit.remarks, *of_machines)))


def page(audit: Audit, source: str) -> Page:
    """A report per machine; the first begins with the verdict."""
    from qpsvm import reports

    built: list[Report] = []
    for machine in audit.machines:
        sentences = () if built else audit.remarks
        report = reports.build(
            machine.problem,
            machine.solution,
            machine.report,
            remarks=(*sentences, *machine.remarks),
            facts=_facts(audit, machine),
            facts_title="Audit",
            source=source,
            predictions=machine.predictions,
            evidence=audit.evidence if len(audit.machines) == 1 else machine.evidence,
        )
        built.append(replace(report, name=machine.name))
    title = f"Audit of {audit.model}"
    by = f"fitted by {audit.library.name}"
    subtitle = f"{by}; {source}" if source else by
    return reports.Page(title, subtitle, tuple(built), assessed=audit.evidence.headline)


def _facts(audit: Audit, machine: AuditedMachine) -> Mapping[str, Any]:
    facts: dict[str, Any] = {"model": audit.model, "fitted by": audit.library.name}
    if audit.library.stopped_at:
        facts["stopped at"] = audit.library.stopped_at
    if machine.factor != 1.0:
        facts["the model's decision values over those of the program"] = machine.factor
    best, rounding = machine.optimum, machine.rounding
    if best is not None:
        facts["objective above the computed optimum, relative"] = best.excess
        facts["certified relative gap of the computed optimum"] = best.proof.relative_gap
        if machine.predictions is not None and best.predictions.n_same is not None:
            facts["training labels proven to be the exact optimum's"] = best.predictions.n_same
            facts["training labels proven to differ"] = best.predictions.n_different
            facts["training labels undecided"] = best.predictions.n_undecided
        facts["largest change of a decision value, at most"] = best.predictions.largest_change
    if rounding is not None:
        facts["duality gap"] = rounding.gap
        facts["duality gap with a float32 kernel"] = rounding.rounded_gap
        facts["share of the gap that float32 explains"] = rounding.share
    return facts
