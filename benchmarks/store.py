"""The store of a benchmark: one JSON object per line, in a file that is only appended to.

A line that begins a run holds ``"session"``: suite, machine, versions. Every other line is a row.
Each line is on disk before the next measurement begins. A crash can tear the last line only:
readers pass over it, and whoever continues the run cuts it off.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any

from benchmarks.rows import SCHEMA, Row, plain
from qpsvm.exceptions import StoreError

_BEGIN = b'{"schema": '
"""Beginning of every line."""


@dataclass(frozen=True)
class Results:
    """Contents of a store.

    Attributes
    ----------
    header : mapping
        Of the last run: ``suite`` (name, description, targets, ...), ``machine``, ``qpsvm``,
        ``created``.
    rows : tuple of Row
        In the order they were measured. Of two rows of the same cell the later one counts.
    """

    header: Mapping[str, Any]
    rows: tuple[Row, ...]


class Store:
    """A store that is open for writing, locked against other processes.

    Made by ``open_store``.
    """

    def __init__(self, path: Path, stream: FileIO) -> None:
        self.path = path
        self._stream = stream

    def read(self) -> Results:
        """Read all rows written so far."""
        return read_results(self.path)

    def begin(self, header: Mapping[str, object]) -> None:
        """Add the line that begins a run."""
        self._add({"schema": SCHEMA, "session": plain(header)})

    def append(self, row: Row) -> None:
        """Add a row; it is on disk when this returns."""
        self._add(row.to_dict())

    def _add(self, values: Mapping[str, object]) -> None:
        line = memoryview(json.dumps(values, ensure_ascii=False).encode("utf-8") + b"\n")
        try:
            while line:
                line = line[self._stream.write(line) :]
            os.fsync(self._stream.fileno())
        except OSError as error:
            raise StoreError(
                f"Cannot write to the store {self.path}: {error}. Every row before is on disk: "
                "make room and add --resume."
            ) from error


@contextmanager
def open_store(path: str | os.PathLike[str], *, resume: bool = False) -> Iterator[Store]:
    """Open a store for writing, locked as long as the block runs.

    Parameters
    ----------
    path : path
        Made if it does not exist.
    resume : bool
        Continue a store that holds rows; otherwise it is refused.

    Raises
    ------
    StoreError
        It holds rows and ``resume`` is not set; it is no store; another process writes to it.
    """
    import fcntl

    target = Path(path)
    try:
        stream = target.open("ab", buffering=0)
    except OSError as error:
        raise StoreError(f"Cannot write the store {target}: {error}.") from error
    with stream:
        try:
            # the lock ends with the process, however that ends
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise StoreError(
                f"Another process is writing to the store {target}; wait for it or end it, "
                "or give another --store."
            ) from error
        count = len(read_results(target).rows)
        if count and not resume:
            raise StoreError(
                f"The store {target} already holds {count} rows; add --resume to continue that "
                "run, or give another --store."
            )
        stream.truncate(len(_lines(target, target.read_bytes())))
        yield Store(target, stream)


def read_results(path: str | os.PathLike[str]) -> Results:
    """Read a store; a torn last line is ignored.

    Raises
    ------
    StoreError
        The file cannot be read, a line of it is no row, or another version of qpsvm wrote it.
    """
    target = Path(path)
    try:
        content = target.read_bytes()
    except OSError as error:
        raise StoreError(f"Cannot read the store {target}: {error}.") from error
    header: Mapping[str, object] = {}
    rows: dict[str, Row] = {}
    for number, line in enumerate(_lines(target, content).splitlines(), start=1):
        try:
            values = json.loads(line.decode("utf-8"))
            if values["schema"] != SCHEMA:
                raise ValueError(f"schema {values['schema']!r}, this version reads {SCHEMA}")
            if "session" in values:
                header = values["session"]
                continue
            row = Row.from_dict(values)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise StoreError(
                f"{target}, line {number}, is no row of a benchmark: {type(error).__name__}: "
                f"{error}. Give a store that `python -m benchmarks run` wrote."
            ) from error
        rows.pop(row.cell.key, None)
        rows[row.cell.key] = row
    return Results(header, tuple(rows.values()))


def _lines(target: Path, content: bytes) -> bytes:
    """Return the complete lines; the rest must be the beginning of another line."""
    end = content.rfind(b"\n") + 1
    torn = content[end : end + len(_BEGIN)]
    if not _BEGIN.startswith(torn):
        raise StoreError(
            f"{target} is no store of benchmark results: it ends with {torn!r}. Give a store that "
            "`python -m benchmarks run` wrote, or a file that does not exist yet."
        )
    return content[:end]
