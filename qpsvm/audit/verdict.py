"""The verdict of an audit, in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qpsvm.audit.claims import Library
    from qpsvm.audit.result import Audit, AuditedMachine

SMALL, LARGE = 1e-3, 10.0
"""Shares of the objective in between are written as percentages."""

WHOLE = 0.1
"""From here on whole percentages will do."""

NEARLY = 0.995
"""What explains that much of the gap explains it."""


def sentence(audit: Audit) -> str:
    """What was found, why, and what follows for predictions."""
    machine, own = audit.worst, audit.own_predictions
    if own is not None and not own.passed:  # whatever the numbers are, others predict
        gap = f"{machine.relative_gap:.1e}"
        return f"{own.finding}; the certified relative gap of the stored numbers is {gap}."
    parts = [_finding(audit, machine)]
    if machine.relative_gap > audit.eps:
        parts += _reason(audit.library, machine)
    parts += _consequence(audit)
    return "; ".join(parts) + "."


def _finding(audit: Audit, machine: AuditedMachine) -> str:
    gap, count = f"{machine.relative_gap:.1e}", len(audit.machines)
    if audit.passed:
        which = "the certified relative gap"
        if count > 1:
            which = f"the largest certified relative gap of {count} machines"
        return f"Optimal: {which} is {gap} (allowed {audit.eps:g})"
    failed, whose = "", ""
    if count > 1:
        failed = f" ({sum(not m.passed for m in audit.machines)} of {count} machines)"
        whose = f" of {machine.name!r}"
    bound = f"certified relative gap {gap}, allowed {audit.eps:g}"
    best = machine.optimum
    if best is not None and best.excess > audit.eps:
        above = share(best.excess)
        return f"Not optimal{failed}: the objective{whose} exceeds the optimum by {above} ({bound})"
    if machine.relative_gap > audit.eps:
        return f"Not verified{failed}: certified relative gap{whose} {gap}, allowed {audit.eps:g}"
    check = max(machine.report.checks, key=lambda c: c.scaled / c.tolerance)
    return (
        f"Not verified{failed}: the certified relative gap{whose} is {gap}, but {check.name} is "
        f"{check.scaled:.1e} (allowed {check.tolerance:.0e})"
    )


def _reason(library: Library, machine: AuditedMachine) -> list[str]:
    """What the gap is made of."""
    if machine.rounding is None:
        return [f"{library.name} ended at its {library.stopped_at}"] if library.stopped_at else []
    part = machine.rounding.share
    stopped_at = f"{library.name}'s {library.stopped_at or 'stopping tolerance'}"
    if part >= NEARLY:
        return [f"{library.name}'s float32 kernel cache explains the gap"]
    if part <= 1.0 - NEARLY:
        return [f"{stopped_at} explains the gap, its float32 kernel cache nothing of it"]
    return [
        f"{stopped_at} explains {1.0 - part:.0%} of the gap, its float32 kernel cache {part:.0%}"
    ]


def _consequence(audit: Audit) -> list[str]:
    n, differ = audit.n_samples, audit.predictions_differ
    best = [m.optimum for m in audit.machines if m.optimum is not None]
    if len(best) < len(audit.machines):
        return []
    if differ is None:
        change = max(optimum.decision_change for optimum in best)
        return [f"its training predictions are within {change:.2g} of the exact optimum's"]
    if differ == 0:
        return [f"all {n} training predictions are those of the exact optimum"]
    return [f"{differ} of {n} training predictions differ from the exact optimum's"]


def share(part: float) -> str:
    """A share of the best objective, readable at any size."""
    if part < SMALL:
        return f"{part:.1e} of its value"
    if part >= LARGE:
        return f"{part:.3g} times its value"
    return f"{part:.0%}" if part >= WHOLE else f"{100.0 * part:.2g}%"
