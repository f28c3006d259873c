"""Listings of a report: names and values about problem, data, solver and solution."""

from __future__ import annotations

from collections.abc import Iterator

from qpsvm.machines.samples import MarginSummary
from qpsvm.plotting import Convergence
from qpsvm.plotting.picture import count
from qpsvm.reports.blocks import Listing
from qpsvm.reports.content import ReportContent
from qpsvm.reports.kinds import class_sizes
from qpsvm.reports.numbers import figure, residual, value


def listings(report: ReportContent) -> Iterator[Listing]:
    """Yield the listings problem, data, solver and solution, without those that are empty."""
    yield Listing("Problem", tuple(_problem(report)))
    if report.data is not None:
        yield Listing("Data", tuple(_data(report)))
    yield Listing("Solver", tuple(_solver(report)))
    if report.summary is not None:
        yield Listing("Solution", tuple(_solution(report, report.summary)))


def _problem(report: ReportContent) -> Iterator[tuple[str, str]]:
    yield "Formulation", report.family
    if report.form is not None:
        yield "Form and kernel", f"{report.form}, {report.kernel}"
    program = report.program
    if program is not None:
        yield (
            "Program",
            f"{count(program.n_variables, 'variable')}, {program.n_inequalities:,} inequality and "
            f"{program.n_equalities:,} equality rows, Hessian {type(program.P).__name__}",
        )
    repair = getattr(report.problem, "kernel_repair", None)
    if repair is not None:
        yield (
            "Indefinite kernel",
            f"{repair.policy}: smallest eigenvalue {figure(repair.smallest_eigenvalue)}, matrix "
            f"changed by {figure(repair.relative_change, 3)} of its norm",
        )
    if report.data is None:
        yield "SHA-256, first digits", report.digest
    yield "Accuracy asked for", f"eps = {report.eps:g}"


def _data(report: ReportContent) -> Iterator[tuple[str, str]]:
    data = report.data
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
    drawn = any(isinstance(picture, Convergence) for picture in report.pictures)
    if report.trace and not drawn and report.trace[-1].residual is not None:
        last = residual(report.trace[-1].residual)
        yield (
            "Convergence",
            f"the solver reported no residuals; the verifier measured {last} at the end",
        )
    if statistics.note:
        yield "Note", statistics.note
    yield "Versions", ", ".join(f"{name} {v}" for name, v in report.versions.items())


def _solution(report: ReportContent, summary: MarginSummary) -> Iterator[tuple[str, str]]:
    if summary.margin_width is not None:
        yield "Width of the margin", f"{figure(summary.margin_width)} (2 / |w| for margins at 1)"
    width = getattr(report.solution, "width", 0.0)
    if width:
        yield "Width chosen by the program", figure(width)
    yield (
        report.kind.support_name,
        f"{summary.n_support:,} by this solution's alpha: {summary.n_free:,} free, "
        f"{summary.n_bound:,} at a bound",
    )
    if summary.training_errors is not None:
        yield "Training errors", f"{summary.training_errors:,} of {report.data.n_samples:,}"
    if summary.leave_one_out_bound is not None:
        bound = figure(summary.leave_one_out_bound, 4)
        yield (
            "Leave-one-out error",
            f"at most {bound} expected of an exact optimum with so many support vectors (Vapnik)",
        )
