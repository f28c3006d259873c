"""Markdown and LaTeX: documents written by Jinja2 templates, with pictures described in words.

The LaTeX is of the article class with amsmath and booktabs; pdfLaTeX, LuaLaTeX and XeLaTeX all
take it. Characters beyond Latin letters, which pdfLaTeX does not know, are written by their number
there.
"""

from __future__ import annotations

import importlib.resources
import importlib.util
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from qpsvm.exceptions import MissingPackageError
from qpsvm.qp.exchange import tex
from qpsvm.reports.blocks import Document, flat, names_and_values

if TYPE_CHECKING:
    from jinja2 import Template


@dataclass(frozen=True)
class Extra:
    """Optional packages that a kind of report requires.

    Attributes
    ----------
    name : str
        Of the extra that brings them.
    modules : tuple of str
    otherwise : str
        What can be had without them, in brackets.
    """

    name: str
    modules: tuple[str, ...]
    otherwise: str = ""


REPORT = Extra("report", ("jinja2", "matplotlib"), " (a .json or .txt report needs neither)")


def require_packages(extra: Extra = REPORT) -> None:
    """Raise MissingPackageError unless the packages of an extra are installed.

    Parameters
    ----------
    extra : Extra
        The packages; those of ``qpsvm[report]`` by default.

    Raises
    ------
    MissingPackageError
        With the pip line.

    Examples
    --------
    >>> require_packages(Extra("numbers", ("numpy",)))  # nothing happens: it is installed
    >>> try:
    ...     require_packages(Extra("mine", ("no_such_package",)))
    ... except MissingPackageError as error:
    ...     print(error)
    This report needs no_such_package, not installed; run: pip install "qpsvm[mine]".
    """
    missing = [name for name in extra.modules if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingPackageError(
            f"This report needs {' and '.join(missing)}, not installed; run: "
            f'pip install "qpsvm[{extra.name}]"{extra.otherwise}.'
        )


def template(
    name: str,
    filters: Mapping[str, object],
    *,
    package: str = "qpsvm.reports",
    extra: Extra = REPORT,
    **options: Any,
) -> Template:
    """Load a template of this package, or of a package that extends it.

    Parameters
    ----------
    name : str
    filters : mapping of str to callable
    package : str
        Whose folder of templates is looked into first.
    extra : Extra
        What must be installed.
    **options
        Of Jinja2's environment.
    """
    require_packages(extra)
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(p) for p in (package, "qpsvm.reports")]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        **options,
    )
    environment.filters.update(filters)
    return environment.get_template(name)


class Verbatim(str):
    """Text that is already markup and must not be escaped."""


def _written(
    content: Document, name: str, escape: Callable[[object], str], extra: Extra, **options: str
) -> str:
    """Render a template, in which everything that is written out is escaped."""

    def finalize(value: object) -> str:
        return value if isinstance(value, Verbatim) else escape(value)

    filters = {"verbatim": Verbatim, "listings": names_and_values}
    text = template(name, filters, extra=extra, finalize=finalize, **options).render(
        document=content, sections=flat(content.sections), written=now()
    )
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def resource(name: str) -> str:
    """Read a style sheet or script that is stored with the report's templates."""
    files = importlib.resources.files("qpsvm.reports").joinpath("templates")
    return files.joinpath(name).read_text("utf-8")


def now() -> str:
    """Current time as text, the only content of a report that differs between runs."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def one_line(text: object) -> str:
    """Text without line breaks and control characters."""
    words = " ".join(str(text).split())
    return "".join(c if c.isprintable() else "\ufffd" for c in words)


# --- Markdown ------------------------------------------------------------------------------------

_SPECIAL = re.compile(r"([\\`*_\[\]#|~$@]|:(?=//))")
_LIST = re.compile(r"^([-+=]|\d+(?=[.)](\s|$)))")


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
    return _written(content, "report.md.j2", escape_markdown, extra)


def escape_markdown(text: object) -> str:
    """Escape a text for Markdown: no markup, tags, links or list markers."""
    words = one_line(text)
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        words = words.replace(character, entity)
    words = _SPECIAL.sub(r"\\\1", words)
    # a backslash before a sign, and between a number and its point
    return _LIST.sub(lambda m: f"{m[0]}\\" if m[0].isdigit() else f"\\{m[0]}", words)


# --- LaTeX ---------------------------------------------------------------------------------------

_DELIMITERS = {
    "block_start_string": "(%",
    "block_end_string": "%)",
    "variable_start_string": "((",
    "variable_end_string": "))",
    "comment_start_string": "((#",
    "comment_end_string": "#))",
}
"""Braces are LaTeX's own."""

_UNBROKEN = 24
"""Longer words may be broken."""
_LONG = re.compile(rf"\S{{{_UNBROKEN}}}(?=\S)")
_BREAK = "\x00"


def latex_of(content: Document) -> str:
    """Convert any document to a complete LaTeX document.

    Raises
    ------
    MissingPackageError
        Jinja2 or Matplotlib is not installed.
    """
    return _written(content, "report.tex.j2", escape_latex, REPORT, **_DELIMITERS)


def escape_latex(text: object) -> str:
    """Escape a text for LaTeX and allow breaks in long words."""
    words = _LONG.sub(lambda match: match.group() + _BREAK, one_line(text))
    return "".join(map(_character, words))


def _character(character: str) -> str:
    if character == _BREAK:
        return r"\allowbreak{}"
    if character.isascii() or "À" <= character <= "ÿ":
        return tex.escape(character)
    return rf"\unichar{{{ord(character):04X}}}"
