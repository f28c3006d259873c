"""``qpsvm solve`` and ``qpsvm verify``: train a machine on a data file; verify a saved one."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, TypeAlias

import typer

import qpsvm
from qpsvm.cli import model_files, options, printing

Kernel: TypeAlias = Literal["linear", "polynomial", "poly", "rbf", "sigmoid", "precomputed"]

_VERBOSE = f"Print the solver's own output. {options.VERBOSE_HELP}"


@options.with_options(reading=options.READING, table=options.TABLE)
def solve(
    file: options.DataFile,
    reading: dict[str, Any],
    n_features: options.Width = None,
    family: Annotated[
        Literal["soft-margin", "hard-margin"], typer.Option(help="Formulation.")
    ] = "soft-margin",
    form: Annotated[
        Literal["dual", "primal"], typer.Option(help="Which program to solve.")
    ] = "dual",
    kernel: Annotated[Kernel, typer.Option(help="Kernel.")] = "linear",
    gamma: Annotated[
        str | None,
        typer.Option(
            help="Kernel coefficient: number, scale or auto (default: scale).",
            callback=options.gamma_of,
        ),
    ] = None,
    degree: Annotated[int | None, typer.Option(help="Degree (polynomial; default: 3).")] = None,
    coef0: Annotated[
        float | None,
        typer.Option(help="Constant term (polynomial, sigmoid; default: 0)."),
    ] = None,
    C: Annotated[
        float | None, typer.Option("--C", help="Penalty on a margin violation (default: 1).")
    ] = None,
    intercept: Annotated[
        Literal["free", "penalized", "none"], typer.Option(help="Intercept.")
    ] = "free",
    standardize: options.Standardize = False,
    backend: Annotated[str, typer.Option(help="A name from 'qpsvm backends'.")] = "auto",
    eps: options.Eps = 1e-8,
    time_limit: Annotated[float | None, typer.Option(help="Seconds for the whole solve.")] = None,
    report: options.Report = None,
    model: options.Model = None,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", help=_VERBOSE),
    ] = False,
    as_json: options.Json = False,
    *,
    table: dict[str, Any],
) -> None:
    """Train a support vector machine on a file and verify that it is optimal."""
    if verbose and as_json:
        raise typer.BadParameter("the solver's own output would spoil the JSON; choose one.")
    if family == "hard-margin" and C is not None:
        raise typer.BadParameter("a hard margin has no C; use --family soft-margin.")
    printing.require_outputs(report=report, model=model)
    formulation: Any = qpsvm.HardMargin(intercept=intercept)
    if family == "soft-margin":
        formulation = qpsvm.SoftMargin(C=1.0 if C is None else C, intercept=intercept)
    function: Any = qpsvm.kernels.as_kernel(kernel)
    given = {"gamma": gamma, "degree": degree, "coef0": coef0}
    parameters: dict[str, Any] = {name: v for name, v in given.items() if v is not None}
    for name in parameters.keys() - {field.name for field in dataclasses.fields(function)}:
        raise typer.BadParameter(f"the {kernel} kernel has no {name}; leave it out.")
    function = dataclasses.replace(function, **parameters)
    if backend != "auto":
        qpsvm.backends.get(backend)  # or an error, before the file is read
    data = qpsvm.datasets.load(file, n_features=n_features, **reading, **table)
    scaling = qpsvm.models.Scaling.fit(data.X) if standardize else None
    samples = data.X if scaling is None else scaling(data.X)
    problem = getattr(formulation, form)(samples, data.y, kernel=function)
    trace: list[qpsvm.backends.Progress] = []
    with (
        printing.progress(f"{backend}: solving", enabled=not verbose) as show,
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", qpsvm.exceptions.ToleranceNotReachedWarning)

        def callback(event: qpsvm.backends.Progress) -> None:
            trace.append(event)
            show(event)

        limits: dict[str, Any] = {"eps": eps, "time_limit": time_limit}
        solution = qpsvm.solve(problem, backend, verbose=verbose, callback=callback, **limits)
        verified = qpsvm.verify(problem, solution, eps=eps)
    source = f"{file}, standardised" if standardize else str(file)
    built = qpsvm.reports.build(problem, solution, verified, trace=trace, source=source)
    written = model if verified.passed else None
    if written is not None:
        model_files.save_solved(written, problem, solution, verified, scaling, data)
    elif model is not None:
        printing.note("Model not written: it is not verified. A larger --eps would accept it.")
    messages = [str(entry.message) for entry in caught]
    extra = {"model": None if written is None else str(written)}
    _finish("solve", built, messages, report=report, as_json=as_json, verbose=verbose, **extra)


@options.with_options(reading=options.READING)
def verify(
    model: options.ModelFile,
    file: options.TrainingFile,
    reading: dict[str, Any],
    eps: options.Eps = 1e-8,
    report: options.Report = None,
    verbose: options.Verbose = False,
    as_json: options.Json = False,
) -> None:
    """Rebuild the training problem from the data and check the model from scratch."""
    printing.require_outputs(report=report)
    saved = qpsvm.models.load(model)
    known = model_files.options_for(saved, file, reading)
    data = qpsvm.datasets.load(file, preparation=saved.preparation, **known)
    problem = saved.problem(data.X, data.y)
    solution, verified = saved.verified(problem, eps)
    built = qpsvm.reports.build(problem, solution, verified, source=f"{file} (model {model})")
    _finish("verify", built, report=report, as_json=as_json, verbose=verbose)


def _finish(
    command: str,
    built: qpsvm.reports.Report,
    messages: Sequence[str] = (),
    *,
    report: Path | None,
    as_json: bool,
    verbose: bool,
    **extra: object,
) -> NoReturn:
    """Print the outcome, in full if ``verbose``, write the report, and raise the exit code."""
    from qpsvm.reports.files import print_page

    if as_json:
        content = {"command": command, **built.to_dict(), **extra}
        printing.print_json({**content, "warnings": list(messages)})
    else:
        print_page(qpsvm.reports.Page.of(built), printing.console(), in_full=verbose)
        for message in messages:
            printing.note(f"Warning: {message}")
    printing.write_report(report, built)
    raise typer.Exit(0 if built.passed else 1)
