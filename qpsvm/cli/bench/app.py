"""The commands of ``qpsvm bench``."""

from __future__ import annotations

import typer

from qpsvm.cli.bench import compare, report, run
from qpsvm.cli.bench import list as list_

app = typer.Typer(
    no_args_is_help=True,
    help="Benchmark: any solver on SVM programs, at equal certified accuracy.",
)
app.command("run")(run.run)
app.command("report")(report.report)
app.command("compare")(compare.compare)
app.command("list")(list_.list_suites)
