"""Writes the tables of ``docs/report.md`` from the JSON Schema, between the two marks.

Usage: ``python docs/report_keys.py``
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from qpsvm import reports

PAGE = Path(__file__).with_name("report.md")
BEGIN, END = "<!-- keys -->\n", "<!-- /keys -->\n"
TITLES = {
    "report": "A report",
    "problem": "`problem`",
    "data": "`data` (null for a bare program)",
    "solver": "`solver`",
    "check": "An entry of `checks`",
    "certificate": "`certificate` (null for a bare program, and if nothing could be measured)",
    "bound": "`bound` (null for machines, and if nothing could be measured)",
    "predictions": "`predictions` (null if predictions were not compared)",
    "summary": "`summary` (null if there is no machine)",
    "event": "An entry of `trace`",
    "row": "An entry of `samples`",
    "page": "A page of several reports",
    "comparison": "`comparison`",
}


def tables(schema: dict[str, Any]) -> str:
    """One table per part of the schema."""
    parts = []
    for name, title in TITLES.items():
        part = schema["$defs"][name]
        rows = [
            f"| `{key}` | {kind_of(value)}{'' if key in part['required'] else ', optional'} | "
            f"{value.get('description', '')} |"
            for key, value in part["properties"].items()
        ]
        parts.append("\n".join([f"### {title}\n", "| key | type | |", "|---|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def kind_of(value: dict[str, Any]) -> str:
    """The type of a property in words."""
    if "const" in value:
        return f"{value['const']}"
    if "enum" in value:
        return ", ".join("null" if v is None else f'"{v}"' for v in value["enum"])
    if "oneOf" in value:
        return " or ".join(map(kind_of, value["oneOf"]))
    if "$ref" in value:
        return value["$ref"].rsplit("/", 1)[-1].replace("optional ", "null or ")
    if value["type"] == "array":
        return f"list of {kind_of(value['items'])}"
    kinds = value["type"] if isinstance(value["type"], list) else [value["type"]]
    return " or ".join(kinds)


def updated(text: str) -> str:
    """The page with new tables."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{tables(reports.schema())}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text("utf-8")), "utf-8")
