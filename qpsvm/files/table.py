"""A table that was read from a file, column by column, before anything is a number."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from qpsvm.exceptions import InvalidParameterError
from qpsvm.files.cells import Cells, Rows
from qpsvm.files.columns import position_of


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of a file with their names, and the places of the rows for messages.

    Attributes
    ----------
    source : str
        The file.
    names : tuple of str or None
        One per column; None without a header.
    columns : tuple of Cells
    places : sequence of int
        For each row its line in a CSV file, or its number from 0 in a Parquet file.
    unit : str
        Word for a place: "line", or "row" in a file without lines.
    header_line : int or None
        The line with the names.
    """

    source: str
    names: tuple[str, ...] | None
    columns: tuple[Cells, ...]
    places: Sequence[int]
    unit: str
    header_line: int | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.places)

    def name(self, position: int) -> str:
        """Name of a column for messages and output: its own, or ``column 3``."""
        return (self.names[position] if self.names else "") or f"column {position}"

    def reference(self, position: int) -> str:
        """Text by which a caller names a column: its name, or a position."""
        width = len(self.columns)
        for text in (self.names[position] if self.names else "", str(position)):
            with suppress(InvalidParameterError):
                if text and position_of(self.source, text, self.names, width) == position:
                    return text
        return str(position - width)

    def place(self, row: int) -> str:
        """Where a row is in the file: ``line 7``, or ``row 5 (counted from 0)``."""
        counted = " (counted from 0)" if self.unit == "row" else ""
        return f"{self.unit} {self.places[row]}{counted}"

    def key(self, position: int) -> str | int:
        """Name of a column, or its position in a file without names: where other tables have it."""
        return position if self.names is None else self.names[position]

    def taken(self, rows: Rows) -> Table:
        """The table of some rows only."""
        columns = tuple(column.taken(rows) for column in self.columns)
        return replace(self, columns=columns, places=[self.places[i] for i in rows.tolist()])
