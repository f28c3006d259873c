"""Reading of text files, plain or compressed, with uniform errors."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from qpsvm.exceptions import DataFileError

Labels: TypeAlias = npt.NDArray[Any]
"""One label per sample: integers, numbers or texts."""

COMPRESSIONS: Mapping[str, Callable[..., IO[Any]]] = {".gz": gzip.open, ".bz2": bz2.open}
UNREADABLE = (OSError, EOFError, zlib.error, lzma.LZMAError)


@contextmanager
def lines(source: str) -> Iterator[IO[str]]:
    """Open a text file, decompressed according to its suffix.

    Raises
    ------
    DataFileError
        The file is missing, damaged, or not UTF-8.
    """
    opener = COMPRESSIONS.get(Path(source).suffix.lower(), open)
    try:
        with opener(source, "rt", encoding="utf-8-sig", newline="") as stream:
            yield stream
    except UnicodeDecodeError as error:
        raise DataFileError(
            f"{source!r} is not UTF-8 text (byte {error.start}: {error.reason}); convert it, or "
            "name its format if it is not a text file."
        ) from error
    except UNREADABLE as error:
        raise unreadable(source, error) from error


def unreadable(source: str, error: BaseException) -> DataFileError:
    """Build the error for a file that cannot be read."""
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return DataFileError(f"Cannot read {source!r}: {reason}; check the path and the file.")


def is_number(text: str) -> bool:
    """Return whether Python can parse a text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def narrowest(labels: Labels) -> Labels:
    """Convert labels to integers if all are integers, else to numbers, else leave them as text."""
    try:
        numbers = labels.astype(np.float64)
    except ValueError:
        return labels
    if not np.isfinite(numbers).all():
        return numbers
    whole = np.array_equal(numbers, np.round(numbers)) and np.abs(numbers).max() < 2**53
    return numbers.astype(np.int64) if whole else numbers
