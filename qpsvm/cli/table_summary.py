"""Summary of how the columns of a table were used, as JSON entries and as lines of text."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qpsvm.datasets import DataFile


def table_summary(data: DataFile) -> dict[str, object]:
    """The columns of a table with kinds and roles, and its number of rows, if it is a table."""
    if data.columns is None:
        return {}
    columns = [dataclasses.asdict(column) for column in data.columns]
    return {"columns": columns, "n_rows": data.n_rows}


def table_lines(found: dict[str, Any]) -> Iterator[str]:
    """Yield lines about columns that are no plain numbers, and about rows that were left out."""
    columns = found.get("columns", [])
    parts = {
        "categories": _names(columns, "feature", "categories"),
        "truth values as 1 and 0": _names(columns, "feature", "truth values"),
        "carried into predictions": _names(columns, "id"),
        "left out": _names(columns, "left out"),
    }
    texts = [f"{words}: {', '.join(names)}" for words, names in parts.items() if names]
    if texts:
        n_numbers = len(_names(columns, "feature", "numbers"))
        yield f"Columns: {n_numbers} of numbers; {'; '.join(texts)}"
    left_out = found.get("n_rows", 0) - found["n_samples"]
    if columns and left_out:
        yield f"Rows: {left_out:,} of {found['n_rows']:,} left out, because a value is missing"


def _names(columns: list[dict[str, str]], role: str, kind: str | None = None) -> list[str]:
    """Names of the columns with this role, and this kind if there is one."""
    return [
        column["name"]
        for column in columns
        if column["role"] == role and kind in (None, column["kind"])
    ]
