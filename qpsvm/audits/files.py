"""Strict readers of other libraries' model files, safe for untrusted input.

::

    model = read_model("a9a.model")          # LIBSVM, ThunderSVM, LIBLINEAR, JSON, NPZ, qpsvm
    model.training_rows(X, y)                # which rows its support vectors are

Sizes are checked before anything is read, and counts are compared with the size of the file before
anything is allocated, so that time and memory are linear in the file. ``qpsvm.audit`` turns the
content of a file into programs.
"""

from __future__ import annotations

import codecs
import os
import stat
from typing import TypeAlias

from qpsvm.audits.arrays import Arrays, from_json, from_npz
from qpsvm.audits.liblinear_model import LiblinearModel, read_liblinear
from qpsvm.audits.libsvm_model import LibsvmModel, read_libsvm
from qpsvm.audits.rows import match_rows
from qpsvm.audits.text import leading_comments
from qpsvm.exceptions import ModelFileError
from qpsvm.io import npz
from qpsvm.models import SavedModel
from qpsvm.models.files import model_in
from qpsvm.numerics.arguments import require_path

__all__ = ["LiblinearModel", "LibsvmModel", "match_rows", "read_model"]

ParsedModel: TypeAlias = LibsvmModel | LiblinearModel | Arrays | SavedModel

MAX_BYTES = 2**30
"""Largest model file that is read. What is read takes at most some twenty times its size."""

MAX_JSON_BYTES = 2**28
"""Largest JSON file that is read: as Python objects its numbers take some ten times as much."""

_ZIP = (b"PK\x03\x04", b"PK\x05\x06")


def read_model(path: str | os.PathLike[str]) -> ParsedModel:
    """Read a model file of any known format.

    Parameters
    ----------
    path : path
        A model of LIBSVM or ThunderSVM, of LIBLINEAR, plain numbers as JSON or NPZ
        (``docs/model_files.md``), or one that ``qpsvm.models.save`` wrote. The kind is found in the
        file, its name does not matter.

    Returns
    -------
    LibsvmModel, LiblinearModel, Arrays or SavedModel
        The numbers of the file, checked and not yet interpreted.

    Raises
    ------
    ModelFileError
        Not a regular file, too large, of none of these kinds, or wrong in any way: with the line or
        entry, what was found there, and what to do.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "model"
    ...     _ = file.write_text('{"coef": [1.0, -2.0], "intercept": 0.5}')
    ...     model = read_model(file)
    >>> model.coef, model.intercept
    (array([ 1., -2.]), 0.5)
    """
    # a file may begin with so many bytes of comments
    source, beginning = os.fspath(path), _read_bytes(path, beginning=2**16)
    if beginning.startswith(_ZIP):
        limit = os.path.getsize(path)  # compressed members could expand without limit
        members = npz.read(path, ModelFileError, limit_bytes=limit, compressed=False)
        return model_in(path, members) if "metadata" in members else from_npz(source, members)
    if beginning.lstrip().startswith(b"{"):
        return from_json(source, _read_bytes(path, MAX_JSON_BYTES))
    first = beginning[len(leading_comments(beginning)) :].split(maxsplit=1)[:1]
    if first == [b"svm_type"]:
        return read_libsvm(source, _read_bytes(path))
    if first == [b"solver_type"]:
        return read_liblinear(source, _read_bytes(path))
    raise ModelFileError(
        f"{source!r} begins with {beginning[:20]!r} and is no known model file; files of "
        "LIBSVM and ThunderSVM begin with svm_type, of LIBLINEAR with solver_type (both after "
        "comments), JSON with {, NPZ with PK."
    )


def _read_bytes(
    path: str | os.PathLike[str], limit: int = MAX_BYTES, beginning: int | None = None
) -> bytes:
    """Read the content of a regular file, or its beginning, without a byte order mark.

    Its size is looked up before. Devices and pipes have none, and reading one may never end.
    """
    require_path(path)
    content = b""
    try:
        status = os.stat(path)
        size, is_regular = status.st_size, stat.S_ISREG(status.st_mode)
        if is_regular and size <= limit:
            with open(path, "rb") as stream:
                content = stream.read(beginning or size)
    except (OSError, ValueError) as error:  # ValueError: NUL in the name
        reason = getattr(error, "strerror", None) or str(error)
        raise ModelFileError(
            f"Cannot read {os.fspath(path)!r}: {reason}; check the path."
        ) from error
    if not is_regular:
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise ModelFileError(f"{os.fspath(path)!r} is {kind}; pass the path of a model file.")
    if size > limit:
        raise ModelFileError(
            f"{os.fspath(path)!r} has {size:,} bytes, the limit for model files of its kind is "
            f"{limit:,}; load the model with its own library and pass its arrays."
        )
    return content.removeprefix(codecs.BOM_UTF8)
