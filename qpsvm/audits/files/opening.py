"""Reading of regular files up to a size limit."""

from __future__ import annotations

import codecs
import os
import stat

from qpsvm.exceptions import ModelFileError
from qpsvm.numerics.choices import require_path

MAX_BYTES = 2**30
"""Largest model file that is read. What is read takes at most some twenty times its size."""


def read_bytes(
    path: str | os.PathLike[str], limit: int = MAX_BYTES, beginning: int | None = None
) -> bytes:
    """Read the content of a regular file, without a byte order mark.

    Parameters
    ----------
    path : path
    limit : int
        Largest size in bytes; it is looked up before anything is read.
    beginning : int, optional
        Read so many bytes at most.

    Raises
    ------
    ModelFileError
        Missing, not readable, too large, or no regular file: devices and pipes have no size, and
        reading one may never end.
    """
    size = require_file(path, limit)
    try:
        with open(path, "rb") as stream:
            content = stream.read(size if beginning is None else beginning)
    except OSError as error:
        raise _unreadable(path, error) from error
    return content.removeprefix(codecs.BOM_UTF8)


def require_file(path: str | os.PathLike[str], limit: int = MAX_BYTES) -> int:
    """Check that a path is a regular file; return its size in bytes.

    Raises
    ------
    ModelFileError
        As ``read_bytes``.
    """
    require_path(path)
    try:
        status = os.stat(path)
    except (OSError, ValueError) as error:  # ValueError: NUL in the name
        raise _unreadable(path, error) from error
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise ModelFileError(f"{os.fspath(path)!r} is {kind}; pass the path of a model file.")
    if status.st_size > limit:
        raise ModelFileError(
            f"{os.fspath(path)!r} has {status.st_size:,} bytes, the limit for model files of its "
            f"kind is {limit:,}; load the model with its own library and pass its arrays."
        )
    return status.st_size


def _unreadable(path: str | os.PathLike[str], error: Exception) -> ModelFileError:
    reason = getattr(error, "strerror", None) or str(error)
    return ModelFileError(f"Cannot read {os.fspath(path)!r}: {reason}; check the path.")
