"""``qpsvm predict``: predictions of a fitted estimator for a data file."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated

import typer

from qpsvm.cli.errors import data_errors
from qpsvm.cli.options import FormatOption, HeaderOption, NumberingOption
from qpsvm.cli.printing import note
from qpsvm.cli.progress import SolveStatus
from qpsvm.numerics.arrays import Array


def predict(
    model: Annotated[Path, typer.Argument(help="A model written by 'qpsvm fit --model'.")],
    file: Annotated[Path, typer.Argument(help="The samples: LIBSVM, CSV, NPZ or Parquet.")],
    format: FormatOption = None,
    header: HeaderOption = None,
    zero_based: NumberingOption = None,
    label: Annotated[
        str | None,
        typer.Option(help="CSV, Parquet: a column to leave out, by name or position from 0."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Write the CSV here. [default: print it]")
    ] = None,
    certified: Annotated[
        bool,
        typer.Option(
            "--certified",
            help="Add a column: is the prediction proven (for regression, its bounds).",
        ),
    ] = False,
    training: Annotated[
        Path | None, typer.Option(help="With --certified: the data that the model was fitted to.")
    ] = None,
    training_label: Annotated[
        str | None, typer.Option(help="Its label column, as for 'qpsvm fit'.")
    ] = None,
    training_groups: Annotated[
        str | None, typer.Option(help="Its column of the groups, as for 'qpsvm fit'.")
    ] = None,
) -> None:
    """Predict every sample in FILE and write CSV, one row per sample."""
    if certified and training is None:
        raise typer.BadParameter(
            "--certified needs the data that the model was fitted to, which a model file does not "
            "have: name them with --training."
        )
    if training is not None and not certified:
        raise typer.BadParameter("--training is for --certified; pass both or neither.")
    from qpsvm import datasets, reports
    from qpsvm.cli.certified import certified_columns
    from qpsvm.cli.model_files import Kind, kind_of, load
    from qpsvm.cli.reading import options_for
    from qpsvm.cli.samples import samples_for

    if output is not None:
        reports.require_writable(output, "output")
    fitted = load(model)
    options = options_for(fitted, file, format, header=header, zero_based=zero_based)
    data = datasets.load(file, format=format, label=label, labelled=False, **options)
    with SolveStatus(f"{file}: predicting"), data_errors():
        X = samples_for(fitted, data, file)
        if training is None:
            columns = {"prediction": fitted.predict(X)}
        else:
            is_csv = datasets.format_of(str(training)) == "csv"
            known = datasets.load(
                training,
                **options_for(fitted, training, None, header=header if is_csv else None),
                label=training_label,
                groups=training_groups,
                labelled=kind_of(fitted) is not Kind.NOVELTIES,
            )
            columns = certified_columns(fitted, X, known)
    text = _csv(columns)
    if output is None:
        typer.echo(text, nl=False)
    else:
        reports.write_text(output, text, "predictions")
        note(f"Predictions written to {output}")


def _csv(columns: dict[str, Array]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
    return stream.getvalue()
