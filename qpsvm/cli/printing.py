"""Printing to the terminal, in colour only if it is one, and writing what a command has found.

Results go to stdout, everything about the run to stderr. Texts of users and solvers are never
read as Rich's markup.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import qpsvm
from qpsvm.io import json_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text


def console(*, stderr: bool = False) -> Console:
    """A console for stdout or stderr, created anew because tests and pipes replace these."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(
        file=stream,
        markup=False,
        highlight=False,
        emoji=False,
        soft_wrap=True,
        width=None if stream.isatty() else 160,  # a file is wider than most terminals
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


def table(*columns: str, numbers: tuple[str, ...] = ()) -> Table:
    """Build a table that never truncates a number; those in ``numbers`` are aligned right."""
    from rich import box
    from rich.table import Table

    # eighty columns must do
    result = Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    for name in columns:
        result.add_column(name, justify="right" if name in numbers else "left", no_wrap=True)
    return result


def verdict(word: str) -> Text:
    """A grade, PASS or FAIL in the colour of its tone; "skipped" is dim."""
    from qpsvm.reports.markup import verdict as coloured

    return coloured(word)


# --- progress -------------------------------------------------------------------------------------


@contextmanager
def progress(
    what: str, *, enabled: bool = True
) -> Iterator[Callable[[qpsvm.backends.Progress], None]]:
    """Show a spinner on a terminal; yields a callback of ``qpsvm.solve`` that says how far it is.

    Parameters
    ----------
    what : str
        What is going on, until the first event.
    enabled : bool
        Show nothing if False.
    """
    from rich.text import Text

    err = console(stderr=True)
    if not (enabled and err.is_terminal):
        yield lambda _: None
        return
    with err.status(Text(what)) as spinner:
        yield lambda event: spinner.update(Text(_told(event)))


def _told(event: qpsvm.backends.Progress) -> str:
    known = {"iteration": event.iteration, "gap": event.gap, "residual": event.residual}
    words = [f"{name} {number:.4g}" for name, number in known.items() if number is not None]
    return ", ".join([f"{event.backend}: {event.stage}", *words])


# --- files ----------------------------------------------------------------------------------------


def require_outputs(*, report: Path | None = None, model: Path | None = None) -> None:
    """Raise unless the files can be written: what would fail after the work is refused before it.

    Raises
    ------
    InvalidParameterError, MissingPackageError
        As ``qpsvm.reports.write``.
    """
    if report is not None:
        qpsvm.reports.require_reportable(report)
    if model is not None:
        qpsvm.reports.require_writable(model, "model")


def write_report(path: Path | None, page: Any) -> None:
    """Write a report or a page, and say so; nothing without a path."""
    if path is not None:
        with progress(f"{path}: writing"):  # pictures of many machines take their time
            qpsvm.reports.write(path, page)
        note(f"Report written to {path}")
