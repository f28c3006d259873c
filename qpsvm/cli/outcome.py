"""Output of ``solve`` and ``verify``: print, write the report, exit."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from qpsvm.cli.printing import console, note, print_json

if TYPE_CHECKING:
    from qpsvm.reports import Report


@dataclass(frozen=True)
class CommandResult:
    """The result of a command: its report, warnings and JSON entries.

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
    extra: dict[str, object] | None = None


def finish(
    outcome: CommandResult, *, report_path: Path | None, as_json: bool, verbose: bool
) -> None:
    """Print the outcome, in full if ``verbose``, write the report, and raise the exit code."""
    from qpsvm import reports
    from qpsvm.reports.text import print_page

    built = outcome.report
    if as_json:
        content = {"command": outcome.command, **built.to_dict(), **(outcome.extra or {})}
        print_json({**content, "warnings": list(outcome.warnings)})
    else:
        print_page(reports.Page.of(built), console(), in_full=verbose)
        for warning in outcome.warnings:
            note(f"Warning: {warning}")
    if report_path is not None:
        reports.write(report_path, built)
        if not as_json:
            note(f"Report written to {report_path}")
    raise typer.Exit(0 if built.passed else 1)
