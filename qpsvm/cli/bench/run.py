"""``qpsvm bench run``: measure a suite into a store."""

from __future__ import annotations

import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qpsvm.cli.printing import complain, console, note, table

if TYPE_CHECKING:
    from qpsvm.benchmark.runner import RunProgress
    from qpsvm.benchmark.store import Results

INTERRUPTED = 130


def run(
    suite: Annotated[str, typer.Argument(help="Name of a suite (qpsvm bench list), or a .toml.")],
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
    from qpsvm.benchmark import runner
    from qpsvm.benchmark.rows import OUTCOMES
    from qpsvm.benchmark.suites import load_suite
    from qpsvm.exceptions import SuiteError

    for outcome in retry or ():
        if outcome not in OUTCOMES:
            raise SuiteError(f"There is no outcome {outcome!r}; there are {', '.join(OUTCOMES)}.")
    if label is not None and not data:
        raise typer.BadParameter("--label belongs to --data.")
    chosen = load_suite(suite).with_contestants(contestant or ())
    chosen = chosen.with_data(_data(data or [], label)).only(only or ())
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
                command=_command(
                    suite, store, jobs, contestant=contestant, data=data, label=label, only=only
                ),
            )
    except KeyboardInterrupt as error:
        complain(
            "Interrupted; every row that was measured is stored. The same command with --resume "
            "goes on."
        )
        raise typer.Exit(INTERRUPTED) from error
    _print(results)
    seconds = time.perf_counter() - began
    note(f"{len(results.rows)} rows in {store}, {_duration(seconds)}.")
    note(f"Next: qpsvm bench report {shlex.quote(str(store))}")


def _data(names: list[str], label: str | None) -> list[str]:
    """Names of data as suites write them: of a file a call with its path."""
    from qpsvm.benchmark.calls import Call
    from qpsvm.benchmark.own_files import is_file_name

    column = {} if label is None else {"label": label}
    return [
        str(Call("file", {"path": name, **column})) if is_file_name(name) else name
        for name in names
    ]


def _command(
    suite: str,
    store: Path,
    jobs: int,
    *,
    label: str | None,
    **repeated: list[str] | None,
) -> str:
    """The command line that repeats a run."""
    words = ["qpsvm", "bench", "run", suite, "--store", str(store)]
    if jobs != 1:
        words += ["--jobs", str(jobs)]
    for name, texts in repeated.items():
        words += [word for text in texts or [] for word in (f"--{name}", text)]
    if label is not None:
        words += ["--label", label]
    return shlex.join(words)


def _print(results: Results) -> None:
    """Print how often each contestant reached each outcome."""
    from qpsvm.benchmark.calls import short_name

    counts: dict[str, Counter[str]] = {}
    for row in results.rows:
        counts.setdefault(row.contestant, Counter())[row.outcome] += 1
    outcomes = table(("contestant", "left"), ("outcomes", "left"))
    for contestant, counter in counts.items():
        outcomes.add_row(
            short_name(contestant), ", ".join(f"{n} {word}" for word, n in counter.most_common())
        )
    console().print(outcomes)


@contextmanager
def _progress(name: str) -> Iterator[Callable[[RunProgress], None] | None]:
    """Build a run's callback: a progress bar with the remaining time, if stderr is a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from qpsvm.benchmark.calls import short_name

    err = console(stderr=True)
    if not err.is_terminal:
        yield None
        return
    columns = (
        TextColumn("{task.fields[suite]}"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}"),
        TextColumn("{task.fields[last]}"),
    )
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("", total=None, suite=name, left="", last="")
        shown = 0.0

        def callback(event: RunProgress) -> None:
            nonlocal shown
            # the estimate looks at every row
            if time.monotonic() - shown < 0.5 and event.remaining:
                return
            shown = time.monotonic()
            bar.update(
                task,
                completed=len(event.done),
                total=len(event.done) + len(event.remaining),
                left=f"{_duration(event.seconds)}, {_duration(event.seconds_left)} left",
                last=f"{short_name(event.row.contestant)}: {event.row.outcome}",
            )

        yield callback


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes = whole // 60
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
