"""The commands of ``python -m benchmarks``: run a suite, report on its rows, compare two runs.

Exit codes are those of ``qpsvm``: 0 done, 1 rankings that disagree, 2 bad usage or input, 130
interrupted. Results go to stdout, everything about the run to stderr.
"""

from __future__ import annotations

import json
import shlex
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from benchmarks.cells import Call, short_name
from benchmarks.suite import Suite, load_suite, suite_files
from qpsvm.exceptions import QPSVMError, SuiteError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from benchmarks.runner import RunProgress

RANKINGS_DISAGREE, BAD_INPUT, INTERRUPTED = 1, 2, 130


class _Guarded(TyperGroup):
    """Command group that turns every user error into one line and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        try:
            # what solvers warn about on their way is the judge's business
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return super().invoke(ctx)
        except QPSVMError as error:
            complain(str(error))
            raise typer.Exit(BAD_INPUT) from error
        except KeyboardInterrupt as error:
            complain("Interrupted; nothing half-written was left.")
            raise typer.Exit(INTERRUPTED) from error


app = typer.Typer(
    name="python -m benchmarks",
    cls=_Guarded,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Benchmark: any solver on SVM programs, at equal certified accuracy.",
)


@app.command()
def run(
    suite: Annotated[
        str, typer.Argument(help="Name of a suite (python -m benchmarks list), or a .toml.")
    ],
    store: Annotated[Path, typer.Option(help="File to store the rows in.")],
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Measure the cells that the store lacks."),
    ] = False,
    retry: Annotated[
        list[str] | None,
        typer.Option(help="With --resume: measure cells of this outcome again. May be repeated."),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Cells measured at once.")] = 1,
    contestant: Annotated[
        list[str] | None,
        typer.Option(help="Another contestant: a name, or a file my_solver.py. May be repeated."),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            help="Data to use in place of the suite's: a name, or a file (CSV, LIBSVM, NPZ, "
            "Parquet). May be repeated."
        ),
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="With --data: the label column of a CSV or Parquet file.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Only cells with this text in program or contestant. May be repeated."),
    ] = None,
) -> None:
    """Measure every cell of a suite, each in its own process, and store a row for each.

    Exit code 0 when the suite is finished, whatever its rows say: a crash, a hang or a wrong claim
    of a solver is a row. After an interruption, the same command with --resume goes on.
    """
    from benchmarks import runner
    from benchmarks.rows import OUTCOMES

    for outcome in retry or ():
        if outcome not in OUTCOMES:
            raise SuiteError(f"There is no outcome {outcome!r}; there are {', '.join(OUTCOMES)}.")
    if label is not None and not data:
        raise typer.BadParameter("--label belongs to --data.")
    chosen = load_suite(suite).with_contestants(contestant or ())
    chosen = chosen.with_data(_data(data or [], label)).only(only or ())
    repeated = {"contestant": contestant, "data": data, "only": only}
    began = time.perf_counter()
    try:
        with _progress(chosen.name) as callback:
            results = runner.run(
                chosen,
                store,
                jobs=jobs,
                resume=resume,
                retry=retry or (),
                callback=callback,
                command=_command(suite, store, jobs, label, repeated),
            )
    except KeyboardInterrupt as error:
        complain(
            "Interrupted; every row that was measured is stored. The same command with --resume "
            "goes on."
        )
        raise typer.Exit(INTERRUPTED) from error
    counts: dict[str, Counter[str]] = {}
    for row in results.rows:
        counts.setdefault(row.contestant, Counter())[row.outcome] += 1
    outcomes = table("contestant", "outcomes")
    for who, counter in counts.items():
        found = ", ".join(f"{n} {word}" for word, n in counter.most_common())
        outcomes.add_row(short_name(who), found)
    console().print(outcomes)
    note(f"{len(results.rows)} rows in {store}, {_duration(time.perf_counter() - began)}.")
    note(f"Next: python -m benchmarks report {shlex.quote(str(store))}")


def _data(names: list[str], label: str | None) -> list[str]:
    """Names of data as suites write them: of a file a call with its path."""
    from benchmarks.sets import is_file_name

    column = {} if label is None else {"label": label}
    return [
        str(Call("file", {"path": name, **column})) if is_file_name(name) else name
        for name in names
    ]


def _command(
    suite: str, store: Path, jobs: int, label: str | None, repeated: dict[str, list[str] | None]
) -> str:
    """The command line that repeats a run."""
    words = ["python", "-m", "benchmarks", "run", suite, "--store", str(store)]
    if jobs != 1:
        words += ["--jobs", str(jobs)]
    for name, texts in repeated.items():
        words += [word for text in texts or [] for word in (f"--{name}", text)]
    if label is not None:
        words += ["--label", label]
    return shlex.join(words)


@contextmanager
def _progress(name: str) -> Iterator[Callable[[RunProgress], None] | None]:
    """Build a run's callback: a progress bar with the remaining time, if stderr is a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    err = console(stderr=True)
    if not err.is_terminal:
        yield None
        return
    drawn = (BarColumn(bar_width=20), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(TextColumn(name), *drawn, console=err, transient=True) as bar:
        task = bar.add_task("", total=None)
        shown = 0.0

        def callback(event: RunProgress) -> None:
            nonlocal shown
            # the estimate looks at every row
            if time.monotonic() - shown < 0.5 and event.remaining:
                return
            shown = time.monotonic()
            left = f"{_duration(event.seconds)}, {_duration(event.seconds_left)} left"
            last = f"{short_name(event.row.contestant)}: {event.row.outcome}"
            done = len(event.done)
            total = done + len(event.remaining)
            bar.update(task, completed=done, total=total, description=f"{left} {last}")

        yield callback


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes = whole // 60
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


@app.command()
def report(
    store: Annotated[Path, typer.Argument(help="A file that python -m benchmarks run wrote.")],
    output: Annotated[
        list[Path] | None,
        typer.Option(help="Also write a full report (.html or .md). May be repeated."),
    ] = None,
) -> None:
    """Report on stored benchmark results: refuted claims, outcomes, times to equal certified gaps.

    Prints a summary. The HTML page has all rows, filters and plots in one file, and needs no
    network.
    """
    from benchmarks import report as reports
    from benchmarks.store import read_results

    paths = output or []
    for path in paths:
        reports.require_reportable(path)
    summary = reports.summarize(read_results(store))
    reports.print_summary(summary, console())
    for path in paths:
        reports.write(path, summary)
        note(f"Report written to {path}")


@app.command()
def compare(
    a: Annotated[Path, typer.Argument(help="The store before.")],
    b: Annotated[Path, typer.Argument(help="The store after, or of a second run.")],
    target: Annotated[
        list[float] | None,
        typer.Option(
            help="Certified relative gap that times are taken to. May be repeated. "
            "[default: those of the first store]"
        ),
    ] = None,
) -> None:
    """Compare two benchmark runs: changed times and outcomes, and agreement of the rankings.

    Exit code 1 if rankings differ by more than the uncertainty that both runs state.
    """
    from benchmarks import compare as comparing
    from benchmarks import report as reports
    from benchmarks.store import read_results

    before, after = read_results(a), read_results(b)
    found = [
        comparing.compare(before, after, each) for each in target or reports.targets_of(before)
    ]
    agree = reports.print_comparison(found, (str(a), str(b)), console())
    raise typer.Exit(RANKINGS_DISAGREE if agree is False else 0)


@app.command("list")
def list_suites(
    suite: Annotated[
        str | None, typer.Argument(help="Say what is in this one: a name, or a .toml.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the suites, or the programs and contestants of one."""
    suites = [load_suite(name) for name in ([suite] if suite else suite_files())]
    if as_json:
        contents = [_contents(each, in_full=suite is not None) for each in suites]
        typer.echo(json.dumps(contents, indent=2, ensure_ascii=False))
    elif suite is not None:
        (chosen,) = suites
        console().print(f"{chosen.name}: {chosen.description}", soft_wrap=True)
        cells = table("program", "contestant", "eps")
        for sweep in chosen.sweeps():
            eps = ", ".join(f"{cell.eps:g}" for cell in sweep)
            cells.add_row(str(sweep[0].instance), sweep[0].contestant, eps)
        console().print(cells)
    else:
        numbers = ("cells", "programs", "contestants")
        rows = table("suite", *numbers, "", right=numbers)
        for each in suites:
            sizes = (len(each.cells), len(each.instances()), len(each.contestants()))
            rows.add_row(each.name, *map(str, sizes), each.description)
        console().print(rows)


def _contents(suite: Suite, *, in_full: bool) -> dict[str, object]:
    contents: dict[str, object] = {
        "name": suite.name,
        "description": suite.description,
        "cells": len(suite.cells),
        "targets": list(suite.targets),
        "repeats": suite.repeats,
    }
    if in_full:
        contents["programs"] = [str(instance) for instance in suite.instances()]
        contents["contestants"] = list(suite.contestants())
    return contents


# --- printing -------------------------------------------------------------------------------------


def console(*, stderr: bool = False) -> Console:
    """A console for stdout or stderr, created anew because tests and pipes replace these."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else 160  # of a file, which has none of its own
    return Console(file=stream, markup=False, highlight=False, emoji=False, width=width)


def table(*columns: str, right: Sequence[str] = ()) -> Table:
    """Build a table that never truncates a number."""
    from rich import box
    from rich.table import Table

    # eighty columns must do
    result = Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    for name in columns:
        result.add_column(name, justify="right" if name in right else "left", no_wrap=True)
    return result


def complain(message: str) -> None:
    """Print one red line on stderr."""
    typer.secho(f"Error: {' '.join(message.split())}", fg=typer.colors.RED, err=True)


def note(message: str) -> None:
    """Print one plain line on stderr."""
    typer.echo(message, err=True)


def main() -> None:
    """Run the command line; a polite kill unwinds like Ctrl-C, so that processes are ended."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    app()
