"""QPS files (free MPS with a quadratic section): a strict reader and an exact writer.

Readers of MPS disagree, and most of them guess. A negative ``UP`` bound without a lower one means
``x >= -inf`` to SAS and an infeasible program to HiGHS; repeated entries are summed, or the last
one wins; tiny coefficients vanish. This reader takes free-format files (fixed ones too, if no
name has a blank) with ROWS, COLUMNS, RHS, RANGES, BOUNDS and one of QUADOBJ, QSECTION and QMATRIX,
and every number as it stands. Ambiguous or unsupported content is refused with its line.

QUADOBJ and QSECTION give one triangle of P, QMATRIX the whole matrix. Rows of the file become rows
of G and A:

========  ============  ===========================
row       range R       sides, with right-hand side r
========  ============  ===========================
``L``     any           ``r - |R| <= g'x <= r``
``G``     any           ``r <= g'x <= r + |R|``
``E``     not below 0   ``r <= g'x <= r + R``
``E``     below 0       ``r + R <= g'x <= r``
========  ============  ===========================

The writer spells everything out:

====================  ============================================================================
line                  meaning
====================  ============================================================================
`` N obj``            the objective; q stands in its row
`` L g3``             row 3 of ``Gx <= h``; as ``N g3``, a free row, where ``h = +inf``
`` E a0``             row 0 of ``Ax = b``
`` LO BND x5 v``      ``x_5 >= v``; every variable has its bounds spelled out, even the default 0
`` x5 x2 v``          in QUADOBJ: ``P_52 = P_25 = v`` in ``1/2 x'Px``, lower triangle only
====================  ============================================================================

Its numbers are the shortest decimals that read back to the same double. Zeros of P, G and A are
left out.

Sources: I. Maros and C. Meszaros, *A repository of convex quadratic programming problems*,
Optimization Methods and Software 11 (1999), 671-681, which introduced QPS; for QSECTION the MPS
formats of MOSEK (with the name of the row whose quadratic term it is) and SAS/OR (without, for the
objective); for the RANGES section CPLEX, MOSEK and HiGHS.
"""

from __future__ import annotations

import json
import math
import os
import re
from array import array
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path as FilePath
from typing import IO, NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp

from qpsvm.exceptions import DataFileError, InvalidParameterError, InvalidProgramError
from qpsvm.io import files
from qpsvm.io.files import COMPRESSIONS
from qpsvm.numerics.arrays import Matrix, Vector, default_memory_limit, is_sparse
from qpsvm.numerics.conversion import is_rounded
from qpsvm.qp.exchange.npz import Path, hessian, unusable
from qpsvm.qp.program import QuadraticProgram

# --- lines, fields and entries ------------------------------------------------------------------

_T = TypeVar("_T")

LONGEST_LINE = 10_000
"""In characters; no writer comes near."""


class Refusal(Exception):  # noqa: N818
    """The reason why a line or the whole file is refused."""


def pairs(fields: list[str]) -> list[tuple[str, float]]:
    """Split ``row number row number ...`` into pairs."""
    if not fields or len(fields) % 2:
        raise Refusal(f"{shown(fields)} is not a list of rows, each with a number.")
    return [(row, number(value)) for row, value in zip(fields[::2], fields[1::2], strict=True)]


def number(word: str, *, infinite: bool = False) -> float:
    """Parse a finite number; with ``infinite``, also an explicit infinity."""
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    spelled_out = infinite and "inf" in word.lower()
    if math.isnan(value) or "_" in word or (math.isinf(value) and not spelled_out):
        raise Refusal(f"{word[:40]!r} is not a number a program can hold.")
    if is_rounded(word):
        raise Refusal(f"{word[:40]!r} is an integer that float64 rounds to {int(value)}.")
    return value


def known(table: Mapping[str, _T], name: str, what: str) -> _T:
    """Look up an entry of a table; refuse the line if there is none."""
    if name not in table:
        raise Refusal(f"{what} {name[:40]!r} is not declared.")
    return table[name]


def shown(fields: list[str]) -> str:
    """The line, or its beginning, for a message."""
    return repr(" ".join(fields)[:60])


