"""Text files of models, with strict number parsing and errors that name the line.

Numbers are what C's ``printf`` writes: plain decimals. Python and NumPy read more (``1_0``,
``nan``, other scripts' digits), so every line is matched against a pattern before it is turned into
numbers.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from qpsvm.audits.files.opening import read_bytes
from qpsvm.exceptions import ModelFileError
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.integers import EXACT, is_rounded

NUMBER = rb"[+-]?\d{1,32}(?:\.\d{1,32})?(?:[eE][+-]?\d{1,4})?"
"""A decimal number. The lengths are bounded because exact conversion is quadratic in them."""

END = rb"(?![^ \t])"
"""The end of a word."""

MAX_LINE = 2**24
"""Longest line in bytes: about a million ``index:value`` pairs."""

REMEDY = (
    "correct this line, or save the model again: only what LIBSVM, ThunderSVM and LIBLINEAR write "
    "is read"
)
"""Remedy for a line of a model file that is refused, although LIBSVM itself may read it."""

_BLOCK = 2**20
"""Lines are taken together up to this many bytes: temporaries stay small."""

_LINE_OF_NUMBERS = re.compile(rb"(?:[ \t]*+" + NUMBER + END + rb")*+[ \t]*+")
_ONE_NUMBER = re.compile(NUMBER)
_WORD = re.compile(rb"[^ \t]+")
_NOT_TEXT = re.compile(rb"[^\t\n -~]")
_COMMENTS = re.compile(rb"(?:[ \t]*+(?:#[^\n]*+)?\r?\n)*+")
"""Comments and empty lines before the first line of a model."""


@dataclass(frozen=True)
class TextFile:
    """A file of printable ASCII whose lines are all complete.

    Attributes
    ----------
    source : str
        The path as given.
    content : bytes
        With Unix line ends; the last line has its own.
    start, first_line : int
        Where the model begins: byte and line after comments and empty lines.
    """

    source: str
    content: bytes
    start: int = 0
    first_line: int = 1

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> TextFile:
        """Read and check a file.

        Raises
        ------
        ModelFileError
            As ``read_bytes``; empty, with other bytes than printable ASCII (their line is named),
            or ending in the middle of a line, as a file does that was cut.
        """
        source = os.fspath(path)
        content = read_bytes(path)
        if b"\r" in content:
            content = content.replace(b"\r\n", b"\n")
        start = len(leading_comments(content))
        file = cls(source, content, start, content.count(b"\n", 0, start) + 1)
        if not content:
            raise ModelFileError(f"{source!r} is empty; save the model again.")
        strange = _NOT_TEXT.search(content, start)
        if strange:
            line = content.count(b"\n", 0, strange.start()) + 1
            raise file.refusal(line, f"the byte 0x{strange[0][0]:02x} is not plain text")
        if not content.endswith(b"\n"):
            line = content.count(b"\n") + 1
            raise file.refusal(
                line,
                "the file ends in the middle of this line",
                "if nothing is missing, end it with a line break",
            )
        return file

    def refusal(self, line: int, what: str, remedy: str = REMEDY) -> ModelFileError:
        """Build the error about one line, counted from 1."""
        return ModelFileError(f"{self.source!r} line {line}: {what}; {remedy}.")

    def line_at(self, start: int, line: int) -> bytes:
        """Return line number ``line``, which begins at byte ``start``, without its newline.

        Raises
        ------
        ModelFileError
            There is none, or it is too long.
        """
        if start >= len(self.content):
            raise self.refusal(line, "the file ends before this line: it is incomplete")
        return self.content[start : self._end(start, line) - 1]

    def blocks(self, start: int, line: int) -> Iterator[tuple[int, bytes]]:
        """Yield blocks of complete lines, each with the number of its first line.

        Raises
        ------
        ModelFileError
            A line that is too long.
        """
        while start < len(self.content):
            end = self.content.rfind(b"\n", start, start + _BLOCK) + 1
            if end == 0:
                end = self._end(start, line)
            block = self.content[start:end]
            yield line, block
            line += block.count(b"\n")
            start = end

    def _end(self, start: int, line: int) -> int:
        end = self.content.find(b"\n", start, start + MAX_LINE) + 1
        if end == 0:
            raise self.refusal(line, f"it is longer than {MAX_LINE:,} bytes")
        return end

    def numbers(self, text: bytes, line: int, what: str) -> Vector:
        """Parse numbers separated by blanks.

        Raises
        ------
        ModelFileError
            A word that is no finite decimal number.
        """
        if not _LINE_OF_NUMBERS.fullmatch(text):
            self.require_numbers(text, line, what)
        if not text.strip():
            return np.zeros(0)
        values = self.converted(text, line)
        if not np.isfinite(values).all():
            self.require_numbers(text, line, what)
        return values

    def converted(self, text: bytes, line: int) -> Vector:
        """Convert checked lines of numbers separated by blanks or colons; ``line`` is the first.

        Raises
        ------
        ModelFileError
            An integer that float64 would round.
        """
        values = np.fromstring(text.replace(b":", b" "), dtype=np.float64, sep=" ")
        if (np.abs(values) >= EXACT).any():
            for number, content in enumerate(text.split(b"\n"), line):
                for word in words(content.replace(b":", b" ")):
                    if is_rounded(word):
                        raise self.refusal(
                            number, f"{shown(word)} is an integer that float64 does not have"
                        )
        return np.asarray(values)

    def require_numbers(self, text: bytes, line: int, what: str) -> None:
        """Raise ModelFileError for the first word that is not a finite decimal number."""
        for place, word in enumerate(words(text), 1):
            if not is_finite_number(word):
                raise self.refusal(
                    line, f"{what} {place} is {shown(word)}, not a finite decimal number"
                )


def leading_comments(content: bytes) -> bytes:
    """The comments and empty lines at the beginning of a file, up to its first other line."""
    found = _COMMENTS.match(content)
    return b"" if found is None else found[0]


def is_finite_number(word: bytes) -> bool:
    """Return whether a word is a decimal number in the range of float64."""
    return _ONE_NUMBER.fullmatch(word) is not None and math.isfinite(float(word))


def words(text: bytes) -> Iterator[bytes]:
    """Yield the words of a text separated by blanks."""
    return (match[0] for match in _WORD.finditer(text))


def shown(word: bytes) -> str:
    """The beginning of a word, for a message."""
    return repr(word[:40].decode("ascii", "replace"))
