"""``qpsvm predict`` and ``qpsvm score``: predictions of a fitted model for a data file."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qpsvm.cli.options import (
    DecimalOption,
    FittedModel,
    FormatOption,
    GroupsColumn,
    HeaderOption,
    IdOption,
    JsonOption,
    NumberingOption,
    SamplesFile,
    columns_of,
)
from qpsvm.cli.printing import note, print_json
from qpsvm.cli.progress import SolveStatus
from qpsvm.exceptions import InvalidDataError
from qpsvm.numerics.arrays import Array

if TYPE_CHECKING:
    from qpsvm.datasets import DataFile


def predict(
    model: FittedModel,
    file: SamplesFile,
    format: FormatOption = None,
    header: HeaderOption = None,
    zero_based: NumberingOption = None,
    label: Annotated[
        str | None,
        typer.Option(help="CSV, Parquet: a column to leave out, by name or position from 0."),
    ] = None,
    id: IdOption = None,
    decimal: DecimalOption = None,
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
        str | None, typer.Option(help="The label column of that data, as for 'qpsvm fit'.")
    ] = None,
    training_groups: Annotated[
        str | None, typer.Option(help="The groups column of that data, as for 'qpsvm fit'.")
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
    from qpsvm.cli import model_files
    from qpsvm.cli.model_files import Kind, kind_of, read_for
    from qpsvm.cli.scores import certified_columns

    if output is not None:
        reports.require_writable(output, "output")
    fitted = model_files.load(model)
    reading = {"label": label, "labelled": False, "id": columns_of(id), "decimal": decimal}
    data = read_for(fitted, file, format, header=header, zero_based=zero_based, **reading)
    with SolveStatus(f"{file}: predicting"), model_files.data_errors():
        X = model_files.samples_for(fitted, data, file)
        if training is None:
            columns = {"prediction": fitted.predict(X)}
        else:
            is_csv = datasets.format_of(str(training)) == "csv"
            known = read_for(
                fitted,
                training,
                header=header if is_csv else None,
                label=training_label,
                groups=training_groups,
                labelled=kind_of(fitted) is not Kind.NOVELTIES,
            )
            columns = certified_columns(fitted, X, known)
    text = _csv(data.ids, columns, data)
    if output is None:
        typer.echo(text, nl=False)
    else:
        reports.write_text(output, text, "predictions")
        note(f"Predictions written to {output}")


def score(
    model: FittedModel,
    file: SamplesFile,
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
    as_json: JsonOption = False,
) -> None:
    """Score a fitted model on a data file: accuracy, R squared, or the score of its family."""
    from qpsvm.cli import model_files
    from qpsvm.cli.scores import score_line, score_of

    fitted = model_files.load(model)
    labelled = model_files.kind_of(fitted) is not model_files.Kind.NOVELTIES
    data = model_files.read_for(
        fitted,
        file,
        format,
        header=header,
        zero_based=zero_based,
        label=label,
        groups=groups,
        labelled=labelled,
        decimal=decimal,
    )
    with SolveStatus(f"{file}: predicting"), model_files.data_errors():
        X = model_files.samples_for(fitted, data, file)
        name, value = score_of(fitted, X, data.y, data.groups)
    left_out = 0 if data.n_rows is None else data.n_rows - X.shape[0]
    if left_out:
        note(f"{left_out:,} of {data.n_rows:,} rows left out: a value is missing.")
    if as_json:
        content = {"model": str(model), "source": str(file), "n_samples": int(X.shape[0])}
        print_json({"command": "score", **content, "score_name": name, "score": value})
    else:
        typer.echo(score_line(name, value, ""))


def _csv(ids: Mapping[str, Sequence[str]], columns: Mapping[str, Array], data: DataFile) -> str:
    """Identifiers and predictions as CSV, a row for each of the file; empty where there is none.

    Raises
    ------
    InvalidDataError
        A column of identifiers has the name of a column of predictions.
    """
    for name in set(ids) & set(columns):
        raise InvalidDataError(
            f"{data.source}: the column {name!r} of identifiers has the name of a column of the "
            "predictions; give it another name."
        )
    n_rows = len(next(iter(columns.values()))) if data.n_rows is None else data.n_rows
    rows = range(n_rows) if data.rows is None else data.rows.tolist()
    predicted: dict[str, list[Any]] = {name: [""] * n_rows for name in columns}
    for name, values in columns.items():
        for row, value in zip(rows, values.tolist(), strict=True):
            predicted[name][row] = value
    if len(rows) < n_rows:
        note(f"{n_rows - len(rows):,} of {n_rows:,} rows have no prediction: a value is missing.")
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*ids, *predicted])
    writer.writerows(zip(*ids.values(), *predicted.values(), strict=True))
    return stream.getvalue()
