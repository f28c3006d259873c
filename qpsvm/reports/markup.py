"""Documents written as plain text, HTML, Markdown and LaTeX.

Text is written by rich with its markup disabled, everything else by Jinja2 templates, which escape
every text. Markdown and LaTeX have pictures described in words; in HTML they are SVG as data URIs,
which follow the reader's preference for light or dark mode, and the page's policy allows only its
own scripts, by their hashes.

The LaTeX is of the article class with amsmath and booktabs; pdfLaTeX, LuaLaTeX and XeLaTeX all
take it. Characters beyond Latin letters, which pdfLaTeX does not know, are written by their number
there.
"""

from __future__ import annotations

import base64
import hashlib
import html
import importlib.resources
import importlib.util
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from qpsvm.exceptions import MissingPackageError
from qpsvm.io import json_text
from qpsvm.plotting import Picture
from qpsvm.qp.exchange import tex
from qpsvm.reports import blocks
from qpsvm.reports.grade import Tone, tone_of

if TYPE_CHECKING:
    from jinja2 import Template
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text


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


def template(name: str, *, package: str = "qpsvm.reports", **options: Any) -> Template:
    """Load a template of this package, or of a package that extends it.

    Parameters
    ----------
    name : str
    package : str
        Whose folder of templates is looked into first.
    **options
        Of Jinja2's environment.
    """
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(p) for p in (package, "qpsvm.reports")]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        **options,
    )
    environment.filters.update(FILTERS)
    return environment.get_template(name)


def _written(
    content: blocks.Document, name: str, escape: Callable[[object], str], **options: str
) -> str:
    """Render a template, in which everything is escaped that the filter ``safe`` does not mark."""

    def finalize(value: object) -> object:
        return value if hasattr(value, "__html__") else escape(value)

    page = template(name, finalize=finalize, **options)
    sections = blocks.flat(content.sections)
    text = page.render(document=content, sections=sections, written=now())
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


# --- text -----------------------------------------------------------------------------------------

STYLES = {"good": "bold green", "neutral": "bold yellow", "bad": "bold red"}


def print_sections(content: blocks.Document, console: Console, *, in_full: bool = True) -> None:
    """Print the sections without the verdict; of nested sections only short blocks.

    Parameters
    ----------
    content : Document
        What is to be printed.
    console : rich.console.Console
        Where to; it decides about width and colour.
    in_full : bool
        Also print the blocks that are details.

    Examples
    --------
    >>> import sys
    >>> from rich.console import Console
    >>> from qpsvm.reports.blocks import Document, Listing, Section
    >>> section = Section("kernels", "Kernels", None, (Listing("Names", (("rbf", "Gaussian"),)),))
    >>> content = Document("Overview", "", None, "", (section,), ())
    >>> print_sections(content, Console(file=sys.stdout, width=80))
    Kernels
    Names
      rbf  Gaussian
    <BLANKLINE>
    """
    for level, section in blocks.flat(content.sections):
        for part in _parts(section, level, in_full=in_full):
            console.print(part, soft_wrap=hasattr(part, "plain"))
        console.print()


def _parts(section: blocks.Section, level: int, *, in_full: bool) -> Iterator[Text | Table]:
    """Yield what is printed of a section, one below the other."""
    title = _plain(section.title, "bold")
    if section.verdict and level > 2:
        title += _text(" ") + verdict(section.verdict)
    yield title
    for block in section.blocks:
        match block:
            case blocks.Table() | blocks.Listings() if block.detail and not in_full:
                continue
            case blocks.Sentences():
                if block.title:
                    yield _plain(block.title, "bold")
                before = "note: " if block.role == "notes" else ""
                style = "bold" if block.role == "remarks" else ""
                for sentence in block.sentences:
                    yield _plain(before + sentence, style)
            case blocks.Listing():
                yield from _listing(block)
            case blocks.Figures():
                yield _plain(", ".join(f"{each.label} {each.text}" for each in block.figures))
            case blocks.Listings() if level == 2:
                for listing in block.listings:
                    yield from _listing(listing)
            case blocks.Table() if level == 2:
                yield _plain(f"{block.title}: {block.caption}" if block.title else block.caption)
                yield _table(block)


def _listing(listing: blocks.Listing) -> Iterator[Text]:
    items = [(one_line(name), one_line(words)) for name, words in listing.items]
    if items:
        width = max(len(name) for name, _ in items)
        yield _plain(listing.title, "bold")
        for name, words in items:
            yield _text(f"  {name:<{width}}  {words}")


def _table(block: blocks.Table[Any]) -> Table:
    from rich import box
    from rich.table import Table

    # eighty columns must do for the figures
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    for column in block.columns:
        table.add_column(
            column.title.lower(),
            justify="right" if column.numeric else "left",
            no_wrap=column.numeric,
        )
    for row in block.rows:
        table.add_row(*(verdict(c.verdict) if c.verdict else _plain(c.text) for c in row))
    return table


