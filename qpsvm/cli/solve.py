"""``qpsvm solve``: train and verify a support vector machine on a data file."""

from __future__ import annotations

import dataclasses
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from qpsvm.cli.options import (
    REPORT_HELP,
    VERBOSE_HELP,
    DataFormat,
    Family,
    FormName,
    HeaderOption,
    Intercept,
    KernelName,
    LabelColumn,
    NumberingOption,
    WidthOption,
)
from qpsvm.cli.outcome import CommandResult, finish
from qpsvm.cli.printing import note
from qpsvm.cli.progress import SolveStatus
from qpsvm.cli.table_options import TableOptions, with_table_options


@with_table_options
def solve(
    file: Annotated[
        Path, typer.Argument(help="The data: LIBSVM, CSV (-: standard input), NPZ or Parquet.")
    ],
    format: Annotated[
        DataFormat | None, typer.Option(help="The file's format. [default: from its suffix]")
    ] = None,
    label: LabelColumn = None,
    header: HeaderOption = None,
    zero_based: NumberingOption = None,
    n_features: WidthOption = None,
    family: Annotated[Family, typer.Option(help="Formulation.")] = Family.SOFT_MARGIN,
    form: Annotated[FormName, typer.Option(help="Which program to solve.")] = FormName.DUAL,
    kernel: Annotated[KernelName, typer.Option(help="Kernel.")] = KernelName.LINEAR,
    gamma: Annotated[
        str | None, typer.Option(help="Kernel coefficient: number, scale or auto. [default: scale]")
    ] = None,
    degree: Annotated[int | None, typer.Option(help="Degree (polynomial). [default: 3]")] = None,
    coef0: Annotated[
        float | None,
        typer.Option(help="Constant term (polynomial, sigmoid). [default: 0]"),
    ] = None,
    C: Annotated[
        float | None, typer.Option("--C", help="Price of a margin violation. [default: 1]")
    ] = None,
    intercept: Annotated[Intercept, typer.Option(help="Intercept.")] = Intercept.FREE,
    standardize: Annotated[
        bool, typer.Option("--standardize", help="Scale the features; saved with the model.")
    ] = False,
    backend: Annotated[str, typer.Option(help="A name from 'qpsvm backends'.")] = "auto",
    eps: Annotated[float, typer.Option(help="Relative accuracy to certify.")] = 1e-8,
    time_limit: Annotated[float | None, typer.Option(help="Seconds for the whole solve.")] = None,
    report: Annotated[Path | None, typer.Option(help=REPORT_HELP)] = None,
    model: Annotated[
        Path | None, typer.Option(help="Write the model (.npz), if it is verified.")
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", help=f"Print the solver's own output. {VERBOSE_HELP}")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    *,
    table: TableOptions,
) -> None:
    """Train a support vector machine on a file and verify that it is optimal."""
    if verbose and as_json:
        raise typer.BadParameter("the solver's own output would spoil the JSON; choose one.")
    # before the imports below: a wrong option is told at once
    parameters = _kernel_parameters(kernel, gamma=gamma, degree=degree, coef0=coef0)
    if family is Family.HARD_MARGIN and C is not None:
        raise typer.BadParameter("a hard margin has no C; use --family soft-margin.")
    import qpsvm
    from qpsvm import models, reports

    if report is not None:
        reports.require_reportable(report)
    if model is not None:
        reports.require_writable(model, "model")
    formulation = (
        qpsvm.HardMargin(intercept=intercept.value)
        if family is Family.HARD_MARGIN
        else qpsvm.SoftMargin(C=1.0 if C is None else C, intercept=intercept.value)
    )
    function = qpsvm.kernels.as_kernel(kernel.value)
    function = dataclasses.replace(function, **parameters)
    qpsvm.backends.get(backend) if backend != "auto" else None
    data = table.load(
        file,
        format=format,
        label=label,
        header=header,
        zero_based=zero_based,
        n_features=n_features,
    )
    scaling = models.Scaling.fit(data.X) if standardize else None
    samples = data.X if scaling is None else scaling(data.X)
    build = formulation.primal if form is FormName.PRIMAL else formulation.dual
    problem = build(samples, data.y, kernel=function)
    with (
        SolveStatus(f"{backend}: solving", enabled=not verbose) as status,
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", qpsvm.exceptions.ToleranceNotReachedWarning)
        solution = qpsvm.solve(
            problem,
            backend,
            eps=eps,
            time_limit=time_limit,
            verbose=verbose,
            callback=status.callback,
        )
        verified = qpsvm.verify(problem, solution, eps=eps)
    source = f"{file}, standardised" if standardize else str(file)
    built = reports.build(problem, solution, verified, trace=status.events, source=source)
    if model is not None and verified.passed:
        models.save(
            model,
            problem,
            solution,
            verified,
            scaling=scaling,
            feature_names=data.feature_names,
            preparation=data.preparation,
            zero_based=data.zero_based,
        )
        note(f"Model written to {model}")
    elif model is not None:
        note("Model not written: it is not verified. A larger --eps would accept it.")
    outcome = CommandResult(
        "solve",
        built,
        warnings=tuple(str(entry.message) for entry in caught),
        extra={"model": str(model) if model is not None and verified.passed else None},
    )
    finish(outcome, report_path=report, as_json=as_json, verbose=verbose)


_TAKES = {
    KernelName.POLYNOMIAL: ("gamma", "degree", "coef0"),
    KernelName.POLY: ("gamma", "degree", "coef0"),
    KernelName.RBF: ("gamma",),
    KernelName.SIGMOID: ("gamma", "coef0"),
}


def _kernel_parameters(kernel: KernelName, **given: str | float | None) -> dict[str, str | float]:
    """Collect the kernel's options; an option that the kernel does not take is an error."""
    parameters: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    for name in parameters:
        if name not in _TAKES.get(kernel, ()):
            raise typer.BadParameter(f"the {kernel.value} kernel has no {name}; leave it out.")
    gamma = parameters.get("gamma")
    if gamma is not None and gamma not in ("scale", "auto"):
        try:
            parameters["gamma"] = float(gamma)
        except ValueError:
            raise typer.BadParameter(
                f"gamma is {gamma!r}; pass a number above 0, 'scale' or 'auto'."
            ) from None
    return parameters
