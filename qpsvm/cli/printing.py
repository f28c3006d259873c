"""Printing to the terminal, in colour only if it is one.

Results go to stdout, everything about the run to stderr. Texts of users and solvers are never
read as Rich's markup.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from qpsvm.io import json_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

_PIPED_WIDTH = 160
"""Nobody's terminal is that narrow when the output goes to a file."""


def console(*, stderr: bool = False) -> Console:
    """A console for stdout or stderr, created anew because tests and pipes replace these."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(
        file=stream,
        markup=False,
        highlight=False,
        emoji=False,
        width=None if stream.isatty() else _PIPED_WIDTH,
    )


def complain(message: str) -> None:
    """Print one red line on stderr."""
    typer.secho(f"Error: {' '.join(message.split())}", fg=typer.colors.RED, err=True)


def note(message: str) -> None:
    """Print one plain line on stderr."""
    typer.echo(message, err=True)


def print_json(content: object) -> None:
    """Print strict JSON on stdout."""
    typer.echo(json_text.dumps(content, indent=2))


def table(*columns: tuple[str, str]) -> Table:
    """Build a table with (name, "left" or "right") columns that never truncates a number."""
    from rich import box
    from rich.table import Table

    # eighty columns must do
    result = Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    for name, justify in columns:
        result.add_column(name, justify="right" if justify == "right" else "left", no_wrap=True)
    return result


def verdict(word: str) -> Text:
    """A grade, PASS or FAIL in the colour of its tone; "skipped" is dim."""
    from qpsvm.reports.text import verdict as coloured

    return coloured(word)


def number(value: float | None, form: str) -> str:
    """A formatted number; a dash for None."""
    return "-" if value is None else format(value, form)
