"""Tables of a report: checks, machines, constraints, samples, and a comparison of backends."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from qpsvm.qp.kkt_residuals import Check
from qpsvm.reports.blocks import Block, Cell, Section, Sentences, Table
from qpsvm.reports.columns import TableColumn, cells, numbers, table_of, words
from qpsvm.reports.comparison import Comparison, ComparisonRow
from qpsvm.reports.content import ReportContent
from qpsvm.reports.grade import Grade
from qpsvm.reports.numbers import figure, residual

EXPLANATIONS: Mapping[str, str] = {
    "stationarity": "gradient of the Lagrangian",
    "inequality": "violated inequality rows",
    "equality": "violated equality rows",
    "lower_bound": "variables below their bound",
    "upper_bound": "variables above their bound",
    "multiplier_sign": "negative multipliers",
    "complementarity": "multiplier times slack",
    "duality_gap": "gap of the program's own solution",
    "natural": "natural residual, zero exactly at an optimum",
    "certified_gap": "certified gap of the stored machine",
    "feasibility": "violated hard conditions and constraints",
    "sample_kkt": "largest KKT violation of a sample",
    "slack": "stated slack against decision values",
    "dual_repair": "change that makes alpha feasible",
    "intercept_interval": "stated intercept interval against the optimal one",
    "expansion": "stated coefficients against alpha",
    "rounding": "estimated rounding error of the objective",
    "weights": "weights against those that alpha implies",
    "own_predictions": "the model's own predictions against its stored numbers",
    "predictions": "numbers the file predicts with against verified ones",
}
"""What every check of a verdict measures."""

PASSED, FAILED = Cell("PASS", 0.0, "PASS"), Cell("FAIL", 1.0, "FAIL")
GRADES = {grade: Cell(grade.title, float(i), grade.title) for i, grade in enumerate(Grade)}
"""Cells of verdicts, the best sorted first."""


def _long_figure(number: float | None) -> str:
    return figure(number, 9)


def checks_table(report: ReportContent, key: str) -> Table:
    """Table of the checks with their tolerances."""
    columns: tuple[TableColumn[Check], ...] = (
        words("Check", lambda check: check.name.replace("_", " ")),
        cells("Verdict", lambda check: PASSED if check.passed else FAILED),
        numbers("Scaled", lambda check: check.scaled, residual),
        numbers("Allowed", lambda check: check.tolerance, residual),
        numbers("Absolute", lambda check: check.absolute, residual),
        words("What it measures", lambda check: EXPLANATIONS.get(check.name, "")),
    )
    return table_of(
        [report.checks],
        columns,
        key=f"{key}-checks",
        title="Checks",
        caption=f"Residuals against their tolerance, eps = {report.eps:g}",
        detail=all(check.passed for check in report.checks),
    )


def machines_table(report: ReportContent, key: str) -> Table:
    """Table of the machines of a reduction."""
    columns: tuple[TableColumn[ReportContent], ...] = (
        words("Machine", lambda machine: machine.name),
        cells("Verdict", lambda machine: GRADES[machine.grade]),
        numbers("Objective", lambda machine: machine.objective, _long_figure),
        numbers("Certified gap", lambda machine: machine.relative_gap, residual),
        numbers("Worst check", lambda machine: machine.worst, residual),
        numbers("Samples", lambda machine: machine.data.n_samples),
        numbers("Support vectors", lambda m: m.summary.n_support if m.summary else None),
    )
    return table_of(
        [report.machines],
        columns,
        key=f"{key}-machines",
        title="Machines",
        caption=f"All {len(report.machines)} machines, eps = {report.eps:g}",
    )


def constraints_table(report: ReportContent, key: str, limit: int) -> Table:
    """Table of the caller's constraints, the largest multiplier first."""
    ordered = sorted(report.constraints, key=lambda row: -abs(row[2]))[:limit]
    columns: tuple[TableColumn[tuple[str, str, float]], ...] = (
        words("Constraint", lambda row: row[0]),
        words("Kind", lambda row: row[1]),
        numbers("Multiplier", lambda row: row[2], figure),
    )
    return table_of(
        [ordered],
        columns,
        key=f"{key}-constraints",
        title="Constraints on (w, b)",
        caption=f"{len(ordered):,} of {len(report.constraints):,}, with the multipliers that the "
        "solution states; at an optimum a constraint that plays no part has zero",
    )


def samples_table(report: ReportContent, n: int, key: str, samples: int, *, folded: bool) -> Table:
    """Table of the samples with the largest violations."""
    rows = tuple(report.samples(samples))
    caption = f"All {n:,} rows, largest violation first"
    if len(rows) < n:
        caption = f"The {len(rows):,} rows with the largest violations of {n:,}"
    return table_of(
        [rows],
        report.kind.columns,
        key=f"{key}-samples",
        title=f"KKT conditions, {report.kind.noun} by {report.kind.noun}",
        caption=caption,
        long=folded,
        detail=True,
    )


def comparison_section(comparison: Comparison, left_out: tuple[str, ...]) -> Section:
    """Build the section of a page's comparison of backends."""
    columns: tuple[TableColumn[ComparisonRow], ...] = (
        words("Backend", lambda row: row.backend),
        cells("Verdict", lambda row: Cell(row.verdict, verdict=row.verdict)),
        words("Kernel", lambda row: row.kernel),
        words("Form", lambda row: row.form),
        numbers("Objective", lambda row: row.objective, _long_figure),
        numbers("Certified gap", lambda row: row.relative_gap, residual),
        numbers("KKT residual", lambda row: row.residual, residual),
        numbers("Support vectors", lambda row: row.n_support),
        numbers("Seconds", lambda row: row.seconds, "{:.2f}".format),
    )
    groups = itertools.groupby(comparison.rows, lambda row: (row.kernel, row.form))
    meaning = (
        "The primal and the dual form give a solver different quadratic programs of the same "
        "machine. The verifier measures objective, gap and residual after the solve; none of "
        "these figures is the solver's own."
    )
    table = table_of(
        (rows for _, rows in groups),
        columns,
        key="comparison-table",
        caption=f"Backends, relative accuracy {residual(comparison.eps)}",
        sortable=False,
    )
    reasons = [
        f"{word}: {name}, {', '.join(programs)}: {reason}"
        for word, name, programs, reason in comparison.reasons()
    ]
    if left_out:
        reasons.append(f"not run: {', '.join(left_out)}")
    blocks: list[Block] = [Sentences("meaning", "", (meaning,)), table]
    if reasons:
        blocks.append(Sentences("notes", "Left out or not passed, and why", tuple(reasons)))
    return Section("comparison", "Every backend on every program", None, tuple(blocks))
