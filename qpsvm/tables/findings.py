"""Findings about the columns of a table, and the message that lists them with their remedies."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from qpsvm.exceptions import UnreadyColumnsError

LISTS = ("id", "drop", "categorical")
"""Parameters that take several columns."""

ALL_SHOWN = 40
"""Columns of a table up to which a message lists also those without trouble."""


@dataclass(frozen=True)
class Remedy:
    """Something that can be done about a column.

    Attributes
    ----------
    words : str
        The effect: "leaves it out".
    parameter : str
        A parameter of ``qpsvm.datasets.load`` and option of the command line; empty for something
        that the user has to do to the file.
    value : str
        The column, or the parameter's value.
    """

    words: str
    parameter: str = ""
    value: str = ""

    def as_argument(self) -> str:
        """The remedy as an argument of ``qpsvm.datasets.load``."""
        value = f"[{self.value!r}]" if self.parameter in LISTS else repr(self.value)
        return f"{self.parameter}={value} {self.words}" if self.parameter else self.words

    def as_option(self) -> str:
        """The remedy as an option of the command line."""
        return f"{_option(self.parameter, [self.value])} {self.words}".strip()


@dataclass(frozen=True)
class Finding:
    """A column of a table: its content, and what can be done where it cannot be used as it is.

    Attributes
    ----------
    name : str
    text : str
        The content of the column, or the trouble with it.
    remedies : tuple of Remedy
        The first is the usual one. None for a column without trouble.
    """

    name: str
    text: str
    remedies: tuple[Remedy, ...] = ()

    @property
    def usual(self) -> tuple[Remedy, ...]:
        """Remedies after which nothing is left to be done about the column."""
        first, *others = self.remedies
        fills = [remedy for remedy in others if remedy.parameter == "missing"][:1]
        return (first, *fills) if first.parameter == "categorical" else (first,)


def require_ready(source: str, findings: Sequence[Finding]) -> None:
    """Raise an error that lists all columns if one of them cannot be used as it is.

    Raises
    ------
    UnreadyColumnsError
    """
    bad = [finding for finding in findings if finding.remedies]
    if not bad:
        return
    first = (
        f"{source!r} cannot be used as it is: {len(bad)} of {len(findings)} columns "
        f"{'needs' if len(bad) == 1 else 'need'} a decision."
    )
    usual = [remedy for finding in bad for remedy in finding.usual]
    can_be_options = all(remedy.parameter for remedy in usual)
    messages = []
    for for_python in (True, False):
        lines = [first, *_lines(findings, for_python)]
        if can_be_options:
            lines.append(f"For example: {_example(usual, for_python)}")
        messages.append("\n".join(lines))
    raise UnreadyColumnsError(*messages)


def _lines(findings: Sequence[Finding], for_python: bool) -> Iterator[str]:
    shown = [finding for finding in findings if finding.remedies or len(findings) <= ALL_SHOWN]
    width = max(len(repr(finding.name)) for finding in shown)
    for finding in shown:
        yield f"  {finding.name!r:{width}}  {finding.text}"
        if finding.remedies:
            written = (r.as_argument() if for_python else r.as_option() for r in finding.remedies)
            yield f"  {'':{width}}  -> {'; '.join(written)}"
    if len(shown) < len(findings):
        yield f"  and {len(findings) - len(shown)} columns that can be used as they are"


def _example(remedies: Sequence[Remedy], for_python: bool) -> str:
    """All remedies in one call, or in one line of options."""
    values: dict[str, list[str]] = {}
    for remedy in remedies:
        known = values.setdefault(remedy.parameter, [])
        if remedy.value not in known:
            known.append(remedy.value)
    if not for_python:
        return " ".join(_option(name, given) for name, given in values.items())
    return ", ".join(
        f"{name}={given if name in LISTS else given[0]!r}" for name, given in values.items()
    )


def _option(parameter: str, values: Sequence[str]) -> str:
    """Return a command line option with its values, quoted for CSV and for the shell."""
    if not parameter:
        return ""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="").writerow(values)
    value = stream.getvalue() if parameter in LISTS else values[0]
    return f"--{parameter} {shlex.quote(value)}"