class Entries:
    """The entries of a sparse matrix in the order of the file."""

    def __init__(self) -> None:
        self.values, self.rows, self.columns = array("d"), array("i"), array("i")

    def add(self, row: int, column: int, value: float) -> None:
        self.values.append(value)
        self.rows.append(row)
        self.columns.append(column)

    def matrix(self, name: str, shape: tuple[int, int], *, triangle: bool = False) -> Matrix:
        """Build the matrix; a symmetric matrix from either triangle."""
        values, rows, columns = (np.array(part) for part in (self.values, self.rows, self.columns))
        if triangle:
            rows, columns = np.maximum(rows, columns), np.minimum(rows, columns)
        matrix = sp.csc_array((values, (rows, columns)), shape=shape)
        if matrix.nnz < len(values):
            raise Refusal(f"{name} has {len(values) - matrix.nnz} repeated entries.")
        if triangle:
            matrix = sp.csc_array(matrix + sp.tril(matrix, -1).T)
        return compact(matrix)


def compact(matrix: sp.csc_array) -> Matrix:
    """The matrix as an array if it takes less memory so: 8 bytes an entry against 12."""
    return matrix.toarray() if 12 * matrix.nnz > 8 * math.prod(matrix.shape) else matrix


# --- reading ------------------------------------------------------------------------------------

_TRIANGLES = ("QUADOBJ", "QSECTION")
_HESSIANS = (*_TRIANGLES, "QMATRIX")
_SECTIONS = ("NAME", "ROWS", "COLUMNS", "RHS", "RANGES", "BOUNDS", *_HESSIANS, "ENDATA")
_ROWS = ("N", "L", "G", "E")
_BOUNDS = {"LO": "l", "UP": "u", "FX": "lu", "MI": "l", "PL": "u", "FR": "lu"}
"""Type of bound -> which of lower and upper it sets; the last three without a value."""
_NUMBERS = ("cost", "right-hand side", "range", "lower bound", "upper bound")
"""Numbers of which a row or column has one."""


def read_qps(path: Path) -> QuadraticProgram:
    """Read ``1/2 x'Px + q'x, Gx <= h, Ax = b, lb <= x <= ub`` from a free-format QPS file.

    ``L`` rows are rows of G in the order of the file, ``G`` rows too with their sign turned,
    ``E`` rows are those of A; ``N`` rows after the objective are rows of G with ``h = +inf``. A
    row with a range is two rows of G, the upper side first, or one of A where the sides are equal.

    Parameters
    ----------
    path : path
        Compressed files (gzip, bzip2, xz) are decompressed.

    Returns
    -------
    QuadraticProgram
        Every number of the file, exactly. A matrix more than two thirds full is dense, any other
        sparse. The format has no names for ``names``.

    Raises
    ------
    DataFileError
        Missing, damaged or incomplete; with integer variables, a constant in the objective, a
        quadratic constraint or another section a QuadraticProgram cannot express; ambiguous
        (repeated entries, ``UP`` at or below zero without a lower bound); a range that float64
        loses beside the right-hand side; no program. With the line.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> lines = "ROWS| N f| G r|COLUMNS| x f 1 r 2|RHS| RHS r 4|QUADOBJ| x x 2|ENDATA|"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "small.qps"
    ...     _ = file.write_text(lines.replace("|", chr(10)))
    ...     program = read_qps(file)
    >>> program.canonical("dense").h
    array([-4.,  0.])
    """
    reader = _Reader()
    line = 0
    try:
        with files.lines(os.fspath(path), None) as stream:
            while content := stream.readline(LONGEST_LINE):
                line += 1
                reader.take(content)
    except Refusal as problem:
        raise unusable(path, "QPS", f"line {line}: {problem}") from problem
    try:
        return reader.program()
    except (Refusal, InvalidProgramError) as problem:
        raise unusable(path, "QPS", problem) from problem


class _Row(NamedTuple):
    """A row of the file: its type, and its index among the rows after the objective."""

    kind: str
    number: int

    @property
    def is_objective(self) -> bool:
        return self.number < 0

    def sides(self, right: float, width: float | None) -> tuple[float, float]:
        """Return the smallest and the largest value of the row, by the module's table."""
        if self.kind == "N":
            return -math.inf, math.inf
        if width is None:
            return -math.inf if self.kind == "L" else right, math.inf if self.kind == "G" else right
        is_upper = self.kind == "L" or (self.kind == "E" and width < 0.0)
        other = right - abs(width) if is_upper else right + abs(width)
        if math.isinf(other) or (other == right and width != 0.0):
            raise Refusal(f"float64 loses its range {width!r} beside {right!r}.")
        return (right, right) if width == 0.0 else (min(right, other), max(right, other))


