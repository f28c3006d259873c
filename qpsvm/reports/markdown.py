"""GitHub Markdown with tables, pictures described in words."""

from __future__ import annotations

import re

from qpsvm.reports.blocks import Document
from qpsvm.reports.document import document, flat, names_and_values
from qpsvm.reports.page import Page
from qpsvm.reports.templating import REPORT, Extra, Verbatim, now, one_line, template

SHOWN_SAMPLES = 20

_SPECIAL = re.compile(r"([\\`*_\[\]#|~$@]|:(?=//))")
_LIST = re.compile(r"^([-+=]|\d+(?=[.)](\s|$)))")


def markdown(page: Page) -> str:
    """Convert a page to GitHub Markdown.

    Raises
    ------
    MissingPackageError
        Jinja2 or Matplotlib is not installed.
    """
    return markdown_of(document(page, samples=SHOWN_SAMPLES))


def markdown_of(content: Document, extra: Extra = REPORT) -> str:
    """Convert any document to Markdown.

    Parameters
    ----------
    content : Document
        What is to be written.
    extra : Extra
        Packages that must be installed.

    Returns
    -------
    str
        GitHub Markdown; texts are escaped.

    Raises
    ------
    MissingPackageError
        What the extra brings is not installed.

    Examples
    --------
    >>> from qpsvm.reports.blocks import Section
    >>> sections = (Section("kernels", "Kernels, sorted by name", None, ()),)
    >>> print(markdown_of(Document("Overview", "", None, "", sections, ())).partition("Written")[0])
    # Overview
    <BLANKLINE>
    ## Kernels, sorted by name
    <BLANKLINE>
    <BLANKLINE>
    """
    filters = {"math": _math, "listings": names_and_values, "hashes": _hashes}
    text = template("report.md.j2", escape=escape, filters=filters, extra=extra).render(
        document=content, sections=flat(content.sections), written=now()
    )
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def escape(text: object) -> str:
    """Escape a text for Markdown: no markup, tags, links or list markers."""
    words = one_line(text)
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        words = words.replace(character, entity)
    words = _SPECIAL.sub(r"\\\1", words)
    # a backslash before a sign, and between a number and its point
    return _LIST.sub(lambda m: f"{m[0]}\\" if m[0].isdigit() else f"\\{m[0]}", words)


def _math(latex: str) -> Verbatim:
    """A display formula in GitHub's syntax."""
    return Verbatim(latex.removeprefix("\\[\n").removesuffix("\n\\]"))


def _hashes(level: int) -> Verbatim:
    return Verbatim("#" * level)
