"""Reading of text files, plain or compressed, with uniform errors."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from decimal import Decimal
from typing import IO, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from qpsvm.exceptions import DataFileError, InvalidDataError
from qpsvm.numerics.conversion import EXACT, first_rounded

Labels: TypeAlias = npt.NDArray[Any]
"""One label per sample: integers, numbers or texts."""

COMPRESSIONS: Mapping[str, Callable[..., IO[Any]]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}
"""Suffixes of compressed texts, and how these are opened."""
BEGINNINGS: Mapping[bytes, Callable[..., IO[Any]]] = {
    rb"\x1f\x8b\x08": gzip.open,
    rb"BZh[1-9](1AY&SY|\x17rE8P\x90)": bz2.open,
    rb"\xfd7zXZ\x00": lzma.open,
}
"""What compressed texts begin with, whatever their names."""
STANDARD_INPUT = "-"
"""The path that stands for standard input."""
SHOWN_CHARACTERS = 20
"""Characters of a line that a message shows before bytes that are not UTF-8."""
UNREADABLE = (OSError, EOFError, zlib.error, lzma.LZMAError)


class _Limited(io.RawIOBase):
    """Binary stream that counts the bytes read from it, and refuses more than a limit."""

    def __init__(self, stream: IO[bytes], source: str, limit_bytes: int) -> None:
        self._stream: Any = stream
        self._source = source
        self._limit = self._left = limit_bytes

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self._left = self._limit
        return int(self._stream.seek(offset, whence))

    def readinto(self, buffer: Any) -> int:
        n_bytes = int(self._stream.readinto(buffer))
        self._left -= n_bytes
        if self._left < 0:
            raise DataFileError(
                f"{self._source!r} has {os.path.getsize(self._source):,} bytes and expands to more "
                f"than the limit of {self._limit:,} bytes; if it is not made to fill the memory, "
                "pass a larger limit_bytes to qpsvm.datasets.load, or decompress the file: plain "
                "text has no limit."
            )
        return n_bytes


@contextmanager
def opened(source: str, limit_bytes: int | None) -> Iterator[IO[bytes]]:
    """Open a text file to read its bytes, decompressed if it is compressed, whatever its name.

    Parameters
    ----------
    source : str
        A path; ``-`` is standard input, which can be read once.
    limit_bytes : int or None
        Largest size of what a compressed file expands to; None where the caller counts.

    Raises
    ------
    DataFileError
        The file is missing, damaged, not UTF-8, or expands beyond the limit.
    """
    try:
        opener = _opener(source)
        with _opened(source, opener) as stream:
            if opener is None or limit_bytes is None:
                yield stream
            else:
                yield io.BufferedReader(_Limited(stream, source, limit_bytes), buffer_size=2**16)
    except UnicodeDecodeError as error:
        place = _place_of(source, limit_bytes)
        raise DataFileError(
            f"{source!r} is not UTF-8 text{place}; save it as UTF-8 (in Excel: 'CSV UTF-8'), or "
            "name its format if it is not a text file."
        ) from error
    except UNREADABLE as error:
        raise unreadable(source, error) from error


def _place_of(source: str, limit_bytes: int | None) -> str:
    """Build the error for a file that is not UTF-8: the line, and how it reads as Latin-1."""
    if source != STANDARD_INPUT:  # which has been read
        with suppress(DataFileError), opened(source, limit_bytes) as stream:
            for number, line in enumerate(stream, 1):
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError as error:
                    read = line[: error.start + 1].decode("latin-1")[-SHOWN_CHARACTERS:]
                    return f" in line {number} (as Latin-1 it reads {read!r})"
    return ""


def _opener(source: str) -> Callable[..., IO[Any]] | None:
    """Return the function that decompresses a text file; None for plain text.

    Raises
    ------
    DataFileError
        It is an archive.
    """
    if source == STANDARD_INPUT:
        return None
    with open(source, "rb") as stream:
        beginning = stream.read(10)
    if beginning.startswith(b"PK\x03\x04"):
        raise DataFileError(
            f"{source!r} is a ZIP archive, as Excel workbooks and NPZ files are: unpack it, save "
            "the sheet as CSV, or name its format."
        )
    return next(
        (opener for start, opener in BEGINNINGS.items() if re.match(start, beginning)), None
    )


def _opened(source: str, opener: Callable[..., IO[Any]] | None) -> IO[bytes]:
    if source == STANDARD_INPUT:
        return io.BytesIO(sys.stdin.buffer.read())  # a pipe cannot go back to its first line
    return open(source, "rb") if opener is None else opener(source, "rb")


@contextmanager
def lines(source: str, limit_bytes: int | None) -> Iterator[IO[str]]:
    """Open a UTF-8 text file to read its lines; parameters and errors as for ``opened``."""
    with opened(source, limit_bytes) as stream:
        yield io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")


def unreadable(source: str, error: BaseException) -> DataFileError:
    """Build the error for a file that cannot be read."""
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return DataFileError(f"Cannot read {source!r}: {reason}; check the path and the file.")


def is_number(text: str) -> bool:
    """Return whether a text is a number: what Python reads as one, without underscores."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def narrowest(labels: Labels, source: str) -> Labels:
    """Convert labels to integers if all are integers, else to numbers, else leave them as text.

    Integers are exact, whatever their size: beyond 64 bits they are Python's.

    Raises
    ------
    InvalidDataError
        A number that is not finite; integers beside other numbers, as which they would be rounded.

    Examples
    --------
    >>> narrowest(np.array(["7", "9007199254740993"]), "ids.csv")
    array([               7, 9007199254740993])
    """
    are_texts = labels.dtype.kind == "U"
    if are_texts and not all(map(is_number, labels.tolist())):
        return labels
    numbers = np.array([float(label) for label in labels.tolist()])
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if len(wrong):
        raise InvalidDataError(
            f"{source!r}: the label or group of sample {wrong[0]} (counted from 0) is "
            f"{labels[wrong[0]]} ({len(wrong)} such samples); correct it, or leave the sample out."
        )
    if np.array_equal(numbers, np.round(numbers)):
        if np.abs(numbers).max() < EXACT:
            return numbers.astype(np.int64)
        integers = _integers(labels.tolist()) if are_texts else None
        if integers is not None:
            return integers
    rounded = first_rounded(labels, numbers)
    if rounded is not None:
        raise InvalidDataError(
            f"{source!r}: the label or group of sample {rounded.place[0]} (counted from 0) is "
            f"{rounded.value}, {rounded.problem}"
        )
    return numbers


def _integers(labels: list[str]) -> Labels | None:
    """The labels as exact integers, or None if one of them has a fraction or an exponent."""
    if any("e" in label.lower() for label in labels):
        return None
    values = [int(Decimal(label)) for label in labels]
    if any(Decimal(label) != value for label, value in zip(labels, values, strict=True)):
        return None
    for dtype in (np.int64, np.uint64):
        with suppress(OverflowError):
            return np.array(values, dtype=dtype)
    return np.array(values, dtype=object)