class _Reader:
    """A program in construction, line by line."""

    def __init__(self) -> None:
        self.characters_left = default_memory_limit()
        self.section = self.objective = ""
        self.seen: set[str] = set()
        self.sets: dict[str, str] = {}
        self.rows: dict[str, _Row] = {}
        self.columns: dict[str, int] = {}
        self.entries, self.hessian = Entries(), Entries()
        self.numbers: dict[str, dict[str, float]] = {name: {} for name in _NUMBERS}

    def take(self, line: str) -> None:
        """Process one line of the file."""
        self.characters_left -= len(line)
        if len(line) == LONGEST_LINE or self.characters_left < 0:
            raise Refusal("too long; the file is damaged or made to fill the memory.")
        fields = line.split()
        if not fields or line.startswith("*"):
            return
        if line[0].isspace():
            self._data(fields)
        else:
            self._open(*fields)

    def _data(self, fields: list[str]) -> None:
        match self.section, fields:
            case "ROWS", [kind, name]:
                self._row(kind, name)
            case "COLUMNS", [_, "'MARKER'", *_]:
                raise Refusal("integer variables; a QuadraticProgram has none.")
            case "COLUMNS", [column, *rest]:
                self.columns.setdefault(column, len(self.columns))
                for row, value in pairs(rest):
                    self._entry(row, column, value)
            case (("RHS" | "RANGES"), _):
                for row, value in pairs(self._without_set(fields, len(fields) % 2 == 1)):
                    self._side(row, value)
            case "BOUNDS", [kind, *rest]:
                self._bound(kind, rest)
            case (("QUADOBJ" | "QSECTION" | "QMATRIX"), [first, second, value]):
                i, j = (known(self.columns, name, "column") for name in (first, second))
                self.hessian.add(i, j, number(value))
            case _:
                raise Refusal(f"{shown(fields)} has no meaning in section {self.section!r}.")

    def _open(self, section: str, *names: str) -> None:
        if section not in _SECTIONS:
            raise Refusal(f"section {section!r}; only {', '.join(_SECTIONS)} are read.")
        if section == "QSECTION" and names not in ((), (self.objective,)):
            raise Refusal(
                f"QSECTION {shown([*names])} is no quadratic term of the objective "
                f"{self.objective!r}; a QuadraticProgram has linear constraints only."
            )
        rivals = {*_HESSIANS} if section in _HESSIANS else {section}
        if self.section == "ENDATA" or rivals & self.seen:
            raise Refusal(f"section {section!r} comes again or too late.")
        self.section = section
        self.seen.add(section)

    def _without_set(self, fields: list[str], named: bool) -> list[str]:
        """Drop the name of the set of right-hand sides or bounds from the fields."""
        if not named:
            return fields
        first = self.sets.setdefault(self.section, fields[0])
        if fields[0] != first:
            raise Refusal(f"a second set {fields[0]!r} beside {first!r}; keep the one to use.")
        return fields[1:]

    def _row(self, kind: str, name: str) -> None:
        if kind not in _ROWS:
            raise Refusal(f"row type {kind!r}; N, L, G and E are known.")
        if name in self.rows:
            raise Refusal(f"row {name[:40]!r} is given twice.")
        is_objective = kind == "N" and not self.objective
        self.rows[name] = _Row(kind, -1 if is_objective else self.n_rows)
        if is_objective:
            self.objective = name

    @property
    def n_rows(self) -> int:
        """Rows after the objective, those of G and A together."""
        return len(self.rows) - bool(self.objective)

    def _once(self, what: str, name: str, value: float) -> None:
        """Store a number of a row or column; refuse the line if it has one already."""
        if name in self.numbers[what]:
            raise Refusal(f"the {what} of {name[:40]!r} is given twice.")
        self.numbers[what][name] = value

    def _entry(self, name: str, column: str, value: float) -> None:
        row = known(self.rows, name, "row")
        if row.is_objective:
            self._once("cost", column, value)
        else:
            self.entries.add(row.number, self.columns[column], value)

    def _side(self, name: str, value: float) -> None:
        """Store the right-hand side or the range of a row, by the section."""
        row = known(self.rows, name, "row")
        if self.section == "RANGES":
            if row.kind == "N":
                raise Refusal(f"a range for the row {name!r}, which has no sides.")
            self._once("range", name, value)
            return
        if row.is_objective and value != 0.0:
            raise Refusal(
                f"the objective has the constant {-value!r}, a QuadraticProgram has none; leave it "
                "out and add it to the optimum."
            )
        if row.kind == "N" and not row.is_objective:
            raise Refusal(f"a right-hand side for the free row {name!r}.")
        self._once("right-hand side", name, value)

    def _bound(self, kind: str, fields: list[str]) -> None:
        n_values = 0 if kind in ("FR", "MI", "PL") else 1
        rest = self._without_set(fields, len(fields) == 2 + n_values)
        if kind not in _BOUNDS or len(rest) != 1 + n_values:
            raise Refusal(f"a bound needs one of {', '.join(_BOUNDS)} and a column.")
        column, *values = rest
        known(self.columns, column, "column")
        for side, infinity in (("lower", -math.inf), ("upper", math.inf)):
            if side[0] in _BOUNDS[kind]:
                value = number(values[0], infinite=True) if values else infinity
                self._once(f"{side} bound", column, value)

    def program(self) -> QuadraticProgram:
        """Build the program from all lines."""
        if self.section != "ENDATA":
            raise Refusal("it ends without ENDATA; part of it is missing.")
        if not self.objective:
            raise Refusal("no row is of type N: the objective is missing.")
        costs, right, ranges, lower, upper = (self.numbers[name] for name in _NUMBERS)
        for name, bound in upper.items():
            if bound <= 0.0 and name not in lower:
                raise Refusal(
                    f"column {name!r} has the upper bound {bound!r} and no lower one, which is 0 "
                    "to some programs and -inf to others; add a line LO, MI or FR."
                )
        n = len(self.columns)
        rows = sp.csr_array(self.entries.matrix("G", (self.n_rows, n)))
        G, A = list[tuple[int, float, float]](), list[tuple[int, float, float]]()
        for name, row in self.rows.items():
            try:
                low, high = row.sides(right.get(name, 0.0), ranges.get(name))
            except Refusal as problem:
                raise Refusal(f"row {name[:40]!r}: {problem}") from problem
            if low == high:
                A.append((row.number, 1.0, low))
            elif not row.is_objective:
                G += [(row.number, 1.0, high)] * (high < math.inf or row.kind == "N")
                G += [(row.number, -1.0, 0.0 - low)] * (low > -math.inf)
        return QuadraticProgram(
            self.hessian.matrix("P", (n, n), triangle=bool(self.seen.intersection(_TRIANGLES))),
            [costs.get(name, 0.0) for name in self.columns],
            *_signed(rows, G),
            *_signed(rows, A),
            [lower.get(name, 0.0) for name in self.columns],
            [upper.get(name, math.inf) for name in self.columns],
        )


