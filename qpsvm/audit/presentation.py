"""An audit as text, and as a page for ``qpsvm.reports``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qpsvm.audit.result import Audit, AuditedMachine
    from qpsvm.reports import Page, Report

COLUMNS = ("objective", "above optimum", "relative gap", "worst check", "labels differ", "float32")


def text(audit: Audit) -> str:
    """The verdict, a row per machine, and for a single one its checks."""
    names = [machine.name or "machine" for machine in audit.machines]
    width = max(map(len, ("", *names)))
    lines = [
        audit.verdict,
        f"  {audit.model}, fitted by {audit.library.name}"
        + (f", {audit.library.stopped_at}" if audit.library.stopped_at else ""),
        "  " + " " * width + "".join(f"{name:>14}" for name in COLUMNS),
    ]
    for name, machine in zip(names, audit.machines, strict=True):
        cells = "".join(f"{cell:>14}" for cell in row(machine))
        lines.append(f"  {name:<{width}}{cells}" + ("" if machine.passed else "  FAIL"))
    if len(audit.machines) == 1:
        lines.append(str(audit.machines[0].report))
    lines += [f"  note: {remark}" for remark in remarks(audit)]
    return "\n".join(lines)


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
        sentences = () if built else (audit.verdict, *audit.remarks)
        report = reports.build(
            machine.problem,
            machine.solution,
            machine.report,
            remarks=(*sentences, *machine.remarks),
            facts=_facts(audit, machine),
            facts_title="Audit",
            source=source,
        )
        built.append(replace(report, name=machine.name))
    title = f"Audit of {audit.model}"
    by = f"fitted by {audit.library.name}"
    return reports.Page(title, f"{by}; {source}" if source else by, tuple(built))


def _facts(audit: Audit, machine: AuditedMachine) -> Mapping[str, Any]:
    facts: dict[str, Any] = {"model": audit.model, "fitted by": audit.library.name}
    if audit.library.stopped_at:
        facts["stopped at"] = audit.library.stopped_at
    if machine.factor != 1.0:
        facts["the model's decision values over those of the program"] = machine.factor
    best, rounding = machine.optimum, machine.rounding
    if best is not None:
        facts["objective above the exact optimum, relative"] = best.excess
        if best.predictions_differ is not None:
            facts["training predictions that differ from the optimum's"] = best.predictions_differ
        facts["largest change of a decision value"] = best.decision_change
    if rounding is not None:
        facts["duality gap"] = rounding.gap
        facts["duality gap with a float32 kernel"] = rounding.rounded_gap
        facts["share of the gap that float32 explains"] = rounding.share
    return facts
