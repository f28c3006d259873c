"""``qpsvm demo``: solve four programs on one data set with every backend."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from qpsvm.cli.demo_tasks import FEW_SAMPLES, Task, choose_backends, problems_on, with_fewer_samples
from qpsvm.cli.printing import console, note, number, table, verdict

if TYPE_CHECKING:
    from rich.table import Table

    from qpsvm import KKTReport
    from qpsvm.backends import Progress
    from qpsvm.machines import SVMProblem, SVMSolution
    from qpsvm.reports import Comparison, ComparisonRow, Report
    from qpsvm.reports.comparison import Verdict

_Answer: TypeAlias = "tuple[SVMSolution, KKTReport, list[Progress]]"
"""A solution, its verification, and what the solver said on its way."""

_Merit: TypeAlias = tuple[bool, bool, bool, float]

QUICK_SAMPLES = 120
REPORT = Path("qpsvm-demo.html")


def demo(
    eps: Annotated[float, typer.Option(help="Relative accuracy to certify.")] = 1e-6,
    report: Annotated[
        Path, typer.Option(help="The report: .html, .json, .md, .tex or .txt.")
    ] = REPORT,
    samples: Annotated[
        int | None, typer.Option(min=20, help="Use only the first N samples. [default: all 569]")
    ] = None,
    backend: Annotated[
        list[str] | None, typer.Option(help="Only this backend; may be repeated.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help=f"The first {QUICK_SAMPLES} samples only.")
    ] = False,
    seconds: Annotated[float, typer.Option(help="Time limit of each solve.")] = 5.0,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Say why backends were skipped or not run.")
    ] = False,
) -> None:
    """Solve four support vector machines with every installed backend and compare the answers.

    Wisconsin breast cancer data (bundled with scikit-learn), standardised; soft margin with C = 1,
    linear and RBF kernel, primal and dual.
    """
    from qpsvm import backends, reports

    began = time.perf_counter()
    can_report = _can_report(report)
    names, left_out = ((*backend,), ()) if backend else choose_backends()
    for name in names:
        if name != "auto":
            backends.get(name)  # or an error, before the first solve
    count = samples or (QUICK_SAMPLES if quick else None)
    source, problems = problems_on(count)
    tasks = [Task(kernel, form, problem, names) for kernel, form, problem in problems]
    if count is None and not backend:
        tasks = with_fewer_samples(tasks, problems_on(FEW_SAMPLES)[1])
        source += f"; kernel/{FEW_SAMPLES}: only the first {FEW_SAMPLES}, for slow solvers"
    rows, details = _run(tasks, source, eps=eps, seconds=seconds)
    comparison = reports.Comparison(tuple(rows), eps)
    elapsed = time.perf_counter() - began
    _print(source, comparison, left_out, elapsed, verbose=verbose)
    if can_report:
        title = "The same SVM, every solver, verified"
        page = reports.Page(title, source, tuple(details), comparison, left_out)
        reports.write(report, page)
        note(f"Report written to {report}")
    raise typer.Exit(0 if comparison.passed else 1)


def _can_report(path: Path) -> bool:
    """Return whether the report can be written; print a note if packages are missing."""
    from qpsvm import reports
    from qpsvm.exceptions import MissingPackageError

    try:
        reports.require_reportable(path)
    except MissingPackageError as error:
        note(f"No report: {error}")
        return False
    return True


def _run(
    tasks: list[Task],
    source: str,
    *,
    eps: float,
    seconds: float,
) -> tuple[list[ComparisonRow], list[Report]]:
    """Solve every task with its backends; report in detail on one answer of each."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    from qpsvm import reports
    from qpsvm.backends import choose
    from qpsvm.plotting.picture import count

    rows, details = [], []
    err = console(stderr=True)
    columns = (
        SpinnerColumn(),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        progress = bar.add_task("starting", total=sum(len(task.names) for task in tasks))
        for task in tasks:
            shown: tuple[_Merit, _Answer] | None = None
            usual, _ = choose(task.problem.qp)
            kernel, form, problem = task.kernel, task.form, task.problem
            if not err.is_terminal:
                note(f"{kernel} kernel, {form}: {count(len(task.names), 'solver')}")
            for name in task.names:
                bar.update(progress, description=f"{name}: {kernel} kernel, {form}")
                row, answer = _solve_row(problem, name, kernel, form, eps=eps, seconds=seconds)
                rows.append(row)
                bar.advance(progress)
                if answer is not None:
                    merit = _merit(answer[1], is_usual=name == usual)
                    if shown is None or merit < shown[0]:
                        shown = merit, answer
            if shown is not None and task.in_detail:
                solution, verified, trace = shown[1]
                details.append(
                    reports.build(problem, solution, verified, trace=trace, source=source)
                )
    return rows, details


def _merit(report: KKTReport, *, is_usual: bool) -> _Merit:
    """Key that sorts answers by how well they show a solve, the best first.

    Verified answers come first, then that of the backend which ``"auto"`` would choose, then
    those that a solver reached itself, without the polish that follows one at its iteration limit.
    """
    return (not report.passed, not is_usual, report.statistics.polished, report.worst)


def _solve_row(
    problem: SVMProblem, name: str, kernel: str, form: str, *, eps: float, seconds: float
) -> tuple[ComparisonRow, _Answer | None]:
    """Solve with one backend and return its table row, also after an error.

    Linear algebra has one thread: with several, a program of this size takes a hundred times as
    long on a machine whose cores are busy, and the seconds of two solvers cannot be compared.
    """
    from threadpoolctl import threadpool_limits

    import qpsvm
    from qpsvm import exceptions, reports
    from qpsvm.qp import Status

    def row_without_answer(word: Verdict, reason: str) -> ComparisonRow:
        elapsed = time.perf_counter() - began
        return reports.ComparisonRow(name, kernel, form, elapsed, word, reason)

    trace: list[Progress] = []
    began = time.perf_counter()
    try:
        with warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):
            warnings.simplefilter("ignore")
            solution = qpsvm.solve(
                problem, name, eps=eps, time_limit=seconds, callback=trace.append
            )
    except (
        exceptions.UnsupportedProgramError,
        exceptions.MemoryLimitError,
        exceptions.BackendNotInstalledError,
    ) as error:
        return row_without_answer("skipped", str(error)), None
    except Exception as error:  # noqa: BLE001 - one broken backend must not take the others along
        return row_without_answer("FAIL", f"{type(error).__name__}: {error}"), None
    elapsed = time.perf_counter() - began
    report = qpsvm.verify(problem, solution, eps=eps)
    if not report.passed and solution.status is Status.TIME_LIMIT:
        return row_without_answer("skipped", f"no answer within {seconds:g} s (--seconds)"), None
    row = reports.ComparisonRow.of(name, kernel, form, elapsed, solution, report)
    return row, (solution, report, trace)


