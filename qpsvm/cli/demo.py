"""``qpsvm demo``: solve four programs on one data set with every backend.

Backends that take about a second of processor time or more on all samples get fewer of them: with
them the demo would take twice as long.
"""

from __future__ import annotations

import itertools
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

import qpsvm
from qpsvm.cli import options, printing

if TYPE_CHECKING:
    from rich.table import Table

    from qpsvm.reports import Comparison, ComparisonRow, Report
    from qpsvm.reports.comparison import Verdict

_Answer: TypeAlias = tuple[qpsvm.SVMSolution, qpsvm.KKTReport, list[qpsvm.backends.Progress]]
"""A solution, its verification, and what the solver said on its way."""

_Merit: TypeAlias = tuple[bool, bool, bool, float]

QUICK_SAMPLES = 120

PROGRAMS = (("linear", "dual"), ("linear", "primal"), ("rbf", "dual"), ("rbf", "primal"))
FEW_SAMPLES = 100
"""Samples for a solver that is slow on all: its time grows with the cube of their number."""

_SLOW_ON = {
    ("linear", "dual"): "slsqp classical:slsqp",
    ("linear", "primal"): "slsqp cvxpy:HIGHS qpsolvers:highs",
    ("rbf", "dual"): "slsqp classical:slsqp classical:dual-ascent classical:frank-wolfe",
    ("rbf", "primal"): "slsqp cvxopt cvxpy cvxpy:CLARABEL cvxpy:HIGHS qpsolvers:clarabel "
    "qpsolvers:cvxopt qpsolvers:highs qpsolvers:piqp qpsolvers:qpalm",
}
SLOW = frozenset((name, *program) for program, names in _SLOW_ON.items() for name in names.split())
"""Backends that get fewer samples of a program, with kernel and form."""

PARTNER = "auto"
"""Backend that also solves every program of fewer samples, so that each answer has a comparison."""


