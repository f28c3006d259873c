"""Inspection of columns: which can be features as they are, and what the others need."""

from __future__ import annotations

import csv
import io
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from qpsvm.display.objects import cut
from qpsvm.exceptions import UnreadyColumnsError
from qpsvm.numerics.arrays import Mask
from qpsvm.tables.cells import CellKind, Cells, is_number, label_kind
from qpsvm.tables.table import FileTable, Roles

LISTS = ("id", "drop", "categorical")
"""Parameters that take several columns."""

EXAMPLES = 3
"""Values of a column that a message shows."""

_OF_INDEX = re.compile(r"|Unnamed: \d+(\.\d+|_level_\d+)*|__index_level_\d+__|\.\.\.\d+")
"""Names of columns without one: none, and what pandas and R write in its place."""

_DECORATION = re.compile(r"[\s,'\u2019$\u20ac\u00a3%]")
"""Characters that a number in a table may have beside its digits: 1,000.5, $1 or 10%."""


class Remedy(NamedTuple):
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


Finding: TypeAlias = tuple[str, tuple[Remedy, ...]]
"""The content of a column, or the trouble with it; and what can be done, the usual remedy first.

A column without trouble has no remedies.
"""


def require_ready(table: FileTable, roles: Roles, missing: str) -> None:
    """Raise an error that lists all columns if one of them cannot be used as it is.

    Parameters
    ----------
    table : FileTable
    roles : Roles
    missing : {"error", "drop", "median"}
        What is to be done with missing values.

    Raises
    ------
    UnreadyColumnsError
    """
    findings = [_finding(table, roles, i, missing) for i in range(len(table.columns))]
    bad = [remedies for _, remedies in findings if remedies]
    if not bad:
        return
    first = (
        f"{table.source!r} cannot be used as it is: {len(bad)} of {len(findings)} columns "
        f"{'needs' if len(bad) == 1 else 'need'} a decision."
    )
    values = dict[str, list[str]]()  # of the parameters after which nothing is left to be done
    for _, parameter, value in (remedy for remedies in bad for remedy in _usual(remedies)):
        known = values.setdefault(parameter, [])
        known += [value] if value not in known else []
    messages = []
    for written, between in ((_argument, ", "), (_option, " ")):
        lines = [first, *_lines(table, findings, written)]
        if "" not in values:
            lines.append(f"For example: {between.join(map(written, values, values.values()))}")
        messages.append("\n".join(lines))
    raise UnreadyColumnsError(*messages)


def _usual(remedies: Sequence[Remedy]) -> tuple[Remedy, ...]:
    """Remedies after which nothing is left to be done about the column."""
    first, *others = remedies
    fills = [remedy for remedy in others if remedy.parameter == "missing"][:1]
    return (first, *fills) if first.parameter == "categorical" else (first,)


def _lines(
    table: FileTable, findings: Sequence[Finding], written: Callable[[str, list[str]], str]
) -> Iterator[str]:
    shows_all = len(findings) <= 40  # of a wide table only the columns with trouble
    shown = {i: found for i, found in enumerate(findings) if found[1] or shows_all}
    width = max(len(repr(table.name(i))) for i in shown)
    for i, (text, remedies) in shown.items():
        yield f"  {table.name(i)!r:{width}}  {text}"
        if remedies:
            all_of_them = (f"{written(p, [v])} {words}".strip() for words, p, v in remedies)
            yield f"  {'':{width}}  -> {'; '.join(all_of_them)}"
    if len(shown) < len(findings):
        yield f"  and {len(findings) - len(shown)} columns that can be used as they are"


def _argument(parameter: str, values: list[str]) -> str:
    """An argument of ``qpsvm.datasets.load``; empty without a parameter."""
    value = values if parameter in LISTS else repr(values[0])
    return f"{parameter}={value}" if parameter else ""


