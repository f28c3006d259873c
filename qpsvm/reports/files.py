"""Pages and reports in five formats, and their files.

All formats but JSON are written from one document. The suffix of a file selects the format, and a
file is written completely or not at all.
"""

from __future__ import annotations

import io
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from qpsvm.exceptions import InvalidParameterError
from qpsvm.io import files, json_text
from qpsvm.numerics.arguments import an, explains_calls, require_path
from qpsvm.reports import markup
from qpsvm.reports.blocks import flat
from qpsvm.reports.content import Page, ReportContent
from qpsvm.reports.document import document
from qpsvm.reports.plain import n_rows, page_dict

if TYPE_CHECKING:
    from rich.console import Console


# --- pages as text and HTML -----------------------------------------------------------------------


def text(page: Page) -> str:
    """Convert a page to plain text, at most 100 characters wide where lines can wrap."""
    from rich.console import Console

    stream = io.StringIO()
    console = Console(
        file=stream, width=100, markup=False, highlight=False, emoji=False, color_system=None
    )
    print_page(page, console, in_full=True)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"


def print_page(page: Page, console: Console, *, in_full: bool = False) -> None:
    """Print a page on a console, in colour if possible, with the verdict first.

    Parameters
    ----------
    page : Page
    console : rich.console.Console
        Where to; it decides about width and colour.
    in_full : bool
        Also print the details: checks that passed, problem, data, solver with its settings,
        samples.
    """
    content = document(page, samples=5)
    asked = {f"{report.eps:g}" for report in page.reports}
    where = f"at eps={asked.pop()}:" if len(asked) == 1 else ""
    console.print(
        *filter(None, (markup.verdict(content.word), where, content.verdict)), soft_wrap=True
    )
    if page.subtitle and not in_full:
        console.print(markup.one_line(page.subtitle), soft_wrap=True, highlight=False)
    console.print()
    markup.print_sections(content, console, in_full=in_full)


def html(page: Page, *, embedded_samples: int = 10_000) -> str:
    """Convert a page to the text of one HTML file.

    Parameters
    ----------
    page : Page
    embedded_samples : int
        Rows of a report's sample tables, all machines together, that its JSON holds: 2.5 MB. Of a
        report with more, it holds none.

    Raises
    ------
    MissingPackageError
        Jinja2 or Matplotlib is not installed.
    """
    content = document(page, samples=200)
    samples = "and all samples as JSON."
    if max(map(n_rows, page.reports), default=0) > embedded_samples:
        samples = "as JSON; a .json report all samples, too."
    return markup.html_of(
        content,
        contents=[section for _, section in flat(content.sections)],
        data=page_dict(page, samples=embedded_samples),
        embedded=f"The element qpsvm-data holds all figures {samples}",
    )


# --- files ----------------------------------------------------------------------------------------

WRITERS: Mapping[str, Callable[[Page], str]] = {
    "html": html,
    "htm": html,
    "json": lambda page: json_text.dumps(page_dict(page), indent=1) + "\n",
    "md": lambda page: markup.markdown_of(document(page, samples=20)),
    "tex": lambda page: markup.latex_of(document(page, samples=30)),
    "txt": text,
}
NEEDS_NOTHING = ("json", "txt")
"""What is written without the packages of the extra."""


def text_of(page: Page | ReportContent, suffix: str) -> str:
    """Convert a page or report to the text of the format that a suffix selects.

    Parameters
    ----------
    page : Page or Report
        One report, or several on one page.
    suffix : str
        ``"html"``, ``"htm"``, ``"json"``, ``"md"``, ``"tex"`` or ``"txt"``.

    Returns
    -------
    str
        The content of the file that ``write`` would write.

    Raises
    ------
    KeyError
        Another suffix; ``suffix_of`` checks that of a path.
    MissingPackageError
        Jinja2 or Matplotlib is not installed, for all but ``"json"`` and ``"txt"``.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.SoftMargin(C=1.0).dual([[0.0], [2.0]], [-1, 1])
    >>> report = qpsvm.reports.build(problem, qpsvm.solve(problem))
    >>> text_of(report, "txt").partition(":")[0]
    'OPTIMAL at eps=1e-08'
    """
    return WRITERS[suffix](page if isinstance(page, Page) else Page.of(page))


@explains_calls
def write(path: str | os.PathLike[str], page: Page | ReportContent) -> None:
    """Write a page or a report in the format that the suffix selects.

    Parameters
    ----------
    path : path
        Ending in ``.html``, ``.htm``, ``.json``, ``.md``, ``.tex`` or ``.txt``.
    page : Page or Report
        One report, or several on one page.

    Raises
    ------
    InvalidParameterError
        Another suffix, or a path that cannot be written.
    MissingPackageError
        As ``text_of``.

    Examples
    --------
    >>> import json, tempfile
    >>> import qpsvm
    >>> problem = qpsvm.SoftMargin(C=1.0).dual([[0.0], [2.0]], [-1, 1])
    >>> report = qpsvm.reports.build(problem, qpsvm.solve(problem))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "report.json"
    ...     write(path, report)
    ...     json.loads(path.read_text())["passed"]
    True
    """
    suffix = suffix_of(path, WRITERS)
    given: object = page
    if not isinstance(given, Page | ReportContent):
        raise InvalidParameterError(
            f"write takes a report, got {an(page)}; build one with qpsvm.reports.build(problem, "
            "solution)."
        )
    write_text(path, text_of(page, suffix))


