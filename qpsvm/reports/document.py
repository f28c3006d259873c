"""Conversion of a page to a document of blocks, in reading order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from qpsvm.plotting import Convergence
from qpsvm.qp import exchange
from qpsvm.qp.kkt_residuals import Check
from qpsvm.reports import blocks
from qpsvm.reports.blocks import numbers, words
from qpsvm.reports.comparison import comparison_section
from qpsvm.reports.content import Page, ReportContent
from qpsvm.reports.grade import Grade
from qpsvm.reports.implications import implications
from qpsvm.reports.kinds import Row, class_sizes
from qpsvm.reports.numbers import count, figure, percentage, residual, value

CASES = (
    "The case of a row is that of its alpha. At an optimum, zero means that the sample could be "
    "left out, free that it lies on the margin or on the edge of the tube, and bound that it lies "
    "there or beyond."
)


def document(page: Page, *, samples: int, illustrated: int = 8) -> blocks.Document:
    """Convert a page to a document of blocks.

    Parameters
    ----------
    page : Page
        One report, or several on one page.
    samples : int
        Rows of each sample table.
    illustrated : int
        Machines of a report that are shown with pictures, the worst of them: each takes 200 kB.
    """
    several = len(page.reports) > 1
    sections = [
        _section(report, f"report-{i + 1}", samples, illustrated, folded=several)
        for i, report in enumerate(page.reports)
    ]
    if page.comparison is not None:
        sections.insert(0, comparison_section(page.comparison, page.left_out))
    has_samples = any(r.table is not None for p in page.reports for r in (p, *p.machines))
    return blocks.Document(
        title=page.title,
        subtitle=page.subtitle,
        passed=page.passed,
        verdict=page.verdict,
        grade=page.headline.grade if page.headline is not None else None,
        sections=tuple(sections),
        footer=(CASES,) if has_samples else (),
    )


# --- one report ----------------------------------------------------------------------------------


def _section(
    report: ReportContent,
    key: str,
    samples: int,
    illustrated: int,
    *,
    folded: bool,
    bare: bool = False,
) -> blocks.Section:
    title = report.kind.title
    if report.data is not None:
        title = f"{report.family}, {report.form} form, {report.kernel} kernel"
    worst = sorted(report.machines, key=lambda machine: -machine.worst)[:illustrated]
    few = max(1, samples // 4)
    return blocks.Section(
        key=key,
        title=report.name or title,
        passed=report.passed,
        blocks=tuple(_blocks(report, key, samples, folded=folded, bare=bare)),
        sections=tuple(
            _section(
                machine, f"{key}-{i + 1}", few, illustrated, folded=True, bare=machine not in worst
            )
            for i, machine in enumerate(report.machines)
        ),
        grade=report.grade,
    )


def _blocks(
    report: ReportContent, key: str, samples: int, *, folded: bool, bare: bool
) -> Iterator[blocks.Block]:
    if report.remarks:
        yield blocks.Sentences("remarks", "Remarks", report.remarks)
    if report.facts is not None:
        yield _values(report.facts.title, report.facts.values)
    yield blocks.Sentences("meaning", "What the gap implies", implications(report))
    yield blocks.Figures(tuple(_figures(report)))
    if report.machines:
        yield machines_table(report, key)
    if report.pictures and not bare:
        yield blocks.Gallery(report.pictures)
    if report.checks:
        yield checks_table(report, key)
    if report.constraints:
        yield constraints_table(report, key, samples)
    if report.verified.notes:
        yield blocks.Sentences("notes", "Notes of the verifier", report.verified.notes)
    yield blocks.Listings(_listings(report), detail=True)
    settings = report.statistics.settings
    if settings:
        title = f"Settings of {report.statistics.backend or 'the solver'}"
        yield blocks.Listings((_values(title, settings),), title=title, detail=True)
    if report.program is not None and not report.name:
        yield blocks.Formula(exchange.latex(report.program))
    if report.table is not None:
        yield samples_table(report, key, samples, folded=folded)


def _values(title: str, values: Mapping[str, object]) -> blocks.Listing:
    return blocks.Listing(title, tuple((name, value(entry)) for name, entry in values.items()))


def _figures(report: ReportContent) -> Iterator[blocks.Figure]:
    yield blocks.Figure("relative-gap", "Certified relative gap", residual(report.relative_gap))
    if report.objective is not None:
        yield blocks.Figure("objective", "Objective", figure(report.objective, 9))
    summary = report.summary
    if summary is not None:
        yield blocks.Figure("support", report.kind.support_name, value(summary.n_support))
        if summary.margin_width is not None:
            yield blocks.Figure("margin-width", "Margin width", figure(summary.margin_width, 5))
    if report.n_machines:
        yield blocks.Figure("machines", "Machines", value(report.n_machines))
    if report.score is not None:
        name = report.kind.score_name
        shown = figure(report.score, 5) if "R squared" in name else percentage(report.score)
        yield blocks.Figure("score", name[:1].upper() + name[1:], shown)


# --- names and values about problem, data, solver and solution -----------------------------------


def _listings(report: ReportContent) -> tuple[blocks.Listing, ...]:
    """Build the listings problem, data, solver and solution, without those that are empty."""
    titled = {"Problem": _problem, "Data": _data, "Solver": _solver, "Solution": _solution}
    listings = (blocks.Listing(title, tuple(items(report))) for title, items in titled.items())
    return tuple(listing for listing in listings if listing.items)


def _problem(report: ReportContent) -> Iterator[tuple[str, str]]:
    yield "Formulation", report.family
    if report.form is not None:
        yield "Form and kernel", f"{report.form}, {report.kernel}"
    program = report.program
    if program is not None:
        rows = f"{program.n_inequalities:,} inequality and {program.n_equalities:,} equality rows"
        size = f"{count(program.n_variables, 'variable')}, {rows}"
        yield "Program", f"{size}, Hessian {type(program.P).__name__}"
    repair = getattr(report.problem, "kernel_repair", None)
    if repair is not None:
        smallest, change = figure(repair.smallest_eigenvalue), figure(repair.relative_change, 3)
        said = f"smallest eigenvalue {smallest}, matrix changed by {change} of its norm"
        yield "Indefinite kernel", f"{repair.policy}: {said}"
    if report.data is None:
        yield "SHA-256, first digits", report.digest
    yield "Accuracy asked for", f"eps = {report.eps:g}"


def _data(report: ReportContent) -> Iterator[tuple[str, str]]:
    data = report.data
    if data is None:
        return
    yield "Source", report.source or "given as arrays"
    yield "Size", f"{data.n_samples:,} samples x {data.n_features:,} features, {data.storage}"
    if data.n_given > data.n_samples:
        yield "Left out", f"{count(data.n_given - data.n_samples, 'row')} of weight zero"
    classes = class_sizes(report.data)
    if classes:
        yield "Classes", ", ".join(f"{label!r} ({size:,})" for label, size in classes)
    yield "SHA-256", report.digest


def _solver(report: ReportContent) -> Iterator[tuple[str, str]]:
    statistics, own = report.statistics, report.qp_solution
    yield "Backend", f"{statistics.backend or 'not stated'} {statistics.version}".strip()
    said = "" if own is None else f" (the solver said: {own.native_status or 'nothing'})"
    yield "Status", f"{report.status}{said}"
    if statistics.iterations is not None:
        yield "Iterations", value(statistics.iterations)
    more = ", polished" * statistics.polished + ", asked twice" * statistics.escalated
    yield "Time", f"{statistics.total_seconds:.3f} s{more}"
    drawn = Convergence.name in (picture.name for picture in report.pictures)
    if report.trace and not drawn and report.trace[-1].residual is not None:
        last = residual(report.trace[-1].residual)
        told = f"the solver reported no residuals; the verifier measured {last} at the end"
        yield "Convergence", told
    if statistics.note:
        yield "Note", statistics.note
    yield "Versions", ", ".join(f"{name} {v}" for name, v in report.versions.items())


def _solution(report: ReportContent) -> Iterator[tuple[str, str]]:
    summary = report.summary
    if summary is None:
        return
    if summary.margin_width is not None:
        yield "Width of the margin", f"{figure(summary.margin_width)} (2 / |w| for margins at 1)"
    width = getattr(report.solution, "width", 0.0)
    if width:
        yield "Width chosen by the program", figure(width)
    cases = f"{summary.n_free:,} free, {summary.n_bound:,} at a bound"
    yield report.kind.support_name, f"{summary.n_support:,} by this solution's alpha: {cases}"
    if summary.training_errors is not None:
        yield "Training errors", f"{summary.training_errors:,} of {report.data.n_samples:,}"
    if summary.leave_one_out_bound is not None:
        bound = figure(summary.leave_one_out_bound, 4)
        of_what = "expected of an exact optimum with so many support vectors (Vapnik)"
        yield "Leave-one-out error", f"at most {bound} {of_what}"


# --- tables ---------------------------------------------------------------------------------------

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

PASSED, FAILED = blocks.Cell("PASS", 0.0, "PASS"), blocks.Cell("FAIL", 1.0, "FAIL")
GRADES = {grade: blocks.Cell(grade.title, float(i), grade.title) for i, grade in enumerate(Grade)}
"""Cells of verdicts, the best sorted first."""


def checks_table(report: ReportContent, key: str) -> blocks.Table[Check]:
    """Table of the checks with their tolerances."""
    columns: tuple[blocks.TableColumn[Check], ...] = (
        words("Check", lambda check: check.name.replace("_", " ")),
        blocks.TableColumn("Verdict", lambda check: PASSED if check.passed else FAILED),
        numbers("Scaled", lambda check: check.scaled, residual),
        numbers("Allowed", lambda check: check.tolerance, residual),
        numbers("Absolute", lambda check: check.absolute, residual),
        words("What it measures", lambda check: EXPLANATIONS.get(check.name, "")),
    )
    return blocks.Table(
        [report.checks],
        columns,
        key=f"{key}-checks",
        title="Checks",
        caption=f"Residuals against their tolerance, eps = {report.eps:g}",
        detail=all(check.passed for check in report.checks),
    )


def machines_table(report: ReportContent, key: str) -> blocks.Table[ReportContent]:
    """Table of the machines of a reduction."""
    columns: tuple[blocks.TableColumn[ReportContent], ...] = (
        words("Machine", lambda machine: machine.name),
        blocks.TableColumn("Verdict", lambda machine: GRADES[machine.grade]),
        numbers("Objective", lambda machine: machine.objective, partial(figure, digits=9)),
        numbers("Certified gap", lambda machine: machine.relative_gap, residual),
        numbers("Worst check", lambda machine: machine.worst, residual),
        numbers("Samples", lambda machine: machine.data.n_samples),
        numbers("Support vectors", lambda m: m.summary.n_support if m.summary else None),
    )
    return blocks.Table(
        [report.machines],
        columns,
        key=f"{key}-machines",
        title="Machines",
        caption=f"All {len(report.machines)} machines, eps = {report.eps:g}",
    )


def constraints_table(
    report: ReportContent, key: str, limit: int
) -> blocks.Table[tuple[str, str, float]]:
    """Table of the caller's constraints, the largest multiplier first."""
    ordered = sorted(report.constraints, key=lambda row: -abs(row[2]))[:limit]
    return blocks.Table(
        [ordered],
        [
            words("Constraint", lambda row: row[0]),
            words("Kind", lambda row: row[1]),
            numbers("Multiplier", lambda row: row[2], figure),
        ],
        key=f"{key}-constraints",
        title="Constraints on (w, b)",
        caption=f"{len(ordered):,} of {len(report.constraints):,}, with the multipliers that the "
        "solution states; at an optimum a constraint that plays no part has zero",
    )


def samples_table(
    report: ReportContent, key: str, limit: int, *, folded: bool
) -> blocks.Table[Row]:
    """Table of the samples with the largest violations."""
    rows, n = report.samples(limit), 0 if report.table is None else len(report.table)
    caption = f"All {n:,} rows, largest violation first"
    if len(rows) < n:
        caption = f"The {len(rows):,} rows with the largest violations of {n:,}"
    return blocks.Table(
        [rows],
        report.kind.columns,
        key=f"{key}-samples",
        title=f"KKT conditions, {report.kind.noun} by {report.kind.noun}",
        caption=caption,
        long=folded,
        detail=True,
    )
