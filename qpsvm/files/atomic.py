"""Atomic writing: a file is written completely or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from qpsvm.numerics.arguments import require_path


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


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a UTF-8 text file, completely or not at all."""
    with replacing(path) as stream:
        stream.write(text.encode("utf-8"))
