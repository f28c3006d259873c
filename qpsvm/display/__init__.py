"""Printing of objects within one screen, with a hint on how to see the rest.

``@short_repr`` gives a dataclass or named tuple a ``repr`` with a line per field, where vectors are
their shapes. ``ColumnTable`` does the same for whatever has columns of one length, and makes a
pandas DataFrame of it.
"""

from qpsvm.display.objects import (
    COLUMNS,
    LINES,
    brief,
    first_lines,
    one_line,
    short_repr,
    wrapped,
)
from qpsvm.display.tables import Column, ColumnTable, data_frame

__all__ = [
    "COLUMNS",
    "LINES",
    "Column",
    "ColumnTable",
    "brief",
    "data_frame",
    "first_lines",
    "one_line",
    "short_repr",
    "wrapped",
]
