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

Heavy packages are imported inside the commands, so that ``--help`` answers at once.
"""

from __future__ import annotations

import signal
import sys
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from qpsvm.cli import audit, backends, bench, demo, fit, predict, solve
from qpsvm.cli.estimator_options import no_such_command
from qpsvm.cli.printing import complain, note
from qpsvm.exceptions import (
    NoOptimumError,
    QPSVMError,
    ToleranceNotReachedError,
    UnreadyColumnsError,
)

NOT_VERIFIED, BAD_INPUT, INTERRUPTED = 1, 2, 130


class _Guarded(TyperGroup):
    """Command group that turns every user error into one line and an exit code."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        commands = self.list_commands(ctx)
        if args and not args[0].startswith("-") and args[0] not in commands:
            ctx.fail(no_such_command(args[0], commands))
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            # what solvers warn about on their way is the verifier's business
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return super().invoke(ctx)
        except (NoOptimumError, ToleranceNotReachedError) as error:
            complain(str(error))
            raise typer.Exit(NOT_VERIFIED) from error
        except UnreadyColumnsError as error:
            first, *lines = error.on_command_line.splitlines()
            complain(first)
            for line in lines:
                note(line)
            raise typer.Exit(BAD_INPUT) from error
        except QPSVMError as error:
            complain(str(error))
            raise typer.Exit(BAD_INPUT) from error
        except MemoryError as error:
            complain(f"Not enough memory ({error}); use fewer samples or another backend.")
            raise typer.Exit(BAD_INPUT) from error
        except KeyboardInterrupt as error:
            complain("Interrupted; nothing half-written was left.")
            raise typer.Exit(INTERRUPTED) from error


app = typer.Typer(
    name="qpsvm",
    cls=_Guarded,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        import qpsvm

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
app.command("backends")(backends.backends)
app.command("bench", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(
    bench.bench
)


def main() -> None:
    """Entry point of the ``qpsvm`` script."""
    # a polite kill unwinds like Ctrl-C, so that temporary files are removed
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        app()
    except KeyboardInterrupt:
        complain("Interrupted; nothing half-written was left.")
        sys.exit(INTERRUPTED)
