"""Safe reading and writing of NPZ files.

NumPy's own reader believes the headers inside: an array that declares a trillion entries is
allocated before the first byte is read, and object arrays are pickles, which can run code. Here
every size is checked against the file and a limit before anything is allocated, and only plain
numbers and texts are let in.
"""

from __future__ import annotations

import io
import math
import os
import struct
import sys
import threading
import warnings
import zipfile
import zlib
from collections.abc import Container
from typing import IO, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from qpsvm.exceptions import QPSVMError
from qpsvm.numerics.arguments import require_path

Arrays: TypeAlias = dict[str, npt.NDArray[Any]]
"""The arrays of a file by name, of whatever shapes and dtypes."""

KINDS = "biufUS"
"""Booleans, integers, real numbers and texts of fixed length; no objects, no records."""

_ONE_HEADER = threading.RLock()
"""Held while a header is parsed: Python 3.11 counts the depth of syntax trees for all threads
together and raises SystemError where two of them parse at once (CPython's issue 106905)."""
_DAMAGE = (
    zipfile.BadZipFile,
    NotImplementedError,  # an unknown compression
    RuntimeError,  # an encrypted member
    EOFError,
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    SyntaxError,
    OverflowError,
    RecursionError,
    MemoryError,
    struct.error,
    zlib.error,
)


PICKLES = (".joblib", ".pkl", ".pickle")
"""Suffixes of files that run code when they are read."""


def read(
    path: str | os.PathLike[str],
    error: type[QPSVMError],
    *,
    limit_bytes: int,
    compressed: bool = True,
    only: Container[str] | None = None,
) -> Arrays:
    """Read the arrays of an NPZ file by name.

    Parameters
    ----------
    path : path
    error : type of exception
        Raised for everything that is wrong, with the file, the member and the reason.
    limit_bytes : int
        Largest size of all arrays together.
    compressed : bool
        Whether compressed members are accepted.
    only : container of str, optional
        The arrays to read, where present; all by default.

    Returns
    -------
    dict of str to read-only array
    """
    require_path(path)
    try:
        with open(path, "rb") as stream, zipfile.ZipFile(stream) as archive:
            members = [m for m in archive.infolist() if only is None or _name(m) in only]
            _require_harmless(path, members, error, limit_bytes, compressed)
            return {_name(m): _array(path, m, _content(archive, m), error) for m in members}
    except error:
        raise
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise error(f"Cannot read {os.fspath(path)!r}: {reason}; check the path.") from problem
    except _DAMAGE as problem:
        pickled = ""
        if os.fspath(path).endswith(PICKLES):
            pickled = " By its name it is a pickle; pickles are not read: they can run any code."
        raise error(
            f"{os.fspath(path)!r} is not a readable NPZ file: it is damaged, incomplete, or of "
            f"another format ({type(problem).__name__}: {_shown(problem)}); write it "
            f"again.{pickled}"
        ) from problem


def names(path: str | os.PathLike[str]) -> list[str]:
    """Names of the arrays in an NPZ file that can be read."""
    with zipfile.ZipFile(path) as archive:
        return [_name(member) for member in archive.infolist()]


def write(stream: IO[bytes], arrays: Arrays) -> None:
    """Write arrays uncompressed; refuse arrays that ``read`` would refuse."""
    for name, array in arrays.items():
        if np.asarray(array).dtype.kind not in KINDS:
            raise TypeError(f"{name} has dtype {np.asarray(array).dtype}")
    named: dict[str, Any] = arrays  # one of them may not be named like the options of savez
    np.savez(stream, **named)


def _require_harmless(
    path: str | os.PathLike[str],
    members: list[zipfile.ZipInfo],
    error: type[QPSVMError],
    limit_bytes: int,
    compressed: bool,
) -> None:
    names = list(map(_name, members))  # X and X.npy are one
    if len(names) > 64 or len(set(names)) != len(names):  # twice as many as any file needs
        raise error(f"{os.fspath(path)!r} holds {len(names)} members, some twice or too many.")
    total = sum(member.file_size for member in members)
    if total > limit_bytes:
        raise error(
            f"{os.fspath(path)!r} declares {total:,} bytes of arrays, more than the limit of "
            f"{limit_bytes:,} bytes; it is damaged or made to fill the memory."
        )
    for member in members:
        if member.compress_type == zipfile.ZIP_STORED:
            continue
        name = _shown(_name(member))
        if not compressed:
            raise error(
                f"{os.fspath(path)!r}: member {name!r} is compressed; write it with numpy.savez, "
                "which does not compress."
            )
        if member.compress_type != zipfile.ZIP_DEFLATED:
            raise error(
                f"{os.fspath(path)!r}: member {name!r} is compressed in a way that NumPy does not "
                "write; write it with numpy.savez_compressed."
            )


def _content(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """Read a member of an NPZ archive, at most as many bytes as the archive says that it has."""
    with archive.open(member) as stream:
        return stream.read(member.file_size)


def _shown(text: object) -> str:
    """Shorten a text from a file for an error message."""
    return str(text)[:200]


def _name(member: zipfile.ZipInfo) -> str:
    return member.filename.removesuffix(".npy")


def _array(
    path: str | os.PathLike[str], member: zipfile.ZipInfo, content: bytes, error: type[QPSVMError]
) -> npt.NDArray[Any]:
    where = f"{os.fspath(path)!r}: array {_shown(_name(member))!r}"
    stream = io.BytesIO(content)
    with _ONE_HEADER, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a header written by Python 2 is not worth a word
        version = np.lib.format.read_magic(stream)
        if version == (1, 0):
            header = np.lib.format.read_array_header_1_0(stream)
        elif version == (2, 0):
            header = np.lib.format.read_array_header_2_0(stream)
        else:
            raise error(f"{where} has version {version} of the NPY format; 1.0 and 2.0 are read.")
    shape, fortran_order, dtype = header
    if dtype.kind not in KINDS or dtype.itemsize == 0:
        reason = "only booleans, integers, real numbers and texts are read"
        if dtype.hasobject:
            reason = "Python objects are never loaded, because unpickling them can run code"
        raise error(
            f"{where} has dtype {dtype}: {reason}; store numbers, or text with .astype(str)."
        )
    rest = len(content) - stream.tell()
    if any(n < 0 for n in shape) or math.prod(shape) * dtype.itemsize != rest:
        raise error(f"{where} declares shape {shape} of {dtype} and holds {rest} bytes.")
    start = stream.tell()
    if dtype.kind == "U":  # NumPy's texts are code points, which nothing has checked
        codes = np.frombuffer(content, np.dtype("u4").newbyteorder(dtype.byteorder), offset=start)
        if codes.max(initial=0) > sys.maxunicode:
            raise error(f"{where} holds texts that are not Unicode; it is damaged: write it again.")
    array = np.frombuffer(content, dtype, offset=start)
    return array.reshape(shape, order="F" if fortran_order else "C")
