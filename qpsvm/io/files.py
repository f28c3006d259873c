"""Files: texts that are read, plain or compressed, and files that are written as a whole."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import secrets
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from qpsvm.exceptions import DataFileError, QPSVMError
from qpsvm.numerics.arguments import require_path

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
UNREADABLE = (OSError, EOFError, zlib.error, lzma.LZMAError)


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
            if opener is not None and limit_bytes is not None:
                yield _decompressed(stream, source, limit_bytes)
            else:
                yield stream
    except UnicodeDecodeError as error:
        place = _place_of(source, limit_bytes)
        raise DataFileError(
            f"{source!r} is not UTF-8 text{place}; save it as UTF-8 (in Excel: 'CSV UTF-8'), or "
            "name its format if it is not a text file."
        ) from error
    except UNREADABLE as error:
        raise unreadable(source, error) from error


def _decompressed(stream: IO[bytes], source: str, limit_bytes: int) -> IO[bytes]:
    """All bytes of a compressed file, in memory; refuse more than a limit."""
    content = io.BytesIO()
    while block := stream.read(2**20):
        content.write(block)
        if content.tell() > limit_bytes:
            raise DataFileError(
                f"{source!r} has {os.path.getsize(source):,} bytes and expands to more than the "
                f"limit of {limit_bytes:,} bytes; if it is not made to fill the memory, pass a "
                "larger limit_bytes to qpsvm.datasets.load, or decompress the file: plain text has "
                "no limit."
            )
    content.seek(0)
    return content


def _place_of(source: str, limit_bytes: int | None) -> str:
    """Build the error for a file that is not UTF-8: the line, and how it reads as Latin-1."""
    if source != STANDARD_INPUT:  # which has been read
        with suppress(DataFileError), opened(source, limit_bytes) as stream:
            for number, line in enumerate(stream, 1):
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError as error:
                    read = line[: error.start + 1].decode("latin-1")[-20:]
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


# --- writing -----------------------------------------------------------------------------------


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Write a binary file under a temporary name, and rename it when it is complete.

    Parameters
    ----------
    path : path
        Replaced when the block ends well. When it does not (an error, Ctrl-C), whatever was there
        stays as it was and the temporary file is removed.

    Yields
    ------
    binary file

    Raises
    ------
    OSError
        The folder does not exist or cannot be written to.
    """
    require_path(path)
    target = Path(path)
    # in the same folder: only there is renaming a single step; short, as the name may be a long one
    temporary = target.with_name(f".qpsvm-{secrets.token_hex(4)}.part")
    try:
        with temporary.open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def writing(
    path: str | os.PathLike[str], noun: str, error: type[QPSVMError]
) -> Iterator[IO[bytes]]:
    """As ``replacing``; a path that cannot be written to is an error that names it.

    Parameters
    ----------
    path : path
    noun : str
        The content of the file, for the message.
    error : type of exception
    """
    try:
        with replacing(path) as stream:
            yield stream
    except OSError as problem:
        raise error(
            f"Cannot write the {noun} to {os.fspath(path)!r}: {problem.strerror or problem}; "
            "choose another path."
        ) from problem


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a UTF-8 text file, completely or not at all."""
    # bytes of a path that are no UTF-8 become escapes, which JSON reads back
    content = text.encode("utf-8", "backslashreplace")
    with replacing(path) as stream:
        stream.write(content)
