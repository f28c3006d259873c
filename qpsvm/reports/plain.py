"""Reports in plain Python types, for JSON.

``report.schema.json`` describes them, ``docs/report.md`` explains them, and a test compares both.
"""

from __future__ import annotations

import importlib.resources
from typing import cast

from qpsvm.io import json_text
from qpsvm.reports.content import Page, ReportContent
from qpsvm.reports.document import EXPLANATIONS
from qpsvm.reports.implications import implications
from qpsvm.reports.kinds import class_sizes

SCHEMA = 2
"""Version of the JSON; it grows with every change that could break a reader."""

EVENT = ("stage", "backend", "iteration", "seconds", "objective", "residual")
KERNEL_REPAIR = ("policy", "smallest_eigenvalue", "n_negative", "relative_change")
"""Attributes that the JSON has under their own names."""


def schema() -> dict[str, object]:
    """The JSON Schema (draft 2020-12) of ``Report.to_dict`` and of a page's JSON.

    Returns
    -------
    dict
        A fresh one at every call.

    Examples
    --------
    >>> schema()["title"], schema()["$schema"]
    ('qpsvm report', 'https://json-schema.org/draft/2020-12/schema')
    """
    text = importlib.resources.files(__package__).joinpath("report.schema.json").read_text("utf-8")
    return cast("dict[str, object]", json_text.loads(text))


def page_dict(page: Page, *, samples: int | None = None) -> dict[str, object]:
    """Convert a page to plain types; a page with a single report becomes that report.

    Parameters
    ----------
    page : Page
        One report, or several on one page.
    samples : int, optional
        Leave the samples out of reports with more than so many.
    """
    reports = [
        report_dict(report, samples=samples is None or n_rows(report) <= samples)
        for report in page.reports
    ]
    if page.comparison is None and len(reports) == 1:
        return reports[0]
    return {
        "schema": SCHEMA,
        "title": page.title,
        "passed": page.passed,
        "grade": page.headline and page.headline.grade.value,
        "headline": page.headline and page.headline.sentence,
        "comparison": json_text.plain(page.comparison and page.comparison.to_dict()),
        "left_out": list(page.left_out),
        "reports": reports,
    }


def n_rows(report: ReportContent) -> int:
    """Number of rows of a report's sample tables, all machines together."""
    tables = (part.table for part in (report, *report.machines))
    return sum(len(table) for table in tables if table is not None)


def report_dict(report: ReportContent, *, samples: bool = False) -> dict[str, object]:
    """Convert a report to plain Python types: strict JSON by the schema of ``docs/report.md``.

    Parameters
    ----------
    samples : bool
        Include the table of training samples, worst violation first.

    Notes
    -----
    NaN and infinities, which JSON lacks, are the strings ``"NaN"``, ``"Infinity"`` and
    ``"-Infinity"``; Python's ``float`` reads them.
    """
    program, own, statistics = report.program, report.qp_solution, report.statistics
    repair = getattr(report.problem, "kernel_repair", None)
    bound = getattr(report.verified, "bound", None)
    result = {
        "schema": SCHEMA,
        "kind": report.kind.name,
        "name": report.name or None,
        "passed": report.passed,
        "grade": report.grade.value,
        "headline": report.headline.sentence,
        **_picked(report, "eps", "objective", "relative_gap", "worst", "remarks"),
        "facts": report.facts and _picked(report.facts, "title", "values"),
        "problem": {
            **_picked(report, "family", "form", "kernel"),
            **_picked(program, "n_variables", "n_inequalities", "n_equalities"),
            "hessian": program and type(program.P).__name__,
            "n_machines": report.n_machines or None,
            "kernel_repair": repair and _picked(repair, *KERNEL_REPAIR),
            "fingerprint": report.digest if report.data is None else None,
        },
        "constraints": [
            {"name": name, "kind": kind, "multiplier": multiplier}
            for name, kind, multiplier in report.constraints
        ],
        "data": None if report.data is None else _data(report),
        "solver": {
            **_picked(statistics, "backend", "version"),
            "status": report.status,
            "native_status": own.native_status if own is not None else "",
            **vars(statistics),
        },
        "versions": report.versions,
        "score": None
        if report.score is None
        else {"name": report.kind.score_name, "value": report.score},
        "checks": [
            check.to_dict() | {"meaning": EXPLANATIONS.get(check.name, "")}
            for check in report.checks
        ],
        "certificate": report.certificate and report.certificate.to_dict(),
        "bound": bound and bound.to_dict(),
        "implications": implications(report),
        "predictions": report.predictions and report.predictions.to_dict(),
        "summary": report.summary and vars(report.summary),
        "notes": report.verified.notes,
        "trace": [_picked(event, *EVENT) for event in report.trace],
        "machines": [report_dict(machine, samples=samples) for machine in report.machines],
    }
    if samples:
        result["samples"] = report.samples()
    return dict(json_text.plain(result))


def _picked(thing: object, *names: str) -> dict[str, object]:
    """Attributes by their names; None for each where there is no such thing."""
    return {name: None if thing is None else getattr(thing, name) for name in names}


def _data(report: ReportContent) -> dict[str, object]:
    classes = class_sizes(report.data)
    return {
        "source": report.source,
        "sha256": report.digest,
        **_picked(report.data, "n_samples", "n_given", "n_features", "storage", "feature_names"),
        "classes": [label for label, _ in classes] or None,
        "class_counts": [size for _, size in classes] or None,
    }
