"""Inspection of columns: which can be features as they are, and what the others need."""

from __future__ import annotations

import csv
import io
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from qpsvm.exceptions import UnreadyColumnsError
from qpsvm.io.cells import Cells, Kind, Mask, is_number, label_kind
from qpsvm.io.table import Roles, Table

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


# --- inspection --------------------------------------------------------------------------------


@dataclass(frozen=True)
class InspectionSettings:
    """Numbers by which the remedies for a column are chosen; none changes what is read.

    Attributes
    ----------
    examples : int
        Values of a column that a message shows.
    example_length : int
        Characters of such a value.
    mostly_numbers : float
        Share of cells that are numbers from which the others are taken for mistakes.
    identifier_share : float
        Different values per cell from which texts are taken for identifiers or free text, so that
        ``categorical`` is not the first remedy.
    """

    examples: int = 3
    example_length: int = 40
    mostly_numbers: float = 0.5
    identifier_share: float = 0.5


SETTINGS = InspectionSettings()

_OF_INDEX = re.compile(r"|Unnamed: \d+(\.\d+|_level_\d+)*|__index_level_\d+__|\.\.\.\d+")
"""Names of columns without one: none, and what pandas and R write in its place."""


def findings(table: Table, roles: Roles, missing: str) -> list[Finding]:
    """Inspect every column of a table.

    Parameters
    ----------
    table : Table
    roles : Roles
    missing : {"error", "drop", "median"}
        What is to be done with missing values.

    Returns
    -------
    list of Finding
        One per column, in the order of the file.
    """
    return [_finding(table, roles, i, missing) for i in range(len(table.columns))]


def _finding(table: Table, roles: Roles, i: int, missing: str) -> Finding:
    name, cells = table.name(i), table.columns[i]
    if i in (roles.label, roles.groups):
        return _of_labels(table, roles, i, missing)
    if i in roles.ids:
        return Finding(name, "identifiers, carried into predictions")
    if i not in roles.features:
        return Finding(name, "left out")
    if i in roles.categorical:
        text = f"categories: {_values(cells)}"
        found = _with_missing(table, i, Kind.TEXTS, text, missing)
    else:
        found = _feature(table, i, missing)
    return found if table.names is None else _named(table, table.names, i, found)


def _named(table: Table, names: Sequence[str], i: int, found: Finding) -> Finding:
    """Report a column whose name is missing or repeated, with the options that settle it."""
    line, remedies = table.header_line, found.remedies
    same = [j for j, name in enumerate(names) if name == names[i]]
    if _OF_INDEX.fullmatch(names[i]):
        text = f"no name but {names[i]!r}, as the index of a pandas frame is written"
        id_, _ = _as_texts(table.reference(i))
        name_it = Remedy("or name it in the file (frame.to_csv(index=False) writes no index)")
        remedies = (Remedy("leaves it out", "drop", table.reference(i)), id_, name_it)
    elif len(same) > 1:
        text = f"columns {' and '.join(map(str, same))} (counted from 0) have this name"
        rename = Remedy("rename all but one, since a model finds columns by their names")
        remedies = (rename, *remedies)
    else:
        return found
    if line is not None:
        sample = Remedy(f"or pass header=False (--no-header), if line {line} is a sample")
        remedies = (*remedies, sample)
    return Finding(found.name, f"{text}; {found.text}", remedies)


def _of_labels(table: Table, roles: Roles, i: int, missing: str) -> Finding:
    cells = table.columns[i]
    is_last = "" if roles.label_was_named else " (the last column; name another one as label)"
    text = f"the label{is_last}" if i == roles.label else "the groups"
    text = f"{text}: {_values(cells)}"
    gone = cells.missing(label_kind(cells))
    if not gone.any() or (missing == "drop" and not gone.all()):
        return Finding(table.name(i), text)
    remedy = Remedy("leaves these rows out", "missing", "drop")
    if gone.all():
        remedy = Remedy("name another column, or fill the cells in")
    elif missing != "error":
        remedy = Remedy("fill the cells in")
    return Finding(table.name(i), f"{text}; {_empty(table, i, gone)}", (remedy,))


def _feature(table: Table, i: int, missing: str) -> Finding:
    """The finding on a feature that is not categorical."""
    name, cells = table.name(i), table.columns[i]
    drop = Remedy("leaves it out", "drop", table.reference(i))
    remedies: tuple[Remedy, ...] = (drop,)
    match cells.kind:
        case Kind.NUMBERS:
            return _of_numbers(table, i, missing, drop)
        case Kind.TEXTS:
            return _of_texts(table, i, missing, drop)
        case Kind.TRUTH_VALUES as kind:
            return _with_missing(table, i, kind, "truth values, read as 1 and 0", missing)
        case Kind.DECIMAL_COMMAS:
            text = f"numbers with commas, such as {_examples(cells, with_text=',')}"
            remedies = Remedy("reads them, if these are decimal commas", "decimal", ","), drop
        case Kind.DATES:
            text = f"dates, such as {_examples(cells)}: not numbers"
            remedies = drop, Remedy("or put numbers in their place, such as days")
        case Kind.EMPTY:
            text = "all cells are empty or missing"
        case Kind.OTHER:
            text = f"{cells.stored_as}: not numbers"
    return Finding(name, text, remedies)


