"""A comparison of backends as blocks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from qpsvm.reports.blocks import Block, Cell, Heading, Section, Sentences, Table
from qpsvm.reports.comparison import Comparison, ComparisonRow
from qpsvm.reports.numbers import NOTHING, figure, residual

HEADINGS = (
    Heading("Backend"),
    Heading("Verdict"),
    Heading("Kernel"),
    Heading("Form"),
    Heading("Objective", numeric=True),
    Heading("Certified gap", numeric=True),
    Heading("KKT residual", numeric=True),
    Heading("Support vectors", numeric=True),
    Heading("Seconds", numeric=True),
)


def comparison_section(comparison: Comparison, left_out: tuple[str, ...]) -> Section:
    """The section of a page's comparison."""
    return Section(
        key="comparison",
        title="Every backend on every program",
        passed=None,
        blocks=tuple(_blocks(comparison, left_out)),
    )


def _blocks(comparison: Comparison, left_out: tuple[str, ...]) -> Iterator[Block]:
    yield Sentences(
        "meaning",
        "",
        (
            "The same machine reaches each solver as a different quadratic program. Solvers are "
            "not believed: objective, gap and residual are measured afterwards, outside of them.",
        ),
    )
    groups = itertools.groupby(comparison.rows, lambda row: (row.kernel, row.form))
    yield Table(
        key="comparison-table",
        title="",
        caption=f"Backends, relative accuracy {residual(comparison.eps)}",
        headings=HEADINGS,
        bodies=tuple(tuple(map(_cells, rows)) for _, rows in groups),
    )
    reasons = [
        f"{word}: {name}, {', '.join(programs)}: {reason}"
        for word, name, programs, reason in comparison.reasons()
    ]
    if left_out:
        reasons.append(f"not run: {', '.join(left_out)}")
    if reasons:
        yield Sentences("notes", "Left out or not passed, and why", tuple(reasons))


def _cells(row: ComparisonRow) -> tuple[Cell, ...]:
    support = NOTHING if row.n_support is None else str(row.n_support)
    return (
        Cell(row.backend),
        Cell(row.verdict, verdict=row.verdict),
        Cell(row.kernel),
        Cell(row.form),
        Cell(figure(row.objective, 9), row.objective),
        Cell(residual(row.relative_gap), row.relative_gap),
        Cell(residual(row.residual), row.residual),
        Cell(support, row.n_support),
        Cell(f"{row.seconds:.2f}", row.seconds),
    )
