"""``qpsvm score``: the score of a fitted estimator on a data file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from qpsvm.cli.errors import data_errors
from qpsvm.cli.options import (
    FormatOption,
    GroupsColumn,
    HeaderOption,
    LabelColumn,
    NumberingOption,
)
from qpsvm.cli.printing import print_json
from qpsvm.cli.progress import SolveStatus


def score(
    model: Annotated[Path, typer.Argument(help="A model written by 'qpsvm fit --model'.")],
    file: Annotated[Path, typer.Argument(help="The samples: LIBSVM, CSV, NPZ or Parquet.")],
    format: FormatOption = None,
    label: LabelColumn = None,
    groups: GroupsColumn = None,
    header: HeaderOption = None,
    zero_based: NumberingOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Score a fitted model on a data file: accuracy, R squared, or the score of its family."""
    from qpsvm import datasets
    from qpsvm.cli.model_files import Kind, kind_of, load
    from qpsvm.cli.reading import options_for
    from qpsvm.cli.samples import samples_for
    from qpsvm.cli.scores import score_line, score_of

    fitted = load(model)
    labelled = kind_of(fitted) is not Kind.NOVELTIES
    options = options_for(fitted, file, format, header=header, zero_based=zero_based)
    data = datasets.load(
        file, format=format, label=label, groups=groups, labelled=labelled, **options
    )
    with SolveStatus(f"{file}: predicting"), data_errors():
        X = samples_for(fitted, data, file)
        name, value = score_of(fitted, X, data.y, data.groups)
    if as_json:
        content = {"model": str(model), "source": str(file), "n_samples": int(X.shape[0])}
        print_json({"command": "score", **content, "score_name": name, "score": value})
    else:
        typer.echo(score_line(name, value, ""))
