"""``qpsvm solve`` and ``qpsvm verify``: train a machine on a data file; verify a saved one."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn, TypeAlias

import typer

from qpsvm.cli.options import (
    VERBOSE_HELP,
    DataFormat,
    FormatOption,
    HeaderOption,
    JsonOption,
    LabelColumn,
    NumberingOption,
    ReportOption,
    StandardizeOption,
    VerboseOption,
    WidthOption,
    gamma_of,
    with_table_options,
)
from qpsvm.cli.printing import console, note, print_json
from qpsvm.cli.progress import SolveStatus

if TYPE_CHECKING:
    from qpsvm.reports import Report

Kernel: TypeAlias = Literal["linear", "polynomial", "poly", "rbf", "sigmoid", "precomputed"]


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
    family: Annotated[
        Literal["soft-margin", "hard-margin"], typer.Option(help="Formulation.")
    ] = "soft-margin",
    form: Annotated[
        Literal["dual", "primal"], typer.Option(help="Which program to solve.")
    ] = "dual",
    kernel: Annotated[Kernel, typer.Option(help="Kernel.")] = "linear",
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
    intercept: Annotated[
        Literal["free", "penalized", "none"], typer.Option(help="Intercept.")
    ] = "free",
    standardize: StandardizeOption = False,
    backend: Annotated[str, typer.Option(help="A name from 'qpsvm backends'.")] = "auto",
    eps: Annotated[float, typer.Option(help="Relative accuracy to certify.")] = 1e-8,
    time_limit: Annotated[float | None, typer.Option(help="Seconds for the whole solve.")] = None,
    report: ReportOption = None,
    model: Annotated[
        Path | None, typer.Option(help="Write the model (.npz), if it is verified.")
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", help=f"Print the solver's own output. {VERBOSE_HELP}")
    ] = False,
    as_json: JsonOption = False,
    *,
    table: dict[str, Any],
) -> None:
    """Train a support vector machine on a file and verify that it is optimal."""
    if verbose and as_json:
        raise typer.BadParameter("the solver's own output would spoil the JSON; choose one.")
    # before the imports below: a wrong option is told at once
    parameters = _kernel_parameters(kernel, gamma=gamma, degree=degree, coef0=coef0)
    if family == "hard-margin" and C is not None:
        raise typer.BadParameter("a hard margin has no C; use --family soft-margin.")
    import qpsvm
    from qpsvm import datasets, models, reports
    from qpsvm.cli.model_files import save_solved

    if report is not None:
        reports.require_reportable(report)
    if model is not None:
        reports.require_writable(model, "model")
    formulation = (
        qpsvm.HardMargin(intercept=intercept)
        if family == "hard-margin"
        else qpsvm.SoftMargin(C=1.0 if C is None else C, intercept=intercept)
    )
    function = qpsvm.kernels.as_kernel(kernel)
    function = dataclasses.replace(function, **parameters)
    if backend != "auto":
        qpsvm.backends.get(backend)  # or an error, before the file is read
    data = datasets.load(
        file,
        format=format,
        label=label,
        header=header,
        zero_based=zero_based,
        n_features=n_features,
        **table,
    )
    scaling = models.Scaling.fit(data.X) if standardize else None
    samples = data.X if scaling is None else scaling(data.X)
    build = formulation.primal if form == "primal" else formulation.dual
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
        save_solved(model, problem, solution, verified, scaling, data)
        note(f"Model written to {model}")
    elif model is not None:
        note("Model not written: it is not verified. A larger --eps would accept it.")
    _finish(
        "solve",
        built,
        [str(entry.message) for entry in caught],
        report=report,
        as_json=as_json,
        verbose=verbose,
        model=str(model) if model is not None and verified.passed else None,
    )


def verify(
    model: Annotated[Path, typer.Argument(help="A model written by 'qpsvm solve --model'.")],
    file: Annotated[Path, typer.Argument(help="The data file it was trained on.")],
    format: FormatOption = None,
    label: LabelColumn = None,
    header: HeaderOption = None,
    zero_based: NumberingOption = None,
    eps: Annotated[float, typer.Option(help="Relative accuracy to verify.")] = 1e-8,
    report: ReportOption = None,
    verbose: VerboseOption = False,
    as_json: JsonOption = False,
) -> None:
    """Rebuild the training problem from the data and check the model from scratch."""
    from qpsvm import datasets, models, reports
    from qpsvm.cli.model_files import options_for

    if report is not None:
        reports.require_reportable(report)
    saved = models.load(model)
    options = options_for(saved, file, format, header=header, zero_based=zero_based)
    data = datasets.load(file, format=format, label=label, preparation=saved.preparation, **options)
    problem = saved.problem(data.X, data.y)
    solution, verified = saved.verified(problem, eps)
    built = reports.build(problem, solution, verified, source=f"{file} (model {model})")
    _finish("verify", built, report=report, as_json=as_json, verbose=verbose)


def _finish(
    command: str,
    built: Report,
    caught: Sequence[str] = (),
    *,
    report: Path | None,
    as_json: bool,
    verbose: bool,
    **extra: object,
) -> NoReturn:
    """Print the outcome, in full if ``verbose``, write the report, and raise the exit code."""
    from qpsvm import reports
    from qpsvm.reports.text import print_page

    if as_json:
        content = {"command": command, **built.to_dict(), **extra}
        print_json({**content, "warnings": list(caught)})
    else:
        print_page(reports.Page.of(built), console(), in_full=verbose)
        for warning in caught:
            note(f"Warning: {warning}")
    if report is not None:
        reports.write(report, built)
        if not as_json:
            note(f"Report written to {report}")
    raise typer.Exit(0 if built.passed else 1)


_TAKES = {
    "polynomial": ("gamma", "degree", "coef0"),
    "poly": ("gamma", "degree", "coef0"),
    "rbf": ("gamma",),
    "sigmoid": ("gamma", "coef0"),
}


def _kernel_parameters(kernel: str, **given: str | float | None) -> dict[str, str | float]:
    """Collect the kernel's options; an option that the kernel does not take is an error."""
    parameters: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    for name in parameters:
        if name not in _TAKES.get(kernel, ()):
            raise typer.BadParameter(f"the {kernel} kernel has no {name}; leave it out.")
    if "gamma" in parameters:
        parameters["gamma"] = gamma_of(parameters["gamma"])
    return parameters
