"""``qpsvm predict`` and ``qpsvm score``: predictions of a fitted model for a data file."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import qpsvm
from qpsvm.cli import model_files, options, printing
from qpsvm.exceptions import InvalidDataError
from qpsvm.numerics.arrays import Array


@options.with_options(reading=options.READING)
def predict(
    model: options.ModelFile,
    file: options.DataFile,
    reading: dict[str, Any],
    id: options.Id = None,
    decimal: options.Decimal = None,
    output: Annotated[
        Path | None, typer.Option(help="Write the CSV here (default: print it).")
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
        str | None, typer.Option(help="The label column of that data, as for 'qpsvm fit'.")
    ] = None,
    training_groups: Annotated[
        str | None, typer.Option(help="The groups column of that data, as for 'qpsvm fit'.")
    ] = None,
) -> None:
    """Predict every sample in FILE and write CSV, one row per sample.

    A column of labels in FILE is left out, by the name in the training data or by --label.
    """
    if certified and training is None:
        raise typer.BadParameter(
            "--certified needs the data that the model was fitted to, which a model file does not "
            "have: name them with --training."
        )
    if training is not None and not certified:
        raise typer.BadParameter("--training is for --certified; pass both or neither.")
    if output is not None:
        qpsvm.reports.require_writable(output, "output")
    fitted = qpsvm.load(model)
    reading |= {"labelled": False, "id": id or (), "decimal": decimal}
    data = model_files.read_for(fitted, file, **reading)
    with printing.progress(f"{file}: predicting"), model_files.data_errors():
        if training is None:
            columns = {"prediction": fitted.predict(data.X)}
        else:
            is_csv = qpsvm.datasets.loading.format_of(str(training)) == "csv"
            known = model_files.read_for(
                fitted,
                training,
                header=reading.get("header") if is_csv else None,
                label=training_label,
                groups=training_groups,
                labelled=model_files.kind_of(fitted) != "novelties",
            )
            columns = model_files.certified_columns(fitted, data.X, known)
    text = _csv(columns, data)
    if output is None:
        typer.echo(text, nl=False)
    else:
        qpsvm.reports.write_text(output, text, "predictions")
        printing.note(f"Predictions written to {output}")


@options.with_options(reading=options.READING)
def score(
    model: options.ModelFile,
    file: options.DataFile,
    reading: dict[str, Any],
    groups: options.Groups = None,
    decimal: options.Decimal = None,
    as_json: options.Json = False,
) -> None:
    """Score a fitted model on a data file: accuracy, R squared, or the score of its family."""
    fitted = qpsvm.load(model)
    reading |= {
        "groups": groups,
        "decimal": decimal,
        "labelled": model_files.kind_of(fitted) != "novelties",
    }
    data = model_files.read_for(fitted, file, **reading)
    n_samples = int(data.X.shape[0])
    with printing.progress(f"{file}: predicting"), model_files.data_errors():
        name, value = model_files.score_of(fitted, data.X, data.y, data.groups)
    left_out = 0 if data.n_rows is None else data.n_rows - n_samples
    if left_out:
        printing.note(f"{left_out:,} of {data.n_rows:,} rows left out: a value is missing.")
    if as_json:
        content = {"model": str(model), "source": str(file), "n_samples": n_samples}
        printing.print_json({"command": "score", **content, "score_name": name, "score": value})
    else:
        typer.echo(model_files.score_line(name, value, ""))


def _csv(columns: Mapping[str, Array], data: qpsvm.datasets.DataFile) -> str:
    """Identifiers and predictions as CSV, a row for each of the file; empty where there is none.

    Raises
    ------
    InvalidDataError
        A column of identifiers has the name of a column of predictions.
    """
    for name in set(data.ids) & set(columns):
        raise InvalidDataError(
            f"{data.source}: the column {name!r} of identifiers has the name of a column of the "
            "predictions; give it another name."
        )
    n_predicted = len(next(iter(columns.values())))
    n_rows = n_predicted if data.n_rows is None else data.n_rows
    predicted = {name: np.full(n_rows, "", dtype=object) for name in columns}
    for name, values in columns.items():
        predicted[name][slice(None) if data.rows is None else data.rows] = values.tolist()
    if n_predicted < n_rows:
        printing.note(
            f"{n_rows - n_predicted:,} of {n_rows:,} rows have no prediction: a value is missing."
        )
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*data.ids, *predicted])
    writer.writerows(zip(*data.ids.values(), *predicted.values(), strict=True))
    return stream.getvalue()
