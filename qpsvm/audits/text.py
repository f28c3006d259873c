"""Strict reading of LIBSVM's and LIBLINEAR's model files.

Both formats are a header of lines ``key word word ...``, and lines of numbers up to the end of the
file. Numbers are what C's ``printf`` writes: plain decimals. Python and NumPy read more (``1_0``,
``nan``, other scripts' digits), so every line is matched against a pattern before it is turned into
numbers.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Collection, Iterator
from typing import TypeVar, cast

import numpy as np

from qpsvm.exceptions import ModelFileError
from qpsvm.numerics.arrays import Dense, Index, Vector, freeze
from qpsvm.numerics.conversion import EXACT, is_rounded

MAX_LINE = 2**24
"""Longest line in bytes: about a million ``index:value`` pairs."""

INT32_MAX = int(np.iinfo(np.int32).max)
"""Counts, labels and indices are C's ``int``."""

REMEDY = (
    "correct this line, or save the model again: only what LIBSVM, ThunderSVM and LIBLINEAR write "
    "is read"
)
"""Advice of the error that refuses a line of a model file. LIBSVM itself may read such lines."""

Word = TypeVar("Word", bound=str)

_NUMBER = rb"[+-]?\d{1,32}(?:\.\d{1,32})?(?:[eE][+-]?\d{1,4})?"
"""A decimal number. The lengths are bounded because exact conversion is quadratic in them."""

_ONE_NUMBER = re.compile(_NUMBER)
_ONE_PAIR = re.compile(rb"(\d{1,10}):(" + _NUMBER + rb")")
_INTEGER = re.compile(rb"[+-]?\d{1,10}")
_NOT_TEXT = re.compile(rb"[^\t\n -~]")
_COMMENTS = re.compile(rb"(?:[ \t]*+(?:#[^\n]*+)?\r?\n)*+")
"""Comments and empty lines before the first line of a model."""


