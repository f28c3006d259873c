"""Recognition of a model file's format by its content."""

from __future__ import annotations

import os
from typing import TypeAlias

from qpsvm import models
from qpsvm.audits.files import arrays
from qpsvm.audits.files.arrays import ArrayModel
from qpsvm.audits.files.liblinear import LiblinearModel, read_liblinear
from qpsvm.audits.files.libsvm import LibsvmModel
from qpsvm.audits.files.libsvm_reader import read_libsvm
from qpsvm.audits.files.opening import read_bytes
from qpsvm.audits.files.text import leading_comments
from qpsvm.exceptions import ModelFileError
from qpsvm.models import SavedModel

ParsedModel: TypeAlias = LibsvmModel | LiblinearModel | ArrayModel | SavedModel

_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_BEGINNING = 2**16
"""Largest number of bytes of comments at the beginning of a model file."""


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
    LibsvmModel, LiblinearModel, ArrayModel or SavedModel
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
    beginning = read_bytes(path, beginning=_BEGINNING)
    if beginning.startswith(_ZIP):
        members = arrays.npz_arrays(path)
        return models.load(path) if "metadata" in members else arrays.from_npz(path, members)
    if beginning.lstrip().startswith(b"{"):
        return arrays.read_json(path)
    first = beginning[len(leading_comments(beginning)) :].split(maxsplit=1)[:1]
    if first == [b"svm_type"]:
        return read_libsvm(path)
    if first == [b"solver_type"]:
        return read_liblinear(path)
    raise ModelFileError(
        f"{os.fspath(path)!r} begins with {beginning[:20]!r} and is no known model file; files of "
        "LIBSVM and ThunderSVM begin with svm_type, of LIBLINEAR with solver_type (both after "
        "comments), JSON with {, NPZ with PK."
    )
