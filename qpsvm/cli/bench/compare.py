"""``qpsvm bench compare``: compare two stores of results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from qpsvm.cli.printing import console


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
    from qpsvm.benchmark import compare as comparing
    from qpsvm.benchmark import report as reports
    from qpsvm.benchmark.store import read

    before, after = read(a), read(b)
    found = [
        comparing.compare(before, after, each) for each in target or reports.targets_of(before)
    ]
    agree = reports.print_comparison(found, (str(a), str(b)), console())
    raise typer.Exit(1 if agree is False else 0)
