r"""LaTeX documents: article class with amsmath and booktabs, pictures described in words.

pdfLaTeX, LuaLaTeX and XeLaTeX all take it. Characters beyond Latin letters, which pdfLaTeX does
not know, are written by their number there.
"""

from __future__ import annotations

import re

from qpsvm.qp.exchange import tex
from qpsvm.reports.blocks import Heading
from qpsvm.reports.document import document, flat, names_and_values
from qpsvm.reports.page import Page
from qpsvm.reports.templating import Delimiters, Verbatim, now, one_line, template

SHOWN_SAMPLES = 30

DELIMITERS: Delimiters = {
    "block_start_string": "(%",
    "block_end_string": "%)",
    "variable_start_string": "((",
    "variable_end_string": "))",
    "comment_start_string": "((#",
    "comment_end_string": "#))",
}
"""Braces are LaTeX's own."""

UNBROKEN = 24
"""Longer words may be broken."""
_LONG = re.compile(rf"\S{{{UNBROKEN}}}(?=\S)")
_BREAK = "\x00"


def latex(page: Page) -> str:
    """Convert a page to LaTeX.

    Raises
    ------
    MissingPackageError
        Jinja2 or Matplotlib is not installed.
    """
    content = document(page, samples=SHOWN_SAMPLES)
    filters = {
        "as_it_is": Verbatim,
        "column": _column,
        "heading": _heading,
        "listings": names_and_values,
    }
    text = template("report.tex.j2", escape=escape, filters=filters, **DELIMITERS).render(
        document=content, sections=flat(content.sections), written=now()
    )
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def escape(text: object) -> str:
    """Escape a text for LaTeX and allow breaks in long words."""
    words = _LONG.sub(lambda match: match.group() + _BREAK, one_line(text))
    return "".join(map(_character, words))


def _character(character: str) -> str:
    if character == _BREAK:
        return r"\allowbreak{}"
    if character.isascii() or "À" <= character <= "ÿ":
        return tex.escape(character)
    return rf"\unichar{{{ord(character):04X}}}"


def _column(heading: Heading) -> Verbatim:
    """LaTeX column type: right-aligned for numbers, else left-aligned."""
    return Verbatim("r" if heading.numeric else "l")


def _heading(level: int) -> Verbatim:
    return Verbatim({2: r"\section*", 3: r"\subsection*"}.get(level, r"\subsubsection*"))