def _of_numbers(table: Table, i: int, missing: str, drop: Remedy) -> Finding:
    name, cells = table.name(i), table.columns[i]
    rounded = cells.rounded(cells.numbers(Kind.NUMBERS))
    if rounded is None:
        return _with_missing(table, i, Kind.NUMBERS, "numbers", missing)
    place = table.place(rounded.place[0])
    text = f"{place}, column {name!r} is {rounded.value}, {rounded.problem}"
    return Finding(name, text, (*_as_texts(table.reference(i)), drop))


def _of_texts(table: Table, i: int, missing: str, drop: Remedy) -> Finding:
    """The finding on texts: mistakes among numbers, identifiers, or categories."""
    name, cells = table.name(i), table.columns[i]
    numbers = cells.numbers(Kind.NUMBERS)
    wrong = ~np.isfinite(numbers) & ~cells.missing(Kind.NUMBERS)
    n_numbers = int((~np.isnan(numbers)).sum())  # infinite ones included
    if n_numbers and n_numbers >= SETTINGS.mostly_numbers * (~cells.missing(Kind.NUMBERS)).sum():
        return Finding(name, _mistakes(table, i, wrong), (Remedy("correct the file"), drop))
    texts = [text for text in cells.texts() if text]
    place = table.place(int(np.flatnonzero(~cells.missing(Kind.TEXTS))[0]))
    id_, categorical = _as_texts(table.reference(i))
    if all(is_number(_DECORATION.sub("", text).replace("\u2212", "-")) for text in texts):
        correct = Remedy("store them as plain numbers, such as 1000.5")
        written = f"numbers written as texts from {place} on, such as {_examples(cells)}"
        return Finding(name, written, (correct, id_, categorical, drop))
    identifying = len(set(texts)) > SETTINGS.identifier_share * len(texts)
    remedies = (id_, categorical, drop) if identifying else (categorical, drop)
    text = f"texts from {place} on, not numbers: {_values(cells)}"
    found = _with_missing(table, i, Kind.TEXTS, text, missing)
    return Finding(name, found.text, (*remedies, *found.remedies))


_DECORATION = re.compile(r"[\s,'\u2019$\u20ac\u00a3%]")
"""Characters that a number in a table may have beside its digits: 1,000.5, $1 or 10%."""


def _as_texts(column: str) -> tuple[Remedy, Remedy]:
    """The remedies that make identifiers and categories of a column."""
    return (
        Remedy("carries it along", "id", column),
        Remedy("makes a feature of every value", "categorical", column),
    )


def _mistakes(table: Table, i: int, wrong: Mask) -> str:
    """Describe cells that are not finite numbers in a column of numbers."""
    first = int(np.flatnonzero(wrong)[0])
    cells = table.columns[i]
    cell, is_infinite = cells.texts()[first], np.isinf(cells.numbers(Kind.NUMBERS)[first])
    what = "is infinite" if is_infinite else "is not a number"
    return (
        f"numbers, but {table.place(first)} is {shown(cell)}, which {what} "
        f"({wrong.sum()} of {table.n_rows} cells)"
    )


def _with_missing(table: Table, i: int, kind: Kind, text: str, missing: str) -> Finding:
    """The finding on a column that can be used, unless cells are missing and nothing fills them."""
    name, cells = table.name(i), table.columns[i]
    gone = cells.missing(kind)
    if not gone.any():
        return Finding(name, text)
    text = f"{text}; {_empty(table, i, gone)}"
    if gone.all():
        return Finding(name, text, (Remedy("leaves it out", "drop", table.reference(i)),))
    if missing != "error":
        return Finding(name, text)
    numeric = kind in (Kind.NUMBERS, Kind.TRUTH_VALUES)
    what = "median" if numeric else "most frequent value"
    fills = Remedy(f"puts the {what} there", "missing", "median")
    return Finding(name, text, (fills, Remedy("leaves these rows out", "missing", "drop")))


def _empty(table: Table, i: int, gone: Mask) -> str:
    first = int(np.flatnonzero(gone)[0])
    text = table.columns[i].texts()[first]
    written = shown(text) if text else "empty"
    return (
        f"{gone.sum()} of {table.n_rows} cells are missing, the first in {table.place(first)} "
        f"({written})"
    )


def _values(cells: Cells) -> str:
    """The number of different texts, and the most frequent ones."""
    counts = Counter(text for text in cells.texts() if text)
    if not counts:
        return "no values"
    frequent = [text for text, _ in counts.most_common(SETTINGS.examples)]
    if len(counts) == 1:
        return f"one value, {shown(frequent[0])}"
    such_as = "" if len(counts) <= len(frequent) else "such as "
    return f"{len(counts)} different values, {such_as}{listed(frequent)}"


def _examples(cells: Cells, with_text: str = "") -> str:
    """The first different values of a column that contain a text."""
    different = dict.fromkeys(text for text in cells.texts() if text and with_text in text)
    return listed(list(different)[: SETTINGS.examples])


def listed(texts: Sequence[str], between: str = ", ") -> str:
    """Values for a message: the first of them, and how many others there are."""
    n_others = len(texts) - SETTINGS.examples
    others = [f"{n_others} others"] if n_others > 0 else []
    return between.join([*map(shown, texts[: SETTINGS.examples]), *others])


def shown(text: str) -> str:
    """A value for a message, cut where it is long."""
    length = SETTINGS.example_length
    return repr(text if len(text) <= length else f"{text[: length - 3]}...")
