"""The verdict of an audit: its grade, and one sentence with the reason for what is missing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from qpsvm.reports import assessment
from qpsvm.reports.grade import Evidence, whose

if TYPE_CHECKING:
    from qpsvm.audits.claims import Library
    from qpsvm.audits.result import Audit, AuditedMachine

NEARLY = 0.995
"""What explains that much of the gap explains it."""


def evidence_of_model(audit: Audit) -> Evidence:
    """What the grade of the whole model follows from."""
    worst, machines = audit.worst, audit.machines
    own = audit.own_predictions
    finding = "" if own is None else own.finding
    if len(machines) == 1:
        return replace(
            worst.evidence,
            reasons=reasons(audit),
            predictions=audit.predictions,
            finding=finding,
        )
    parts = [machine.evidence for machine in machines]
    refused = [part.refused for part in parts if part.refused]
    return replace(
        worst.evidence,
        passed=audit.passed,
        gap_upper=float(np.max([part.gap_upper for part in parts])),
        infeasibility=float(np.max([part.infeasibility for part in parts])),
        predictions=audit.predictions,
        refused=refused[0] if refused else "",
        whose=whose(worst.name, len(machines)),
        reasons=reasons(audit),
        finding=finding,
    )


def reasons(audit: Audit) -> tuple[str, ...]:
    """What the gap of the worst machine is made of."""
    machine = audit.worst
    return _reasons(audit.library, machine) if machine.relative_gap > audit.eps else ()


def evidence_of_machine(machine: AuditedMachine) -> Evidence:
    """What the grade of one program follows from."""
    best, report = machine.optimum, machine.report
    excess = None
    if best is not None and best.least_excess > report.eps:
        excess = best.excess
    return assessment.evidence_of_machine(
        machine.problem, report, machine.certificate, machine.predictions, excess=excess
    )


def _reasons(library: Library, machine: AuditedMachine) -> tuple[str, ...]:
    """What the gap is made of."""
    if machine.rounding is None:
        return (f"{library.name} ended at its {library.stopped_at}",) if library.stopped_at else ()
    part = machine.rounding.share
    stopped_at = f"{library.name}'s {library.stopped_at or 'stopping tolerance'}"
    if part >= NEARLY:
        return (f"{library.name}'s float32 kernel cache explains the gap",)
    if part <= 1.0 - NEARLY:
        return (f"{stopped_at} explains the gap, its float32 kernel cache nothing of it",)
    return (
        f"{stopped_at} explains {1.0 - part:.0%} of the gap, its float32 kernel cache {part:.0%}",
    )