def verdict(word: str) -> Text:
    """A grade, PASS or FAIL in the colour of its tone; "skipped" is dim."""
    return _text(word, "dim" if word == "skipped" else STYLES[tone_of(word)])


def _plain(words: str, style: str = "") -> Text:
    """Text without markup and control characters."""
    return _text(one_line(words), style)


def _text(words: str, style: str = "") -> Text:
    from rich.text import Text

    return Text(words, style=style)


# --- HTML -----------------------------------------------------------------------------------------


def html_of(
    content: blocks.Document,
    *,
    contents: Sequence[blocks.Section],
    data: object,
    embedded: str,
    name: str = "page.html.j2",
    package: str = "qpsvm.reports",
    style: str = "",
    before: Sequence[str] = (),
    scripts: Sequence[str] = (),
    extra: Extra = REPORT,
    **variables: object,
) -> str:
    """Write any document as the text of one HTML file that needs no other.

    Parameters
    ----------
    content : Document
        What is to be written.
    contents : sequence of Section
        Sections in the list of links.
    data : object
        What scripts read, as JSON in the element ``qpsvm-data``.
    embedded : str
        A sentence that says what ``data`` holds.
    name, package : str
        Template, and the package whose folder ``templates`` holds it; it may extend
        ``page.html.j2``.
    style : str
        Rules after those of every page.
    before, scripts : sequence of str
        Scripts before and after that of every page; no others run.
    extra : Extra
        Packages that must be installed.
    **variables
        What the template reads besides.

    Returns
    -------
    str
        The text of the file.

    Raises
    ------
    MissingPackageError
        A package of the extra is not installed.

    Examples
    --------
    >>> from qpsvm.reports.blocks import Document, Listing, Section
    >>> section = Section("kernels", "Kernels", None, (Listing("Names", (("rbf", "Gaussian"),)),))
    >>> content = Document("Overview", "", None, "", (section,), ())
    >>> page = html_of(content, contents=[section], data={}, embedded="It is empty.")
    >>> page.startswith("<!doctype html>"), "Gaussian" in page
    (True, True)
    """
    require_packages(extra)
    page = template(name, package=package, autoescape=True)
    all_scripts = (*before, resource("page.js"), *scripts)
    text = page.render(
        document=content,
        contents=contents,
        style=resource("page.css") + style,
        scripts=all_scripts,
        script_hashes=content_hashes(all_scripts),
        data=json_text.dumps(data).replace("<", "\\u003c"),  # or "</" would end the script
        embedded=embedded,
        written=now(),
        **variables,
    )
    return str(text).lstrip()


def _data_uri(picture: Picture) -> str:
    svg = picture.svg(dark=None)
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()


CLASSES: Mapping[Tone, str] = {"good": "pass", "neutral": "skipped", "bad": "fail"}
"""The colours of the style sheet."""

FILTERS: Mapping[str, Callable[..., str]] = {
    "data_uri": _data_uri,
    "sort_key": partial(json.dumps, default=float),  # NaN and infinities as JavaScript reads them
    "colours": lambda word: CLASSES[tone_of(word)],
}
"""What the templates of pages use."""


def content_hashes(scripts: tuple[str, ...]) -> str:
    """Hashes of scripts for a page's Content-Security-Policy."""
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


# --- Markdown ------------------------------------------------------------------------------------

_SPECIAL = re.compile(r"([\\`*_\[\]#|~$@]|:(?=//)|(?<=www)\.)", re.IGNORECASE)
_LIST = re.compile(r"^([-+=]|\d+(?=[.)](\s|$)))")


def markdown_of(content: blocks.Document, extra: Extra = REPORT) -> str:
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
    >>> from qpsvm.reports.blocks import Document, Section
    >>> sections = (Section("kernels", "Kernels, sorted by name", None, ()),)
    >>> print(markdown_of(Document("Overview", "", None, "", sections, ())).partition("Written")[0])
    # Overview
    <BLANKLINE>
    ## Kernels, sorted by name
    <BLANKLINE>
    <BLANKLINE>
    """
    require_packages(extra)
    return _written(content, "report.md.j2", escape_markdown)


def escape_markdown(text: object) -> str:
    """Escape a text for Markdown: no markup, tags, links or list markers."""
    words = _SPECIAL.sub(r"\\\1", html.escape(one_line(text), quote=False))
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

_LONG = re.compile(r"\S{24}(?=\S)")
"""Where a long word may be broken."""
_BREAK = "\x00"


def latex_of(content: blocks.Document) -> str:
    """Convert any document to a complete LaTeX document.

    Raises
    ------
    MissingPackageError
        Jinja2 or Matplotlib is not installed.
    """
    require_packages()
    return _written(content, "report.tex.j2", escape_latex, **_DELIMITERS)


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
