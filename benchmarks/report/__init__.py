"""Reports of a store: in a terminal, as Markdown, as one HTML page that needs no network.

::

    from benchmarks import report, store

    summary = report.summarize(store.read_results("smoke.jsonl"))
    report.write("smoke.html", summary)         # or .md

All formats say the same; only the page can be filtered. Importing this needs nothing beyond qpsvm's
own dependencies; Jinja2 and Plotly, the extra ``qpsvm[bench]``, are imported when they are needed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from benchmarks.compare import Comparison
from benchmarks.report.comparison import agree, comparison_document
from benchmarks.report.document import document
from benchmarks.report.page import NEEDS, html
from benchmarks.report.summary import Summary, summarize, targets_of
from qpsvm.reports import (
    markdown_of,
    print_sections,
    require_packages,
    require_writable,
    suffix_of,
    write_text,
)

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "Summary",
    "print_comparison",
    "print_summary",
    "require_reportable",
    "summarize",
    "targets_of",
    "text_of",
    "write",
]

LISTED = 10
"""Refuted claims that are listed one by one on a console."""


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


# --- files ----------------------------------------------------------------------------------------


def _markdown(summary: Summary) -> str:
    return markdown_of(document(summary), extra=NEEDS)


WRITERS: Mapping[str, Callable[[Summary], str]] = {"html": html, "htm": html, "md": _markdown}


def text_of(summary: Summary, suffix: str) -> str:
    """Return the text of a report in the format ``"html"`` or ``"md"``.

    Parameters
    ----------
    summary : Summary
        As ``summarize`` returns it.
    suffix : str
        ``"html"``, ``"htm"`` or ``"md"``.

    Returns
    -------
    str
        The content of the file that ``write`` would write.

    Raises
    ------
    MissingPackageError
        Jinja2 or Plotly is not installed.

    Examples
    --------
    >>> from benchmarks.cells import Cell, Instance
    >>> from benchmarks.report import summarize
    >>> from benchmarks.rows import Row
    >>> from benchmarks.store import Results
    >>> cell = Cell(Instance("SoftMargin(C=1.0)", "iris"), "cvxopt", eps=1e-6)
    >>> row = Row(cell, "optimal", primal=1.0, dual=1.0, size=1.0, total_seconds=0.1)
    >>> summary = summarize(Results({"suite": {"name": "small"}}, (row,)))
    >>> text_of(summary, "md").splitlines()[0]
    '# Benchmark small'
    """
    return WRITERS[suffix](summary)


def write(path: str | os.PathLike[str], summary: Summary) -> None:
    """Write a report to a file; the suffix gives the format.

    Parameters
    ----------
    path : path
        Ending in ``.html``, ``.htm`` or ``.md``.
    summary : Summary
        As ``summarize`` returns it.

    Raises
    ------
    InvalidParameterError
        Another suffix, or a path that cannot be written.
    MissingPackageError
        As ``text_of``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from benchmarks.cells import Cell, Instance
    >>> from benchmarks.report import summarize
    >>> from benchmarks.rows import Row
    >>> from benchmarks.store import Results
    >>> cell = Cell(Instance("SoftMargin(C=1.0)", "iris"), "cvxopt", eps=1e-6)
    >>> row = Row(cell, "optimal", primal=1.0, dual=1.0, size=1.0, total_seconds=0.1)
    >>> summary = summarize(Results({"suite": {"name": "small"}}, (row,)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "report.md"
    ...     write(path, summary)
    ...     path.read_text(encoding="utf-8").startswith("# Benchmark small")
    True
    """
    write_text(path, text_of(summary, suffix_of(path, WRITERS)))


def require_reportable(path: str | os.PathLike[str]) -> None:
    """Check before the work that ``write`` can succeed: suffix, folder, packages.

    Parameters
    ----------
    path : path
        Of the file, which need not exist.

    Raises
    ------
    InvalidParameterError, MissingPackageError
        As ``write``.

    Examples
    --------
    >>> from qpsvm.exceptions import InvalidParameterError
    >>> try:
    ...     require_reportable("report.json")
    ... except InvalidParameterError as error:
    ...     print(error)
    The report 'report.json' has the suffix '.json'; use .html, .htm, .md.
    """
    suffix_of(path, WRITERS)
    require_packages(NEEDS)
    require_writable(path, "report")