def _option(parameter: str, values: list[str]) -> str:
    """A command line option with its values, quoted for CSV and for the shell."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="").writerow(values)
    value = stream.getvalue() if parameter in LISTS else values[0]
    return f"--{parameter} {shlex.quote(value)}" if parameter else ""


# --- one column --------------------------------------------------------------------------------


def _finding(table: FileTable, roles: Roles, i: int, missing: str) -> Finding:
    if i in (roles.label, roles.groups):
        return _of_labels(table, roles, i, missing)
    if i in roles.ids:
        return "identifiers, carried into predictions", ()
    if i not in roles.features:
        return "left out", ()
    if i in roles.categorical:
        text = f"categories: {_values(table.columns[i])}"
        found = _with_missing(table, i, CellKind.TEXTS, text, missing)
    else:
        found = _feature(table, i, missing)
    return found if table.names is None else _named(table, table.names, i, found)


def _named(table: FileTable, names: Sequence[str], i: int, found: Finding) -> Finding:
    """Report a column whose name is missing or repeated, with the options that settle it."""
    text, remedies = found
    same = table.named(names[i])
    if _OF_INDEX.fullmatch(names[i]):
        trouble = f"no name but {names[i]!r}, as the index of a pandas frame is written"
        name_it = Remedy("or name it in the file (frame.to_csv(index=False) writes no index)")
        drop, id_, _ = _remedies(table, i)
        remedies = (drop, id_, name_it)
    elif len(same) > 1:
        trouble = f"columns {' and '.join(map(str, same))} (counted from 0) have this name"
        rename = Remedy("rename all but one, since a model finds columns by their names")
        remedies = (rename, *remedies)
    else:
        return found
    if table.header_line is not None:
        either = f"or pass header=False (--no-header), if line {table.header_line} is a sample"
        remedies = (*remedies, Remedy(either))
    return f"{trouble}; {text}", remedies


def _of_labels(table: FileTable, roles: Roles, i: int, missing: str) -> Finding:
    cells = table.columns[i]
    is_last = "" if roles.label_was_named else " (the last column; name another one as label)"
    text = f"the label{is_last}" if i == roles.label else "the groups"
    text = f"{text}: {_values(cells)}"
    gone = cells.missing(label_kind(cells))
    if not gone.any() or (missing == "drop" and not gone.all()):
        return text, ()
    remedy = Remedy("leaves these rows out", "missing", "drop")
    if gone.all():
        remedy = Remedy("name another column, or fill the cells in")
    elif missing != "error":
        remedy = Remedy("fill the cells in")
    return f"{text}; {_empty(table, i, gone)}", (remedy,)


def _feature(table: FileTable, i: int, missing: str) -> Finding:
    """The finding on a feature that is not categorical."""
    cells = table.columns[i]
    drop, id_, categorical = _remedies(table, i)
    remedies: tuple[Remedy, ...] = (drop,)
    match cells.kind:
        case CellKind.NUMBERS:
            rounded = cells.rounded(cells.numbers(CellKind.NUMBERS))
            if rounded is None:
                return _with_missing(table, i, CellKind.NUMBERS, "numbers", missing)
            place = table.place(rounded.place[0])
            text = f"{place}, column {table.name(i)!r} is {rounded.value}, {rounded.problem}"
            remedies = id_, categorical, drop
        case CellKind.TEXTS:
            return _of_texts(table, i, missing)
        case CellKind.TRUTH_VALUES as kind:
            return _with_missing(table, i, kind, "truth values, read as 1 and 0", missing)
        case CellKind.DECIMAL_COMMAS:
            text = f"numbers with commas, such as {_examples(cells, with_text=',')}"
            remedies = Remedy("reads them, if these are decimal commas", "decimal", ","), drop
        case CellKind.DATES:
            text = f"dates, such as {_examples(cells)}: not numbers"
            remedies = drop, Remedy("or put numbers in their place, such as days")
        case CellKind.EMPTY:
            text = "all cells are empty or missing"
        case CellKind.OTHER:
            text = f"{cells.stored_as}: not numbers"
    return text, remedies


def _of_texts(table: FileTable, i: int, missing: str) -> Finding:
    """The finding on texts: mistakes among numbers, identifiers, or categories."""
    cells = table.columns[i]
    drop, id_, categorical = _remedies(table, i)
    numbers, written = cells.numbers(CellKind.NUMBERS), ~cells.missing(CellKind.NUMBERS)
    n_numbers = int((~np.isnan(numbers)).sum())  # infinite ones included
    if n_numbers and 2 * n_numbers >= written.sum():  # the others are mistakes
        wrong = ~np.isfinite(numbers) & written
        first = int(np.flatnonzero(wrong)[0])
        what = "is infinite" if np.isinf(numbers[first]) else "is not a number"
        text = (
            f"numbers, but {table.place(first)} is {shown(cells.texts()[first])}, which {what} "
            f"({wrong.sum()} of {table.n_rows} cells)"
        )
        return text, (Remedy("correct the file"), drop)
    texts = [text for text in cells.texts() if text]
    place = table.place(int(np.flatnonzero(~cells.missing(CellKind.TEXTS))[0]))
    if all(is_number(_DECORATION.sub("", text).replace("\u2212", "-")) for text in texts):
        correct = Remedy("store them as plain numbers, such as 1000.5")
        text = f"numbers written as texts from {place} on, such as {_examples(cells)}"
        return text, (correct, id_, categorical, drop)
    text = f"texts from {place} on, not numbers: {_values(cells)}"
    text, remedies = _with_missing(table, i, CellKind.TEXTS, text, missing)
    identifying = 2 * len(set(texts)) > len(texts)
    return text, ((id_,) * identifying + (categorical, drop, *remedies))


def _remedies(table: FileTable, i: int) -> tuple[Remedy, Remedy, Remedy]:
    """The remedies for any column: to leave it out, to carry it along, to make categories of it."""
    column = table.reference(i)
    return (
        Remedy("leaves it out", "drop", column),
        Remedy("carries it along", "id", column),
        Remedy("makes a feature of every value", "categorical", column),
    )


def _with_missing(table: FileTable, i: int, kind: CellKind, text: str, missing: str) -> Finding:
    """The finding on a column that can be used, unless cells are missing and nothing fills them."""
    gone = table.columns[i].missing(kind)
    if not gone.any():
        return text, ()
    remedies: tuple[Remedy, ...] = ()
    if gone.all():
        remedies = _remedies(table, i)[:1]
    elif missing == "error":
        what = "most frequent value" if kind is CellKind.TEXTS else "median"
        fills = Remedy(f"puts the {what} there", "missing", "median")
        remedies = fills, Remedy("leaves these rows out", "missing", "drop")
    return f"{text}; {_empty(table, i, gone)}", remedies


def _empty(table: FileTable, i: int, gone: Mask) -> str:
    first = int(np.flatnonzero(gone)[0])
    text = table.columns[i].texts()[first]
    written = shown(text) if text else "empty"
    return (
        f"{gone.sum()} of {table.n_rows} cells are missing, the first in {table.place(first)} "
        f"({written})"
    )


# --- values in messages ------------------------------------------------------------------------


def _values(cells: Cells) -> str:
    """The number of different texts, and the most frequent ones."""
    counts = Counter(text for text in cells.texts() if text)
    frequent = [text for text, _ in counts.most_common(EXAMPLES)]
    if len(counts) < 2:
        return f"one value, {shown(frequent[0])}" if counts else "no values"
    such_as = "" if len(counts) <= len(frequent) else "such as "
    return f"{len(counts)} different values, {such_as}{listed(frequent)}"


def _examples(cells: Cells, with_text: str = "") -> str:
    """The first different values of a column that contain a text."""
    different = dict.fromkeys(text for text in cells.texts() if text and with_text in text)
    return listed(list(different)[:EXAMPLES])


def listed(texts: Sequence[str], between: str = ", ") -> str:
    """Values for a message: the first of them, and how many others there are."""
    n_others = len(texts) - EXAMPLES
    others = [f"{n_others} others"] if n_others > 0 else []
    return between.join([*map(shown, texts[:EXAMPLES]), *others])


def shown(text: str, longest: int = 40) -> str:
    """A value for a message, cut where it is longer than so many characters."""
    return repr(cut(text, longest))
