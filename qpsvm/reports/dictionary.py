"""Reports as plain Python types, the content of the JSON file.

``report.schema.json`` describes it, ``docs/report.md`` explains it, and a test compares both.
"""

from __future__ import annotations

import importlib.resources
from typing import cast

from qpsvm.files import json_text
from qpsvm.reports.content import ReportContent
from qpsvm.reports.explanations import EXPLANATIONS
from qpsvm.reports.implications import implications
from qpsvm.reports.kinds import class_sizes
from qpsvm.reports.page import Page

SCHEMA = 2
"""Version of the JSON; it grows with every change that could break a reader."""


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

    def fits(report: ReportContent) -> bool:
        return samples is None or sum(map(n_rows, (report, *report.machines))) <= samples

    reports = [report_dict(report, samples=fits(report)) for report in page.reports]
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
    """Number of rows of a report's own sample table."""
    return 0 if report.table is None else len(report.table)


def _bound(report: ReportContent) -> dict[str, object] | None:
    found = getattr(report.verified, "bound", None)
    return None if found is None else found.to_dict()


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
    certificate, summary = report.certificate, report.summary
    result = {
        "schema": SCHEMA,
        "kind": report.kind.name,
        "name": report.name or None,
        "passed": report.passed,
        "grade": report.grade.value,
        "headline": report.headline.sentence,
        "eps": report.eps,
        "objective": report.objective,
        "relative_gap": report.relative_gap,
        "worst": report.worst,
        "remarks": list(report.remarks),
        "facts": report.facts and {"title": report.facts.title, "values": report.facts.values},
        "problem": _problem(report),
        "constraints": [
            {"name": name, "kind": kind, "multiplier": multiplier}
            for name, kind, multiplier in report.constraints
        ],
        "data": None if report.data is None else _data(report),
        "solver": _solver(report),
        "versions": report.versions,
        "score": None
        if report.score is None
        else {"name": report.kind.score_name, "value": report.score},
        "checks": [
            check.to_dict() | {"meaning": EXPLANATIONS.get(check.name, "")}
            for check in report.checks
        ],
        "certificate": None if certificate is None else certificate.to_dict(),
        "bound": _bound(report),
        "implications": list(implications(report)),
        "predictions": None if report.predictions is None else report.predictions.to_dict(),
        "summary": None if summary is None else vars(summary),
        "notes": list(report.verified.notes),
        "trace": [
            {
                "stage": event.stage,
                "backend": event.backend,
                "iteration": event.iteration,
                "seconds": event.seconds,
                "objective": event.objective,
                "residual": event.residual,
            }
            for event in report.trace
        ],
        "machines": [report_dict(machine, samples=samples) for machine in report.machines],
    }
    if samples:
        result["samples"] = report.samples()
    return dict(json_text.plain(result))


def _problem(report: ReportContent) -> dict[str, object]:
    program, repair = report.program, getattr(report.problem, "kernel_repair", None)
    return {
        "family": report.family,
        "form": report.form,
        "kernel": report.kernel,
        "n_variables": program and program.n_variables,
        "n_inequalities": program and program.n_inequalities,
        "n_equalities": program and program.n_equalities,
        "hessian": program and type(program.P).__name__,
        "n_machines": report.n_machines or None,
        "kernel_repair": repair
        and {
            "policy": repair.policy,
            "smallest_eigenvalue": repair.smallest_eigenvalue,
            "n_negative": repair.n_negative,
            "relative_change": repair.relative_change,
        },
        "fingerprint": report.digest if report.data is None else None,
    }


def _data(report: ReportContent) -> dict[str, object]:
    data, classes = report.data, class_sizes(report.data)
    return {
        "source": report.source,
        "sha256": report.digest,
        "n_samples": data.n_samples,
        "n_given": data.n_given,
        "n_features": data.n_features,
        "storage": data.storage,
        "feature_names": data.feature_names,
        "classes": [label for label, _ in classes] or None,
        "class_counts": [size for _, size in classes] or None,
    }


def _solver(report: ReportContent) -> dict[str, object]:
    statistics, own = report.statistics, report.qp_solution
    return {
        "backend": statistics.backend,
        "version": statistics.version,
        "status": report.status,
        "native_status": own.native_status if own is not None else "",
        "iterations": statistics.iterations,
        "setup_seconds": statistics.setup_seconds,
        "solve_seconds": statistics.solve_seconds,
        "seconds": dict(statistics.seconds),
        "asked": list(statistics.asked),
        "polished": statistics.polished,
        "escalated": statistics.escalated,
        "settings": dict(statistics.settings),
        "note": statistics.note,
    }
