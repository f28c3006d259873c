"""``qpsvm verify``: verify a saved model against its training data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from qpsvm.cli.options import (
    REPORT_HELP,
    VERBOSE_HELP,
    DataFormat,
    HeaderOption,
    LabelColumn,
    NumberingOption,
)
from qpsvm.cli.outcome import CommandResult, finish


def verify(
    model: Annotated[Path, typer.Argument(help="A model written by 'qpsvm solve --model'.")],
    file: Annotated[Path, typer.Argument(help="The data file it was trained on.")],
    format: Annotated[DataFormat | None, typer.Option(help="The data file's format.")] = None,
    label: LabelColumn = None,
    header: HeaderOption = None,
    zero_based: NumberingOption = None,
    eps: Annotated[float, typer.Option(help="Relative accuracy to verify.")] = 1e-8,
    report: Annotated[Path | None, typer.Option(help=REPORT_HELP)] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help=VERBOSE_HELP)] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Rebuild the training problem from the data and check the model from scratch."""
    from qpsvm import datasets, models, reports
    from qpsvm.cli.reading import options_for

    if report is not None:
        reports.require_reportable(report)
    saved = models.load(model)
    options = options_for(saved, file, format, header=header, zero_based=zero_based)
    data = datasets.load(file, format=format, label=label, preparation=saved.preparation, **options)
    problem = saved.problem(data.X, data.y)
    solution, verified = saved.verified(problem, eps)
    built = reports.build(problem, solution, verified, source=f"{file} (model {model})")
    outcome = CommandResult("verify", built)
    finish(outcome, report_path=report, as_json=as_json, verbose=verbose)
