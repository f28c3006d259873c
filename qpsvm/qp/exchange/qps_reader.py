"""Strict reader of QPS files: ambiguous or unsupported content is refused with its line.

Readers of MPS disagree, and most of them guess. A negative ``UP`` bound without a lower one means
``x >= -inf`` to SAS and an infeasible program to HiGHS; repeated entries are summed, or the last
one wins; tiny coefficients vanish. This reader takes free-format files (fixed ones too, if no name
has a blank) with ROWS, COLUMNS, RHS, RANGES, BOUNDS and one of QUADOBJ, QSECTION and QMATRIX, and
every number as it stands.

QUADOBJ and QSECTION give one triangle of P, QMATRIX the whole matrix. Source of
QSECTION: the MPS formats of MOSEK (with the name of the row whose quadratic term it is) and SAS/OR
(without, for the objective); of the others: Maros and Meszaros (1999).
"""

from __future__ import annotations

import math
import os

from qpsvm.exceptions import InvalidProgramError
from qpsvm.io import files
from qpsvm.numerics.arrays import default_memory_limit
from qpsvm.qp.exchange._parts import Path, unusable
from qpsvm.qp.exchange._qps_fields import (
    LONGEST_LINE,
    Entries,
    Refusal,
    Row,
    known,
    matrix_of,
    number,
    once,
    pairs,
    shown,
    sides_of,
)
from qpsvm.qp.program import QuadraticProgram

_TRIANGLES = ("QUADOBJ", "QSECTION")
_HESSIANS = (*_TRIANGLES, "QMATRIX")
_SECTIONS = ("NAME", "ROWS", "COLUMNS", "RHS", "RANGES", "BOUNDS", *_HESSIANS, "ENDATA")
_ROWS = ("N", "L", "G", "E")
_BOUNDS = {"LO": "l", "UP": "u", "FX": "lu", "MI": "l", "PL": "u", "FR": "lu"}
"""Type of bound -> which of lower and upper it sets; the last three without a value."""


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


class _Reader:
    """A program in construction, line by line."""

    def __init__(self) -> None:
        self.characters_left = default_memory_limit()
        self.section = ""
        self.seen: set[str] = set()
        self.sets: dict[str, str] = {}
        self.rows: dict[str, Row] = {}
        self.objective = ""
        self.columns: dict[str, int] = {}
        self.entries, self.hessian = Entries(), Entries()
        self.costs: dict[str, float] = {}
        self.right: dict[str, float] = {}
        self.ranges: dict[str, float] = {}
        self.lower: dict[str, float] = {}
        self.upper: dict[str, float] = {}

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
            case "RHS", _:
                for row, value in pairs(self._without_set(fields, len(fields) % 2 == 1)):
                    self._right_hand_side(row, value)
            case "RANGES", _:
                for row, value in pairs(self._without_set(fields, len(fields) % 2 == 1)):
                    self._range(row, value)
            case "BOUNDS", [("FR" | "MI" | "PL") as kind, *rest]:
                self._bound(kind, *self._without_set(rest, len(rest) == 2))
            case "BOUNDS", [kind, *rest, value]:
                self._bound(kind, *self._without_set(rest, len(rest) == 2), value=value)
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
        is_objective = kind == "N" and not self.objective
        once(self.rows, name, Row(kind, -1 if is_objective else self.n_rows), "row")
        if is_objective:
            self.objective = name

    @property
    def n_rows(self) -> int:
        """Rows after the objective, those of G and A together."""
        return len(self.rows) - bool(self.objective)

    def _entry(self, name: str, column: str, value: float) -> None:
        row = known(self.rows, name, "row")
        if row.is_objective:
            once(self.costs, column, value, "the cost of")
        else:
            self.entries.add(row.number, self.columns[column], value)

    def _right_hand_side(self, name: str, value: float) -> None:
        row = known(self.rows, name, "row")
        if row.is_objective and value != 0.0:
            raise Refusal(
                f"the objective has the constant {-value!r}, a QuadraticProgram has none; leave it "
                "out and add it to the optimum."
            )
        if row.kind == "N" and not row.is_objective:
            raise Refusal(f"a right-hand side for the free row {name!r}.")
        once(self.right, name, value, "the right-hand side of")

    def _range(self, name: str, value: float) -> None:
        if known(self.rows, name, "row").kind == "N":
            raise Refusal(f"a range for the row {name!r}, which has no sides.")
        once(self.ranges, name, value, "the range of")

    def _bound(self, kind: str, *column: str, value: str = "") -> None:
        if kind not in _BOUNDS or len(column) != 1:
            raise Refusal(f"a bound needs one of {', '.join(_BOUNDS)} and a column.")
        known(self.columns, column[0], "column")
        sides = _BOUNDS[kind]
        if "l" in sides:
            lower = number(value, infinite=True) if value else -math.inf
            once(self.lower, column[0], lower, "the lower bound of")
        if "u" in sides:
            upper = number(value, infinite=True) if value else math.inf
            once(self.upper, column[0], upper, "the upper bound of")

    def program(self) -> QuadraticProgram:
        """Build the program from all lines."""
        if self.section != "ENDATA":
            raise Refusal("it ends without ENDATA; part of it is missing.")
        if not self.objective:
            raise Refusal("no row is of type N: the objective is missing.")
        for name, bound in self.upper.items():
            if bound <= 0.0 and name not in self.lower:
                raise Refusal(
                    f"column {name!r} has the upper bound {bound!r} and no lower one, which is 0 "
                    "to some programs and -inf to others; add a line LO, MI or FR."
                )
        n = len(self.columns)
        sides = [
            side
            for name, row in self.rows.items()
            for side in sides_of(name, row, self.right.get(name, 0.0), self.ranges.get(name))
        ]
        G, A = ([side for side in sides if side.part == part] for part in "GA")
        rows = self.entries.matrix("G", (self.n_rows, n))
        return QuadraticProgram(
            self.hessian.matrix("P", (n, n), triangle=bool(self.seen.intersection(_TRIANGLES))),
            [self.costs.get(name, 0.0) for name in self.columns],
            matrix_of(rows, G),
            [side.right for side in G],
            matrix_of(rows, A),
            [side.right for side in A],
            [self.lower.get(name, 0.0) for name in self.columns],
            [self.upper.get(name, math.inf) for name in self.columns],
        )
