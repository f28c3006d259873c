"""The end of ``solve`` and ``verify``: print, write the report, exit."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from qpsvm.cli.printing import console, note, print_json, table, verdict

if TYPE_CHECKING:
    from qpsvm.reports import Report


@dataclass(frozen=True)
class Outcome:
    """What a command found.

    Attributes
    ----------
    command : str
    report : Report
    warnings : tuple of str
    extra : dict
        More entries of the JSON output.
    """

    command: str
    report: Report
    warnings: tuple[str, ...] = ()
    extra: dict[str, Any] | None = None


def finish(outcome: Outcome, *, report_path: Path | None, as_json: bool) -> None:
    """Print the outcome, write the report, and raise the exit code."""
    from qpsvm import reports

    built = outcome.report
    if as_json:
        content = {"command": outcome.command, **built.to_dict(), **(outcome.extra or {})}
        print_json({**content, "warnings": list(outcome.warnings)})
    else:
        _print(built)
        for warning in outcome.warnings:
            note(f"Warning: {warning}")
    if report_path is not None:
        title = "SVM solved and verified" if built.passed else "SVM not verified"
        reports.write(report_path, reports.Page(title, built.source, (built,)))
        if not as_json:
            note(f"Report written to {report_path}")
    raise typer.Exit(0 if built.passed else 1)


def _print(built: Report) -> None:
    verified, out = built.verified, console()
    statistics = built.statistics
    out.print(f"{built.family}, {built.form} form, {built.kernel} kernel")
    out.print(
        f"{built.source}: {built.n_samples} samples x {built.n_features} features "
        f"({built.storage}), classes {built.classes[0]!r} ({built.class_counts[0]}) and "
        f"{built.classes[1]!r} ({built.class_counts[1]})"
    )
    iterations = "" if statistics.iterations is None else f", {statistics.iterations} iterations"
    out.print(
        f"{statistics.backend} {statistics.version}{iterations}, "
        f"{statistics.total_seconds:.2f} s; status: {built.status}"
    )
    rows = table(
        ("check", "left"), ("absolute", "right"), ("scaled", "right"), ("allowed", "right"),
        ("", "left"),
    )  # fmt: skip
    for check in verified.checks:
        rows.add_row(
            check.name,
            f"{check.absolute:.1e}",
            f"{check.scaled:.1e}",
            f"{check.tolerance:.0e}",
            verdict("PASS" if check.passed else "FAIL"),
        )
    out.print(rows)
    certificate, summary = verified.certificate, verified.summary
    if certificate is not None:
        out.print(
            f"optimum in [{certificate.dual_objective:.12g}, {certificate.primal_objective:.12g}], "
            f"relative gap {certificate.relative_gap:.1e}"
        )
    if summary is not None:
        out.print(str(summary))
    out.print(f"training accuracy {built.accuracy:.4f}")
    for line in verified.notes:
        out.print(f"note: {line}")
    out.print(verdict("PASS" if built.passed else "FAIL"), f"at eps={verified.eps:g}")