class ModelText:
    """A model in text: the entries of its header by key, and the table of numbers below.

    Parameters
    ----------
    source : str
        The path as given, for messages.
    content : bytes
    keys : collection of str
        Those that may occur, once each.
    last : str
        The key that ends the header.
    on_next_line : str
        A key whose values are in the line below.

    Attributes
    ----------
    closing : bool
        Whether a blank follows the key that ends the header.
    first_line : int
        Number of the line after the header.
    numbers : bytes
        What follows the header.

    Raises
    ------
    ModelFileError
        Other bytes than printable ASCII; an end in the middle of a line, as a file has that was
        cut; another key, a repeated one, or no end of the header. The line is named.
    """

    def __init__(
        self,
        source: str,
        content: bytes,
        keys: Collection[str],
        last: str,
        on_next_line: str = "",
    ) -> None:
        self.source, content = source, content.replace(b"\r\n", b"\n")
        start = len(leading_comments(content))
        strange = _NOT_TEXT.search(content, start)
        if strange:
            line = content.count(b"\n", 0, strange.start()) + 1
            raise self.refusal(line, f"the byte 0x{strange[0][0]:02x} is not plain text")
        if not content.endswith(b"\n"):
            what = "the file ends in the middle of this line"
            remedy = "if nothing is missing, end it with a line break"
            raise self.refusal(content.count(b"\n") + 1, what, remedy)
        self._entries: dict[str, tuple[int, list[bytes]]] = {}
        line = content.count(b"\n", 0, start)
        lines = self._lines(content, start, line + 1)
        for line, start, text in lines:
            first, *words = text.split() or [b""]
            key = first.decode("ascii")
            if key == last:
                break
            if not key:
                continue
            if key not in keys:
                raise self.refusal(line, f"{key[:40]!r} is not one of {', '.join(keys)} or {last}")
            if key in self._entries:
                raise self.refusal(line, f"{key} was already given in line {self._line(key)}")
            if key == on_next_line and not words:
                line, start, text = next(lines, (line, start, b""))  # noqa: PLW2901 - in one entry
                words = text.split()
            self._entries[key] = line, words
        else:
            raise self.refusal(line + 1, "the file ends before this line: it is incomplete")
        if words:
            what = f"{last} is followed by {_shown(b' '.join(words))}, not by a line end"
            raise self.refusal(line, what)
        self.closing = text != text.rstrip()
        self.first_line, self.numbers = line + 1, content[start:]

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def refusal(self, place: int | str, what: str, remedy: str = REMEDY) -> ModelFileError:
        """Build the error about a line, by its number from 1 or by its key."""
        line = place if isinstance(place, int) else self._line(place)
        return ModelFileError(f"{self.source!r} line {line}: {what}; {remedy}.")

    # --- the header ---------------------------------------------------------------------------

    def require_only(self, allowed: Collection[str], owner: str) -> None:
        """Refuse entries that this type of model does not have.

        Raises
        ------
        ModelFileError
            The first of them.
        """
        for key in self._entries:
            if key not in allowed:
                raise self.refusal(key, f"{key} does not belong to {owner}")

    def words(self, key: str) -> list[bytes]:
        """Return the words after a key.

        Raises
        ------
        ModelFileError
            There is no such key.
        """
        if key not in self._entries:
            raise self.refusal(self.first_line - 1, f"the header ends here and has no {key}")
        return self._entries[key][1]

    def choice(self, key: str, choices: Collection[Word]) -> Word:
        """Parse a header value that must be one of a given set of words."""
        word = b" ".join(self.words(key)).decode("ascii")
        if word not in choices:
            raise self.refusal(key, f"{key} is {word[:40]!r}, not one of {', '.join(choices)}")
        return cast("Word", word)

    def integers(self, key: str, count: int, low: int) -> Index:
        """Parse the given number of 32-bit integers, none of them below ``low``."""
        words = self.words(key)
        for word in words:
            if not _INTEGER.fullmatch(word) or not low <= int(word) <= INT32_MAX:
                what = f"{key} is {_shown(word)}, not a whole number from {low} to {INT32_MAX}"
                raise self.refusal(key, what)
        self._require_count(key, count)
        return np.array([int(word) for word in words], dtype=np.intp)

    def values(self, key: str, count: int | None = None, low: float = -math.inf) -> Vector:
        """Parse numbers not below ``low``, as many as ``count`` says."""
        words, line = self.words(key), self._line(key)
        values = [self._number(line, word, f"{key} value {n}") for n, word in enumerate(words, 1)]
        if values and min(values) < low:
            raise self.refusal(key, f"{key} is {min(values):g}, below {low:g}")
        if count is not None:
            self._require_count(key, count)
        return np.array(values)

    def n_classes(self, classifier: bool) -> int:
        """Parse ``nr_class``: at least 2, and exactly 2 unless the model is a classifier."""
        k = int(self.integers("nr_class", 1, 1)[0])
        if not classifier and k != 2:
            what = f"nr_class is {k}; for regression and one-class models it is 2"
            raise self.refusal("nr_class", what)
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

    # --- the numbers below it -----------------------------------------------------------------

    def table(
        self, key: str, n_lines: int, m: int, number: str, surplus: str, *, pairs: bool = False
    ) -> tuple[Dense, Index, Dense]:
        """Read exactly so many lines of m numbers up to the end of the file.

        Parameters
        ----------
        key : str
            Where the header says how many lines there are.
        n_lines, m : int
        number : str
            What one of the m numbers is called.
        surplus : str
            What is wrong with a further line.
        pairs : bool
            Whether pairs ``index:value``, with ascending indices, follow the numbers of a line.

        Returns
        -------
        numbers : array of shape (n_lines, m)
        lengths : array of int of shape (n_lines,)
            Number of pairs in each line.
        pairs : array of shape (sum of the lengths, 2)

        Raises
        ------
        ModelFileError
            More lines than the file has room for, before anything is allocated; fewer or more lines
            than there are; a word that is no finite decimal number, or an integer that float64
            would round; too few or too many words.
        """
        rest = len(self.numbers)
        if 2 * m * n_lines > rest:  # a digit and a blank or line end per number
            what = f"{key} asks for {n_lines:,} lines, and only {rest:,} bytes follow the header"
            raise self.refusal(key, what)

        numbers, entries, lengths = array("d"), array("d"), array("q")
        for line, _, text in self._lines(self.numbers, 0, self.first_line):
            if line >= self.first_line + n_lines:
                raise self.refusal(line, surplus)
            words = text.split()
            for place, word in enumerate(words[:m], 1):
                numbers.append(self._number(line, word, f"{number} {place}"))
            if len(words) < m or (len(words) > m and not pairs):
                has = f"{len(words)} of {m} {number}s"
                if not pairs:
                    has = f"{len(words)} {number}s, this model has {m}"
                raise self.refusal(line, f"it has {has}")
            last = -1
            for word in words[m:]:
                index, value = self._pair(line, word)
                if index > INT32_MAX:
                    raise self.refusal(line, f"index {index} is beyond {INT32_MAX}")
                if index <= last:
                    what = f"index {index} comes after {last}; indices ascend"
                    raise self.refusal(line, what)
                entries.extend((index, value))
                last = index
            lengths.append(len(words) - m)
        if len(lengths) < n_lines:
            of_lines = "support vectors" if pairs else f"of {n_lines:,} lines of weights"
            what = f"the file ends after {len(lengths):,} {of_lines}"
            what = f"{key} is {n_lines:,}, and {what}" if pairs else what
            raise self.refusal(self.first_line + len(lengths), what)
        return (
            np.array(numbers).reshape(-1, m),
            np.array(lengths, np.int64),
            np.array(entries).reshape(-1, 2),
        )

    # --- small pieces -------------------------------------------------------------------------

    def _lines(self, content: bytes, start: int, line: int) -> Iterator[tuple[int, int, bytes]]:
        """Yield each line's number, the byte after its end, and its text."""
        while start < len(content):
            end = content.find(b"\n", start, start + MAX_LINE)
            if end < 0:
                raise self.refusal(line, f"it is longer than {MAX_LINE:,} bytes")
            yield line, end + 1, content[start:end]
            start, line = end + 1, line + 1

    def _line(self, key: str) -> int:
        return self._entries[key][0]

    def _require_count(self, key: str, count: int) -> None:
        found = len(self.words(key))
        if found != count:
            raise self.refusal(key, f"{key} has {found} values, this model has {count}")

    def _number(self, line: int, word: bytes, name: str) -> float:
        """Convert a word to the number that it says, or raise the error about its line."""
        if not _ONE_NUMBER.fullmatch(word) or not math.isfinite(value := float(word)):
            raise self.refusal(line, f"{name} is {_shown(word)}, not a finite decimal number")
        if abs(value) >= EXACT and is_rounded(word):
            raise self.refusal(line, f"{_shown(word)} is an integer that float64 does not have")
        return value

    def _pair(self, line: int, word: bytes) -> tuple[int, float]:
        """Parse ``index:value``, a feature of a sparse sample in a model file, into two numbers."""
        pair = _ONE_PAIR.fullmatch(word)
        if pair is None or not math.isfinite(float(pair[2])):
            what = f"{_shown(word)} is not index:value with a finite decimal number"
            raise self.refusal(line, what)
        return int(pair[1]), self._number(line, pair[2], "value")


def _shown(word: bytes) -> str:
    """The beginning of a word, for a message."""
    return repr(word[:40].decode("ascii", "replace"))


def leading_comments(content: bytes) -> bytes:
    """The comments and empty lines at the beginning of a file, up to its first other line."""
    found = _COMMENTS.match(content)
    return b"" if found is None else found[0]