def write_text(path: str | os.PathLike[str], content: str, what: str = "report") -> None:
    """Write the text of a report.

    Parameters
    ----------
    path : path
        Replaced if it exists, completely or not at all.
    content : str
        What the file will hold.
    what : str
        What that is, for the message.

    Raises
    ------
    InvalidParameterError
        The path cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "report.txt"
    ...     write_text(path, "All is well.")
    ...     path.read_text()
    'All is well.'
    """
    try:
        files.write_text(path, content)
    except OSError as error:
        raise InvalidParameterError(
            f"Cannot write the {what} to {os.fspath(path)!r}: {error.strerror or error}; choose "
            "another path."
        ) from error


def require_writable(path: str | os.PathLike[str], what: str) -> None:
    """Raise InvalidParameterError unless a file can be written to the path.

    Parameters
    ----------
    path : path
        Of the file, which need not exist.
    what : str
        What is to be written there, for the message.

    Raises
    ------
    InvalidParameterError
        The folder does not exist or is not writable, the path is a folder, or the name is too long.

    Examples
    --------
    >>> try:
    ...     require_writable("nowhere/a.md", "report")
    ... except InvalidParameterError as error:
    ...     print(str(error).partition(": ")[2])
    the folder 'nowhere' does not exist; choose another path.
    """
    require_path(path)
    target = Path(path)
    folder = target.parent
    try:
        if not folder.is_dir():
            problem = f"the folder {os.fspath(folder)!r} does not exist"
        elif target.is_dir():
            problem = "it is a folder"
        elif not os.access(folder, os.W_OK):
            problem = f"the folder {os.fspath(folder)!r} is not writable"
        else:
            return
    except OSError as error:  # a name that is too long
        problem = error.strerror or str(error)
    raise InvalidParameterError(
        f"Cannot write the {what} to {os.fspath(path)!r}: {problem}; choose another path."
    )


def require_reportable(path: str | os.PathLike[str]) -> None:
    """Raise unless a report can be written to this path: suffix, folder and packages are checked.

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
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     require_reportable(Path(folder) / "report.txt")  # nothing happens: it can be written
    """
    if suffix_of(path, WRITERS) not in NEEDS_NOTHING:
        markup.require_packages()
    require_writable(path, "report")


def suffix_of(path: str | os.PathLike[str], known: Collection[str]) -> str:
    """The suffix of a report's path, without the dot.

    Parameters
    ----------
    path : path
        Of the file, which need not exist.
    known : collection of str
        Suffixes that are allowed, without the dot.

    Returns
    -------
    str
        In lower case.

    Raises
    ------
    InvalidParameterError
        It is none of the known ones.

    Examples
    --------
    >>> suffix_of("results/report.HTML", ("html", "md"))
    'html'
    """
    require_path(path)
    suffix = Path(path).suffix.lower().removeprefix(".")
    if suffix not in known:
        raise InvalidParameterError(
            f"The report {os.fspath(path)!r} has the suffix {Path(path).suffix!r}; use "
            f"{', '.join(f'.{each}' for each in known)}."
        )
    return suffix


class Formats(ABC):
    """Base class of objects that are shown as text, JSON, HTML, Markdown and LaTeX."""

    @abstractmethod
    def as_page(self) -> Page:
        """The page to write: one report, or several with a title."""

    def to_json(self) -> str:
        """Return JSON by the schema of ``docs/report.md``, with every training sample."""
        return text_of(self.as_page(), "json")

    def to_text(self) -> str:
        """Return plain text for a terminal or a log."""
        return text_of(self.as_page(), "txt")

    def to_html(self) -> str:
        """Return a self-contained HTML page.

        Raises
        ------
        MissingPackageError
            Jinja2 or Matplotlib, the extra ``qpsvm[report]``, is not installed.
        """
        return text_of(self.as_page(), "html")

    def to_markdown(self) -> str:
        """Return GitHub Markdown; raises what ``to_html`` raises."""
        return text_of(self.as_page(), "md")

    def to_latex(self) -> str:
        """Return a complete LaTeX document with tables; raises what ``to_html`` raises."""
        return text_of(self.as_page(), "tex")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file, completely or not at all, in the format that the suffix selects.

        Parameters
        ----------
        path : path
            Ending in ``.html``, ``.htm``, ``.json``, ``.md``, ``.tex`` or ``.txt``.

        Raises
        ------
        InvalidParameterError
            Another suffix, or a path that cannot be written.
        MissingPackageError
            As ``to_html``.
        """
        write(path, self.as_page())
