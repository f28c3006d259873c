"""Tables of a report: checks, machines, constraints, samples."""

from __future__ import annotations

from collections.abc import Mapping

from qpsvm.qp.kkt_residuals import Check
from qpsvm.reports.blocks import Cell, Table
from qpsvm.reports.columns import TableColumn, cells, numbers, table_of, words
from qpsvm.reports.content import ReportContent
from qpsvm.reports.explanations import EXPLANATIONS
from qpsvm.reports.grade import Grade
from qpsvm.reports.kinds import Column
from qpsvm.reports.numbers import figure, residual, value


def _verdict_cell(passed: bool) -> Cell:
    """A cell with PASS or FAIL."""
    word = "PASS" if passed else "FAIL"
    return Cell(word, 0.0 if passed else 1.0, word)


def _grade_cell(grade: Grade) -> Cell:
    """A cell with a grade, sorted by quality."""
    return Cell(grade.title, float(list(Grade).index(grade)), grade.title)


def _long_figure(number: float | None) -> str:
    return figure(number, 9)


def checks_table(report: ReportContent, key: str) -> Table:
    """Table of the checks with their tolerances."""
    columns: tuple[TableColumn[Check], ...] = (
        words("Check", lambda check: check.name.replace("_", " ")),
        cells("Verdict", lambda check: _verdict_cell(check.passed)),
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
        cells("Verdict", lambda machine: _grade_cell(machine.grade)),
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
        [_sample_column(column) for column in report.kind.columns],
        key=f"{key}-samples",
        title=f"KKT conditions, {report.kind.noun} by {report.kind.noun}",
        caption=caption,
        long=folded,
        detail=True,
    )


def _sample_column(column: Column) -> TableColumn[Mapping[str, object]]:
    def entry(row: Mapping[str, object]) -> Cell:
        found = row[column.key]
        if column.form == "text" or not isinstance(found, int | float):
            return Cell(value(found))
        if isinstance(found, int):
            return Cell(str(found), found)
        return Cell(residual(found) if column.form == "residual" else figure(found), found)

    return cells(column.title, entry, numeric=column.form != "text")
