"""Parts shared by the formats: P as a matrix, atomic writing, and a uniform error."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TypeAlias

from qpsvm.exceptions import DataFileError
from qpsvm.io import files
from qpsvm.numerics.arrays import Matrix
from qpsvm.qp.quadratic import Quadratic
from qpsvm.qp.stored_quadratic import DenseQuadratic, SparseQuadratic

Path: TypeAlias = str | os.PathLike[str]


def hessian(P: Quadratic, memory_limit: int | None) -> Matrix:
    """P as an exactly symmetric matrix, stored or evaluated.

    Raises
    ------
    MemoryLimitError
        A structured P that would be larger than the limit.
    """
    if isinstance(P, DenseQuadratic | SparseQuadratic):
        return P.matrix
    # a kernel may differ from its transpose by rounding; the file must not
    if P.prefers_sparse:
        return SparseQuadratic(P.to_sparse(memory_limit)).matrix
    return DenseQuadratic(P.to_dense(memory_limit)).matrix


@contextmanager
def writing(path: Path) -> Iterator[IO[bytes]]:
    """Open a binary file that gets its name only when it is complete.

    Raises
    ------
    DataFileError
        The path cannot be written to.
    """
    try:
        with files.replacing(path) as stream:
            yield stream
    except OSError as error:
        raise DataFileError(
            f"Cannot write the program to {os.fspath(path)!r}: {error.strerror or error}; choose "
            "another path."
        ) from error


def unusable(path: Path, kind: str, reason: object) -> DataFileError:
    """Build the error for a readable file that is not a program."""
    return DataFileError(f"{os.fspath(path)!r} is not a usable {kind} file: {reason}")