def _signed(rows: sp.csr_array, sides: list[tuple[int, float, float]]) -> tuple[Matrix, Vector]:
    """G and h, or A and b, from rows of the file, their signs and right-hand sides."""
    chosen = rows[[number for number, _, _ in sides]]
    signs = np.array([sign for _, sign, _ in sides])
    chosen.data = chosen.data * np.repeat(signs, np.diff(chosen.indptr))
    return compact(sp.csc_array(chosen)), np.array([right for _, _, right in sides])


# --- writing ------------------------------------------------------------------------------------


def write_qps(
    program: QuadraticProgram,
    path: Path,
    *,
    name: str = "QP",
    memory_limit: int | None = None,
) -> None:
    """Write ``1/2 x'Px + q'x, Gx <= h, Ax = b, lb <= x <= ub`` as QPS, every number exact.

    Variables are called x0, x1, ..., rows of G g0, g1, ..., rows of A a0, a1, ...; the names of
    the program stand in comments, for people.

    Parameters
    ----------
    program : QuadraticProgram
        Of n variables, m inequalities and p equalities; a structured P is evaluated.
    path : path
        Replaced if it exists, completely or not at all; ``.gz``, ``.bz2`` and ``.xz`` are
        compressed. Some solvers go by the suffix: HiGHS reads ``.mps`` and refuses ``.qps``.
    name : str
        Of the program: printable ASCII without spaces.
    memory_limit : int, optional
        Bytes an evaluated P may take (default: a quarter of the machine's memory).

    Raises
    ------
    InvalidParameterError
        A name that the format cannot hold.
    MemoryLimitError
        A structured P larger than the limit.
    DataFileError
        A path that cannot be written to.

    Notes
    -----
    Many solvers drop matrix entries below some threshold (HiGHS: 1e-9, with a warning) and take
    right-hand sides and bounds beyond 1e20 for infinite. The file has them; what a solver makes
    of them is its own.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from qpsvm.qp import QuadraticProgram
    >>> program = QuadraticProgram(P=[[2.0, 1.0], [1.0, 2.0]], q=[-3.0, 0.0], ub=[0.3, 1.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_qps(program, Path(folder) / "program.mps", name="example")
    ...     print((Path(folder) / "program.mps").read_text())
    NAME example
    ROWS
     N obj
    COLUMNS
     x0 obj -3.0
     x1 obj 0.0
    BOUNDS
     MI BND x0
     UP BND x0 0.3
     MI BND x1
     UP BND x1 1.0
    QUADOBJ
     x0 x0 2.0
     x1 x0 1.0
     x1 x1 2.0
    ENDATA
    <BLANKLINE>
    """
    if re.fullmatch(r"[!-~]{1,200}", name) is None:
        raise InvalidParameterError(
            f"name is {name!r}; QPS takes 1 to 200 printable ASCII characters without spaces."
        )
    P = hessian(program.P, memory_limit)
    with (
        files.writing(path, "program", DataFileError) as stream,
        _compressed(stream, path) as target,
    ):
        for lines in _sections(program, P, name):
            target.write("".join(f"{line}\n" for line in lines).encode("ascii"))


