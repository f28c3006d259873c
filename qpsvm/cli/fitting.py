"""One fit of an estimator for the command line: read, solve, say what is proven, write."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import typer

from qpsvm.cli import model_files
from qpsvm.cli.estimator_options import as_labels
from qpsvm.cli.printing import console, note, print_json, verdict
from qpsvm.cli.progress import SolveStatus
from qpsvm.cli.scores import score_line, score_of
from qpsvm.numerics.single_precision import Stored

if TYPE_CHECKING:
    from qpsvm.datasets import DataFile


def run(
    estimator: Any,
    table: dict[str, Any],
    *,
    file: Path,
    standardize: bool,
    model: Path | None,
    report: Path | None,
    as_json: bool,
    **reading: Any,
) -> NoReturn:
    """Fit an estimator, print what is proven, write model and report, and raise the exit code.

    Parameters
    ----------
    estimator : estimator
        With its parameters.
    table : dict
        The columns of a table that are used, and how.
    file : Path
    standardize, as_json : bool
    model, report : Path or None
    **reading
        Further options of ``qpsvm.datasets.load``.
    """
    from qpsvm import datasets, models, reports

    name, kind = type(estimator).__name__, model_files.kind_of(estimator)
    # what would fail after the fit is refused before it
    if estimator.verbose and as_json:
        raise typer.BadParameter("the solver's own output would spoil the JSON; choose one.")
    if reading["groups"] is not None and kind is not model_files.Kind.RANKS:
        raise typer.BadParameter(f"{name} has no groups; leave out --groups.")
    if report is not None:
        reports.require_reportable(report)
    if model is not None:
        reports.require_writable(model, "model")
    labelled = kind is not model_files.Kind.NOVELTIES
    data = datasets.load(file, labelled=labelled, **table, **reading)
    scaling = models.Scaling.fit(data.X) if standardize else None
    with (
        SolveStatus(f"{name}: fitting", enabled=not estimator.verbose),
        warnings.catch_warnings(record=True) as caught,
        model_files.data_errors(),
    ):
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        found = _fitted(estimator, data.X if scaling is None else scaling(data.X), data)
    found |= _table_summary(data)
    if data.feature_names is not None:
        estimator.feature_names_in_ = np.array(data.feature_names, dtype=object)
    if data.zero_based is not None:
        estimator.zero_based_ = data.zero_based
    source = "standard input" if str(file) == "-" else str(file)
    source += ", standardised" * standardize
    messages = [str(entry.message) for entry in caught]
    if as_json:
        written = str(model) if model is not None and found["certified"] else None
        content = {"command": "fit", "source": source, **found}
        print_json({**content, "model": written, "warnings": messages})
    else:
        _print(found, source, messages)
    if model is not None and found["certified"]:
        model_files.save(model, estimator, scaling, data)
        note(f"Model written to {model}")
    elif model is not None:
        note("Model not written: it is not certified. A larger --eps would accept it.")
    if report is not None:
        with SolveStatus(f"{report}: writing"):
            solved: Any = estimator.problem_, estimator.solution_  # which belong together
            reports.write(report, reports.build(*solved, source=source, eps=estimator.eps))
        note(f"Report written to {report}")
    raise typer.Exit(0 if found["certified"] else 1)


def _fitted(estimator: Any, X: Stored, data: DataFile) -> dict[str, object]:
    """Fit the estimator; return a summary of the result by name."""
    ranks = model_files.kind_of(estimator) is model_files.Kind.RANKS
    options = {"groups": data.groups} if ranks else {}
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
    for line in _table_lines(found):
        out.print(line, soft_wrap=True)
    out.print(score_line(found["score_name"], found["score"], "Training"))
    out.print(f"Support vectors: {found['n_support']:,} of {found['n_samples']:,} samples")
    for message in messages:
        note(f"Warning: {message}")


# --- how the columns of a table were used ---------------------------------------------------------


def _table_summary(data: DataFile) -> dict[str, object]:
    """The columns of a table with kinds and roles, and its number of rows, if it is a table."""
    if data.columns is None:
        return {}
    columns = [dataclasses.asdict(column) for column in data.columns]
    return {"columns": columns, "n_rows": data.n_rows}


def _table_lines(found: dict[str, Any]) -> Iterator[str]:
    """Yield lines about columns that are no plain numbers, and about rows that were left out."""
    columns = found.get("columns", [])
    parts = {
        "categories": _names(columns, "feature", "categories"),
        "truth values as 1 and 0": _names(columns, "feature", "truth values"),
        "carried into predictions": _names(columns, "id"),
        "left out": _names(columns, "left out"),
    }
    texts = [f"{words}: {', '.join(names)}" for words, names in parts.items() if names]
    if texts:
        n_numbers = len(_names(columns, "feature", "numbers"))
        yield f"Columns: {n_numbers} of numbers; {'; '.join(texts)}"
    left_out = found.get("n_rows", 0) - found["n_samples"]
    if columns and left_out:
        yield f"Rows: {left_out:,} of {found['n_rows']:,} left out, because a value is missing"


def _names(columns: list[dict[str, str]], role: str, kind: str | None = None) -> list[str]:
    """Names of the columns with this role, and this kind if there is one."""
    return [
        column["name"]
        for column in columns
        if column["role"] == role and kind in (None, column["kind"])
    ]
