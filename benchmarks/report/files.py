"""Write benchmark reports to files, completely or not at all; the suffix gives the format."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from benchmarks.report.document import document
from benchmarks.report.page import NEEDS, html
from benchmarks.report.summary import Summary
from qpsvm.reports import (
    markdown_of,
    require_packages,
    require_writable,
    suffix_of,
    write_text,
)


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
