"""``qpsvm score``: the score of a fitted estimator on a data file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from qpsvm.cli.errors import data_errors
from qpsvm.cli.options import FormatOption, GroupsColumn, HeaderOption, NumberingOption
from qpsvm.cli.printing import note, print_json
from qpsvm.cli.progress import SolveStatus
from qpsvm.cli.table_options import DecimalOption


def score(
    model: Annotated[Path, typer.Argument(help="A model written by 'qpsvm fit --model'.")],
    file: Annotated[
        Path, typer.Argument(help="The samples: LIBSVM, CSV (-: standard input), NPZ or Parquet.")
    ],
    format: FormatOption = None,
    label: Annotated[
        str | None,
        typer.Option(
            "--label",
            help="CSV, Parquet: the label column's name, or its position from 0 (default: that of "
            "the training data).",
        ),
    ] = None,
    groups: GroupsColumn = None,
    decimal: DecimalOption = None,
    header: HeaderOption = None,
    zero_based: NumberingOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Score a fitted model on a data file: accuracy, R squared, or the score of its family."""
    from qpsvm import datasets
    from qpsvm.cli.model_files import Kind, kind_of, load
    from qpsvm.cli.reading import options_for
    from qpsvm.cli.samples import preparation_of, samples_for
    from qpsvm.cli.scores import score_line, score_of

    fitted = load(model)
    labelled = kind_of(fitted) is not Kind.NOVELTIES
    data = datasets.load(
        file,
        format=format,
        label=label,
        groups=groups,
        labelled=labelled,
        decimal=None if decimal is None else decimal.value,
        preparation=preparation_of(fitted),
        **options_for(fitted, file, format, header=header, zero_based=zero_based),
    )
    with SolveStatus(f"{file}: predicting"), data_errors():
        X = samples_for(fitted, data, file)
        name, value = score_of(fitted, X, data.y, data.groups)
    left_out = 0 if data.n_rows is None else data.n_rows - X.shape[0]
    if left_out:
        note(f"{left_out:,} of {data.n_rows:,} rows left out: a value is missing.")
    if as_json:
        content = {"model": str(model), "source": str(file), "n_samples": int(X.shape[0])}
        print_json({"command": "score", **content, "score_name": name, "score": value})
    else:
        typer.echo(score_line(name, value, ""))
