"""``qpsvm audit``: verify a model file of another library."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from qpsvm.cli import printing
from qpsvm.cli.options import (
    FormatOption,
    HeaderOption,
    JsonOption,
    LabelColumn,
    NumberingOption,
    ReportOption,
    VerboseOption,
    with_table_options,
)
from qpsvm.cli.printing import complain, console, note, print_json, verdict
from qpsvm.cli.progress import SolveStatus

if TYPE_CHECKING:
    from qpsvm.audits import Audit

_PARAMETER = "Value used in training, if the model file does not record it."


@with_table_options
def audit(
    model: Annotated[
        Path, typer.Argument(help="Model file: LIBSVM, LIBLINEAR, JSON or NPZ arrays, qpsvm.")
    ],
    file: Annotated[Path | None, typer.Argument(help="The data file it was trained on.")] = None,
    format: FormatOption = None,
    label: LabelColumn = None,
    header: HeaderOption = None,
    zero_based: NumberingOption = None,
    C: Annotated[float | None, typer.Option("--C", help=_PARAMETER)] = None,
    nu: Annotated[float | None, typer.Option(help=_PARAMETER)] = None,
    epsilon: Annotated[float | None, typer.Option(help=_PARAMETER)] = None,
    eps: Annotated[float, typer.Option(help="Relative accuracy to verify.")] = 1e-8,
    no_optimum: Annotated[
        bool, typer.Option("--no-optimum", help="Bounds only: do not solve the program exactly.")
    ] = False,
    report: ReportOption = None,
    verbose: VerboseOption = False,
    as_json: JsonOption = False,
    *,
    table: dict[str, Any],
) -> None:
    """Verify a trained model against the optimum of its program, and explain a difference."""
    from qpsvm.io.npz import PICKLES

    if model.suffix.lower() in PICKLES:
        _refuse_to_unpickle(model, file)
    if file is None:
        raise typer.BadParameter("name the data file that the model was trained on.")
    import qpsvm
    from qpsvm import datasets, models, reports
    from qpsvm.audits.files import read_model
    from qpsvm.cli.model_files import options_for

    if report is not None:
        reports.require_reportable(report)
    parsed = read_model(model)
    options: dict[str, Any] = {"header": header, "zero_based": zero_based}
    if isinstance(parsed, models.SavedModel):
        options = options_for(parsed, file, format, **options)
    if isinstance(parsed, models.SavedModel) and parsed.preparation is not None:
        options |= {"preparation": parsed.preparation}
    else:
        options |= table
    data = datasets.load(file, format=format, label=label, **options)
    with SolveStatus(f"{model}: auditing") as status:
        found = qpsvm.audit(
            model if isinstance(parsed, models.SavedModel) else parsed,
            data.X,
            data.y,
            C=C,
            nu=nu,
            epsilon=epsilon,
            eps=eps,
            optimum=not no_optimum,
            callback=status.callback,
        )
    source = f"{file} (model {model})"
    if as_json:
        print_json({"command": "audit", "source": source, **found.to_dict()})
    else:
        _print(found, source, verbose=verbose)
    if report is not None:
        with SolveStatus(f"{report}: writing"):  # pictures of many machines take their time
            reports.write(report, found.report(source))
        if not as_json:
            note(f"Report written to {report}")
    raise typer.Exit(0 if found.passed else 1)


def _refuse_to_unpickle(model: Path, file: Path | None) -> NoReturn:
    """Say how to audit a pickled model from Python, and raise the exit code."""
    data = "train.csv" if file is None else str(file)
    complain(
        f"{str(model)!r} is a pickle, which can run any code when it is read, so it is not read "
        "here. If you trust the file, audit it from Python:"
    )
    note("    import joblib, qpsvm")
    note(f"    model, data = joblib.load({str(model)!r}), qpsvm.datasets.load({data!r})")
    note("    print(qpsvm.audit(model, data.X, data.y))")
    raise typer.Exit(2)


def _print(found: Audit, source: str, *, verbose: bool) -> None:
    """Print an audit, the verdict first: one machine by its report, several as a table."""
    from qpsvm.audits.result import COLUMNS
    from qpsvm.reports.text import print_page

    out = console()
    if len(found.machines) == 1:
        print_page(found.report(source), out, in_full=verbose)
        return
    where = f"at eps={found.eps:g}:"
    out.print(verdict(found.grade.title), where, found.verdict, soft_wrap=True)
    out.print(f"{found.model}, fitted by {found.library.name}; {source}", soft_wrap=True)
    rows = printing.table(("machine", "left"), *((name, "right") for name in COLUMNS), ("", "left"))
    for machine in found.machines:
        rows.add_row(machine.name, *machine.cells, verdict(machine.grade.title))
    out.print(rows)
    for remark in found.all_remarks:
        out.print(f"note: {remark}", soft_wrap=True)
