"""Tracebacks of failed benchmark contestants, one listing for each distinct exception."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from benchmarks.rows import Row
from qpsvm.reports.blocks import Block, Listing, Sentences
from qpsvm.reports.numbers import count

PLACE = re.compile(r'\s*File "(.+)", line (\d+), in (.+)')


def failures(rows: Sequence[Row], listed: int) -> Iterator[Block]:
    """Yield every distinct traceback with the number of its cells.

    Parameters
    ----------
    rows : sequence of Row
        Rows of a store.
    listed : int
        Exceptions that are shown, those of the most cells.
    """
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        if row.traceback:
            groups.setdefault((row.contestant, row.message, row.traceback), []).append(row)
    found = sorted(groups.items(), key=lambda item: -len(item[1]))
    for (who, message, traceback), own in found[:listed]:
        where = f"{count(len(own), 'cell')}, the first of them {own[0].instance}"
        yield Listing(f"{who} raised {message} ({where})", tuple(_frames(traceback)))
    if len(found) > listed:
        left_out = f"{count(len(found) - listed, 'exception')} more in the store's rows"
        yield Sentences("notes", "", (left_out,))


def _frames(traceback: str) -> Iterator[tuple[str, str]]:
    """Yield place and code of every call; each line of text that is no Python traceback."""
    place = ""
    for line in traceback.splitlines():
        match = PLACE.fullmatch(line)
        if match:
            if place:  # its code is not known
                yield place, ""
            place = f"{match[1]}:{match[2]}, {match[3]}"
        elif line.strip() and not set(line.strip()) <= set("~^"):
            yield place, line.strip()
            place = ""
    if place:
        yield place, ""
