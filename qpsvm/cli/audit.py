"""``qpsvm audit``: verify a model file of another library."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

import qpsvm
from qpsvm.cli import model_files, options, printing
from qpsvm.io.npz import PICKLES

_PARAMETER = "Value used in training, if the model file does not record it."


@options.with_options(reading=options.READING, table=options.TABLE)
def audit(
    model: Annotated[
        Path, typer.Argument(help="Model file: LIBSVM, LIBLINEAR, JSON or NPZ arrays, qpsvm.")
    ],
    file: Annotated[Path | None, typer.Argument(help="The data file it was trained on.")] = None,
    *,
    reading: dict[str, Any],
    C: Annotated[float | None, typer.Option("--C", help=_PARAMETER)] = None,
    nu: Annotated[float | None, typer.Option(help=_PARAMETER)] = None,
    epsilon: Annotated[float | None, typer.Option(help=_PARAMETER)] = None,
    eps: options.Eps = 1e-8,
    no_optimum: Annotated[
        bool, typer.Option("--no-optimum", help="Bounds only: do not solve the program exactly.")
    ] = False,
    report: options.Report = None,
    verbose: options.Verbose = False,
    as_json: options.Json = False,
    table: dict[str, Any],
) -> None:
    """Verify a trained model against the optimum of its program, and explain a difference."""
    if model.suffix.lower() in PICKLES:
        _refuse_to_unpickle(model, file)
    if file is None:
        raise typer.BadParameter("name the data file that the model was trained on.")
    from qpsvm.audits.files import read_model

    printing.require_outputs(report=report)
    audited: Any = read_model(model)
    if isinstance(audited, qpsvm.models.SavedModel):
        reading = model_files.options_for(audited, file, reading)
        if audited.preparation is not None:
            table = {"preparation": audited.preparation}
        audited = model
    data = qpsvm.datasets.load(file, **reading, **table)
    known: dict[str, Any] = {"C": C, "nu": nu, "epsilon": epsilon, "eps": eps}
    known["optimum"] = not no_optimum
    with printing.progress(f"{model}: auditing") as callback:
        found = qpsvm.audit(audited, data.X, data.y, callback=callback, **known)
    source = f"{file} (model {model})"
    if as_json:
        printing.print_json({"command": "audit", "source": source, **found.to_dict()})
    else:
        _print(found, source, verbose=verbose)
    if report is not None:
        printing.write_report(report, found.report(source))
    raise typer.Exit(0 if found.passed else 1)


def _refuse_to_unpickle(model: Path, file: Path | None) -> NoReturn:
    """Say how to audit a pickled model from Python, and raise the exit code."""
    data = "train.csv" if file is None else str(file)
    printing.complain(
        f"{str(model)!r} is a pickle, which can run any code when it is read, so it is not read "
        "here. If you trust the file, audit it from Python:"
    )
    printing.note("    import joblib, qpsvm")
    printing.note(f"    model, data = joblib.load({str(model)!r}), qpsvm.datasets.load({data!r})")
    printing.note("    print(qpsvm.audit(model, data.X, data.y))")
    raise typer.Exit(2)


def _print(found: qpsvm.Audit, source: str, *, verbose: bool) -> None:
    """Print an audit, the verdict first: one machine by its report, several as a table."""
    from qpsvm.audits.result import COLUMNS
    from qpsvm.reports.files import print_page

    out = printing.console()
    if len(found.machines) == 1:
        print_page(found.report(source), out, in_full=verbose)
        return
    out.print(printing.verdict(found.grade.title), f"at eps={found.eps:g}:", found.verdict)
    out.print(f"{found.model}, fitted by {found.library.name}; {source}")
    rows = printing.table("machine", *COLUMNS, "", numbers=COLUMNS)
    for machine in found.machines:
        rows.add_row(machine.name, *machine.cells, printing.verdict(machine.grade.title))
    out.print(rows, soft_wrap=False)
    for remark in found.all_remarks:
        out.print(f"note: {remark}")
