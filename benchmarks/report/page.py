"""HTML page of a benchmark report, with its text, its plots and a table that can be filtered.

Plotly's script comes out of the installed package and into the file. The page computes nothing but
what depends on its filters: which programs and contestants are left, and their profile.
"""

from __future__ import annotations

import importlib.resources
import math

from benchmarks.cells import Call, Instance, parse, short_name
from benchmarks.metrics.bounds import is_reference, suboptimality
from benchmarks.metrics.outcomes import accuracy_curves
from benchmarks.metrics.times import column_names, kind_of
from benchmarks.report.document import document
from benchmarks.report.summary import Summary
from benchmarks.rows import FALSE, Row
from qpsvm.plotting import CLASS_COLOURS
from qpsvm.reports import Extra, html_of, require_packages
from qpsvm.reports.numbers import NOTHING, value

PACKAGE = "benchmarks.report"
NEEDS = Extra("bench", ("jinja2", "plotly"))


COLUMNS = tuple(
    {"key": key, "title": title, "form": form}
    for key, title, form in (
        ("name", "Contestant", "text"),
        ("outcome", "Outcome", "text"),
        ("family", "Family", "text"),
        ("C", "C", "figure"),
        ("data", "Data", "text"),
        ("kernel", "Kernel", "text"),
        ("eps", "Asked for", "residual"),
        ("gap", "Certified gap", "residual"),
        ("own", "Its own gap", "residual"),
        ("seconds", "Seconds", "figure"),
        ("iterations", "Iterations", "count"),
        ("memory", "Memory, MB", "megabytes"),
    )
)
"""Columns of the table of rows; ``form`` says how their entries are written."""

GOOD = frozenset({"optimal", "unclaimed optimal", "infeasible"})


def html(summary: Summary) -> str:
    """Return the report as the text of one HTML file.

    Raises
    ------
    MissingPackageError
        Jinja2 or Plotly is not installed.
    """
    require_packages(NEEDS)  # before Plotly's script is looked for: this says what is missing
    content = document(summary)
    return html_of(
        content,
        contents=content.sections,  # not the inner ones: there can be dozens
        data=page_data(summary),
        embedded="The element qpsvm-data holds all rows as JSON.",
        name="bench.html.j2",
        package=PACKAGE,
        style=_text(PACKAGE, "templates", "bench.css"),
        before=[_text("plotly", "package_data", "plotly.min.js")],
        scripts=[_text(PACKAGE, "templates", name) for name in ("profile.js", "bench.js")],
        extra=NEEDS,
        columns=COLUMNS,
        refuted=bool(summary.claims),
    )


def _text(package: str, *path: str) -> str:
    return importlib.resources.files(package).joinpath(*path).read_text("utf-8")


def page_data(summary: Summary) -> dict[str, object]:
    """Return the data that the page's script reads: rows, times and curves."""
    rows = summary.results.rows
    names = column_names(rows)
    contestants = list(dict.fromkeys(names))
    references = {
        name for row, name in zip(rows, names, strict=True) if is_reference(row.contestant)
    }
    instances = list(dict.fromkeys(row.instance for row in rows))
    who = {name: i for i, name in enumerate(contestants)}
    where = {instance: i for i, instance in enumerate(instances)}
    texts: dict[str, int] = {}  # most rows share most of their texts
    entries = [
        {
            "program": where[row.instance],
            "contestant": who[name],
            **_entry(row, suboptimality(row, summary.best)),
            "details": [texts.setdefault(text, len(texts)) for text in _details(row).values()],
        }
        for row, name in zip(rows, names, strict=True)
    ]
    return {
        "targets": summary.targets,
        "contestants": list(map(short_name, contestants)),
        "ranked": [name not in references for name in contestants],
        "programs": [_program(instance, summary) for instance in instances],
        "columns": COLUMNS,
        "kinds": dict.fromkeys(FALSE, "fail") | dict.fromkeys(GOOD, "pass"),
        "palette": CLASS_COLOURS,
        "rows": entries,
        "details": list(_details(rows[0])),
        "texts": list(texts),
        "times": [
            [
                {
                    "program": where[instance],
                    "contestant": who[name],
                    "seconds": timing.seconds,
                    "outcome": timing.outcome,
                    "attempted": timing.attempted,
                }
                for standing in summary.at(target)
                for (instance, name), timing in standing.times.items()
            ]
            for target in summary.targets
        ],
        "curves": [
            {
                "program": where[instance],
                "contestant": who[name],
                "seconds": curve.seconds,
                "gaps": curve.gaps,
                "eps": curve.eps,
            }
            for instance, curves in accuracy_curves(rows, summary.best).items()
            for name, curve in curves.items()
        ],
    }


def _program(instance: Instance, summary: Summary) -> dict[str, object]:
    """Return the properties that programs are filtered by, C apart from other parameters."""
    family = parse(instance.family)
    others = {name: entry for name, entry in family.arguments.items() if name != "C"}
    return {
        "name": str(instance),
        "family": str(Call(family.name, others)),
        "C": family.arguments.get("C", NOTHING),
        "data": instance.data,
        "kernel": instance.kernel,
        "kind": kind_of(instance),
        "bounded": instance not in summary.without_bound,
    }


def _entry(row: Row, gap: float) -> dict[str, object]:
    return {
        "key": row.cell.key,
        "outcome": row.outcome,
        "eps": row.cell.eps,
        "gap": gap,
        "own": row.gap,
        "seconds": row.total_seconds,
        "iterations": row.iterations,
        "memory": row.peak_bytes,
        "n": row.n,
        "d": row.d,
        "repeat": row.cell.repeat,
    }


def _details(row: Row) -> dict[str, str]:
    """Return all fields of a row as texts."""
    fields = {**vars(row.instance), **vars(row.cell), **vars(row)}
    return {
        name.replace("_", " "): _words(entry)
        for name, entry in fields.items()
        if name not in ("instance", "cell")
    }


def _words(entry: object) -> str:
    if entry == "" or (isinstance(entry, float) and math.isnan(entry)):
        return NOTHING
    return value(entry) or NOTHING