def _print(
    source: str,
    comparison: Comparison,
    left_out: tuple[str, ...],
    elapsed: float,
    *,
    verbose: bool,
) -> None:
    """Print the verdict, then a row for every backend and program, then what is missing and why."""
    from qpsvm.reports.comparison import AGREEMENT

    out = console()
    counts = ", ".join(
        f"{comparison.count(word)} {word}"
        for word in ("PASS", "FAIL", "skipped")
        if comparison.count(word)
    )
    out.print(verdict("PASS" if comparison.passed else "FAIL"), end="")
    out.print(f" at eps={comparison.eps:g}: {counts}; {elapsed:.0f} s", soft_wrap=True)
    for kernel in comparison.kernels:
        spread = comparison.spread(kernel)
        word = "agree" if spread <= AGREEMENT else "DISAGREE"
        out.print(
            f"{kernel} kernel: all objectives {word} (relative spread {spread:.1e}, allowed "
            f"{AGREEMENT:g})",
            soft_wrap=True,
        )
    out.print(source, soft_wrap=True)
    out.print()
    out.print(_table(comparison))
    out.print(
        "gap: certified relative duality gap; KKT: worst scaled residual of the program; SVs: "
        "support vectors; s: seconds of wall clock, one thread",
        soft_wrap=True,
    )
    for outcome, name, programs, reason in comparison.reasons():
        if verbose or outcome == "FAIL" or not comparison.passed:
            out.print(f"{outcome}: {name}, {', '.join(programs)}: {reason}", soft_wrap=True)
    if left_out and verbose:
        out.print(f"Not run: {', '.join(left_out)}", soft_wrap=True)
    elif comparison.passed and comparison.count("skipped") and not verbose:
        out.print("Why a backend was skipped or not run: --verbose, or the report.")


def _table(comparison: Comparison) -> Table:
    """Rows under a heading for each program; eighty columns are enough."""
    rows = table(
        ("backend", "left"), ("objective", "right"), ("gap", "right"), ("KKT", "right"),
        ("SVs", "right"), ("s", "right"), ("", "left"),
    )  # fmt: skip
    previous = None
    for row in comparison.rows:
        if previous != (row.kernel, row.form):
            if previous is not None:
                rows.add_section()
            rows.add_row(f"{row.kernel} kernel, {row.form}", style="bold")
        previous = (row.kernel, row.form)
        rows.add_row(
            row.backend,
            number(row.objective, ".9g"),
            number(row.relative_gap, ".1e"),
            number(row.residual, ".1e"),
            "-" if row.n_support is None else str(row.n_support),
            f"{row.seconds:.2f}",
            verdict(row.verdict),
        )
    return rows
