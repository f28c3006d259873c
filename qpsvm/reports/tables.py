"""The tables of a report: checks, machines, samples."""

from __future__ import annotations

from qpsvm.reports.blocks import Cell, Heading, Table
from qpsvm.reports.explanations import EXPLANATIONS
from qpsvm.reports.kinds import Column
from qpsvm.reports.numbers import NOTHING, figure, residual, value
from qpsvm.reports.report import Report


def _verdict_cell(passed: bool) -> Cell:
    """PASS or FAIL."""
    word = "PASS" if passed else "FAIL"
    return Cell(word, 0.0 if passed else 1.0, word)


def checks_table(report: Report, key: str) -> Table:
    """Every residual against its tolerance."""
    rows = tuple(
        (
            Cell(check.name.replace("_", " ")),
            _verdict_cell(check.passed),
            Cell(residual(check.scaled), check.scaled),
            Cell(residual(check.tolerance), check.tolerance),
            Cell(residual(check.absolute), check.absolute),
            Cell(EXPLANATIONS.get(check.name, "")),
        )
        for check in report.checks
    )
    return Table(
        key=f"{key}-checks",
        title="Checks",
        caption=f"Residuals against their tolerance, eps = {report.eps:g}",
        headings=(
            Heading("Check"),
            Heading("Verdict"),
            Heading("Scaled", numeric=True),
            Heading("Allowed", numeric=True),
            Heading("Absolute", numeric=True),
            Heading("What it measures"),
        ),
        bodies=(rows,),
        sortable=True,
    )


def machines_table(report: Report, key: str) -> Table:
    """A row for every machine of several."""
    rows = tuple(
        (
            Cell(machine.name),
            _verdict_cell(machine.passed),
            Cell(figure(machine.objective, 9), machine.objective),
            Cell(residual(machine.relative_gap), machine.relative_gap),
            Cell(residual(machine.worst), machine.worst),
            Cell(value(machine.data.n_samples), machine.data.n_samples),
            _support_cell(machine),
        )
        for machine in report.machines
    )
    return Table(
        key=f"{key}-machines",
        title="Machines",
        caption=f"All {len(rows)} machines, eps = {report.eps:g}",
        headings=(
            Heading("Machine"),
            Heading("Verdict"),
            Heading("Objective", numeric=True),
            Heading("Certified gap", numeric=True),
            Heading("Worst check", numeric=True),
            Heading("Samples", numeric=True),
            Heading("Support vectors", numeric=True),
        ),
        bodies=(rows,),
        sortable=True,
    )


def _support_cell(machine: Report) -> Cell:
    if machine.summary is None:
        return Cell(NOTHING)
    return Cell(value(machine.summary.n_support), machine.summary.n_support)


def constraints_table(report: Report, key: str, limit: int) -> Table:
    """The caller's constraints, the one that matters most first."""
    ordered = sorted(report.constraints, key=lambda row: -abs(row[2]))
    rows = tuple(
        (Cell(name), Cell(kind), Cell(figure(multiplier), multiplier))
        for name, kind, multiplier in ordered[:limit]
    )
    return Table(
        key=f"{key}-constraints",
        title="Constraints on (w, b)",
        caption=f"{len(rows):,} of {len(ordered):,}; a multiplier of zero: it plays no part",
        headings=(
            Heading("Constraint"),
            Heading("Kind"),
            Heading("Multiplier", numeric=True),
        ),
        bodies=(rows,),
        sortable=True,
    )


def samples_table(report: Report, n: int, key: str, samples: int, *, folded: bool) -> Table:
    """The worst of the n rows of the report's sample table."""
    columns, noun = report.kind.columns, report.kind.noun
    rows = tuple(
        tuple(_sample_cell(column, row[column.key]) for column in columns)
        for row in report.samples(samples)
    )
    caption = f"All {n:,} rows, largest violation first"
    if len(rows) < n:
        caption = f"The {len(rows):,} rows with the largest violations of {n:,}"
    return Table(
        key=f"{key}-samples",
        title=f"KKT conditions, {noun} by {noun}",
        caption=caption,
        headings=tuple(Heading(column.title, column.form != "text") for column in columns),
        bodies=(rows,),
        sortable=True,
        long=folded,
    )


def _sample_cell(column: Column, entry: object) -> Cell:
    if column.form == "text" or not isinstance(entry, int | float):
        return Cell(value(entry))
    if isinstance(entry, int):
        return Cell(str(entry), entry)
    return Cell(residual(entry) if column.form == "residual" else figure(entry), entry)
