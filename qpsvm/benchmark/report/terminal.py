"""The report on a console: what is refuted, what became of every cell, and the means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qpsvm.benchmark.report.document import document
from qpsvm.benchmark.report.summary import Summary
from qpsvm.reports.text import print_sections

if TYPE_CHECKING:
    from rich.console import Console

LISTED = 10


def print_summary(summary: Summary, console: Console) -> None:
    """The short form of a report; the verdict comes last."""
    content = document(summary, listed=LISTED, detailed=False)
    print_sections(content, console)
    console.print(f"{content.title}: {content.verdict}", soft_wrap=True)