def demo(
    eps: options.Eps = 1e-6,
    report: Annotated[
        Path, typer.Option(help="The report: .html, .json, .md, .tex or .txt.")
    ] = Path("qpsvm-demo.html"),
    samples: Annotated[
        int | None, typer.Option(min=20, help="Use only the first N samples (default: all 569).")
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
    began = time.perf_counter()
    can_report = True
    try:
        qpsvm.reports.require_reportable(report)
    except qpsvm.exceptions.MissingPackageError as error:
        printing.note(f"No report: {error}")
        can_report = False
    names, left_out = ((*backend,), ()) if backend else choose_backends()
    for name in names:
        if name != "auto":
            qpsvm.backends.get(name)  # or an error, before the first solve
    count = samples or (QUICK_SAMPLES if quick else None)
    source, problems = problems_on(count)
    tasks = [Task(kernel, form, problem, names) for kernel, form, problem in problems]
    if count is None and not backend:
        tasks = with_fewer_samples(tasks, problems_on(FEW_SAMPLES)[1])
        source += f"; kernel/{FEW_SAMPLES}: only the first {FEW_SAMPLES}, for slow solvers"
    rows, details = _run(tasks, source, eps=eps, seconds=seconds)
    comparison = qpsvm.reports.Comparison(tuple(rows), eps)
    _print(source, comparison, left_out, time.perf_counter() - began, verbose=verbose)
    if can_report:
        title = "The same SVM, every solver, verified"
        page = qpsvm.reports.Page(title, source, tuple(details), comparison, left_out)
        printing.write_report(report, page)
    raise typer.Exit(0 if comparison.passed else 1)


# --- which backend solves what --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Task:
    """One program with the backends that solve it; ``in_detail``: report on the best answer."""

    kernel: str
    form: str
    problem: qpsvm.SVMProblem
    names: tuple[str, ...]
    in_detail: bool = True


def with_fewer_samples(
    tasks: list[Task], smaller: list[tuple[str, str, qpsvm.SVMProblem]]
) -> list[Task]:
    """Move slow solvers from the tasks to further tasks on fewer samples.

    Parameters
    ----------
    tasks : list of Task
    smaller : list of (kernel, form, problem)
        The programs of the tasks, in the same order, on ``FEW_SAMPLES`` samples.
    """
    quick, few = list[Task](), list[Task]()
    for task, (kernel, form, problem) in zip(tasks, smaller, strict=True):
        slow = tuple(name for name in task.names if (name, kernel, form) in SLOW)
        quick.append(replace(task, names=tuple(name for name in task.names if name not in slow)))
        if slow:
            few.append(Task(f"{kernel}/{FEW_SAMPLES}", form, problem, (PARTNER, *slow), False))
    return quick + few


def choose_backends() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Choose the installed backends to compare; list the others with the reason."""
    from qpsvm.backends.solver_table import BEHIND_CVXPY

    installed = [info.name for info in qpsvm.backends.available() if info.installed]
    chosen, left_out = [], []
    for name in installed:
        bridge, _, solver = name.partition(":")
        same = [n for n in (solver.lower(), f"qpsolvers:{solver.lower()}") if n in installed]
        if bridge != "cvxpy" or not solver or solver == "CLARABEL":
            chosen.append(name)
        elif solver in BEHIND_CVXPY and not BEHIND_CVXPY[solver].quadratic:
            left_out.append(f"{name} (linear programs only)")
        elif same:
            left_out.append(f"{name} (same solver as {same[0]})")
        else:
            chosen.append(name)
    return tuple(chosen), tuple(left_out)


def problems_on(count: int | None) -> tuple[str, list[tuple[str, str, qpsvm.SVMProblem]]]:
    """Return a description of the data, and (kernel, form, problem) on the first count samples."""
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer()
    X, y = bunch.data[:count], bunch.target_names[bunch.target[:count]]
    X = qpsvm.models.Scaling.fit(X)(X)
    source = (
        f"Wisconsin breast cancer (bundled with scikit-learn), {X.shape[0]} samples x "
        f"{X.shape[1]} features, standardised; soft margin, C = 1"
    )
    svm = qpsvm.SoftMargin(C=1.0)
    return source, [
        (kernel, form, getattr(svm, form)(X, y, kernel=kernel)) for kernel, form in PROGRAMS
    ]


# --- solving --------------------------------------------------------------------------------------


def _run(
    tasks: list[Task], source: str, *, eps: float, seconds: float
) -> tuple[list[ComparisonRow], list[Report]]:
    """Solve every task with its backends; report in detail on one answer of each."""
    from rich.progress import Progress

    rows, details, err = [], [], printing.console(stderr=True)
    with Progress(console=err, transient=True, disable=not err.is_terminal) as bar:
        progress = bar.add_task("starting", total=sum(len(task.names) for task in tasks))
        for task in tasks:
            answers: list[tuple[_Merit, _Answer]] = []
            usual, _ = qpsvm.backends.choose(task.problem.qp)
            if not err.is_terminal:
                solvers = qpsvm.reports.numbers.count(len(task.names), "solver")
                printing.note(f"{task.kernel} kernel, {task.form}: {solvers}")
            for name in task.names:
                bar.update(progress, description=f"{name}: {task.kernel} kernel, {task.form}")
                row, answer = _solve_row(task, name, eps=eps, seconds=seconds)
                rows.append(row)
                bar.advance(progress)
                if answer is not None:
                    answers.append((_merit(answer[1], is_usual=name == usual), answer))
            if answers and task.in_detail:
                _, (solution, verified, trace) = min(answers, key=lambda found: found[0])
                problem = task.problem
                details.append(
                    qpsvm.reports.build(problem, solution, verified, trace=trace, source=source)
                )
    return rows, details


def _merit(report: qpsvm.KKTReport, *, is_usual: bool) -> _Merit:
    """Key that sorts answers by how well they show a solve, the best first.

    Verified answers come first, then that of the backend which ``"auto"`` would choose, then
    those that a solver reached itself, without the polish that follows one at its iteration limit.
    """
    return (not report.passed, not is_usual, report.statistics.polished, report.worst)


def _solve_row(
    task: Task, name: str, *, eps: float, seconds: float
) -> tuple[ComparisonRow, _Answer | None]:
    """Solve with one backend and return its table row, also after an error.

    Linear algebra has one thread: with several, a program of this size takes a hundred times as
    long on a machine whose cores are busy, and the seconds of two solvers cannot be compared.
    """
    from threadpoolctl import threadpool_limits

    solution = None
    word: Verdict = "skipped"
    reason = f"no answer within {seconds:g} s (--seconds)"
    trace: list[qpsvm.backends.Progress] = []
    limits: dict[str, Any] = {"eps": eps, "time_limit": seconds}
    began = time.perf_counter()
    try:
        with warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):
            warnings.simplefilter("ignore")
            solution = qpsvm.solve(task.problem, name, callback=trace.append, **limits)
    except (
        qpsvm.exceptions.UnsupportedProgramError,
        qpsvm.exceptions.MemoryLimitError,
        qpsvm.exceptions.BackendNotInstalledError,
    ) as error:
        reason = str(error)
    except Exception as error:  # noqa: BLE001 - one broken backend must not take the others along
        word, reason = "FAIL", f"{type(error).__name__}: {error}"
    program = (name, task.kernel, task.form, time.perf_counter() - began)
    if solution is not None:
        report = qpsvm.verify(task.problem, solution, eps=eps)
        if report.passed or solution.status is not qpsvm.qp.Status.TIME_LIMIT:
            row = qpsvm.reports.ComparisonRow.of(*program, solution, report)
            return row, (solution, report, trace)
    return qpsvm.reports.ComparisonRow(*program, word, reason), None


# --- printing -------------------------------------------------------------------------------------


def _print(
    source: str,
    comparison: Comparison,
    left_out: tuple[str, ...],
    elapsed: float,
    *,
    verbose: bool,
) -> None:
    """Print the verdict, then a row for every backend and program, then what is missing and why."""
    out = printing.console()
    numbers = {word: comparison.count(word) for word in ("PASS", "FAIL", "skipped")}
    counts = ", ".join(f"{number} {word}" for word, number in numbers.items() if number)
    word = printing.verdict("PASS" if comparison.passed else "FAIL")
    out.print(word, f"at eps={comparison.eps:g}: {counts}; {elapsed:.0f} s")
    for kernel in comparison.kernels:
        spread, allowed = comparison.spread(kernel), comparison.agreement
        out.print(
            f"{kernel} kernel: all objectives {'agree' if spread <= allowed else 'DISAGREE'} "
            f"(relative spread {spread:.1e}, allowed {allowed:g})"
        )
    out.print(source)
    out.print()
    out.print(_table(comparison), soft_wrap=False)
    out.print(
        "gap: certified relative duality gap; KKT: worst scaled residual of the program; SVs: "
        "support vectors; s: seconds of wall clock, one thread"
    )
    for outcome, name, programs, reason in comparison.reasons():
        if verbose or outcome == "FAIL" or not comparison.passed:
            out.print(f"{outcome}: {name}, {', '.join(programs)}: {reason}")
    if left_out and verbose:
        out.print(f"Not run: {', '.join(left_out)}")
    elif comparison.passed and numbers["skipped"] and not verbose:
        out.print("Why a backend was skipped or not run: --verbose, or the report.")


def _table(comparison: Comparison) -> Table:
    """Rows under a heading for each program; eighty columns are enough."""
    from qpsvm.reports.numbers import figure, residual

    numbers = ("objective", "gap", "KKT", "SVs", "s")
    rows = printing.table("backend", *numbers, "", numbers=numbers)
    for (kernel, form), same in itertools.groupby(comparison.rows, lambda r: (r.kernel, r.form)):
        rows.add_section()
        rows.add_row(f"{kernel} kernel, {form}", style="bold")
        for row in same:
            rows.add_row(
                row.backend,
                figure(row.objective, 9),
                residual(row.relative_gap),
                residual(row.residual),
                figure(row.n_support),
                f"{row.seconds:.2f}",
                printing.verdict(row.verdict),
            )
    return rows
