"""Headers of LIBSVM's and LIBLINEAR's model files: lines ``key value value ...``."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple, TypeVar

import numpy as np

from qpsvm.audits.files.text_file import REMEDY, TextFile, shown, words
from qpsvm.exceptions import ModelFileError
from qpsvm.numerics.arrays import Index, Vector, freeze

INT32_MAX = 2**31 - 1
"""Counts, labels and indices are C's ``int``."""

_INTEGER = re.compile(rb"[+-]?\d{1,10}")


Word = TypeVar("Word", bound=str)


class Entry(NamedTuple):
    """The text after a key, and its line number."""

    text: bytes
    line: int


class Header:
    """The entries of a header by key, with one strict parser per type of value.

    Attributes
    ----------
    end, next_line : int
        Where the numbers begin: byte and line after the header.
    closing : bytes
        What follows the key that ends the header.
    """

    def __init__(
        self, file: TextFile, keys: Collection[str], last: str, on_next_line: str = ""
    ) -> None:
        """Read the lines before the line ``last``.

        Parameters
        ----------
        file : TextFile
        keys : collection of str
            Those that may occur, once each.
        last : str
            The key that ends the header.
        on_next_line : str
            A key whose values are in the line below.

        Raises
        ------
        ModelFileError
            Another key, a repeated one, or no end.
        """
        self.file = file
        self._entries: dict[str, Entry] = {}
        start, line = file.start, file.first_line
        while True:
            content = file.line_at(start, line)
            start += len(content) + 1
            if not content.strip():
                line += 1
                continue
            key, text = _split(content)
            if key == last:
                break
            if key not in keys:
                raise file.refusal(line, f"{key[:40]!r} is not one of {', '.join(keys)} or {last}")
            if key in self._entries:
                raise file.refusal(
                    line, f"{key} was already given in line {self._entries[key].line}"
                )
            if key == on_next_line and not text.strip():
                line += 1
                text = file.line_at(start, line)
                start += len(text) + 1
            self._entries[key] = Entry(text, line)
            line += 1
        if text.strip():
            raise file.refusal(
                line, f"{last} is followed by {shown(text.strip())}, not by a line end"
            )
        self.closing = text
        self.end, self.next_line = start, line + 1

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def require_only(self, allowed: Collection[str], owner: str) -> None:
        """Refuse entries that this type of model does not have.

        Raises
        ------
        ModelFileError
            The first of them.
        """
        for key, entry in self._entries.items():
            if key not in allowed:
                raise self.file.refusal(entry.line, f"{key} does not belong to {owner}")

    def choice(self, key: str, choices: Collection[Word]) -> Word:
        """Parse a header value that must be one of a given set of words."""
        entry = self._entry(key)
        word = entry.text.strip().decode("ascii")
        for choice in choices:
            if word == choice:
                return choice
        raise self.file.refusal(
            entry.line, f"{key} is {word[:40]!r}, not one of {', '.join(choices)}"
        )

    def integer(self, key: str, low: int) -> int:
        """Parse an integer of a model file's header that is at least ``low``."""
        return int(self.integers(key, 1, low)[0])

    def integers(self, key: str, count: int, low: int, high: int = INT32_MAX) -> Index:
        """Parse a given number of integers from ``low`` to ``high``."""
        entry = self._entry(key)
        found = []
        for word in words(entry.text):
            if not _INTEGER.fullmatch(word) or not low <= int(word) <= high:
                raise self.file.refusal(
                    entry.line, f"{key} is {shown(word)}, not a whole number from {low} to {high}"
                )
            found.append(int(word))
        self._require_count(key, len(found), count)
        return np.array(found, dtype=np.intp)

    def number(self, key: str, low: float = -np.inf) -> float:
        """Parse a number not below ``low``."""
        value = float(self.numbers(key, 1)[0])
        if value < low:
            raise self.file.refusal(self._entries[key].line, f"{key} is {value:g}, below {low:g}")
        return value

    def numbers(self, key: str, count: int) -> Vector:
        """Parse a given number of numbers."""
        values = self.any_numbers(key)
        self._require_count(key, len(values), count)
        return values

    def any_numbers(self, key: str) -> Vector:
        """Parse any number of numbers."""
        entry = self._entry(key)
        return self.file.numbers(entry.text, entry.line, f"{key} value")

    def n_classes(self, classifier: bool) -> int:
        """Parse ``nr_class``: at least 2, and exactly 2 unless the model is a classifier."""
        k = self.integer("nr_class", 1)
        if not classifier and k != 2:
            raise self.refusal(
                "nr_class", f"nr_class is {k}; for regression and one-class models it is 2"
            )
        if k == 1:
            raise self.refusal(
                "nr_class",
                "nr_class is 1: all training samples had the same label, and nothing was learned",
                "train on samples of two classes at least",
            )
        return k

    def labels(self, k: int) -> Index:
        """Parse ``label``: distinct integers, one per class."""
        labels = self.integers("label", k, -INT32_MAX - 1)
        if len(np.unique(labels)) != k:
            raise self.refusal("label", "a label is repeated")
        return np.asarray(freeze(labels))

    def require_room(self, key: str, n_lines: int, shortest: int) -> None:
        """Refuse a number of lines, each of at least ``shortest`` bytes, that exceeds the file."""
        rest = len(self.file.content) - self.end
        if n_lines * shortest > rest:
            raise self.refusal(
                key, f"{key} asks for {n_lines:,} lines, and only {rest:,} bytes follow the header"
            )

    def text(self, key: str) -> bytes:
        """The text after a key; empty if there is no such entry."""
        return self._entries[key].text if key in self._entries else b""

    def refusal(self, key: str, what: str, remedy: str = REMEDY) -> ModelFileError:
        """Build the error about one entry."""
        return self.file.refusal(self._entries[key].line, what, remedy)

    def _entry(self, key: str) -> Entry:
        if key not in self._entries:
            raise self.file.refusal(self.next_line - 1, f"the header ends here and has no {key}")
        return self._entries[key]

    def _require_count(self, key: str, found: int, count: int) -> None:
        if found != count:
            raise self.file.refusal(
                self._entries[key].line, f"{key} has {found} values, this model has {count}"
            )


def _split(content: bytes) -> tuple[str, bytes]:
    key = next(words(content), b"")
    return key.decode("ascii"), content.lstrip(b" \t")[len(key) :]