def _compressed(stream: IO[bytes], path: Path) -> AbstractContextManager[IO[bytes]]:
    opener = COMPRESSIONS.get(FilePath(path).suffix.lower())
    return nullcontext(stream) if opener is None else opener(stream, "wb")


def _sections(program: QuadraticProgram, P: Matrix, name: str) -> Iterator[list[str]]:
    """Yield the file in pieces of one column or section."""
    free = np.isinf(program.h)
    yield [f"NAME {name}"]
    # as JSON: a name with a line break must not become a line of the file
    yield [f"* {json.dumps(str(k))}: {json.dumps(str(v))}" for k, v in program.names.items()]
    yield ["ROWS", " N obj"]
    yield [f" {'N' if is_free else 'L'} g{i}" for i, is_free in enumerate(free.tolist())]
    yield [f" E a{i}" for i in range(program.n_equalities)]
    yield ["COLUMNS"]
    cost = program.q.tolist()
    for j, in_G, in_A in zip(
        range(len(cost)), _columns(program.G), _columns(program.A), strict=True
    ):
        yield [
            f" x{j} obj {cost[j]!r}",
            *(f" x{j} g{i} {value!r}" for i, value in in_G),
            *(f" x{j} a{i} {value!r}" for i, value in in_A),
        ]
    right = [(f"g{i}", side) for i, side in enumerate(program.h.tolist()) if not free[i]]
    right += [(f"a{i}", side) for i, side in enumerate(program.b.tolist())]
    yield ["RHS"] * bool(right)
    yield [f" RHS {row} {side!r}" for row, side in right]
    yield ["BOUNDS"]
    for j, (lower, upper) in enumerate(zip(program.lb.tolist(), program.ub.tolist(), strict=True)):
        yield _bounds(f"BND x{j}", lower, upper)
    if P.nnz if is_sparse(P) else P.any():
        yield ["QUADOBJ"]
        for j, column in enumerate(_columns(P)):
            yield [f" x{i} x{j} {value!r}" for i, value in column if i >= j]
    yield ["ENDATA"]


def _columns(matrix: Matrix) -> Iterator[Iterator[tuple[int, float]]]:
    """Yield row numbers and values of the nonzeros, column by column."""
    for j in range(matrix.shape[1]):
        if is_sparse(matrix):
            piece = slice(matrix.indptr[j], matrix.indptr[j + 1])
            rows, values = matrix.indices[piece], matrix.data[piece]
        else:
            rows, values = np.arange(matrix.shape[0]), matrix[:, j]
        given = values != 0.0
        yield zip(rows[given].tolist(), values[given].tolist(), strict=True)


def _bounds(variable: str, lower: float, upper: float) -> list[str]:
    if np.isinf(lower) and np.isinf(upper):
        return [f" FR {variable}"]
    if repr(lower) == repr(upper):  # not merely equal: -0.0 and 0.0 are two numbers
        return [f" FX {variable} {lower!r}"]
    below = f" MI {variable}" if np.isinf(lower) else f" LO {variable} {lower!r}"
    return [below] if np.isinf(upper) else [below, f" UP {variable} {upper!r}"]
