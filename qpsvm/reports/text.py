"""Plain text for a terminal or a log, written by rich with its markup disabled."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

from qpsvm.reports.blocks import (
    Document,
    Figures,
    Listing,
    Listings,
    Section,
    Sentences,
    Table,
    flat,
)
from qpsvm.reports.comparison import Page
from qpsvm.reports.document import document
from qpsvm.reports.grade import tone_of
from qpsvm.reports.markup import one_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable
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
    asked = {f"{report.eps:g}" for report in page.reports}
    where = f"at eps={asked.pop()}:" if len(asked) == 1 else ""
    console.print(*filter(None, (verdict(content.word), where, content.verdict)), soft_wrap=True)
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
        for part in _parts(section, level, in_full=in_full):
            console.print(part, soft_wrap=hasattr(part, "plain"))
        console.print()


def _parts(section: Section, level: int, *, in_full: bool) -> Iterator[Text | RichTable]:
    """Yield what is printed of a section, one below the other."""
    title = _plain(section.title, "bold")
    if section.verdict and level > 2:
        title += _text(" ") + verdict(section.verdict)
    yield title
    for block in section.blocks:
        match block:
            case Table() | Listings() if block.detail and not in_full:
                continue
            case Sentences():
                if block.title:
                    yield _plain(block.title, "bold")
                before = "note: " if block.role == "notes" else ""
                style = "bold" if block.role == "remarks" else ""
                for sentence in block.sentences:
                    yield _plain(before + sentence, style)
            case Listing():
                yield from _listing(block)
            case Figures():
                yield _plain(", ".join(f"{each.label} {each.text}" for each in block.figures))
            case Listings() if level == 2:
                for listing in block.listings:
                    yield from _listing(listing)
            case Table() if level == 2:
                yield _plain(f"{block.title}: {block.caption}" if block.title else block.caption)
                yield _table(block)


def _listing(listing: Listing) -> Iterator[Text]:
    items = [(one_line(name), one_line(words)) for name, words in listing.items]
    if items:
        width = max(len(name) for name, _ in items)
        yield _plain(listing.title, "bold")
        for name, words in items:
            yield _text(f"  {name:<{width}}  {words}")


def _table(block: Table) -> RichTable:
    from rich import box
    from rich.table import Table as RichTable

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
