"""Conversion of a page to a document of blocks, in reading order."""

from __future__ import annotations

from collections.abc import Iterator

from qpsvm.qp import exchange
from qpsvm.reports.blocks import (
    Block,
    Document,
    Figure,
    Figures,
    Formula,
    Gallery,
    Listing,
    Listings,
    Section,
    Sentences,
)
from qpsvm.reports.comparison_blocks import comparison_section
from qpsvm.reports.content import ReportContent
from qpsvm.reports.implications import implications
from qpsvm.reports.listings import listings
from qpsvm.reports.numbers import figure, percentage, residual, value
from qpsvm.reports.page import Page
from qpsvm.reports.tables import checks_table, constraints_table, machines_table, samples_table

ILLUSTRATED = 8
"""Machines of a report that are shown with pictures, the worst of them: each takes 200 kB."""

CASES = (
    "The case of a row is that of its alpha. At an optimum, zero means that the sample could be "
    "left out, free that it lies on the margin or on the edge of the tube, and bound that it lies "
    "there or beyond."
)


def document(page: Page, *, samples: int) -> Document:
    """Convert a page to a document of blocks.

    Parameters
    ----------
    page : Page
        One report, or several on one page.
    samples : int
        Rows of each sample table.
    """
    sections = (
        [] if page.comparison is None else [comparison_section(page.comparison, page.left_out)]
    )
    several = len(page.reports) > 1
    for i, report in enumerate(page.reports):
        sections.append(_section(report, f"report-{i + 1}", samples, folded=several))
    has_samples = any(r.table is not None for p in page.reports for r in (p, *p.machines))
    return Document(
        title=page.title,
        subtitle=page.subtitle,
        passed=page.passed,
        verdict=_verdict(page),
        grade=page.headline.grade if page.headline is not None else None,
        sections=tuple(sections),
        footer=(CASES,) if has_samples else (),
    )


def _verdict(page: Page) -> str:
    if page.comparison is not None:
        c = page.comparison
        return (
            f"{c.count('PASS')} of {len(c.rows)} solves verified at a relative accuracy of "
            f"{residual(c.eps)}; {c.count('FAIL')} failed, {c.count('skipped')} skipped. "
            f"Objectives of the same machine {'agree' if c.agree else 'disagree'}: largest "
            f"relative difference {residual(c.largest_spread)}."
        )
    return "" if page.headline is None else page.headline.sentence


# --- for formats that are read from top to bottom ------------------------------------------------


def flat(sections: tuple[Section, ...], level: int = 2) -> list[tuple[int, Section]]:
    """List all sections in order with the level of their headings."""
    return [
        pair
        for section in sections
        for pair in ((level, section), *flat(section.sections, level + 1))
    ]


def names_and_values(
    block: Figures | Listing | Listings,
) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
    """Title and items of every listing in a block."""
    if isinstance(block, Figures):
        return [("", tuple((figure.label, figure.text) for figure in block.figures))]
    listings = (block,) if isinstance(block, Listing) else block.listings
    return [(listing.title, listing.items) for listing in listings]


# --- one report ----------------------------------------------------------------------------------


def _section(
    report: ReportContent, key: str, samples: int, *, folded: bool, bare: bool = False
) -> Section:
    machines = _machine_sections(report, key, samples)
    return Section(
        key=key,
        title=_title(report),
        passed=report.passed,
        blocks=tuple(_blocks(report, key, samples, folded=folded, bare=bare)),
        sections=machines,
        grade=report.grade,
    )


def _machine_sections(report: ReportContent, key: str, samples: int) -> tuple[Section, ...]:
    worst = sorted(report.machines, key=lambda machine: -machine.worst)[:ILLUSTRATED]
    return tuple(
        _section(
            machine,
            f"{key}-{i + 1}",
            max(1, samples // 4),
            folded=True,
            bare=not any(machine is shown for shown in worst),
        )
        for i, machine in enumerate(report.machines)
    )


def _title(report: ReportContent) -> str:
    if report.name:
        return report.name
    if report.data is None:
        return "Quadratic program"
    return f"{report.family}, {report.form} form, {report.kernel} kernel"


def _blocks(
    report: ReportContent, key: str, samples: int, *, folded: bool, bare: bool
) -> Iterator[Block]:
    if report.remarks:
        yield Sentences("remarks", "Remarks", report.remarks)
    if report.facts is not None:
        items = tuple((name, value(entry)) for name, entry in report.facts.values.items())
        yield Listing(report.facts.title, items)
    yield Sentences("meaning", "What the gap implies", implications(report))
    yield Figures(tuple(_figures(report)))
    if report.machines:
        yield machines_table(report, key)
    if report.pictures and not bare:
        yield Gallery(report.pictures)
    if report.checks:
        yield checks_table(report, key)
    if report.constraints:
        yield constraints_table(report, key, samples)
    if report.verified.notes:
        yield Sentences("notes", "Notes of the verifier", report.verified.notes)
    yield Listings(tuple(listings(report)), detail=True)
    settings = report.statistics.settings
    if settings:
        items = tuple((name, value(setting)) for name, setting in settings.items())
        title = f"Settings of {report.statistics.backend or 'the solver'}"
        yield Listings((Listing(title, items),), title=title, detail=True)
    if report.program is not None and not report.name:
        yield Formula(exchange.latex(report.program))
    if report.table is not None:
        yield samples_table(report, len(report.table), key, samples, folded=folded)


def _figures(report: ReportContent) -> Iterator[Figure]:
    yield Figure("relative-gap", "Certified relative gap", residual(report.relative_gap))
    if report.objective is not None:
        yield Figure("objective", "Objective", figure(report.objective, 9))
    summary = report.summary
    if summary is not None:
        yield Figure("support", report.kind.support_name, value(summary.n_support))
        if summary.margin_width is not None:
            yield Figure("margin-width", "Margin width", figure(summary.margin_width, 5))
    if report.n_machines:
        yield Figure("machines", "Machines", value(report.n_machines))
    if report.score is not None:
        name = report.kind.score_name
        shown = figure(report.score, 5) if "R squared" in name else percentage(report.score)
        yield Figure("score", name[:1].upper() + name[1:], shown)
