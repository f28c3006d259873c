"""The commands, their exit codes, and the handling of errors.

====  ============================================================================
code  meaning
====  ============================================================================
0     solved and verified
1     not verified or certified: tolerance not reached, not separable, a changed model
2     bad usage or input: a line on stderr says what is wrong and what to do; of a table
      that cannot be used as it is, one for every column
130   interrupted with Ctrl-C; nothing half-written is left
====  ============================================================================

Rooms and packages that take time to import are read as attributes of ``qpsvm``, or imported inside
functions, so that ``--help`` answers at once.
"""

from __future__ import annotations

import dataclasses
import shlex
import signal
import sys
import warnings
from typing import Annotated, Any

import typer

import qpsvm
from qpsvm.cli import audit, demo, fit, options, predict, printing, solve
from qpsvm.exceptions import NoOptimumError, QPSVMError, ToleranceNotReachedError

NOT_VERIFIED, BAD_INPUT, INTERRUPTED = 1, 2, 130


class _Guarded(fit.Commands):
    """Command group that turns every user error into one line and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        try:
            # what solvers warn about on their way is the verifier's business
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return super().invoke(ctx)
        except QPSVMError as error:
            # of a table: a line for every column that cannot be used
            said = getattr(error, "on_command_line", " ".join(str(error).split()))
            first, *lines = said.split("\n")
            printing.complain(first)
            for line in lines:
                printing.note(line)
            is_verdict = isinstance(error, NoOptimumError | ToleranceNotReachedError)
            code = NOT_VERIFIED if is_verdict else BAD_INPUT
        except MemoryError as error:
            message = f"Not enough memory ({error}); use fewer samples or another backend."
            printing.complain(message)
            code = BAD_INPUT
        except KeyboardInterrupt:
            printing.complain("Interrupted; nothing half-written was left.")
            code = INTERRUPTED
        raise typer.Exit(code)


app = typer.Typer(
    name="qpsvm",
    cls=_Guarded,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings=fit.HELP,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"qpsvm {qpsvm.__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Support vector machines as quadratic programs, solved by any solver and verified.

    Exit codes: 0 solved and verified, 1 not verified, 2 bad usage or input, 130 interrupted.
    """
    del version


app.command("demo")(demo.demo)
app.add_typer(fit.app, name="fit")
app.command("predict")(predict.predict)
app.command("score")(predict.score)
app.command("solve")(solve.solve)
app.command("verify")(solve.verify)
app.command("audit")(audit.audit)


@app.command("backends")
def backends(
    as_json: options.Json = False,
    installed: Annotated[bool, typer.Option("--installed", help="Only those installed.")] = False,
) -> None:
    """List every backend: version, licence, what it can do, or how to install it."""
    infos = [info for info in qpsvm.backends.available() if info.installed or not installed]
    if as_json:
        printing.print_json([dataclasses.asdict(info) for info in infos])
        return
    rows = printing.table("backend", "version", "licence", "can do")
    absent = printing.table("not installed", "licence", "to install it")
    for info in infos:
        if info.installed:
            # the bridge's own version in brackets is the same on every line
            version = info.version.partition(" (")[0]
            rows.add_row(info.name, version, info.licence, _described(info.capabilities))
        else:
            how = info.install_command or "; ".join(info.missing)
            absent.add_row(info.name, info.licence, how)
    for each in (rows, absent):
        if each.row_count:
            printing.console().print(each, soft_wrap=False)


def _described(capabilities: qpsvm.backends.Capabilities) -> str:
    names = ("sparse", "linear_programs", "warm_start", "time_limit", "callback")
    words = [name.replace("_", " ") for name in names if getattr(capabilities, name)]
    if capabilities.max_variables is not None:
        words.append(f"up to {capabilities.max_variables} variables")
    return ", ".join(words).replace("linear programs", "LP")


@app.command("bench", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def bench(context: typer.Context) -> None:
    """Print how to run the benchmark: by python -m benchmarks, in a checkout of qpsvm.

    The benchmark compares any solvers on SVM programs, at equal certified accuracy. It is not
    installed with qpsvm. In a checkout, after pip install -e ".[bench]":

    python -m benchmarks list

    python -m benchmarks run smoke --store smoke.jsonl

    python -m benchmarks report smoke.jsonl --output smoke.html

    python -m benchmarks compare before.jsonl after.jsonl
    """
    command = shlex.join(["python", "-m", "benchmarks", *(context.args or ["--help"])])
    printing.complain(
        "The benchmark runs from a checkout of qpsvm and is not installed with it. In the "
        f'checkout, after pip install -e ".[bench]": {command}'
    )
    raise typer.Exit(BAD_INPUT)


def main() -> None:
    """Entry point of the ``qpsvm`` script."""
    # a polite kill unwinds like Ctrl-C, so that temporary files are removed
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        app()
    except KeyboardInterrupt:
        printing.complain("Interrupted; nothing half-written was left.")
        sys.exit(INTERRUPTED)
