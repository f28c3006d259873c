"""The commands of ``qpsvm bench``."""

from __future__ import annotations

import typer

from qpsvm.cli.bench import list as list_
from qpsvm.cli.bench import run

app = typer.Typer(
    no_args_is_help=True,
    help="Benchmark: any solver on SVM programs, at equal certified accuracy.",
)
app.command("run")(run.run)
app.command("list")(list_.list_suites)
