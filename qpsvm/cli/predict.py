"""``qpsvm predict``: predictions of a fitted estimator for a data file."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated, Any

import typer

from qpsvm.cli.errors import data_errors
from qpsvm.cli.options import FormatOption
from qpsvm.cli.printing import note
from qpsvm.cli.progress import SolveStatus


def predict(
    model: Annotated[Path, typer.Argument(help="A model written by 'qpsvm fit --model'.")],
    file: Annotated[Path, typer.Argument(help="The samples: LIBSVM, CSV, NPZ or Parquet.")],
    format: FormatOption = None,
    label: Annotated[
        str | None,
        typer.Option(help="CSV, Parquet: a column to leave out, by name or position from 0."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Write the CSV here. [default: print it]")
    ] = None,
    certified: Annotated[
        bool,
        typer.Option("--certified", help="Also which predictions are proven, or their bounds."),
    ] = False,
) -> None:
    """Predict for every sample of a file: CSV with a header and a row for each sample."""
    from qpsvm import datasets, reports
    from qpsvm.cli import model_files
    from qpsvm.cli.samples import samples_for
    from qpsvm.files import atomic

    if output is not None:
        reports.require_writable(output, "output")
    fitted = model_files.load(model)
    data = datasets.load(file, format=format, label=label, labelled=False)
    with SolveStatus(f"{file}: predicting"), data_errors():
        X = samples_for(fitted, data, file)
        columns = _certified(fitted.estimator, X) if certified else _plain(fitted.estimator, X)
    text = _csv(columns)
    if output is None:
        typer.echo(text, nl=False)
    else:
        atomic.write_text(output, text)
        note(f"Predictions written to {output}")


def _plain(estimator: Any, X: Any) -> dict[str, Any]:
    return {"prediction": estimator.predict(X)}


def _certified(estimator: Any, X: Any) -> dict[str, Any]:
    """Predictions with what is proven of them."""
    from qpsvm.exceptions import InvalidParameterError

    if not hasattr(estimator, "predict_certified"):
        raise InvalidParameterError(
            f"A {type(estimator).__name__} has no certificate of its predictions; leave out "
            "--certified."
        )
    found = estimator.predict_certified(X)
    if hasattr(found, "decided"):
        return {"prediction": found.labels, "certified": found.decided}
    return {"prediction": found.values, "lower": found.lower, "upper": found.upper}


def _csv(columns: dict[str, Any]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
    return stream.getvalue()
