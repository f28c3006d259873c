"""Tables of columns of equal length: a short ``repr``, and a pandas DataFrame."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from qpsvm.display.objects import COLUMNS, LINES, cut
from qpsvm.exceptions import MissingPackageError

if TYPE_CHECKING:
    import pandas as pd

Column: TypeAlias = Sequence[object] | npt.NDArray[np.generic]
"""A column of a table: a list or an array of shape (N,)."""


class ColumnTable(ABC):
    """Base class of tables: columns of equal length, with a short ``repr`` and a DataFrame."""

    @abstractmethod
    def columns(self) -> Mapping[str, Column]:
        """Every column by name: arrays of shape (N,) or lists of length N."""

    def order(self) -> npt.NDArray[np.intp] | None:
        """Indices of rows in the order to print them; None for stored order."""
        return None

    def to_frame(self) -> pd.DataFrame:
        """All rows as a pandas DataFrame, in stored order.

        Raises
        ------
        MissingPackageError
            pandas, the extra ``qpsvm[pandas]``, is not installed.
        """
        return data_frame(self.columns(), f"{type(self).__name__}.to_frame()")

    def __repr__(self) -> str:
        half_a_screen = LINES // 2
        columns = self.columns()
        total, order = len(next(iter(columns.values()))), self.order()
        rows = [int(i) for i in (np.arange(total) if order is None else order)[:half_a_screen]]
        cells = [[name, *(_cell(column[i]) for i in rows)] for name, column in columns.items()]
        widths = [2 + max(map(len, column)) for column in cells]
        fitting = int(np.searchsorted(np.cumsum(widths), COLUMNS, side="right"))
        padded = [
            [cell.rjust(width) for cell in column]
            for column, width in zip(cells[:fitting], widths, strict=False)
        ]
        what = f"{type(self).__name__} of {total} rows"
        if total > len(rows):
            first = "first" if order is None else "worst"
            what += f", the {first} {len(rows)} of them; .to_frame() has all"
        missing = ", ".join(column[0] for column in cells[fitting:])
        rest = [cut(f"  further columns: {missing}", COLUMNS)] if missing else []
        return "\n".join([what, *map("".join, zip(*padded, strict=True)), *rest])


def data_frame(columns: Mapping[str, Column], what: str) -> pd.DataFrame:
    """Build a pandas DataFrame; raise MissingPackageError without pandas.

    Parameters
    ----------
    columns : mapping of str to arrays of shape (N,) or lists
    what : str
        Who needs pandas, for the message.

    Raises
    ------
    MissingPackageError
        pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingPackageError(
            f'{what} needs pandas, which is not installed; run: pip install "qpsvm[pandas]".'
        ) from error
    return pd.DataFrame(dict(columns))


def _cell(value: object) -> str:
    text = f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
    return cut(" ".join(text.split()), width=14)
