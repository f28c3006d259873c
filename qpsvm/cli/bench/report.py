"""``qpsvm bench report``: report on a store of results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from qpsvm.cli.printing import console, note


def report(
    store: Annotated[Path, typer.Argument(help="A file that qpsvm bench run wrote.")],
    output: Annotated[
        list[Path] | None,
        typer.Option(help="Also write a full report (.html or .md). May be repeated."),
    ] = None,
) -> None:
    """Report on stored benchmark results: refuted claims, outcomes, times to equal certified gaps.

    Prints a summary. The HTML page has all rows, filters and plots in one file, and needs no
    network.
    """
    from qpsvm.benchmark import report as reports
    from qpsvm.benchmark.store import read

    paths = output or []
    for path in paths:
        reports.require_reportable(path)
    summary = reports.summarize(read(store))
    reports.print_summary(summary, console())
    for path in paths:
        reports.write(path, summary)
        note(f"Report written to {path}")
