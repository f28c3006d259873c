"""Presentation of one audited program: a table row, and a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from qpsvm.audits.claims import Library
from qpsvm.audits.machine import AuditedMachine
from qpsvm.kkt_report import KKTReport
from qpsvm.reports.grade import Evidence
from qpsvm.reports.report import Report, build

MACHINES = 16
"""Machines that are printed: a screen has room for them and a few remarks."""

COLUMNS = ("objective", "above optimum", "relative gap", "worst check", "labels differ", "float32")


def row(machine: AuditedMachine) -> tuple[str, ...]:
    """Cells of one machine's row in the audit table, with a dash for unknown values."""
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


def checks(report: KKTReport, room: int) -> list[str]:
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


def machine_report(
    machine: AuditedMachine,
    model: str,
    library: Library,
    *,
    remarks: tuple[str, ...],
    evidence: Evidence | None,
    source: str,
) -> Report:
    """Build a report about one program of a model.

    Parameters
    ----------
    machine : AuditedMachine
    model : str
        What was audited, in words.
    library : Library
        Who fitted it.
    remarks : tuple of str
        Shown before those of the machine.
    evidence : Evidence or None
        What the grade of the whole model follows from; None: that of the machine.
    source : str
        Where the data came from, in words.
    """
    built = build(
        machine.problem,
        machine.solution,
        machine.report,
        remarks=(*remarks, *machine.remarks),
        facts=_facts(model, library, machine),
        facts_title="Audit",
        source=source,
        predictions=machine.predictions,
        evidence=evidence or machine.evidence,
    )
    return replace(built, name=machine.name)


def _facts(model: str, library: Library, machine: AuditedMachine) -> Mapping[str, object]:
    facts: dict[str, object] = {"model": model, "fitted by": library.name}
    if library.stopped_at:
        facts["stopped at"] = library.stopped_at
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
