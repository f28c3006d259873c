"""One fit of an estimator for the command line: read, solve, say what is proven, write."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from qpsvm.cli import model_files
from qpsvm.cli.errors import data_errors
from qpsvm.cli.estimator_options import as_labels
from qpsvm.cli.printing import console, note, print_json, verdict
from qpsvm.cli.progress import SolveStatus
from qpsvm.cli.scores import score_line, score_of
from qpsvm.cli.table_options import TableOptions
from qpsvm.cli.table_summary import table_lines, table_summary
from qpsvm.numerics.single_precision import Stored

if TYPE_CHECKING:
    from qpsvm.datasets import DataFile


@dataclass(frozen=True)
class Request:
    """Files and options of a fit that do not depend on the estimator.

    Attributes
    ----------
    file : Path
    format, label, groups : str or None
    header, zero_based : bool or None
    n_features : int or None
        As for ``qpsvm.datasets.load``.
    standardize, as_json : bool
    model, report : Path or None
    table : TableOptions
        The columns of a table that are used, and how.
    """

    file: Path
    format: str | None
    label: str | None
    groups: str | None
    header: bool | None
    zero_based: bool | None
    n_features: int | None
    standardize: bool
    model: Path | None
    report: Path | None
    as_json: bool
    table: TableOptions


def run(estimator: Any, request: Request) -> None:
    """Fit an estimator, print what is proven, write model and report, and raise the exit code."""
    from qpsvm import models, reports

    _require_possible(estimator, request)
    data = _read(estimator, request)
    scaling = models.Scaling.fit(data.X) if request.standardize else None
    name = type(estimator).__name__
    with (
        SolveStatus(f"{name}: fitting", enabled=not estimator.verbose),
        warnings.catch_warnings(record=True) as caught,
        data_errors(),
    ):
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        found = _fitted(estimator, data.X if scaling is None else scaling(data.X), data)
    found |= table_summary(data)
    if data.feature_names is not None:
        estimator.feature_names_in_ = np.array(data.feature_names, dtype=object)
    if data.zero_based is not None:
        estimator.zero_based_ = data.zero_based
    source = "standard input" if str(request.file) == "-" else str(request.file)
    source += ", standardised" * request.standardize
    writes = request.model is not None and found["certified"]
    messages = [str(entry.message) for entry in caught]
    if request.as_json:
        written = str(request.model) if writes else None
        content = {"command": "fit", "source": source, **found}
        print_json({**content, "model": written, "warnings": messages})
    else:
        _print(found, source, messages)
    if request.model is not None and writes:
        model_files.save(request.model, estimator, scaling, data)
        note(f"Model written to {request.model}")
    elif request.model is not None:
        note("Model not written: it is not certified. A larger --eps would accept it.")
    if request.report is not None:
        with SolveStatus(f"{request.report}: writing"):
            solved: Any = estimator.problem_, estimator.solution_  # which belong together
            reports.write(request.report, reports.build(*solved, source=source, eps=estimator.eps))
        note(f"Report written to {request.report}")
    raise typer.Exit(0 if found["certified"] else 1)


def _require_possible(estimator: Any, request: Request) -> None:
    """Refuse options with which writing the results would fail after the fit."""
    from qpsvm import reports

    name = type(estimator).__name__
    if estimator.verbose and request.as_json:
        raise typer.BadParameter("the solver's own output would spoil the JSON; choose one.")
    if request.groups is not None and not takes_groups(estimator):
        raise typer.BadParameter(f"{name} has no groups; leave out --groups.")
    if request.report is not None:
        reports.require_reportable(request.report)
    if request.model is not None:
        model_files.require_savable(estimator, standardize=request.standardize)
        reports.require_writable(request.model, "model")


def takes_groups(estimator: Any) -> bool:
    """Return whether an estimator is fitted to groups of samples."""
    fit = getattr(estimator, "fit", None)
    return fit is not None and "groups" in inspect.signature(fit).parameters


def _read(estimator: object, request: Request) -> DataFile:
    return request.table.load(
        request.file,
        format=request.format,
        label=request.label,
        groups=request.groups,
        header=request.header,
        zero_based=request.zero_based,
        n_features=request.n_features,
        labelled=model_files.kind_of(estimator) is not model_files.Kind.NOVELTIES,
    )


def _fitted(estimator: Any, X: Stored, data: DataFile) -> dict[str, object]:
    """Fit the estimator; return a summary of the result by name."""
    options = {"groups": data.groups} if takes_groups(estimator) else {}
    weights = estimator.get_params(deep=False).get("class_weight")
    if isinstance(weights, dict):
        estimator.set_params(
            class_weight=as_labels(weights, np.unique(np.asarray(data.y)).tolist())
        )
    estimator.fit(X, data.y, **options)
    score_name, score = score_of(estimator, X, data.y, data.groups)
    machines = getattr(estimator.solution_, "solutions", (estimator.solution_,))
    support = np.unique(np.concatenate([machine.support for machine in machines]))
    return {
        "estimator": repr(estimator),
        "problem": " ".join(repr(estimator.problem_).split()),
        "n_samples": int(X.shape[0]),
        "n_features": int(X.shape[1]),
        "eps": estimator.eps,
        "certified": estimator.fit_status_ == 0,
        "relative_gap": float(estimator.certificate_.relative_gap),
        "score_name": score_name,
        "score": score,
        "n_support": len(support),
    }


def _print(found: dict[str, Any], source: str, messages: list[str]) -> None:
    out = console()
    word = verdict("PASS" if found["certified"] else "FAIL")
    meaning = "certified optimal" if found["certified"] else "not certified"
    out.print(
        word,
        f"{meaning} at eps={found['eps']:g}: the objective is within "
        f"{found['relative_gap']:.1e} (relative) of the optimum",
        soft_wrap=True,
    )
    out.print(f"{found['estimator']}; {source}", soft_wrap=True)
    out.print(found["problem"], soft_wrap=True)
    for line in table_lines(found):
        out.print(line, soft_wrap=True)
    out.print(score_line(found["score_name"], found["score"], "Training"))
    out.print(f"Support vectors: {found['n_support']:,} of {found['n_samples']:,} samples")
    for message in messages:
        note(f"Warning: {message}")
