"""Print short reports and comparisons on a console."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.changes import Comparison
from benchmarks.report.comparison import agree, comparison_document
from benchmarks.report.document import document
from benchmarks.report.summary import Summary
from qpsvm.reports import print_sections

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

LISTED = 10


def print_summary(summary: Summary, console: Console) -> None:
    """Print the short form of a report; the verdict comes first.

    Parameters
    ----------
    summary : Summary
        As ``summarize`` returns it.
    console : rich.console.Console
        Where to print.

    Examples
    --------
    >>> import io
    >>> from rich.console import Console
    >>> from benchmarks.cells import Cell, Instance
    >>> from benchmarks.report import summarize
    >>> from benchmarks.rows import Row
    >>> from benchmarks.store import Results
    >>> cell = Cell(Instance("SoftMargin(C=1.0)", "iris"), "cvxopt", eps=1e-6)
    >>> row = Row(cell, "optimal", primal=1.0, dual=1.0, size=1.0, total_seconds=0.1)
    >>> summary = summarize(Results({"suite": {"name": "small"}}, (row,)))
    >>> console = Console(file=io.StringIO(), width=80)
    >>> print_summary(summary, console)
    >>> print(console.file.getvalue().splitlines()[0])
    Benchmark small: 1 measurement of 1 contestant on 1 program. No claim of an optimum was refuted.
    """
    content = document(summary, listed=LISTED, detailed=False)
    console.print(f"{content.title}: {content.verdict}", soft_wrap=True)
    console.print()
    print_sections(content, console)


def print_comparison(
    comparisons: Sequence[Comparison], names: tuple[str, str], console: Console
) -> bool | None:
    """Print a comparison; return whether the rankings agree, None if that is unknown.

    Parameters
    ----------
    comparisons : sequence of Comparison
        At one target or several.
    names : (str, str)
        Of the runs.
    console : Console
        Where to print.

    Returns
    -------
    bool or None
        Whether the rankings agree; None if that is unknown.

    Examples
    --------
    >>> import io
    >>> from rich.console import Console
    >>> from benchmarks.cells import Cell, Instance
    >>> from benchmarks.compare import compare
    >>> from benchmarks.rows import Row
    >>> from benchmarks.store import Results
    >>> cell = Cell(Instance("SoftMargin(C=1.0)", "iris"), "cvxopt", eps=1e-6)
    >>> row = Row(cell, "optimal", primal=1.0, dual=1.0, size=1.0, total_seconds=0.1)
    >>> run = Results({}, (row,))
    >>> console = Console(file=io.StringIO(), width=80)
    >>> agreed = print_comparison([compare(run, run)], ("before", "after"), console)
    >>> print(console.file.getvalue().splitlines()[0])
    Before: before. After: after. A ratio above 1 is slower than before.
    """
    content = comparison_document(comparisons, *names)
    console.print(content.subtitle, soft_wrap=True)
    print_sections(content, console)
    console.print(content.verdict, soft_wrap=True)
    return agree(comparisons)
