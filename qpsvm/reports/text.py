"""Plain text for a terminal or a log, written by rich with its markup disabled."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from qpsvm.reports.blocks import (
    Document,
    Figures,
    Listing,
    Listings,
    Section,
    Sentences,
    Table,
)
from qpsvm.reports.document import document, flat
from qpsvm.reports.grade import tone_of
from qpsvm.reports.page import Page
from qpsvm.reports.templating import one_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

SHOWN_SAMPLES = 5
WIDTH = 100
STYLES = {"good": "bold green", "neutral": "bold yellow", "bad": "bold red"}


def text(page: Page) -> str:
    """Convert a page to plain text, at most 100 characters wide where lines can wrap."""
    from rich.console import Console

    stream = io.StringIO()
    console = Console(
        file=stream, width=WIDTH, markup=False, highlight=False, emoji=False, color_system=None
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
    content = document(page, samples=SHOWN_SAMPLES)
    _print_verdict(content, page, console)
    if page.subtitle and not in_full:
        console.print(_plain(page.subtitle), soft_wrap=True)
    console.print()
    print_sections(content, console, in_full=in_full)


def print_sections(content: Document, console: Console, *, in_full: bool = True) -> None:
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
    >>> section = Section("kernels", "Kernels", None, (Listing("Names", (("rbf", "Gaussian"),)),))
    >>> content = Document("Overview", "", None, "", (section,), ())
    >>> print_sections(content, Console(file=sys.stdout, width=80))
    Kernels
    Names
      rbf  Gaussian
    <BLANKLINE>
    """
    for level, section in flat(content.sections):
        _print_section(section, level, console, in_full=in_full)


def _print_section(section: Section, level: int, console: Console, *, in_full: bool) -> None:
    title = _plain(section.title, "bold")
    if section.verdict and level > 2:
        title += _text(" ") + verdict(section.verdict)
    console.print(title, soft_wrap=True)
    for block in section.blocks:
        if isinstance(block, Table | Listings) and block.detail and not in_full:
            continue
        if isinstance(block, Sentences):
            if block.title:
                console.print(_plain(block.title, "bold"), soft_wrap=True)
            for sentence in block.sentences:
                words = f"note: {sentence}" if block.role == "notes" else sentence
                style = "bold" if block.role == "remarks" else ""
                console.print(_plain(words, style), soft_wrap=True)
        elif isinstance(block, Listing):
            _print_listing(block, console)
        elif isinstance(block, Table) and level == 2:
            _print_table(block, console)
        elif isinstance(block, Figures):
            shown = ", ".join(f"{figure.label} {figure.text}" for figure in block.figures)
            console.print(_plain(shown), soft_wrap=True)
        elif isinstance(block, Listings) and level == 2:
            for listing in block.listings:
                _print_listing(listing, console)
    console.print()


def _print_listing(listing: Listing, console: Console) -> None:
    items = [(one_line(name), one_line(words)) for name, words in listing.items]
    if not items:
        return
    width = max(len(name) for name, _ in items)
    console.print(_plain(listing.title, "bold"), soft_wrap=True)
    for name, words in items:
        console.print(_text(f"  {name:<{width}}  {words}"), soft_wrap=True)


def _print_table(block: Table, console: Console) -> None:
    from rich import box
    from rich.table import Table as RichTable

    title = f"{block.title}: " if block.title else ""
    console.print(_plain(f"{title}{block.caption}"), soft_wrap=True)
    # eighty columns must do for the figures
    table = RichTable(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    for heading in block.headings:
        table.add_column(
            heading.text.lower(),
            justify="right" if heading.numeric else "left",
            no_wrap=heading.numeric,
        )
    for row in block.rows:
        table.add_row(*(verdict(c.verdict) if c.verdict else _plain(c.text) for c in row))
    console.print(table)


def _print_verdict(content: Document, page: Page, console: Console) -> None:
    asked = {f"{report.eps:g}" for report in page.reports}
    where = f"at eps={asked.pop()}:" if len(asked) == 1 else ""
    word = verdict(content.word)
    console.print(*filter(None, (word, where, content.verdict)), soft_wrap=True)


def verdict(word: str) -> Text:
    """A grade, PASS or FAIL in the colour of its tone; "skipped" is dim."""
    return _text(word, "dim" if word == "skipped" else STYLES[tone_of(word)])


def _plain(words: str, style: str = "") -> Text:
    """Text without markup and control characters."""
    return _text(one_line(words), style)


def _text(words: str, style: str = "") -> Text:
    from rich.text import Text

    return Text(words, style=style)
