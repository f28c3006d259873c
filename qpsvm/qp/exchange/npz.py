"""NPZ files of programs: every number exact, without pickle; parts that all formats share.

=====================================  ============================================================
member                                 content
=====================================  ============================================================
``metadata``                           JSON as bytes: format, version, names
``q h b lb ub``                        float64 vectors; their lengths are n, m, p, n, n
``P G A``                              float64 matrices (n, n), (m, n), (p, n) - or, where sparse:
``P_data P_indices P_indptr P_shape``  the compressed columns (float64, integers), likewise G, A
``F`` (or its columns) and ``d``       instead of P, where ``P = F F' + diag(d)``
=====================================  ============================================================
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, TypeAlias

import numpy as np
import scipy.sparse as sp

from qpsvm.exceptions import DataFileError, InvalidProgramError
from qpsvm.io import files, json_text, npz
from qpsvm.io.npz import Arrays
from qpsvm.numerics.arrays import Array, Matrix, default_memory_limit
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.quadratic import DenseQuadratic, Quadratic, SparseQuadratic

# --- parts shared by the formats ----------------------------------------------------------------

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


FORMAT = "qpsvm program"
FORMAT_VERSION = 1

_VECTORS = ("q", "h", "b", "lb", "ub")
_COLUMNS = ("data", "indices", "indptr", "shape")
_INTEGERS = (np.int32, np.int64)


# --- writing -------------------------------------------------------------------------------------


def write_npz(program: QuadraticProgram, path: Path, *, memory_limit: int | None = None) -> None:
    """Write ``1/2 x'Px + q'x, Gx <= h, Ax = b, lb <= x <= ub`` exactly.

    Parameters
    ----------
    program : QuadraticProgram
        Of n variables, m inequalities and p equalities. Sparse matrices stay sparse, bounds stay
        bounds, names are kept. A kernel is evaluated; a low-rank P is stored as F and d.
    path : path
        Replaced if it exists, completely or not at all. No suffix is added.
    memory_limit : int, optional
        Bytes an evaluated P may take (default: a quarter of the machine's memory).

    Raises
    ------
    MemoryLimitError
        A kernel matrix larger than that.
    DataFileError
        A path that cannot be written to.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from qpsvm.qp import QuadraticProgram
    >>> program = QuadraticProgram(P=[[1.0]], q=[-3.0], ub=[0.1 + 0.2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_npz(program, Path(folder) / "program.npz")
    ...     read_npz(Path(folder) / "program.npz").ub.item()
    0.30000000000000004
    """
    arrays: Arrays = {name: getattr(program, name) for name in _VECTORS}
    if isinstance(program.P, LowRankQuadratic):
        arrays |= _stored("F", program.P.factor) | {"d": program.P.diag}
    else:
        arrays |= _stored("P", hessian(program.P, memory_limit))
    arrays |= _stored("G", program.G) | _stored("A", program.A)
    names = {str(key): str(name) for key, name in program.names.items()}
    header = {"format": FORMAT, "format_version": FORMAT_VERSION, "names": names}
    # what UTF-8 cannot hold (half a surrogate pair) becomes the escape that JSON reads back
    content = json_text.dumps(header).encode("utf-8", "backslashreplace")
    arrays["metadata"] = np.frombuffer(content, dtype=np.uint8)
    with writing(path) as stream:
        npz.write(stream, arrays)


def _stored(name: str, matrix: Matrix) -> Arrays:
    if not sp.issparse(matrix):
        return {name: np.asarray(matrix)}
    columns = sp.csc_array(matrix)
    parts = (columns.data, columns.indices, columns.indptr, np.array(columns.shape, np.int64))
    return {f"{name}_{part}": value for part, value in zip(_COLUMNS, parts, strict=True)}


# --- reading -------------------------------------------------------------------------------------


def read_npz(path: Path) -> QuadraticProgram:
    """Read a program that ``write_npz`` wrote, with strict checks.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    QuadraticProgram
        The same numbers in the same storage (an evaluated kernel is a dense P).

    Raises
    ------
    DataFileError
        Missing or damaged; of another format or a newer version; arrays missing, unknown, of the
        wrong kind or of shapes that disagree; numbers that make no program.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from qpsvm.qp import QuadraticProgram
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "program.npz"
    ...     write_npz(QuadraticProgram([[1.0]], [-3.0], ub=[2.0]), path)
    ...     program = read_npz(path)
    >>> program.ub
    array([2.])
    """
    arrays = npz.read(path, DataFileError, limit_bytes=default_memory_limit(), compressed=False)
    try:
        return _program(arrays)
    except (DataFileError, InvalidProgramError) as error:
        raise unusable(path, "program", error) from error


def _program(arrays: Arrays) -> QuadraticProgram:
    names = _names(arrays)
    q, h, b, lb, ub = (_vector(arrays, name) for name in _VECTORS)
    if "F" in arrays or "F_data" in arrays:
        d = _vector(arrays, "d")
        P: Quadratic | Matrix = LowRankQuadratic(_matrix(arrays, "F", d.size, None), d)
    else:
        P = _matrix(arrays, "P", q.size, q.size)
    G, A = (_matrix(arrays, name, v.size, q.size) for name, v in (("G", h), ("A", b)))
    if arrays:
        raise DataFileError(f"it holds unknown arrays: {', '.join(sorted(arrays))}.")
    return QuadraticProgram(P, q, G, h, A, b, lb, ub, names=names)


def _names(arrays: Arrays) -> Mapping[str, str]:
    raw = arrays.pop("metadata", None)
    if raw is None or raw.dtype != np.uint8 or raw.ndim != 1:
        raise DataFileError("it has no metadata; write programs with qpsvm.qp.exchange.write_npz.")
    try:
        header = json_text.loads(raw.tobytes().decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise DataFileError(f"its metadata is not JSON ({error}).") from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise DataFileError(f"its metadata does not say {FORMAT!r}; it is something else.")
    if header.get("format_version") != FORMAT_VERSION:
        raise DataFileError(
            f"it has format version {header.get('format_version')!r}, this qpsvm reads "
            f"{FORMAT_VERSION}; update qpsvm."
        )
    names = header.get("names")
    if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
        raise DataFileError("its names are not texts.")
    return names


def _take(arrays: Arrays, name: str, kinds: tuple[type, ...] = (np.float64,)) -> Array:
    """Take an array out of the file's, which hold each once."""
    if name not in arrays:
        raise DataFileError(f"array {name!r} is missing.")
    array = arrays.pop(name)
    if array.dtype not in kinds:
        expected = " or ".join(kind.__name__ for kind in kinds)
        raise DataFileError(f"array {name!r} has dtype {array.dtype} instead of {expected}.")
    return array


def _vector(arrays: Arrays, name: str, kinds: tuple[type, ...] = (np.float64,)) -> Array:
    array = _take(arrays, name, kinds)
    if array.ndim != 1:
        raise DataFileError(f"array {name!r} has shape {array.shape}, not one dimension.")
    return array


def _matrix(arrays: Arrays, name: str, rows: int, columns: int | None) -> Matrix:
    """Take a matrix with the given numbers of rows and columns (None: any)."""
    matrix = _take(arrays, name) if name in arrays else _columns(arrays, name)
    expected = (rows, matrix.shape[-1] if columns is None else columns)
    if matrix.shape != expected:
        raise DataFileError(f"{name!r} has shape {matrix.shape} instead of {expected}.")
    return matrix


def _columns(arrays: Arrays, name: str) -> Matrix:
    data = _vector(arrays, f"{name}_data")
    # copies: SciPy's checks write into what they are given
    indices, indptr, shape = (
        np.array(_vector(arrays, f"{name}_{part}", _INTEGERS)) for part in _COLUMNS[1:]
    )
    try:
        matrix = sp.csc_array((data, indices, indptr), shape=tuple(shape.tolist()))
        matrix.check_format(full_check=True)
    except (ValueError, TypeError, OverflowError, IndexError) as error:
        raise DataFileError(f"{name!r} is not a matrix in compressed columns ({error}).") from error
    if not matrix.has_canonical_format:
        raise DataFileError(f"{name!r} has unsorted or repeated entries.")
    return matrix
