"""The comparison of backends as a section of blocks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from qpsvm.reports.blocks import Block, Cell, Section, Sentences
from qpsvm.reports.columns import TableColumn, cells, numbers, table_of, words
from qpsvm.reports.comparison import Comparison, ComparisonRow
from qpsvm.reports.numbers import figure, residual

COLUMNS: tuple[TableColumn[ComparisonRow], ...] = (
    words("Backend", lambda row: row.backend),
    cells("Verdict", lambda row: Cell(row.verdict, verdict=row.verdict)),
    words("Kernel", lambda row: row.kernel),
    words("Form", lambda row: row.form),
    numbers("Objective", lambda row: row.objective, lambda number: figure(number, 9)),
    numbers("Certified gap", lambda row: row.relative_gap, residual),
    numbers("KKT residual", lambda row: row.residual, residual),
    numbers("Support vectors", lambda row: row.n_support),
    numbers("Seconds", lambda row: row.seconds, lambda seconds: f"{seconds:.2f}"),
)


def comparison_section(comparison: Comparison, left_out: tuple[str, ...]) -> Section:
    """Build the section of a page's comparison."""
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
            "The primal and the dual form give a solver different quadratic programs of the same "
            "machine. The verifier measures objective, gap and residual after the solve; none of "
            "these figures is the solver's own.",
        ),
    )
    groups = itertools.groupby(comparison.rows, lambda row: (row.kernel, row.form))
    yield table_of(
        (rows for _, rows in groups),
        COLUMNS,
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
    if reasons:
        yield Sentences("notes", "Left out or not passed, and why", tuple(reasons))
